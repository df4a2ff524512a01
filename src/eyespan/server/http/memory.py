"""Memory of a server that runs for weeks: what is free goes back to the system.

glibc gives every thread memory of its own and keeps what they freed, in pieces: after a hundred thousand answers half
as much again as after the first thousand, though Python itself holds no more. Two such pools are enough for threads
that take turns anyway, and what lies idle in them is given back from time to time. Other C libraries are left alone.
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

POOLS = 2
TRIM_SECONDS = 10.0
_M_ARENA_MAX = -8


def keep_little(loop: asyncio.AbstractEventLoop) -> bool:
    """From now on, as long as the loop runs; False where the C library has no such calls."""
    try:
        library = ctypes.CDLL(None)
        choose, trim = library.mallopt, library.malloc_trim
    except (OSError, AttributeError, TypeError):
        return False
    choose(_M_ARENA_MAX, POOLS)

    def again() -> None:
        trim(ctypes.c_size_t(0))
        loop.call_later(TRIM_SECONDS, again)

    loop.call_later(TRIM_SECONDS, again)
    return True
