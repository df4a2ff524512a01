"""Calls of a guard that fail instead of hanging, and a record of the files that it opens."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from pathlib import Path

import pytest

from eyespan.errors import ReadError

HANG_SECONDS = 60
"""A call that takes longer hangs: nothing in these tests waits, so no machine is that slow."""


def answer(guard, path, **how):
    """Return the bytes of a file, or the class name of the error."""
    result = ask(guard, path, **how)
    return type(result).__name__ if isinstance(result, ReadError) else result


def ask(guard, path, **how):
    """Return the bytes of a file, or the error."""

    def read():
        try:
            with guard.open(path, **how) as source:
                return source.first_bytes
        except ReadError as error:
            return error

    return in_time(read)


def in_time(work):
    """Return the result of `work`. Fail if it hangs."""
    box = []

    def run():
        try:
            box.append((work(), None))
        except BaseException as error:
            box.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    if not box:
        pytest.fail("the call hangs")
    result, error = box[0]
    if error is not None:
        raise error
    return result


class Watch:
    """Counts how often a file is opened (inotify; O_PATH descriptors do not count)."""

    IN_OPEN = 0x20

    def __init__(self, path: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0 or self._libc.inotify_add_watch(self._fd, os.fsencode(path), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def openings(self) -> int:
        """Return the number of openings since the last call."""
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return 0
        count = at = 0
        while at < len(data):
            _, _, _, length = struct.unpack_from("iIII", data, at)
            at += 16 + length
            count += 1
        return count

    def close(self) -> None:
        os.close(self._fd)
