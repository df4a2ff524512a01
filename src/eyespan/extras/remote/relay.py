"""A relay on the loopback address, through which obstore sends all its requests.

obstore follows redirects to any host and has no option against that. Its requests therefore go to this relay, as to an
HTTP proxy, and the relay sends them on:

- to the host of the store, over TLS where the store has it. An answer that redirects loses its address, so nothing can
  follow it. A listing with a delimiter ends after `MAX_NAMES` names, so a huge directory is not listed whole. Keys
  that no path can name are left out of listings: with one of them, obstore would refuse the page.
- to the services that give credentials to this host. Those without TLS are passed on in the same way; those with TLS
  are tunnels to a fixed set of names.
- every other address is refused.

Other programs of this machine cannot use it: requests carry a random password.
"""

from __future__ import annotations

import base64
import http.client
import io
import os
import re
import socket
from _thread import LockType, allocate_lock, start_new_thread
from urllib.parse import parse_qs, urlsplit
from weakref import ref

from eyespan.errors import StoreFailure
from eyespan.extras.remote.store import MAX_NAMES
from eyespan.extras.remote.web import MAX_WHOLE_BYTES, Server

HOP_HEADERS = frozenset(
    (
        *("connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer"),
        *("transfer-encoding", "upgrade", "expect"),
    )
)
"""Headers of one connection, which are not passed on."""
DROPPED_HEADERS = HOP_HEADERS | {"location", "refresh", "alt-svc", "content-length", "content-location"}
"""Headers of an answer that are not passed on: an address in one of them could be followed."""
FORBIDDEN = 403
UNREACHED = 502
"""The status for a store that cannot be reached or whose answer breaks off; obstore repeats the request."""
UNUSED = 421
"""The status for an answer that is not passed on; obstore does not repeat the request."""
MAX_BODY_BYTES = 1 << 20
MAX_ERROR_BYTES = 1 << 20
"""The description of an error, which is sent instead of a range."""
MAX_LINE_BYTES = 1 << 16
MAX_PAGES = 1000
"""The pages of one listing with a delimiter."""
MAX_TOKENS = 256
"""The listings that are under way."""
IDLE_SECONDS = 60.0
"""The time after which an idle connection or tunnel is closed."""
PIECE_BYTES = 1 << 16


class StoreRelay:
    """Sends requests on to one store and to the services of its credentials. It runs until `close`."""

    def __init__(self, store: Server, authority: str, services: dict[str, Server], tunnels: dict[str, Server]) -> None:
        """`authority` is the host and port of the store; `services` and `tunnels` are the others, by host and port."""
        self._store = store
        self._authority = authority
        self._services = services
        self._tunnels = tunnels
        self._password = base64.b16encode(os.urandom(16)).decode().lower()
        self._expected = "Basic " + base64.b64encode(f"eyespan:{self._password}".encode()).decode()
        self._pages = ListingPages()
        self._listener: socket.socket | None = None
        self._is_running = False
        self._lock = allocate_lock()

    def open(self) -> int:
        """Open the port, if it is not open, and return it. Requests wait there until `start`."""
        with self._lock:
            if self._listener is None:
                self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            return int(self._listener.getsockname()[1])

    @property
    def address(self) -> str:
        """Return the address for a client."""
        return f"http://eyespan:{self._password}@127.0.0.1:{self.open()}"

    @property
    def servers(self) -> list[Server]:
        """Return the servers to which it sends requests."""
        return [self._store, *self._services.values(), *self._tunnels.values()]

    def fileno(self) -> int:
        """Return the descriptor of the open port; -1 if it is not open."""
        return -1 if self._listener is None else self._listener.fileno()

    def start(self) -> str:
        """Start to answer, with threads of this process, and return the address for a client."""
        address = self.address
        with self._lock:
            if not self._is_running and self._listener is not None:
                self._is_running = True
                start_new_thread(_serve, (self._listener, ref(self)))
        return address

    def leave(self) -> None:
        """Leave the port to another process, which has it open too."""
        with self._lock:
            listener, self._listener = self._listener, None
            if listener is not None:
                listener.close()

    def close(self) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
            if listener is not None:
                try:
                    listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
                except OSError:
                    pass
                listener.close()
        for server in (self._store, *self._services.values()):
            server.close()

    def __del__(self) -> None:
        self.close()

    def answer(self, connection: socket.socket) -> None:
        """Answer the requests of one connection."""
        connection.settimeout(IDLE_SECONDS)
        try:
            with connection, connection.makefile("rb") as lines:
                while self._answer_one(connection, lines):
                    pass
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the client went away, or is not obstore

    def _answer_one(self, connection: socket.socket, lines: io.BufferedReader) -> bool:
        """Answer one request, and return True if the connection is used again."""
        first = lines.readline(MAX_LINE_BYTES).decode("latin-1").split()
        if len(first) != 3:
            return False
        method, target, _ = first
        headers = {name.lower(): value for name, value in http.client.parse_headers(lines).items()}
        if headers.get("proxy-authorization") != self._expected:
            _send(connection, 407, {"proxy-authenticate": "Basic"}, b"")
            return False
        if method == "CONNECT":
            self._tunnel(connection, target)
            return False
        size_bytes = int(headers.get("content-length", "0"))
        if not 0 <= size_bytes <= MAX_BODY_BYTES:
            return False
        body = lines.read(size_bytes)
        status, answer_headers, data = self._pass_on(method, target, headers, body)
        _send(connection, status, answer_headers, b"" if method == "HEAD" else data)
        return True

    def _pass_on(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Return the answer to one request: status, headers and body."""
        parts = urlsplit(target)
        authority = parts.netloc.lower()
        is_store = authority == self._authority
        server = self._store if is_store else self._services.get(authority)
        if server is None or parts.scheme != "http":
            return FORBIDDEN, {}, b"the relay sends nothing to this host"
        path = target.partition("://")[2].partition("/")[2]
        passed = {name: value for name, value in headers.items() if name not in HOP_HEADERS}
        try:
            answer, data = server.exchange(method, "/" + path, passed, body, _max_bytes(headers))
            kept = {name.lower(): value for name, value in answer.headers.items()}
            if is_store and answer.status == 200:
                data = self._pages.passed(parse_qs(parts.query), data)
        except (OSError, ValueError, http.client.HTTPException):
            return UNREACHED, {}, b""
        except StoreFailure:
            return UNUSED, {}, b""
        return answer.status, {name: value for name, value in kept.items() if name not in DROPPED_HEADERS}, data

    def _tunnel(self, connection: socket.socket, target: str) -> None:
        server = self._tunnels.get(target.lower())
        try:
            other = server.connect() if server is not None else None
        except (OSError, StoreFailure):
            other = None
        if other is None:
            _send(connection, FORBIDDEN, {}, b"")
            return
        with other:
            other.settimeout(IDLE_SECONDS)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            done = allocate_lock()
            done.acquire()
            start_new_thread(_copy, (other, connection, done))
            _copy(connection, other, None)
            done.acquire()


class ListingPages:
    """Removes odd keys from the pages of listings, and ends those with a delimiter after `MAX_NAMES` names.

    The number of names before a page is known by the token that asks for it.
    """

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int]] = {}
        """Names and pages before the page that a token asks for."""
        self._lock = allocate_lock()

    def passed(self, query: dict[str, list[str]], page: bytes) -> bytes:
        """Return a page of a listing, without its token for the next one if there are enough names.

        Raises: StoreFailure, for a listing that does not end.
        """
        if "list-type" not in query and "comp" not in query:
            return page
        has_delimiter = "delimiter" in query
        page = _ROW.sub(lambda row: b"" if _is_odd(row, has_delimiter) else row[0], page)
        if not has_delimiter:
            return page
        token = (query.get("continuation-token") or query.get("marker") or [""])[0]
        with self._lock:
            names, pages = self._before.pop(token, (0, 0)) if token else (0, 0)
        names += sum([page.count(sign) for sign in (b"<Key>", b"</CommonPrefixes>", b"</Blob>", b"</BlobPrefix>")])
        pages += 1
        for name in (b"NextContinuationToken", b"NextMarker"):
            start = page.find(b"<" + name + b">")
            end = page.find(b"</" + name + b">", start)
            if start < 0 or end < 0:
                continue
            if names > MAX_NAMES:
                page = page[:start] + page[end + len(name) + 3 :]
                return page.replace(b"<IsTruncated>true<", b"<IsTruncated>false<")
            if pages >= MAX_PAGES:
                raise StoreFailure("", "a listing does not end")
            with self._lock:
                while len(self._before) >= MAX_TOKENS:
                    self._before.pop(next(iter(self._before)))
                self._before[_header_text(page[start + len(name) + 2 : end])] = (names, pages)
        return page


_ROW = re.compile(
    rb"<(Contents|CommonPrefixes|Blob|BlobPrefix)>.*?<(?:Key|Prefix|Name)>(.*?)</(?:Key|Prefix|Name)>.*?</\1>",
    re.DOTALL,
)
"""An object or a directory in a listing."""
_ODD = re.compile(rb"//|(?:^|/)\.{0,2}/|^$|(?:^|/)\.{1,2}$")
"""Keys with an empty name, `.` or `..` between slashes."""


def _is_odd(row: re.Match[bytes], has_delimiter: bool) -> bool:
    """Return True for a key that no path can name. Without a delimiter, the marker of a directory is one as well."""
    if not has_delimiter and row[1] in (b"Contents", b"Blob") and row[2].endswith(b"/"):
        return True
    return _ODD.search(row[2]) is not None


_RANGE = re.compile(r"bytes=([0-9]{1,18})-([0-9]{1,18})")


def _max_bytes(headers: dict[str, str]) -> int:
    """Return the size of the largest answer to a request: its range, or the description of an error."""
    match = _RANGE.fullmatch(headers.get("range", ""))
    if match is None:
        return MAX_WHOLE_BYTES
    return min(MAX_WHOLE_BYTES, max(MAX_ERROR_BYTES, int(match[2]) - int(match[1]) + 1))


def _serve(listener: socket.socket, relay: ref[StoreRelay]) -> None:
    """Accept connections while the relay exists. It holds no reference to it, so that a relay that is dropped ends."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # closed
        running = relay()
        if running is None:
            connection.close()
            return
        start_new_thread(running.answer, (connection,))
        del running


def _header_text(raw: bytes) -> str:
    """Return the text of an element without children."""
    from xml.sax.saxutils import unescape

    return unescape(raw.decode("utf-8", "replace"), {"&quot;": '"', "&apos;": "'"})


def _send(connection: socket.socket, status: int, headers: dict[str, str], data: bytes) -> None:
    lines = [f"HTTP/1.1 {status} -", *[f"{name}: {value}" for name, value in headers.items()]]
    first_bytes = "\r\n".join([*lines, f"content-length: {len(data)}", "", ""])
    connection.sendall(first_bytes.encode("latin-1", "replace") + data)


def _copy(source: socket.socket, target: socket.socket, done: LockType | None) -> None:
    """Copy bytes until one side ends, then end the other."""
    try:
        while data := source.recv(PIECE_BYTES):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if done is not None:
            done.release()
