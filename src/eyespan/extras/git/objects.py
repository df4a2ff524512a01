"""Objects by hash: commits, tags and trees are read whole, the contents of files are decoded as they are read.

An object is looked for as a loose file until the packs have been opened, and in the packs first from then on, because a
repository with packs has most of its objects there.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from eyespan.context import CallContext
from eyespan.errors import Unreadable
from eyespan.extras.git.packs import KINDS, Pack, PackIndex, check_size, read_whole
from eyespan.extras.git.repository import Repository, corrupt
from eyespan.source import Source
from eyespan.sources import streams
from eyespan.sources.nested import DecodedSource, NestedSource
from eyespan.sources.streams import Stream

MAX_PACKS = 256
"""The most packs that are used; their indexes are open at the same time."""
MAX_PARENTS = 10_000
"""The most parents of one commit."""
TREE, SYMBOLIC_LINK, SUBMODULE = 0o40000, 0o120000, 0o160000
"""Modes of tree entries that are no files: directory, symbolic link, submodule."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The tree and the parents of a commit, by hash."""

    tree: str
    parents: tuple[str, ...]


class ObjectSource(NestedSource):
    """An object that is in memory. The source below gives the status only. The call pays until it is closed."""

    def __init__(
        self,
        below: Source,
        data: bytes | bytearray,
        *,
        path: str,
        key: Hashable,
        name: str | None,
        context: CallContext,
    ) -> None:
        """Raises: TooMuchMemory, Cancelled, TimedOut."""
        super().__init__(below, 0, len(data), path=path, key=key, kind="git", name=name)
        self._data = data
        self._context = context
        context.charge_source(len(data))

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        return bytes(memoryview(self._data)[offset : offset + size_bytes])

    def close(self) -> None:
        self._context.charge_source(-len(self._data))
        self._data = b""
        super().close()


class ObjectStore:
    """The objects of one repository. Each pack and each index is opened once and closed with the store."""

    def __init__(self, repository: Repository, context: CallContext) -> None:
        self.repository = repository
        self.context = context
        self._packs: list[Pack] | None = None

    def __enter__(self) -> ObjectStore:
        return self

    def __exit__(self, *_: object) -> None:
        for pack in self._packs or ():
            pack.close()

    # --- objects read whole ------------------------------------------------------------------------------------------

    @contextmanager
    def read(self, digest: str) -> Iterator[tuple[str, bytearray]]:
        """Lend the kind and the data of an object. Raises: Unreadable, and what reading raises."""
        self.context.check()
        with self.context.memory.loan():
            stored = self._find(digest)
            if isinstance(stored, _LooseObject):
                with stored.source:
                    kind, data = stored.read()
            else:
                kind, data = stored[0].read(stored[1])
            self.context.charge(len(data))
            yield kind, data
            data.clear()

    def kind_of(self, digest: str) -> str:
        """Return the kind of an object, or "" if it cannot be read."""
        self.context.check()
        try:
            stored = self._find(digest)
            if isinstance(stored, _LooseObject):
                with stored.source:
                    return stored.header()[0]
            pack, offset = stored
            return pack.kind_of(offset)
        except Unreadable:
            return ""

    def read_commit(self, digest: str) -> Commit:
        """Return a commit. Raises: Unreadable, and what reading raises."""
        with self.read(digest) as (kind, data):
            if kind != "commit":
                raise corrupt()
            return self.parse_commit(data)

    def parse_commit(self, data: bytearray) -> Commit:
        """Parse the data of a commit. Raises: Unreadable."""
        tree = self.header_hash(data, b"tree ")
        parents: list[str] = []
        at = data.find(b"\n") + 1
        # Parents follow the tree, so one line at a time is enough: a commit of 8 million lines is never a list.
        while at and data.startswith(b"parent ", at):
            end = data.find(b"\n", at)
            parent = data[at + 7 : end if end >= 0 else len(data)].decode("ascii", "replace")
            if not self.repository.is_hash(parent) or len(parents) >= MAX_PARENTS:
                raise corrupt()
            parents.append(parent)
            at = end + 1
        return Commit(tree, tuple(parents))

    def header_hash(self, data: bytearray, field: bytes) -> str:
        """Return the hash in the first line of a commit or tag. Raises: Unreadable."""
        line = data[: len(field) + 2 * self.repository.hash_bytes + 1].split(b"\n", 1)[0]
        word = line[len(field) :].decode("ascii", "replace")
        if not line.startswith(field) or not self.repository.is_hash(word):
            raise corrupt()
        return word

    def find_in_tree(self, digest: str, name: str) -> tuple[int, str] | None:
        """Return the mode and the hash of an entry of a tree, or None if it has no such entry.

        Raises: Unreadable, and what reading raises.
        """
        with self.read(digest) as (kind, data):
            if kind != "tree":
                raise corrupt()
            return self._find_entry(data, os.fsencode(name))

    def _find_entry(self, data: bytearray, wanted: bytes) -> tuple[int, str] | None:
        hash_bytes = self.repository.hash_bytes
        at = steps = 0
        while at < len(data):
            steps += 1
            if not steps & 0xFFFF:
                self.context.check()
            space = data.find(b" ", at, at + 8)
            end = data.find(b"\0", space)
            raw = data[end + 1 : end + 1 + hash_bytes]
            if space < 0 or end < 0 or len(raw) < hash_bytes or not data[at:space].isdigit():
                raise corrupt()
            if end - space - 1 == len(wanted) and data.startswith(wanted, space + 1):
                try:
                    return int(data[at:space], 8), raw.hex()
                except ValueError:
                    raise corrupt() from None
            at = end + 1 + hash_bytes
        return None

    def find_prefix(self, prefix: str) -> set[str]:
        """Return the hashes that start with `prefix`, at most a few of each pack."""
        digests = set()
        for directory in self.repository.object_directories:
            for name in self.repository.list_names(f"{directory}/{prefix[:2]}"):
                digest = prefix[:2] + name
                if digest.startswith(prefix) and self.repository.is_hash(digest):
                    digests.add(digest)
        for pack in self._open_packs():
            digests.update(pack.index.find_prefix(prefix))
        return digests

    # --- contents of files -------------------------------------------------------------------------------------------

    def open_blob(self, digest: str, *, path: str, name: str) -> NestedSource:
        """Open the contents of a file: decoded while they are read, or held in memory if they are stored as a delta.

        The source takes its pack over from the store. Raises: Unreadable, and what reading raises.
        """
        key = ("git", digest)
        stored = self._find(digest)
        if isinstance(stored, _LooseObject):
            try:
                kind, size, start = stored.header()
                if kind != "blob":
                    raise corrupt()
            except BaseException:
                stored.source.close()
                raise
            return NestedSource(stored.source, start, size, path=path, key=key, kind="git", name=name)
        pack, offset = stored
        entry = pack.entry(offset)
        if entry.base is None:
            if KINDS.get(entry.type) != "blob":
                raise corrupt()
            data = pack.release()
            packed_bytes = max(0, data.size_bytes - entry.start)
            packed = NestedSource(data, entry.start, packed_bytes, path=path, key=entry.start, kind="git")
            return DecodedSource(
                packed,
                _inflate,
                path=path,
                key=key,
                context=self.context,
                kind="git",
                declared=entry.size_bytes,
                name=name,
            )
        kind, contents = pack.read(offset)
        if kind != "blob":
            raise corrupt()
        return ObjectSource(pack.release(), contents, path=path, key=key, name=name, context=self.context)

    # --- the search --------------------------------------------------------------------------------------------------

    def _find(self, digest: str) -> _LooseObject | tuple[Pack, int]:
        """Find an object: loose, or in a pack at an offset. Raises: Unreadable."""
        searches = (self._find_loose, self._find_packed)
        for search in searches if self._packs is None else reversed(searches):
            stored = search(digest)
            if stored is not None:
                return stored
        raise Unreadable("", kind="git", reason="an object of this revision is missing from the repository")

    def _find_loose(self, digest: str) -> _LooseObject | None:
        for directory in self.repository.object_directories:
            source = self.repository.open_file(f"{directory}/{digest[:2]}/{digest[2:]}")
            if source is not None:
                return _LooseObject(source, self.context)
        return None

    def _find_packed(self, digest: str) -> tuple[Pack, int] | None:
        raw = bytes.fromhex(digest)
        for pack in self._open_packs():
            offset = pack.index.find(raw)
            if offset is not None and pack.exists():
                return pack, offset
        return None

    def _open_packs(self) -> list[Pack]:
        if self._packs is None:
            self._packs = []
            for directory in self.repository.object_directories:
                for name in self.repository.list_names(f"{directory}/pack"):
                    if name.startswith("pack-") and name.endswith(".idx") and len(self._packs) < MAX_PACKS:
                        self._open_pack(f"{directory}/pack/{name[:-4]}", self._packs)
        return self._packs

    def _open_pack(self, stem: str, packs: list[Pack]) -> None:
        source = self.repository.open_file(f"{stem}.idx")
        if source is None:
            return
        index = PackIndex(source, self.repository.hash_bytes)
        packs.append(Pack(index, lambda: self.repository.open_file(f"{stem}.pack"), self.context))
        if not index.is_supported():
            packs.pop().close()


class _LooseObject:
    """An object in a compressed file of its own: kind, size and NUL, then the data."""

    def __init__(self, source: Source, context: CallContext) -> None:
        self.source = DecodedSource(source, _inflate, path=source.path, key="loose", context=context, kind="git")
        self._context = context

    def header(self) -> tuple[str, int, int]:
        """Return the kind and the size of the data, and the offset of its start."""
        header, nul, _ = self.source.read_at(0, 64).partition(b"\0")
        kind, _, digits = header.partition(b" ")
        if not nul or not digits.isdigit() or len(digits) > 18:
            raise corrupt()
        return kind.decode("ascii", "replace"), int(digits), len(header) + 1

    def read(self) -> tuple[str, bytearray]:
        """Return the kind and the data, for which the caller pays."""
        kind, size, start = self.header()
        check_size(size)
        with self._context.memory.loan():
            self._context.charge(size)
            return kind, read_whole(lambda at, size_bytes: self.source.read_at(start + at, size_bytes), size)


def _inflate(below: Source, checkpoint: Any | None) -> Stream:
    return streams.Inflate(below, checkpoint, 15)
