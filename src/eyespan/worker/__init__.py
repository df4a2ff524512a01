"""Transport to the process in which images, PDFs, office files and source code are decoded.

`run(task, fd, params, ...)` passes an opened, checked descriptor to a decoder that runs in another process: started at
the first job and kept for the next, with one forked child for each job, which enters its sandbox before it reads a byte
of the file. The result is a dict of facts (JSON) and a list of byte strings. A crash, a hang or a decompression bomb is
one error of `eyespan.errors`; the next call works.

    client        `Worker`: limits, concurrent jobs, one of two backends
    fork_client   the backend where processes can be forked: starts the fork server and passes jobs to it
    fork_server   the process that waits for jobs and forks a child for each
    no_fork       the other backend: a new process for each job
    job           one job, in its own process
    tasks         the decoders, by task
    protocol      the messages between them
    launch        starts a Python process

**A decoder** is a function `decode(file, params) -> (facts, blobs)` in a module that only the decoding process imports.
`file` is the opened file (binary, unbuffered, at its start), `params` and `facts` are dicts that JSON can represent,
`blobs` is a list of bytes, `params["seconds"]` is the time limit. Its kind's row in `eyespan.kinds` names it. Heavy
libraries are imported at the top of its module: inside the sandbox no file can be opened, so everything that is
imported or opened lazily must be used once at import. A decoder reports a bad file by raising
`files.unreadable(reason)` or `Missing("", what=..., install=...)`; the client adds path and kind.

Linux has all layers of `sandbox.decoder`. macOS has the separate process, the fork for each job and the limits on CPU
time and file writes. Windows has a new process for each job and the limits on time and output only.
"""

from __future__ import annotations

import atexit
from _thread import allocate_lock
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext

if TYPE_CHECKING:
    from eyespan.worker.client import Worker


_worker: Worker | None = None
_creating = allocate_lock()


def shared() -> Worker:
    """Return the worker that all reads of this process share."""
    global _worker
    if _worker is not None:
        return _worker
    from eyespan.worker.client import Worker, stop_all

    # Several threads may arrive at once, and each extra Worker would leave a process running.
    with _creating:
        if _worker is None:
            _worker = Worker()
            atexit.register(stop_all)
        return _worker


def run(
    task: str, fd: int, params: Mapping[str, Any], *, asked: str, context: CallContext
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the file of `fd` with the decoder of `task`. The decoder moves the position of `fd`.

    Raises: Unreadable for a file that the decoder refuses, crashes on or needs too much memory for; TimedOut; Missing;
        Cancelled.
    """
    return shared().run(task, fd, params, asked=asked, context=context)


def layers() -> dict[str, bool]:
    """Return which layers of the decoder's sandbox are up on this machine, by running a job.

    The names are `process`, `limits`, `no_new_privs`, `landlock`, `capabilities`, `seccomp`.
    """
    return shared().layers()
