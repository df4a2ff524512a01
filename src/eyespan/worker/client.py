"""`Worker`: runs decoders in another process, several at once, within limits of time, memory and output."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import Internal, SystemFailure, TimedOut, Unreadable
from eyespan.model import MIB
from eyespan.source import close_fd
from eyespan.worker import protocol
from eyespan.worker.job import NO_OP_TASK
from eyespan.worker.tasks import DECODERS, installed_decoder

if TYPE_CHECKING:
    from eyespan.worker.fork_client import ForkClient
    from eyespan.worker.no_fork import NoForkClient


BACKENDS = ("fork_server", "no_fork")
_TURN_SECONDS = 0.05
"""The time between two checks of the deadline while a job waits for its turn."""
_LAYERS = ("limits", "no_new_privs", "landlock", "capabilities", "seccomp")


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The limits of one job, and the number of jobs."""

    seconds: float = DEADLINE_SECONDS
    """Of wall time and, separately, of CPU time."""
    memory_bytes: int = 512 * MIB
    """Of address space, code and libraries included."""
    output_bytes: int = 64 * MIB
    jobs: int = max(2, min(4, os.cpu_count() or 2))
    """Jobs that run at once; more wait for their turn."""


class Worker:
    """Runs decoders in another process. Safe for threads, and for forks: a forked process starts its own.

    `decoders` is the table of tasks and `path` an addition to the module path of the process; tests use both to bring
    their own decoders. `backend` is one of `BACKENDS`, or "auto": "fork_server" if the system can fork, else "no_fork".
    """

    def __init__(
        self,
        limits: JobLimits | None = None,
        *,
        decoders: Mapping[str, str] | None = None,
        path: Sequence[str] = (),
        backend: str = "auto",
    ) -> None:
        self.limits = limits or JobLimits()
        self.backend = ("fork_server" if hasattr(os, "fork") else "no_fork") if backend == "auto" else backend
        self.decoders = dict(DECODERS if decoders is None else decoders)
        self._path = tuple(path)
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        self._turn = threading.BoundedSemaphore(self.limits.jobs)
        self._client: ForkClient | NoForkClient
        if self.backend == "no_fork":
            from eyespan.worker.no_fork import NoForkClient

            self._client = NoForkClient(self.limits, self._path)
        else:
            from eyespan.worker.fork_client import ForkClient

            self._client = ForkClient(self.limits, self._path)

    def run(
        self, task: str, fd: int, params: Mapping[str, Any], *, asked: str, context: CallContext | None = None
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Decode the file of `fd` with the decoder of `task`. The decoder moves the position of `fd`.

        Raises: Unreadable, TimedOut, Missing, Cancelled.
        """
        header, blobs = self._respond(task, fd, params, asked, context or CallContext())
        if "error" in header:
            raise protocol.error_from(header, asked, task)
        facts = header.get("facts")
        if not isinstance(facts, dict):
            raise protocol.invalid_response(asked, task)
        return facts, blobs

    def layers(self) -> dict[str, bool]:
        """Return which layers of the sandbox are up around a job, by running one that decodes nothing."""
        states: dict[str, bool] = dict.fromkeys(("process", *_LAYERS), False)
        here, there = os.pipe()
        try:
            header, _ = self._respond(NO_OP_TASK, here, {}, "", CallContext())
        except (Unreadable, TimedOut, Internal, SystemFailure):
            return states
        finally:
            close_fd(here)
            close_fd(there)
        reported = header.get("layers")
        if isinstance(reported, dict):
            states.update({name: reported.get(name) is True for name in _LAYERS}, process=True)
        return states

    def stop(self) -> None:
        """End the process. The next job starts another."""
        self._client.stop()

    def _respond(
        self, task: str, fd: int, params: Mapping[str, Any], asked: str, context: CallContext
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Run one job when its turn comes, and return the header and the blobs of its response."""
        # A call that has the turn for memory never waits for jobs: they may wait for that turn.
        is_counted = not context.memory.has_turn
        while is_counted and not self._turn.acquire(timeout=_TURN_SECONDS):
            context.advance(0, 0)
        try:
            limited = {"seconds": self.limits.seconds, **params}
            decoder = self._decoder(task, asked)
            data, rest = self._client.run(task, decoder, fd, limited, asked=asked, context=context)
        finally:
            if is_counted:
                self._turn.release()
        return protocol.parse(data, asked, task, rest)

    def _decoder(self, task: str, asked: str) -> str:
        """Return the decoder of a task, which a plugin may add. Raises: Unreadable."""
        if task == NO_OP_TASK or task in self.decoders:
            return self.decoders.get(task, "")
        decoder = installed_decoder(task)
        if not decoder:
            raise Unreadable(asked, kind=task, reason="it has no decoder")
        return decoder

    def _forget(self) -> None:
        """Start over in a forked process: the decoding process belongs to the parent."""
        self._client.forget()
        self._reset()


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def _for_each(act: Callable[[Worker], None]) -> None:
    for worker in list(_workers):
        act(worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _for_each(Worker._forget))


def stop_all() -> None:
    """End every decoding process of this process."""
    _for_each(Worker.stop)
