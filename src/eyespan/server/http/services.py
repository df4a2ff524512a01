"""The service of each caller."""

from __future__ import annotations

from eyespan.server.service import Service

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.guard import Root
    from eyespan.server import WorkspaceFactory
    from eyespan.server.audit import Audit
    from eyespan.server.auth import Authenticator, Caller
    from eyespan.server.options import ServeOptions
    from eyespan.workspace import Workspace

MAX_RESULT_BYTES = 8 * 1024 * 1024


class CallerServices:
    """One `Service` for all callers, and one for each caller with roots or dialects of its own."""

    def __init__(
        self, workspace_factory: WorkspaceFactory, options: ServeOptions, authenticator: Authenticator | None
    ) -> None:
        """Make all services, so that a missing directory is reported at the start. Raises: OSError, ValueError."""
        self._options = options
        self.audit: Audit | None = None
        if options.audit is not None:
            from eyespan.server.audit import Audit

            self.audit = Audit(options.audit, options.audit_bytes)
        self.common = self._service(workspace_factory(None), options.dialects)
        self._own: dict[str, Service] = {}
        for caller in authenticator.callers if authenticator is not None else []:
            if caller.roots or caller.dialects:
                workspace = workspace_factory(caller.roots) if caller.roots else self.common.workspace
                self._own[caller.name] = self._service(workspace, caller.dialects)

    @property
    def roots(self) -> list[Root]:
        """The roots that any caller may read."""
        return [root for service in (self.common, *self._own.values()) for root in service.workspace.roots]

    def of(self, caller: Caller) -> Service:
        """Return the service of a caller."""
        return self._own.get(caller.name, self.common)

    def _service(self, workspace: Workspace, dialects: tuple[str, ...]) -> Service:
        return Service.from_options(
            workspace, self._options, dialects=dialects, audit=self.audit, max_result_bytes=MAX_RESULT_BYTES
        )
