"""The page of `eyespan view` at /view: the tools of the server as a caller has them, and the reads of that caller.

The page itself holds no data and needs no token. Its requests for data are checked like all others: Host, Origin,
token, type, size, and a rate of their own. Its reads go through the service of the caller, so the roots, the rules, the
dialects and the audit log are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from eyespan.context import CallContext
from eyespan.extras.http.page.activity import summary
from eyespan.extras.http.page.api import Api, BadRequest
from eyespan.extras.http.page.static_files import FILES, HEADERS, load
from eyespan.extras.http.read_ring import CallerName
from eyespan.model import Reply
from eyespan.server import json_messages, mcp_names
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import Message
from eyespan.tool import Tool

if TYPE_CHECKING:
    from eyespan.extras.http.read_ring import ReadRing
    from eyespan.guard.listing import Listing
    from eyespan.recorder import Recorder
    from eyespan.server.service import Service


PATH = b"/view/"
DATA_PREFIX = PATH + b"api/"
CALL_PATH = DATA_PREFIX + b"call"
MAX_NAMES = 10_000
"""Names of one directory that are sent."""
STATUS_BY_CODE = {mcp_names.INVALID_PARAMS: 400, mcp_names.BUSY: 503, mcp_names.INTERNAL_ERROR: 500}


class PageFiles:
    """The files of the page, loaded before the sandbox is entered."""

    def __init__(self) -> None:
        """Raises: OSError."""
        strict = "".join([f"{name.lower()}: {value}\r\n" for name, value in HEADERS.items()])
        self.headers = strict.encode()
        """The headers of every answer below /view."""
        self._files = {
            PATH + end.encode(): (load(name), f"content-type: {media_type}\r\n".encode())
            for end, (name, media_type) in FILES.items()
        }

    def find(self, target: bytes) -> tuple[int, bytes, bytes]:
        """Return status, headers and body for the address of a file, or of the page without its last slash."""
        found = self._files.get(target.partition(b"?")[0])
        if found is None:
            return 308, self.headers + b"location: " + PATH + b"\r\n", b""
        body, media_type = found
        return 200, self.headers + media_type, body


class CallerBackend:
    """The files, tools and reads of one caller."""

    def __init__(self, service: Service, holder: str, ring: ReadRing) -> None:
        self._service = service
        self._holder = holder
        self._caller = CallerName(f"{holder} (view)", holder)
        self._ring = ring
        self.roots: Sequence[str] = [root.path for root in service.workspace.roots]

    def toolsets(self) -> Mapping[str, Sequence[Tool]]:
        return self._service.toolsets()

    def list(self, path: str, context: CallContext) -> Listing:
        return self._service.resources.list_names(path, self._caller, context)

    def call(self, tool: Tool, arguments: Any, context: CallContext) -> tuple[Reply, Recorder | None]:
        return self._service.reply(tool, arguments, self._caller, context)

    def note(self, event: dict[str, Any]) -> None:
        pass  # the service has written it to the ring

    def since(self, after: str) -> dict[str, Any]:
        new, kept, last = self._ring.since(after, self._holder)
        return {"events": new, "last": last, **summary(kept), "log": None}


class PageSession:
    """One request of the page, as `Calls` runs them."""

    def __init__(self, service: Service, holder: str, ring: ReadRing) -> None:
        self.caller = holder
        self._api = Api(CallerBackend(service, holder, ring))

    def answer(self, method: str, params: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """Return the result of one request. Raises: RpcError, and WouldBlock if the context may not block."""
        if method == "tools/call":
            try:
                return self._api.call(params, context)
            except BadRequest as error:
                raise RpcError(mcp_names.INVALID_PARAMS, str(error)) from None
        if method == "state":
            return self._api.state()
        if method == "names":
            found = self._api.names(params["path"], context)
            found["entries"] = found["entries"][:MAX_NAMES]
            return found
        return self._api.activity(params["after"])


def message_of(target: bytes, body: bytes | bytearray, values: int = 0) -> Message:
    """Return a request of the page as a message. `values` is that of `json_messages.loads`. Raises: RpcError."""
    path, _, query = target.partition(b"?")
    if path == CALL_PATH:
        try:
            request = json_messages.loads(body, values)
        except json_messages.Malformed:
            request = None
        if not isinstance(request, dict):
            raise RpcError(mcp_names.INVALID_PARAMS, "a JSON object is expected")
        return Message(0, "tools/call", request)
    try:
        found = parse_qs(query.decode("ascii"), max_num_fields=16)
    except ValueError:
        found = {}
    fields = {name: found.get(name, [""])[-1] for name in ("path", "after")}
    return Message(0, path[len(DATA_PREFIX) :].decode("latin-1"), fields)


def body_of(answer: Mapping[str, Any]) -> list[bytes]:
    """Return the JSON of an answer for the page, in pieces."""
    error = answer.get("error")
    return json_messages.dumps(answer["result"] if error is None else {"message": error["message"]})


def status_of(answer: Mapping[str, Any]) -> int:
    """Return the status of an answer for the page."""
    error = answer.get("error")
    return 200 if error is None else STATUS_BY_CODE.get(error["code"], 500)
