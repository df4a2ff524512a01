"""One client of the server under load."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from proof.load.answers import Wrong, require_equal
from proof.load.connection import Connection, Dropped

BUSY = -32000
DEADLINE_SECONDS = 90.0
"""The longest wait for an answer: more than a server with a deadline of its own may ever take."""
MAX_COMPLAINTS = 20
Request: TypeAlias = "Callable[[Client], Awaitable[None]]"


class Client:
    """A caller with a token of its own; `counts`, `seconds` and `wrong` hold its observations."""

    def __init__(self, number: int, plan: dict[str, Any], texts: dict[str, list[str]], blobs: dict[str, bytes]) -> None:
        self.root: str = plan["root"]
        self.texts = texts
        self.blobs = blobs
        self.dice = random.Random(f"{plan['seed']}-{number}")
        self.connection = Connection(plan["port"], plan["tokens"][number])
        self.counts: Counter[str] = Counter()
        self.seconds: list[tuple[str, float]] = []
        self.wrong: list[str] = []
        self._hostile_share: float = plan["hostile"]
        self._fill_rounds: int = plan["fill"]
        self._max_requests: int = plan["requests"]
        self._last_id = 0

    async def run(
        self, seconds: float, *, fill: Sequence[Request], good: Sequence[Request], hostile: Sequence[Request]
    ) -> None:
        """Send the requests `fill` as often as planned, then random ones until the seconds or the requests are over."""
        for _ in range(self._fill_rounds):
            for request in fill:
                await self._attempt(request, "good")
        until = time.monotonic() + seconds
        left = self._max_requests
        while left and time.monotonic() < until:
            left -= 1
            if self.dice.random() < self._hostile_share:
                await self._attempt(self.dice.choice(hostile), "hostile")
            else:
                await self._attempt(self.dice.choice(good), "good")
        await self.connection.close()

    async def _attempt(self, request: Request, kind: str) -> None:
        name = request.__name__
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await request(self)
            self.counts[f"{kind}:{name}"] += 1
        except TimeoutError:
            self._complain(name, f"no answer within {DEADLINE_SECONDS:.0f} s")
            await self.connection.close()
        except Wrong as wrong:
            self._complain(name, str(wrong))
        except Exception as error:
            self._complain(name, f"{type(error).__name__}: {error}")
            await self.connection.close()

    def _complain(self, name: str, text: str) -> None:
        self.counts["wrong"] += 1
        if len(self.wrong) < MAX_COMPLAINTS:
            self.wrong.append(f"{name}: {text}")

    async def ask(self, method: str, params: dict[str, Any], kind: str) -> dict[str, Any]:
        """Return the answer to a request; repeat it while the server is busy or limits the rate.

        Raises: Wrong.
        """
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        body = json.dumps(message).encode()
        while True:
            start = time.perf_counter()
            try:
                status, headers, data = await self.connection.request(body)
            except Dropped:
                self.counts["reconnected"] += 1
                continue
            if status == 429:
                self.counts["refused: rate"] += 1
                await asyncio.sleep(float(headers["retry-after"]))
                continue
            require_equal(status, 200, "status")
            answer: dict[str, Any] = json.loads(data)
            require_equal(answer.get("id"), self._last_id, "id")
            if answer.get("error", {}).get("code") == BUSY:
                self.counts["refused: busy"] += 1
                await asyncio.sleep(self.dice.random())
                continue
            self.seconds.append((kind, time.perf_counter() - start))
            self.counts["bytes"] += len(data)
            return answer

    async def call(self, tool: str, arguments: dict[str, Any], kind: str) -> dict[str, Any]:
        """Return the result of a tool call. Raises: Wrong."""
        answer = await self.ask("tools/call", {"name": tool, "arguments": arguments}, kind)
        if "result" not in answer:
            raise Wrong(f"{tool}: {str(answer)[:200]}")
        result: dict[str, Any] = answer["result"]
        return result

    def choose_window(self) -> tuple[str, list[str], int, int]:
        """Return a file's name, its lines, and a random first line and number of lines."""
        name = self.dice.choice(list(self.texts))
        lines = self.texts[name]
        first = self.dice.randrange(1, len(lines) + 1)
        return name, lines, first, self.dice.randrange(1, 120)
