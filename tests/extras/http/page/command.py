"""`eyespan view` as a process, and a browser that reports how it was started."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys


@contextlib.contextmanager
def running(root, *words, **environment):
    """Start the command; yield the process, the address of the page and the token that it printed."""
    command = [sys.executable, "-m", "eyespan", "--root", str(root), "view", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env={**os.environ, **environment}, **pipes)
    try:
        shown = "".join([process.stdout.readline() for _ in range(3)])
        found = re.fullmatch(
            r"(http://127\.0\.0\.1:\d+/\S+/)\nIf the page asks for a token: (\S+) \(valid once\)\nStop with Ctrl-C.\n",
            shown,
        )
        yield process, found[1], found[2]
    finally:
        process.terminate()
        rest = process.communicate()
    assert (process.returncode, *rest) == (0, "", "\n")


class Browser:
    """A program that reports its words through a pipe and ends. `environment` makes it the user's browser."""

    def __init__(self, directory):
        self._pipe = directory / "words"
        os.mkfifo(self._pipe)
        program = directory / "browser"
        program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{self._pipe}'\n")
        program.chmod(0o700)
        temporary = directory / "temporary"
        temporary.mkdir()
        self.environment = {"BROWSER": f"{program} %s", "TMPDIR": str(temporary)}

    def words(self):
        """Wait until it is started, and return its words."""
        return self._pipe.read_text().splitlines()
