"""Read bombs in this process: `python -m proof.bombs.reading ROOT [NAME...]` prints a line of JSON for each bomb."""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from eyespan import Tool, Workspace
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

    def __init__(self, root: str) -> None:
        self.root = root
        workspace = Workspace(root)
        self.tools = {dialect: _tool(workspace, dialect) for dialect in DIALECTS}
        self.expected: dict[str, Any] = {}

    def warm_up(self) -> None:
        """Load every module and the worker, and note the answers for the plain file."""
        for _ in range(2):
            for dialect, tool in self.tools.items():
                for name in sorted(path.name for path in Path(self.root).glob("sample.*")):
                    for arguments in calls(name, (), dialect, self.root):
                        tool.call(arguments)
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
                reply = tool.call(arguments)
                seconds = time.monotonic() - start
                peak = memory("VmHWM") - self.idle
                worst["calls"] += 1
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


def _tool(workspace: Workspace, dialect: str) -> Tool:
    toolset = workspace.toolset(dialect)
    return toolset[0] if len(toolset) == 1 else toolset.named(TOOLS[dialect].removeprefix(f"{dialect}_"))


def main(arguments: list[str]) -> None:
    root, *names = arguments
    return_memory()  # as `eyespan serve` does
    reading = Reading(root)
    reading.warm_up()
    for name, _, selectors in json.loads(Path(root, "bombs.json").read_text()):
        if not names or name in names:
            print(json.dumps(reading.read(name, selectors)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
