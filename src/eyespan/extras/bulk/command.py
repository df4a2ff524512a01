"""`eyespan export`: many files into records, for retrieval and training."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from glob import escape
from typing import TYPE_CHECKING, Any

from eyespan.cli.options import Arguments, Parser, UsageError, text, whole_number
from eyespan.escape import in_plain_words, plural, visible
from eyespan.workspace import Workspace

if TYPE_CHECKING:
    from eyespan.extras.bulk.export import ExportReport


MAX_NAMED = 10
"""The unsearched targets and directories that are named."""
HELP = """\
usage: eyespan export TARGET... --to FILE [options]

Reads files, directories and patterns, and writes a record for each part: text,
page, image, with its source, version, kind, token count and errors.

  eyespan export src docs --to corpus.jsonl
  eyespan export 'src/**/*.py' --to -              to standard output
  eyespan export . --to corpus.parquet --jobs 4    a table (eyespan[tables])
  eyespan export . --to chunks.jsonl --chunk 400   chunks for retrieval
  eyespan export . --to corpus.jsonl --exclude '*.lock' --exclude 'dist/'
  eyespan export site --to site.jsonl --document   web pages as text, no tags
  eyespan --root s3://bucket/docs export . --to docs.jsonl

What .gitignore and .ignore files name is left out, and so are directories of
version control, installed packages and caches; --no-ignore reads them too.
The members of an archive are read like files. A second run reads only what is
new or has changed, and so does a run after one that was killed; a table keeps
the lines it was made of in FILE.jsonl for that. A file that cannot be read is
a record with an error, counted in the last line. Exit status: 0; 1 if the
output cannot be written, a target has no file, or a directory was not
searched to its end; 2 for wrong usage.
"""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--to", metavar="FILE", type=text, help="the result: .jsonl, .parquet, or - for JSON lines on standard output"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=whole_number(256), help="processes that read (default: 1, this one)"
    )
    parser.add_argument(
        "--max-bytes", metavar="N", type=whole_number(2**40), help="text and images of one file (default: 64 MiB)"
    )
    parser.add_argument(
        "--chunk",
        metavar="N",
        type=whole_number(10**6),
        help="cut texts by symbols, headings and lines into chunks of at most N tokens",
    )
    parser.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        help="names to leave out: *.log, build/, docs/**/old (repeatable)",
    )
    parser.add_argument(
        "--no-ignore", action="store_true", help="also read what .gitignore and .ignore files leave out"
    )
    parser.add_argument("--document", action="store_true", help="HTML and mailboxes as documents, not as their source")


def main(arguments: Arguments) -> int:
    """Write the records. Returns 1 if the output cannot be written."""
    from eyespan.extras.bulk.export import export_lines, export_table, write_lines
    from eyespan.extras.bulk.pool import MIN_TOKENS
    from eyespan.extras.bulk.reading import MAX_BYTES, Options

    values = arguments.values
    to = values.get("to")
    if not arguments.operands:
        raise UsageError("export needs a file, a directory or a pattern. Try: eyespan export --help")
    if not to:
        raise UsageError("export needs --to FILE. Try: eyespan export --help")
    jobs = values.get("jobs", 1)
    options = Options(values.get("max_bytes", MAX_BYTES), values.get("chunk", 0), values.get("document", False))
    if 0 < options.chunk_tokens < MIN_TOKENS:
        raise UsageError(f"--chunk must be at least {MIN_TOKENS}")
    try:
        workspace = arguments.workspace().excluding(values.get("exclude", ()))
    except ValueError as error:
        raise UsageError(f"--exclude: {error}") from None
    if to != "-" and not to.endswith((".jsonl", ".parquet")):
        raise UsageError(f"--to must end in .jsonl or .parquet, or be -, not {to!r}")
    if not os.path.isdir(os.path.dirname(to) or "."):
        raise UsageError(f"--to {visible(to)}: there is no directory {visible(os.path.dirname(to))}")
    progress = _Progress(workspace, arguments.operands, is_on=to != "-" and sys.stderr.isatty())
    more: dict[str, Any] = {"workers": jobs if jobs > 1 else 0, "options": options, "on_progress": progress}
    try:
        if to == "-":
            report = write_lines(workspace, arguments.operands, sys.stdout.buffer, **more)
        else:
            write = export_table if to.endswith(".parquet") else export_lines
            report = write(workspace.excluding(_own_files(workspace, to)), arguments.operands, to, **more)
    except BrokenPipeError:
        raise  # the reader needs no more
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        progress.clear()
        print(f"eyespan: {in_plain_words(error)}", file=sys.stderr)
        return 1
    progress.clear()
    if to != "-":
        counts = ((report.files, "file"), (report.records, "record"), (report.errors, "error"))
        found = ", ".join([plural(number, noun) for number, noun in counts])
        print(f"{to}: {found}, {report.kept:,} unchanged, {os.path.getsize(to):,} bytes", file=sys.stderr)
    return _report_unsearched(report)


def _own_files(workspace: Workspace, to: str) -> list[str]:
    """Return patterns of the result and of the files beside it, as far as they are below a root."""
    names = [os.path.relpath(to, root.path) for root in workspace.roots if not root.is_remote]
    return [f"/{escape(name)}{end}" for name in names if not name.startswith("..") for end in ("", ".*")]


def _report_unsearched(report: ExportReport) -> int:
    """Name what was not searched on standard error; return the exit status."""
    for one in report.unsearched[:MAX_NAMED]:
        print(f"eyespan: {one}", file=sys.stderr)
    if report.unsearched:
        count = plural(len(report.unsearched), "target or directory", "targets or directories")
        print(f"eyespan: not complete: {count} not read, {plural(report.errors, 'error')} in all", file=sys.stderr)
    return 1 if report.unsearched else 0


class _Progress:
    """A line on standard error while a person is watching."""

    def __init__(self, workspace: Workspace, targets: Sequence[str], *, is_on: bool) -> None:
        self._is_on = is_on
        self._start = self._last = time.monotonic()
        self._is_shown = False
        self._total: int | None = None
        """The number of files; None while they are counted."""
        if self._is_on and not any(root.is_remote for root in workspace.roots):
            threading.Thread(target=self._count, args=(workspace, targets), daemon=True).start()

    def _count(self, workspace: Workspace, targets: Sequence[str]) -> None:
        from eyespan.extras.bulk.walk import find_files

        self._total = sum([1 for _ in find_files(workspace, targets)])

    def __call__(self, report: ExportReport) -> None:
        now = time.monotonic()
        if not self._is_on or now - self._last < 0.2:
            return
        self._last = now
        rate = report.files / max(0.001, now - self._start)
        of, left = "", ""
        if self._total is not None:
            of, seconds = f" of {self._total:,}", max(0, self._total - report.files) / rate
            left = f", {seconds // 60:.0f}:{seconds % 60:02.0f} left"
        line = f"{report.files:,}{of} files, {report.errors:,} errors, {rate:,.0f} files a second{left}"
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
        self._is_shown = True

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
