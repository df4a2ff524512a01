"""A relay on the loopback address, through which obstore sends all its requests.

obstore follows redirects to any host and has no option against that. Its requests therefore go to this relay, as to an
HTTP proxy, and the relay sends them on:

- to the host of the store, over TLS where the store has it. An answer that redirects loses its address, so nothing can
  follow it. A listing with a delimiter ends after `MAX_NAMES` names, so a huge directory is not listed whole. Keys
  that no path can name have the name `LEFT_OUT` in listings: with one of them, obstore would refuse the page.
- to the services that give credentials to this host. Those without TLS are passed on in the same way; those with TLS
  are tunnels to a fixed set of names.
- every other address is refused.

Other programs of this machine cannot use it: requests carry a random password. Other users cannot occupy it: their
connections are closed where the system reports the owner of a connection, and elsewhere the oldest connection that has
not sent the password makes room for the next.
"""

from __future__ import annotations

import base64
import errno
import http.client
import io
import os
import re
import socket
import ssl
import time
from _thread import LockType, allocate_lock, start_new_thread
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit
from weakref import ref
from xml.parsers import expat
from xml.sax.saxutils import escape

from eyespan.errors import StoreFailure
from eyespan.extras.remote.store import LEFT_OUT, MAX_NAMES
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
UNTRUSTED = 495
"""The status for a store whose certificate is not accepted."""
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
FIRST_SECONDS = 2.0
"""The time for the first bytes of a connection."""
MAX_STRANGERS = 32
"""The connections that have not sent the password yet."""
PAUSE_SECONDS = 0.1
"""The pause after a connection that could not be accepted, for lack of descriptors or memory."""
PIECE_BYTES = 1 << 16
MAX_PAGE_BYTES = 8 << 20
MAX_PAGE_ELEMENTS = 200_000


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
        self._strangers: dict[socket.socket, None] = {}
        self._peers = -1
        """The table of connections, kept open for a process that is about to lose access to /proc."""
        self._lock = allocate_lock()

    def open(self) -> int:
        """Open the port, if it is not open, and return it. Requests wait there until `start`."""
        with self._lock:
            if self._listener is None:
                self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
                try:
                    self._peers = os.open("/proc/net/tcp", os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    pass  # another system
            return int(self._listener.getsockname()[1])

    @property
    def address(self) -> str:
        """Return the address for a client."""
        return f"http://eyespan:{self._password}@127.0.0.1:{self.open()}"

    @property
    def servers(self) -> list[Server]:
        """Return the servers to which it sends requests."""
        return [self._store, *self._services.values(), *self._tunnels.values()]

    def filenos(self) -> list[int]:
        """Return the descriptors of the open port."""
        listener = -1 if self._listener is None else self._listener.fileno()
        return [fd for fd in (listener, self._peers) if fd >= 0]

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
            self._forget_peers()

    def _forget_peers(self) -> None:
        fd, self._peers = self._peers, -1
        if fd >= 0:
            os.close(fd)

    def close(self) -> None:
        with self._lock:
            listener, self._listener = self._listener, None
            if listener is not None:
                _shut(listener)  # wakes the thread that accepts
                listener.close()
            self._forget_peers()
        for server in (self._store, *self._services.values()):
            server.close()

    def __del__(self) -> None:
        self.close()

    def admit(self, connection: socket.socket, port: int) -> None:
        """Answer a connection from this port in a thread, or close it."""
        with self._lock:
            is_foreign = _owner(self._peers, port, self._listener) not in (None, os.getuid())
            if not is_foreign:
                if len(self._strangers) >= MAX_STRANGERS:
                    oldest = next(iter(self._strangers))
                    self._strangers.pop(oldest)
                    _shut(oldest)
                self._strangers[connection] = None
        try:
            if is_foreign:
                raise RuntimeError("a connection of another user")
            start_new_thread(self.answer, (connection,))
        except RuntimeError:  # or no thread can be started
            self._strangers.pop(connection, None)
            connection.close()

    def answer(self, connection: socket.socket) -> None:
        """Answer the requests of one connection."""
        connection.settimeout(FIRST_SECONDS)
        try:
            with connection, connection.makefile("rb") as lines:
                while self._answer_one(connection, lines):
                    pass
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the client went away, or is not obstore
        finally:
            self._strangers.pop(connection, None)

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
        self._strangers.pop(connection, None)
        connection.settimeout(IDLE_SECONDS)
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
        except ssl.SSLCertVerificationError:
            return UNTRUSTED, {}, b""
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


@dataclass(slots=True)
class _Row:
    """An object or a directory in a page: where it is, and where its key is."""

    element: str
    start: int
    end: int = 0
    key: str = ""
    key_start: int = 0
    key_end: int = 0


_KEYS = {"Contents": "Key", "CommonPrefixes": "Prefix", "Blob": "Name", "BlobPrefix": "Name"}
"""The elements of the rows, and that of the key in each."""
_TOKENS = ("NextContinuationToken", "NextMarker")


@dataclass(slots=True)
class _ListingPage:
    """Parses a page of a listing, in pieces. A page that is not plain XML, or too large, raises StoreFailure."""

    data: bytes
    rows: list[_Row] = field(default_factory=list)
    token: _Row | None = None
    _open: list[_Row] = field(default_factory=list)
    _count: int = 0

    def parse(self) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, _: self._start(name, parser.CurrentByteIndex)
        parser.EndElementHandler = lambda _: self._end(parser.CurrentByteIndex)
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            for at in range(0, len(self.data), PIECE_BYTES):
                parser.Parse(self.data[at : at + PIECE_BYTES], False)
            parser.Parse(b"", True)
        except expat.ExpatError:
            self._refuse()

    def _refuse(self, *_: object) -> None:
        raise StoreFailure("", "an invalid listing")

    def _start(self, name: str, at: int) -> None:
        self._count += 1
        if self._count > MAX_PAGE_ELEMENTS:
            self._refuse()
        self._open.append(_Row(name, at))

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].key += text

    def _end(self, at: int) -> None:
        ended = self._open.pop()
        ended.end = self.data.index(b">", at) + 1
        parent = self._open[-1] if self._open else None
        if ended.element in _TOKENS:
            self.token = ended
        elif ended.element in _KEYS:
            self.rows.append(ended)
        elif parent is not None and _KEYS.get(parent.element) == ended.element:
            parent.key, parent.key_start, parent.key_end = ended.key, ended.start, ended.end


class ListingPages:
    """Renames odd keys in the pages of listings, and ends those with a delimiter after `MAX_NAMES` names.

    The number of names before a page is known by the token that asks for it.
    """

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int]] = {}
        """Names and pages before the page that a token asks for."""
        self._lock = allocate_lock()

    def passed(self, query: dict[str, list[str]], data: bytes) -> bytes:
        """Return a page of a listing, without its token for the next one if there are enough names.

        Raises: StoreFailure, for a listing that is invalid or does not end.
        """
        if "list-type" not in query and "comp" not in query:
            return data
        if len(data) > MAX_PAGE_BYTES:
            raise StoreFailure("", "a page is too large")
        has_delimiter = "delimiter" in query
        page = _ListingPage(_without_controls(data))
        page.parse()
        left_out = escape(query.get("prefix", [""])[0] + LEFT_OUT)
        edits: list[tuple[int, int, bytes]] = []
        for row in page.rows:
            if not has_delimiter and row.element in ("Contents", "Blob") and row.key.endswith("/"):
                edits.append((row.start, row.end, b""))  # the marker of a directory
            elif _is_odd(row.key):
                name = _KEYS[row.element]
                edits.append((row.key_start, row.key_end, f"<{name}>{left_out}</{name}>".encode()))
        if has_delimiter and page.token is not None and page.token.key:
            asked = (query.get("continuation-token") or query.get("marker") or [""])[0]
            with self._lock:
                names, pages = self._before.pop(asked, (0, 0)) if asked else (0, 0)
                names, pages = names + len(page.rows), pages + 1
                if names > MAX_NAMES:
                    edits.append((page.token.start, page.token.end, b""))
                elif pages >= MAX_PAGES:
                    raise StoreFailure("", "a listing does not end")
                else:
                    while len(self._before) >= MAX_TOKENS:
                        self._before.pop(next(iter(self._before)))
                    self._before[page.token.key] = (names, pages)
            if names > MAX_NAMES:
                return _edited(page.data, edits).replace(b"<IsTruncated>true<", b"<IsTruncated>false<")
        return _edited(page.data, edits)


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    pieces, done = [], 0
    for start, end, new in sorted(edits):
        if start >= done:
            pieces += [data[done:start], new]
            done = end
    return b"".join([*pieces, data[done:]])


_NOT_XML = re.compile("&#(x?)([0-9a-fA-F]{1,8});|[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff\\ufffe\\uffff]")
"""References by number, and characters that XML does not have. Stores send both in keys."""


def _without_controls(data: bytes) -> bytes:
    """Return a page with DEL, which XML has and no path, for every character that XML does not have."""

    def replaced(found: re.Match[str]) -> str:
        try:
            char = chr(int(found[2], 16 if found[1] else 10)) if found[2] else "\0"
        except (ValueError, OverflowError):
            return "\x7f"
        return "\x7f" if char < " " or _NOT_XML.match(char) else found[0]

    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return _NOT_XML.sub(replaced, text).encode()


def _is_odd(key: str) -> bool:
    """Return True for a key that no path can name: with control characters, or an empty name, `.` or `..` in it."""
    names = key.removesuffix("/").split("/")
    return any(char < " " or char == "\x7f" for char in key) or any(name in ("", ".", "..") for name in names)


_RANGE = re.compile(r"bytes=([0-9]{1,18})-([0-9]{1,18})")


def _max_bytes(headers: dict[str, str]) -> int:
    """Return the size of the largest answer to a request: its range, or the description of an error."""
    match = _RANGE.fullmatch(headers.get("range", ""))
    if match is None:
        return MAX_WHOLE_BYTES
    return min(MAX_WHOLE_BYTES, max(MAX_ERROR_BYTES, int(match[2]) - int(match[1]) + 1))


_LACKS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED)
"""The errors after which connections are accepted again."""


def _serve(listener: socket.socket, relay: ref[StoreRelay]) -> None:
    """Accept connections while the relay exists. It holds no reference to it, so that a relay that is dropped ends."""
    while True:
        try:
            connection, (_, port) = listener.accept()
        except OSError as error:
            if error.errno not in _LACKS:
                return  # closed
            time.sleep(PAUSE_SECONDS)
            continue
        running = relay()
        if running is None:
            connection.close()
            return
        running.admit(connection, port)
        del running


def _owner(peers: int, port: int, listener: socket.socket | None) -> int | None:
    """Return the user whose connection comes from a port of the loopback address; None if that is not known."""
    if peers < 0 or listener is None:
        return None
    here = f"0100007F:{port:04X} 0100007F:{listener.getsockname()[1]:04X} "
    try:
        os.lseek(peers, 0, os.SEEK_SET)
        with open(peers, encoding="ascii", closefd=False) as rows:
            for row in rows:
                if here in row:
                    return int(row.split()[7])
    except (OSError, ValueError, IndexError):
        pass  # a table in another form
    return None


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other side was faster


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
            _shut(each)
        if done is not None:
            done.release()
