"""Asking the guard without ever hanging, and watching what it opens."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from pathlib import Path

import pytest

from eyespan.errors import ReadError

PATIENCE_SECONDS = 60
"""A call that takes longer hangs; nothing here waits, so no machine is that slow."""


def answer(guard, path, **how):
    """What the guard says of a path: the bytes, or the error's class name. Fails instead of hanging."""
    said = ask(guard, path, **how)
    return type(said).__name__ if isinstance(said, ReadError) else said


def ask(guard, path, **how):
    """The same, with the error itself."""

    def read():
        try:
            with guard.open(path, **how) as source:
                return source.first_bytes
        except ReadError as error:
            return error

    return patiently(read)


def patiently(work):
    """The result of `work`, or a failure if it does not come back."""
    box = []

    def run():
        try:
            box.append((work(), None))
        except BaseException as error:
            box.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    if not box:
        pytest.fail("the call hangs")
    result, error = box[0]
    if error is not None:
        raise error
    return result


class Watch:
    """Tells whether a file was opened (inotify; an O_PATH descriptor, which can do nothing, is no opening)."""

    IN_OPEN = 0x20

    def __init__(self, path: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0 or self._libc.inotify_add_watch(self._fd, os.fsencode(path), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def openings(self) -> int:
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
