"""Bulk reading on Ray: a dataset of records, or a directory of Parquet files. Needs `pip install 'ray[data]'`.

    from eyespan import Workspace
    from eyespan.extras.bulk.ray import export_dataset, read_dataset

    records = read_dataset(Workspace("s3://bucket/docs"), ["."], actors=8)
    export_dataset(Workspace("s3://bucket/docs"), ["."], "/shared/out", actors=8)

The walk is part of the job: the driver lists the upper levels of the targets, and tasks walk what is below. Each actor
holds a workspace of its own. Ray retries what a lost node had; a part of a file is identified by (source, version,
part).

An export writes one file for each chunk of the walk, under a name that follows from it. A retried chunk replaces its
file. An export that is started again, after its driver died or files have changed, keeps the chunks that are unchanged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

from eyespan.errors import ReadError
from eyespan.escape import written_path
from eyespan.extras.bulk.pool import Kept, read_found
from eyespan.extras.bulk.reading import MAX_BYTES, Options, valid_record, version_of
from eyespan.extras.bulk.record import SCHEMA, Record
from eyespan.extras.bulk.walk import find_files
from eyespan.guard.tree import Identity

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


CHUNK_FILES = 256
"""The files of one chunk of a walk, which one actor reads."""
MANIFEST = "_manifest.json"
"""Readers of Parquet pass over names that begin with an underscore."""
MIN_SHARDS = 32
MAX_LEVELS = 3
"""The driver lists directories until there are so many shards, at most so many levels deep."""
_FINGERPRINT = b"eyespan.fingerprint"


class RayWalker:
    """A task: turns a target into chunks of the files below it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, batch: Any) -> Iterator[dict[str, list[Any]]]:
        for target in batch["target"].tolist():
            found = find_files(self._workspace, [target])
            number = 0
            while chunk := list(islice(found, CHUNK_FILES)):
                name = blake2b(target.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
                rows = [
                    (path, "" if error is None else error.code, str(error or ""), identity)
                    for path, error, identity in chunk
                ]
                yield {"part": [f"part-{name}-{number:08}"], "files": [json.dumps(rows)]}
                number += 1


class RayReader:
    """An actor: turns chunks of files into tables of records."""

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self._workspace, self._options = workspace, options

    def __call__(self, batch: Any) -> Iterator[Any]:
        for files in batch["files"].tolist():
            yield self.table(_rows(files))

    def table(self, rows: list[tuple[str, str, str, Identity | None]]) -> Any:
        """Return the records of a chunk."""
        failed = [
            Record(path, selector=path, error_code=code, error_message=text) for path, code, text, _ in rows if code
        ]
        read = read_found(self._workspace, [(path, None) for path, code, *_ in rows if not code], self._options)
        records = [record for records in read if not isinstance(records, Kept) for record in records]
        return _table([*map(valid_record, failed), *records])


class RayWriter(RayReader):
    """An actor: writes chunks of files as Parquet files, unless they are there unchanged."""

    def __init__(self, workspace: Workspace, options: Options, directory: str) -> None:
        super().__init__(workspace, options)
        self._directory = directory

    def __call__(self, batch: Any) -> Iterator[Any]:
        for part, files in zip(batch["part"].tolist(), batch["files"].tolist(), strict=True):
            yield {name: [value] for name, value in self._write(part, _rows(files)).items()}

    def _write(self, part: str, rows: list[tuple[str, str, str, Identity | None]]) -> dict[str, Any]:
        from pyarrow import parquet

        path = os.path.join(self._directory, f"{part}.parquet")
        versions = [
            (name, code or version_of(self._workspace, name, self._options, identity))
            for name, code, _, identity in rows
        ]
        fingerprint = blake2b(json.dumps(versions).encode(), digest_size=16).hexdigest().encode()
        is_kept = os.path.exists(path) and (parquet.read_schema(path).metadata or {}).get(_FINGERPRINT) == fingerprint
        if not is_kept:
            table = self.table(rows)
            parquet.write_table(table.replace_schema_metadata({_FINGERPRINT: fingerprint}), f"{path}.{os.getpid()}.tmp")
            os.replace(f"{path}.{os.getpid()}.tmp", path)
        records = parquet.read_metadata(path).num_rows
        return {"file": f"{part}.parquet", "files": len(rows), "records": records, "is_kept": is_kept}


def read_dataset(
    workspace: Workspace,
    targets: str | Iterable[str] = ".",
    *,
    actors: int = 2,
    max_bytes: int = MAX_BYTES,
    chunk_tokens: int = 0,
) -> Any:
    """Return a dataset with the columns of `SCHEMA`. `chunk_tokens` cuts texts into chunks, as `read_many` does.

    A workspace is sent as the texts of its roots, so that a node which replaces a lost one can open them again. They
    must lead to the same files on every node: a shared file system or a bucket.
    """
    return _in_actors(workspace, targets, actors, RayReader, (workspace, Options(max_bytes, chunk_tokens)))


def export_dataset(
    workspace: Workspace,
    targets: str | Iterable[str],
    directory: str,
    *,
    actors: int = 2,
    max_bytes: int = MAX_BYTES,
    chunk_tokens: int = 0,
) -> dict[str, int]:
    """Write `part-*.parquet` and `_manifest.json` to a directory that all nodes share, and return the counts.

    The manifest names the files of a finished export. Files of an earlier export that it does not name are removed.
    """
    os.makedirs(directory, exist_ok=True)
    arguments = (workspace, Options(max_bytes, chunk_tokens), os.path.abspath(directory))
    parts = sorted(
        _in_actors(workspace, targets, actors, RayWriter, arguments).iter_rows(), key=lambda row: row["file"]
    )
    for name in set(os.listdir(directory)) - {MANIFEST, *[part["file"] for part in parts]}:
        if name.startswith("part-"):
            os.unlink(os.path.join(directory, name))
    counts = {name: sum([int(part[name]) for part in parts]) for name in ("files", "records", "is_kept")}
    counts = {"files": counts["files"], "records": counts["records"], "parts": len(parts), "kept": counts["is_kept"]}
    with open(os.path.join(directory, f"{MANIFEST}.tmp"), "w", encoding="utf-8") as file:
        json.dump({**counts, "schema": SCHEMA, "parts": parts}, file, default=bool)
    os.replace(os.path.join(directory, f"{MANIFEST}.tmp"), os.path.join(directory, MANIFEST))
    return counts


def _in_actors(
    workspace: Workspace, targets: str | Iterable[str], actors: int, reader: type[RayReader], arguments: tuple[Any, ...]
) -> Any:
    import ray.data

    names = [targets] if isinstance(targets, str) else targets
    shards = [{"target": shard} for shard in _shards(workspace, list(names))]
    chunks = ray.data.from_items(shards, override_num_blocks=min(len(shards), 200) or 1).map_batches(
        RayWalker(workspace), batch_size=1
    )
    return chunks.map_batches(
        reader, fn_constructor_args=arguments, batch_size=1, compute=ray.data.ActorPoolStrategy(size=actors), num_cpus=1
    )


def _shards(workspace: Workspace, targets: list[str]) -> list[str]:
    """Return files and directories, each of which a task walks, that contain the same as the targets."""
    for _ in range(MAX_LEVELS):
        if len(targets) < MIN_SHARDS:
            targets = [name for target in targets for name in _names_in(workspace, target)]
    return targets


def _names_in(workspace: Workspace, target: str) -> list[str]:
    """Return the names in a directory; the target itself if it is none, or holds files alone or very many."""
    try:
        listing = workspace.engine.list(target, hides_ignored=True) if not set("*?[") & set(target) else None
    except ReadError:
        listing = None
    if listing is None or listing.partial:
        return [target]
    count = sum([entry.what == "directory" for entry in listing.entries])
    if not count or len(listing.entries) - count > CHUNK_FILES:
        return [target]  # a shard for each file would be a part for each
    lead = "" if target in (".", "./") else f"{target.rstrip('/')}/"
    return [written_path(f"{lead}{entry.name}") for entry in listing.entries if entry.what != "link"]


def _rows(files: str) -> list[Any]:
    """Return the files of a chunk, as a walker wrote them."""
    try:
        rows: list[Any] = json.loads(files)
    except RecursionError:
        raise ValueError("not the files of a chunk") from None
    return rows


def _table(records: list[Record]) -> Any:
    import pyarrow

    types = {"string": pyarrow.string(), "binary": pyarrow.binary(), "int32": pyarrow.int32()}
    columns: dict[str, list[Any]] = {name: [getattr(record, name) for record in records] for name in SCHEMA}
    columns["facts"] = [json.dumps(dict(record.facts)) for record in records]
    return pyarrow.table({name: pyarrow.array(columns[name], types[kind]) for name, kind in SCHEMA.items()})
