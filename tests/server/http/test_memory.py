"""Free memory is returned to the system."""

from __future__ import annotations

import asyncio
import ctypes
import subprocess
import sys

import pytest

from eyespan.sandbox.process import MAX_ARENAS
from eyespan.server.http import memory


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
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    monkeypatch.setattr(memory, "TRIM_SECONDS", 0.001)

    async def run():
        assert memory.return_free_memory(asyncio.get_running_loop())
        while library.calls.count("trim") < 3:
            await asyncio.sleep(0.001)

    asyncio.run(run())

    assert library.calls[0] == (-8, MAX_ARENAS)


def test_a_library_without_these_calls_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())

    async def run():
        return memory.return_free_memory(asyncio.get_running_loop())

    assert asyncio.run(run()) is False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is for Linux")
def test_the_library_of_this_machine_accepts_the_calls(monkeypatch):
    monkeypatch.setattr(memory, "TRIM_SECONDS", 0.001)

    async def run():
        known = memory.return_free_memory(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        return known

    assert asyncio.run(run()) == hasattr(ctypes.CDLL(None), "malloc_trim")


def test_a_server_without_tls_does_not_load_it_and_others_can():
    code = (
        "import sys; from eyespan.server.http.memory import import_asyncio_without_tls as run; run();"
        "print('asyncio' in sys.modules, 'ssl' in sys.modules); import asyncio, ssl; run();"
        "print(asyncio.run(asyncio.sleep(0, 'slept')), ssl.create_default_context().check_hostname)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "False", "slept", "True"]
