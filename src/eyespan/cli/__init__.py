"""The command line: `eyespan COMMAND ...`, one module per command.

    main      finds the command, runs it and prints help
    options   the parser: options are rows of a table
    detach    ends the process, even while a file system does not answer

Start-up time is most of the time of `eyespan read`. `main`, `options`, `detach` and `read` therefore import neither
argparse nor typing nor re, and `read` shows a small text in a pipe without the readers, `window` lines of it. `reader`
shows everything else, and `selected` what other selectors name.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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
