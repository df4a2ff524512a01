"""Read bombs over HTTP: a real `eyespan serve --http`, and eight callers that ask for the same bomb at once."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proof.bombs.calls import TOOLS, calls, plain_call

CALLERS = 8
_TOKEN = os.urandom(16).hex()


class Server:
    """A running server with every dialect. `root` is a directory or the address of a store."""

    def __init__(self, root: str, log: Path, environment: Mapping[str, str] = os.environ) -> None:
        argv = [sys.executable, "-m", "eyespan", "--root", root, "serve", "--http", "127.0.0.1:0"]
        argv += ["--rate", "1000000000"]
        for dialect in TOOLS:
            argv += ["--dialect", dialect]
        self._log = log.open("wb")
        self.process = subprocess.Popen(
            argv, stderr=self._log, stdin=subprocess.DEVNULL, env={**environment, "EYESPAN_TOKEN": _TOKEN}
        )
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/mcp", log.read_text("utf-8", "replace"))):
            if self.process.poll() is not None:
                raise SystemExit(f"the server did not start: {log.read_text('utf-8', 'replace')}")
            time.sleep(0.05)
        self._port = int(found[1])

    def call(self, dialect: str, arguments: dict[str, Any]) -> str:
        """Return the answer of one tool call as text. Raises: OSError, http.client.HTTPException."""
        params = {"name": TOOLS[dialect], "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "Authorization": f"Bearer {_TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", "/mcp", body, headers)
            answer = connection.getresponse()
            return f"{answer.status} {answer.read().decode('utf-8', 'replace')}"
        finally:
            connection.close()

    def memory(self, name: str) -> int:
        """Return VmRSS or VmHWM of the server's own process, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def reset_peak(self) -> None:
        """Let VmHWM start again. Without the right to do so it stays the most of the whole run."""
        try:
            Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        except OSError:
            pass

    def at_rest(self, seconds: float, idle: int, most: int) -> int:
        """Return the memory above idle, as soon as it is at most `most` or the seconds are over."""
        end = time.monotonic() + seconds
        while (above := self.memory("VmRSS") - idle) > most and time.monotonic() < end:
            time.sleep(0.5)
        return above

    def end(self) -> int:
        """End the server and return its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(60)
        finally:
            self._log.close()


class Serving:
    """Eight callers that read bombs, all the same one at a time."""

    def __init__(self, server: Server, directory: Path, root: str = "", dialects: Sequence[str] = tuple(TOOLS)) -> None:
        """`root` is the name of the root for callers, if it is not `directory`."""
        self.server = server
        self.samples = sorted(path.name for path in directory.glob("sample.*"))
        self.root = root or str(directory)
        self.dialects = dialects
        self.expected: dict[str, str] = {}

    def warm_up(self) -> None:
        """Read samples of every kind, eight at once, and note the answers for the plain file."""
        for _ in range(2):
            for dialect in self.dialects:
                for name in self.samples:
                    for arguments in calls(name, (), dialect, self.root):
                        self._ask_at_once(dialect, arguments)
                self.expected[dialect] = self.server.call(dialect, plain_call("plain.txt", dialect, self.root))
        time.sleep(11)  # the server returns freed memory every ten seconds
        self.idle = self.server.memory("VmRSS")

    def read(self, name: str, selectors: list[str]) -> dict[str, Any]:
        """Read one bomb by every call of every dialect; return the worst of all figures."""
        worst: dict[str, Any] = {"name": name, "seconds": 0.0, "peak": 0, "calls": 0, "wrong": []}
        for dialect in self.dialects:
            for arguments in calls(name, selectors, dialect, self.root):
                self.server.reset_peak()
                seconds, failures = self._ask_at_once(dialect, arguments)
                peak = self.server.memory("VmHWM") - self.idle
                worst["calls"] += CALLERS
                worst["wrong"] += failures
                if seconds > worst["seconds"]:
                    worst.update(seconds=round(seconds, 2), slowest=[dialect, arguments])
                if peak > worst["peak"]:
                    worst.update(peak=peak, largest=[dialect, arguments])
            if self.server.call(dialect, plain_call("plain.txt", dialect, self.root)) != self.expected[dialect]:
                worst["wrong"].append(dialect)
        worst["after"] = self.server.memory("VmRSS") - self.idle
        return worst

    def _ask_at_once(self, dialect: str, arguments: dict[str, Any]) -> tuple[float, list[str]]:
        """Send one call eight times at once; return the seconds of the slowest and what went wrong."""
        seconds: list[float] = []
        failures: list[str] = []

        def ask() -> None:
            start = time.monotonic()
            try:
                answer = self.server.call(dialect, arguments)
                if not answer.startswith("200 "):
                    failures.append(f"{dialect}: {answer[:100]}")
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"{dialect}: no answer ({type(error).__name__})")
            seconds.append(time.monotonic() - start)

        threads = [threading.Thread(target=ask) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return max(seconds), failures
