"""Bulk reading on Ray Data: a dataset of records. Needs `pip install 'ray[data]'`.

    from eyespan import Workspace
    from eyespan.extras.bulk.ray import read_dataset

    records = read_dataset(Workspace("s3://bucket/docs"), ["."], actors=8)
    records.write_parquet("out")

Each actor holds a workspace of its own. Ray retries what a lost node had; a part of a file is identified by (source,
version, part), and the names of written files follow from the blocks, so a retried block replaces its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eyespan.extras.bulk.reading import MAX_BYTES, Options, failure, read_file, valid_record
from eyespan.extras.bulk.record import SCHEMA, Record
from eyespan.extras.bulk.walk import find_files

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


FILES_PER_BATCH = 32


class RayReader:
    """An actor: turns a batch of paths into a table of records."""

    def __init__(self, workspace: Workspace, max_bytes: int, chunk_tokens: int = 0) -> None:
        self._workspace = workspace
        self._options = Options(max_bytes, chunk_tokens)

    def __call__(self, batch: Any) -> Any:
        records = [
            record for path in batch["path"].tolist() for record in read_file(self._workspace, path, self._options)
        ]
        return _table(records)


def read_dataset(
    workspace: Workspace,
    targets: str | Iterable[str] = ".",
    *,
    actors: int = 2,
    max_bytes: int = MAX_BYTES,
    chunk_tokens: int = 0,
) -> Any:
    """Return a dataset with the columns of `SCHEMA`. The driver walks the roots; the actors read.

    `chunk_tokens` cuts texts into chunks, as `read_many` does.

    A workspace is sent as the texts of its roots, so that a node which replaces a lost one can open them again. They
    must lead to the same files on every node: a shared file system or a bucket.
    """
    import ray.data

    found = list(find_files(workspace, [targets] if isinstance(targets, str) else targets))
    paths = [{"path": path} for path, error, _ in found if error is None]
    failed = [valid_record(failure(path, error)) for path, error, _ in found if error is not None]
    blocks = max(actors, -(-len(paths) // (4 * FILES_PER_BATCH)))
    records = ray.data.from_items(paths, override_num_blocks=min(blocks, len(paths)) or 1).map_batches(
        RayReader,
        fn_constructor_args=(workspace, max_bytes, chunk_tokens),
        batch_size=FILES_PER_BATCH,
        compute=ray.data.ActorPoolStrategy(size=actors),
        num_cpus=1,
    )
    return records.union(ray.data.from_arrow(_table(failed))) if failed else records


def _table(records: list[Record]) -> Any:
    import pyarrow

    types = {"string": pyarrow.large_string(), "binary": pyarrow.large_binary(), "int32": pyarrow.int32()}
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in records] for name in SCHEMA}
    columns["facts"] = [json.dumps(dict(record.facts)) for record in records]
    return pyarrow.table({name: pyarrow.array(columns[name], types[kind]) for name, kind in SCHEMA.items()})
