"""Several workers on one socket."""

from __future__ import annotations

import gc
import os
import signal
import time

from eyespan.escape import valid_text
from eyespan.extras.http.http_worker import StopSignals, WorkerSetup, run_worker

MAX_QUICK_EXITS = 5
"""Give up after this many workers in a row that ended within QUICK_SECONDS of their start."""
QUICK_SECONDS = 1.0
HANDLED = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGCHLD") if hasattr(signal, name)]


class Supervisor:
    """Starts the workers, replaces those that end, and ends them all at SIGTERM or SIGINT."""

    def __init__(self, setup: WorkerSetup, signals: StopSignals, url: str) -> None:
        self._setup = setup
        self._signals = signals
        self._url = url
        self._workers: dict[int, tuple[int, float]] = {}
        """Row in the metrics and time of start, by process id."""
        self._alive = os.pipe()
        """Nothing is written to it. Workers notice its closing, and with it the end of this process."""
        self._stopping = False
        self._quick_exits = 0

    def run(self) -> int:
        """Run until all workers have ended. Returns the exit status."""
        # Signals are blocked and taken one by one below. Otherwise one that arrives right before a wait could be missed
        # until a worker ends.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, self._replace_ended)
        # Objects that exist are left out of garbage collections, which would copy the memory that workers share.
        gc.collect()
        gc.freeze()
        for row in range(self._setup.options.workers):
            self._start(row)
        self._setup.notifier.send("READY=1", f"STATUS={self._url}")
        if self._signals.has_arrived:
            self._stop()
        while self._workers:
            arrived = signal.sigwait(HANDLED)
            handler = signal.getsignal(arrived)
            if callable(handler):
                handler(arrived, None)
        if self._setup.keeper is not None:
            self._setup.keeper.close()
        return 1 if self._quick_exits >= MAX_QUICK_EXITS else 0

    def _replace_ended(self, *_: object) -> None:
        for pid, (row, started) in list(self._workers.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._workers[pid]
            self._setup.metrics.leave_row(row)
            if self._stopping:
                continue
            log = self._setup.log
            log.write("worker", f"worker {pid} ended ({status}); starting another", pid=pid, status=status)
            self._quick_exits = self._quick_exits + 1 if time.monotonic() - started < QUICK_SECONDS else 0
            if self._quick_exits >= MAX_QUICK_EXITS:
                log.write("worker", "workers end right after their start; giving up")
                self._stop()
            else:
                self._start(row)

    def _start(self, row: int) -> None:
        pid = os.fork()
        if pid:
            self._workers[pid] = (row, time.monotonic())
            return
        status = 1
        try:
            os.close(self._alive[1])
            signals = StopSignals()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor reloads for all
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
            for each in (self._setup.keeper, self._setup.notifier):
                if each is not None:
                    each.close()
            self._setup.metrics.take_row(row)
            if self._setup.services.ring is not None:
                self._setup.services.ring.take_row(row)
            status = run_worker(self._setup, signals, parent_fd=self._alive[0])
        except BaseException as error:
            self._setup.log.write("worker", f"worker: {type(error).__name__}: {valid_text(str(error))}")
        finally:
            os._exit(status)

    def _stop(self, *_: object) -> None:
        self._stopping = True
        self._setup.notifier.send("STOPPING=1")
        for pid in self._workers:
            os.kill(pid, signal.SIGTERM)  # also if it has just ended: its id stays in use until it is replaced
