"""The page of `eyespan view` at /view: the tools of the server as a caller has them, and the reads of that caller.

The page itself holds no data and needs no token. Its requests for data are checked like all others: Host, Origin,
token, type, size, and a rate of their own. Its reads go through the service of the caller, so the roots, the rules, the
dialects and the audit log are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import ReadError
from eyespan.extras.http.page import api
from eyespan.extras.http.page.activity import summary
from eyespan.extras.http.page.static_files import FILES, HEADERS, load
from eyespan.extras.http.read_ring import CallerName, ReadRing
from eyespan.guard.listing import Listing
from eyespan.guard.tree import Survey
from eyespan.model import Reply
from eyespan.recorder import Recorder
from eyespan.tool import Tool

if TYPE_CHECKING:
    from eyespan.server.audit_trail import Noted
    from eyespan.server.service import Service


PATH = b"/view/"
DATA_PREFIX = "/view/api/"


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

    is_local = False
    report: api.Report | None = None

    def __init__(self, service: Service, holder: str, ring: ReadRing) -> None:
        self._service = service
        self._holder = holder
        self._caller = CallerName(f"{holder} (view)", holder)
        self._ring = ring
        self.roots: Sequence[str] = [root.path for root in service.workspace.roots]

    def toolsets(self) -> Mapping[str, Sequence[Tool]]:
        return self._service.toolsets()

    def list(self, path: str, context: CallContext) -> Listing:
        with self._noting(path, context) as noted:
            listing = noted.recorder.list(path, context, hides_ignored=True)
            noted.names += [entry.name for entry in listing.entries]
            return listing

    def survey(self, path: str, context: CallContext) -> Survey:
        with self._noting(path, context) as noted:
            try:
                survey = noted.recorder.explore(path, lambda _: {}, lambda *_: None, 0, context)
            except ReadError as error:
                noted.code = error.code
                raise
            noted.recorder.listed = survey.canonical
            noted.names += survey.directories
            return survey

    def _noting(self, path: str, context: CallContext) -> AbstractContextManager[Noted]:
        engine = self._service.workspace.engine
        return self._service.trail.noting(engine, context, caller=self._caller, dialect="view", path=path)

    def call(self, tool: Tool, arguments: Any, context: CallContext) -> tuple[Reply, Recorder | None]:
        return self._service.reply(tool, arguments, self._caller, context)

    def note(self, event: dict[str, Any]) -> None:
        pass  # the service has written it to the ring

    def since(self, after: str) -> dict[str, Any]:
        new, kept, last = self._ring.since(after, self._holder)
        return {"events": new, "last": last, **summary(kept), "log": None}
