"""`eyespan export`: many files into records, for retrieval and training."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from eyespan.cli.options import Arguments, Parser, UsageError, text, whole_number
from eyespan.escape import in_plain_words

if TYPE_CHECKING:
    from eyespan.extras.bulk.export import ExportReport


HELP = """\
usage: eyespan export TARGET... --to FILE [options]

Reads files, directories and patterns, and writes a record for each part: text,
page, image, with its source, version, kind, token count and errors.

  eyespan export src docs --to corpus.jsonl
  eyespan export 'src/**/*.py' --to -              to standard output
  eyespan export . --to corpus.parquet --jobs 4    a table (eyespan[tables])
  eyespan export . --to chunks.jsonl --chunk 400   chunks for retrieval
  eyespan --root s3://bucket/docs export . --to docs.jsonl

A second run reads only what is new or has changed, and so does a run after one
that was killed; a table keeps the lines it was made of in FILE.jsonl for that.
A file that cannot be read is a record with an error. Exit status: 0; 1 if the
output cannot be written; 2 for wrong usage.
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


def main(arguments: Arguments) -> int:
    """Write the records. Returns 1 if the output cannot be written."""
    from eyespan.extras.bulk import MIN_TOKENS
    from eyespan.extras.bulk.export import export_lines, export_table, write_lines
    from eyespan.extras.bulk.reading import MAX_BYTES, Options

    to = arguments.values.get("to")
    if not arguments.operands:
        raise UsageError("export needs a file, a directory or a pattern. Try: eyespan export --help")
    if not to:
        raise UsageError("export needs --to FILE. Try: eyespan export --help")
    jobs = arguments.values.get("jobs", 1)
    workers = jobs if jobs > 1 else 0
    options = Options(arguments.values.get("max_bytes", MAX_BYTES), arguments.values.get("chunk", 0))
    if 0 < options.chunk_tokens < MIN_TOKENS:
        raise UsageError(f"--chunk must be at least {MIN_TOKENS}")
    workspace = arguments.workspace()
    if to == "-":
        try:
            write_lines(workspace, arguments.operands, sys.stdout.buffer, workers=workers, options=options)
        except ChildProcessError as error:
            print(f"eyespan: {in_plain_words(error)}", file=sys.stderr)
            return 1
        return 0
    if not to.endswith((".jsonl", ".parquet")):
        raise UsageError(f"--to must end in .jsonl or .parquet, or be -, not {to!r}")
    progress = _Progress()
    write = export_table if to.endswith(".parquet") else export_lines
    try:
        report = write(workspace, arguments.operands, to, workers=workers, options=options, on_progress=progress)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        progress.clear()
        print(f"eyespan: {in_plain_words(error)}", file=sys.stderr)
        return 1
    progress.clear()
    print(
        f"{to}: {report.files:,} files, {report.records:,} records, {report.errors:,} errors, "
        f"{report.kept:,} unchanged, {os.path.getsize(to):,} bytes",
        file=sys.stderr,
    )
    return 0


class _Progress:
    """A line on standard error while a person is watching."""

    def __init__(self) -> None:
        self._is_on = sys.stderr.isatty()
        self._start = self._last = time.monotonic()
        self._is_shown = False

    def __call__(self, report: ExportReport) -> None:
        now = time.monotonic()
        if not self._is_on or now - self._last < 0.2:
            return
        self._last = now
        rate = report.files / max(0.001, now - self._start)
        sys.stderr.write(f"\r\x1b[K{report.files:,} files, {report.errors:,} errors, {rate:,.0f} files a second")
        sys.stderr.flush()
        self._is_shown = True

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
