"""Measure the figures that docs/security.md promises: `python -m proof promises`.

Makes hostile files in a temporary directory and reads them in every dialect, several calls each, in one process.
Measures the slowest refusal, the memory, and the descriptors and threads that are left, then the cost of the guard
compared with a bare open. Takes a minute or two; the exit status is 1 if a promise does not hold. Times are those of
this machine; a busy one is slower.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import gzip
import json
import lzma
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from pathlib import Path

from eyespan import Workspace, worker
from eyespan.guard import BACKENDS, Guard, blocking, choose_backend
from eyespan.guard.roots import Root
from eyespan.policy import Policy
from tests.hung_fuse import hung_mount, why_not

MB = 1_000_000
DIALECTS = ("codex", "workspace", "forge", "claude", "native")
SPECIAL_MS, SPARSE_MS, MEMORY_MB, MORE_THREADS = 10, 50, 64, 8
SPECIAL_CALLS = 9
"""Each refusal of a special file is measured so many times more, and its fastest time counts."""
OPENAT_US, WALK_US = 25, 60
"""The time that the guard may take beyond os.open and os.read. A multiple of their time is no limit: on a machine where
they take half as long, the same guard takes a larger one."""
DEPTH = 6
SPECIAL = ("pipe", "socket", "zero", "environ", "fd", "mem", "leased")


def make_hostile_files(directory: Path) -> dict[str, str]:
    """Make the hostile files and return a description of each, by name."""
    made = {}

    def add(name: str, description: str) -> Path:
        made[name] = description
        return directory / name

    os.mkfifo(add("pipe", "a pipe"))
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(directory)  # the name of a socket has at most 108 bytes
        bound.bind("socket")
        os.chdir(here)
    made["socket"] = "a socket"
    try:
        os.mknod(add("zero", "a device"), 0o20666, os.makedev(1, 5))
    except PermissionError:
        del made["zero"]
        os.symlink("/dev/zero", add("zero-link", "a link to a device"))
    for name, target in (
        ("out", "/etc/passwd"),
        ("loop", "loop"),
        ("environ", "/proc/self/environ"),
        ("fd", "/proc/self/fd/0"),
        ("mem", "/proc/self/mem"),
        ("up", "../../../../../../etc/passwd"),
    ):
        os.symlink(target, add(name, f"a link to {target}"))
    with add("sparse", "1 TB of holes").open("wb") as file:
        try:
            file.truncate(10**12)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            file.truncate(10**10)
    with add("line", "one line of 200 MB").open("wb") as file:
        for _ in range(200):
            file.write(b"x" * MB)
    add("surrogates.ipynb", "a notebook of lone surrogates").write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": "\ud800", "outputs": [], "metadata": {}}], "nbformat": 4})
    )
    add("deep.ipynb", "a notebook nested 200,000 deep").write_text('{"cells":' + "[" * 200_000 + "]" * 200_000 + "}")
    add("bomb.png", "an image of 2.5 gigapixels").write_bytes(_png(50_000, 50_000))
    with zipfile.ZipFile(add("bomb.docx", "a document of 1 GB"), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w") as part:
            for _ in range(1000):
                part.write(b" " * MB)
    with gzip.open(add("bomb.gz", "1 GB of zeros, compressed"), "wb") as file:
        for _ in range(1000):
            file.write(bytes(MB))
    with lzma.open(add("bomb.xz", "500 MB of zeros, compressed"), "wb", preset=0) as file:
        for _ in range(500):
            file.write(bytes(MB))
    add("broken.pdf", "an invalid PDF").write_bytes(b"%PDF-1.7\n" + os.urandom(100_000))
    add("nul.txt", "10 MB of NULs").write_bytes(bytes(10 * MB))
    add(".env", "a file that a rule denies").write_text("TOKEN=1\n")
    add("n\udcff\nm", "a name that is not UTF-8").write_text("plain\n")
    add("leased", "a file under a write lease").write_text("plain\n")
    return made


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(MB))) + chunk(b"IEND", b"")
    )


def arguments(dialect: str, path: str) -> list[dict]:
    """Return the arguments of several calls for one file: its start, and lines far from it."""
    match dialect:
        case "codex":
            return [{"file_path": path}, {"file_path": path, "mode": "indentation", "offset": 1}]
        case "workspace":
            return [{"path": path}, {"path": path, "start_line": 5}]
        case "forge":
            return [{"path": path, "head": 5}, {"path": path}, {"path": path, "tail": 5}]
        case "claude":
            return [{"file_path": path}, {"file_path": path, "offset": 5, "limit": 5}]
    return [{"files": [path]}, {"files": [f"{path}:5-9"]}, {"files": [path], "outline": True}]


def status(name: str) -> int:
    """Return a number of /proc/self/status: kB, or a count."""
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


class Table:
    """The table of promises; counts those that do not hold."""

    def __init__(self) -> None:
        self.broken = 0

    def add(self, promise: str, measured: str, limit: str, held: bool) -> None:
        self.broken += not held
        print(f"| {promise} | {measured} | {limit} | {'held' if held else '**broken**'} |", flush=True)


def measure_hostile(table: Table, directory: Path, root: Path, made: dict[str, str]) -> None:
    """Read every hostile file in every dialect."""
    tools = {dialect: Workspace(root).tool(dialect) for dialect in DIALECTS}
    (root / "plain").write_text("one\ntwo\n")
    for tool, dialect in [(tools[name], name) for name in DIALECTS]:
        for ask in arguments(dialect, str(root / "plain")):
            tool.call(ask)  # imports modules and fills the allocator's pools before the first measurement
    base_kb, base_fds, base_threads = status("VmRSS"), descriptors(), status("Threads")
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # sent to the holder of a lease when others open the file
    holder = os.open(root / "leased", os.O_WRONLY)
    fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    slowest: dict[str, float] = {}
    secret = Path("/etc/passwd").read_text()[:200]
    leaks = calls = 0
    for name in made:
        for dialect, tool in tools.items():
            for ask in arguments(dialect, str(root / name)):
                start = time.perf_counter()
                reply = tool.call(ask)
                seconds = time.perf_counter() - start
                if name in SPECIAL:  # a call that waits for the file does so each time; one that lost its core does not
                    seconds = min(seconds, *[_timed(tool, ask) for _ in range(SPECIAL_CALLS)])
                slowest[name] = max(slowest.get(name, 0), seconds)
                json.dumps(
                    [reply.text, reply.structured], ensure_ascii=False
                ).encode()  # raises if it is not valid UTF-8
                leaks += secret in reply.text or str(directory / "outside") in reply.text
                calls += 1
    peak_mb = (status("VmHWM") - base_kb) / 1000
    fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    os.close(holder)
    special = {name: slowest[name] * 1000 for name in SPECIAL if name in made}
    worst = max(special, key=lambda name: special[name])
    table.add(
        "refusal of a special file, the slowest of all calls, each at its best of ten",
        f"{special[worst]:.2f} ms ({made[worst]})",
        f"{SPECIAL_MS} ms",
        special[worst] < SPECIAL_MS,
    )
    sparse = min(_timed(tools["claude"], {"file_path": str(root / "sparse"), "limit": 1}) for _ in range(3))
    table.add(
        "the first line of 1 TB of holes", f"{sparse * 1000:.2f} ms", f"{SPARSE_MS} ms", sparse * 1000 < SPARSE_MS
    )
    worst = max(slowest, key=lambda name: slowest[name])
    table.add(
        f"any of {calls} calls on {len(made)} hostile files",
        f"{slowest[worst]:.2f} s ({made[worst]})",
        "10.5 s",
        slowest[worst] < 10.5,
    )
    table.add("bytes or names from outside in an answer", str(leaks), "0", leaks == 0)
    promise = "memory of the main process above idle, all of them"
    table.add(promise, f"{peak_mb:.1f} MB", f"{MEMORY_MB} MB", peak_mb <= MEMORY_MB)
    more_threads = status("Threads") - base_threads
    worker.shared().stop()  # a warm worker keeps its socket open
    more_fds = descriptors() - base_fds
    table.add("descriptors more than before", str(more_fds), "0", more_fds <= 0)
    table.add("threads more than before", str(more_threads), str(MORE_THREADS), more_threads <= MORE_THREADS)


def _timed(tool, ask) -> float:
    start = time.perf_counter()
    tool.call(ask)
    return time.perf_counter() - start


def measure_hung(table: Table, directory: Path) -> None:
    """Make 64 calls at once on a mount that never answers, plain reads meanwhile, and one command on the same mount.

    Then make eight calls on files of the same mount that answer slowly: their threads end, so the mount can be read.
    """
    if reason := why_not():
        print(f"| a mount that hangs | not measured: {reason} | | |")
        return
    point = directory / "mount"
    point.mkdir()
    (directory / "plain").write_text("one\ntwo\n" * 1000)
    try:
        with hung_mount(point) as mount:
            time.sleep(1.2)  # the table of mounts is cached for a second
            tool = Workspace(directory).tool("codex")
            took: list[float] = []
            codes: list[str] = []

            def hostile(name: str) -> None:
                start = time.perf_counter()
                reply = tool.call({"file_path": str(point / f"{name}-1")})
                took.append(time.perf_counter() - start)
                codes.append(reply.error.code if reply.error else "answered")

            names = [("open", "read", "lookup")[number % 3] for number in range(64)]
            threads = [threading.Thread(target=hostile, args=(name,)) for name in names]
            for thread in threads:
                thread.start()
            plain = []
            while any(thread.is_alive() for thread in threads):
                plain.append(_timed(tool, {"file_path": str(directory / "plain")}))
                time.sleep(0.005)
            busy = _timed(tool, {"file_path": str(point / "read-1")})
            shell = {}
            for name in ("plain", "mount/read-1"):
                start = time.perf_counter()
                command = [sys.executable, "-m", "eyespan", "read", name]
                done = subprocess.run(command, cwd=directory, capture_output=True, timeout=60, check=False)
                shell[name] = time.perf_counter() - start
            counted = ", ".join([f"{codes.count(code)} {code}" for code in sorted(set(codes))])
            longest = max(took)
            mount.answer()
            took.clear()
            threads = [threading.Thread(target=hostile, args=("drip",)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            slow = max(took)
            give_up = time.monotonic() + 30
            while blocking.stuck() and time.monotonic() < give_up:
                time.sleep(0.01)
            after = tool.call({"file_path": str(point / "plain.txt")})
    except (OSError, subprocess.SubprocessError) as error:
        print(f"| a mount that hangs | not measured: {error} | | |")
        return
    promise = "64 calls at once on a hung mount, the longest"
    table.add(promise, f"{longest:.2f} s ({counted})", "10.5 s", longest <= 10.5 and counted == "56 busy, 8 timeout")
    table.add("the next call on it", f"{busy * 1000:.1f} ms", "at once", busy < 0.1)
    promise = f"{len(plain)} plain reads meanwhile, the longest"
    table.add(promise, f"{max(plain) * 1000:.0f} ms", "1 s", max(plain) < 1)
    more = shell["mount/read-1"] - shell["plain"]
    promise = "`eyespan read` of a file on it, start to end, more than of a plain file"
    table.add(promise, f"{more:.2f} s, exit {done.returncode}", "10.5 s", more <= 10.5 and done.returncode == 1)
    table.add("8 calls at once on a slow mount, the longest", f"{slow:.2f} s", "10.5 s", slow <= 10.5)
    answered = after.error.code if after.error else "answered"
    table.add("the next call on it, for a file that is not slow", answered, "answered", after.error is None)


def measure_guard(table: Table, directory: Path) -> None:
    """Measure opening and reading a small file, DEPTH directories deep, compared with os.open and os.read."""
    deep = directory.joinpath(*[f"directory{n}" for n in range(DEPTH)])
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"x" * 1000)
    path, root = str(deep / "file"), Root(directory)

    def bare() -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        os.read(fd, 4096)
        os.close(fd)

    def guarded(guard: Guard) -> None:
        with guard.open(path) as source:
            source.read_at(0, 4096)

    ways = {name: Guard([root], Policy(), name) for name in BACKENDS if name != "portable"}
    times: dict[str, list[float]] = {name: [] for name in ("bare", *ways)}
    for _ in range(200):
        for name in times:
            start = time.perf_counter()
            for _ in range(10):
                bare() if name == "bare" else guarded(ways[name])
            times[name].append((time.perf_counter() - start) / 10 * 1e6)
    floor = statistics.median(times["bare"])
    for name in ways:
        took = statistics.median(times[name])
        more = OPENAT_US if name == "openat2" else WALK_US
        label = f"guard `{name}`, {DEPTH} directories deep{' (in use)' if name == choose_backend() else ''}"
        measured = f"{took - floor:.1f} us more than os.open and read ({floor:.1f} us), {took / floor:.1f} times"
        if name in ("openat2", "walk"):
            table.add(label, measured, f"{more} us more", took - floor <= more)
        else:
            print(f"| {label} | {measured} | not promised | |")


def main(argv: list[str] | None = None) -> int:
    argparse.ArgumentParser(description="Measure the figures that docs/security.md promises.").parse_args(argv)
    if not sys.platform.startswith("linux"):
        print("promises: measures through /proc, which only Linux has", file=sys.stderr)
        return 2
    table = Table()
    print("| promise | measured | limit | |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as given:
        directory = Path(given)
        for name in ("root", "hung", "guarded"):
            (directory / name).mkdir()
        made = make_hostile_files(directory / "root")
        measure_hostile(table, directory, directory / "root", made)
        measure_hung(table, directory / "hung")
        measure_guard(table, directory / "guarded")
    print(f"\n{'every promise held' if not table.broken else f'{table.broken} broken'}")
    return 1 if table.broken else 0
