"""Records to a file. A later run reads only files that are missing in it or have changed.

The files come in the order of the walk, and everything in a record follows from the file. The result of a run that was
killed and continued therefore equals that of a run without a break, byte for byte. A run writes to `NAME.part`, copies
the records of unchanged files from the earlier result, and renames the file at its end.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from eyespan.errors import ReadError, Unsearched
from eyespan.escape import named_path, visible
from eyespan.extras.bulk.pool import Kept, read_found
from eyespan.extras.bulk.reading import Options, version_of
from eyespan.extras.bulk.record import SCHEMA
from eyespan.extras.bulk.walk import find_files, order

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


@dataclass(slots=True)
class ExportReport:
    """The counts of one run."""

    files: int = 0
    kept: int = 0
    records: int = 0
    errors: int = 0
    unsearched: list[str] = field(default_factory=list)
    """Targets without a file, and directories that were not searched to their end."""


Progress = Callable[[ExportReport], None] | None


def export_lines(
    workspace: Workspace,
    targets: Iterable[str],
    path: str,
    *,
    workers: int = 0,
    options: Options | None = None,
    on_progress: Progress = None,
) -> ExportReport:
    """Write JSON lines to a file; continue an earlier run.

    Raises: OSError if the file cannot be written.
    """
    part, resumed = f"{path}.part", f"{path}.resumed"
    if os.path.exists(part):
        with open(part, "rb") as left:
            _lock(left, part)
    if os.path.exists(part) and (not os.path.exists(resumed) or os.path.getsize(part) > os.path.getsize(resumed)):
        os.replace(part, resumed)  # a run begins with a copy of what the one before it had, so the longer one has more
    with ExitStack() as stack:
        names = [name for name in (resumed, path) if os.path.exists(name)]
        earlier = [_Earlier(stack.enter_context(open(name, "rb")), is_complete=name == path) for name in names]
        file = stack.enter_context(open(part, "wb"))
        _lock(file, part)
        report = write_lines(
            workspace, targets, file, workers=workers, options=options, on_progress=on_progress, earlier=earlier
        )
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    if os.path.exists(resumed):
        os.unlink(resumed)
    return report


def _lock(file: BinaryIO, path: str) -> None:
    """Lock a file until it is closed. Raises: OSError if another run writes it."""
    try:
        import fcntl
    except ImportError:
        return  # Windows refuses to replace a file that is open
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EAGAIN, "another export writes this file", path) from None


def export_table(
    workspace: Workspace,
    targets: Iterable[str],
    path: str,
    *,
    workers: int = 0,
    options: Options | None = None,
    on_progress: Progress = None,
) -> ExportReport:
    """Write a Parquet file with the columns of `SCHEMA`. The lines it was made of stay beside it, for a later run.

    Raises: OSError if a file cannot be written, or duckdb is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise OSError(0, "a Parquet file needs an optional package: pip install 'eyespan[tables]'") from None
    lines = f"{path}.jsonl"
    report = export_lines(workspace, targets, lines, workers=workers, options=options, on_progress=on_progress)
    types = {"string": "VARCHAR", "binary": "VARCHAR", "int32": "INTEGER"}
    columns = ", ".join([f"{name}: '{types[kind]}'" for name, kind in SCHEMA.items()])
    taken = {"binary": "from_base64({0}) AS {0}"}
    chosen = ", ".join([taken.get(kind, "{0}").format(name) for name, kind in SCHEMA.items()])
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        rows = f"read_json($lines, format='newline_delimited', columns={{{columns}}}, maximum_object_size=1073741824)"
        try:
            database.execute(f"CREATE VIEW records AS SELECT {chosen} FROM {rows}".replace("$lines", _quoted(lines)))
            database.execute(f"COPY records TO {_quoted(path)} (FORMAT parquet, COMPRESSION zstd)")
        except duckdb.Error as error:
            raise OSError(0, f"the table cannot be written: {str(error).splitlines()[0]}") from None
    return report


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def write_lines(
    workspace: Workspace,
    targets: Iterable[str],
    file: BinaryIO,
    *,
    workers: int = 0,
    options: Options | None = None,
    on_progress: Progress = None,
    earlier: Sequence[_Earlier] = (),
) -> ExportReport:
    """Write JSON lines to an open file, those of unchanged files as earlier results have them."""
    report, options = ExportReport(), options or Options()
    found = _found(workspace, targets, earlier, options, report)
    for records in read_found(workspace, found, options, workers=workers, ordered=True):
        if isinstance(records, Kept):
            report.kept += 1
            lines = records.lines
        else:
            report.errors += sum([record.is_error for record in records])
            lines = [_line(record.as_json()) for record in records]
        report.files += 1
        report.records += len(lines)
        file.writelines(lines)
        if on_progress is not None:
            on_progress(report)
    return report


def _found(
    workspace: Workspace, targets: Iterable[str], earlier: Sequence[_Earlier], options: Options, report: ExportReport
) -> Iterator[tuple[str, ReadError | Kept | None]]:
    """Yield the files of the walk, those that an earlier result has unchanged with their lines."""
    for path, error, identity in find_files(workspace, targets):
        if isinstance(error, Unsearched):
            report.unsearched.append(f"{visible(path)}: {error}")
        if error is not None or not earlier:
            yield path, error
            continue
        version = version_of(workspace, path, options, identity)
        kept = None
        for each in earlier:
            found = each.take(path)
            if kept is None and version and found and found[0] == version:
                kept = Kept(found[1])
        yield path, kept


class _Earlier:
    """The records of an earlier result, taken in the same order."""

    def __init__(self, file: BinaryIO, *, is_complete: bool) -> None:
        self._is_complete = is_complete
        self._file = file
        self._next = self._read()

    def _read(self) -> tuple[dict[str, Any], bytes] | None:
        line = self._file.readline()
        try:
            row: dict[str, Any] = json.loads(line)
            if not line.endswith(b"\n"):
                return None
            row["source"] = named_path(row["source"])
            return row, line
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # the end, or what a killed run has left of a line

    def take(self, path: str) -> tuple[str, list[bytes]] | None:
        """Return version and lines of a file, and pass over those before it; None if it has none, or not all."""
        wanted = order(path)
        while self._next is not None and order(self._next[0]["source"]) < wanted:
            self._next = self._read()
        lines: list[bytes] = []
        version = ""
        has_failed = False
        while self._next is not None and self._next[0]["source"] == path:
            row, line = self._next
            if row.get("part") != len(lines):
                has_failed = True
            version = str(row.get("version"))
            has_failed = has_failed or bool(row.get("error_code"))
            lines.append(line)
            self._next = self._read()
        if self._next is None and not self._is_complete:
            return None  # the run may have ended within this file
        return None if has_failed or not lines else (version, lines)


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
