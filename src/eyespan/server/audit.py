"""The audit log: one JSON line per call, readable by its owner only. It never holds file contents.

    {"time": "2026-11-15T10:00:00.123Z", "caller": "codex/0.166", "dialect": "codex", "path": "/work/a.py",
     "canonical": "a.py", "mtime_ns": 1763200000123456789, "range": "1-200", "rule": null, "bytes": 8123,
     "tokens": 2031, "verdict": "read", "code": null, "ms": 0.412}

Each line is appended with one write, so several processes may share a file. A file that is full becomes FILE.1, the old
FILE.1 becomes FILE.2, and so on.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock
from typing import Any

from eyespan.escape import in_plain_words, valid_tree
from eyespan.server import json_messages

MAX_OLD_FILES = 4
"""Rotated files that are kept next to the current one."""
WARNING_SECONDS = 60.0
"""The shortest time between two warnings about a log that cannot be written."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_warned_at = -WARNING_SECONDS


class Audit:
    """One audit file, open for appending."""

    def __init__(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> None:
        """Open the file. Raises: OSError."""
        self.path = os.path.abspath(path)
        self._max_bytes = max_bytes
        self._lock = allocate_lock()
        self._fd = self._open()
        # Only here: inside the sandbox of a server, which this precedes, the mode of a file cannot be changed. Files
        # made by rotation are private from the start.
        if os.name == "posix" and os.fstat(self._fd).st_mode & 0o077:
            os.fchmod(self._fd, 0o600)

    def write(self, line: dict[str, Any]) -> None:
        """Append one line, with the current time. Raises: OSError if the file does not hold the whole line."""
        data = b"".join(json_messages.dumps(valid_tree({"time": timestamp(time.time()), **line}))) + b"\n"
        for char in "\x85\u2028\u2029":  # valid in JSON, but a line break for some readers
            data = data.replace(char.encode(), b"\\u%04x" % ord(char))
        with self._lock:
            self._prepare(len(data))
            if os.write(self._fd, data) != len(data):
                raise OSError(28, "the audit line was written only in part")

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _open(self) -> int:
        return os.open(self.path, _FLAGS, 0o600)

    def _prepare(self, size_bytes: int) -> None:
        """Rotate the file if these bytes do not fit, and reopen it if another process rotated it."""
        if self._fd < 0:
            self._fd = self._open()
        status = os.fstat(self._fd)
        if status.st_nlink and status.st_size + size_bytes > self._max_bytes and status.st_size:
            self._rotate(status)
        try:
            is_current = os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except FileNotFoundError:
            is_current = False
        if not is_current:
            self.close()
            self._fd = self._open()

    def _rotate(self, status: os.stat_result) -> None:
        """Rename the full file, under a lock that other processes with the same log respect."""
        lock = os.open(f"{self.path}.lock", _FLAGS, 0o600)
        try:
            if os.name == "posix":
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.samestat(os.stat(self.path), status):
                return  # another process was first
            for number in range(MAX_OLD_FILES, 0, -1):
                older = self.path if number == 1 else f"{self.path}.{number - 1}"
                if os.path.exists(older):
                    os.replace(older, f"{self.path}.{number}")
        except FileNotFoundError:
            return
        finally:
            os.close(lock)


def timestamp(seconds: float) -> str:
    """Return a time as the log has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"


def warn(error: OSError) -> None:
    """Report on standard error that the log cannot be written, at most once a minute."""
    global _warned_at
    if time.monotonic() - _warned_at >= WARNING_SECONDS:
        _warned_at = time.monotonic()
        sys.stderr.write(f"eyespan: the audit log cannot be written: {in_plain_words(error)}\n")
