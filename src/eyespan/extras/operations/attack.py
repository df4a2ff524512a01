"""`eyespan doctor --attack`: attack this installation on this machine, and report what held.

Every attack is one row. It is made in a private directory against files that the attack has made itself, and it shows
that it can work: a control must succeed, or the row is a problem.
"""

from __future__ import annotations

import ctypes
import errno
import gzip
import json
import os
import socket
import stat
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from eyespan import plugins
from eyespan.escape import in_plain_words
from eyespan.extras.operations import probe
from eyespan.sandbox import decoder, process, seccomp, server
from eyespan.server.sandboxing import needs_of
from eyespan.server.serve_options import ServeOptions
from eyespan.workspace import Workspace

SECRET = "the-secret-of-this-attack"
PLAIN = "the-plain-text-of-this-attack"
DIALECTS = {"native": "path", "codex": "file_path", "claude": "file_path", "forge": "path", "workspace": "path"}
"""The dialects that are attacked, with the argument that names a file."""
DENIED = (".env", "id_rsa", "server.key", ".netrc", ".npmrc", "credentials.json", ".git-credentials", ".pgpass")
COPIES = ("{}", "{}.bak", "{}~", "{} (1)", "{};1", "Copy of {}", "{}.2026-01-31", "\u200b{}", "{}.orig")
UNFILTERED = (335, 336)
"""Calls of x86 that the kernel exempts from filters, and that fail outside of a probe."""

Row = tuple[str, bool, str]
"""The name of an attack, True if it failed, and what was tried."""


def attacks(race_seconds: float = 5.0) -> Iterator[Row]:
    """Yield the result of each attack."""
    with TemporaryDirectory(prefix="eyespan-") as top:
        directory = Path(top).resolve()
        root = directory / "root"
        (root / "swapped").mkdir(parents=True)
        (directory / "outside").mkdir()
        (directory / "root-sibling").mkdir()
        for place, text in (("outside", SECRET), ("root-sibling", SECRET), ("root/swapped", PLAIN), ("root", PLAIN)):
            (directory / place / "notes.txt").write_text(text)
        yield _row("escape by path and link", _paths_and_links(directory))
        yield _row("escape by race", _race(directory, race_seconds))
        yield _row("denied names", _denied_names(directory / "denied"))
        for profile in ("decoder", "server"):
            yield _row(f"{profile} sandbox", _sandbox(profile, directory))
        for reference in plugins.own("ATTACKS"):
            try:
                yield from plugins.load(reference)(directory)
            except (OSError, ValueError) as error:
                yield reference, False, f"cannot be tried here: {in_plain_words(error)}"


def _row(name: str, result: tuple[bool, str]) -> Row:
    return (name, *result)


def _answers(root: Path, paths: Sequence[str]) -> list[str]:
    """Return the text of the answer to each path in each dialect."""
    with Workspace(str(root)) as workspace:
        calls = _calls(workspace)
        return [call(path) for path in paths for call in calls]


def _calls(workspace: Workspace) -> list[Callable[[str], str]]:
    """Return a function for each dialect, which returns the text of the answer to a path."""
    root = workspace.roots[0].path

    def caller(dialect: str, argument: str) -> Callable[[str], str]:
        tool = workspace.tool(dialect)
        base = root if argument == "file_path" else ""  # which must be absolute
        return lambda path: tool.call({argument: os.path.join(base, path)}).text

    return [caller(dialect, argument) for dialect, argument in DIALECTS.items()]


def _paths_and_links(directory: Path) -> tuple[bool, str]:
    root, target = directory / "root", directory / "outside" / "notes.txt"
    for name, to in (
        ("absolute", str(target)),
        ("relative", "../outside/notes.txt"),
        ("chain", "absolute"),
        ("upwards", ".."),
        ("beside", "../outside"),
        ("by-proc", f"/proc/self/root{target}"),
        ("by-cwd", f"/proc/self/cwd/../..{target}"),
    ):
        (root / name).symlink_to(to)
    paths = ["absolute", "relative", "chain", "upwards/outside/notes.txt", "beside/notes.txt", "by-proc", "by-cwd"]
    paths += [str(target), "../outside/notes.txt", "swapped/../../outside/notes.txt", f"{root}-sibling/notes.txt"]
    leaks = sum([SECRET in text for text in _answers(root, paths)])
    is_read = all(PLAIN in text for text in _answers(root, ["notes.txt"]))
    return is_read and not leaks, f"{leaks} of {len(paths) * len(DIALECTS)} calls read a file outside the root"


def _race(directory: Path, seconds: float) -> tuple[bool, str]:
    """Read a file while its directory is exchanged for a link out of the root, again and again."""
    root, is_over = directory / "root", threading.Event()
    link, place, aside = root / "link", root / "swapped", root / "aside"
    link.symlink_to("../outside")
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not is_over.is_set():
            for source, to in ((place, aside), (link, place), (place, link), (aside, place)):
                source.rename(to)
            swaps += 1

    swapper = threading.Thread(target=swap)
    swapper.start()
    reads = leaks = right = 0
    try:
        with Workspace(str(root)) as workspace:
            calls = _calls(workspace)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for call in calls:
                    text = call("swapped/notes.txt")
                    reads, leaks, right = reads + 1, leaks + (SECRET in text), right + (PLAIN in text)
    finally:
        is_over.set()
        swapper.join()
    told = f"{leaks} of {reads} reads ({right} right) left the root while its directory was swapped {swaps} times"
    return not leaks and right > 0 and swaps > 0, told


def _denied_names(root: Path) -> tuple[bool, str]:
    root.mkdir()
    names = [shape.format(name) for name in DENIED for shape in COPIES]
    paths = [*names]
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        for number, name in enumerate(names):
            (root / name).write_text(SECRET)
            (root / f"link-{number}").symlink_to(name)
            archive.writestr(f"a/{name}", SECRET)
            (root / f"{name}.gz").write_bytes(gzip.compress(SECRET.encode()))
            paths += [f"link-{number}", f"all.zip!/a/{name}", f"{name}.gz", f"./x/../{name}", name.upper()]
    (root / "notes.txt").write_text(PLAIN)
    leaks = sum([SECRET in text for text in _answers(root, paths)])
    is_read = all(PLAIN in text for text in _answers(root, ["notes.txt"]))
    return is_read and not leaks, f"{leaks} of {len(paths) * len(DIALECTS)} calls read a denied file"


# --- sandboxes -----------------------------------------------------------------------------------------------------


def _sandbox(profile: str, directory: Path) -> tuple[bool, str]:
    """Enter a sandbox in a child process and try there what it forbids; once without it, as a control."""
    if not process.LINUX:
        return True, "not tried: only Linux has this sandbox"
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as named:
        named.bind(str(directory / f"{profile}.socket"))
        words = (f"{profile}.socket", str(directory), str(listener.getsockname()[1]))
        try:
            free = probe.in_child(f"{__name__}:answer_attempts", "none", *words)
            held = probe.in_child(f"{__name__}:answer_attempts", profile, *words)
        except (OSError, ValueError) as error:
            return False, f"cannot be tried here: {in_plain_words(error)}"
    tried = f"{len(free['worked'])} attempts that work outside and {held['calls']} system calls: "
    worked = [*held["worked"], *[f"call {number}" for number in held["passed"]]]
    told = "none worked" if not worked else f"worked: {', '.join(worked)}"
    missing = f"; without {', '.join(held['missing'])}: this system lacks them" if held["missing"] else ""
    return bool(free["worked"]) and not worked and held["calls"] > 0, tried + told + missing


def answer_attempts(words: list[str]) -> None:
    """Enter the sandbox of a profile, and write what still works to standard output, as JSON."""
    profile, named, top, port = words
    directory, parent = Path(top), os.getppid()
    root = directory / "root"

    def connect() -> None:
        with socket.socket() as link:
            link.connect(("127.0.0.1", int(port)))

    def send() -> None:
        with socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0] as link:
            link.sendto(b"", str(directory / named))

    attempts: dict[str, Callable[[], object]] = {
        "read outside the root": lambda: os.close(os.open(directory / "outside" / "notes.txt", os.O_RDONLY)),
        "list outside the root": lambda: os.listdir(directory / "outside"),
        "write": lambda: os.close(os.open(root / "written", os.O_CREAT | os.O_WRONLY)),
        "change a mode": lambda: os.chmod(root / "notes.txt", stat.S_IRUSR | stat.S_IWUSR),
        "cut a file": lambda: os.truncate(root / "notes.txt", 20),
        "connect": connect,
        "send a datagram": send,
        "run a program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "signal another process": lambda: os.kill(parent, 0),
        "environment of another process": lambda: os.close(os.open(f"/proc/{parent}/environ", os.O_RDONLY)),
    }
    missing: list[str] = []
    if profile == "server":
        report = server.enter(needs_of(ServeOptions(), Workspace(str(root)).roots))
        missing = list(report.missing)
    elif profile == "decoder":
        attempts["look at a file"] = lambda: os.stat(directory / "outside" / "notes.txt")
        layers = decoder.DecoderSandbox(memory_bytes=1 << 40, seconds=30).apply()
        missing = [name for name, is_up in layers.items() if not is_up]
    worked = [name for name, attempt in attempts.items() if _works(attempt)]
    calls, passed = 0, []
    if profile != "none" and not {"seccomp", "calls"} & set(missing):
        allowed = decoder.ALLOWED if profile == "decoder" else server.ALLOWED
        written = {*seccomp.numbers(allowed, os.uname().machine).values(), *UNFILTERED}
        tried = [number for number in range(seccomp.LAST_KNOWN + 1) if number not in written]
        calls, passed = len(tried), [number for number in tried if not _is_refused(number)]
    sys.stdout.write(json.dumps({"worked": worked, "calls": calls, "passed": passed, "missing": missing}))


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _is_refused(number: int) -> bool:
    """Make a system call with arguments that are wrong for each, and return True if the filter refuses it."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    return syscall(number, -1, -1, -1, -1, -1, -1) == -1 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS)
