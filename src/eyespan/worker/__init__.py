"""The separate process in which pictures, PDFs and office files are decoded, where they can do no harm.

`run(task, fd, params, ...)` hands an opened, checked descriptor to a decoder that runs in a process of its own: started
on first need, warm afterwards, one forked child for each job, jailed before it sees the first byte of the file. What
comes back is a dict of facts (plain JSON) and a list of byte strings. A crash, a hang or a bomb is one error of
`eyespan.errors`; the next call works.

**A decoder** is a function `decode(file, params) -> (facts, blobs)` in a module that is imported only in the worker:
`file` is the opened file (binary, unbuffered, at its start), `params` and `facts` are dicts that JSON can hold, `blobs`
a list of bytes; `params["seconds"]` is the time it has. It has one row in `eyespan.decoders.table`. Heavy libraries
are imported at the top of its module: behind the walls nothing can be opened any more, so whatever it imports or opens
lazily must be touched at import. It says what is wrong with a file by raising `Unreadable("", kind=..., reason=...)` or
`Missing("", what=..., install=...)`; the path is filled in on this side.

Linux has all the walls that `jail` knows. macOS has the separate process, the fork for each job and the limits on CPU
time and file writes. Windows has a new process for each job and the limits on time and output, no more.
"""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.worker.client import JobLimits, Worker

_worker: Worker | None = None
_making = allocate_lock()


def worker() -> Worker:
    """The one that all reads of this process share."""
    global _worker
    if _worker is not None:
        return _worker
    from eyespan.worker.client import Worker, stop_all

    # Several threads may come here at once; one that made its own would leave a process behind.
    with _making:
        if _worker is None:
            import atexit

            _worker = Worker()
            atexit.register(stop_all)
        return _worker


def configure(limits: JobLimits) -> None:
    """Sets what a job may use from now on. Ends the process that may be running, and whatever runs in it."""
    global _worker
    from eyespan.worker.client import Worker

    worker().stop()
    _worker = Worker(limits)


def run(
    task: str, fd: int, params: Mapping[str, Any], *, asked: str, context: CallContext
) -> tuple[dict[str, Any], list[bytes]]:
    """What the decoder of `task` makes of the file behind `fd`, whose position is the decoder's while it runs.

    Raises: Unreadable for a file the decoder refuses, crashes on or needs too much memory for; TimedOut; Missing;
        Cancelled.
    """
    return worker().run(task, fd, params, asked=asked, context=context)


def spool(pieces: Iterable[bytes], *, asked: str) -> int:
    """A descriptor that reads these bytes and has no name, for what is no file of its own; closed by the caller.

    Raises: ReadError for what the system answers, and what making the pieces raises.
    """
    import os

    from eyespan.errors import from_os_error
    from eyespan.source import close_fd

    fd = -1
    try:
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("eyespan", os.MFD_CLOEXEC)
        else:
            import tempfile

            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException as error:
        if fd >= 0:
            close_fd(fd)
        if isinstance(error, OSError):
            raise from_os_error(error, asked) from None
        raise
    return fd


def start(tasks: Sequence[str] | None = None) -> None:
    """Starts the worker before it is needed: for a host that goes behind walls of its own afterwards."""
    worker().start(tasks)


def layers() -> dict[str, bool]:
    """Which walls stand around a job on this machine: `process`, `limits`, `no_new_privs`, `landlock`, `capabilities`,
    `seccomp`."""
    return worker().layers()
