"""The backend for systems that cannot fork: a new process for each job, and fewer layers of the sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import TimedOut, Unreadable
from eyespan.worker import launch, protocol

if TYPE_CHECKING:
    from eyespan.worker.client import JobLimits


START_SECONDS = 0.3 * DEADLINE_SECONDS
"""Added to the time limit of each job, because starting the process is part of it."""
_POLL_SECONDS = 0.05
_CHUNK_BYTES = 256 * 1024


class NoForkClient:
    """Runs each job in a process of its own."""

    def __init__(self, limits: JobLimits, path: Sequence[str]) -> None:
        self._limits = limits
        self._path = path

    def run(
        self, task: str, decoder: str, fd: int, params: Mapping[str, Any], *, asked: str, context: CallContext
    ) -> tuple[bytearray, None]:
        """Return the response to one job, as `protocol.parse` takes it. Raises: ReadError."""
        job = {
            "decoder": decoder,
            "params": params,
            "memory_bytes": self._limits.memory_bytes,
            "seconds": self._limits.seconds,
        }
        try:
            process = launch.launch(
                "eyespan.worker.job:main", json.dumps(job), extra_path=self._path, stdin=fd, stdout=subprocess.PIPE
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise launch.unusable(asked, error) from None
        data = bytearray()
        max_bytes = self._limits.output_bytes + protocol.MAX_HEADER_BYTES
        reader = threading.Thread(target=_read_output, args=(process, data, max_bytes), daemon=True)
        reader.start()
        end = time.monotonic() + self._limits.seconds + START_SECONDS
        try:
            while reader.is_alive():
                reader.join(_POLL_SECONDS)
                context.advance(len(data), 0)
                if time.monotonic() > end:
                    raise TimedOut(asked, seconds=self._limits.seconds)
            if len(data) > max_bytes:
                raise Unreadable(asked, kind=task, reason="the decoded content is too large")
            launch.end(process)
        finally:
            process.kill()
            reader.join()
            status = process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if not data:
            status = -status if status < 0 else status << 8  # as waitpid(2) encodes it
            protocol.check_status(status, asked, task, self._limits.seconds)
        context.charge(len(data) + protocol.header_memory(data))
        return data, None

    def stop(self) -> None:
        """Do nothing: no process outlives its job."""

    def forget(self) -> None:
        """Do nothing: there is no process that a forked one could share."""


def _read_output(process: subprocess.Popen[bytes], data: bytearray, max_bytes: int) -> None:
    assert process.stdout is not None
    while len(data) <= max_bytes:
        chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not chunk:
            return
        data += chunk
