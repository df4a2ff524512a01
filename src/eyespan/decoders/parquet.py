"""Parquet files by duckdb: the schema, and rows.

duckdb never sees a path of the machine: it reads through an object that knows one file and no other, extensions are
neither fetched nor loaded, and the only statements are those below. Values come back as text, so that nothing of the
file chooses what is made of them here.
"""

from __future__ import annotations

import ctypes
import datetime
import io
import os
import sys
from typing import TYPE_CHECKING, Any

from eyespan.decoders import tabular
from eyespan.errors import Missing, Unreadable

try:
    import duckdb
    from fsspec.spec import AbstractFileSystem
except ImportError:  # told by `decode`
    duckdb = None  # type: ignore[assignment]  # there is no such module then
    AbstractFileSystem = object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

_M_ARENA_MAX = -8
if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # The C library sets 128 MiB of address space aside for each thread, and duckdb starts some: most of what a job has.
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
# Give duckdb the size of the machine. Inside the server's sandbox it would find the files of the control groups, fail
# to open them, and abort the process. The settings below are what counts.
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
    """A file system with a single file in it, whatever it is asked for."""

    protocol = "eyespan"
    cachable = False

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file

    def open(self, path: str, mode: str = "rb", **_: Any) -> _Lent:
        self._file.seek(0)
        return _Lent(self._file)

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


class _Lent(io.RawIOBase):
    """The file, which stays open when this is closed; a read gives all that was asked for."""

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
        data = self._file.read(size)
        while data and len(data) < size and (more := self._file.read(size - len(data))):
            data += more
        return data


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """`first` and `count` say which rows.

    Raises: Missing, Unreadable.
    """
    if duckdb is None:
        raise Missing("", what="reading Parquet files", install="pip install 'eyespan[tables]'")
    first, count = params["first"], params["count"]
    try:
        with duckdb.connect(":memory:", config=_SETTINGS) as database:
            database.register_filesystem(_OneFile(file))
            # Times are told the same everywhere; from here on nothing of this can be changed, by whatever trick.
            database.execute("set timezone = 'UTC'")
            database.execute("set lock_configuration = true")
            described = database.execute(f"describe select * from read_parquet('{_NAME}')").fetchall()
            columns = [(str(row[0]), str(row[1])) for row in described]
            known = database.execute(
                f"select num_rows, num_row_groups from parquet_file_metadata('{_NAME}')"
            ).fetchall()
            total, groups = int(known[0][0]), int(known[0][1])
            rows = []
            if count and first <= total:
                wanted = f"select columns(*)::varchar from read_parquet('{_NAME}') limit ? offset ?"
                rows = database.execute(wanted, [count, first - 1]).fetchall()
    except duckdb.Error as error:
        raise _unreadable(error) from None
    text, fit = tabular.table([name for name, _ in columns], rows)
    size = f"{tabular.plural(len(columns), 'column')}, {tabular.plural(total, 'row')}"
    lines = [f"Parquet, {size}, {tabular.plural(groups, 'row group')}", f"columns: {tabular.columns_line(columns)}"]
    if count:
        lines += ["", tabular.rows_line(first, fit, total), text if fit else ""]
    facts = {
        "columns": [{"name": name[:200], "type": kind[:200]} for name, kind in columns[: tabular.MAX_COLUMNS]],
        "total_rows": total,
        "rows_returned": [first, first + fit - 1] if fit else None,
    }
    return facts, ["\n".join(lines).rstrip("\n").encode("utf-8", "replace")]


def rehearse() -> None:
    """Everything once, on a file of its own: duckdb imports and looks up things when it first needs them."""
    if duckdb is None:
        return
    made = io.BytesIO()
    with duckdb.connect(":memory:", config=_SETTINGS) as database:
        database.register_filesystem(_OneFile(made))
        row = "select 1 as a, 'x' as b, timestamptz '2000-01-01' as c, [1] as d, {'k': 1.5::decimal(4, 1)} as e"
        database.execute(f"copy ({row}) to '{_NAME}' (format parquet, use_tmp_file false)")
    decode(made, {"first": 1, "count": 1})


def _unreadable(error: duckdb.Error) -> Unreadable:
    """Without what duckdb adds to its messages: hints, and words about settings."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    text = text.replace(_NAME, "the file")[:200]
    if "Out of Memory" in text:
        text = "decoding it takes more memory than is allowed"
    return Unreadable("", kind="parquet", reason=f"it is damaged, or no Parquet file: {text}")
