"""Starts the HTTP server: tokens, socket, sandbox, then one worker or several."""

from __future__ import annotations

import os
import socket

from eyespan.server import auth, sandboxing
from eyespan.server.options import InvalidOptions, ServeOptions

try:
    from eyespan.server.auth.rate import SharedSlots
    from eyespan.server.http import connections
    from eyespan.server.http.metrics import Metrics
    from eyespan.server.http.server import raise_descriptor_limit
    from eyespan.server.http.services import CallerServices
    from eyespan.server.http.supervisor import Supervisor
    from eyespan.server.http.worker import StopSignals, WorkerSetup, run_worker
    from eyespan.server.log import Log
except ImportError as error:
    message = f"HTTP needs a package that is not installed ({error.name}): pip install 'eyespan[http]'"
    raise InvalidOptions(message) from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.server import WorkspaceFactory

BACKLOG = 1024


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serve until a signal ends the process; running reads are finished first. Returns the exit status.

    Raises: InvalidOptions, OSError, ValueError.
    """
    signals = StopSignals()
    log = Log()
    authenticator, token_note = auth.load(options)
    services = CallerServices(workspace_factory, options, authenticator)
    listener = listen(options)
    if options.workers > 1 and not hasattr(os, "fork"):
        raise InvalidOptions("--workers needs a system with fork; start several servers instead")
    capacity = connections.capacity(raise_descriptor_limit())
    slots = SharedSlots()
    if options.workers > 1:
        slots.share()
    setup = WorkerSetup(
        services=services,
        authenticator=authenticator,
        options=options,
        listener=listener,
        port=listener.getsockname()[1],
        metrics=Metrics(options.workers),
        slots=slots,
        log=log,
        capacity=capacity,
    )
    confinement = sandboxing.confine(options, services.roots, services.audit)
    url = _url(options, listener)
    log.write("start", f"{url} ({token_note}); {confinement}", url=url, tokens=token_note, sandbox=confinement)
    if options.no_sandbox:
        log.write("warning", sandboxing.OFF_LINE)
    if options.workers == 1:
        setup.metrics.take_row(0)
        return run_worker(setup, signals, parent_fd=None)
    return Supervisor(setup, signals).run()


def listen(options: ServeOptions) -> socket.socket:
    """Return the listening socket. Raises: OSError, with a message that names the address."""
    assert options.http is not None
    host, port = options.http
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name the protocol: asyncio sets TCP_NODELAY only on sockets that are known to be TCP. An answer takes two writes,
    # and without that option the second one waits 40 ms for the client to acknowledge the first.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listener


def _url(options: ServeOptions, listener: socket.socket) -> str:
    host = options.http[0] if options.http is not None else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/mcp"
