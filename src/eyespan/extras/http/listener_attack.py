"""Attacks on the listeners, for `eyespan doctor --attack`: hostile requests, floods, and other users of the machine."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from eyespan import plugins

NOBODY = 65534
IDLE = 300
"""Connections that send half of a request and wait."""
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
SECONDS = 20.0

Row = tuple[str, bool, str]


def attacks(directory: Path) -> Iterator[Row]:
    """Yield the result of each attack. `directory` is private and has a directory `root`."""
    if not plugins.exists("httptools"):
        yield "listeners", True, "not tried: pip install 'eyespan[http]'"
        return
    root, token_file = str(directory / "root"), directory / "token.key"
    path = directory / "http.socket"
    tcp = ("serve", root, "--http", "127.0.0.1:0", "--token-file", str(token_file))
    local = ("serve", root, "--http", f"unix:{path}", "--token-file", str(token_file))
    with _command(*tcp) as (pid, line), _command(*local), _command("view", "--root", root, "--no-open") as (page, url):
        token = token_file.read_text().strip()
        port, page_port = (int(match[1]) for match in map(_PORT.search, (line, url)) if match)
        wrong = []
        for name, expected, request in _requests(port, token):
            status = _status(port, request)
            if status != expected:
                wrong.append(f"{name}: {status}, not {expected}")
        if _status(page_port, _request(page_port, b"", path=b"/api/state", method=b"GET")) not in (401, 404):
            wrong.append("the page answers without its cookie")
        secrets = [token, *_TOKEN.findall(url)]
        for each in (pid, page):
            shown = _contents(f"/proc/{each}/cmdline") + _contents(f"/proc/{each}/environ")
            wrong += [f"a token is in the arguments of process {each}" for one in secrets if one.encode() in shown]
        yield "listeners", not wrong, "; ".join(wrong) or "every hostile request refused, no token among the arguments"
        with ExitStack() as stack:
            for _ in range(IDLE):
                idle = stack.enter_context(socket.create_connection(("127.0.0.1", port), SECONDS))
                idle.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
            status = _status(port, _request(port, token.encode()))
        yield "flood", status == 200, f"with {IDLE} connections that send half a request, a caller gets {status}"
        yield "other users", *_as_another_user(directory, token_file, path, pid)


_PORT = re.compile(r"127\.0\.0\.1:(\d{1,5})")
_TOKEN = re.compile(r"token: (\S{1,80})")


@contextmanager
def _command(*words: str) -> Iterator[tuple[int, str]]:
    """Run a command, and yield its process id and the lines of its start."""
    code = "import sys; sys.path[:] = sys.argv.pop(1).split(chr(10)); from eyespan.cli import run; run()"
    paths = "\n".join([entry for entry in sys.path if entry])
    process = subprocess.Popen(
        [sys.executable, "-c", code, paths, *words], stdout=subprocess.PIPE, stderr=-2, text=True
    )
    try:
        assert process.stdout is not None
        lines = process.stdout.readline()
        yield process.pid, lines if words[0] == "serve" else lines + process.stdout.readline()
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def _contents(path: str) -> bytes:
    """Return the bytes of a file of /proc; none if it cannot be read, as that of a process in its sandbox."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _request(port: int, token: bytes, *, path: bytes = b"/mcp", method: bytes = b"POST", **headers: bytes) -> bytes:
    named = {
        b"Host": b"127.0.0.1:%d" % port,
        b"Content-Type": b"application/json",
        b"Content-Length": b"%d" % len(PING),
    }
    named |= {name.replace("_", "-").encode(): value for name, value in headers.items()}
    if token:
        named[b"Authorization"] = b"Bearer " + token
    lines = [b"%s: %s\r\n" % each for each in named.items()]
    return b"%s %s HTTP/1.1\r\n%s\r\n%s" % (method, path, b"".join(lines), PING)


def _requests(port: int, token: str) -> Iterator[tuple[str, int, bytes]]:
    """Yield requests, each with its name and the status that it must get."""
    valid = token.encode()
    yield "a valid request", 200, _request(port, valid)
    yield "no token", 401, _request(port, b"")
    yield "a wrong token", 401, _request(port, b"x" * len(valid))
    yield "another Host", 421, _request(port, valid, Host=b"evil.example")
    yield "another Origin", 403, _request(port, valid, Origin=b"https://evil.example")
    yield "two lengths", 400, _request(port, valid, Transfer_Encoding=b"chunked")
    yield "an encoded path", 404, _request(port, valid, path=b"/%6dcp")
    yield "two blanks", 400, _request(port, valid, path=b" /mcp")


def _status(port: int, request: bytes) -> int:
    """Return the status of the answer to a request; 0 without one."""
    try:
        with socket.create_connection(("127.0.0.1", port), SECONDS) as link:
            link.sendall(request)
            return int(link.recv(1 << 16)[9:12] or 0)
    except (OSError, ValueError):
        return 0


def _as_another_user(directory: Path, token_file: Path, path: Path, pid: int) -> tuple[bool, str]:
    """Try to reach the server as another user, if this one may become another; otherwise look at the modes."""
    if os.geteuid() != 0:
        modes = [stat.S_IMODE(os.lstat(each).st_mode) & 0o077 for each in (token_file, path)]
        return not any(modes), "token file and local socket are private; only root can try as another user"

    def connect() -> None:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(path))

    os.chmod(directory, 0o711)  # the modes of the files themselves are tried
    attempts: dict[str, Callable[[], object]] = {
        "token file": lambda: os.close(os.open(token_file, os.O_RDONLY)),
        "local socket": connect,
        "memory": lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)),
        "environment": lambda: os.close(os.open(f"/proc/{pid}/environ", os.O_RDONLY)),
        "signal": lambda: os.kill(pid, 0),
    }
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        bits = 0
        for bit, attempt in enumerate(attempts.values()):
            try:
                attempt()
                bits |= 1 << bit
            except OSError:
                pass
        os._exit(bits)
    bits = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.chmod(directory, 0o700)
    worked = [name for bit, name in enumerate(attempts) if bits >> bit & 1]
    return not worked, f"another user reaches: {', '.join(worked) or 'nothing'} (of {', '.join(attempts)})"
