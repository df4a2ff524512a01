"""The fork server: a small process that waits for jobs and forks a sandboxed child for each.

`fork_client` starts it as `python -I -S -c ... FD PATH...`. It shares nothing with its parent but one socket: its
standard streams are closed pipes, its environment is empty, its session is its own. It imports a decoder
with its first job, so that every later child has it, and never reads a file itself; only the children do,
inside their sandbox.

If the socket for a response is closed by the client, the child is killed. If the control socket is closed or the parent
ends, the fork server ends, and the kernel kills its children.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import select
import signal
import socket
from collections.abc import Mapping
from typing import Any

from eyespan.sandbox import process
from eyespan.sandbox.decoder import DecoderSandbox
from eyespan.worker import job, protocol
from eyespan.worker.job import Decoder
from eyespan.worker.protocol import ENDED, STARTED

_FILE, _RESPONSE = 3, 4  # the two descriptors of a child
_MAX_FDS = 256


class ForkServer:
    """The state of this process: the loaded decoders and the running children."""

    def __init__(self, control: socket.socket, config: Mapping[str, Any]) -> None:
        self._control = control
        self._sandbox = DecoderSandbox(memory_bytes=config["memory_bytes"], seconds=config["seconds"])
        self._loaded: dict[str, Decoder] = {}
        self._channels: dict[int, socket.socket] = {}
        """The socket for the response, by the process id of the child."""
        self._poll = select.poll()

    def serve(self, parent: int) -> None:
        """Run jobs until the control socket is closed or the parent ends."""
        wakeup, signalled = os.pipe()
        os.set_blocking(signalled, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(wakeup, select.POLLIN)
        parent_fd = _pidfd(parent)
        if parent_fd >= 0:
            self._poll.register(parent_fd, select.POLLIN)
        while True:
            for fd, _ in self._poll.poll(None if parent_fd >= 0 else 1000):
                if fd == self._control.fileno():
                    if not self._accept():
                        return
                elif fd == wakeup:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wakeup, 4096)
                elif fd == parent_fd:
                    return
                else:
                    self._kill_child_of(fd)
            self._reap()
            if os.getppid() != parent:
                return

    def _accept(self) -> bool:
        """Start the next job. Return False if the client is gone."""
        message, fds = protocol.receive(self._control, 2)
        if message is None:
            return False
        file, response = fds
        with socket.socket(fileno=response) as channel:
            try:
                decoder = self._load(message["decoder"])
            except (Exception, SystemExit) as error:  # whatever the module of a plugin raises
                _respond(channel, STARTED, protocol.error_header(error))
            else:
                self._fork(decoder, message, file, channel)
        os.close(file)
        return True

    def _load(self, reference: str) -> Decoder:
        if reference not in self._loaded:
            self._loaded[reference] = job.load_decoder(reference)
            gc.collect()
            gc.freeze()  # the children share these pages as long as the collector does not write to them
        return self._loaded[reference]

    def _fork(self, decoder: Decoder, message: Mapping[str, Any], file: int, channel: socket.socket) -> None:
        with contextlib.suppress(OSError):
            channel.send(STARTED)
        server = os.getpid()
        try:
            child = os.fork()
        except OSError as error:
            _respond(channel, b"", {"error": "process", "reason": os.strerror(error.errno or 0)})
            return
        if child == 0:
            self._run_child(decoder, message, file, channel.fileno(), server)
        copy = channel.dup()
        self._channels[child] = copy
        self._poll.register(copy, select.POLLHUP)

    def _run_child(self, decoder: Decoder, message: Mapping[str, Any], file: int, response: int, server: int) -> None:
        """Run the job in the forked child. Never returns."""
        status = 1
        try:
            self._sandbox.die_with_parent()
            if os.getppid() != server:
                return  # the server ended before that took effect, so nothing would end this process
            process.keep_memory()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # The process lives for a second: collecting cycles after every 700 objects would take a tenth of it.
            gc.set_threshold(100_000, 20, 100)
            layers = self._enter_sandbox(file, response)
            job.run(decoder, message["params"], fd=_FILE, response=_RESPONSE, layers=layers)
            status = 0
        finally:
            os._exit(status)

    def _enter_sandbox(self, file: int, response: int) -> dict[str, bool]:
        """Enter the sandbox and close every descriptor but the two of the job."""
        layers = self._sandbox.apply_without_filter()
        above = [fcntl.fcntl(fd, fcntl.F_DUPFD, _RESPONSE + 1) for fd in (file, response)]
        os.dup2(above[0], _FILE)
        os.dup2(above[1], _RESPONSE)
        os.closerange(_RESPONSE + 1, _MAX_FDS)
        layers["seccomp"] = self._sandbox.install_filter()
        return layers

    def _kill_child_of(self, fd: int) -> None:
        """Kill the child that writes to a socket, because its reader is gone."""
        for child, channel in self._channels.items():
            if channel.fileno() == fd:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def _reap(self) -> None:
        """Report the wait status of every child that has ended."""
        while self._channels:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            channel = self._channels.pop(child)
            self._poll.unregister(channel)
            with contextlib.suppress(OSError):
                channel.send(ENDED + (status & 0xFFFF).to_bytes(4, "big"), getattr(socket, "MSG_DONTWAIT", 0))
            channel.close()


def _respond(channel: socket.socket, start: bytes, header: Mapping[str, Any]) -> None:
    """Send the response for a job that has no child."""
    with contextlib.suppress(OSError):
        channel.sendall(start + protocol.pack(header) + ENDED + bytes(4))


def _pidfd(pid: int) -> int:
    """Return a descriptor that becomes readable when a process ends, or -1 if the system has none."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def main(control_fd: str) -> None:
    """Serve jobs until the control socket is closed or the parent ends."""
    # Few descriptors are ever open here, and a low limit makes it cheap to close all of them in a child.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    max_fds = _MAX_FDS if hard == resource.RLIM_INFINITY else min(_MAX_FDS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max_fds, max_fds))
    with socket.socket(fileno=int(control_fd)) as control:
        config, _ = protocol.receive(control, 0)
        if config is not None:
            ForkServer(control, config).serve(config["parent"])
    os._exit(0)
