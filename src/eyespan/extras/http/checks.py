"""The checks of every request before its message is read, as pure functions.

In their order, with the status of a rejected request:

    400  a request that cannot be parsed, a version other than HTTP/1.0 and 1.1, no Host, two lengths of the body
    431  more than 16 KB of headers
    421  Host twice, or not on the list             403  Origin not on the list
    404, 405  another path, another method
    401  no token or a wrong one; 429 after five wrong ones in a minute
    415  a body that is not application/json
    429  more calls per minute than the caller's rate
    413  a body of more than 1 MB
    503  the requests of all clients take too much memory

Host, Origin and path are compared as a whole, as they were sent, so `127.0.0.1:1@evil` and `/%6dcp` match nothing.
There are no CORS headers, so no web page can read an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eyespan.extras.http.http_options import HttpOptions, is_loopback

if TYPE_CHECKING:
    from eyespan.extras.http.incoming import Incoming

Headers = Mapping[bytes, Sequence[bytes]]
Route = Literal["mcp", "health", "metrics", "metadata", "page", "view", "view call"]

MAX_HEADER_BYTES = 16 * 1024
MAX_BODY_BYTES = 1024 * 1024
MAX_FAILURES = 5
"""Wrong tokens that an address may send per minute before it must wait. A right token never waits."""
MAX_SHOWN_CHARS = 100
"""The longest part of a header that a message repeats."""

MCP_PATH, HEALTH_PATH, METRICS_PATH = b"/mcp", b"/healthz", b"/metrics"
METHODS: dict[Route, tuple[bytes, ...]] = {
    # A stateless server sends nothing by itself (GET) and has no sessions to end (DELETE).
    "mcp": (b"POST",),
    "health": (b"GET", b"HEAD"),
    "metrics": (b"GET", b"HEAD"),
    "metadata": (b"GET", b"HEAD"),
    "page": (b"GET", b"HEAD"),
    "view": (b"GET",),
    "view call": (b"POST",),
}
VIEW_PATHS: dict[bytes, Route] = {
    **dict.fromkeys((b"/view", b"/view/", b"/view/page.js", b"/view/page.css", b"/view/page.svg"), "page"),
    **dict.fromkeys((b"/view/api/state", b"/view/api/names", b"/view/api/files", b"/view/api/activity"), "view"),
    b"/view/api/call": "view call",
}
"""The paths of the page. Its files hold no data and need no token."""


class Rejected(Exception):
    """A request that fails a check: its status, the reason in the metrics, headers of the answer, a line for the log.

    `detail` is for the operator's log. The client gets the status alone.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        detail: str = "",
        *,
        allow: str = "",
        authenticate: str = "",
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(status, reason, detail)
        self.status = status
        self.reason = reason
        self.detail = detail
        self.headers: dict[str, str] = {}
        if allow:
            self.headers["allow"] = allow
        if authenticate:
            self.headers["www-authenticate"] = authenticate
        if retry_after:
            self.headers["retry-after"] = str(int(retry_after) + 1)


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The values that requests are compared with."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]
    metadata_path: bytes | None = None
    """The path of the metadata of the OAuth issuer."""
    has_view: bool = False
    """The page is served."""


def rules_of(options: HttpOptions, port: int | None, *, metadata_path: str | None = None) -> RequestRules:
    """Return the rules of a server that listens on this port, or on a local socket."""
    return RequestRules(
        hosts=frozenset(host.lower().encode() for host in allowed_hosts(options, port)),
        origins=frozenset(origin.lower().encode() for origin in allowed_origins(options, port)),
        metadata_path=None if metadata_path is None else metadata_path.encode(),
        has_view=options.view,
    )


def check_head(incoming: Incoming, rules: RequestRules) -> Route:
    """Return the part of the server that a request is for. Raises: Rejected."""
    check_framing(incoming)
    check_host(incoming.headers, rules)
    check_origin(incoming.headers, rules)
    return route(incoming, rules)


def check_framing(incoming: Incoming) -> None:
    """Reject a request that a proxy may have understood in another way. Raises: Rejected."""
    size_bytes = len(incoming.target) + incoming.header_bytes
    if size_bytes > MAX_HEADER_BYTES:
        raise too_many_headers(size_bytes)
    if incoming.version not in ("1.0", "1.1"):
        raise Rejected(400, "headers", f"HTTP version {_shown(incoming.version)}; 1.0 and 1.1 are accepted")
    lengths = incoming.headers.get(b"content-length", ())
    codings = incoming.headers.get(b"transfer-encoding", ())
    if len(lengths) + len(codings) > 1:
        raise Rejected(400, "headers", "the length of the body is given twice (Content-Length, Transfer-Encoding)")
    if codings and codings[0].strip().lower() != b"chunked":
        raise Rejected(400, "headers", f"Transfer-Encoding {_shown(codings[0])}; only chunked is accepted")
    if codings and incoming.version == "1.0":
        raise Rejected(400, "headers", "Transfer-Encoding in a request of HTTP 1.0, which has none")


def check_host(headers: Headers, rules: RequestRules) -> None:
    """Reject a Host that is not on the list. Raises: Rejected."""
    values = headers.get(b"host", ())
    if not values:
        raise Rejected(400, "host", "no Host header")
    if len(values) != 1:
        raise Rejected(421, "host", "two Host headers")
    if values[0].lower() not in rules.hosts:
        name = _shown(values[0])
        raise Rejected(421, "host", f"Host {name} is not allowed; start with --allow-host {name}")


def check_origin(headers: Headers, rules: RequestRules) -> None:
    """Reject an Origin that is not on the list; only browsers send one. Raises: Rejected."""
    values = headers.get(b"origin", ())
    if len(values) > 1:
        raise Rejected(403, "origin", "two Origin headers")
    if values and values[0].lower() not in rules.origins:
        name = _shown(values[0])
        raise Rejected(403, "origin", f"Origin {name} is not allowed; start with --allow-origin {name}")


def route(incoming: Incoming, rules: RequestRules) -> Route:
    """Return the part of the server that has this path and method. Raises: Rejected."""
    path = incoming.target.partition(b"?")[0]
    chosen: Route
    if path == MCP_PATH:
        chosen = "mcp"
    elif path == HEALTH_PATH:
        chosen = "health"
    elif path == METRICS_PATH:
        chosen = "metrics"
    elif rules.metadata_path is not None and path == rules.metadata_path:
        chosen = "metadata"
    elif rules.has_view and path in VIEW_PATHS:
        chosen = VIEW_PATHS[path]
    else:
        raise Rejected(404, "path", f"no path {_shown(path)}; MCP is at /mcp")
    if chosen in ("health", "metadata", "page"):
        check_method(incoming, chosen)
    return chosen


def check_method(incoming: Incoming, found: Route) -> None:
    """Reject another method than those of this part. Raises: Rejected.

    For parts that need a token this check follows that of the token.
    """
    allowed = METHODS[found]
    if incoming.method not in allowed:
        names = b", ".join(allowed).decode()
        raise Rejected(405, "method", f"method {_shown(incoming.method)}; allowed: {names}", allow=names)


def bearer_token(headers: Headers) -> str | None:
    """Return the token of a request, or None if it has none or several."""
    values = headers.get(b"authorization", ())
    if len(values) != 1:
        return None
    kind, _, token = values[0].decode("latin-1").partition(" ")
    return token.strip(" \t") or None if kind.lower() == "bearer" else None


def check_type(headers: Headers) -> None:
    """Reject a body that is not JSON. Raises: Rejected."""
    values = headers.get(b"content-type", ())
    if len(values) != 1 or values[0].partition(b";")[0].strip().lower() != b"application/json":
        given = _shown(values[0]) if values else "none"
        raise Rejected(415, "type", f"Content-Type {given}; application/json is needed")
    codings = headers.get(b"content-encoding", ())
    if any(coding.strip().lower() not in (b"", b"identity") for coding in codings):
        raise Rejected(415, "type", f"Content-Encoding {_shown(codings[0])}; bodies are not compressed")


def check_length(headers: Headers) -> None:
    """Reject a body whose announced length is too large. Raises: Rejected."""
    values = headers.get(b"content-length", ())
    if values and (not values[0].isdigit() or len(values[0]) > 12 or int(values[0]) > MAX_BODY_BYTES):
        raise too_long()


def too_many_headers(size_bytes: int) -> Rejected:
    """Return the rejection of headers that are too long."""
    return Rejected(431, "headers", f"{size_bytes} bytes of headers; at most {MAX_HEADER_BYTES} are accepted")


def too_long() -> Rejected:
    """Return the rejection of a body that is too long."""
    return Rejected(413, "length", f"a body of more than {MAX_BODY_BYTES} bytes")


def allowed_hosts(options: HttpOptions, port: int | None) -> set[str]:
    """Return the Host headers that are accepted. On a local socket (no port) that is localhost."""
    if port is None:
        return {"localhost", *options.allow_hosts}
    host = options.http[0]
    names = {f"[{host}]" if ":" in host else host}
    if is_loopback(host):
        names |= {"127.0.0.1", "localhost", "[::1]"}
    hosts = {f"{name}:{port}" for name in names} | set(options.allow_hosts)
    return hosts | names if port == (80 if options.tls_cert is None else 443) else hosts


def allowed_origins(options: HttpOptions, port: int | None) -> set[str]:
    """Return the Origin headers that are accepted: the configured ones and, on loopback, the server's own."""
    own: set[str] = set()
    if is_loopback(options.http[0]):
        scheme = "http" if options.tls_cert is None else "https"
        own = {f"{scheme}://{host}" for host in allowed_hosts(options, port)}
    return own | {origin.rstrip("/") for origin in options.allow_origins}


def _shown(value: bytes | str) -> str:
    """Return a value of a client for a message: printable, not too long, without the quotes around it."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return "".join([char if char.isascii() and char.isprintable() else "?" for char in text[:MAX_SHOWN_CHARS]])
