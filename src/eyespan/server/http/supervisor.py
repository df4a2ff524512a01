"""Several workers on one socket."""

from __future__ import annotations

import os
import signal
import sys
import time

from eyespan.escape import valid_text
from eyespan.server.http.worker import StopSignals, WorkerSetup, run_worker

MAX_QUICK_EXITS = 5
"""Give up after this many workers in a row that ended within QUICK_SECONDS of their start."""
QUICK_SECONDS = 1.0


class Supervisor:
    """Starts the workers, replaces those that end, and ends them all at SIGTERM or SIGINT."""

    def __init__(self, setup: WorkerSetup, signals: StopSignals) -> None:
        self._setup = setup
        self._signals = signals
        self._workers: dict[int, tuple[int, float]] = {}
        """Row in the metrics and time of start, by process id."""
        self._alive = os.pipe()
        """Nothing is written to it. Workers notice its closing, and with it the end of this process."""
        self._stopping = False
        self._quick_exits = 0

    def run(self) -> int:
        """Run until all workers have ended. Returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for row in range(self._setup.options.workers):
            self._start(row)
        if self._signals.has_arrived:
            self._stop()
        while self._workers:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                break
            if pid not in self._workers:
                continue
            row, started = self._workers.pop(pid)
            self._setup.metrics.leave_row(row)
            if self._stopping:
                continue
            sys.stderr.write(f"eyespan serve: worker {pid} ended ({status}); starting another\n")
            self._quick_exits = self._quick_exits + 1 if time.monotonic() - started < QUICK_SECONDS else 0
            if self._quick_exits >= MAX_QUICK_EXITS:
                sys.stderr.write("eyespan serve: workers end right after their start; giving up\n")
                self._stop()
                continue
            self._start(row)
        return 1 if self._quick_exits >= MAX_QUICK_EXITS else 0

    def _start(self, row: int) -> None:
        pid = os.fork()
        if pid:
            self._workers[pid] = (row, time.monotonic())
            return
        status = 1
        try:
            os.close(self._alive[1])
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self._setup.metrics.take_row(row)
            status = run_worker(self._setup, self._signals, parent_fd=self._alive[0])
        except BaseException as error:
            sys.stderr.write(f"eyespan serve: worker: {type(error).__name__}: {valid_text(str(error))}\n")
        finally:
            os._exit(status)

    def _stop(self, *_: object) -> None:
        self._stopping = True
        for pid in self._workers:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass  # it has just ended
