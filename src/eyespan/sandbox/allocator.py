"""The allocator of Python's small objects, for a process that runs for weeks.

Python takes memory for objects of up to 512 bytes in arenas of one megabyte, and returns an arena only when its last
object is freed. A call that builds a million small objects leaves arenas with a few survivors each (an entry of a
cache, a module loaded in between), so a server would hold most of the memory of its largest call until it ends. malloc
returns every free page (`malloc_trim`), but is a tenth slower. A server therefore takes small objects from malloc while
a call holds much memory, and from the arenas otherwise. Objects are freed by the allocator that they came from:
Python's own `free` and `realloc` recognise addresses outside of their arenas and pass them to malloc.

This needs CPython with its default allocator. With another one, or a tool that traces allocations, nothing changes.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from eyespan.memory import LEDGER, Ledger

_RAW, _MEM, _OBJECT = 0, 1, 2
"""The domains of `PyMem_GetAllocator`; the first always uses malloc."""


class _Functions(ctypes.Structure):
    """`PyMemAllocatorEx` of Python's C interface."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class ObjectAllocator:
    """The two sources of small objects, and the one in use."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self.is_malloc = False
        raw = self._functions(_RAW)
        self._arenas = {domain: self._functions(domain) for domain in (_MEM, _OBJECT)}
        self._malloc = {domain: self._functions(domain) for domain in (_MEM, _OBJECT)}
        for functions in self._malloc.values():
            functions.malloc, functions.calloc = raw.malloc, raw.calloc

    def use_malloc(self, is_wanted: bool) -> None:
        """Take new objects from malloc, or from the arenas. Call it with Python's lock held, as all code here is."""
        if is_wanted == self.is_malloc:
            return
        present, wanted = (self._arenas, self._malloc) if is_wanted else (self._malloc, self._arenas)
        if any(bytes(self._functions(domain)) != bytes(functions) for domain, functions in present.items()):
            return  # a tool that traces allocations has put its own functions in between
        for domain, functions in wanted.items():
            self._api.PyMem_SetAllocator(domain, ctypes.byref(functions))
        self.is_malloc = is_wanted

    def _functions(self, domain: int) -> _Functions:
        functions = _Functions()
        self._api.PyMem_GetAllocator(domain, ctypes.byref(functions))
        return functions


def return_objects(ledger: Ledger = LEDGER) -> bool:
    """Let small objects come from malloc while calls hold much memory. Returns False if this Python cannot."""
    try:
        api = ctypes.pythonapi
        name = api._PyMem_GetCurrentAllocatorName
        name.restype = ctypes.c_char_p
        if sys.implementation.name != "cpython" or name() != b"pymalloc":
            return False
        allocator = ObjectAllocator(api)
    except (AttributeError, ValueError):
        return False
    ledger.on_much_memory = allocator.use_malloc
    return True
