"""Read from stores that answer with bombs: hostile headers, ranges, ETags, pages, redirects, slow and endless bodies.

A server of our own answers as S3, Google, Azure or a web server would, but with a bomb in place of what was asked for.
Reads, listings, maps and searches are made of it in one process. Each must end within its deadline, take little memory,
stop no other thread, and connect to no other host.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

from eyespan import Workspace

DEADLINE_SECONDS = 2.0
MAX_SECONDS = DEADLINE_SECONDS + 2.0
"""The longest call: its deadline, and what a busy machine adds."""
MAX_MEGABYTES = 48
MAX_STOPPED_SECONDS = 2.0
"""The longest time in which no other thread runs."""
PIECE = bytes(1 << 16)
SCHEMES = ("s3", "gs", "az", "http")
OBJECT_CALLS = {"read": {"files": ["a.txt"]}, "read far": {"files": ["a.txt:90000-90010"]}}
LISTING_CALLS = {"list": {"files": ["d"]}, "map": {"files": ["**"]}, "search": {"files": ["d?word"]}}
Pieces = Iterator[bytes | float]
"""What a server sends: bytes, and pauses in seconds."""


def _answer(status: int, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} x", *headers, f"Content-Length: {len(body) if length is None else length}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _fixed(*pieces: bytes) -> Callable[[int], Pieces]:
    return lambda start: iter(pieces)


def _endless(first: bytes, piece: bytes = PIECE, pause: float = 0.0) -> Callable[[int], Pieces]:
    def send(start: int) -> Pieces:
        yield first
        while True:
            yield piece
            if pause:
                yield pause

    return send


def _behind(start: int) -> Pieces:
    """Announce a total before the start of the range: its size is negative."""
    yield b"HTTP/1.1 206 x\r\nContent-Range: bytes %d-%d/%d\r\n\r\n" % (start, start + 9, start - 1)
    while True:
        yield PIECE


def _page(rows: str, token: str = "") -> bytes:
    more = f"<NextContinuationToken>{token}</NextContinuationToken><NextMarker>{token}</NextMarker>" if token else ""
    return f"<ListBucketResult>{more}{rows}</ListBucketResult>".encode()


def _pages(rows: Callable[[int], str]) -> Callable[[int], Pieces]:
    """Send pages without end, each with a token of its own."""
    count = [0]

    def send(start: int) -> Pieces:
        count[0] += 1
        yield _answer(200, _page(rows(count[0]), f"token{count[0]}"))

    return send


def _row(key: str, size: str = "1", etag: str = "e") -> str:
    return f"<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{etag}</ETag></Contents>"


_LAUGHS = "".join([f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)])
BOMBS: dict[str, Callable[[int], Pieces]] = {
    **{f"redirect {status}": _fixed(_answer(status, b"", "Location: TRAP")) for status in (301, 302, 303, 307, 308)},
    "a refresh": _fixed(_answer(200, b"", "Refresh: 0; url=TRAP")),
    "a range before its start": _behind,
    "a range of another place": _fixed(_answer(206, b"x" * 10, "Content-Range: bytes 5-14/99")),
    "a total of many digits": _fixed(_answer(206, b"x" * 10, "Content-Range: bytes 0-9/" + "9" * 5000)),
    "the largest total": _fixed(_answer(206, b"x" * 65536, f"Content-Range: bytes 0-65535/{10**18 - 1}")),
    "a chunk of -1 bytes": _endless(b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"),
    "chunks of one byte": _endless(b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
    "a body without end": _endless(b"HTTP/1.1 200 x\r\n\r\n"),
    "a body of a terabyte": _endless(_answer(200, length=10**12)),
    "a body shorter than announced": _fixed(_answer(200, b"x", length=1000)),
    "headers without end": _endless(b"HTTP/1.1 200 x\r\n", b"X: y\r\n" * 1000),
    "a header without end": _endless(b"HTTP/1.1 200 x\r\nX: ", b"y" * 65536),
    "preliminary answers without end": _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "a long ETag": _fixed(_answer(206, b"x", "Content-Range: bytes 0-0/1", 'ETag: "' + "e" * 60_000 + '"')),
    "an ETag with a line break": _fixed(_answer(206, b"x", "Content-Range: bytes 0-0/1", 'ETag: "a\r\n b"')),
    "a length of -1": _fixed(_answer(200, b"x", length=-1)),
    "a compressed bomb": _fixed(_answer(200, b"\x1f\x8b" + bytes(9999), "Content-Encoding: gzip")),
    "no HTTP": _endless(b"", os.urandom(4096)),
    "an unknown status": _fixed(_answer(999)),
    "nothing": _fixed(b""),
    "one byte at a time": _endless(_answer(200, length=1 << 20), b"x", 0.1),
    "headers one byte at a time": _endless(b"HTTP/1.1 200 x\r\nX: ", b"y", 0.1),
    "silence": lambda start: iter([60.0]),
    "rows without an end": _fixed(_answer(200, b"<ListBucketResult>" + b"<Contents>" * 100_000)),
    "entities": _fixed(_answer(200, f'<!DOCTYPE a [<!ENTITY l0 "x">{_LAUGHS}]><a>&l9;</a>'.encode())),
    "nested elements": _fixed(_answer(200, b"<a>" * 150_000 + b"</a>" * 150_000)),
    "elements without end": _fixed(_answer(200, b"<a>" + b"<b/>" * 1_000_000 + b"</a>")),
    "a page that is too large": _fixed(_answer(200, b"<a>" + b" " * (9 << 20) + b"</a>")),
    "references without end": _fixed(_answer(200, _page("&#x41;" * 1_000_000))),
    "the same page for ever": _fixed(_answer(200, _page(_row("d/x"), "token"))),
    "empty pages without end": _pages(lambda number: ""),
    "full pages without end": _pages(lambda number: "".join([_row(f"d/{number:06}{n:04}") for n in range(1000)])),
    "keys of another prefix": _fixed(_answer(200, _page(_row("../../etc/passwd") + _row("/etc/passwd")))),
    "odd keys": _fixed(_answer(200, _page("".join([_row(f"d/&#x{n:x};") for n in range(1, 32)]) + _row("d//x")))),
    "a key of a megabyte": _fixed(_answer(200, _page(_row("d/" + "k" * (1 << 20))))),
    "sizes that are none": _fixed(_answer(200, _page(_row("d/x", "-1") + _row("d/y", "9" * 400)))),
    "another encoding": _fixed(_answer(200, '<?xml version="1.0" encoding="utf-16"?><a/>'.encode("utf-16"))),
}
"""What a store sends for each request, by name."""
SLOW = ("one byte at a time", "headers one byte at a time", "silence")


class HostileStore:
    """A server that answers every request, or every request for a listing, with one bomb."""

    def __init__(self, bomb: Callable[[int], Pieces], trap: str, *, has_objects: bool) -> None:
        self._bomb, self._trap, self._has_objects = bomb, trap.encode(), has_objects
        self.bombs = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as lines:
                connection.settimeout(MAX_SECONDS)
                start, asked = 0, lines.readline()
                while (line := lines.readline()).strip():
                    if line.lower().startswith(b"range: bytes="):
                        start = int(line.partition(b"=")[2].partition(b"-")[0])
                if not self._has_objects and b"list" not in asked.partition(b"?")[2]:
                    connection.sendall(_answer(404, b"", "Connection: close"))
                    return
                self.bombs += 1
                for piece in self._bomb(start):
                    if isinstance(piece, float):
                        time.sleep(min(piece, MAX_SECONDS))
                    else:
                        connection.sendall(piece.replace(b"TRAP", self._trap))
        except OSError:
            pass  # the client went away

    def close(self) -> None:
        self._listener.close()


class Heartbeat:
    """A thread that measures the longest time in which it did not run."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._is_running = True
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        last = time.monotonic()
        while self._is_running:
            time.sleep(0.01)
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now

    def close(self) -> None:
        self._is_running = False


def environment_of(scheme: str, port: int) -> dict[str, str]:
    """Return the variables that lead to a store, with credentials."""
    endpoint = f"http://127.0.0.1:{port}"
    if scheme == "gs":
        return {"GOOGLE_BASE_URL": endpoint, "GOOGLE_BEARER_TOKEN": "word"}
    if scheme == "az":
        account = {"AZURE_STORAGE_ACCOUNT_NAME": "account", "AZURE_STORAGE_ACCOUNT_KEY": "d29yZA=="}
        return {"AZURE_STORAGE_ENDPOINT": endpoint, **account}
    return {"AWS_ENDPOINT": endpoint, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "word"}


def _peak_bytes(reset: bool = False) -> int:
    """Return the most memory since the last reset."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def problems(scheme: str, bomb: str, *, has_objects: bool) -> tuple[list[str], float, float]:
    """Make calls of one bomb. Return what is wrong, the longest call in seconds and the most memory in MB."""
    wrong: list[str] = []
    calls = OBJECT_CALLS if has_objects else LISTING_CALLS
    longest = most = 0.0
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0)
        store = HostileStore(BOMBS[bomb], f"http://localhost:{trap.getsockname()[1]}/stolen", has_objects=has_objects)
        os.environ.update(environment_of(scheme, store.port))
        root = f"http://127.0.0.1:{store.port}/files" if scheme == "http" else f"{scheme}://data"
        with Workspace(f"/data={root}", deadline_seconds=DEADLINE_SECONDS) as workspace:
            tool = workspace.tool("native")
            for name, arguments in calls.items():
                before_bombs = store.bombs
                beat, before, start = Heartbeat(), _peak_bytes(reset=True), time.monotonic()
                try:
                    tool.call(arguments)
                except Exception as error:
                    wrong.append(f"{name} raised {type(error).__name__}")
                seconds, megabytes = time.monotonic() - start, (_peak_bytes() - before) / 1e6
                beat.close()
                if store.bombs == before_bombs:
                    wrong.append(f"{name} met no bomb")
                longest, most = max(longest, seconds), max(most, megabytes)
                if seconds > MAX_SECONDS:
                    wrong.append(f"{name} took {seconds:.1f} s")
                if megabytes > MAX_MEGABYTES:
                    wrong.append(f"{name} took {megabytes:.0f} MB")
                if beat.longest > MAX_STOPPED_SECONDS:
                    wrong.append(f"{name} stopped other threads for {beat.longest:.1f} s")
        store.close()
        try:
            trap.accept()
            wrong.append("another host was connected to")
        except BlockingIOError:
            pass
    return wrong, longest, most


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", choices=SCHEMES, nargs="*", default=SCHEMES)
    parser.add_argument("--bomb", choices=BOMBS, nargs="*", default=list(BOMBS))
    options = parser.parse_args(argv)
    failed, count, longest, most = 0, 0, 0.0, 0.0
    for scheme in options.scheme:
        for bomb, has_objects in itertools.product(options.bomb, (True, False)):
            if scheme == "http" and not has_objects:
                continue  # a web server has no listings
            wrong, seconds, megabytes = problems(scheme, bomb, has_objects=has_objects)
            count, longest, most = count + 1, max(longest, seconds), max(most, megabytes)
            for one in wrong:
                failed += 1
                print(f"{scheme}, {bomb}: {one}", flush=True)
    print(f"{count} bombs, {failed} wrong; longest {longest:.2f} s, most memory {most:.0f} MB")
    return 1 if failed else 0
