"""Restrictions of one process: privileges, core dumps, resource limits.

A process cannot lift them again, and its children inherit them. The calls are Linux only (`LINUX`), except
for the resource limits, which every Unix has.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any

try:
    import resource
except ImportError:  # Windows has no such limits: `limit` returns False
    resource = None  # type: ignore[assignment]  # mypy knows only the module


LINUX = sys.platform == "linux"
libc: Any = ctypes.CDLL(None, use_errno=True) if LINUX else None
# ctypes creates a function object at first use: create them here, so that forked children inherit them.
prctl: Any = libc.prctl if LINUX else None
_capset: Any = libc.capset if LINUX else None

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


def no_new_privileges() -> bool:
    """Keep programs started from here on from gaining rights by a set-user-id bit. Landlock and seccomp require it."""
    return bool(prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def not_dumpable() -> bool:
    """Keep other processes of this user from reading the memory and the environment of this one."""
    return bool(prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def die_with_parent(number: int) -> None:
    """Have this signal sent to the calling process when the thread that forked it ends."""
    prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def drop_capabilities() -> bool:
    """Give up every capability of the calling thread."""
    header = struct.pack("Ii", 0x20080522, 0)  # version 3, the calling thread
    return bool(_capset(header, bytes(24)) == 0)


MAX_ARENAS = 1
"""The arenas of malloc in a server. Where a limit of memory leaves no space for another, glibc takes a page of its own
for each small object of the thread that wanted it. Threads take turns anyway, so one arena is enough."""


def keep_memory() -> None:
    """Configure malloc to keep freed memory. A process of a second saves the page faults."""
    if LINUX and hasattr(libc, "mallopt"):
        trim_threshold, top_pad, mmap_threshold = -1, -2, -3
        libc.mallopt(trim_threshold, 128 << 20)
        libc.mallopt(top_pad, 1 << 20)
        libc.mallopt(mmap_threshold, 16 << 20)


def return_memory(kept_bytes: int = 5 << 18) -> None:
    """Configure malloc to return freed memory, for a process that runs for weeks.

    Threads share one arena: another takes 64 MB of address space and keeps what was freed. Blocks of more than
    `kept_bytes` are returned at once; by default glibc raises that size with the first large block that is freed. Files
    are read by blocks of a megabyte: if these were returned too, a scan would take five times as long.
    """
    if LINUX and hasattr(libc, "mallopt"):
        trim_threshold, mmap_threshold, arena_max = -1, -3, -8
        libc.mallopt(arena_max, MAX_ARENAS)
        libc.mallopt(mmap_threshold, kept_bytes)
        libc.mallopt(trim_threshold, 2 << 20)


def lower_limit(name: str, most: int) -> bool:
    """Set the resource limit `name`, unless a lower one applies already. Returns False then, or if it cannot be set."""
    if resource is None:
        return False
    present = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
    if any(value != resource.RLIM_INFINITY and value < most for value in present):
        return False
    return limit(name, most)


def limit(name: str, soft: int, hard: int | None = None) -> bool:
    """Set the resource limit `name` ("CPU", "AS", "CORE", ...). Without `hard` it equals `soft`."""
    if resource is None:
        return False
    try:
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, soft if hard is None else hard))
    except (OSError, ValueError):
        return False
    return True
