"""Revisions: the syntax (`main~3^2`), the refs they name, and the commits they resolve to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from eyespan.context import CallContext
from eyespan.errors import NoRevision, Unreadable
from eyespan.extras.git.objects import Commit, ObjectStore
from eyespan.extras.git.repository import HEX_DIGITS, Repository, corrupt
from eyespan.source import Source

MAX_STEPS = 10_000
"""The most commits that `~n` goes back."""
MAX_TAGS = 16
"""The longest chain of tags of tags."""
MAX_SYMBOLIC_REFS = 5
MAX_PACKED_REFS_BYTES = 64 << 20
MAX_REF_LINE_BYTES = 1 << 16
REFS_BLOCK_BYTES = 1 << 16
"""A block of packed refs is split into lines, which take some three times its size."""
MIN_PREFIX_CHARS = 4
_FORBIDDEN = ("..", "@{", "//", "\\", ":", "?", "*", "[", " ", "~", "^")


@dataclass(frozen=True, slots=True)
class Revision:
    """A parsed revision: a name or hash, then steps to parents. A step is a parent's number and a count."""

    base: str
    steps: tuple[tuple[int, int], ...]


def resolve(objects: ObjectStore, revision: str) -> Commit:
    """Return the commit that a revision names.

    Raises: NoRevision, Unreadable, and what reading raises.
    """
    parsed = _parse(revision)
    commit = _peel(objects, _find_name(objects, parsed.base, revision), revision)
    left = MAX_STEPS
    for number, count in parsed.steps:
        for _ in range(count):
            left -= 1
            if left < 0:
                raise Unreadable("", kind="git", reason=f"the revision goes back more than {MAX_STEPS} commits")
            if number > len(commit.parents):
                raise NoRevision("", revision=revision, reason=f"{revision!r} goes back too far")
            commit = objects.read_commit(commit.parents[number - 1])
    return commit


def _parse(revision: str) -> Revision:
    at = min([place for sign in "~^" if (place := revision.find(sign)) > 0] or [len(revision)])
    base, rest = revision[:at], revision[at:]
    steps: list[tuple[int, int]] = []
    while rest:
        sign, rest = rest[0], rest[1:]
        if sign == "^" and rest.startswith("{"):
            kind, closed, rest = rest[1:].partition("}")
            if not closed or kind not in ("", "commit"):
                raise _unknown(revision)
            continue
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        rest = rest[len(digits) :]
        if sign not in "~^" or len(digits) >= 8 or (rest and rest[0] not in "~^"):
            raise _unknown(revision)
        count = int(digits) if digits else 1
        steps.append((1, count) if sign == "~" else (count, min(count, 1)))
    return Revision(base, tuple(steps))


def _find_name(objects: ObjectStore, name: str, revision: str) -> str:
    """Return the hash that a ref, a full hash or an abbreviated one stands for."""
    repository = objects.repository
    lower = name.lower()
    if repository.is_hash(lower):
        return lower
    if name == "@":
        name = "HEAD"
    if not _is_ref_name(name):
        raise _unknown(revision)
    if repository.uses_reftable:
        reason = "the repository stores its refs as reftables, which are not supported; use a full hash"
        raise Unreadable("", kind="git", reason=reason)
    candidates = [name] if name.replace("_", "").isupper() or name.startswith("refs/") else []
    candidates += [f"refs/{name}", f"refs/tags/{name}", f"refs/heads/{name}", f"refs/remotes/{name}"]
    candidates.append(f"refs/remotes/{name}/HEAD")
    with Refs(repository, objects.context) as refs:
        for candidate in candidates:
            digest = refs.find(candidate)
            if digest is not None:
                return digest
    if MIN_PREFIX_CHARS <= len(lower) < 2 * repository.hash_bytes and HEX_DIGITS.issuperset(lower):
        return _find_prefix(objects, lower, revision)
    raise _unknown(revision)


def _find_prefix(objects: ObjectStore, prefix: str, revision: str) -> str:
    """Return the one commit, or tag of one, whose hash starts with `prefix`."""
    digests = objects.find_prefix(prefix)
    if len(digests) > 1:
        digests = {digest for digest in digests if objects.kind_of(digest) in ("commit", "tag")}
    if len(digests) > 1:
        reason = f"{prefix!r} is the beginning of {len(digests)} commits; give more of the hash"
        raise NoRevision("", revision=revision, reason=reason)
    if not digests:
        raise _unknown(revision)
    return digests.pop()


def _peel(objects: ObjectStore, digest: str, revision: str) -> Commit:
    """Follow annotated tags to the commit they name."""
    for _ in range(MAX_TAGS):
        with objects.read(digest) as (kind, data):
            if kind == "commit":
                return objects.parse_commit(data)
            if kind != "tag":
                raise NoRevision("", revision=revision, reason=f"{revision!r} is a {kind}, not a commit")
            digest = objects.header_hash(data, b"object ")
    raise corrupt()


def _is_ref_name(name: str) -> bool:
    """Return True if git allows the name for a ref; such a name cannot leave the directory of refs."""
    return (
        bool(name)
        and name.isprintable()
        and not any(part in name for part in _FORBIDDEN)
        and all(part and part[0] != "." and not part.endswith(".lock") for part in name.split("/"))
    )


def _unknown(revision: str) -> NoRevision:
    return NoRevision("", revision=revision, reason=f"the repository has no revision {revision!r}")


class Refs:
    """The refs of a repository, loose and packed. The file of packed refs is opened once."""

    def __init__(self, repository: Repository, context: CallContext) -> None:
        self._repository = repository
        self._context = context
        self._packed: Source | None = None
        self._has_looked_for_packed = False

    def __enter__(self) -> Refs:
        return self

    def __exit__(self, *_: object) -> None:
        if self._packed is not None:
            self._packed.close()

    def find(self, name: str) -> str | None:
        """Return the hash that a ref leads to, through symbolic refs."""
        for _ in range(MAX_SYMBOLIC_REFS):
            text = self._repository.read_ref(name)
            if text is None:
                return self._find_packed(name)
            if not text.startswith("ref:"):
                word = text.split(None, 1)[0] if text else ""
                return word if self._repository.is_hash(word) else None
            name = text[4:].strip()
            if not _is_ref_name(name):
                return None
        return None

    def _find_packed(self, name: str) -> str | None:
        hash_chars = 2 * self._repository.hash_bytes
        wanted = b" " + os.fsencode(name)
        for line in self._packed_lines():
            if line.endswith(wanted) and len(line) == hash_chars + len(wanted):
                word = line[:hash_chars].decode("ascii", "replace")
                return word if self._repository.is_hash(word) else None
        return None

    def _packed_lines(self) -> Iterator[bytes]:
        if not self._has_looked_for_packed:
            self._has_looked_for_packed = True
            self._packed = self._repository.open_packed_refs()
        source = self._packed
        position, rest = 0, b""
        while source and position < MAX_PACKED_REFS_BYTES and (block := source.read_at(position, REFS_BLOCK_BYTES)):
            position += len(block)
            self._context.advance(position, source.size_bytes)
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
            if len(rest) > MAX_REF_LINE_BYTES:
                raise corrupt()
