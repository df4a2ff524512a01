"""A cache of outlines in memory, by the identity and the times of a file. An unchanged file is not even read."""

from __future__ import annotations

import sys
from collections.abc import Hashable

from eyespan.caches import CacheTable
from eyespan.errors import ReadError
from eyespan.lines.index import RACY_NS, stamp_of
from eyespan.outline.model import Outline
from eyespan.source import Source

_outlines = CacheTable(3 << 20)


def find(source: Source, name: str) -> Outline | None:
    """Return the outline of a file that did not change since it was made."""
    outline: Outline | None = _outlines.get(_key(source, name))
    return outline


def put(source: Source, name: str, outline: Outline, started_ns: int) -> None:
    """Cache an outline; `started_ns` is the time before the file was read."""
    try:
        if max(stamp_of(source.status)) > started_ns - RACY_NS or source.changed():
            return
    except ReadError:
        return
    _outlines.put(_key(source, name), outline, size_of(outline))


def size_of(outline: Outline) -> int:
    """Return the memory of an outline: 200 bytes a symbol with its numbers, and its texts."""
    size = sys.getsizeof
    return sum([200 + size(one.name) + size(one.qualified) + size(one.signature) for one in outline.symbols])


def _key(source: Source, name: str) -> tuple[Hashable, ...]:
    return (*source.identity, source.status.st_size, *stamp_of(source.status), name)
