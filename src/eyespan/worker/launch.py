"""Start a Python process that has the module path of this one and nothing else of it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from eyespan.errors import Internal, ReadError, SystemFailure, shortage
from eyespan.sandbox.interpreter import module_path
from eyespan.source import close_fd


def launch(
    call: str, argument: str, *, extra_path: Sequence[str] = (), pass_fds: tuple[int, ...] = (), **streams: Any
) -> subprocess.Popen[bytes]:
    """Start a Python that calls `module:function` with one argument.

    Standard streams that are not given are pipes whose other end is closed: inside a sandbox /dev/null may be out of
    reach. Raises: OSError, subprocess.SubprocessError.
    """
    program = interpreter()
    module, _, function = call.partition(":")
    code = f"import sys; sys.path[:] = sys.argv[2:]; from {module} import {function}; {function}(sys.argv[1])"
    closed_in, other_end = os.pipe()
    close_fd(other_end)
    closed_out = -1
    try:
        other_end, closed_out = os.pipe()
        close_fd(other_end)
        streams.setdefault("stdin", closed_in)
        streams.setdefault("stdout", closed_out)
        return subprocess.Popen(
            [program, "-I", "-S", "-X", "utf8", "-c", code, argument, *child_path(extra_path)],
            stderr=closed_out,
            env=_environment(),
            close_fds=True,
            pass_fds=pass_fds,
            start_new_session=True,  # a Ctrl-C in the terminal is for this process alone
            **streams,
        )
    finally:
        close_fd(closed_in)
        close_fd(closed_out)


def interpreter() -> str:
    """Return the path of this Python. Raises: OSError if this program contains it, or it is not known."""
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError(0, "no Python interpreter is known")
    return sys.executable


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait a second for a process to end, then kill it."""
    try:
        process.wait(1)
    except (subprocess.TimeoutExpired, OSError):
        process.kill()
        # A process that waits for a hung mount cannot be killed, and the system may fail to report its end.
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            process.wait(1)


def unusable(asked: str, error: Exception) -> ReadError:
    """Return the error for a decoding process that cannot be started or reached."""
    reason = f"the decoding process cannot be used: {getattr(error, 'strerror', None) or error}"
    number = shortage(error)
    return SystemFailure(asked, number, reason) if number else Internal(asked, reason)


def child_path(extra: Sequence[str] = ()) -> list[str]:
    """Return the module path of the child: that of this process, never with the current directory."""
    path = module_path()
    own = path.pop(0)
    return [*extra, *path, *([] if own in path else [own])]


def _environment() -> dict[str, str]:
    """Return the variables that a Python needs to start. None is secret."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
