"""Any window of any file costs at most 32 MB above the idle process; each call runs in a separate process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.sizes import size

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc/self/status")

MOST_BYTES = 32_000_000
MB = 1_000_000
LOG_LINE = b"2025-01-17T12:00:00.000Z INFO  service: request served in 12 ms, id=0123456789abcdef, path=/api/v1/thing\n"
FILE_MB = size(short=40, long=200)
LOG_LINES = FILE_MB * MB // len(LOG_LINE)
DEEP = LOG_LINES * 4 // 5

MEASURE = """
import json, os, sys
from eyespan import Workspace

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

def measured(root, dialect, arguments, settings):
    tool = Workspace(root).tool(dialect, **settings)
    name = "path" if dialect.startswith(("workspace", "forge")) else "file_path"
    tool.call({**arguments, name: root + "/small"})
    idle = status("VmRSS")
    reply = tool.call({**arguments, name: root + "/file"})
    return status("VmHWM") - idle, len(reply.text), reply.is_error

for case in json.load(sys.stdin):
    if (child := os.fork()) == 0:
        print(json.dumps(measured(sys.argv[1], *case)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def peaks(directory: Path, cases: list[tuple[str, dict, dict]]) -> list[tuple[int, int, bool]]:
    """Return the bytes that each call took, the characters of its answer, and True for an error.

    Each call has a process of its own, forked from one that has read nothing. The small file begins with a byte order
    mark: else the steps that the measured call takes would not be loaded.
    """
    (directory / "small").write_bytes(b"\xef\xbb\xbfdef f():\n    # note\n    return 1\n" * 3)
    command = [sys.executable, "-c", MEASURE, str(directory)]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=True)
    found = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(cases), done.stderr
    return found


@pytest.fixture
def directory():
    """Make a directory, in memory if there is enough: the files are large and are read once."""
    shared = "/dev/shm"
    has_space = os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 2_000 * MB
    with tempfile.TemporaryDirectory(dir=shared if has_space else None) as made:
        yield Path(made)


def block(**options) -> dict:
    return {"mode": "indentation", "limit": options.pop("limit", 2000), "indentation": options}


ANY_SCAN = {"max_scan_bytes": 1 << 40}
EVERYTHING = 10**9


def write_one_line(file: Path) -> None:
    with file.open("wb") as out:
        for _ in range(FILE_MB):
            out.write(b"x" * MB)


def write_log(file: Path) -> None:
    with file.open("wb") as out:
        for _ in range(LOG_LINES // 1000 + 1):
            out.write(LOG_LINE * 1000)


def write_long_lines(file: Path) -> None:
    with file.open("wb") as out:
        for _ in range(2000):
            out.write(b"y" * 99_999 + b"\n")


def write_no_text(file: Path) -> None:
    file.write_bytes(b"\n" * 1_200_000)


def write_wide_text(file: Path) -> None:
    file.write_bytes(("😀" * 2500 + "\n").encode() * 2000)


def write_nearly_narrow_text(file: Path) -> None:
    file.write_bytes(("x" * 2500 + "\n").encode() * 1999 + "😀".encode())


def write_utf16(file: Path) -> None:
    file.write_bytes(b"\xff\xfe" + ("日" * 2500 + "\n").encode("utf-16-le") * 2000)


CASES = {
    write_one_line: [
        ("codex", {}, {}),
        ("codex", block(), {}),
        ("claude", {}, {}),
        ("forge", {"head": 1}, {}),
        ("forge", {"head": 1}, ANY_SCAN),
        ("forge", {"tail": 1}, ANY_SCAN),
        ("workspace", {}, {}),
    ],
    write_log: [
        ("codex", {"offset": DEEP}, {}),
        ("codex", {"limit": EVERYTHING}, {}),
        ("codex", {"limit": 120_000}, {}),
        ("codex", block(anchor_line=DEEP), {}),
        ("codex", block(anchor_line=DEEP, include_siblings=True), {}),
        ("codex", block(anchor_line=DEEP, include_siblings=True, limit=EVERYTHING), {}),
        ("codex", block(anchor_line=DEEP, include_siblings=True, limit=35_000), {}),
        ("claude", {"offset": DEEP}, {}),
        ("claude", {"limit": EVERYTHING}, {}),
        ("claude", {"limit": 120_000}, {}),
        ("claude", {"limit": 2000}, {}),
        ("forge", {"start_line": DEEP, "limit": 2000}, ANY_SCAN),
        ("forge", {"tail": 2000}, ANY_SCAN),
        ("forge", {"tail": 120_000}, ANY_SCAN),
        ("forge", {"head": 2000}, ANY_SCAN),
        ("forge", {"head": 120_000, "show_line_numbers": False}, ANY_SCAN),
        ("forge", {}, {}),
        ("forge", {}, {"max_file_read_bytes": 1 << 40}),
        ("workspace", {}, {}),
    ],
    write_long_lines: [
        ("codex", {}, {}),
        ("codex", block(anchor_line=1000, include_siblings=True), {}),
        ("claude", {}, {}),
        ("forge", {"head": 150}, ANY_SCAN),
        ("forge", {"tail": 150}, ANY_SCAN),
        ("forge", {"head": 2000}, ANY_SCAN),
    ],
    write_no_text: [
        ("codex", {"limit": EVERYTHING}, {}),
        ("codex", {"limit": 900_000}, {}),
        ("codex", block(anchor_line=1_100_000, limit=EVERYTHING), {}),
        ("claude", {"limit": 900_000}, {}),
        ("forge", {"head": 900_000}, ANY_SCAN),
    ],
    write_wide_text: [("codex", {}, {}), ("claude", {}, {}), ("forge", {"head": 1500}, ANY_SCAN)],
    write_nearly_narrow_text: [("claude", {}, {}), ("forge", {"head": 2000}, ANY_SCAN)],
    write_utf16: [("claude", {}, {})],
}
SHOWN = [write_long_lines, write_nearly_narrow_text, write_utf16]


@pytest.mark.parametrize("write", CASES)
def test_no_window_costs_more_memory_than_promised(write, directory):
    write(directory / "file")

    costs = zip(CASES[write], peaks(directory, CASES[write]), strict=True)

    assert [(case, cost) for case, cost in costs if cost[0] > MOST_BYTES] == []


@pytest.mark.parametrize("write", SHOWN)
def test_two_thousand_long_lines_are_shown(write, directory):
    """Read as many lines as claude promises by default; they fit in the limit of an answer, except emoji."""
    write(directory / "file")

    for _, chars, failed in peaks(directory, [(dialect, {}, {}) for dialect in ("codex", "claude")]):
        assert not failed
        assert chars > 20_000
