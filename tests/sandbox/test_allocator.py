"""The allocator of small objects: malloc while calls hold much memory, with objects of both kinds alive at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="malloc returns free pages on Linux")

START = '''
import os, re, sys, tempfile
from eyespan.context import CallContext
from eyespan.memory import FREE_BYTES, MAX_BYTES, Ledger
from eyespan.sandbox.allocator import return_objects

class Clock:
    """A clock on which an hour passes whenever it is read."""

    now = 0.0

    def monotonic(self):
        self.now += 3600
        return self.now

ledger = Ledger(Clock())

def arenas():
    with tempfile.TemporaryFile() as file:
        error = os.dup(2)
        os.dup2(file.fileno(), 2)
        sys._debugmallocstats()
        os.dup2(error, 2)
        os.close(error)
        file.seek(0)
        return int(re.search(rb"arenas allocated current\\s+=\\s+(\\d+)", file.read())[1])

def grow(size_bytes):
    """Make 100,000 objects in a call of this size, and return the number of additional arenas."""
    before = arenas()
    call = CallContext(ledger=ledger)
    call.charge(size_bytes)
    made = [f"object {number}" for number in range(100_000)]
    call.finish()
    return arenas() - before
'''


def run(code, **environment):
    """Run code in a process of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_objects_of_a_large_call_are_not_in_arenas():
    code = "return_objects(ledger); print(grow(FREE_BYTES + 1), grow(MAX_BYTES), grow(FREE_BYTES) > 3)"

    assert run(code) == ["0", "0", "True"]


def test_without_a_server_all_objects_are_in_arenas():
    assert run("print(grow(MAX_BYTES) > 3)") == ["True"]


def test_objects_are_freed_and_grown_by_the_allocator_that_they_came_from():
    code = """
return_objects(ledger)
switch = ledger.on_much_memory
held = []
for turn in range(40):
    switch(turn % 2 == 0)
    held.append([[number] for number in range(500)] + [bytearray(b"x") * number for number in range(600)])
    for made in held:
        for one in made:
            one.append(7)
            one.extend(bytes(turn))
    if turn % 3 == 0:
        del held[0]
print(sorted({one[-1] for made in held for one in made}), sum(len(one) for one in held[-1]))
"""
    sizes = sum(number + 1 + 39 for number in range(600)) + 500 * (2 + 39)

    assert run(code) == ["[0]", str(sizes)]


def test_a_tool_that_traces_allocations_is_left_in_place():
    code = "return_objects(ledger); import tracemalloc; tracemalloc.start()\n"
    code += "ledger.on_much_memory(True); made = bytes(300); print(tracemalloc.get_object_traceback(made) is not None)"

    assert run(code) == ["True"]


@pytest.mark.parametrize("allocator", ["malloc", "debug", "malloc_debug"])
def test_another_allocator_is_left_in_place(allocator):
    code = "print(return_objects(ledger), ledger.on_much_memory)"

    assert run(code, PYTHONMALLOC=allocator) == ["False", "None"]


def test_a_python_that_does_not_name_its_allocator_is_left_alone(monkeypatch):
    from eyespan.memory import Ledger
    from eyespan.sandbox import allocator

    ledger = Ledger()
    monkeypatch.setattr(allocator.ctypes, "pythonapi", object())

    assert allocator.return_objects(ledger) is False
    assert ledger.on_much_memory is None
