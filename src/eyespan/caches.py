"""The tables in memory of all caches, with one limit for all of them.

Every entry has its size. All tables of the process together hold `MAX_BYTES`; the entry that was used least recently,
in whichever table, is dropped first. After a call that took much memory, they hold `REST_BYTES`, and nothing that was
not used for `UNUSED_SECONDS`: memory around an entry that stays cannot be returned to the system.
"""

from __future__ import annotations

import os
import time
from _thread import RLock
from _weakref import ref
from collections.abc import Callable, Hashable
from typing import Any

MAX_BYTES = 6 << 20
REST_BYTES = 1 << 20
"""The size of all entries after a call that took much memory, unless it is one entry: a map, or the names of a tree."""
ENTRY_BYTES = 400
"""The memory of an entry beside its value: its key and its place in the table."""
UNUSED_SECONDS = 10.0


class CacheTable:
    """Entries of one cache, the least recently used first. Safe for use by several threads."""

    def __init__(
        self, max_bytes: int, max_entries: int = 1 << 30, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self._clock = clock
        self._entries: dict[Hashable, tuple[Any, int, float]] = {}
        """The value, its size and the time of its last use, by key."""
        self.size_bytes = 0
        with _lock:
            _tables[:] = [one for one in _tables if one() is not None]
            _tables.append(ref(self))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def values(self) -> list[Any]:
        """Return all values, the least recently used first."""
        with _lock:
            return [value for value, _, _ in self._entries.values()]

    def get(self, key: Hashable) -> Any:
        """Return the value of a key, or None."""
        with _lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            value, size_bytes, _ = entry
            self._entries[key] = value, size_bytes, self._clock()
            return value

    def put(self, key: Hashable, value: object, size_bytes: int) -> None:
        """Add a value, or replace it, and drop what exceeds the limits. One that alone exceeds them is not added."""
        size_bytes += ENTRY_BYTES
        with _lock:
            self.drop(key)
            if size_bytes > self.max_bytes:
                return
            self._entries[key] = value, size_bytes, self._clock()
            self.size_bytes += size_bytes
            while self.size_bytes > self.max_bytes or len(self._entries) > self.max_entries:
                self._drop_oldest()
            _shrink(MAX_BYTES)

    def drop(self, key: Hashable) -> None:
        """Remove an entry, if there is one."""
        with _lock:
            entry = self._entries.pop(key, None)
            if entry is not None:
                self.size_bytes -= entry[1]

    def clear(self) -> None:
        """Remove all entries."""
        with _lock:
            self._entries.clear()
            self.size_bytes = 0

    def drop_unused(self, seconds: float) -> None:
        """Remove the entries that were not used for so many seconds."""
        since = self._clock() - seconds
        with _lock:
            while self._entries and self._oldest_use() < since:
                self._drop_oldest()

    def _oldest_use(self) -> float:
        return self._entries[next(iter(self._entries))][2]

    def _drop_oldest(self) -> None:
        self.drop(next(iter(self._entries)))


_lock = RLock()
_tables: list[ref[CacheTable]] = []


def shrink() -> None:
    """Drop what is not used, and all but the latest entries."""
    drop_unused()
    with _lock:
        _shrink(REST_BYTES)


def _shrink(max_bytes: int) -> None:
    """Drop the least recently used entries until all have this size, or one is left. Called with the lock held."""
    tables = [table for one in _tables if (table := one()) is not None and table._entries]
    while sum([table.size_bytes for table in tables]) > max_bytes and sum(map(len, tables)) > 1:
        min(tables, key=CacheTable._oldest_use)._drop_oldest()
        tables = [table for table in tables if table._entries]


def drop_unused(seconds: float = UNUSED_SECONDS) -> None:
    """Remove the entries of all tables that were not used for so many seconds."""
    for one in list(_tables):
        table = one()
        if table is not None:
            table.drop_unused(seconds)


def _renew_lock() -> None:
    """Start over in a forked process: a thread of the parent may have held the lock."""
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
