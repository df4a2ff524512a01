"""Free memory is returned to the system."""

from __future__ import annotations

import asyncio
import ctypes
import sys

import pytest

from eyespan.extras.http import trimming
from eyespan.sandbox import process
from eyespan.sandbox.process import MAX_ARENAS


class Library:
    """A C library that records its calls."""

    def __init__(self):
        self.calls = []

    def mallopt(self, option, number):
        self.calls.append((option, number))

    def malloc_trim(self, left):
        self.calls.append("trim")


def test_arenas_are_few_and_trimmed_regularly(monkeypatch):
    library = Library()
    monkeypatch.setattr(process, "libc", library)
    monkeypatch.setattr(trimming, "TRIM_SECONDS", 0.001)

    async def run():
        assert trimming.return_free_memory(asyncio.get_running_loop())
        while library.calls.count("trim") < 3:
            await asyncio.sleep(0.001)

    asyncio.run(run())

    assert library.calls[0] == (-8, MAX_ARENAS)


def test_a_library_without_these_calls_is_left_alone(monkeypatch):
    monkeypatch.setattr(process, "libc", object())

    async def run():
        return trimming.return_free_memory(asyncio.get_running_loop())

    assert asyncio.run(run()) is False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is for Linux")
def test_the_library_of_this_machine_accepts_the_calls(monkeypatch):
    monkeypatch.setattr(trimming, "TRIM_SECONDS", 0.001)

    async def run():
        known = trimming.return_free_memory(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        return known

    assert asyncio.run(run()) == hasattr(ctypes.CDLL(None), "malloc_trim")
