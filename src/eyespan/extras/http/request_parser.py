"""Bytes of a connection to requests, by httptools.

The parser itself has no limits, so the size of headers, of a body with the lines of its chunks, and of trailers is
limited here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httptools

from eyespan.extras.http import checks
from eyespan.extras.http.checks import Rejected
from eyespan.extras.http.inbox import Held, Inbox, no_memory
from eyespan.extras.http.incoming import Incoming

if TYPE_CHECKING:
    from eyespan.extras.http.connection import Connection


MAX_RAW_BYTES = 8 * checks.MAX_BODY_BYTES
"""Bytes of one request after its headers: the body with the lines of its chunks, and trailers."""
UPGRADE_HEADERS = (b"upgrade", b"http2-settings")


class RequestParser:
    """The parser of one connection. Its methods `on_...` are for httptools."""

    def __init__(self, handler: Connection, inbox: Inbox) -> None:
        self._handler = handler
        self._inbox = inbox
        self._parser: Any = httptools.HttpRequestParser(self)
        self._is_upgrade = False
        self._raw, self._at = bytearray(), 0
        """The bytes being parsed, from the start of an incomplete request line, and how many are checked."""
        self.incoming: Incoming | None = None
        """The request whose bytes arrive."""

    def feed(self, data: bytes | memoryview) -> None:
        """Parse bytes, which are not used after the return. Nothing can be parsed after an error.

        Raises: Rejected, for `incoming` if there is one, and what the handler raises.
        """
        while data:
            data = self._feed(data)

    def _feed(self, data: bytes | memoryview) -> bytes:
        """Parse bytes up to an offer of another protocol. Return the bytes to parse next."""
        before = self.incoming
        self._raw += data
        rest = None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = bytes(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except httptools.HttpParserError as error:
            raise Rejected(400, "headers", f"not a valid HTTP request: {error}") from None
        if rest is not None:  # not above, where an error of the handler would have the wrong context
            return self._without_upgrade(rest)
        incoming = self.incoming
        if incoming is None or incoming.header_bytes or incoming.has_headers:
            self._raw, self._at = bytearray(), 0
        if incoming is None or incoming is not before:
            return b""
        # All of these bytes belong to one incomplete request. The parser stores headers and trailers that are not
        # complete, so their size is limited here.
        incoming.raw_bytes += len(data)
        if not incoming.has_headers and incoming.raw_bytes > checks.MAX_HEADER_BYTES:
            raise Rejected(431, "headers", f"more than {checks.MAX_HEADER_BYTES} bytes of headers")
        if incoming.raw_bytes > MAX_RAW_BYTES:
            raise checks.too_long()
        return b""

    def take(self) -> Incoming:
        """Return the request whose bytes arrive, or an empty one, and end the parser."""
        incoming = self.incoming or Incoming(Held(self._inbox))
        self.close()
        return incoming

    def close(self) -> None:
        """End the parser."""
        self.incoming = None
        self._parser = None  # it refers to this object

    def on_message_begin(self) -> None:
        self.incoming = Incoming(Held(self._inbox))
        self._handler.begin_request()

    def on_url(self, part: bytes) -> None:
        assert self.incoming is not None
        self.incoming.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        incoming = self.incoming
        assert incoming is not None
        if incoming.has_headers:
            incoming.trailer_bytes += len(name) + len(value) + 4
            if incoming.trailer_bytes > checks.MAX_HEADER_BYTES:
                raise Rejected(431, "headers", f"more than {checks.MAX_HEADER_BYTES} bytes of trailers")
            return
        if not incoming.header_bytes:
            self._check_request_line(incoming)
        incoming.add_header(name, value)

    def _check_request_line(self, incoming: Incoming) -> None:
        """Refuse more than one blank between the words, which the parser skips. Raises: Rejected."""
        version = self._parser.get_http_version().encode()
        line = b"%s %s HTTP/%s\r\n" % (self._parser.get_method(), incoming.target, version)
        at = self._raw.find(line, self._at)
        if at < 0:
            raise Rejected(400, "headers", "not a valid HTTP request: a request line has one blank between its words")
        self._at = at + len(line)

    def on_headers_complete(self) -> None:
        incoming, parser = self.incoming, self._parser
        assert incoming is not None
        incoming.has_headers = True
        self._is_upgrade = parser.should_upgrade()
        if self._is_upgrade:
            return
        incoming.method = parser.get_method()
        incoming.version = parser.get_http_version()
        incoming.keeps_alive = parser.should_keep_alive()
        self._handler.check_headers(incoming)

    def on_body(self, part: bytes) -> None:
        incoming = self.incoming
        assert incoming is not None
        size_bytes = len(incoming.body) + len(part)
        if size_bytes > checks.MAX_BODY_BYTES:
            raise checks.too_long()
        if not self._handler.hold(incoming, size_bytes):
            raise no_memory()
        incoming.body += part

    def on_message_complete(self) -> None:
        incoming = self.incoming
        if incoming is None or self._is_upgrade:
            return
        self.incoming = None
        incoming.is_complete = True
        self._handler.take_request(incoming)

    def _without_upgrade(self, rest: bytes) -> bytes:
        """Return a request, and the bytes after it, without its offer of another protocol, which a server may ignore.

        Java's client offers HTTP/2 with its first request. The parser stops after the headers of such a request.
        """
        incoming = self.incoming
        method, version = self._parser.get_method(), self._parser.get_http_version()
        self._is_upgrade = False
        if incoming is None or method == b"CONNECT":
            raise Rejected(400, "headers", "CONNECT is not supported")
        if incoming.header_bytes > checks.MAX_HEADER_BYTES:
            raise checks.too_many_headers(incoming.header_bytes)
        lines = [b"%s %s HTTP/%s" % (method, incoming.target, version.encode())]
        for name, values in incoming.headers.items():
            if name == b"connection":
                options = [each.strip() for value in values for each in value.split(b",")]
                values = [each for each in options if each.lower() not in UPGRADE_HEADERS]
            if name not in UPGRADE_HEADERS:
                lines += [b"%s: %s" % (name, value) for value in values]
        self.incoming = None
        self._parser = httptools.HttpRequestParser(self)
        self._raw, self._at = bytearray(), 0
        return b"\r\n".join(lines) + b"\r\n\r\n" + rest
