"""`eyespan-mcp [FOLDER]... [OPTION]...` is `eyespan serve`, with the folders that may be read in front.

The folders stand alone because a host's settings expand to bare words, and because people know it so from other
servers. Without any, the folder that the host started us in is meant.
"""

from __future__ import annotations

import os
import sys

from eyespan.cli import run as _run


def words(argv: list[str]) -> list[str]:
    """The words for the `eyespan` command; `~` is the home folder, which no shell has replaced for a host."""
    count = next((at for at, word in enumerate(argv) if word.startswith("-")), len(argv))
    roots = [part for folder in argv[:count] for part in ("--root", os.path.expanduser(folder))]
    return ["serve", *roots, *argv[count:]]


def run() -> None:
    """The entry point."""
    sys.argv[1:] = words(sys.argv[1:])
    _run()
