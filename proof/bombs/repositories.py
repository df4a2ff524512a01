"""Bombs of git repositories: each is a directory with a working file, read at a revision."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from proof.bombs.texts import MB

BLOB, OFFSET_DELTA, HASH_DELTA = 3, 6, 7


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, group, function that makes it, selectors."""
    makers: dict[str, Callable[[Repository], None]] = {
        "blob": lambda to: to.commit(to.tree(to.add("blob", bytes(30 * MB)))),
        "tree": lambda to: to.commit(to.add("tree", _entry(b"a", "0" * 40) * 500_000)),
        "tree-name": lambda to: to.commit(to.add("tree", _entry(b"n" * 15 * MB, "0" * 40))),
        "parents": _make_parents,
        "commit": lambda to: to.commit(to.tree(to.add("blob", b"x\n")), b"x" * 15 * MB),
        "lines": lambda to: to.commit(to.tree(to.add("blob", b"x\n")), b"\n" * 15 * MB),
        "tags": _make_tags,
        "history": _make_history,
        "refs": _make_refs,
        "packed-refs": _make_packed_refs,
        "alternates": _make_alternates,
        "deltas": lambda to: to.pack_chain(5000),
        "copies": lambda to: to.pack_copies(),
        "hash-cycle": lambda to: to.pack_cycle(by_hash=True),
        "offset-cycle": lambda to: to.pack_cycle(by_hash=False),
        "pack-size": lambda to: to.pack_declared(1 << 40),
        "index": _make_index,
        "packs": _make_packs,
        "prefix": _make_prefix,
        "config": _make_config,
        "config-lines": _make_config_lines,
        "large-tags": _make_large_tags,
        "large-history": _make_large_history,
        "large-deltas": lambda to: to.pack_large_deltas(),
        "inserts": lambda to: to.pack_inserts(),
        "chains": lambda to: to.pack_chains(),
    }
    for name, make in makers.items():

        def write(path: Path, make: Callable[[Repository], None] = make) -> None:
            path.write_bytes(b"the working file\n")
            make(Repository(path.parent / ".git"))

        revisions = {
            **dict.fromkeys(("history", "large-history"), ("@HEAD~9999",)),
            **dict.fromkeys(("tags", "large-tags"), ("@t0",)),
            "prefix": ("@0000",),
            "chains": ("@abcd",),
            "refs": ("@b", "@x/y"),
        }
        yield f"git-{name}/f.txt", "git", write, *revisions.get(name, ("@HEAD", "@HEAD~2^2"))


def _entry(name: bytes, digest: str, mode: bytes = b"100644") -> bytes:
    return mode + b" " + name + b"\0" + bytes.fromhex(digest)


class Repository:
    """A repository that is written object by object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "objects" / "pack").mkdir(parents=True)
        (path / "refs" / "heads").mkdir(parents=True)
        (path / "HEAD").write_text("ref: refs/heads/main\n")
        (path / "config").write_text("[core]\n\trepositoryformatversion = 0\n")

    def add(self, kind: str, data: bytes, digest: str = "") -> str:
        """Write a loose object and return its hash; `digest` replaces the true one."""
        whole = f"{kind} {len(data)}".encode() + b"\0" + data
        digest = digest or hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        file = self.path / "objects" / digest[:2] / digest[2:]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(whole))
        return digest

    def tree(self, blob: str) -> str:
        """Write a tree that holds the working file."""
        return self.add("tree", _entry(b"f.txt", blob))

    def commit(self, tree: str, message: bytes = b"m\n", parents: tuple[str, ...] = ()) -> str:
        """Write a commit and let the branch point at it."""
        lines = f"tree {tree}\n" + "".join([f"parent {parent}\n" for parent in parents]) + "\n"
        digest = self.add("commit", lines.encode() + message)
        (self.path / "refs" / "heads" / "main").write_text(digest + "\n")
        return digest

    def pack(self, entries: list[tuple[str, bytes]], name: str = "a" * 40) -> None:
        """Write a pack of entries: hash, and the bytes of the entry. Its index is sorted by hash."""
        data = b"PACK" + struct.pack(">LL", 2, len(entries))
        places = []
        for digest, entry in entries:
            places.append((bytes.fromhex(digest), len(data)))
            data += entry
        data += hashlib.sha1(data, usedforsecurity=False).digest()
        places.sort()
        fanout = b"".join([struct.pack(">L", sum(digest[0] <= n for digest, _ in places)) for n in range(256)])
        index = b"\xfftOc" + struct.pack(">L", 2) + fanout + b"".join([digest for digest, _ in places])
        index += bytes(4 * len(places)) + b"".join([struct.pack(">L", offset) for _, offset in places]) + bytes(40)
        stem = self.path / "objects" / "pack" / f"pack-{name}"
        stem.with_suffix(".pack").write_bytes(data)
        stem.with_suffix(".idx").write_bytes(index)

    def pack_chain(self, count: int) -> None:
        """Write a file that is a chain of deltas, each of which copies the one before."""
        entries = [(_digest(0), _head(BLOB, 1000) + zlib.compress(b"x" * 1000))]
        sizes = [len(entries[0][1])]
        delta = _delta(1000, 1000, _copy(0, 1000))
        for number in range(1, count):
            entries.append(
                (_digest(number), _head(OFFSET_DELTA, len(delta)) + _offset(sizes[-1]) + zlib.compress(delta))
            )
            sizes.append(len(entries[-1][1]))
        self.pack(entries)
        self.commit(self.tree(_digest(count - 1)))

    def pack_copies(self) -> None:
        """Write a delta that copies 1 KB of its base many times: 16 MB from a few bytes, twenty times over."""
        entries = [(_digest(0), _head(BLOB, 65536) + zlib.compress(b"x" * 65536))]
        size = 65536
        for number in range(1, 20):
            times = 240 if number == 1 else 1
            delta = _delta(size, size * times, _copy(0, 65535) * times if number == 1 else _copy(0, 65535))
            base = entries[-1]
            entries.append(
                (_digest(number), _head(HASH_DELTA, len(delta)) + bytes.fromhex(base[0]) + zlib.compress(delta))
            )
            size = 65535 * times if number == 1 else 65535
        self.pack(entries)
        self.commit(self.tree(_digest(1)))

    def pack_cycle(self, *, by_hash: bool) -> None:
        """Write deltas that are based on each other."""
        delta = _delta(10, 10, _copy(0, 10))
        entries = []
        for number in (1, 2):
            base = bytes.fromhex(_digest(3 - number)) if by_hash else _offset(0)
            kind = HASH_DELTA if by_hash else OFFSET_DELTA
            entries.append((_digest(number), _head(kind, len(delta)) + base + zlib.compress(delta)))
        self.pack(entries)
        self.commit(self.tree(_digest(1)))

    def pack_large_deltas(self) -> None:
        """Write a file of nearly 16 MB that is a copy of a copy of a copy."""
        size = 15_900_000
        entries = [(_digest(0), _head(BLOB, size) + zlib.compress(b"x\n" * (size // 2)))]
        copies = b"".join([_copy(at, min(65535, size - at)) for at in range(0, size, 65535)])
        delta = _delta(size, size, copies)
        for number in range(1, 4):
            start = _head(OFFSET_DELTA, len(delta)) + _offset(len(entries[-1][1]))
            entries.append((_digest(number), start + zlib.compress(delta)))
        self.pack(entries)
        self.commit(self.tree(_digest(3)))

    def pack_inserts(self) -> None:
        """Write a file of 7 MB whose delta inserts it byte by byte."""
        delta = _delta(10, 7 * MB, b"\1\n" * 7 * MB)
        base = _head(BLOB, 10) + zlib.compress(b"x" * 10)
        changed = _head(OFFSET_DELTA, len(delta)) + _offset(len(base)) + zlib.compress(delta)
        self.pack([(_digest(0), base), (_digest(1), changed)])
        self.commit(self.tree(_digest(1)))

    def pack_chains(self) -> None:
        """Write many objects whose hashes begin alike, each of which is a delta of the next."""
        digests = [f"abcd{number:036x}" for number in range(4000, 0, -1)]
        delta = zlib.compress(_delta(10, 10, _copy(0, 10)))
        entries = [(digests[0], _head(BLOB, 10) + zlib.compress(b"x" * 10))]
        for base, digest in pairwise(digests):
            entries.append((digest, _head(HASH_DELTA, 10) + bytes.fromhex(base) + delta))
        self.pack(entries)
        self.commit(self.tree(self.add("blob", b"x\n")))

    def pack_declared(self, size: int) -> None:
        """Write a file whose entry declares far more bytes than it has."""
        self.pack([(_digest(1), _head(BLOB, size) + zlib.compress(b"x" * 1000))])
        self.commit(self.tree(_digest(1)))


def _digest(number: int) -> str:
    return hashlib.sha1(b"%d" % number, usedforsecurity=False).hexdigest()


def _head(kind: int, size: int) -> bytes:
    """Return the type and the size of an entry."""
    first = (kind << 4) | (size & 15)
    size >>= 4
    data = bytearray()
    while size:
        data.append(first | 0x80)
        first = size & 0x7F
        size >>= 7
    data.append(first)
    return bytes(data)


def _offset(distance: int) -> bytes:
    data = [distance & 0x7F]
    distance >>= 7
    while distance:
        distance -= 1
        data.insert(0, 0x80 | (distance & 0x7F))
        distance >>= 7
    return bytes(data)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(0x80 | (number & 0x7F))
        number >>= 7
    data.append(number)
    return bytes(data)


def _delta(base_size: int, size: int, commands: bytes) -> bytes:
    return _varint(base_size) + _varint(size) + commands


def _copy(offset: int, size: int) -> bytes:
    return bytes([0x80 | 0x0F | 0x30]) + struct.pack("<L", offset) + struct.pack("<H", size)


def _make_parents(to: Repository) -> None:
    tree = to.tree(to.add("blob", b"x\n"))
    to.commit(tree, parents=("0" * 40,) * 200_000)


def _make_tags(to: Repository) -> None:
    to.commit(to.tree(to.add("blob", b"x\n")))
    first, second = "1" * 40, "2" * 40
    to.add("tag", f"object {second}\ntype tag\ntag t\n\n".encode(), first)
    to.add("tag", f"object {first}\ntype tag\ntag t\n\n".encode(), second)
    (to.path / "refs" / "tags").mkdir()
    (to.path / "refs" / "tags" / "t0").write_text(first + "\n")


def _make_history(to: Repository) -> None:
    """Write a commit that is its own parent."""
    tree = to.tree(to.add("blob", b"x\n"))
    own = "3" * 40
    to.add("commit", f"tree {tree}\nparent {own}\n\nm\n".encode(), own)
    (to.path / "refs" / "heads" / "main").write_text(own + "\n")


def _make_refs(to: Repository) -> None:
    to.commit(to.tree(to.add("blob", b"x\n")))
    (to.path / "refs" / "heads" / "b").write_text("ref: refs/heads/c\n")
    (to.path / "refs" / "heads" / "c").write_text("ref: refs/heads/b\n")
    (to.path / "refs" / "heads" / "x").write_text("ref: " + "y" * 2 * MB)


def _make_packed_refs(to: Repository) -> None:
    to.commit(to.tree(to.add("blob", b"x\n")))
    (to.path / "refs" / "heads" / "main").unlink()
    lines = "".join([f"{'0' * 40} refs/heads/branch{number}\n" for number in range(120_000)])
    (to.path / "packed-refs").write_text(lines)


def _make_alternates(to: Repository) -> None:
    to.commit(to.tree(to.add("blob", b"x\n")))
    (to.path / "objects" / "info").mkdir()
    (to.path / "objects" / "info" / "alternates").write_text("../objects\n" * 100_000)
    (to.path / "refs" / "heads" / "main").write_text("4" * 40 + "\n")


def _make_index(to: Repository) -> None:
    """Write an index that declares four billion objects."""
    to.commit("5" * 40)
    stem = to.path / "objects" / "pack" / f"pack-{'b' * 40}"
    stem.with_suffix(".pack").write_bytes(b"PACK" + struct.pack(">LL", 2, 2**32 - 1))
    stem.with_suffix(".idx").write_bytes(b"\xfftOc" + struct.pack(">L", 2) + b"\xff" * 1024 + bytes(MB))


def _make_packs(to: Repository) -> None:
    for number in range(600):
        to.pack([(_digest(number), _head(BLOB, 1) + zlib.compress(b"x"))], name=_digest(number))
    to.commit(to.tree("6" * 40))


def _make_prefix(to: Repository) -> None:
    directory = to.path / "objects" / "00"
    directory.mkdir()
    for number in range(3000):
        (directory / f"00{number:036}").touch()


def _make_config(to: Repository) -> None:
    to.commit(to.tree(to.add("blob", b"x\n")))
    (to.path / "config").write_text("[extensions]\n" + "objectformat = sha256\n" * 100_000)
    (to.path / "commondir").write_text("../" * 300_000)


def _make_config_lines(to: Repository) -> None:
    to.commit(to.tree(to.add("blob", b"x\n")))
    (to.path / "config").write_text("a" + "\n" * MB + "b")


def _make_large_tags(to: Repository) -> None:
    digest = to.commit(to.tree(to.add("blob", b"x\n")))
    for number in range(15):
        digest = to.add("tag", f"object {digest}\ntype tag\ntag t{number}\n\n".encode() + b"m" * 15 * MB)
    (to.path / "refs" / "tags").mkdir()
    (to.path / "refs" / "tags" / "t0").write_text(digest + "\n")


def _make_large_history(to: Repository) -> None:
    """Write a commit of 15 MB that is its own parent."""
    tree = to.tree(to.add("blob", b"x\n"))
    own = "3" * 40
    to.add("commit", f"tree {tree}\nparent {own}\n\n".encode() + b"m\n" * 7 * MB, own)
    (to.path / "refs" / "heads" / "main").write_text(own + "\n")
