"""Content hashes that callers can send back, and the lines that changed since.

A hash covers what was shown: the file, the start and the text, line by line. A caller that sends it back learns that
nothing changed, from the file alone: there are no sessions. A small cache of the versions that were shown adds only the
names of the changed lines; for a version that it has dropped, the content is the same and this hint is missing.

Twelve digits are 40 bits and cost four tokens (o200k has one for every three digits; eight hex digits take six). They
distinguish versions of a file, but are not a signature: collisions can be constructed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from eyespan.caches import CacheTable

DIGITS = 12
HASH_BYTES = 8
MAX_BYTES = 1 << 20
"""The versions in the cache: 130,000 lines without gaps."""
MAX_COMPARED = 5_000
"""The lines of one version; a larger one is compared only at its two ends. In the worst case, lines that repeat a
hundred times, this takes half a second; twice as many take four times as long."""
MAX_NAMED = 8
"""The changed ranges that are named; the others are counted."""


class Digest:
    """The hash of a growing text, with a value after every line."""

    __slots__ = ("_state",)

    def __init__(self, path: str) -> None:
        self._state = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8)

    def start(self, line: int, column: int) -> None:
        """Start a range of text at a character of a line."""
        self._state.update(b"\0%d:%d\0" % (line, column))

    def add(self, text: str) -> None:
        """Add one line, or the part of it that is shown."""
        self._state.update(text.encode("utf-8", "surrogatepass") + b"\n")

    def add_all(self, texts: Iterable[str]) -> None:
        """Add several lines; the hash is the same as after adding each."""
        self._state.update("\n".join([*texts, ""]).encode("utf-8", "surrogatepass"))

    def add_lines(self, data: bytes, *, is_open: bool) -> None:
        """Add several lines in UTF-8 with their line feeds; `is_open`: the last one has none."""
        self._state.update(data + b"\n" if is_open else data)

    def value(self) -> str:
        """Return the hash of all text so far."""
        return f"{int.from_bytes(self._state.digest(), 'big') % 10**DIGITS:0{DIGITS}}"


def as_hash(value: object) -> str | None:
    """Return the hash that a caller sends, perhaps with `#` or as a number; None if it cannot be one."""
    if type(value) is int and 0 <= value < 10**DIGITS:
        return f"{value:0{DIGITS}}"
    if isinstance(value, str):
        digits = value.strip().lstrip("#")
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            return digits.zfill(DIGITS)
    return None


@dataclass(frozen=True, slots=True)
class Version:
    """Lines of a file that were shown: their numbers and the hashes of their text.

    Arrays and bytes take a quarter of the memory of tuples, in one piece. Numbers that live for hours among the objects
    of short answers would prevent a server from returning memory to the system.
    """

    numbers: array[int] | range
    hashes: bytes
    """The result of `hash_lines`."""

    @classmethod
    def of(cls, numbers: Sequence[int], texts: Sequence[str]) -> Version:
        """Return the version of these lines, none of which has a line feed."""
        data = "\n".join([*texts, ""]).encode("utf-8", "surrogatepass")
        return cls(numbers if isinstance(numbers, range) else array("q", numbers), hash_lines(data))

    @classmethod
    def of_lines(cls, first: int, hashes: bytes) -> Version:
        """Return the version of lines without a gap, from the result of `hash_lines`."""
        return cls(range(first, first + len(hashes) // HASH_BYTES), hashes)


def hash_lines(data: bytes | bytearray | memoryview) -> bytes:
    """Return a hash of each line without its line feed, eight bytes each. They are compared within one process only."""
    lines = bytes(data).split(b"\n")
    if not lines[-1]:
        lines.pop()
    return array("q", map(hash, lines)).tobytes()


class Versions:
    """A cache of the versions shown last, by file and hash. Bounded, and safe to use from several threads."""

    __slots__ = ("_versions",)

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._versions = CacheTable(max_bytes)

    def __contains__(self, key: tuple[str, str]) -> bool:
        """Return True if the version of a path and a hash is in the cache."""
        return key in self._versions

    def keep(self, path: str, value: str, version: Version) -> None:
        """Add what was shown under this hash; drop the oldest versions if they take too much memory."""
        numbers_bytes = 0 if isinstance(version.numbers, range) else HASH_BYTES * len(version.numbers)
        self._versions.put((path, value), version, len(version.hashes) + numbers_bytes)

    def changes(self, path: str, value: str, new: Version) -> str | None:
        """Return the lines that differ from the version of that hash, as text.

        None if that version is not in the cache, or starts at another line.
        """
        old: Version | None = self._versions.get((path, value))
        if old is None or not new.numbers or not old.numbers or old.numbers[0] != new.numbers[0]:
            return None
        return _described(_differences(old, new))


Difference = tuple[int, int, int]
"""The first line, the number of lines, and the number of lines before the change."""


def _differences(old: Version, new: Version) -> list[Difference]:
    a, b = array("q", old.hashes), array("q", new.hashes)
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    if not middle_a and not middle_b:
        return []
    if len(middle_a) > MAX_COMPARED or len(middle_b) > MAX_COMPARED or not middle_a or not middle_b:
        return [(_line_number(new, start), len(middle_b), len(middle_a))]
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=True)
    return [
        (_line_number(new, start + j1), j2 - j1, i2 - i1)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _line_number(version: Version, at: int) -> int:
    return version.numbers[at] if at < len(version.numbers) else version.numbers[-1] + 1


def _described(differences: Sequence[Difference]) -> str:
    names = []
    for first, count, before in differences[:MAX_NAMED]:
        if not count:
            names.append(f"{before} removed before {first}")
        elif count == 1:
            names.append(f"{first}")
        else:
            names.append(f"{first}-{first + count - 1}")
    if len(differences) > MAX_NAMED:
        names.append(f"and {len(differences) - MAX_NAMED} more")
    return ", ".join(names) or "none of these lines"
