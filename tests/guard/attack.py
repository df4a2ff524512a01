"""Runs beside a reader and swaps names under it as fast as the system lets it: `python attack.py LEFT RIGHT [...]`.

Each pair is exchanged in one step (renameat2, RENAME_EXCHANGE), so a name always exists and only what it means changes.
Says "ready" once it has begun and swaps until its standard input is closed.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys

AT_FDCWD = -100
RENAME_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


def exchange(left: bytes, right: bytes) -> None:
    if _libc.renameat2(AT_FDCWD, left, AT_FDCWD, right, RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def main() -> None:
    names = [os.fsencode(name) for name in sys.argv[1:]]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    flips = 0
    print("ready", flush=True)
    while not select.select([0], [], [], 0)[0]:
        for _ in range(200):
            for left, right in pairs:
                exchange(left, right)
                flips += 1
    print(flips, flush=True)


if __name__ == "__main__":
    main()
