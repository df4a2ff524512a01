"""Decode a database together with its write-ahead log, the file beside it that holds its latest changes.

Both are copied into a file without a name, which the worker reads: nothing is written beside the database, and no lock
is taken. The copy is of one moment: the header of the log, which every new log changes, is read before the database and
compared after it. A log of a database that is reached through a link, that may not be read, or that does not fit into
the memory of a call is left out, which the answer states.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext, WouldBlock
from eyespan.errors import NotFound, ReadError
from eyespan.model import MIB
from eyespan.source import Source, close_fd, spool

if TYPE_CHECKING:
    from eyespan.opened import Opened


MAX_BYTES = 24 * MIB
"""A database and its log that are larger together are not copied."""
BLOCK_BYTES = MIB
HEADER_BYTES = 32
"""The header of a log, which has other salts for every new log."""
_LOGGED = b"\2\2"
"""The versions in the header of a database that has a write-ahead log."""


def decode(opened: Opened, params: Mapping[str, Any], context: CallContext) -> tuple[dict[str, Any], list[bytes]]:
    """Decode a database in the worker, with the changes in its log where that is safe. Raises: as `Opened.decode`."""
    if opened.source.first_bytes[18:20] != _LOGGED:
        return opened.decode(params, context)
    if opened.beside is None:
        return opened.decode({**params, "log": "unread"}, context)
    try:
        log = opened.beside(opened.kind.log_suffix)
    except NotFound:
        is_sure = os.path.normpath(opened.source.path) == opened.source.canonical
        return opened.decode({**params, "log": "none" if is_sure else "unread"}, context)
    except (ReadError, WouldBlock):
        return opened.decode({**params, "log": "unread"}, context)
    try:
        return _decode_with(opened, log, params, context)
    finally:
        log.close()


def _decode_with(
    opened: Opened, log: Source, params: Mapping[str, Any], context: CallContext
) -> tuple[dict[str, Any], list[bytes]]:
    database = opened.source
    if log.canonical != database.canonical + opened.kind.log_suffix:
        return opened.decode({**params, "log": "unread"}, context)
    header = log.read_fully(0, HEADER_BYTES)
    if not header:
        return opened.decode({**params, "log": "none"}, context)
    size = database.size_bytes + log.status_now().st_size
    if size > MAX_BYTES:
        return opened.decode({**params, "log": "unread"}, context)
    context.charge_source(size)
    sizes: list[int] = []
    fd = -1
    try:
        fd = spool(_copies((database, log), sizes, context), asked=database.asked)
        is_same = log.read_fully(0, HEADER_BYTES) == header and sum(sizes) <= size + MIB
        if not is_same:
            return opened.decode({**params, "log": "unread"}, context)
        return opened.decode({**params, "log": "appended", "log_bytes": sizes[1]}, context, fd)
    finally:
        if fd >= 0:
            close_fd(fd)
        context.charge_source(-size)


def _copies(sources: tuple[Source, ...], sizes: list[int], context: CallContext) -> Iterator[bytes]:
    """Yield the bytes of files one after the other, and add the size of each to `sizes`."""
    for source in sources:
        sizes.append(0)
        while sum(sizes) <= MAX_BYTES + MIB and (block := source.read_at(sizes[-1], BLOCK_BYTES)):
            sizes[-1] += len(block)
            context.advance(sum(sizes), MAX_BYTES)
            yield block
