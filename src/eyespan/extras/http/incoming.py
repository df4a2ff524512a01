"""One HTTP request while it is received."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyespan.extras.http import checks
    from eyespan.extras.http.auth import Caller
    from eyespan.extras.http.checks import Rejected
    from eyespan.extras.http.inbox import Held


KNOWN_HEADERS = frozenset(
    (
        *(b"accept", b"authorization", b"connection", b"content-encoding", b"content-length", b"content-type"),
        *(b"expect", b"host", b"http2-settings", b"mcp-method", b"mcp-name", b"mcp-protocol-version"),
        *(b"mcp-session-id", b"origin", b"transfer-encoding", b"upgrade"),
    )
)
"""The headers that a check or an answer depends on. Others are not stored: thousands of them fit into 16 KB."""
MAX_HEADER_VALUES = 8
"""The values of one header that are stored. A header that may appear once is refused with the second."""


class Incoming:
    """One request while it is received."""

    __slots__ = (
        "body", "caller", "has_headers", "header_bytes", "headers", "held", "is_complete", "keeps_alive", "method",
        "raw_bytes", "rejection", "route", "target", "trailer_bytes", "unverified", "version",
    )  # fmt: skip

    def __init__(self, held: Held) -> None:
        self.target = b""
        self.method = b""
        self.version = "1.1"
        self.headers: dict[bytes, list[bytes]] = {}
        self.header_bytes = 0
        self.body = bytearray()
        self.held = held
        """The memory that the request takes of all that requests may take."""
        self.trailer_bytes = 0
        self.raw_bytes = 0
        """Bytes that arrived after the first ones of the request."""
        self.keeps_alive = True
        self.has_headers = False
        self.is_complete = False
        self.unverified: str | None = None
        """The token, if the issuer's keys must be fetched to check it."""
        self.route: checks.Route = "mcp"
        self.caller: Caller | None = None
        self.rejection: Rejected | None = None

    def add_header(self, name: bytes, value: bytes) -> None:
        """Count a header, and store it if it is needed."""
        self.header_bytes += len(name) + len(value) + 4
        name = name.lower()
        if name in KNOWN_HEADERS:
            values = self.headers.setdefault(name, [])
            if len(values) < MAX_HEADER_VALUES:
                values.append(value)

    def release(self) -> None:
        """Drop the body and return the memory of the request."""
        self.body.clear()
        self.held.release()
