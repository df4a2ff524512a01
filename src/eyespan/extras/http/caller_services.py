"""The service of each caller."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eyespan.extras.http.page.api import Api
from eyespan.extras.http.page.served import CallerBackend
from eyespan.extras.http.read_ring import AuditAndRing, HolderSession, ReadRing
from eyespan.guard import Root
from eyespan.server import WorkspaceFactory
from eyespan.server.audit import Audit
from eyespan.server.audit_trail import AuditLog
from eyespan.server.service import Service
from eyespan.server.session import Session
from eyespan.workspace import Workspace

if TYPE_CHECKING:
    from eyespan.extras.http.auth import Authenticator, Caller
    from eyespan.extras.http.http_options import HttpOptions


MAX_RESULT_BYTES = 8 * 1024 * 1024


class CallerServices:
    """One `Service` for all callers, and one for each caller with roots or dialects of its own."""

    def __init__(
        self, workspace_factory: WorkspaceFactory, options: HttpOptions, authenticator: Authenticator | None
    ) -> None:
        """Make all services, so that a missing directory is reported at the start. Raises: OSError, ValueError."""
        self._options = options
        self._workspace_factory = workspace_factory
        self.audit = None if options.audit is None else Audit(options.audit, options.audit_bytes)
        self.ring = ReadRing(options.workers) if options.view else None
        """The latest reads, if the page is served."""
        self._log: AuditLog | None = self.audit if self.ring is None else AuditAndRing(self.audit, self.ring)
        self.common = self._service(workspace_factory(None), options.dialects)
        self._own: dict[str, Service] = {}
        self._sealed: tuple[str, ...] | None = None
        """The roots at the time of `seal`."""
        self._known: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """The roots and dialects of each caller for which `_own` is made."""
        for caller in authenticator.callers if authenticator is not None else []:
            self.update(caller)

    @property
    def roots(self) -> list[Root]:
        """The roots that any caller may read."""
        return [root for service in (self.common, *self._own.values()) for root in service.workspace.roots]

    def update(self, caller: Caller) -> None:
        """Make the service of a caller that is new or has other roots or dialects. Raises: OSError, ValueError."""
        wanted = (caller.roots, caller.dialects)
        if self._known.get(caller.name) == wanted:
            return
        service = None
        if caller.roots or caller.dialects:
            workspace = self._workspace_factory(caller.roots) if caller.roots else self.common.workspace
            self._require_below(workspace)
            service = self._service(workspace, caller.dialects)
        if service is None:
            self._own.pop(caller.name, None)
        else:
            self._own[caller.name] = service
        self._known[caller.name] = wanted

    def seal(self) -> None:
        """Accept no further roots but those below the present ones. The sandbox allows no others."""
        self._sealed = tuple(root.canonical for root in self.roots)

    def _require_below(self, workspace: Workspace) -> None:
        if self._sealed is None:
            return
        for root in workspace.roots:
            if not any(os.path.commonpath([root.canonical, sealed]) == sealed for sealed in self._sealed):
                raise ValueError(f"{root.path} is not below a directory that the server was started with")

    def of(self, caller: Caller) -> Service:
        """Return the service of a caller."""
        return self._own.get(caller.name, self.common)

    def session(self, caller: Caller, version: str | None) -> Session:
        """Return the session of one request of a caller."""
        if self.ring is None:
            return Session(self.of(caller), holder=caller.name, version=version)
        return HolderSession(self.of(caller), holder=caller.name, version=version)

    def page(self, caller: Caller) -> Api:
        """Return the requests of the page of a caller."""
        assert self.ring is not None
        return Api(CallerBackend(self.of(caller), caller.name, self.ring), caller.name)

    def _service(self, workspace: Workspace, dialects: tuple[str, ...]) -> Service:
        service = Service(workspace, dialects, self._options, audit=self._log, max_result_bytes=MAX_RESULT_BYTES)
        if service.remembers:
            raise ValueError("native.remember is for one conversation, and HTTP serves many; send `known` instead")
        return service
