"""Standard input as a file: `eyespan read -`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

NAME = "stdin"


class StandardInput:
    """Copies standard input to a private temporary directory, since readers need to go back and forth in a file."""

    def __enter__(self) -> str:
        """Return the directory that holds the file `NAME`."""
        self._directory = tempfile.mkdtemp(prefix="eyespan-")
        try:
            with open(os.path.join(self._directory, NAME), "xb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        return self._directory

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
