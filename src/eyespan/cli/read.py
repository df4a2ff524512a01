"""`eyespan read`: files for people. Numbers, colour on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys
from typing import Any

from eyespan import kinds
from eyespan.cli.options import COMMON, Arguments, Option, UsageError, one_of
from eyespan.cli.reader import show
from eyespan.cli.window import show_window
from eyespan.guard import Guard
from eyespan.guard.roots import Root
from eyespan.workspace import Workspace

HELP = """\
usage: eyespan read PATH[:LINES]... [options]

Shows files with line numbers: in colour on a terminal, plain in a pipe. Source
code has colours with the extra `color`: pip install 'eyespan[color]'.

  eyespan read app.py             all of it
  eyespan read app.py:10-20       lines 10 to 20
  eyespan read app.py:10-         from line 10 on
  eyespan read app.py:10+5        5 lines from line 10
  eyespan read app.py:1-5,40-45   several ranges
  eyespan read build.log:-50      the last 50 lines
  eyespan read app.py::main       one function or class
  eyespan read app.py:303::       the function around line 303
  eyespan read 'app.py?def \\w+'   the lines that match a regular expression
  eyespan read a.py b.py:7        several files
  eyespan read src                the names in a directory
  git diff | eyespan read -       standard input; -:10-20 for some of its lines
  eyespan read paper.pdf:p2       PDFs, notebooks and office files, as text
  eyespan read app.log.gz:-50     compressed files, as if they were not
  eyespan read logs.zip           the names in an archive; logs.zip!/app.log:9
  eyespan read app.sqlite:users   databases and Parquet files: schema and rows
  eyespan read app.py@HEAD~3      an older version, in a git repository
  eyespan read app.py@HEAD~3..    the difference since then; v1..v2 between two

Without --root every file can be read that you can read. Names of secrets
(.env, private keys) are refused unless a configuration allows them.

On a terminal, control and direction characters are shown as escapes and very
long lines are shortened; in a pipe everything is exact. The time of --timeout
starts again whenever lines were shown. Exit status: 0; 1 when a file could not
be read; 2 for wrong usage.
"""

LEAVES_AT_ONCE = True
CAN_DETACH = True
_NUMBERED = ("", 6, "\t", True, 0, 0)
"""The style of a numbered line for `Guard.read_small`."""

OPTIONS = {
    "options": (
        Option("-n", "--numbers", text="with line numbers (the default)"),
        Option("-N", "--no-numbers", field="numbers", constant=False, text="without line numbers"),
        Option("--json", text="one JSON object per part and per error, each on a line"),
        Option("--raw", field="documents", constant="none", text="documents as the bytes they are"),
        Option("--document", field="documents", constant="all", text="HTML, mail, CSV and calendars as documents"),
        Option(
            "--color",
            value="WHEN",
            convert=one_of("auto", "always", "never"),
            text="auto (default), always or never; NO_COLOR is honoured",
        ),
        Option("--no-pager", text="do not show long output of a terminal in $PAGER"),
    ),
    "common options": COMMON,
}


def main(arguments: Arguments) -> int:
    """Show the files. Returns 1 when one could not be read."""
    paths = arguments.operands
    if not paths:
        raise UsageError("read needs a path. Try: eyespan read --help")
    values = arguments.values
    color = values.get("color", "auto")
    is_terminal = sys.stdout.isatty() and not values.get("json", False)
    is_colored = color == "always" or (color == "auto" and is_terminal and not os.environ.get("NO_COLOR"))
    workspace = arguments.workspace(is_confined=False)
    is_plain = not (is_terminal or is_colored or len(paths) > 1 or "json" in values or "documents" in values)
    if is_plain and _show_at_once(workspace, paths[0], values.get("numbers", True)):
        return 0
    return show(paths, values, workspace, is_terminal=is_terminal, is_colored=is_colored)


def _show_at_once(workspace: Workspace, path: str, has_numbers: bool) -> bool:
    """Show a small text, or lines of a text, as a pipe gets them; return False if the usual way has to do it.

    These are the usual calls of a script, and start-up time is most of their time: none of the readers is imported.
    """
    root = next((root for root in workspace.roots if _may_contain(root, path)), None)
    if root is None or root.is_remote:
        return False
    guard = Guard((root,), workspace.policy, workspace.backend, never_blocks=True)
    if ":" not in path:
        return _show_small(guard, path, has_numbers)
    return show_window(guard, path, has_numbers)


def _show_small(guard: Guard, path: str, has_numbers: bool) -> bool:
    """Show a small text in one step."""
    found: Any = None
    if found is None:
        return False
    text, name, data = found[0], found[7], found[8]
    if kinds.is_document(data or b"", name):
        return False
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    return True


def _may_contain(root: Root, path: str) -> bool:
    """Return True for the root that a path leads to: the first one for a relative path."""
    return path[:1] != "/" or root.is_remote or path.startswith(root.prefix) or not root.spellings[0]
