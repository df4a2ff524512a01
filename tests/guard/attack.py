"""Swap names beside a reader as fast as possible.

    python attack.py COUNT LEFT RIGHT [...]

Each pair is exchanged in one step (renameat2, RENAME_EXCHANGE), so a name always exists and only its meaning changes.
Prints "ready" after the first swaps and continues until its standard input is closed. The file COUNT, mapped into
memory, holds the number of swaps so far.
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
        shared_count = mmap.mmap(file.fileno(), 8)
    swaps = 0
    is_ready = False
    while not is_ready or not select.select([0], [], [], 0)[0]:
        for left, right in pairs * BATCH:
            if rename(AT_FDCWD, left, AT_FDCWD, right, RENAME_EXCHANGE) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
        swaps += len(pairs) * BATCH
        shared_count[:] = swaps.to_bytes(8, "little")
        if not is_ready:
            is_ready = True
            print("ready", flush=True)


if __name__ == "__main__":
    main()
