"""Content hashes a caller can hold, and which lines changed since.

A hash stands for what was shown: the file, where it starts and the text, line by line. Whoever sends it back is told
that nothing changed, by nothing but the file itself: no session is kept. The small memory of versions that were shown
only adds which lines changed; when it has forgotten, the content is the same and the hint is missing.

Twelve digits are 40 bits, for four tokens (o200k has one for every three digits; eight hex digits take six). They tell
honest versions of a file apart; they are no signature against someone who looks for a collision.
"""

from __future__ import annotations

from _thread import allocate_lock

from eyespan.hashes import blake2b
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Sequence

DIGITS = 12
MAX_LINES = 200_000
"""Of all versions remembered: 3 MB."""
MAX_COMPARED = 5_000
"""Lines of one version; a larger one is compared only at its two ends. Lines that repeat a hundred times over, which is
the worst, take half a second then, and with every doubling four times as long."""
MAX_NAMED = 8


class Digest:
    """The hash of a growing piece of text, asked for at any line's end."""

    __slots__ = ("_state",)

    def __init__(self, path: str) -> None:
        self._state = blake2b()(path.encode("utf-8", "surrogateescape"), digest_size=8)

    def start(self, line: int, column: int) -> None:
        """What follows starts at this character of this line."""
        self._state.update(b"\0%d:%d\0" % (line, column))

    def add(self, text: str) -> None:
        """One line, or as much of it as is shown."""
        self._state.update(text.encode("utf-8", "surrogatepass") + b"\n")

    def value(self) -> str:
        return f"{int.from_bytes(self._state.digest(), 'big') % 10**DIGITS:0{DIGITS}}"


def as_hash(value: object) -> str | None:
    """A hash as a caller may spell it (with `#`, or as a number), or None if it cannot be one."""
    if type(value) is int and 0 <= value < 10**DIGITS:
        return f"{value:0{DIGITS}}"
    if isinstance(value, str):
        digits = value.strip().lstrip("#")
        if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS:
            return digits.zfill(DIGITS)
    return None


@record
class Version:
    """Lines of a file as they were shown: their numbers and what stood there, as hashes.

    Arrays, not tuples: a quarter of the memory, and in one piece. Numbers that live for hours, strewn among the objects
    of short answers, keep a server's memory from being given back.
    """

    numbers: array[int]
    hashes: array[int]

    @classmethod
    def of(cls, lines: Iterable[tuple[int, str]]) -> Version:
        from array import array

        pairs = list(lines)
        return cls(array("q", [number for number, _ in pairs]), array("q", [hash(text) for _, text in pairs]))


class Versions:
    """The versions shown last, by file and hash. Bounded, and safe to use from several threads."""

    __slots__ = ("_held", "_lines", "_lock", "max_lines")

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        self.max_lines = max_lines
        self._held: dict[tuple[str, str], Version] = {}
        self._lines = 0
        self._lock = allocate_lock()

    def keep(self, path: str, value: str, lines: Iterable[tuple[int, str]]) -> None:
        """Remembers what was shown under this hash; the oldest are forgotten for it."""
        key = (path, value)
        version = Version.of(lines)
        with self._lock:
            if key in self._held or len(version.numbers) > self.max_lines:
                return
            self._held[key] = version
            self._lines += len(version.numbers)
            while self._lines > self.max_lines:
                self._lines -= len(self._held.pop(next(iter(self._held))).numbers)

    def changes(self, path: str, value: str, lines: Sequence[tuple[int, str]]) -> str | None:
        """Which of these lines are not as they were under that hash, in words.

        None if that version is not held, or is one of other lines.
        """
        held = self._held.get((path, value))
        if held is None or not lines or not held.numbers or held.numbers[0] != lines[0][0]:
            return None
        return _in_words(_differences(held, Version.of(lines)))


def _differences(old: Version, new: Version) -> list[tuple[int, int, int]]:
    """What differs: first line and number of lines now, and how many lines it was before."""
    a, b = old.hashes, new.hashes
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
        return [(_number(new, start), len(middle_b), len(middle_a))]
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=True)
    return [
        (_number(new, start + j1), j2 - j1, i2 - i1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    ]


def _number(version: Version, at: int) -> int:
    return version.numbers[at] if at < len(version.numbers) else version.numbers[-1] + 1


def _in_words(differences: Sequence[tuple[int, int, int]]) -> str:
    said = []
    for first, count, before in differences[:MAX_NAMED]:
        if not count:
            said.append(f"{before} removed before {first}")
        elif count == 1:
            said.append(f"{first}")
        else:
            said.append(f"{first}-{first + count - 1}")
    if len(differences) > MAX_NAMED:
        said.append(f"and {len(differences) - MAX_NAMED} more")
    return ", ".join(said) or "none of these lines"
