"""What is free goes back to the system."""

from __future__ import annotations

import asyncio
import ctypes
import sys

import pytest

from eyespan.server.http import memory


class Library:
    """A C library that counts."""

    def __init__(self):
        self.calls = []

    def mallopt(self, what, number):
        self.calls.append((what, number))

    def malloc_trim(self, left):
        self.calls.append("trim")


def test_pools_are_few_and_trimmed_again_and_again(monkeypatch):
    library = Library()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(memory, "TRIM_SECONDS", 0.001)

    async def run():
        assert memory.keep_little(asyncio.get_running_loop())
        while library.calls.count("trim") < 3:
            await asyncio.sleep(0.001)

    asyncio.run(run())

    assert library.calls[0] == (-8, memory.POOLS)


def test_a_library_without_such_calls_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())

    async def run():
        return memory.keep_little(asyncio.get_running_loop())

    assert asyncio.run(run()) is False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc has them")
def test_the_library_of_this_machine_takes_them(monkeypatch):
    monkeypatch.setattr(memory, "TRIM_SECONDS", 0.001)

    async def run():
        known = memory.keep_little(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        return known

    assert asyncio.run(run()) == hasattr(ctypes.CDLL(None), "malloc_trim")
