"""Read bombs in this process: `python -m proof.bombs.reading ROOT [NAME...]` prints a line of JSON for each bomb.

EYESPAN_BOMBS_ADDRESS names the root that is read, if it is not that directory: a store with the same files.
EYESPAN_BOMBS_DIALECTS names the dialects, with commas between them. EYESPAN_BOMBS_CALLERS is the number of threads that
make each call at once.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyespan import Reply, Tool, Workspace
from eyespan.sandbox.process import return_memory
from proof.bombs.calls import DIALECTS, TOOLS, calls, plain_call

SETTLE_SECONDS = 0.2
"""The time for threads and processes of a call to end."""


def memory(name: str) -> int:
    """Return a figure of this process in bytes: VmRSS, or VmHWM for the most since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status has no {name}")


def reset_peak() -> None:
    """Let VmHWM start again from the present size."""
    Path("/proc/self/clear_refs").write_text("5")


class Reading:
    """One process that reads bombs in every dialect."""

    def __init__(self, root: str, address: str = "", dialects: Sequence[str] = DIALECTS, callers: int = 1) -> None:
        """`address` is the root that is read, if it is not `root`: `/name=https://host`."""
        self.callers = callers
        self.samples = sorted(path.name for path in Path(root).glob("sample.*"))
        self.root = address.partition("=")[0] or root
        workspace = Workspace(address or root)
        self.tools = {dialect: _tool(workspace, dialect) for dialect in dialects}
        self.expected: dict[str, Any] = {}

    def warm_up(self) -> None:
        """Load every module and the worker, and note the answers for the plain file."""
        for _ in range(2):
            for dialect, tool in self.tools.items():
                for name in self.samples:
                    for arguments in calls(name, (), dialect, self.root):
                        self._ask_at_once(tool, arguments)
                self.expected[dialect] = tool.call(plain_call("plain.txt", dialect, self.root))
                assert not self.expected[dialect].is_error, dialect
        gc.collect()
        self.idle = memory("VmRSS")

    def read(self, name: str, selectors: list[str]) -> dict[str, Any]:
        """Read one bomb by every call of every dialect; return the worst of all figures."""
        worst: dict[str, Any] = {"name": name, "seconds": 0.0, "peak": 0, "calls": 0, "wrong": []}
        for dialect, tool in self.tools.items():
            for arguments in calls(name, selectors, dialect, self.root):
                reset_peak()
                start = time.monotonic()
                reply = self._ask_at_once(tool, arguments)
                seconds = time.monotonic() - start
                peak = memory("VmHWM") - self.idle
                worst["calls"] += self.callers
                if seconds > worst["seconds"]:
                    worst.update(seconds=round(seconds, 2), slowest=[dialect, arguments])
                if peak > worst["peak"]:
                    worst.update(peak=peak, largest=[dialect, arguments], answer=str(reply.error or reply.text)[:100])
                del reply
            if tool.call(plain_call("plain.txt", dialect, self.root)) != self.expected[dialect]:
                worst["wrong"].append(dialect)
        time.sleep(SETTLE_SECONDS)
        worst["after"] = memory("VmRSS") - self.idle
        return worst

    def _ask_at_once(self, tool: Tool, arguments: dict[str, Any]) -> Reply:
        """Make a call in each thread at once, and return the answer of one."""
        replies: list[Reply] = []
        threads = [threading.Thread(target=_ask, args=(tool, arguments, replies)) for _ in range(self.callers - 1)]
        for thread in threads:
            thread.start()
        _ask(tool, arguments, replies)
        for thread in threads:
            thread.join()
        assert len(replies) == self.callers, "a call raised an error"
        return replies[0]


def _ask(tool: Tool, arguments: dict[str, Any], replies: list[Reply]) -> None:
    replies.append(tool.call(arguments))


def _tool(workspace: Workspace, dialect: str) -> Tool:
    toolset = workspace.toolset(dialect)
    return toolset[0] if len(toolset) == 1 else toolset.named(TOOLS[dialect].removeprefix(f"{dialect}_"))


def main(arguments: list[str]) -> None:
    root, *names = arguments
    return_memory()  # as `eyespan serve` does
    reading = Reading(
        root,
        address=os.environ.get("EYESPAN_BOMBS_ADDRESS", ""),
        dialects=os.environ.get("EYESPAN_BOMBS_DIALECTS", ",".join(DIALECTS)).split(","),
        callers=int(os.environ.get("EYESPAN_BOMBS_CALLERS", "1")),
    )
    reading.warm_up()
    for name, _, selectors in json.loads(Path(root, "bombs.json").read_text()):
        if not names or name in names:
            print(json.dumps(reading.read(name, selectors)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
