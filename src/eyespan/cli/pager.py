"""Shows long output of a terminal in the user's pager, as git and bat do."""

from __future__ import annotations

import os
import shutil
import sys

DEFAULT = "less"


class Pager:
    """A pager that reads standard output from here on; nothing changes if there is none.

    `EYESPAN_PAGER` and `PAGER` name it; "" and "cat" switch it off. `less` gets the options FRX, unless LESS is set: it
    ends at once if everything fits on the screen.
    """

    def __init__(self) -> None:
        self._end = -1
        command = os.environ.get("EYESPAN_PAGER", os.environ.get("PAGER", DEFAULT)).strip()
        if command in ("", "cat") or not hasattr(os, "posix_spawn"):
            return
        if command == DEFAULT and shutil.which(DEFAULT) is None:
            return
        reader, writer = os.pipe()
        end, held = os.pipe()
        sys.stdout.flush()
        try:
            os.posix_spawn(
                "/bin/sh",
                ["sh", "-c", f"exec {command}"],
                {"LESS": "FRX", "LV": "-c", **os.environ},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, reader, 0),
                    # Only the pager holds this end. Reading the other one returns when the pager has ended, also in a
                    # process that is not its parent.
                    (os.POSIX_SPAWN_DUP2, held, 3),
                ],
            )
        except OSError:
            for fd in (reader, writer, end, held):
                os.close(fd)
            return
        os.dup2(writer, 1)
        for fd in (reader, writer, held):
            os.close(fd)
        self._end = end

    def wait(self) -> None:
        """Finish the output and wait until the person has left the pager."""
        if self._end < 0:
            return
        try:
            sys.stdout.flush()
        except OSError:
            pass  # the pager was left before the end
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
        while True:
            try:
                os.read(self._end, 1)
                break
            except KeyboardInterrupt:
                continue  # it is meant for the pager
        os.close(self._end)
        self._end = -1
