"""Run first reads in new processes that have loaded little, and let no descriptor be free from one import on.

    python cold_start.py DIRECTORY DIALECT [--all | --every=N] [--once]

DIRECTORY is a tree made by `fault_tree`. The shortage is real: at the n-th import of the call the limit on descriptors
is lowered, so that neither modules nor shared libraries nor anything else can be opened; n = 0 is before the call.
After the call the limit is lifted, and the call is repeated. Prints a Python literal for each import: the arguments,
the import, the result of the first call ("same", a code, or "WRONG..."), and the problem with the second, or "".

Without `--all`, a choice: of the imports that were not tried with another read, one of N (4), and more of those of
shared libraries: one of N / 10. `--once`: the shortage ends with the next import.
"""

from __future__ import annotations

import os
import resource
import sys

from eyespan import Workspace

TEXT = os.strerror(24)
SHORT = 3
"""The lowered limit: 0 to 2 are in use. A limit of 0 would also make poll(2) fail, which is another fault."""
PATHS = {
    "claude": ("directory/small.txt", "book.ipynb", "image.png", "pages.pdf"),
    "codex": ("directory/small.txt",),
    "forge": ("directory/small.txt", "directory/binary"),
    "workspace": ("directory/small.txt",),
    "native": (
        "directory/small.txt",
        "directory",
        "directory/smal.txt",
        "latin.txt",
        "large.txt:140000-140003",
        "book.ipynb",
        "table.csv",
        "directory/code.py::f3",
        "pack.zip",
        "pack.zip!/inner/one.txt",
        "pack.tar.gz!/inner/one.txt",
        "text.gz",
        "text.xz",
        "text.bz2",
        "text.zst",
        "repository/file.txt@HEAD~1",
        "pages.pdf:p1",
        "image.png",
    ),
}
NEVER = 1 << 30
LATE = {"codex": {"offset": 140_000, "limit": 3}, "claude": {"offset": 140_000, "limit": 3}}


def reads(root: str, dialect: str):
    """Yield the arguments of the reads, in a dialect."""
    name = dialect.partition("-")[0]
    key = {"codex": "file_path", "claude": "file_path", "native": "files"}.get(name, "path")
    lead = f"{root}/" if key == "file_path" else ""
    for path in PATHS.get(name, PATHS["codex"]):
        if os.path.lexists(f"{root}/{path.partition('@')[0]}") or "::" in path or "!" in path or ":" in path:
            yield {key: lead + path}
    if name in LATE:
        yield {key: f"{lead}large.txt", **LATE[name]}


class Shortage:
    """Leaves no descriptor free from the n-th import on."""

    def __init__(self, nth: int, once: bool) -> None:
        self.nth = nth
        self.once = once
        self.imports: list[str] = []
        self.is_active = True
        self.soft, self.hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if nth == 0:
            self.begin()
        sys.addaudithook(self.on_event)

    def on_event(self, event: str, arguments: tuple) -> None:
        if event != "import" or not self.is_active:
            return
        self.imports.append(arguments[0])
        if len(self.imports) == self.nth:
            self.begin()
        elif self.once and len(self.imports) == self.nth + 1:
            self.lift()

    def begin(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (SHORT, self.hard))

    def lift(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.soft, self.hard))

    def end(self) -> None:
        self.is_active = False
        self.lift()


def in_a_new_process(work) -> object:
    """Return the result of `work`, run in a forked process, or None if that process fails."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(here)
            data = repr(work()).encode()
            while data:
                data = data[os.write(there, data) :]
            status = 0
        finally:
            os._exit(status)
    os.close(there)
    data = b""
    while piece := os.read(here, 1 << 16):
        data += piece
    os.close(here)
    _, status = os.waitpid(child, 0)
    return eval(data) if status == 0 else None  # written by this file itself


def facts(reply) -> tuple:
    error = reply.error and (reply.error.code, reply.error.message)
    return repr((reply.content, reply.structured, reply.notes)), error


def answer(tool, arguments) -> tuple:
    try:
        return facts(tool.call(arguments))
    except BaseException as error:
        return "", ("RAISED", repr(error))


def open_descriptors() -> set:
    return set(os.listdir("/proc/self/fd"))


def try_one(tool, arguments, nth: int, once: bool) -> tuple:
    before = open_descriptors()
    shortage = Shortage(nth, once)
    first = answer(tool, arguments)
    shortage.end()
    stop_workers()
    left = [name_of(fd) for fd in open_descriptors() - before]
    second = answer(tool, arguments)
    stop_workers()
    return first, second, [name for name in left if name], shortage.imports


def stop_workers() -> None:
    if "eyespan.worker.client" in sys.modules:
        sys.modules["eyespan.worker.client"].stop_all()


def name_of(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""  # the descriptor of the listing itself


def verdict(first, expected) -> str:
    """Return "same", the code of an error that names the shortage, or "WRONG..."."""
    if first == expected:
        return "same"
    if first[1] is None:
        return f"WRONG: neither the same answer nor an error: {first[0][:300]}"
    code, message = first[1]
    if expected[1] and code == expected[1][0]:
        return "the same error"
    if code == "RAISED" or "internal error of eyespan" in message or TEXT.lower() not in message.lower():
        return f"WRONG: {first[1]}"
    return code


def main() -> None:
    directory, dialect, *options = sys.argv[1:]
    root = os.path.join(directory, "root")
    workspace = Workspace(root)
    tool = workspace.toolset(dialect)[0]
    known: set[str] = set()
    every = next((int(option[8:]) for option in options if option.startswith("--every=")), 4)
    chosen = list(reads(root, dialect))
    if dialect == "claude" and "--all" not in options:
        chosen = chosen[::2]  # The decoders are those of native.
    for arguments in chosen:
        _, expected, _, imports = in_a_new_process(lambda: try_one(tool, arguments, NEVER, False))  # noqa: B023  (done now)
        for nth, name in enumerate(["nothing", *imports]):
            if nth and "--all" not in options:
                step = max(1, every // 10) if name.startswith("_") else every
                if name in known or len(known) % step:
                    known.add(name)
                    continue
                known.add(name)
            done = in_a_new_process(lambda: try_one(tool, arguments, nth, "--once" in options))  # noqa: B023  (done now)
            if done is None:
                print(repr((arguments, name, "WRONG: the process ended", "")), flush=True)
                continue
            first, second, left, _ = done
            wrong = "" if second == expected else f"the next answer: {second}"
            if left:
                wrong += f" descriptors left: {left}"
            print(repr((arguments, name, verdict(first, expected), wrong)), flush=True)


if __name__ == "__main__":
    main()
