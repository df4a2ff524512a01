"""The process of a command, which ends also when a file system does not answer.

A process that waits for a hung FUSE mount cannot end, not even when it is killed. `Process.detach` therefore continues
in a child process before anything is done that may never return. The parent, which touches no file, waits for the
child's exit status and exits with it.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import _count as count_other_threads
from typing import NoReturn

from eyespan.guard import blocking


class Process:
    """This process while it runs one command."""

    def __init__(self) -> None:
        self.can_detach = False
        self._status_fd: int | None = None
        """In a child process: the pipe to the parent, for the exit status."""

    def detach(self) -> None:
        """Continue in a child process. Returns in the child only; the parent exits with the child's status.

        Does nothing beside other threads: the child would have none of them, and their locks as they are.
        """
        if not hasattr(os, "fork") or count_other_threads():
            return
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._status_fd = writer
            return
        os.close(writer)
        _exit_with(child, reader)

    def exit(self, code: int) -> NoReturn:
        """End the process; do not wait for threads that wait for a file system."""
        if self._status_fd is None and not blocking.stuck():
            sys.exit(code)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            pass  # what could be written is written, and a failure has been reported
        if self._status_fd is not None:
            # The child may stay for as long as its file system hangs. Closing its standard streams lets a caller that
            # reads them to their end go on.
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            os.write(self._status_fd, bytes([code & 255]))
        os._exit(code)


def prepare_streams() -> None:
    """Open the standard streams that the caller closed, and let no character fail to be written.

    A code page of Windows has no sign for most characters; those are written as escapes.
    """
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_RDWR)
            if fd != number:
                os.dup2(fd, number, inheritable=False)
                os.close(fd)
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good
    if sys.stdout.encoding.lower() not in ("utf-8", "utf8"):
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Connect standard output to the null device, so that the flush at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _exit_with(child: int, reader: int) -> NoReturn:
    """Wait for the child's exit status, or its end, and exit likewise."""

    def forward(number: int, _frame: object) -> None:
        os.kill(child, number)
        os._exit(128 + number)

    # A terminal sends SIGINT to both processes, and the child decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, forward)
    status = os.read(reader, 1)
    if status:
        os._exit(status[0])
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)
