"""The HTTP server of one process: everything that its connections share."""

from __future__ import annotations

import asyncio
import errno
import socket
from email.utils import formatdate
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.escape import in_plain_words
from eyespan.extras.http import eviction
from eyespan.extras.http.admission import Admission
from eyespan.extras.http.auth import OAuthIssuer, Tokens
from eyespan.extras.http.call_pool import CallPool
from eyespan.extras.http.checks import Rejected
from eyespan.extras.http.connection import Connection
from eyespan.extras.http.exchange import Key
from eyespan.extras.http.inbox import Inbox
from eyespan.extras.http.listening import BACKLOG
from eyespan.server.serve_options import InvalidOptions

if TYPE_CHECKING:
    from eyespan.extras.http.http_worker import WorkerSetup


SWEEP_SECONDS = 0.5
"""The time between two looks at the clocks of all connections."""
ACCEPT_PAUSE_SECONDS = 0.2
"""The time without new connections after the system had no descriptor for one."""
MAX_UNSENT_BYTES = 256 * 1024 * 1024
"""Bytes of answers that clients have not received. Above it, the connections that wait for longest are closed."""
RECEIVE_BYTES = 64 * 1024
"""The most that one connection receives before the others have their turn."""
MAX_OPENING = 256
"""Connections whose handshake is not complete."""
FIRST_REQUEST_SECONDS = 1.0
"""The time that a new connection has for its request after the server was asked to stop."""
STOP_SECONDS = 5.0
"""The time that running requests have at the end, on top of the deadline of their reads."""


class HttpServer:
    """Accepts connections on the socket of the setup and knows the rules for their requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop, setup: WorkerSetup) -> None:
        self.loop = loop
        self.options = setup.options
        self.services = setup.services
        self.metrics = setup.metrics
        self.authenticator = setup.authenticator
        self.log = setup.log
        self.is_stopping = False
        self.date = b""
        self.receive_buffer = memoryview(bytearray(RECEIVE_BYTES))
        """The bytes that a connection has just received."""
        # With several callers, each has at most half of the places, so that none keeps the others waiting.
        is_shared = isinstance(setup.authenticator, OAuthIssuer) or len(getattr(setup.authenticator, "callers", ())) > 1
        max_share = max(1, setup.options.calls // 2) if is_shared else None
        self.calls = CallPool(loop, setup.options.calls, setup.metrics, max_share=max_share)
        self.cancellable: dict[Key, CallContext] = {}
        """The running calls that a notification may stop, of this worker."""
        self.page = setup.page
        self.admission = Admission(setup)
        self._listener = setup.listener
        self._is_passed = setup.is_passed
        self._notifier = setup.notifier
        self._tls_context = setup.tls_context
        self._secrets = None if setup.keeper is None else setup.keeper.secrets
        self._secrets_version = 0
        self._capacity = setup.capacity
        self._connections: set[Connection] = set()
        self.inbox = Inbox(self._make_memory)
        self._opening: dict[asyncio.Task[None], socket.socket] = {}
        """Connections that are made or in a handshake, the oldest first."""
        self._ended: asyncio.Future[None] = loop.create_future()

    def now(self) -> float:
        """Return the time of the loop."""
        return self.loop.time()

    async def serve(self) -> None:
        """Serve until `stop` is called and the running requests are answered."""
        self._sweep()
        self._listen()
        await self._ended

    def stop(self) -> None:
        """Accept nothing more, and end when the running requests are answered."""
        if self.is_stopping:
            return
        self.is_stopping = True
        self._notifier.send("STOPPING=1")
        self.loop.remove_reader(self._listener.fileno())
        if not self._is_passed:
            # Closing the socket resets the connections that wait in it. A socket of systemd stays open.
            for _ in range(BACKLOG):
                if not self._accept():
                    break
        self._listener.close()
        for connection in list(self._connections):
            connection.stop()
        self.loop.call_later(FIRST_REQUEST_SECONDS, self._stop_silent)
        self.loop.call_later(self.options.timeout_seconds + STOP_SECONDS, self._end)
        self._end_if_idle()

    # --- connections -----------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        if not self.is_stopping:
            self.loop.add_reader(self._listener.fileno(), self._accept)

    def _stop_silent(self) -> None:
        """Close the connections that have sent no request since the server was asked to stop."""
        for connection in list(self._connections):
            connection.stop(is_patient=False)

    def _accept(self) -> bool:
        """Accept one connection. Others are left for the other workers, which the same event has woken.

        Returns False if there was none.
        """
        try:
            link, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                raise
            self.loop.remove_reader(self._listener.fileno())
            self.loop.call_later(ACCEPT_PAUSE_SECONDS, self._listen)
            return False
        link.setblocking(False)
        if len(self._opening) >= MAX_OPENING:
            next(iter(self._opening)).cancel()  # a handshake of TLS that has not proceeded for longest makes place
        task = self.loop.create_task(self._open(link))
        self._opening[task] = link
        task.add_done_callback(self._opened)
        return True

    def _opened(self, task: asyncio.Task[None]) -> None:
        link = self._opening.pop(task)
        if task.cancelled():
            link.close()
        if self.is_stopping:
            self._end_if_idle()

    async def _open(self, link: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(
                lambda: Connection(self),
                link,
                ssl=self._tls_context,
                ssl_handshake_timeout=None if self._tls_context is None else 5.0,
            )
        except OSError:
            link.close()  # the client has disconnected already

    def admit(self, connection: Connection) -> None:
        """Give a new connection a place: a free one, or that of an idle connection."""
        self._connections.add(connection)
        if len(self._connections) <= self._capacity:
            return
        candidates = [each.candidate() for each in self._connections if not each.is_refused and each is not connection]
        if len(candidates) < self._capacity:
            return  # the others are being refused
        refused = len(self._connections) - len(candidates)
        dropped = eviction.to_drop(candidates, self._capacity // 4)
        if refused > eviction.MAX_REFUSED:
            (dropped or connection).abort()
        elif dropped is None:
            connection.refuse()
        else:
            dropped.make_place()

    def _make_memory(self, size_bytes: int) -> None:
        """End connections that wait for a client and hold memory, so that this much is returned: the oldest first."""
        waiting = [(each.since, held, each) for each in self._connections if (held := each.waits_with())]
        for _, held, connection in sorted(waiting, key=lambda each: each[0]):
            if size_bytes <= 0:
                return
            size_bytes -= held
            connection.make_memory()

    def forget(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        self._connections.discard(connection)
        if self.is_stopping:
            self._end_if_idle()

    def _sweep(self) -> None:
        """Look at all clocks."""
        now = self.now()
        self.date = formatdate(usegmt=True).encode()
        unsent = []
        for connection in list(self._connections):
            if eviction.has_expired(connection.phase, connection.since, now):
                connection.expire()
            elif connection.phase == "sending":
                unsent.append((connection.since, connection.unsent_bytes(), connection))
        for connection in eviction.to_abort(unsent, MAX_UNSENT_BYTES):
            connection.abort()
        self.calls.expire(now)
        if self._secrets is not None and self._secrets.version != self._secrets_version:
            self._reload()
        self.loop.call_later(SWEEP_SECONDS, self._sweep)

    def _reload(self) -> None:
        """Take the tokens and the certificate that the keeper has read."""
        assert self._secrets is not None
        changed = self._secrets.read()
        if changed is None:
            return
        self._secrets_version, secrets = changed
        if secrets.tokens is not None and isinstance(self.authenticator, Tokens):
            accepted = {}
            for digest, caller in secrets.tokens.items():
                try:
                    self.services.update(caller)
                except (OSError, ValueError) as error:
                    self.log.write(
                        "reload", f"[{caller.name}] needs a restart: {in_plain_words(error)}", caller=caller.name
                    )
                    continue
                accepted[digest] = caller
            self.authenticator.replace(accepted)
        if secrets.chain and self._tls_context is not None:
            from eyespan.extras.http import tls

            try:
                self._tls_context = tls.context_of(secrets.chain, secrets.key)
            except InvalidOptions as error:
                self.log.write("reload", f"the old certificate stays in force: {error}")

    def _end_if_idle(self) -> None:
        if not self._connections and not self._opening:
            self._end()

    def _end(self) -> None:
        for connection in list(self._connections):
            connection.abort()
        if not self._ended.done():
            self._ended.set_result(None)

    def reject(self, rejection: Rejected, address: str) -> None:
        """Count and log a rejected request."""
        self.metrics.count_rejected(rejection.reason)
        self.log.refused(rejection.status, rejection.reason, rejection.detail, address)


def raise_descriptor_limit() -> int:
    """Raise the limit of open descriptors as far as the system allows, and return it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return eviction.MAX_CONNECTIONS + eviction.SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * eviction.MAX_CONNECTIONS + eviction.SPARE_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        highest = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
            soft = highest
        except (OSError, ValueError):
            pass  # a container may refuse; the number of connections is then smaller
    return wanted if soft == resource.RLIM_INFINITY else soft
