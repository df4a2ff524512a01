"""The separate process in which pictures, PDFs and office files are decoded, where they can do no harm.

`run(task, fd, params, ...)` hands an opened, checked descriptor to a decoder that runs in a process of its own: started
on first need, warm afterwards, one forked child for each job, jailed before it sees the first byte of the file. What
comes back is a dict of facts (plain JSON) and a list of byte strings. A crash, a hang or a bomb is one error of
`eyespan.errors`; the next call works.

**A decoder** is a function `decode(file, params) -> (facts, blobs)` in a module that is imported only in the worker:
`file` is the opened file (binary, unbuffered, at its start), `params` and `facts` are dicts that JSON can hold, `blobs`
a list of bytes. It has one row in `DECODERS` (`eyespan.worker.decoders`). Heavy libraries are imported at the top of its
module: after the fork nothing can be opened any more, so whatever it imports or opens lazily must be touched at import.
It says what is wrong with a file by raising `Unreadable("", kind=..., reason=...)` or `Missing("", what=..., install=...)`;
the path is filled in on this side.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from eyespan.model import Pulse


def run(
    task: str, fd: int, params: Mapping[str, Any], *, asked: str, pulse: Pulse
) -> tuple[dict[str, Any], list[bytes]]:
    """What the decoder of `task` makes of the file behind `fd`.

    Raises: Unreadable for a file the decoder refuses, crashes on or needs too much memory for; TimedOut; Missing;
        Cancelled.
    """
    raise NotImplementedError
