"""Run `eyespan serve` as `eyespan-mcp [DIRECTORY]... [OPTION]...`.

The directories are positional, because the settings of hosts expand to plain arguments and other servers take them the
same way. Without any, the server reads the directory in which the host started it. The settings that serve the users of
a host are on, as in an entry of `eyespan setup`; options take precedence over them.
"""

from __future__ import annotations

import os
import sys

from eyespan.cli import run as _run
from eyespan.extras.hosts.host_table import SETTINGS


def words(argv: list[str]) -> list[str]:
    """Return the arguments of the `eyespan` command. Expands `~`, because hosts start servers without a shell."""
    count = next((at for at, word in enumerate(argv) if word.startswith("-")), len(argv))
    roots = [part for directory in argv[:count] for part in ("--root", os.path.expanduser(directory))]
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return ["serve", *roots, *settings, *argv[count:]]


def run() -> None:
    """Run the server and exit. The entry point of the console script."""
    sys.argv[1:] = words(sys.argv[1:])
    _run()
