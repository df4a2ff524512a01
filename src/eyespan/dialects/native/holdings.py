"""What callers hold: hashes of parts that they can send back, and the lines that a tool has shown.

A hash covers what was shown: the file, the start and the text, line by line. A caller that sends it back learns that
nothing changed, from the file alone: that needs no session. `Holdings` adds the lines of each part that this tool has
shown. With them, a part that overlaps a known one is sent without the lines that the caller holds, and edit tools learn
which lines changed or were never shown. A line is held only if its text and its end are those that were shown.

Twelve digits are 40 bits and cost four tokens (o200k has one for every three digits; eight hex digits take six). They
distinguish versions of a file, but are not a signature: collisions can be constructed.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from eyespan.dialects.native.rows import Row
    from eyespan.selectors import Target

DIGITS = 12
MAX_BYTES = 4 << 20
"""The lines that a tool remembers: some 260,000."""
LEAST_MOVED = 5
"""Fewer lines that stand elsewhere are sent again: a blank line or a brace stands everywhere."""


def digests(key: str, pieces: Iterable[str]) -> Iterator[str]:
    """Yield the hash of a growing text after each of its pieces."""
    state = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=8)
    for piece in pieces:
        state.update(piece.encode("utf-8", "surrogatepass"))
        yield f"{int.from_bytes(state.digest(), 'big') % 10**DIGITS:0{DIGITS}}"


def digest(key: str, pieces: Sequence[str]) -> str:
    """Return the hash of a text in pieces."""
    return next(digests(key, ["".join(pieces)]))


def hashed_lines(rows: Sequence[Row], shown: Sequence[str]) -> list[str]:
    """Return the pieces that the hash of rows is made of: each line as it is shown, after a gap with its place."""
    pieces: list[str] = []
    following = 0
    for row, text in zip(rows, shown, strict=True):
        start = "" if row.number == following else f"\0{row.number}:{row.column}\0"
        pieces.append(f"{start}{text}\r\n" if row.has_cr else f"{start}{text}\n")
        following = row.number + 1
    return pieces


def as_hash(value: object) -> str | None:
    """Return the hash that a caller sends, perhaps with `#` or as a number; None if it cannot be one."""
    if type(value) is int and 0 <= value < 10**DIGITS:
        return f"{value:0{DIGITS}}"
    if isinstance(value, str):
        digits = value.strip().rpartition("#")[2]
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            return digits.zfill(DIGITS)
    return None


def hash_row(row: Row, text: str) -> int:
    """Return a hash of a whole line and its end. Such hashes are compared within one process only."""
    return hash((text, row.has_cr, row.has_newline))


@dataclass(frozen=True, slots=True)
class ShownPart:
    """Lines of a file that were shown: their numbers and the hashes of their text."""

    target: Target
    """The selector of the text, without the lines."""
    numbers: array[int]
    hashes: array[int]

    @classmethod
    def of(cls, target: Target, rows: Sequence[Row], shown: Sequence[str]) -> ShownPart:
        """Return the whole lines among these rows."""
        whole = [(row, text) for row, text in zip(rows, shown, strict=True) if row.column == 1 and not row.is_cut]
        numbers = array("q", [row.number for row, _ in whole])
        return cls(target, numbers, array("q", [hash_row(row, text) for row, text in whole]))


class Holdings:
    """The parts that a tool has shown, by text and hash, the oldest first. Safe to use from several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._parts: dict[tuple[Hashable, str], ShownPart] = {}
        self._other: dict[str, None] = {}
        self._max_lines = max_bytes // 16
        self._lines = 0
        self._lock = Lock()

    def add(self, key: Hashable, value: str, part: ShownPart) -> None:
        """Add what was shown under this hash; drop the oldest parts if there are too many lines."""
        with self._lock:
            before = self._parts.pop((key, value), None)
            self._parts[key, value] = part
            self._lines += len(part.numbers) - (len(before.numbers) if before else 0)
            while self._lines > self._max_lines:
                oldest = next(iter(self._parts))
                self._lines -= len(self._parts.pop(oldest).numbers)

    def lines(self, key: Hashable, known: frozenset[str] | None = None) -> dict[int, int]:
        """Return the lines of a text that were shown, each with its hash; only those of known parts, if given."""
        with self._lock:
            parts = [
                part for (one, value), part in self._parts.items() if one == key and (known is None or value in known)
            ]
        found: dict[int, int] = {}
        for part in parts:
            found.update(zip(part.numbers, part.hashes, strict=True))
        return found

    def add_hash(self, value: str) -> None:
        """Add the hash of a part that is no text, such as an image."""
        with self._lock:
            self._other[value] = None

    def hashes(self) -> frozenset[str]:
        """Return the hashes of parts that are no texts."""
        with self._lock:
            return frozenset(self._other)

    def texts(self) -> dict[Hashable, Target]:
        """Return the texts that were shown, each with its selector."""
        with self._lock:
            return {key: part.target for (key, _), part in self._parts.items()}


class HeldRun(NamedTuple):
    """Rows that the caller holds: the first row, the number after the last, and how far up they stood before."""

    start: int
    end: int
    shift: int = 0


def held_rows(rows: Sequence[Row], shown: Sequence[str], held: Mapping[int, int]) -> list[HeldRun]:
    """Return the runs of rows whose text the caller holds, at the same place or moved as a block."""
    if not held:
        return []
    hashes = [hash_row(row, text) if row.is_whole else None for row, text in zip(rows, shown, strict=True)]
    shifts: list[int | None] = [
        0 if value is not None and held.get(row.number) == value else None
        for row, value in zip(rows, hashes, strict=True)
    ]
    places: dict[int, int] = {}
    for number, value in held.items():
        places[value] = number if value not in places else 0
    at = 0
    while at < len(rows):
        place = places.get(hashes[at] or 0, 0) if shifts[at] is None else 0
        end = at + 1
        if place:
            shift = place - rows[at].number
            while end < len(rows) and shifts[end] is None and held.get(rows[end].number + shift, 0) == hashes[end]:
                end += 1
            if end - at >= LEAST_MOVED:
                shifts[at:end] = [shift] * (end - at)
        at = end
    runs: list[HeldRun] = []
    for at, found in enumerate(shifts):
        if found is None:
            continue
        if runs and runs[-1].end == at and runs[-1].shift == found and rows[at].number == rows[at - 1].number + 1:
            runs[-1] = runs[-1]._replace(end=at + 1)
        else:
            runs.append(HeldRun(at, at + 1, found))
    return runs
