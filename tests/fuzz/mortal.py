"""`tools/fuzz.py` with targets that end, or stop, the process they run in: what watches them must tell by which input.

Loaded by test_targets.py, and started by what it watches with.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tools"))

import fuzz


class Mortal(fuzz.loop.Target):
    """Dies in each way that a process can."""

    name = "mortal"
    invariant = "none"
    choice = (b"kill", b"abort", b"fault", b"leave", *[b"good %d" % n for n in range(16)])

    def seeds(self):
        return [b"good"]

    def mutate(self, dice: random.Random, data, other):
        return dice.choice(self.choice)

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


class Still(Mortal):
    name = "still"
    choice = (b"stop",)
    patience_seconds = 1


class Stillborn(Mortal):
    name = "stillborn"

    def open(self):
        raise RuntimeError("not today")


TARGETS = (Mortal(), Still(), Stillborn())

if __name__ == "__main__":
    fuzz.TARGETS.update({target.name: target for target in TARGETS})
    sys.exit(fuzz.main())
