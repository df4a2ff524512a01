"""The audit log: one JSON line for each call, readable by its owner only. Never a byte of contents.

    {"time": "2026-11-15T10:00:00.123Z", "caller": "codex/0.166", "dialect": "codex", "path": "/work/a.py",
     "canonical": "a.py", "range": "1-200", "rule": null, "bytes": 8123, "verdict": "read", "code": null, "ms": 0.412}

Lines are appended with one write each, so several processes may share a file. When it reaches its size it becomes
FILE.1, the old FILE.1 becomes FILE.2, and so on.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock

from eyespan.escape import valid_tree
from eyespan.server import json_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEPT = 4
"""Old files kept beside the current one."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_told_at = -60.0


class Audit:
    """One audit file, open for appending."""

    def __init__(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> None:
        """Raises: OSError when the file cannot be opened."""
        self.path = os.path.abspath(path)
        self._max_bytes = max_bytes
        self._lock = allocate_lock()
        self._fd = self._open()

    def write(self, line: dict[str, Any]) -> None:
        """Raises: OSError when the line did not get into the file whole."""
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        data = b"".join(json_lines.dumps(valid_tree({"time": stamp, **line}))) + b"\n"
        with self._lock:
            self._follow(len(data))
            if os.write(self._fd, data) != len(data):
                raise OSError(28, "the audit line was cut short")

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _open(self) -> int:
        fd = os.open(self.path, _FLAGS, 0o600)
        if os.name == "posix" and os.fstat(fd).st_mode & 0o077:
            os.fchmod(fd, 0o600)
        return fd

    def _follow(self, coming_bytes: int) -> None:
        """Turns a full file over, and moves on where another process did so."""
        if self._fd < 0:
            self._fd = self._open()
        status = os.fstat(self._fd)
        if status.st_nlink and status.st_size + coming_bytes > self._max_bytes and status.st_size:
            self._turn_over(status)
        try:
            same = os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except FileNotFoundError:
            same = False
        if not same:
            self.close()
            self._fd = self._open()

    def _turn_over(self, status: os.stat_result) -> None:
        """Renames the full file away, under a lock that other processes with the same log respect."""
        lock = os.open(f"{self.path}.lock", _FLAGS, 0o600)
        try:
            if os.name == "posix":
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.samestat(os.stat(self.path), status):
                return  # another process was first
            for number in range(KEPT, 0, -1):
                older = self.path if number == 1 else f"{self.path}.{number - 1}"
                if os.path.exists(older):
                    os.replace(older, f"{self.path}.{number}")
        except FileNotFoundError:
            return
        finally:
            os.close(lock)


def complain(error: OSError) -> None:
    """Says on standard error that the log cannot be written, at most once a minute."""
    global _told_at
    if time.monotonic() - _told_at >= 60:
        _told_at = time.monotonic()
        sys.stderr.write(f"eyespan: the audit log cannot be written: {error}\n")
