"""Web servers as roots, by the standard library.

Only the host of the root is ever asked: a redirect is an error, and so is an address of cloud metadata services.

Servers are not trusted. Numbers in headers are checked before they are used, and the bytes of an answer are counted as
they are received: no answer takes more memory than was asked for, or more time than the call has.
"""

from __future__ import annotations

import errno
import http.client
import io
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from eyespan.context import CallContext
from eyespan.errors import Changed, StoreFailure
from eyespan.extras.remote.store import (
    FIRST_PAUSE_SECONDS,
    MAX_TRIES,
    REQUEST_SECONDS,
    ObjectVersion,
    Store,
    make_version,
    modified_ns,
    number,
    refused,
)

MAX_WHOLE_BYTES = 32 << 20
"""The largest file that is read from a server without ranges."""
SKIPPED_BYTES = 1 << 16
"""The bytes before the requested part that are read at a time from such a server."""
METADATA_ADDRESSES = (
    *("169.254.0.0/16", "fe80::/10", "fd00:ec2::/64", "fd20:ce::/64", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128"),
    *("100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"),
)
_FORBIDDEN = tuple([ipaddress.ip_network(text) for text in METADATA_ADDRESSES])
_EMBEDDING = tuple([ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")])
"""Networks whose addresses end with one of IPv4: those of translators, and an old form."""
MAX_HEADERS_BYTES = 1 << 18
"""The headers of an answer, with those of preliminary answers before it."""
CHUNK_COPIES = 2
"""The bytes that a body may take for each byte of its contents: chunks have their lengths before them."""
MAX_ERROR_BYTES = 1 << 12
"""The description of an error that is read."""
MAX_ANSWER_SECONDS = 60.0
"""The longest time for one answer of a service of credentials."""
MAX_IDLE = 16
"""The idle connections to one server."""
MAX_ADDRESSES = 4
"""The addresses of a host that are tried."""


MAX_PLACE_BYTES = 1024
METADATA_ANSWER = b"metadata"
"""The answer of a connector for a host that is one of cloud metadata."""


@contextmanager
def asking(connector: socket.socket, question: bytes, seconds: float) -> Iterator[socket.socket]:
    """Ask the process that connects for this one; the socket has its answer. Raises: OSError."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            socket.send_fds(connector, [question], [theirs.fileno()])
        ours.settimeout(seconds)
        yield ours


def _connected_by(connector: socket.socket, host: str, port: int, name: str, asked: str) -> socket.socket:
    """Return a connection that another process has made. Raises: OSError, StoreFailure."""
    with asking(connector, f"{host}\n{port}".encode(), (MAX_ADDRESSES + 1) * REQUEST_SECONDS) as reply:
        answer, fds, _, _ = socket.recv_fds(reply, MAX_PLACE_BYTES, 1)
    if answer == METADATA_ANSWER:
        raise StoreFailure(asked, f"{name} is an address of cloud metadata, which is never read")
    if not fds:
        raise ConnectionRefusedError(errno.ECONNREFUSED, answer.decode("utf-8", "replace"))
    connected = socket.socket(fileno=fds[0])
    connected.settimeout(REQUEST_SECONDS)
    return connected


_Found = TypeVar("_Found")
Check = Callable[[], None]
Prepare = Callable[[dict[str, str]], tuple[str, dict[str, str]]]
"""Returns the path, with its query, and the headers of a request with these headers: a store signs them."""


class _Wire:
    """A connected socket, as http.client uses it, whose answers have an end.

    Before each piece of an answer, a check of the call is made, and its bytes are counted. A server that sends more
    than is allowed is not read any further, whatever it announces.
    """

    def __init__(self, connected: socket.socket, name: str) -> None:
        self.name = name
        self._connected = connected
        self.sendall, self.close = connected.sendall, connected.close

    def expect(self, check: Check, asked: str) -> None:
        """Expect the headers of an answer; `check` raises an error when the answer is to be abandoned."""
        self.check, self.asked, self.left_bytes = check, asked, MAX_HEADERS_BYTES

    def allow(self, size_bytes: int) -> None:
        """Allow a body of this size after the headers."""
        self.left_bytes += CHUNK_COPIES * size_bytes

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Pieces(self, self._connected.makefile("rb", buffering=0)))


class _Pieces(io.RawIOBase):
    """The bytes of one answer. The socket stays open until they are closed."""

    def __init__(self, wire: _Wire, pieces: socket.SocketIO) -> None:
        self._wire = wire
        self._pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what was received next. Raises: ReadError, OSError."""
        wire = self._wire
        wire.check()
        count = self._pieces.readinto(buffer) or 0
        wire.left_bytes -= count
        if wire.left_bytes < 0:
            raise StoreFailure(wire.asked, f"{wire.name} sent more than was asked for")
        return count

    def close(self) -> None:
        self._pieces.close()
        super().close()


class _Connection(http.client.HTTPConnection):
    """A connection that was made already. It is never made again: its address would not be checked."""

    auto_open = 0

    def __init__(self, host: str, port: int, wire: _Wire) -> None:
        super().__init__(host, port)
        self.wire = wire
        self.sock: Any = wire


class Server:
    """One web server: ranges of the files that paths name, of one version each, by connections that are used again.

    A redirect is an error, and every address is checked before it is connected to, unless the server is one of
    credentials: those have addresses of cloud metadata.
    """

    def __init__(
        self,
        url: str,
        name: str,
        asked: str = "",
        *,
        may_be_metadata: bool = False,
        connector: socket.socket | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`connector` leads to a process that connects for this one. Raises: StoreFailure."""
        self._may_be_metadata = may_be_metadata
        self._connector = connector
        self._clock = clock
        self._idle: list[_Connection] = []
        self.requests = 0
        self.name = name
        try:
            parts = urlsplit(url)
            self._is_secure = parts.scheme == "https"
            default = 443 if self._is_secure else 80
            self.place = (parts.hostname or "", parts.port or default)
            """The host, in lower case, and the port."""
            self.authority = parts.netloc.lower().encode("idna").decode().removesuffix(f":{default}")
            """Host and port as they stand in requests."""
        except ValueError:
            raise StoreFailure(asked, f"{name} has an invalid host or port") from None

    def get(
        self,
        prepare: Prepare,
        start: int,
        size_bytes: int,
        known: ObjectVersion | None,
        context: CallContext,
        asked: str,
    ) -> tuple[bytes, ObjectVersion]:
        """Return a range of a file and its version, as `Store.get` does. Raises: ReadError."""
        headers = {"Range": f"bytes={start}-{start + size_bytes - 1}", "Accept-Encoding": "identity"}
        if known is not None and known.etag and not known.etag.startswith("W/"):
            headers["If-Match"] = known.etag

        def once() -> tuple[int, str, tuple[bytes, ObjectVersion] | None]:
            with self._answer(*prepare(headers), asked, context.check) as (wire, answer):
                current = self._version(answer, start, size_bytes, asked)
                if current is None:
                    wire.allow(MAX_ERROR_BYTES)
                    return answer.status, _code_of(answer.read(MAX_ERROR_BYTES)), None
                if known is not None and current != known:
                    raise Changed(asked)
                skipped_bytes = min(start, current.size_bytes) if answer.status == 200 else 0
                count = max(0, min(size_bytes, current.size_bytes - start))
                wire.allow(skipped_bytes + count)
                while skipped_bytes:
                    skipped_bytes -= len(_body(answer, min(SKIPPED_BYTES, skipped_bytes)))
                data = _body(answer, count)
            context.count_store(0, len(data))
            return answer.status, "", (data, current)

        def once_or_without_range() -> tuple[int, str, tuple[bytes, ObjectVersion] | None]:
            found = once()
            # An empty file has no range, and not every server reports its size then.
            is_perhaps_empty = found[0] == 416 and found[2] is None and known is None and headers.pop("Range", "")
            return once() if is_perhaps_empty else found

        return self._repeated(once_or_without_range, context, asked)

    def _version(
        self, answer: http.client.HTTPResponse, start: int, size_bytes: int, asked: str
    ) -> ObjectVersion | None:
        """Return the version of which an answer has this part; None for an error. Raises: StoreFailure."""
        try:
            if answer.status == 206:
                first, last, total = _content_range(answer, asked, self.name)
                if not start == first <= last == min(start + size_bytes, total) - 1:
                    raise StoreFailure(asked, f"{self.name} answered with another range than it was asked for")
            elif answer.status == 200:
                length = answer.headers.get("Content-Length")
                if length is None or (total := number(length)) > MAX_WHOLE_BYTES:
                    raise StoreFailure(asked, f"{self.name} cannot send parts of a file, and this one is too large")
            elif answer.status == 416 and answer.headers.get("Content-Range") == "bytes */0":
                total = 0
            else:
                return None
            modified = modified_ns(answer.headers.get("Last-Modified") or "")
            return make_version(total, answer.headers.get("ETag") or "", modified)
        except ValueError:
            raise StoreFailure(asked, f"{self.name} sent an invalid header") from None

    def whole(self, prepare: Prepare, max_bytes: int, context: CallContext, asked: str) -> bytes:
        """Return a whole answer of at most `max_bytes`. Raises: ReadError."""

        def once() -> tuple[int, str, bytes | None]:
            status, data = self.exchange("GET", *prepare({}), b"", max_bytes, context.check, asked)
            return status, _code_of(data), data if status == 200 else None

        return self._repeated(once, context, asked)

    def _repeated(self, once: Callable[[], tuple[int, str, _Found | None]], context: CallContext, asked: str) -> _Found:
        """Make a request until it has a result: it returns a status, the code of an error, and the result."""
        pause = FIRST_PAUSE_SECONDS
        for tries_left in range(MAX_TRIES - 1, -1, -1):
            context.check()
            context.count_store(1, 0)
            try:
                status, code, found = once()
            except ssl.SSLCertVerificationError as error:
                raise StoreFailure(asked, untrusted(self.name, error.verify_message)) from None
            except (OSError, http.client.HTTPException):
                if not tries_left:
                    raise StoreFailure(asked, f"{self.name} cannot be reached, or its answers break off") from None
            else:
                if found is not None:
                    return found
                if not tries_left or (status < 500 and status != 429):
                    raise refused(status, asked, self.name, code)
            time.sleep(pause)
            pause *= 3
        raise AssertionError("the last try returns or raises")

    def exchange(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        max_bytes: int,
        check: Check | None = None,
        asked: str = "",
    ) -> tuple[int, bytes]:
        """Make one request with these headers and return the status and the body, of at most `max_bytes`.

        Nothing is followed or repeated. `check` raises an error when the answer is to be abandoned; without one, that
        is after `MAX_ANSWER_SECONDS`. Raises: OSError, HTTPException, ReadError.
        """
        end = self._clock() + MAX_ANSWER_SECONDS

        def check_time() -> None:
            if self._clock() > end:
                raise StoreFailure(asked, f"{self.name} answers too slowly")

        with self._answer(path, headers, asked, check or check_time, method, body) as (wire, answer):
            wire.allow(max_bytes)
            data = bytearray()
            while piece := answer.read1(1 << 16):
                data += piece
                if len(data) > max_bytes:
                    raise StoreFailure(asked, f"{self.name} sent more than was asked for")
            if answer.length:
                raise http.client.IncompleteRead(bytes(data), answer.length)
            return answer.status, bytes(data)

    @contextmanager
    def _answer(
        self, path: str, headers: dict[str, str], asked: str, check: Check, method: str = "GET", body: bytes = b""
    ) -> Iterator[tuple[_Wire, http.client.HTTPResponse]]:
        """Send a request. The connection is closed afterwards, unless the whole answer was read.

        The rest of a body would be taken for the next answer. Raises: OSError, HTTPException, StoreFailure, and what
        `check` raises.
        """
        self.requests += 1
        connection, answer = self._sent(path, headers, asked, check, method, body)
        is_done = False
        try:
            yield connection.wire, answer
            is_done = answer.isclosed() and not answer.will_close
        finally:
            if is_done and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
            else:
                answer.close()
                connection.close()

    def _sent(
        self, path: str, headers: dict[str, str], asked: str, check: Check, method: str, body: bytes
    ) -> tuple[_Connection, http.client.HTTPResponse]:
        """Send a request. A connection that was idle may have been closed by the server: it is replaced once."""
        while True:
            try:
                connection, is_fresh = self._idle.pop(), False
            except IndexError:
                connection, is_fresh = _Connection(*self.place, _Wire(self.connect(asked), self.name)), True
            try:
                connection.wire.expect(check, asked)
                connection.request(method, path, body or None, {"User-Agent": "eyespan", **headers})
                return connection, connection.getresponse()
            except BaseException as error:
                connection.close()
                has_failed = isinstance(error, (OSError, http.client.HTTPException))
                if is_fresh or not has_failed or isinstance(error, TimeoutError):
                    raise

    def connect(self, asked: str = "") -> socket.socket:
        """Connect, with TLS if the server has it. Raises: OSError, StoreFailure."""
        connected = self.connect_plain(asked)
        return self._ssl.wrap_socket(connected, server_hostname=self.place[0]) if self._is_secure else connected

    def connect_plain(self, asked: str = "") -> socket.socket:
        """Connect without TLS, to an address that was checked, not to one of a second lookup.

        In a sandbox, another process looks the host up, checks its addresses and connects.
        Raises: OSError, StoreFailure.
        """
        if self._connector is not None:
            return _connected_by(self._connector, *self.place, self.name, asked)
        addresses = socket.getaddrinfo(*self.place, type=socket.SOCK_STREAM)
        if not self._may_be_metadata and any(is_metadata(str(address[0])) for *_, address in addresses):
            raise StoreFailure(asked, f"{self.name} is an address of cloud metadata, which is never read")
        failure = OSError("the host has no address")
        for kind, _, protocol, _, address in addresses[:MAX_ADDRESSES]:
            connected = socket.socket(kind, socket.SOCK_STREAM, protocol)
            connected.settimeout(REQUEST_SECONDS)
            try:
                connected.connect(address)
                return connected
            except OSError as error:
                connected.close()
                failure = error
        raise failure

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def __del__(self) -> None:
        self.close()

    @cached_property
    def _ssl(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.hostname_checks_common_name = False  # a certificate lists the names of its hosts
        return context


class WebStore(Store):
    """The files below a directory of a web server."""

    credentials = None

    def __init__(self, url: str, asked: str = "", connector: socket.socket | None = None) -> None:
        """Raises: StoreFailure."""
        self.name = "/".join(url.split("/")[:3])
        self._path = quote(url[len(self.name) :], safe="%/+*:@!$&'(),;=")
        self.server = Server(url, self.name, asked, connector=connector)

    def get(
        self, key: str, start: int, size_bytes: int, version: ObjectVersion | None, context: CallContext, asked: str
    ) -> tuple[bytes, ObjectVersion]:
        path = f"{self._path}/{quote(key, errors='surrogateescape')}"
        return self.server.get(lambda headers: (path, headers), start, size_bytes, version, context, asked)

    def close(self) -> None:
        self.server.close()


def untrusted(name: str, reason: str) -> str:
    """Return the message for a certificate that is not accepted."""
    return f"the certificate of {name} is not accepted: {reason}; SSL_CERT_FILE names the authorities to trust"


def is_metadata(text: str) -> bool:
    """Return True if an address is one of a metadata service, in any form that contains such an address."""
    address = ipaddress.ip_address(text.partition("%")[0])
    spellings: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo or ()
        spellings += [each for each in (address.ipv4_mapped, address.sixtofour, *teredo) if each is not None]
        if any(address in network for network in _EMBEDDING):
            spellings.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return any(one.version == network.version and one in network for one in spellings for network in _FORBIDDEN)


_CODE = re.compile(b"<Code>([A-Za-z]{1,60})</Code>")


def _code_of(data: bytes) -> str:
    """Return the name of the error that stores send in a body; "" if there is none."""
    match = _CODE.search(data)
    return match[1].decode() if match else ""


_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


def _content_range(answer: http.client.HTTPResponse, asked: str, store: str) -> tuple[int, int, int]:
    """Return the first and the last byte, and the size of the whole file. Raises: StoreFailure, ValueError."""
    text = answer.headers.get("Content-Range", "*")
    if text.endswith("*"):
        raise StoreFailure(asked, f"{store} does not report the size of the file")
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError("not a range")
    return int(match[1]), int(match[2]), int(match[3])


def _body(answer: http.client.HTTPResponse, size_bytes: int) -> bytes:
    """Return this much of the body. Raises: IncompleteRead for one that is shorter than announced, OSError."""
    data = answer.read(size_bytes)
    if len(data) < size_bytes:
        raise http.client.IncompleteRead(b"", size_bytes - len(data))
    return data
