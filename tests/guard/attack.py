"""Runs beside a reader and swaps names under it as fast as the system lets it.

    python attack.py COUNT LEFT RIGHT [...]

Each pair is exchanged in one step (renameat2, RENAME_EXCHANGE), so a name always exists and only what it means changes.
Says "ready" once it has begun and swaps until its standard input is closed. The file COUNT, shared, tells how often it
has swapped so far.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import sys

AT_FDCWD = -100
RENAME_EXCHANGE = 2
BATCH = 100
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    count, *names = [os.fsencode(name) for name in sys.argv[1:]]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    rename = _libc.renameat2
    with open(count, "r+b") as file:
        told = mmap.mmap(file.fileno(), 8)
    swaps = 0
    ready = False
    while not ready or not select.select([0], [], [], 0)[0]:
        for left, right in pairs * BATCH:
            if rename(AT_FDCWD, left, AT_FDCWD, right, RENAME_EXCHANGE) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
        swaps += len(pairs) * BATCH
        told[:] = swaps.to_bytes(8, "little")
        if not ready:
            ready = True
            print("ready", flush=True)


if __name__ == "__main__":
    main()
