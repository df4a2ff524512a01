"""Files of the past: `path@revision`, read out of the git repository in which the file lies.

Nothing is run. The repository is as untrusted as the rest of the workspace, and git itself obeys what a repository's
configuration says (monitors, filters, commands to fetch what is missing); here its files are only read, through the
guard, so what lies outside the roots stays there: a working copy whose repository is elsewhere cannot be asked for its
past. Understood are loose objects and packs (version 2), SHA-1 and SHA-256, worktrees, alternates, refs loose and
packed; of revisions: names, full and short hashes, `@`, `~n`, `^n`, `^{}` and `^{commit}`. Replacements and grafts are
not looked at.
"""

from __future__ import annotations

import os

from eyespan.errors import NoRevision, NotFound, NotRegular, OutsideRoot, ReadError, Unreadable
from eyespan.sources import streams
from eyespan.sources.nested import DecodedSource, HeldSource, NestedSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.context import CallContext
    from eyespan.guard import Guard
    from eyespan.model import ReadRequest
    from eyespan.source import Source

MAX_OBJECT_BYTES = 16 << 20
"""Of what has to be held whole: commits, folders, and files that are kept as differences."""
MAX_REF_BYTES = 4096
MAX_PACKED_REFS_BYTES = 64 << 20
MAX_STEPS = 10_000
"""Commits that `~n` goes back."""
MAX_DELTAS = 4096
MAX_TAGS = 16
MAX_ALTERNATES = 8
MAX_PACKS = 256
"""Their indexes are held open together."""

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFS_DELTA, _REF_DELTA = 6, 7
_DAMAGED = "the repository is damaged"
_NOT_THERE = "an object of this revision is not in the repository"
_HEX = frozenset("0123456789abcdef")


def open_at(guard: Guard, request: ReadRequest, context: CallContext) -> Source:
    """The file as it was in a revision.

    Raises: NoRevision, PolicyDenied, OutsideRoot, NotRegular, Unreadable, and what opening and reading raise.
    """
    root, rest = guard.admit(request.path, lexical=request.lexical)
    path = os.path.normpath(rest).replace(os.sep, "/")
    if path.startswith("../") or path in ("..", "."):
        raise OutsideRoot(request.path) if path != "." else NotRegular(request.path, what="directory")
    guard.policy.admit(path, request.path)
    try:
        repository, inner = _Repository.find(guard, root.path, path, request.path, request.revision, context)
        with repository:
            return repository.fetch(inner, request.revision, f"{path}@{request.revision}", path)
    except ReadError as error:
        error.path, error.relative = request.path, rest
        raise


class _Repository:
    """The files of one repository, opened as they are needed."""

    def __init__(self, guard: Guard, folder: str, asked: str, context: CallContext) -> None:
        self._guard = guard
        self._folder = folder
        """Of this working copy: HEAD and what else is its own."""
        self._asked = asked
        self._context = context
        common = self._text("commondir")
        self._common = os.path.join(folder, common) if common else folder
        config = (self._text("config", self._common, 1 << 20) or "").lower().replace(" ", "").replace("\t", "")
        self._hash_bytes = 32 if "objectformat=sha256" in config else 20
        self._reftable = "refstorage=reftable" in config
        self._stores = self._find_stores()
        self._indexes: list[tuple[str, Source]] | None = None

    @classmethod
    def find(
        cls, guard: Guard, root: str, path: str, asked: str, revision: str, context: CallContext
    ) -> tuple[_Repository, str]:
        """The repository of the innermost folder that has one, and the file's path in it. Raises: NoRevision."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            place = os.path.join(root, folder, ".git")
            inner = path[len(folder) + 1 :] if folder else path
            if _exists(guard, f"{place}/HEAD"):
                return cls(guard, place, asked, context), inner
            pointer = _small(guard, place, MAX_REF_BYTES)
            if pointer is not None and pointer.startswith("gitdir:"):
                target = os.path.join(root, folder, pointer[7:].strip())
                try:
                    if _exists(guard, f"{target}/HEAD"):
                        return cls(guard, target, asked, context), inner
                except OutsideRoot:
                    reason = "the repository of this working copy lies outside the workspace"
                    raise NoRevision(asked, revision=revision, reason=reason) from None
        raise NoRevision(asked, revision=revision, reason="it is in no git repository of the workspace")

    def __enter__(self) -> _Repository:
        return self

    def __exit__(self, *_: object) -> None:
        for pack in self._indexes or []:
            pack[1].close()

    def fetch(self, path: str, revision: str, name: str, plain_name: str) -> Source:
        tree = self._tree_of(self._resolve(revision))
        parts = path.split("/")
        for depth, part in enumerate(parts, 1):
            mode, found = self._entry(tree, part, revision)
            if depth < len(parts):
                if mode != 0o40000:
                    raise self._not_then(revision)
                tree = found
        if mode == 0o40000:
            raise NotRegular(self._asked, what="directory")
        if mode == 0o120000:
            raise self._unreadable("it was a symbolic link then; links of the past are not followed")
        if mode == 0o160000:
            raise NotRegular(self._asked, what="directory")
        source = self._open_blob(found, name, plain_name)
        source.asked = self._asked
        source.canonical = name
        return source

    # --- revisions -------------------------------------------------------------------------------------------------

    def _resolve(self, revision: str) -> str:
        """The commit that a revision names."""
        at = min([place for mark in "~^" if (place := revision.find(mark)) > 0] or [len(revision)])
        base, steps = revision[:at], revision[at:]
        found = self._peel(self._name(base, revision), revision)
        gone = 0
        while steps:
            mark, steps = steps[0], steps[1:]
            if steps.startswith("{") and mark == "^":
                kind, closed, steps = steps[1:].partition("}")
                if not closed or kind not in ("", "commit"):
                    raise self._unknown(revision)
                continue
            digits = steps[: len(steps) - len(steps.lstrip("0123456789"))]
            steps = steps[len(digits) :]
            count = int(digits) if digits and len(digits) < 8 else 1
            if mark not in "~^" or len(digits) >= 8 or (steps and steps[0] not in "~^"):
                raise self._unknown(revision)
            for _ in range(count if mark == "~" else min(count, 1)):
                gone += 1
                if gone > MAX_STEPS:
                    raise self._unreadable(f"it goes back more than {MAX_STEPS} commits")
                parents = self._parents(found)
                number = 1 if mark == "~" else count
                if number > len(parents):
                    raise NoRevision(self._asked, revision=revision, reason=f"{revision!r} goes back too far")
                found = parents[number - 1]
        return found

    def _name(self, name: str, revision: str) -> str:
        """The object that a name or a hash stands for."""
        full = 2 * self._hash_bytes
        lower = name.lower()
        if len(name) == full and _HEX.issuperset(lower):
            return lower
        if name == "@":
            name = "HEAD"
        if not _is_ref_name(name):
            raise self._unknown(revision)
        if self._reftable:
            raise self._unreadable("its refs are kept in tables, which are not supported; a full hash can be read")
        tries = [name] if name.replace("_", "").isupper() or name.startswith("refs/") else []
        tries += [f"refs/{name}", f"refs/tags/{name}", f"refs/heads/{name}", f"refs/remotes/{name}"]
        tries.append(f"refs/remotes/{name}/HEAD")
        for one in tries:
            found = self._ref(one)
            if found is not None:
                return found
        if 4 <= len(lower) < full and _HEX.issuperset(lower):
            return self._short(lower, revision)
        raise self._unknown(revision)

    def _ref(self, name: str) -> str | None:
        for _ in range(5):
            text = self._text(name) if self._common != self._folder else None
            if text is None:
                text = self._text(name, self._common)
            if text is None:
                return self._packed_ref(name)
            if not text.startswith("ref:"):
                word = text.split(None, 1)[0] if text.split() else ""
                return word if self._is_hash(word) else None
            name = text[4:].strip()
            if not _is_ref_name(name):
                return None
        return None

    def _packed_ref(self, name: str) -> str | None:
        source = self._source("packed-refs", self._common)
        if source is None:
            return None
        wanted = b" " + os.fsencode(name)
        with source:
            position, rest = 0, b""
            while position < MAX_PACKED_REFS_BYTES and (block := source.read_at(position, 1 << 20)):
                position += len(block)
                self._context.advance(position, source.size_bytes)
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    if line.endswith(wanted) and len(line) == 2 * self._hash_bytes + len(wanted):
                        word = line[: 2 * self._hash_bytes].decode("ascii", "replace")
                        return word if self._is_hash(word) else None
        return None

    def _short(self, prefix: str, revision: str) -> str:
        """The one commit (or tag of one) whose hash begins so."""
        found = set()
        for store in self._stores:
            for name in self._listed(f"{store}/{prefix[:2]}"):
                if (prefix[:2] + name).startswith(prefix) and self._is_hash(prefix[:2] + name):
                    found.add(prefix[:2] + name)
        for _, index in self._packs():
            found.update(_with_prefix(index, prefix, self._hash_bytes))
        commits = [one for one in found if self._kind(one) in ("commit", "tag")]
        if len(commits) > 1:
            reason = f"{prefix!r} is the beginning of {len(commits)} commits; give more of the hash"
            raise NoRevision(self._asked, revision=revision, reason=reason)
        if not commits:
            raise self._unknown(revision)
        return commits[0]

    def _peel(self, found: str, revision: str) -> str:
        for _ in range(MAX_TAGS):
            kind, data = self._object(found)
            if kind == "commit":
                return found
            if kind != "tag":
                raise NoRevision(self._asked, revision=revision, reason=f"{revision!r} is a {kind}, not a commit")
            found = self._field(data, b"object ")
        raise self._unreadable(_DAMAGED)

    def _parents(self, commit: str) -> list[str]:
        kind, data = self._object(commit)
        if kind != "commit":
            raise self._unreadable(_DAMAGED)
        head = data.split(b"\n\n", 1)[0]
        found = [line[7:].decode("ascii", "replace") for line in head.split(b"\n") if line.startswith(b"parent ")]
        if not all(map(self._is_hash, found)):
            raise self._unreadable(_DAMAGED)
        return found

    def _tree_of(self, commit: str) -> str:
        kind, data = self._object(commit)
        if kind != "commit":
            raise self._unreadable(_DAMAGED)
        return self._field(data, b"tree ")

    def _field(self, data: bytes, name: bytes) -> str:
        line = data.split(b"\n", 1)[0]
        word = line[len(name) :].decode("ascii", "replace")
        if not line.startswith(name) or not self._is_hash(word):
            raise self._unreadable(_DAMAGED)
        return word

    def _entry(self, tree: str, name: str, revision: str) -> tuple[int, str]:
        kind, data = self._object(tree)
        if kind != "tree":
            raise self._unreadable(_DAMAGED)
        wanted = os.fsencode(name)
        at = 0
        while at < len(data):
            space = data.find(b" ", at, at + 8)
            end = data.find(b"\0", space)
            digest = data[end + 1 : end + 1 + self._hash_bytes]
            if space < 0 or end < 0 or len(digest) < self._hash_bytes or not data[at:space].isdigit():
                raise self._unreadable(_DAMAGED)
            if data[space + 1 : end] == wanted:
                try:
                    return int(data[at:space], 8), digest.hex()
                except ValueError:
                    raise self._unreadable(_DAMAGED) from None
            at = end + 1 + self._hash_bytes
        raise self._not_then(revision)

    # --- objects ---------------------------------------------------------------------------------------------------

    def _object(self, digest: str) -> tuple[str, bytes]:
        """Kind and contents of an object that is held whole."""
        self._context.advance(0, 0)
        loose = self._loose(digest)
        if loose is not None:
            with loose:
                kind, size, start = self._loose_head(loose)
                self._check_size(size)
                data = loose.read_fully(start, size)
                if len(data) < size:
                    raise self._unreadable(_DAMAGED)
                return kind, data
        pack, offset = self._find_packed(digest)
        with pack:
            return self._packed(pack, offset)

    def _kind(self, digest: str) -> str:
        """What an object is; "" if that cannot be told."""
        self._context.check()
        try:
            loose = self._loose(digest)
            if loose is not None:
                with loose:
                    return self._loose_head(loose)[0]
            pack, offset = self._find_packed(digest)
            with pack:
                for _ in range(MAX_DELTAS):
                    number, _, _, base = self._pack_head(pack, offset)
                    if base is None:
                        return _KINDS.get(number, "")
                    offset = base
        except Unreadable:
            pass
        return ""

    def _open_blob(self, digest: str, name: str, plain_name: str) -> NestedSource:
        """A file's contents: decoded as they are read, or held where they are kept as a difference."""
        key = ("git", digest)
        loose = self._loose(digest)
        if loose is not None:
            try:
                kind, size, start = self._loose_head(loose)
                if kind != "blob":
                    raise self._unreadable(_DAMAGED)
                return NestedSource(loose, start, size, path=name, key=key, kind="git", name=plain_name)
            except BaseException:
                loose.close()
                raise
        pack, offset = self._find_packed(digest)
        try:
            number, size, start, base = self._pack_head(pack, offset)
            if base is None:
                if _KINDS.get(number) != "blob":
                    raise self._unreadable(_DAMAGED)
                piece = NestedSource(pack, start, max(0, pack.size_bytes - start), path=name, key=start, kind="git")
                make = lambda below, state: streams.Inflate(below, state, 15)  # noqa: E731  # one use, one line
                return DecodedSource(
                    *(piece, make),
                    path=name,
                    key=key,
                    context=self._context,
                    kind="git",
                    declared=size,
                    name=plain_name,
                )
            kind, data = self._packed(pack, offset)
            if kind != "blob":
                raise self._unreadable(_DAMAGED)
            return HeldSource(pack, data, path=name, key=key, kind="git", name=plain_name)
        except BaseException:
            pack.close()
            raise

    def _loose(self, digest: str) -> DecodedSource | None:
        for store in self._stores:
            source = self._source(f"{digest[:2]}/{digest[2:]}", store)
            if source is not None:
                make = lambda below, state: streams.Inflate(below, state, 15)  # noqa: E731
                return DecodedSource(source, make, path=source.path, key="loose", context=self._context, kind="git")
        return None

    def _loose_head(self, loose: Source) -> tuple[str, int, int]:
        """Kind and size of a loose object, and where its contents start."""
        head, nul, _ = loose.read_at(0, 64).partition(b"\0")
        kind, _, digits = head.partition(b" ")
        if not nul or not digits.isdigit() or len(digits) > 18:
            raise self._unreadable(_DAMAGED)
        return kind.decode("ascii", "replace"), int(digits), len(head) + 1

    def _packed(self, pack: Source, offset: int) -> tuple[str, bytes]:
        """Kind and contents of an object in a pack, put together from its differences."""
        deltas: list[tuple[int, int]] = []
        while True:
            self._context.advance(len(deltas), MAX_DELTAS)
            number, size, start, base = self._pack_head(pack, offset)
            self._check_size(size)
            if base is None:
                break
            deltas.append((start, size))
            if len(deltas) > MAX_DELTAS:
                raise self._unreadable(_DAMAGED)
            offset = base
        kind = _KINDS.get(number)
        if kind is None:
            raise self._unreadable(_DAMAGED)
        data = self._inflate(pack, start, size)
        for delta_start, delta_size in reversed(deltas):
            self._context.advance(0, 0)
            data = self._apply(data, self._inflate(pack, delta_start, delta_size))
        return kind, data

    def _pack_head(self, pack: Source, offset: int) -> tuple[int, int, int, int | None]:
        """Type and size of a pack's object, where its data start, and, for a difference, where its base is."""
        head = pack.read_fully(offset, 64)
        at = 0
        byte = self._byte(head, at)
        number, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = self._byte(head, at)
            size |= (byte & 0x7F) << shift
            shift += 7
        at += 1
        if number == _OFS_DELTA:
            byte = self._byte(head, at)
            back = byte & 0x7F
            while byte & 0x80:
                at += 1
                byte = self._byte(head, at)
                back = (back + 1) << 7 | byte & 0x7F
            if not 0 < back <= offset:
                raise self._unreadable(_DAMAGED)
            return number, size, offset + at + 1, offset - back
        if number == _REF_DELTA:
            digest = head[at : at + self._hash_bytes]
            base = None
            for name, index in self._packs():
                if f"{name}.pack" == pack.path.rpartition("/")[2]:
                    base = _look_up(index, digest, self._hash_bytes)
            if base is None:
                raise self._unreadable(_NOT_THERE)
            return number, size, offset + at + self._hash_bytes, base
        return number, size, offset + at, None

    def _byte(self, data: bytes, at: int) -> int:
        if at >= len(data):
            raise self._unreadable(_DAMAGED)
        return data[at]

    def _inflate(self, pack: Source, start: int, size: int) -> bytes:
        stream = streams.Inflate(pack, None, 15, start)
        data = bytearray()
        try:
            while len(data) < size and (more := stream.read(size - len(data))):
                data += more
        except streams.Broken:
            raise self._unreadable(_DAMAGED) from None
        if len(data) < size:
            raise self._unreadable(_DAMAGED)
        return bytes(data)

    def _apply(self, base: bytes, delta: bytes) -> bytes:
        """What a difference makes of its base: pieces copied from it and pieces of its own, in order."""
        told, at = self._varint(delta, 0)
        size, at = self._varint(delta, at)
        self._check_size(size)
        if told != len(base):
            raise self._unreadable(_DAMAGED)
        made = bytearray()
        end = len(delta)
        steps = 0
        while at < end:
            steps += 1
            if not steps & 0xFFF:
                self._context.check()
            order = delta[at]
            at += 1
            if order & 0x80:
                offset = length = 0
                for bit in range(7):
                    if order >> bit & 1:
                        byte = self._byte(delta, at)
                        at += 1
                        if bit < 4:
                            offset |= byte << 8 * bit
                        else:
                            length |= byte << 8 * (bit - 4)
                length = length or 0x10000
                if offset + length > len(base):
                    raise self._unreadable(_DAMAGED)
                made += base[offset : offset + length]
            elif order and at + order <= end:
                made += delta[at : at + order]
                at += order
            else:
                raise self._unreadable(_DAMAGED)
            if len(made) > size:
                raise self._unreadable(_DAMAGED)
        if len(made) != size:
            raise self._unreadable(_DAMAGED)
        return bytes(made)

    def _varint(self, data: bytes, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = self._byte(data, at)
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value, at
            if shift > 63:
                raise self._unreadable(_DAMAGED)

    def _find_packed(self, digest: str) -> tuple[Source, int]:
        raw = bytes.fromhex(digest)
        for name, index in self._packs():
            offset = _look_up(index, raw, self._hash_bytes)
            if offset is not None:
                for store in self._stores:
                    pack = self._source(f"pack/{name}.pack", store)
                    if pack is not None:
                        return pack, offset
        raise self._unreadable(_NOT_THERE)

    def _packs(self) -> list[tuple[str, Source]]:
        """The names of the packs with their indexes, opened once."""
        if self._indexes is None:
            self._indexes = []
            for store in self._stores:
                for name in self._listed(f"{store}/pack"):
                    if name.startswith("pack-") and name.endswith(".idx") and len(self._indexes) < MAX_PACKS:
                        source = self._source(f"pack/{name}", store)
                        if source is None:
                            continue
                        self._indexes.append((name[:-4], source))
                        if source.read_fully(0, 8) != b"\xfftOc\0\0\0\2":
                            self._indexes.pop()
                            source.close()
        return self._indexes

    def _find_stores(self) -> list[str]:
        """Where objects are: of this repository, and of those it borrows from, if they lie in the workspace."""
        stores = [f"{self._common}/objects"]
        for store in stores:
            for line in (self._text("info/alternates", store, 1 << 16) or "").splitlines():
                path = os.path.normpath(os.path.join(store, line.strip()))
                if line.strip() and not line.startswith("#") and path not in stores and len(stores) < MAX_ALTERNATES:
                    stores.append(path)
        return stores

    # --- files -----------------------------------------------------------------------------------------------------

    def _source(self, name: str, folder: str) -> Source | None:
        """A file of the repository; None if it is not there, or not in the workspace."""
        try:
            return self._guard.open(f"{folder}/{name}")
        except (NotFound, NotRegular, OutsideRoot):
            return None

    def _text(self, name: str, folder: str | None = None, most: int = MAX_REF_BYTES) -> str | None:
        return _small(self._guard, f"{folder or self._folder}/{name}", most)

    def _listed(self, folder: str) -> list[str]:
        try:
            return [entry.name for entry in self._guard.list_beneath(folder).entries]
        except (NotFound, NotRegular, OutsideRoot):
            return []

    def _is_hash(self, word: str) -> bool:
        return len(word) == 2 * self._hash_bytes and _HEX.issuperset(word)

    def _check_size(self, size: int) -> None:
        if size > MAX_OBJECT_BYTES:
            raise self._unreadable(f"it is larger than the {MAX_OBJECT_BYTES >> 20} MiB that can be put together")

    def _unreadable(self, reason: str) -> Unreadable:
        return Unreadable(self._asked, kind="git", reason=reason)

    def _unknown(self, revision: str) -> NoRevision:
        return NoRevision(self._asked, revision=revision, reason=f"the repository has no revision {revision!r}")

    def _not_then(self, revision: str) -> NoRevision:
        return NoRevision(self._asked, revision=revision, reason=f"it was not there at revision {revision!r}")


# --- indexes of packs ------------------------------------------------------------------------------------------------

_FANOUT, _HASHES = 8, 8 + 256 * 4


def _bucket(index: Source, first: int) -> tuple[int, int, int]:
    """The hashes that begin with a byte: from which to which, and how many there are of all."""
    fanout = index.read_fully(_FANOUT, 256 * 4)
    if len(fanout) < 256 * 4:
        return 0, 0, 0
    low = int.from_bytes(fanout[4 * first - 4 : 4 * first], "big") if first else 0
    return low, int.from_bytes(fanout[4 * first : 4 * first + 4], "big"), int.from_bytes(fanout[-4:], "big")


def _look_up(index: Source, digest: bytes, hash_bytes: int) -> int | None:
    """Where in its pack an object is, by a search that halves what is left."""
    low, high, total = _bucket(index, digest[0])
    while low < high:
        middle = (low + high) // 2
        found = index.read_fully(_HASHES + middle * hash_bytes, hash_bytes)
        if found == digest:
            return _offset(index, middle, total, hash_bytes)
        if len(found) < hash_bytes:
            return None
        if found < digest:
            low = middle + 1
        else:
            high = middle
    return None


def _offset(index: Source, number: int, total: int, hash_bytes: int) -> int | None:
    start = _HASHES + total * (hash_bytes + 4)
    small = int.from_bytes(index.read_fully(start + 4 * number, 4), "big")
    if not small & 0x80000000:
        return small
    large = index.read_fully(start + 4 * total + 8 * (small & 0x7FFFFFFF), 8)
    return int.from_bytes(large, "big") if len(large) == 8 else None


def _with_prefix(index: Source, prefix: str, hash_bytes: int) -> Iterator[str]:
    """At most a handful of the hashes that begin so: more are one too many anyway."""
    low, high, _ = _bucket(index, int(prefix[:2], 16))
    least = bytes.fromhex(prefix.ljust(2 * hash_bytes, "0"))
    while low < high:
        middle = (low + high) // 2
        if index.read_fully(_HASHES + middle * hash_bytes, hash_bytes) < least:
            low = middle + 1
        else:
            high = middle
    for number in range(low, low + 64):
        found = index.read_fully(_HASHES + number * hash_bytes, hash_bytes).hex()
        if not found.startswith(prefix):
            return
        yield found


# --- small things ----------------------------------------------------------------------------------------------------


def _is_ref_name(name: str) -> bool:
    """Whether a name can be a ref's: no way out of the folder of refs, nothing that git itself forbids."""
    return (
        bool(name)
        and name.isprintable()
        and not any(mark in name for mark in ("..", "@{", "//", "\\", ":", "?", "*", "[", " ", "~", "^"))
        and all(part and part[0] != "." and not part.endswith(".lock") for part in name.split("/"))
    )


def _exists(guard: Guard, path: str) -> bool:
    try:
        guard.open(path).close()
    except (NotFound, NotRegular):
        return False
    return True


def _small(guard: Guard, path: str, most: int) -> str | None:
    """The text of a small file; None if there is none, or it is too large to be what it should be."""
    try:
        source = guard.open(path)
    except (NotFound, NotRegular, OutsideRoot):
        return None
    with source:
        data = source.read_fully(0, most + 1)
    return data.decode("utf-8", "replace").strip() if len(data) <= most else None
