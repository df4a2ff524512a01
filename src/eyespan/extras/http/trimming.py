"""Memory of a server that runs for weeks: free memory is returned to the system.

glibc gives every thread an arena of its own and keeps the memory that was freed there. After a hundred thousand answers
a server would hold half as much again as after the first thousand, though Python itself holds no more. One arena
suffices, since threads take turns anyway, and trimming returns its free memory. Other C libraries are left alone. After
a call that took much memory, caches drop what is not used.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from eyespan import caches
from eyespan.memory import LEDGER
from eyespan.sandbox import process

if TYPE_CHECKING:
    import asyncio


TRIM_SECONDS = 10.0


def return_free_memory(loop: asyncio.AbstractEventLoop) -> bool:
    """Limit what malloc keeps, and trim it while the loop runs. Returns False if the C library cannot."""
    library = process.libc
    if not hasattr(library, "malloc_trim"):
        return False
    # Eight calls at once hold 3 to 5 MB less if blocks of files are returned too. A scan then takes longer.
    process.return_memory(128 << 10)

    def trim() -> None:
        if LEDGER.has_collected(2 * TRIM_SECONDS + caches.UNUSED_SECONDS):
            caches.drop_unused()
        library.malloc_trim(ctypes.c_size_t(0))
        loop.call_later(TRIM_SECONDS, trim)

    loop.call_later(TRIM_SECONDS, trim)
    return True
