"""One process of the HTTP server."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.extras.http.auth import Authenticator
from eyespan.extras.http.auth.rate import SharedSlots
from eyespan.extras.http.caller_services import CallerServices
from eyespan.extras.http.http_options import HttpOptions
from eyespan.extras.http.http_server import HttpServer
from eyespan.extras.http.log import Log
from eyespan.extras.http.metrics import Metrics
from eyespan.extras.http.page.served import PageFiles
from eyespan.extras.http.trimming import return_free_memory

if TYPE_CHECKING:
    import ssl

    from eyespan.extras.http.notify import Notifier
    from eyespan.extras.http.reload import Keeper


STACK_BYTES = 4 << 20
"""The stack of a thread. The usual 8 MB of a hundred calls that wait for a store would be all that a server may map. On
Python 3.13 a deep list as JSON takes more than 1 MB before it is an error."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """The objects that all workers of a server share."""

    services: CallerServices
    authenticator: Authenticator | None
    options: HttpOptions
    listener: socket.socket
    port: int | None
    """The port of the socket; None for a local socket."""
    is_passed: bool
    """systemd has passed the socket and holds it open."""
    metrics: Metrics
    slots: SharedSlots
    log: Log
    capacity: int
    """The number of connections of one worker."""
    notifier: Notifier
    keeper: Keeper | None = None
    tls_context: ssl.SSLContext | None = None
    page: PageFiles | None = None


class StopSignals:
    """Notes SIGTERM and SIGINT until a loop handles them, so that none is lost during the start."""

    def __init__(self) -> None:
        self.has_arrived = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.has_arrived = True


class _Loop(asyncio.SelectorEventLoop):  # on Windows the default one cannot watch a socket
    """The loop of a process. It is not closed: threads that wait for a hung file system may still report to it."""

    def __del__(self) -> None:
        """Close nothing either when Python ends: parts of the loop may be gone by then, and asyncio prints that."""


def run_worker(setup: WorkerSetup, signals: StopSignals, parent_fd: int | None) -> int:
    """Serve the socket until a signal arrives, or until the pipe `parent_fd` closes. Returns the exit status."""
    threading.stack_size(STACK_BYTES)
    loop = _Loop()
    server = HttpServer(loop, setup)
    return_free_memory(loop)
    if parent_fd is not None:

        def parent_ended() -> None:
            loop.remove_reader(parent_fd)
            server.stop()

        loop.add_reader(parent_fd, parent_ended)
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, server.stop)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(server.stop))
    if signals.has_arrived:
        loop.call_soon(server.stop)
    loop.run_until_complete(server.serve())
    if setup.keeper is not None:
        setup.keeper.close()
    return 0
