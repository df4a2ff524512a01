"""A detached process: the parent exits with the status of the child, also if the child never ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from eyespan.cli.main import COMMANDS, load_command

HANG_SECONDS = 60
START = """
import os, signal, sys, threading
from eyespan.cli.detach import Process

process = Process()
process.detach()
"""


def run(code):
    return subprocess.run([sys.executable, "-c", START + code], capture_output=True, timeout=HANG_SECONDS)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("process.exit(0)", 0),
        ("process.exit(1)", 1),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
    ],
)
def test_the_parent_exits_with_the_status_of_the_child(code, status):
    assert run(code).returncode == status


def test_output_is_complete_although_the_child_skips_the_teardown():
    assert run("print('shown'); process.exit(0)").stdout == b"shown\n"


def test_a_child_that_cannot_end_delays_neither_the_parent_nor_a_reader_of_its_output():
    # Instead of ending, the child waits, as it does for a mount that hangs.
    code = "os._exit = lambda code: threading.Event().wait(10)\nprint('shown'); process.exit(3)"
    done = run(code)

    assert (done.returncode, done.stdout) == (3, b"shown\n")


def test_a_process_with_a_second_thread_stays_one():
    code = """
import os, threading
from eyespan.cli.detach import Process

done = threading.Event()
threading.Thread(target=done.wait).start()
process = Process()
process.detach()
done.set()
print(os.getppid())
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=HANG_SECONDS).stdout

    assert int(shown) == os.getpid()


def test_only_commands_that_end_soon_continue_in_a_child():
    detaching = {name for name in COMMANDS if getattr(load_command(name), "CAN_DETACH", False)}

    assert detaching == {"read", "call", "doctor"}
