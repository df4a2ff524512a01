"""One process of the HTTP server: the ASGI application, served by uvicorn."""

from __future__ import annotations

import asyncio
import signal
import socket

import anyio
import uvicorn

from eyespan.record import record
from eyespan.server.auth import OAuthIssuer
from eyespan.server.http.bridge import SdkBridge
from eyespan.server.http.checks import LimitedProtocol, RequestChecks
from eyespan.server.http.memory import return_free_memory
from eyespan.server.http.metrics import Metrics
from eyespan.server.http.services import CallerServices
from eyespan.server.options import ServeOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.server.auth import Authenticator

KEEP_ALIVE_SECONDS = 15
SHUTDOWN_SECONDS = 5
"""The time that running requests have at the end, on top of the deadline of their reads."""
MAX_PARSER_BYTES = 16 * 1024


@record
class WorkerSetup:
    """The objects that all workers of a server share."""

    services: CallerServices
    authenticator: Authenticator | None
    options: ServeOptions
    listener: socket.socket
    metrics: Metrics


def application(setup: WorkerSetup) -> RequestChecks:
    """Return the server as an ASGI application."""
    from mcp.server.transport_security import TransportSecuritySettings

    routes: Any = []
    if isinstance(setup.authenticator, OAuthIssuer):
        from mcp.server.auth.routes import create_protected_resource_routes
        from pydantic import AnyHttpUrl

        routes = create_protected_resource_routes(
            resource_url=AnyHttpUrl(setup.authenticator.resource),
            authorization_servers=[AnyHttpUrl(setup.authenticator.issuer)],
            scopes_supported=list(setup.authenticator.scopes),
        )
    bridge = SdkBridge(setup.services, setup.options, setup.metrics)
    # RequestChecks compares Host and Origin as a whole; the SDK's check is less strict.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    whole, streaming = [
        bridge.server().streamable_http_app(
            stateless_http=True, json_response=is_whole, transport_security=security, custom_starlette_routes=routes
        )
        for is_whole in (True, False)
    ]
    return RequestChecks(
        whole,
        streaming,
        authenticator=setup.authenticator,
        options=setup.options,
        port=setup.listener.getsockname()[1],
        metrics=setup.metrics,
    )


def run_worker(setup: WorkerSetup, parent_fd: int | None) -> int:
    """Serve the socket until a signal arrives, or until the pipe `parent_fd` closes. Returns the exit status."""
    config = uvicorn.Config(
        application(setup),
        http=LimitedProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_PARSER_BYTES,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(setup.options.timeout_seconds) + SHUTDOWN_SECONDS,
    )
    server = uvicorn.Server(config)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        return_free_memory(loop)
        if parent_fd is not None:

            def parent_ended() -> None:
                server.should_exit = True
                loop.remove_reader(parent_fd)

            loop.add_reader(parent_fd, parent_ended)
        await server.serve(sockets=[setup.listener])

    def end(*_: object) -> None:
        server.should_exit = True

    # uvicorn handles signals only while it serves. When it has finished it raises the signal again; this handler then
    # ignores it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    anyio.run(run)
    return 0 if server.started else 1
