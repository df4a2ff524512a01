"""Tries of the sandboxes in processes of their own."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from eyespan import worker
from eyespan.sandbox.server import SandboxReport, enter
from eyespan.server.sandboxing import needs_of
from eyespan.server.serve_options import ServeOptions
from eyespan.workspace import Workspace


def probe(roots: Iterable[str]) -> tuple[SandboxReport, bool]:
    """Return the layers that a server of these roots would have, and whether documents can be decoded inside.

    A child process enters the sandbox to find out. Raises: OSError, ValueError, if it fails.
    """
    report = in_child(f"{__name__}:answer_probe", *roots)
    return SandboxReport(report["missing"], tuple(report["writable_roots"])), report["decodes"]


def in_child(function: str, *words: str) -> Any:
    """Return the JSON that `module:function` writes when a new process calls it with these words.

    Raises: OSError, ValueError, if that fails.
    """
    module, _, name = function.partition(":")
    code = f"import sys; sys.path[:] = sys.argv[1].split(chr(10)); from {module} import {name}; {name}(sys.argv[2:])"
    path = "\n".join([entry for entry in sys.path if entry])
    try:
        done = subprocess.run([sys.executable, "-c", code, path, *words], capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        raise OSError(errno.ETIMEDOUT, "the process does not answer") from None
    return json.loads(done.stdout)


def answer_probe(roots: list[str]) -> None:
    """Enter the sandbox and write the result for `probe` to standard output, as JSON."""
    report = enter(needs_of(ServeOptions(), Workspace(*roots).roots))
    answer = {"missing": report.missing, "writable_roots": report.writable_roots, "decodes": worker.layers()["process"]}
    sys.stdout.write(json.dumps(answer))
