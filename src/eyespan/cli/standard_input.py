"""Standard input as a file: `eyespan read -`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

NAME = "stdin"


@contextmanager
def copied_input() -> Iterator[str]:
    """Copy standard input to a private directory, since readers go back and forth in a file.

    Yields the directory, which holds the file `NAME`.
    """
    with TemporaryDirectory(prefix="eyespan-") as directory:
        with open(os.path.join(directory, NAME), "xb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        yield directory
