"""A cache of outlines in memory, by the identity and the times of a file. An unchanged file is not even read."""

from __future__ import annotations

import sys

from eyespan.caches import CacheTable
from eyespan.outline.model import Outline
from eyespan.source import Source

_outlines = CacheTable(3 << 20)


def find(source: Source, name: str) -> Outline | None:
    """Return the outline of a file that did not change since it was made."""
    outline: Outline | None = _outlines.get((*source.version, name))
    return outline


def put(source: Source, name: str, outline: Outline, started_ns: int) -> None:
    """Cache an outline; `started_ns` is the time before the file was read."""
    if source.is_settled(started_ns):
        _outlines.put((*source.version, name), outline, size_of(outline))


def size_of(outline: Outline) -> int:
    """Return the memory of an outline: 200 bytes a symbol with its numbers, and its texts."""
    size = sys.getsizeof
    return sum([200 + size(one.name) + size(one.qualified) + size(one.signature) for one in outline.symbols])
