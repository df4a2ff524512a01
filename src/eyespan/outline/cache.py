"""A cache of outlines: in memory by the identity and the times of a file, on disk by its contents.

A file whose times and size are those of the last outline is not even read. On disk an outline is found by a hash of the
text and encrypted with another, so the directory of the cache shows neither names nor contents to anyone who does not
have the file. It is the directory of the line indexes, with the same rules (`lines.cache`): private, bounded, its own
files only, EYESPAN_CACHE=off.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Hashable
from hashlib import blake2b

from eyespan import __version__
from eyespan.caches import CacheTable
from eyespan.context import CallContext
from eyespan.lines.cache import cache_directory, is_name_of, load_file, save_file
from eyespan.lines.index import RACY_NS, stamp_of
from eyespan.outline import isolated, language_of, named, parsed_part
from eyespan.outline.model import Outline
from eyespan.source import Source

Key = tuple[Hashable, ...]

MEMORY_BYTES = 3 << 20
"""The outlines in memory. Others are loaded from disk, or made again."""
SYMBOL_BYTES = 200
"""The memory of a symbol with its numbers, beside its texts."""
DISK_MIN_BYTES = 2048
"""A smaller text is parsed faster than a file of the cache is written."""
WRITES_PER_CLEANING = 64
MAX_UNPACKED_BYTES = 64 << 20
VALUE_BYTES = 75
"""The memory of a value in the JSON of a symbol, and of its part of the symbol, beside its text."""
FORMAT = b"3 " + __version__.encode()
"""Part of every key, so that outlines of other scanners and grammars are not found: a number and the release."""
_SUFFIX = ".outline"


class OutlineCache:
    """Outlines by file and by text. Safe for use by several threads."""

    def __init__(self, directory: str | None = None) -> None:
        self.directory = directory
        self._by_file = CacheTable(MEMORY_BYTES)
        self._writes = 0

    def find(self, source: Source, name: str) -> Outline | None:
        """Return the outline of a file that did not change since it was made."""
        outline: Outline | None = self._by_file.get(_file_key(source, name))
        return outline

    def put(self, source: Source, name: str, found: Outline, started_ns: int) -> None:
        """Cache an outline in memory; `started_ns` is the time before the file was read."""
        try:
            if max(stamp_of(source.status)) > started_ns - RACY_NS or source.changed():
                return
        except Exception:
            return
        self._by_file.put(_file_key(source, name), found, _size_bytes(found))

    def load(self, data: bytes, name: str, context: CallContext | None = None) -> Outline | None:
        """Return the outline of this text from disk. Raises: TooMuchMemory, Cancelled, TimedOut."""
        if self.directory is None or len(data) < DISK_MIN_BYTES:
            return None
        file_name, secret = _keys(data, name)
        stored = load_file(self.directory, file_name)
        if stored is None or len(stored) < 16:
            return None
        packed = _encrypted(stored[:-16], secret)
        return _unpacked(packed, data, name, context) if _tag(packed, secret) == stored[-16:] else None

    def save(self, data: bytes, name: str, found: Outline) -> None:
        """Write the outline of this text to disk."""
        if self.directory is None or len(data) < DISK_MIN_BYTES:
            return
        file_name, secret = _keys(data, name)

        def stored() -> bytes:
            packed = _packed(found)
            return _encrypted(packed, secret) + _tag(packed, secret)

        self._writes += 1
        removes = self._writes % WRITES_PER_CLEANING == 1
        save_file(self.directory, file_name, stored, _is_own_name, removes=removes)


def _size_bytes(found: Outline) -> int:
    """Return the memory of an outline. The symbols around one are part of its qualified name, so texts may be long."""
    if SYMBOL_BYTES * len(found.symbols) > MEMORY_BYTES:
        return MEMORY_BYTES
    size = sys.getsizeof
    return sum([SYMBOL_BYTES + size(one.name) + size(one.qualified) + size(one.signature) for one in found.symbols])


def _packed(found: Outline) -> bytes:
    return zlib.compress(json.dumps(isolated.response(found), separators=(",", ":")).encode(), 1)


def _unpacked(packed: bytes, data: bytes, name: str, context: CallContext | None) -> Outline | None:
    """Return the outline of this text that `_packed` wrote; None if it is damaged."""
    try:
        text = zlib.decompressobj().decompress(packed, MAX_UNPACKED_BYTES)
        if context is not None:
            context.charge((4 if b"\\u" in text else 2) * len(text) + VALUE_BYTES * text.count(b","))
        facts = json.loads(text)
    except (ValueError, RecursionError, zlib.error):
        return None
    part, is_whole = parsed_part(data)
    outline = isolated.checked_outline(facts, part.count(b"\n") + 1)
    return named(outline, name, language_of(name, data), is_whole)


def _file_key(source: Source, name: str) -> Key:
    return (*source.identity, source.status.st_size, *stamp_of(source.status), name)


def _keys(data: bytes, name: str) -> tuple[str, bytes]:
    """Return the name of the file for a text, and the secret that only the text gives."""
    base = name.encode("utf-8", "surrogateescape")
    secret = blake2b(data, digest_size=32, key=FORMAT + base[-40:]).digest()
    return blake2b(secret, digest_size=16, person=b"eyespan outline").hexdigest() + _SUFFIX, secret


def _tag(packed: bytes, secret: bytes) -> bytes:
    return blake2b(packed, digest_size=16, key=secret).digest()


def _encrypted(data: bytes, secret: bytes) -> bytes:
    """Encrypt or decrypt bytes with a stream made from a secret that is used for one text only."""
    blocks = [blake2b(at.to_bytes(8, "big"), key=secret).digest() for at in range((len(data) + 63) // 64)]
    stream = b"".join(blocks)[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def _is_own_name(name: str) -> bool:
    return is_name_of(name, _SUFFIX, 1)


_shared: OutlineCache | None = None


def shared() -> OutlineCache:
    """Return the cache of this process."""
    global _shared
    if _shared is None:
        _shared = OutlineCache(cache_directory())
    return _shared
