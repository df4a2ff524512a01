"""Measure the gain from a second thread: the same calls by one thread and by two, in one process.

    python bench/threads.py [rounds]

The gain is near 1 where Python has an interpreter lock and a call is short, and up to 2 on a free-threaded Python
with two processors. Every answer is compared with the one of a single thread.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter

from eyespan import Workspace, _native

FILES = 1000
LINES = 40


def main(rounds):
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(
        f"Python {sys.version.split()[0]}, {'with' if has_lock else 'without'} an interpreter lock; "
        f"inner loops: {_native.BACKEND}; {os.cpu_count()} processors"
    )
    with tempfile.TemporaryDirectory() as directory:
        names = _make(Path(directory))
        for dialect, calls in _rows(names).items():
            with Workspace(directory) as workspace:
                tool = workspace.tool(dialect)
                expected = [_answer(tool, call) for call in calls]
                one, two = float("inf"), float("inf")
                for _ in range(rounds):
                    one = min(one, _seconds(tool, calls, expected, 1))
                    two = min(two, _seconds(tool, calls, expected, 2))
            print(f"{dialect:<10} one thread {one * 1e3:7.1f} ms, two {two * 1e3:7.1f} ms, gain {one / two:4.2f}")


def _make(directory):
    names = []
    for i in range(FILES):
        name = f"part{i % 10}/module{i}.py"
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"    value_{i}_{n} = compute({n}, mode)\n" for n in range(LINES)))
        names.append(name)
    return names


def _rows(names):
    return {
        "workspace": [{"path": name} for name in names],
        "forge": [{"path": name} for name in names],
        "native": [{"path": name} for name in names],
    }


def _answer(tool, call):
    reply = tool.call(call)
    if reply.is_error:
        raise SystemExit(f"{call}: {reply.text}")
    return reply.text


def _seconds(tool, calls, expected, threads):
    wrong = []

    def read(part):
        for i in range(part, len(calls), threads):
            if _answer(tool, calls[i]) != expected[i]:
                wrong.append(i)

    crew = [threading.Thread(target=read, args=(part,)) for part in range(threads)]
    start = perf_counter()
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    taken = perf_counter() - start
    if wrong:
        raise SystemExit(f"{len(wrong)} answers differ from those of a single thread")
    return taken


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
