"""Measures what docs/security.md promises in figures, and says which promise holds: `python tools/promises.py`.

Hostile files are made in a temporary folder and read in every dialect, several calls each, in one process: how long the
slowest refusal took, how much memory, how many descriptors and threads are left. Then what the guard costs beside a
bare open. A minute or two; exits with 1 if a promise does not hold. Times are of this machine; a busy one is slower.
"""

from __future__ import annotations

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
from eyespan.guard import BACKENDS, Guard, choose_backend
from eyespan.guard.roots import Root
from eyespan.policy import Policy

MB = 1_000_000
DIALECTS = ("codex", "workspace", "forge", "claude", "native")
SPECIAL_MS, SPARSE_MS, MEMORY_MB, MORE_THREADS = 10, 50, 64, 8
OPENAT_US, WALK_US = 25, 60
"""What the guard may take more than os.open and os.read do."""
OPENAT_TIMES, WALK_TIMES = 3, 8
"""How many times as long as they do."""
DEPTH = 6
SPECIAL = ("pipe", "door", "zero", "environ", "fd", "mem", "leased")


def make(folder: Path) -> dict[str, str]:
    """The hostile files: what each one is, by name."""
    made = {}

    def add(name: str, what: str) -> Path:
        made[name] = what
        return folder / name

    os.mkfifo(add("pipe", "a pipe"))
    with socket.socket(socket.AF_UNIX) as door:
        here = os.getcwd()
        os.chdir(folder)  # the name of a socket has at most 108 bytes
        door.bind("door")
        os.chdir(here)
    made["door"] = "a socket"
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
    add("bomb.png", "a picture of 2.5 gigapixels").write_bytes(_png(50_000, 50_000))
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
    add("broken.pdf", "a PDF that is none").write_bytes(b"%PDF-1.7\n" + os.urandom(100_000))
    add("nul.txt", "10 MB of NULs").write_bytes(bytes(10 * MB))
    add(".env", "a file that a rule denies").write_text("TOKEN=1\n")
    add("n\udcff\nm", "a name that is no text").write_text("plain\n")
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
    """The calls for one file: its start, and what is far inside it."""
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
    """A number of /proc/self/status: kB, or how many."""
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


class Sheet:
    """The promises and whether they hold."""

    def __init__(self) -> None:
        self.broken = 0

    def say(self, what: str, measured: str, limit: str, held: bool) -> None:
        self.broken += not held
        print(f"| {what} | {measured} | {limit} | {'held' if held else '**broken**'} |", flush=True)


def measure_hostile(sheet: Sheet, folder: Path, inside: Path, made: dict[str, str]) -> None:
    tools = {dialect: Workspace(inside).tool(dialect) for dialect in DIALECTS}
    (inside / "plain").write_text("one\ntwo\n")
    for tool, dialect in [(tools[name], name) for name in DIALECTS]:
        for ask in arguments(dialect, str(inside / "plain")):
            tool.call(ask)  # modules are imported, the allocator has what it keeps
    base_kb, base_fds, base_threads = status("VmRSS"), descriptors(), status("Threads")
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # what the holder of a lease is told when others want the file
    holder = os.open(inside / "leased", os.O_WRONLY)
    fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    slowest: dict[str, float] = {}
    secret = Path("/etc/passwd").read_text()[:200]
    leaks = calls = 0
    for name in made:
        for dialect, tool in tools.items():
            for ask in arguments(dialect, str(inside / name)):
                start = time.perf_counter()
                reply = tool.call(ask)
                slowest[name] = max(slowest.get(name, 0), time.perf_counter() - start)
                json.dumps([reply.text, reply.structured], ensure_ascii=False).encode()  # valid UTF-8, or it raises
                leaks += secret in reply.text or str(folder / "outside") in reply.text
                calls += 1
    peak_mb = (status("VmHWM") - base_kb) / 1000
    fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    os.close(holder)
    special = {name: slowest[name] * 1000 for name in SPECIAL if name in made}
    worst = max(special, key=lambda name: special[name])
    sheet.say(
        "refusal of a special file, the slowest call",
        f"{special[worst]:.2f} ms ({made[worst]})",
        f"{SPECIAL_MS} ms",
        special[worst] < SPECIAL_MS,
    )
    sparse = min(_timed(tools["claude"], {"file_path": str(inside / "sparse"), "limit": 1}) for _ in range(3))
    sheet.say("the head of 1 TB of holes", f"{sparse * 1000:.2f} ms", f"{SPARSE_MS} ms", sparse * 1000 < SPARSE_MS)
    worst = max(slowest, key=lambda name: slowest[name])
    sheet.say(
        f"any of {calls} calls on {len(made)} hostile files",
        f"{slowest[worst]:.2f} s ({made[worst]})",
        "10.5 s",
        slowest[worst] < 10.5,
    )
    sheet.say("bytes or names from outside in an answer", str(leaks), "0", leaks == 0)
    what = "memory of the main process above idle, all of them"
    sheet.say(what, f"{peak_mb:.1f} MB", f"{MEMORY_MB} MB", peak_mb <= MEMORY_MB)
    more_threads = status("Threads") - base_threads
    worker.worker().stop()  # while it is warm, its socket stays open
    more_fds = descriptors() - base_fds
    sheet.say("descriptors more than before", str(more_fds), "0", more_fds <= 0)
    sheet.say("threads more than before", str(more_threads), str(MORE_THREADS), more_threads <= MORE_THREADS)


def _timed(tool, ask) -> float:
    start = time.perf_counter()
    tool.call(ask)
    return time.perf_counter() - start


def measure_hung(sheet: Sheet, folder: Path) -> None:
    """64 calls at once on a mount that never answers, plain reads meanwhile, and the command line on the same mount."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from hung_fuse import hung_mount

    point = folder / "mount"
    point.mkdir()
    (folder / "plain").write_text("one\ntwo\n" * 1000)
    try:
        with hung_mount(point) as mount:
            time.sleep(1.2)  # the table of mounts is remembered for a second
            tool = Workspace(folder).tool("codex")
            took: list[float] = []
            codes: list[str] = []

            def hostile(number: int) -> None:
                start = time.perf_counter()
                name = ("open", "read", "lookup", "drip")[number % 4]
                reply = tool.call({"file_path": str(point / f"{name}-1")})
                took.append(time.perf_counter() - start)
                codes.append(reply.error.code if reply.error else "answered")

            threads = [threading.Thread(target=hostile, args=(number,)) for number in range(64)]
            for thread in threads:
                thread.start()
            plain = []
            while any(thread.is_alive() for thread in threads):
                plain.append(_timed(tool, {"file_path": str(folder / "plain")}))
                time.sleep(0.005)
            busy = _timed(tool, {"file_path": str(point / "read-1")})
            start = time.perf_counter()
            command = [sys.executable, "-m", "eyespan", "read", "mount/read-1"]
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
            shell = time.perf_counter() - start
            mount.answer()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"| a mount that hangs | not measured: {error} | | |")
        return
    counted = ", ".join([f"{codes.count(code)} {code}" for code in sorted(set(codes))])
    what = "64 calls at once on a hung mount, the longest"
    sheet.say(what, f"{max(took):.2f} s ({counted})", "10.5 s", max(took) <= 10.5)
    sheet.say("the next call on it", f"{busy * 1000:.1f} ms", "at once", busy < 0.1)
    what = f"{len(plain)} plain reads meanwhile, the longest"
    sheet.say(what, f"{max(plain) * 1000:.0f} ms", "1 s", max(plain) < 1)
    what = "`eyespan read` of a file on it, start to end"
    sheet.say(what, f"{shell:.2f} s, exit {done.returncode}", "10.5 s", shell <= 10.5 and done.returncode == 1)


def measure_guard(sheet: Sheet, folder: Path) -> None:
    """What it takes to open and read a small file, DEPTH folders deep, beside os.open and os.read."""
    deep = folder.joinpath(*[f"folder{n}" for n in range(DEPTH)])
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"x" * 1000)
    path, root = str(deep / "file"), Root(folder)

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
        more, times_more = (OPENAT_US, OPENAT_TIMES) if name == "openat2" else (WALK_US, WALK_TIMES)
        label = f"guard `{name}`, {DEPTH} folders deep{' (in use)' if name == choose_backend() else ''}"
        measured = f"{took - floor:.1f} us more than os.open and read ({floor:.1f} us), {took / floor:.1f} times"
        if name in ("openat2", "walk"):
            held = took - floor <= more and took <= times_more * floor
            sheet.say(label, measured, f"{more} us, {times_more} times", held)
        else:
            print(f"| {label} | {measured} | not promised | |")


def main() -> int:
    if not sys.platform.startswith("linux"):
        print("promises.py: measures by /proc, so on Linux only", file=sys.stderr)
        return 2
    sheet = Sheet()
    print("| promise | measured | limit | |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        inside = folder / "root"
        inside.mkdir()
        made = make(inside)
        measure_hostile(sheet, folder, inside, made)
        hung = folder / "hung"
        hung.mkdir()
        measure_hung(sheet, hung)
        guarded = folder / "guarded"
        guarded.mkdir()
        measure_guard(sheet, guarded)
    print(f"\n{'every promise held' if not sheet.broken else f'{sheet.broken} broken'}")
    return 1 if sheet.broken else 0


if __name__ == "__main__":
    sys.exit(main())
