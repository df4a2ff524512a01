"""Open the roots of a workspace, local and remote."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from eyespan.context import CallContext, WouldBlock
from eyespan.errors import Stuck, TimedOut
from eyespan.guard.roots import Root


def open_roots(paths: Sequence[str | os.PathLike[str]], deadline_seconds: float | None) -> tuple[Root, ...]:
    """Open roots within a deadline. A URL gives a remote root, which is not contacted before the first read.

    Raises: TimeoutError (an OSError) if a file system does not respond; OSError, NotADirectoryError, ValueError.
    """
    context = CallContext(deadline_seconds)
    opened: list[Root] = []
    try:
        for path in paths:
            if "://" in os.fspath(path):
                from eyespan.guard.remote import RemoteRoot, is_remote

                if is_remote(os.fspath(path)):
                    opened.append(RemoteRoot(os.fspath(path)))
                    continue
            try:
                opened.append(Root(path, may_block=False))
            except WouldBlock:
                from eyespan.guard import blocking  # most processes never need it

                # A root that opens after the deadline has no reference, so it closes itself.
                opened.append(blocking.within(context, _opener(path), key=("root", os.fspath(path))))
        return tuple(opened)
    except (TimedOut, Stuck) as error:
        raise TimeoutError(f"the root {os.fspath(paths[len(opened)])!r} cannot be opened: {error}") from None


def _opener(path: str | os.PathLike[str]) -> Callable[[CallContext], Root]:
    return lambda _: Root(path)
