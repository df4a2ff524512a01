"""The command line: `eyespan COMMAND ...`, one module per command.

main      finds the command, runs it and prints help
options   parsers of `argparse`, converters, the arguments of a command
detach    ends the process, even while a file system does not answer
reader    shows what the arguments of `eyespan read` name, `selected` the parts of one file
"""

from __future__ import annotations

from typing import NoReturn


def run() -> NoReturn:
    """Run the command line of this process and exit. The entry point of the console script."""
    try:
        from eyespan.cli.main import run
    except ValueError as error:  # of a setting in the environment
        import sys

        sys.stderr.write(f"eyespan: {error}\n")
        sys.exit(2)
    run()
