"""The second step: the rows that were read of what is wanted, as far as the budget could ever show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eyespan.dialects import redaction
from eyespan.dialects.native.items import counted
from eyespan.dialects.native.rows import Row, merged, rows_of
from eyespan.dialects.native.wanted import WHOLE, Wanted
from eyespan.model import CharRange, Facts, Tail, TextPart

if TYPE_CHECKING:
    from eyespan.dialects.native.holdings import HeldRun
    from eyespan.dialects.native.text import Text


MAX_ROWS = 50_000
"""The rows of one item, because short rows take far more memory than characters; the rest is left out."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows of a text: the beginning of what is wanted, or the end of the last lines."""

    wanted: Wanted
    """With ranges in file order that do not overlap."""
    facts: Facts
    rows: Sequence[Row]
    texts: Sequence[str]
    """The text shown for each row, with secrets replaced."""
    secrets: tuple[list[redaction.Secret], ...] | None
    """The secrets of each row, where they are looked for."""
    is_complete: bool
    """Everything wanted was read."""
    size_bytes: int
    """The size of the rows in UTF-8."""
    total_lines: int | None
    extra: dict[str, Any]
    has_changed: bool
    notes: tuple[str, ...]

    def without(self, held: Sequence[HeldRun]) -> Loaded:
        """Return it without rows that the caller holds."""
        is_held = [False] * len(self.rows)
        for run in held:
            is_held[run.start : run.end] = [True] * (run.end - run.start)
        kept = [at for at, one in enumerate(is_held) if not one]
        secrets = self.secrets
        return replace(
            self,
            rows=[self.rows[at] for at in kept],
            texts=[self.texts[at] for at in kept],
            secrets=None if secrets is None else tuple([secrets[at] for at in kept]),
        )


def load(text: Text, wanted: Wanted, max_chars: int, *, redacts: bool) -> Loaded:
    """Read what is wanted, at most `max_chars` characters of it.

    Raises: ReadError.
    """
    reading = _Reading(text, list(wanted.notes))
    ranges: tuple[CharRange, ...]
    if wanted.tail is not None:
        part = reading.read(Tail(min(wanted.tail, MAX_ROWS), max_bytes=max_chars))
        total = part.total_lines or 0
        last_lines = CharRange(max(1, total - wanted.tail + 1), 1, total)
        ranges = (last_lines,)
        is_complete = not part.cut_short and part.first_line <= last_lines.first
        if not total:
            reading.note_empty(1, 0)
    else:
        ranges = WHOLE.ranges if wanted.is_whole else tuple(merged(wanted.ranges))
        is_complete = _read_ranges(reading, ranges, max_chars)
    rows: Sequence[Row] = reading.rows
    secrets = _secrets(text, rows) if redacts else None
    if secrets is None:
        texts = [row.text for row in rows]
    else:
        rows = _without_open_end(rows)
        texts = [redaction.redacted(row.text, found) for row, found in zip(rows, secrets, strict=True)]
    return Loaded(
        wanted=wanted if wanted.ranges == ranges else replace(wanted, ranges=ranges),
        facts=text.facts,
        rows=rows,
        texts=texts,
        secrets=None if secrets is None else tuple(secrets),
        is_complete=is_complete,
        size_bytes=reading.size_bytes,
        total_lines=reading.total_lines,
        extra=reading.extra,
        has_changed=reading.has_changed,
        notes=tuple(reading.notes),
    )


def _read_ranges(reading: _Reading, ranges: Sequence[CharRange], max_chars: int) -> bool:
    """Read the ranges in order; return True if all of them were read."""
    left = max_chars
    for one in ranges:
        if left <= 0:
            return False
        most = left if one.max_chars is None else min(left, one.max_chars)
        rows_left = MAX_ROWS - len(reading.rows)
        last = one.first + rows_left - 1
        has_more_rows = one.last is None or one.last > last
        part = reading.read(CharRange(one.first, one.column, last if has_more_rows else one.last, most))
        left -= len(part.data)
        if not part.line_count:
            reading.note_empty(one.first, part.total_lines or 0)
        if part.cut_short and one.max_chars is None:
            return False
        if has_more_rows and part.line_count >= rows_left and part.total_lines != last:
            return False
    return True


class _Reading:
    """What several reads of one text add up to."""

    def __init__(self, text: Text, notes: list[str]) -> None:
        self._text = text
        self._facts = text.facts
        self.notes = notes
        self.rows: list[Row] = []
        self.size_bytes = 0
        self.total_lines: int | None = None
        self.extra: dict[str, Any] = {}
        self.has_changed = False

    def read(self, selection: CharRange | Tail) -> TextPart:
        part, document = self._text.read(selection)
        self.size_bytes += len(part.data)
        self.rows += rows_of(part)
        if part.total_lines is not None:
            self.total_lines = part.total_lines
        self.has_changed = self.has_changed or document.facts.changed
        if "line_chars" in document.extra:
            self.notes.append(f"line {part.first_line} has {counted(document.extra['line_chars'], 'character')}")
        self.extra.update(document.extra)
        return part

    def note_empty(self, line: int, total: int) -> None:
        """Note why a range has no lines: an empty file and a line past the end never look alike."""
        if total:
            self.notes.append(f"no line {line}: the file has {counted(total, 'line')}")
        else:
            self.notes.append("the file is empty" if not self._facts.size_bytes else "the file holds no text")


def _secrets(text: Text, rows: Sequence[Row]) -> list[list[redaction.Secret]]:
    """Return the secrets of each row, also those that begin before the first one."""
    lines = [row.text for row in rows]
    first = rows[0] if rows else None
    before = ""
    if first is not None and first.column > 1:
        start = max(1, first.column - redaction.MAX_SECRET_CHARS)
        part, _ = text.read(CharRange(first.number, start, first.number, first.column - start))
        before = part.data.decode("utf-8", "replace")
        lines[0] = before + lines[0]
    found = redaction.secrets(lines)
    if before:
        shift = len(before)
        found[0] = [(max(0, start - shift), end - shift, what) for start, end, what in found[0] if end > shift]
    return found


def _without_open_end(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows without the end of a cut line: a secret may continue after it, so the next call reads it."""
    last = rows[-1] if rows else None
    if last is None or not last.is_cut or len(last.text) <= redaction.MAX_SECRET_CHARS:
        return rows
    return [*rows[:-1], last._replace(text=last.text[: -redaction.MAX_SECRET_CHARS])]
