"""Bulk reading on Dask: a bag of records. Needs `pip install dask`.

    from eyespan import Workspace
    from eyespan.bulk.dask import read_bag

    records = read_bag(Workspace("s3://bucket/docs"), ["."])
    records.map(json.dumps).to_textfiles("out/*.jsonl")

A record is a dictionary with the columns of `SCHEMA`, as a line of an export. A task reads some files, with the
workspace that it was sent. Dask repeats the tasks of a lost worker; a part of a file is identified by (source, version,
part), and each partition has a file of its own, so a repeated task replaces its file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eyespan.bulk.reading import MAX_BYTES, Options, failure, read_file
from eyespan.bulk.record import Record
from eyespan.bulk.walk import find_files

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


FILES_PER_PARTITION = 128


def read_bag(
    workspace: Workspace,
    targets: str | Iterable[str] = ".",
    *,
    files_per_partition: int = FILES_PER_PARTITION,
    max_bytes: int = MAX_BYTES,
    chunk_tokens: int = 0,
) -> Any:
    """Return a bag of records. This process walks the roots; the tasks read. A file that cannot be read has an error.

    The roots must lead to the same files on every worker: a shared file system or a bucket. `chunk_tokens` cuts texts
    into chunks, as `read_many` does.
    """
    import dask.bag

    bags: Any = dask.bag
    names = [targets] if isinstance(targets, str) else targets
    found = [(path, error and failure(path, error)) for path, error in find_files(workspace, names)]
    return bags.from_sequence(found, partition_size=files_per_partition).map_partitions(
        read_partition, workspace, Options(max_bytes, chunk_tokens)
    )


def read_partition(
    found: Iterable[tuple[str, Record | None]], workspace: Workspace, options: Options
) -> list[dict[str, Any]]:
    """Return the records of some files, as a task does. A file that could not be searched has its record already."""
    rows = []
    for path, failed in found:
        records = [failed] if failed is not None else read_file(workspace, path, options)
        rows += [record.as_json() for record in records]
    return rows
