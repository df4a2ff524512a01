"""Parquet files, decoded by duckdb: the schema, and rows.

duckdb never gets a path: it reads through an object with a single file, extensions are neither fetched nor loaded, and
the only statements are those below. Values are returned as text, so the file has no influence on the types made here.
"""

from __future__ import annotations

import ctypes
import datetime
import io
import os
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_up_to, unreadable
from eyespan.errors import Missing
from eyespan.escape import plural
from eyespan.extras.documents.tables import tabular

try:
    import duckdb
    from fsspec.spec import AbstractFileSystem
except ImportError:  # reported by `decode`
    duckdb = None  # type: ignore[assignment]  # there is no such module then
    AbstractFileSystem = object


_M_ARENA_MAX = -8
if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # glibc reserves 128 MiB of address space for each thread, and duckdb starts some: most of the limit of a job.
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
# duckdb takes the number of CPUs and the memory from these variables. Without them it looks for control groups, finds
# in the server's sandbox that it cannot open them, and aborts the process. The settings below are the ones that count.
os.environ["SLURM_CPUS_ON_NODE"], os.environ["SLURM_MEM_PER_NODE"] = "1", "192M"
_NAME = "eyespan://file"
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "192MB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "preserve_insertion_order": True,
}


class _OneFile(AbstractFileSystem):  # type: ignore[misc]  # its module has no types
    """A file system with a single file, which every path names."""

    protocol = "eyespan"
    cachable = False

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def open(self, path: str, mode: str = "rb", **_: Any) -> _BorrowedFile:
        self._file.seek(0)
        return _BorrowedFile(self._file)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": self._file.seek(0, io.SEEK_END), "type": "file"}

    def exists(self, path: str, **_: Any) -> bool:
        return True

    def isfile(self, path: str) -> bool:
        return True

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path]

    def modified(self, path: str) -> datetime.datetime:
        return datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)


class _BorrowedFile(io.RawIOBase):
    """The file, without closing it, and without short reads."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def read(self, size: int = -1) -> bytes:
        return read_up_to(self._file, size) if size >= 0 else self._file.read()


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the schema and `count` rows from row `first` on. Raises: Missing, Unreadable."""
    if duckdb is None:
        raise Missing("", what="reading Parquet files", install="pip install 'eyespan[tables]'")
    first, count = params["first"], params["count"]
    try:
        with duckdb.connect(":memory:", config=_SETTINGS) as database:
            database.register_filesystem(_OneFile(file))
            # Times are the same on every machine. After the second statement no setting can be changed.
            database.execute("set timezone = 'UTC'")
            database.execute("set enable_geoparquet_conversion = false")  # its checks refuse readable files
            database.execute("set lock_configuration = true")
            described = database.execute(f"describe select * from read_parquet('{_NAME}')").fetchall()
            columns = [(str(row[0]), str(row[1])) for row in described]
            known = database.execute(
                f"select num_rows, num_row_groups from parquet_file_metadata('{_NAME}')"
            ).fetchall()
            total, groups = int(known[0][0]), int(known[0][1])
            rows, problem = (
                tabular.RowTable([name for name, _ in columns], is_selected=params.get("windowed", False)),
                "",
            )
            if count and first <= total:
                wanted = f"select columns(*)::varchar from read_parquet('{_NAME}') limit ? offset ?"
                try:
                    cursor = database.execute(wanted, [count, first - 1])
                    while (row := cursor.fetchone()) is not None and rows.add(row):
                        pass
                except duckdb.Error as error:
                    problem = f"rows {first}-{min(total, first + count - 1)} cannot be decoded: {_reason(error)}"
    except duckdb.Error as error:
        raise unreadable(f"not a Parquet file, or a corrupt one: {_reason(error)}") from None
    size = f"{plural(len(columns), 'column')}, {plural(total, 'row')}"
    lines = [f"Parquet, {size}, {plural(groups, 'row group')}", f"columns: {tabular.columns_line(columns)}"]
    if problem:
        lines.append(problem)
    elif count:
        lines += ["", tabular.rows_line(first, rows.row_count, total), rows.text()]
    return tabular.described(lines, columns, rows, first=first, total=total, problem=problem)


def rehearse() -> None:
    """Decode a small file once, because duckdb imports modules when it first needs them."""
    if duckdb is None:
        return
    made = io.BytesIO()
    with duckdb.connect(":memory:", config=_SETTINGS) as database:
        database.register_filesystem(_OneFile(made))
        row = "select 1 as a, 'x' as b, timestamptz '2000-01-01' as c, [1] as d, {'k': 1.5::decimal(4, 1)} as e"
        database.execute(f"copy ({row}) to '{_NAME}' (format parquet, use_tmp_file false)")
    decode(made, {"first": 1, "count": 1})


def _reason(error: duckdb.Error) -> str:
    """Return the first line of duckdb's message; the others are hints about settings."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    text = text.replace(_NAME, "the file")[:200]
    return "decoding it takes more memory than is allowed" if "Out of Memory" in text else text
