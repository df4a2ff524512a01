"""Repeat reads while one system call after another fails. `shim.c`, loaded before the C library, makes them fail.

    LD_PRELOAD=shim.so python fault_sweep.py DIRECTORY BACKEND [--full] [--careless] [--long-way] [--share=1/2] [NAME]

DIRECTORY is a tree made by `fault_tree`. Prints one JSON object for each scenario: the number of system calls of its
read, the number of faults, their results, and `problems`, which must be empty. A fault is handled well if the answer is
the same as without it, or an error that names the fault; if no descriptor stays open; and if the next read is right.
`--share=1/2` runs the first of every two scenarios, for a machine with two processors.
"""

from __future__ import annotations

import bisect  # noqa: F401  (imported here, because an import under a fault is no part of a read)
import ctypes
import errno
import gc
import json
import logging
import os
import re
import sys
import time
from pathlib import Path

from eyespan import Workspace
from eyespan.dialects import dialect_names
from eyespan.lines import index
from eyespan.model import Reply
from eyespan.policy import Policy
from eyespan.worker.client import stop_all

COUNT, FAIL, SHORT_ONCE, SHORT_ALWAYS, LIE = range(5)
ERRORS = ("EINTR", "EAGAIN", "EMFILE", "ENOMEM", "EIO", "ESTALE", "EACCES", "ENOSYS")
LASTING = ("EMFILE", "EIO", "ESTALE", "EACCES")
"""The errors that persist: from one call on, every call fails."""
READING = ("read", "pread", "pread64", "preadv", "preadv64")
"""The calls that may return less than requested."""
FOREVER = 1 << 40
SIZES = {"no size": 0, "half its size": 2, "twice its size": -2}
SECRET = "not to be read"


def _peak_kb() -> int:
    """Return the peak of this program alone: that of getrusage includes the process that started it."""
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM:"))


WORKER = ("image", "pdf", "notebook with an image", "outline in C")
"""Scenarios that decode in another process. Some faults end it, and starting the next takes time."""

shim = ctypes.CDLL(None)
shim.fault_arm.argtypes = (ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_long, ctypes.c_long)
shim.fault_disarm.restype = ctypes.c_long
shim.fault_hit.restype = ctypes.c_char_p
shim.fault_name.restype = ctypes.c_char_p
shim.fault_name.argtypes = (ctypes.c_long,)


class Scenario:
    """One read: the tool, its arguments, and what must be forgotten before it is repeated."""

    def __init__(self, name, tool, arguments, *, forget=None, pieces=(), quick=ERRORS):
        self.name = name
        self.tool = tool
        self.arguments = arguments
        self.forget = forget or (lambda: None)
        self.pieces = pieces
        """The targets one by one: each may fail on its own."""
        self.quick = quick
        """The errors of the short form."""

    def call(self) -> Reply:
        return self.tool.call(self.arguments)


def scenarios(directory: Path, backend: str, full: bool):
    """Yield the reads, all of one workspace."""
    # On a busy machine a file that is read byte by byte takes longer than the ten seconds of a call.
    workspace = Workspace(directory / "root", backend=backend, policy=Policy(deny=["denied/**"]), deadline_seconds=300)
    root = directory / "root"
    tools = {name: workspace.toolset(name)[0] for name in dialect_names()}

    def one(name, dialect, path, *, forget=None, quick=("EINTR", "EIO"), **more):
        key = {"codex": "file_path", "claude": "file_path", "native": "files"}.get(dialect.partition("-")[0], "path")
        given = path if key in ("path", "files") else str(root / path)
        return Scenario(f"{name}, {dialect}", tools[dialect], {key: given, **more}, forget=forget, quick=quick)

    # The guard, of which each backend has its own.
    yield one("small file", "forge", "directory/small.txt", quick=ERRORS)
    yield one("through links", "forge", "link", quick=ERRORS)
    yield one("through an absolute link", "native", "absolute", quick=("EINTR", "EIO", "EMFILE", "EACCES"))
    for dialect in ("codex", "workspace", "claude", "native"):
        yield one("small file", dialect, "directory/small.txt")
    for dialect in ("forge", "workspace-upstream", "claude"):
        yield one("refused: outside", dialect, "out")
    yield one("refused: by a rule", "codex", "innocent")
    yield one("refused: a pipe", "native", "pipe")
    yield one("refused: a link", "workspace-upstream", "link")
    yield one("back and forth", "native", "directory/../directory/./small.txt")
    yield one("directory", "native", "directory", quick=("EINTR", "EIO", "EMFILE"))
    if not full and backend != "openat2":
        return
    # Everything after the guard.
    yield one("small file, with an arrow", "claude-upstream", "directory/small.txt")
    yield one("a block of lines", "codex-upstream", "directory/code.py", mode="indentation", offset=12)
    late = {"codex": {"offset": 140_000, "limit": 3}, "claude": {"offset": 140_000, "limit": 3}}
    for dialect, where in late.items():
        yield one(
            "window, no index yet", dialect, "large.txt", forget=index._indexes.clear, quick=("EIO", "ENOMEM"), **where
        )
    yield one("window, index in memory", "codex", "large.txt", **late["codex"])
    yield one("window, no index yet", "native", "large.txt:140000-140003", forget=index._indexes.clear, quick=("EIO",))
    yield one("last lines, no index yet", "native", "large.txt:-3", forget=index._indexes.clear, quick=("ESTALE",))
    yield one("last lines", "forge", "directory/medium.txt", tail=2)
    yield one("range", "forge", "directory/medium.txt", start_line=2000, end_line=2003)
    yield one("window", "workspace", "directory/medium.txt", start_line=2000, max_lines=3)
    yield one("bytes", "forge", "directory/binary")
    yield one("wide characters", "native", "wide.txt:1000-1003", quick=("EIO",))
    yield one("name that is nearly right", "native", "directory/smal.txt", quick=("EIO",))
    yield one("member of a zip", "native", "pack.zip!/inner/one.txt")
    yield one("member of a compressed tar", "native", "pack.tar.gz!/inner/one.txt", quick=("EIO",))
    yield one("compressed", "native", "text.gz", quick=("EIO",))
    yield one("names in an archive", "native", "pack.zip", quick=("EIO",))
    yield one("table", "native", "table.csv", quick=("EIO",))
    yield one("outline", "native", "directory/code.py", outline=True, quick=("EIO",))
    if (root / "repository").exists():
        yield one("git revision", "native", "repository/file.txt@HEAD~1", quick=("EIO",))
        yield one("git revision in a pack", "native", "repository/packed.txt@v1", quick=("EMFILE",))
    several = ["directory/small.txt", "directory/medium.txt:1990-1995", "way/code.py:6-9", "wide.txt:7-9"]
    yield Scenario("several, native", tools["native"], {"files": several}, pieces=several, quick=("EIO",))
    small = ["directory/small.txt", "directory/code.py", "directory/code.c"]
    yield Scenario("small files, native", tools["native"], {"files": small}, pieces=small, quick=("EIO", "EMFILE"))
    yield one("image", "claude", "image.png", quick=("EIO",))
    if full:
        yield one("notebook", "claude", "book.ipynb")
        yield one("notebook with an image", "claude", "drawn.ipynb")
        yield one("pdf", "claude", "pages.pdf")
        yield one("pdf", "native", "pages.pdf:p1")
        yield one("image in an archive", "native", "pack.zip!/image.png")
        yield one("outline in C", "native", "directory/code.c", outline=True)
    if full and backend == "openat2":
        yield one("image, no worker yet", "claude", "image.png", forget=stop_all)


class Sweep:
    """One scenario under every fault."""

    def __init__(self, scenario: Scenario, errors) -> None:
        self.scenario = scenario
        self.errors = errors
        self.restarts = scenario.name.startswith(WORKER)
        self.problems: list[str] = []
        self.results: dict[str, int] = {}
        self.tried = 0
        for _ in range(3):  # imports and caches of the first use are no part of a read
            self.expected = scenario.call()
        self.pieces = [scenario.tool.call({"files": piece}).text for piece in scenario.pieces]
        self.descriptors = descriptors()
        self.calls, self.order = self.count()
        self.names = sorted(set(self.order))

    def count(self):
        """Return the number of calls of the read and their names. Counted twice, in case the first fills a cache."""
        for _ in range(2):
            self.scenario.forget()
            shim.fault_arm(COUNT, 0, 0, 0, 0, 1)
            self.expected = self.scenario.call()
            calls = shim.fault_disarm()
        return calls, [shim.fault_name(at).decode() for at in range(min(calls, 65536))]

    def step(self, full: bool, error: str = "EIO") -> int:
        """Return 1 to fail every call, as the long form does.

        In the short form every call of a short read fails with EIO, and every sixth with the other errors. A long read
        repeats most of its calls, so every twelfth is enough.
        """
        if full:
            return 1
        return (1 if error == "EIO" else 6) if self.calls < 60 else 12

    def run(self, full: bool) -> dict:
        for name in self.errors:
            number = getattr(errno, name)
            for nth in range(1, self.calls + 20, self.step(full, name)):  # a retry makes more calls
                if not self.fault(f"{name} from call {nth}", FAIL, nth, 1, number):
                    break
        for name in LASTING if full else ("EIO",) if self.calls < 40 and not self.restarts else ():
            if name in self.errors:
                for nth in range(1, self.calls + 1):
                    self.fault(f"{name} for ever from call {nth}", FAIL, nth, FOREVER, getattr(errno, name))
        return self.done()

    def run_short(self, full: bool) -> dict:
        reading = [nth for nth, name in enumerate(self.order, 1) if name in READING]
        for nth in reading[:: self.step(full)]:
            self.fault(f"one byte by call {nth}", SHORT_ONCE, nth, 1, 0, most=1, exact=True)
        self.fault("half of every read", SHORT_ALWAYS, 0, 0, 0, exact=True)
        asked = str(self.scenario.arguments)
        if "small" in asked and (full or "wide" not in asked):
            self.fault("every read a byte", SHORT_ALWAYS, 0, 0, 0, most=1, exact=True)
        return self.done()

    def run_lies(self) -> dict:
        for lie, divide in SIZES.items():
            self.fault(lie, LIE, 0, 0, 0, divide=divide, lie=True)
        return self.done()

    def done(self) -> dict:
        return {
            "scenario": self.scenario.name,
            "calls": self.calls,
            "names": self.names,
            "tried": self.tried,
            "results": self.results,
            "problems": self.problems[:20],
            "peak_kb": _peak_kb(),
        }

    def fault(self, what, mode, nth, times, number, *, most=0, divide=1, exact=False, lie=False) -> bool:
        """Read once under a fault and once without. Return True if the fault occurred."""
        self.scenario.forget()
        shim.fault_arm(mode, nth, times, number, most, divide)
        try:
            reply = self.scenario.call()
        except BaseException as error:
            shim.fault_disarm()
            self.problems.append(f"{what}: raised {error!r}")
            return True
        shim.fault_disarm()
        hit = shim.fault_hit()
        if hit is None:
            if reply != self.expected:
                self.problems.append(f"{what}: no fault, and yet {shown(reply)}")
            return False
        what = f"{what} ({hit.decode()})"
        self.tried += 1
        kind = self.verdict_on_size(reply) if lie else self.verdict(reply, number, exact)
        self.results[kind] = self.results.get(kind, 0) + 1
        if kind.startswith("WRONG"):
            self.problems.append(f"{what}: {kind}: {shown(reply)}")
        left = descriptors()
        again = self.scenario.call()
        if self.restarts:  # the new worker has another socket
            gc.collect()
            left = descriptors()
        same = len(left) == len(self.descriptors) if self.restarts else left == self.descriptors
        if not same:
            self.problems.append(f"{what}: descriptors left: {[name_of(fd) for fd in left - self.descriptors]}")
            self.descriptors = left
        if again != self.expected:
            self.problems.append(f"{what}: the next read: {shown(again)}")
        return True

    def verdict(self, reply: Reply, number: int, exact: bool) -> str:
        """Return "same", the code of an error that names the fault, or "WRONG..."."""
        if SECRET in reply.text:
            return "WRONG: a leak"
        if reply == self.expected:
            return "same"
        if exact:
            return "WRONG: another answer"
        text = os.strerror(number)
        names = (text, f"{errno.errorcode[number]}: ")  # the second is how Node.js names it
        if self.expected.is_error and reply.is_error and reply.error.code == self.expected.error.code:
            return "the same error"  # with fewer hints, perhaps
        if reply.error is None:
            if self.scenario.name.startswith("notebook with") and "[image left out: " in reply.text:
                return "a part failed" if text in reply.text else "WRONG: a part failed for no reason"
            if self.pieces and composed(reply.text, self.pieces, text):
                return "a part failed"
            if number == errno.ESTALE and reports_change(reply) and not self.expected.is_error:
                return "changed"
            return "WRONG: neither the same answer nor an error"
        if "internal error of eyespan" in reply.error.message:
            return "WRONG: an internal error"
        if not any(name in reply.error.message for name in names):
            return "WRONG: an error that does not name the fault"
        return reply.error.code

    def verdict_on_size(self, reply: Reply) -> str:
        """Return the verdict on a read with a wrong st_size. It is a hint: no text but the size itself may differ."""
        if SECRET in reply.text:
            return "WRONG: a leak"
        if reply == self.expected or body(reply) == body(self.expected):
            return "same"
        if reply.error is None:
            return "WRONG: another answer"
        if "internal error of eyespan" in reply.error.message:
            return "WRONG: an internal error"
        return reply.error.code


def composed(text: str, pieces, fault: str) -> bool:
    """Return True if a text consists of the pieces in order, each as it is alone or a line that names the fault."""
    failed = 0
    for piece in pieces:
        text = text.removeprefix("\n")
        if text.startswith(piece):
            text = text[len(piece) :]
            continue
        line, _, text = text.partition("\n")
        if fault not in line:
            return False
        failed += 1
    return failed > 0 and not text


def reports_change(reply: Reply) -> bool:
    return "changed" in json.dumps(reply.structured) or any("changed" in note for note in reply.notes)


def body(reply: Reply):
    """Return an answer without the size of the file."""
    if reply.structured and "content" in reply.structured:
        return reply.structured["content"], reply.is_error
    if reply.structured and "parts" in reply.structured:
        return re.sub(r"/(\d+|\?) #", "/ #", reply.text), reply.is_error  # a total may be unknown
    return reply.content, reply.is_error


def shown(reply: Reply) -> str:
    return repr(reply.error or reply.text)[:300]


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def name_of(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return fd


def be_careless() -> None:
    """Break the reader, so that this sweep must find problems."""
    import eyespan.guard
    from eyespan.lines.scan import Scan
    from eyespan.source import Source

    block = Scan.block
    Source.first_bytes = property(lambda self: self.read_at(0, self.max_first_bytes))
    Scan.block = lambda self, offset: b"" if offset else block(self, offset)
    eyespan.guard.close_fd = lambda fd: None
    eyespan.guard.guarded_file.LocalFile.close = lambda self: None


def take_the_long_way() -> None:
    """Disable a shortcut: the root's device reveals nothing about its files."""
    from eyespan.guard import Root

    opened = Root.__init__

    def open_root(self, *path, **how):
        opened(self, *path, **how)
        self.device = -1

    Root.__init__ = open_root


def main() -> None:
    logging.getLogger("eyespan").addHandler(logging.NullHandler())  # writing the log is no part of a read
    logging.getLogger("eyespan").propagate = False
    directory, backend, *rest = sys.argv[1:]
    full = "--full" in rest
    if "--careless" in rest:
        be_careless()
    if "--long-way" in rest:
        take_the_long_way()
    wanted = [name for name in rest if not name.startswith("--")]
    share = next((option.removeprefix("--share=") for option in rest if option.startswith("--share=")), "1/1")
    mine, shares = map(int, share.split("/"))
    for at, scenario in enumerate(scenarios(Path(directory), backend, full), 1):
        if at % shares != mine % shares or (wanted and not any(scenario.name.startswith(name) for name in wanted)):
            continue
        for kind in ("errors", "short", "lies"):
            sweep = Sweep(scenario, ERRORS if full else scenario.quick)
            started = time.monotonic()
            if kind == "lies":
                found = sweep.run_lies()
            else:
                found = sweep.run(full) if kind == "errors" else sweep.run_short(full)
            seconds = round(time.monotonic() - started, 2)
            print(json.dumps({"kind": kind, "backend": backend, "seconds": seconds, **found}), flush=True)


if __name__ == "__main__":
    main()
