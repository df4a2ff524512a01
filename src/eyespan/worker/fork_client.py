"""The backend with a fork server: starts it at the first job, passes jobs to it, reads responses within limits.

It is safe for threads and survives the death of the fork server: a job that had not started goes to a new one, a job
that had is one error.
"""

from __future__ import annotations

import io
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import Internal, TimedOut, Unreadable
from eyespan.source import close_fd
from eyespan.worker import launch, protocol
from eyespan.worker.protocol import ENDED, STARTED

if TYPE_CHECKING:
    from eyespan.worker.client import JobLimits


START_SECONDS = 30.0
"""The time for the fork server to start a job; on a busy machine it may take some seconds."""
_POLL_SECONDS = 0.05
_CHUNK_BYTES = 256 * 1024


class _NotStarted(Exception):
    """The fork server is gone and had not started this job."""


class ForkClient:
    """The fork server, seen from the process that uses it."""

    def __init__(self, limits: JobLimits, path: Sequence[str]) -> None:
        self._limits = limits
        self._path = path
        self._lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._silent_since: float | None = None
        """The time of the first job since the last one that started."""

    # --- one job ---

    def run(
        self, task: str, decoder: str, fd: int, params: Mapping[str, Any], *, asked: str, context: CallContext
    ) -> tuple[bytearray, io.BytesIO | None]:
        """Return the response to one job, charged to the context, as `protocol.parse` takes it. Raises: ReadError."""
        message = {"decoder": decoder, "params": params}
        for is_last_try in (False, True):
            process = None
            ends: tuple[socket.socket, ...] = ()
            try:
                ends = here, there = socket.socketpair()
                while not self._lock.acquire(timeout=_POLL_SECONDS):
                    context.advance(0, 0)  # another call starts the fork server, or passes a job to it
                try:
                    control, process = self._connect(), self.process
                    left = context.left()
                    control.settimeout(START_SECONDS if left is None else max(_POLL_SECONDS, min(START_SECONDS, left)))
                    protocol.send(control, message, (fd, there.fileno()))
                finally:
                    self._lock.release()
                _close_socket(there)  # else this process would keep the socket of the child open
                return self._response(here, asked, task, context)
            except (_NotStarted, BrokenPipeError, ConnectionResetError):
                with self._lock:
                    if process is not None and self.process is process:
                        self._disconnect()
                if is_last_try:
                    raise Internal(asked, "the decoding process cannot be started") from None
            except TimeoutError:  # the fork server takes no jobs at present, and this one was not sent
                self._kill_if_silent()
                context.advance(0, 0)
                raise TimedOut(asked, seconds=START_SECONDS) from None
            except (OSError, subprocess.SubprocessError) as error:
                # The fork server works and runs the jobs of others. Closing the socket of this job ends only this one.
                if isinstance(error, protocol.PartlySent):
                    self._kill()
                raise launch.unusable(asked, error) from None
            finally:
                for end in ends:
                    _close_socket(end)
        raise AssertionError("the second try always ends the loop")

    def _response(
        self, here: socket.socket, asked: str, task: str, context: CallContext
    ) -> tuple[bytearray, io.BytesIO | None]:
        """Return what the child writes, without the frame around it.

        An exception here closes the socket, and then the fork server kills the child.
        """
        here.setblocking(False)
        poll = select.poll()  # select() accepts no descriptor above 1023
        poll.register(here, select.POLLIN)
        end = time.monotonic() + START_SECONDS
        if self._silent_since is None:
            self._silent_since = time.monotonic()
        has_started = False
        data = bytearray()
        rest: io.BytesIO | None = None  # all that follows the header
        received_bytes = 0
        size = 0  # of the complete response, once it is known
        max_bytes = self._limits.output_bytes + protocol.MAX_HEADER_BYTES
        while True:
            is_ready = poll.poll(_POLL_SECONDS * 1000)
            try:
                context.advance(received_bytes, 0)
            except BaseException:
                if not has_started:
                    self._kill_if_silent()
                raise
            if time.monotonic() > end:
                if not has_started:  # stopped, swapped out or worse
                    self._kill()
                raise TimedOut(asked, seconds=self._limits.seconds if has_started else START_SECONDS)
            if not is_ready:
                continue
            try:
                chunk = here.recv(_CHUNK_BYTES)
            except BlockingIOError:
                continue
            if not chunk:
                break
            if not has_started:
                has_started = True
                self._silent_since = None
                end = time.monotonic() + self._limits.seconds
                chunk = chunk[len(STARTED) :]
            received_bytes += len(chunk)
            if received_bytes > max_bytes:
                raise Unreadable(asked, kind=task, reason="the decoded content is too large")
            context.charge(len(chunk))
            if rest is None:
                data += chunk
            else:
                rest.write(chunk)
            if rest is None and protocol.has_header(data):
                context.charge(protocol.header_memory(data))
                size = protocol.response_size(data)
                rest = protocol.take_blobs(data)
            if size and received_bytes == size:  # complete; the end of the child, which takes a while, does not matter
                return data, rest
        if not has_started:
            raise _NotStarted
        with rest.getbuffer() if rest is not None else memoryview(data) as view:
            trailer = bytes(view[-8:])
        if trailer[:4] != ENDED:
            raise Unreadable(asked, kind=task, reason="the decoding process was killed")
        protocol.check_status(int.from_bytes(trailer[4:], "big"), asked, task, self._limits.seconds)
        if rest is None:
            del data[-8:]
        else:
            rest.truncate(rest.tell() - 8)
        return data, rest

    def _kill_if_silent(self) -> None:
        """Kill a fork server that started no job for `START_SECONDS`. No caller may wait that long itself."""
        since = self._silent_since
        if since is not None and time.monotonic() - since > START_SECONDS:
            self._silent_since = None
            self._kill()

    # --- the process ---

    def _connect(self) -> socket.socket:
        """Return the control socket of a running fork server. Called with the lock held."""
        if self.process is not None and self.process.poll() is not None:
            self._disconnect()
        if self._control is None:
            self._start()
        control = self._control
        assert control is not None
        return control

    def _start(self) -> None:
        here, there = socket.socketpair()
        fd = there.fileno()
        try:
            here.settimeout(START_SECONDS)
            process = launch.launch("eyespan.worker.fork_server:main", str(fd), extra_path=self._path, pass_fds=(fd,))
        except BaseException:
            _close_socket(here)
            raise
        finally:
            _close_socket(there)
        self.process, self._control = process, here
        config = {"memory_bytes": self._limits.memory_bytes, "seconds": self._limits.seconds, "parent": os.getpid()}
        try:
            protocol.send(here, config, ())
        except OSError:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        """End the fork server by closing its control socket. Called with the lock held."""
        control, self._control = self._control, None
        process, self.process = self.process, None
        if control is not None:
            _close_socket(control)
        if process is not None:
            launch.end(process)

    def _kill(self) -> None:
        with self._lock:
            if self.process is not None:
                self.process.kill()
            self._disconnect()

    def stop(self) -> None:
        """End the fork server. The next job starts another."""
        with self._lock:
            self._disconnect()

    def forget(self) -> None:
        """Drop the fork server without ending it: in a forked process, it belongs to the parent."""
        if self.process is not None:
            self.process.returncode = 0  # else its destructor warns about a process that is not ours to wait for
        control, self._control = self._control, None
        if control is not None:
            _close_socket(control)


def _close_socket(end: socket.socket) -> None:
    """Close a socket and ignore errors. A second call does nothing."""
    close_fd(end.detach())
