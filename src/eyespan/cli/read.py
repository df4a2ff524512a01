"""`eyespan read`: files for people. Numbers, colour on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys

from eyespan import kinds
from eyespan.cli.options import Arguments, Parser, UsageError, add_map, one_of
from eyespan.cli.target_printer import TargetPrinter, write_output
from eyespan.dialects.terminal import Terminal

HELP = """\
usage: eyespan read PATH[:LINES]... [options]

Shows files with line numbers: in colour on a terminal, plain in a pipe.

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
  eyespan read paper.pdf --markdown > paper.md
  eyespan read app.log.gz:-50     compressed files, as if they were not
  eyespan read logs.zip           the names in an archive; logs.zip!/app.log:9
  eyespan read app.sqlite:users   databases and Parquet files: schema and rows
  eyespan read app.py@HEAD~3      an older version, in a git repository
  eyespan read app.py@HEAD~3..    the difference since then; v1..v2 between two

Without --root every file can be read that you can read. Names of secrets
(.env, private keys) are refused unless a configuration allows them.

On a terminal, control and direction characters are shown as escapes and very
long lines are shortened; in a pipe everything is exact. Text of other encodings
is shown in UTF-8, with a note on standard error. The time of --timeout starts
again whenever lines were shown. Exit status: 0; 1 when a file could not be
read; 2 for wrong usage.
"""
CAN_DETACH = True


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("-n", "--numbers", action="store_true", help="with line numbers (the default)")
    parser.add_argument("-N", "--no-numbers", action="store_false", dest="numbers", help="without line numbers")
    parser.add_argument("--raw", action="store_true", help="documents and text as the bytes they are")
    parser.add_argument("--markdown", action="store_true", help="documents as Markdown alone, without numbers")
    parser.add_argument("--document", action="store_true", help="HTML, mail and CSV as documents")
    parser.add_argument(
        "--color",
        metavar="WHEN",
        type=one_of("auto", "always", "never"),
        help="auto (default), always or never; NO_COLOR is honoured",
    )
    parser.add_argument(
        "--no-ignore", action="store_true", help="also search what .gitignore and .ignore files leave out"
    )
    add_map(parser)


def main(arguments: Arguments) -> int:
    """Show the files. Returns 1 when one could not be read."""
    paths, values = arguments.operands, arguments.values
    if not paths:
        raise UsageError("read needs a path. Try: eyespan read --help")
    color = values.get("color", "auto")
    is_terminal = sys.stdout.isatty()
    is_colored = color == "always" or (color == "auto" and is_terminal and not os.environ.get("NO_COLOR"))
    workspace = arguments.workspace(is_confined=False)
    is_markdown = "markdown" in values
    printer = Terminal(
        write_output,
        has_numbers=values.get("numbers", not is_markdown),
        is_terminal=is_terminal,
        is_colored=is_colored,
        has_headings=not is_markdown,
    )
    documents = frozenset({"terminal", kinds.SOURCES} if "document" in values or is_markdown else {"terminal"})
    if "raw" in values:
        documents = frozenset()
    reader = TargetPrinter(
        workspace, printer, documents, is_terminal, is_markdown=is_markdown, needs_numbers=values.get("numbers", False)
    )
    return 1 if sum([not reader.show(path, headed=len(paths) > 1) for path in paths]) else 0
