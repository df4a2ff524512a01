"""Targets that end or stop the process they run in; `python mortal_targets.py` is `python -m proof fuzz` with them.

test_fuzz.py loads this module and starts it as the program that runs one target.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proof.fuzz import command
from proof.fuzz.target import Target


class Mortal(Target):
    """A target that dies in each way that a process can."""

    name = "mortal"
    invariant = "none"
    choices = (b"kill", b"abort", b"fault", b"leave", *[b"good %d" % n for n in range(16)])

    def seeds(self):
        return [b"good"]

    def mutate(self, dice: random.Random, data, other):
        return dice.choice(self.choices)

    def check(self, data):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        match data:
            case b"kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case b"abort":
                os.abort()
            case b"fault":
                ctypes.string_at(0)
            case b"leave":
                os._exit(3)
            case b"stop":
                os.kill(os.getpid(), signal.SIGSTOP)
        return "fine"


class Stopped(Mortal):
    """A target that stops on its first input."""

    name = "stopped"
    choices = (b"stop",)
    deadline_seconds = 1


class Unopened(Mortal):
    """A target that fails before its first input."""

    name = "unopened"

    def open(self):
        raise RuntimeError("cannot be opened")


TARGETS = (Mortal(), Stopped(), Unopened())

if __name__ == "__main__":
    command.TARGETS.update({target.name: target for target in TARGETS})
    sys.exit(command.main())
