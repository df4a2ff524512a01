"""The names of all files below a root, for suggestions. No file is opened, and links are not followed.

A walk takes a share of the time of a call and continues the one before it where that ended; a complete one is followed
by a new one, so the names are those of the last walk. They are bounded in memory.
"""

from __future__ import annotations

import time
from _thread import allocate_lock
from contextlib import closing

from eyespan.caches import ENTRY_BYTES, CacheTable
from eyespan.errors import NotRegular, ReadError
from eyespan.guard import Guard
from eyespan.guard.roots import Root

MAX_BYTES = 8 << 20
"""The memory of the names below one root: about 200,000 files."""
DIRECTORY_BYTES = 400
"""The memory of a directory beside the names of its files."""
BUSY_FACTOR = 3
"""A walk on a busy machine takes at most so many times its processor time."""


class Names:
    """The names of the files below one root. Safe for use by several threads."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._lock = allocate_lock()
        self._cache = CacheTable(MAX_BYTES + ENTRY_BYTES)
        self._after = ""
        """The file that the last walk ended with, because its time was over."""
        self.is_complete = False
        """The last walk ended after the last file."""

    def walk(self, guard: Guard, seconds: float) -> None:
        """Find files for so many seconds of processor time. Does nothing while another thread does."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            known = dict(self._names()) if self._after else {}
            names: dict[str, list[str]] = {}
            size_bytes = sum([DIRECTORY_BYTES + len(each) for each in known.values()])
            processor_end, end = time.thread_time() + seconds, time.monotonic() + BUSY_FACTOR * seconds
            after, self._after, self.is_complete = self._after if known else "", "", True
            try:
                with closing(guard.files_beneath(self._root.path, after)) as files:
                    for number, (path, error, _) in enumerate(files):
                        if error is not None:  # a directory that is too deep holds files that are not found
                            self.is_complete &= not (isinstance(error, NotRegular) and error.what == "directory")
                            continue
                        directory, _, name = path.rpartition("/")
                        size_bytes += len(name.encode("utf-8", "surrogatepass")) + 1
                        size_bytes += 0 if directory in names or directory in known else DIRECTORY_BYTES
                        if size_bytes > MAX_BYTES:
                            self.is_complete = False
                            break
                        names.setdefault(directory, []).append(name)
                        if not number % 64 and (time.thread_time() > processor_end or time.monotonic() > end):
                            self._after, self.is_complete = path, False
                            break
            except ReadError:
                self.is_complete = False
            for path, each in names.items():
                joined = "".join([f"{name}/" for name in each])
                known[path] = known.get(path, b"/") + joined.encode("utf-8", "surrogatepass")
            self._cache.put("", known, min(size_bytes, MAX_BYTES))
        finally:
            self._lock.release()

    def directories(self) -> list[tuple[str, str]]:
        """Return each directory, "" for the root, with the names of its files as `/a.py/b.py/`."""
        return [(path, names.decode("utf-8", "surrogatepass")) for path, names in self._names().items()]

    @property
    def decoded_bytes(self) -> int:
        """Return the memory of all names as text. One wide character makes all of a directory as wide."""
        return sum([len(names) * (1 if names.isascii() else 4) for names in self._names().values()])

    def _names(self) -> dict[str, bytes]:
        return self._cache.get("") or {}
