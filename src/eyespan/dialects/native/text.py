"""Text in the native tool: what is wanted of a file, what was read of it, how much fits, and what stands beside it."""

from __future__ import annotations

from eyespan import errors, tokens
from eyespan.dialects.native import redaction, text_facts
from eyespan.dialects.native.gutter import Row, fitting, fitting_end
from eyespan.dialects.native.parts import LEAST_TOKENS, LEFT_TOKENS, NOTE, Part, Shown, counted, visible
from eyespan.dialects.native.spans import Span, behind, extent, merged, rows_of, stretches
from eyespan.dialects.native.versions import Digest
from eyespan.model import CHEAP_TOTAL, EXACT_TOTAL, MIB, CharRange, Lines, Tail
from eyespan.record import record
from eyespan.selectors import Chars, Place, write_range, write_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from eyespan.dialects.native.call import Call
    from eyespan.model import Document, Facts, TextPart
    from eyespan.outline import Outline
    from eyespan.selectors import Range, Target

AROUND_LINES = 5
AROUND_CHARS = 500
LONG_LINE_CHARS = 2000
"""A place in a longer line is shown with the characters around it, else with the lines around it."""
OUTLINE_BYTES = 2 * MIB
OUTLINE_SHARE = 0.5
"""Of what a large source file gets, at most this much is its outline; the rest is its head."""


@record
class Drawn:
    """Text ready to be shown: its lines, the rows among them and their hash, and what is left to read."""

    lines: list[str]
    rows: list[Row]
    value: str
    left: list[Span]
    unchanged: bool = False


class TextFile(Part):
    """Pieces of one text."""

    def __init__(self, call: Call, target: Target, facts: Facts, note: str = "") -> None:
        self.call = call
        self.target = target
        """With the part of a document that the text is of, if it is of one."""
        self.base = write_target(target)
        self.key = (facts.canonical, self.base[len(target.path) :])
        self.style = call.dialect.style
        self.whole = False
        self.symbol = ""
        self.tail: int | None = None
        """Only the last lines are wanted, the very last ones first."""
        self.wanted: list[Span] = []
        self._facts = facts
        self._notes: list[str] = [note] if note else []
        self._rows: list[Row] = []
        """What was read of what is wanted: its beginning, or, of the last lines, its end."""
        self._texts: list[str] = []
        """What is shown for each row."""
        self._marks: list[list[redaction.Span]] | None = None
        self._all = True
        """Everything wanted was read."""
        self._total: int | None = None
        self._extra: dict[str, Any] = {}
        self._changed = False
        self._outline: Outline | None = None
        self._full: Drawn | None = None
        self._full_tokens = 0
        self._held_rows = -1
        self._held_value = ""

    # --- what is wanted --------------------------------------------------------------------------------------------

    def want(self, ranges: Sequence[Range]) -> None:
        """All of the text, if nothing else is said."""
        if not ranges:
            self.whole = True
        if len(ranges) == 1 and isinstance(ranges[0], Tail):
            self.tail = ranges[0].count
            return
        for one in ranges:
            match one:
                case Lines(first, count):
                    self.wanted.append(Span(first, 1, None if count is None else first + count - 1))
                case Chars(first, column, last):
                    self.wanted.append(Span(first, column, last))
                case Tail(count):
                    self.wanted.append(self._last_lines(count))
                case Place(line, column):
                    self.wanted.append(self._around(line, column))

    def want_symbol(self, name: str) -> None:
        from eyespan.outline import find, nearest

        outline = self.outline()
        found = find(outline, name)
        if not found:
            suggestions = [f"{self.base}::{symbol.qualified}" for symbol in nearest(outline, name)]
            raise errors.NoSymbol(self.target.path, symbol=name, suggestions=suggestions)
        self.wanted += [Span(symbol.first, 1, symbol.last) for symbol in found]
        self.symbol = found[0].qualified if len(found) == 1 else name
        if len(found) > 1:
            self._notes.append(f"{len(found)} symbols are named {name}")

    def add(self, other: TextFile) -> None:
        """Takes over what another target wants of the same file."""
        for file in (self, other):
            if file.tail is not None:
                file.wanted.append(file._last_lines(file.tail))
                file.tail = None
        self.whole = self.whole or other.whole
        self.wanted += other.wanted
        self.symbol = ""
        self._notes += [note for note in other._notes if note not in self._notes]

    def _last_lines(self, count: int) -> Span:
        part, _ = self._get(CharRange(1, 1, 1, 1), EXACT_TOTAL)
        return Span(max(1, (part.total_lines or 0) - count + 1))

    def _around(self, line: int, column: int) -> Span:
        """A few lines around a place, or of a long line a few characters."""
        part, _ = self._get(CharRange(line, 1, line, LONG_LINE_CHARS + 1))
        chars = len(part.data.decode("utf-8", "replace").rstrip("\r\n"))
        if chars > LONG_LINE_CHARS:
            return Span(line, max(1, column - AROUND_CHARS), line, 2 * AROUND_CHARS)
        if not part.line_count:
            return Span(line, 1, line)
        if column > chars + 1:
            self._notes.append(f"line {line} has {counted(chars, 'character')}")
        return Span(max(1, line - AROUND_LINES), 1, line + AROUND_LINES)

    def _get(self, selection: CharRange | Tail, total: str = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        return self.call.read(self.target, selection, total)

    def outline(self) -> Outline:
        if self._outline is None:
            from eyespan.outline import outline

            part, _ = self._get(CharRange(1, 1, None, OUTLINE_BYTES))
            name = self.target.member or self.target.path
            self._outline = outline(bytes(part.data), name, context=self.call.context)
        return self._outline

    # --- what is there ---------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Reads what is wanted, as far as the budget could ever show it.

        Raises: ReadError.
        """
        if self.tail is not None:
            part = self._read(Tail(self.tail, max_bytes=self.call.max_chars))
            total = part.total_lines or 0
            self.wanted = [Span(max(1, total - self.tail + 1), 1, total)]
            self._all = not part.cut_short and part.first_line <= self.wanted[0].first
            if not total:
                self._nothing(1, 0)
        else:
            self.wanted = merged([Span(1)] if self.whole else self.wanted)
            left = self.call.max_chars
            for span in self.wanted:
                if left <= 0:
                    self._all = False
                    break
                most = left if span.max_chars is None else min(left, span.max_chars)
                part = self._read(CharRange(span.first, span.column, span.last, most))
                left -= len(part.data)
                if not part.line_count:
                    self._nothing(span.first, part.total_lines or 0)
                if part.cut_short and span.max_chars is None:
                    self._all = False
                    break
        self._texts = self._shown_texts()

    def _read(self, selection: CharRange | Tail) -> TextPart:
        part, document = self._get(selection)
        self._rows += rows_of(part)
        self._total = part.total_lines if part.total_lines is not None else self._total
        now, then = document.facts, self._facts
        # The size of something compressed may be a guess that only got better.
        moved = now.mtime_ns != then.mtime_ns or (then.exact and now.exact and now.size_bytes != then.size_bytes)
        self._changed = self._changed or now.changed or moved
        if "line_chars" in document.extra:
            self._notes.append(f"line {part.first_line} has {counted(document.extra['line_chars'], 'character')}")
        self._extra = {**self._extra, **document.extra}
        return part

    def _nothing(self, line: int, total: int) -> None:
        """A window without lines: an empty file and a line past the end never look alike."""
        if total:
            self._notes.append(f"no line {line}: the file has {counted(total, 'line')}")
        else:
            self._notes.append("the file is empty" if not self._facts.size_bytes else "the file holds no text")

    def _shown_texts(self) -> list[str]:
        if not self.call.dialect.redact:
            return [row.text for row in self._rows]
        return self._redacted()

    # --- how it is shown -------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return visible(self.base)

    @property
    def selector(self) -> str:
        if self.whole:
            return self.base
        if self.symbol:
            return f"{self.base}::{self.symbol}"
        if self.tail is not None:
            return f"{self.base}:-{self.tail}"
        return self._selector(self.wanted)

    def _selector(self, spans: Sequence[Span]) -> str:
        return f"{self.base}:{','.join([write_range(span.range()) for span in spans])}"

    def need(self) -> int:
        return self.text_need()

    def text_need(self) -> int:
        """What the text costs, whatever else belongs to the part."""
        if not self._all:
            return self.call.args.budget + 1
        if self._full is None:
            self._full = self._drawn(None)
            self._full_tokens = tokens.estimate("\n".join(self._full.lines)) + 1
        return self._full_tokens

    def show(self, allotted: int) -> Shown:
        drawn = self._full if self.text_need() <= allotted else None
        if drawn is None:
            drawn = self._drawn(allotted)
        text = "\n".join(drawn.lines)
        rows = drawn.rows
        following = self._selector(drawn.left) if drawn.left else None
        facts: dict[str, Any] = {
            "path": self._facts.path,
            "selector": self._selector([Span(*one) for one in stretches(rows)]) if rows else self.selector,
            "hash": drawn.value,
            "total_lines": self._total,
            "tokens": tokens.estimate(text),
            "next": following,
        }
        if self._changed:
            facts["changed_during_read"] = True
        if drawn.unchanged:
            facts["unchanged"] = True
        elif rows:
            self.call.dialect.versions.keep(self.key[0], drawn.value, [(row.number, row.text) for row in rows])
        return Shown(text, facts, () if following is None else (following,))

    def _drawn(self, allotted: int | None) -> Drawn:
        """As much as is allotted, or all of it. What the caller holds is told and not repeated."""
        held = self._held()
        rows, texts = self._rows[held:], self._texts[held:]
        lines: list[str] = []
        value = ""
        if held:
            value = self._hash(self._rows[:held], self._texts[:held])
            lines.append(f"{self._head(self._rows[:held], value)} unchanged")
        if not rows:
            if not held:
                lines.append(f"{self._name}: {self._beside(rows).removeprefix(NOTE)}")
            left = [] if self._all or not held else self._left(self._rows[-1])
            return Drawn(lines, self._rows, value, left, held > 0)
        left = []
        outline = ""
        if allotted is not None:
            frame = [*lines, self._head(rows, "0" * 12), self._beside(rows), self.selector]
            room = max(LEAST_TOKENS, allotted - tokens.estimate("\n".join(frame)) - LEFT_TOKENS)
            if self.whole and not held:
                outline = self._outlined(int(room * OUTLINE_SHARE))
                room = max(LEAST_TOKENS, room - tokens.estimate(outline) - LEFT_TOKENS * bool(outline))
            rows, texts, left = self._fitted(rows, texts, room)
        value = self._hash(rows, texts)
        lines.append(self._head(rows, value))
        lines += self.style.drawn(rows, texts)
        beside = self._beside(rows)
        if beside:
            lines.append(beside)
        if outline:
            lines += [f"outline of {self._name}:", outline]
        return Drawn(lines, rows, value, left)

    def _fitted(self, rows: Sequence[Row], texts: Sequence[str], room: int) -> tuple[list[Row], list[str], list[Span]]:
        """The rows that fit, what is shown for them, and what is left to read."""
        lines = self.style.drawn(rows, texts)
        if self.tail is not None:
            count = fitting_end(lines, room, tokens.estimate) or 1
            at = len(rows) - count
            before = (
                [Span(self.wanted[0].first, 1, rows[at].number - 1)] if self.wanted[0].first < rows[at].number else []
            )
            rows, texts, lines = rows[at:], texts[at:], lines[at:]
            if count == 1:
                rows, texts = self._cut(rows[0], len(self._rows) - 1, lines[0], room)
            return list(rows), list(texts), [*before, *self._left(rows[-1])]
        count = fitting(lines, room, tokens.estimate)
        if not count:
            rows, texts = self._cut(rows[0], len(self._rows) - len(rows), lines[0], room)
            count = 1
        return list(rows[:count]), list(texts[:count]), self._left(rows[count - 1])

    def _cut(self, row: Row, at: int, line: str, room: int) -> tuple[list[Row], list[str]]:
        """As much of one line as fits, at least one character."""
        lead = len(line) - len(self._texts[at])
        end = max(1, tokens.fit(line, room) - lead)
        if self._marks is not None:
            end = redaction.up_to(row.text, self._marks[at], end)
        if end >= len(row.text):
            return [row], [self._texts[at]]
        shown = row.text[:end] if self._marks is None else redaction.redacted(row.text, self._marks[at], 0, end)
        return [Row(row.number, row.column, row.text[:end], False, True, False)], [shown]

    def _left(self, last: Row) -> list[Span]:
        """What is wanted behind this row."""
        line, column = behind(last)
        left: list[Span] = []
        for span in self.wanted:
            if span.max_chars is not None and span.first <= last.number:
                continue
            end = self._total if span.last is None else span.last
            if end is not None and (end < line or (self._total is not None and line > self._total)):
                continue
            if (span.first, span.column) >= (line, column):
                left.append(span)
            else:
                left.append(Span(line, column, span.last))
        return left

    # --- what stands beside the text -------------------------------------------------------------------------------

    def _head(self, rows: Sequence[Row], value: str) -> str:
        name = f"{self._name}::{self.symbol} " if self.symbol else f"{self._name}:"
        if not rows:
            return self._name
        total = "?" if self._total is None else self._total
        return f"{name}{extent(rows)}/{total} #{value}"

    def _beside(self, rows: Sequence[Row]) -> str:
        """What cannot be seen in the text and matters."""
        facts = self._facts
        said = list(self._notes)
        encoding, how = self._extra.get("encoding", "utf-8"), self._extra.get("encoding_found", "")
        if encoding != "utf-8":
            said.append(f"{encoding} by {'byte order mark' if how == 'bom' else how}" + self._sureness())
        elif self._extra.get("bom"):
            said.append("byte order mark")
        ended = [row for row in rows if row.closed]
        said.append(
            text_facts.line_ends_in_words(
                [row.number for row in ended if row.carriage], [row.number for row in ended if not row.carriage]
            )
        )
        last = rows[-1] if rows else None
        if last is not None and not last.open and not last.closed:
            said.append("no newline at the end")
        said.append(text_facts.indentation_in_words([(row.number, row.text) for row in rows if row.column == 1]))
        said.append(text_facts.hidden_in_words(text_facts.hidden([(row.number, row.column, row.text) for row in rows])))
        if self._extra.get("replaced"):
            lost = [row.number for row in rows if "\ufffd" in row.text]
            if lost:
                said.append(f"bytes that are no {encoding} shown as U+FFFD on {text_facts.spans(lost)}")
        if facts.hard_links > 1:
            said.append(f"{facts.hard_links} hard links")
        if self._changed:
            said.append("changed while it was read, read it again")
        said += self._changes(rows)
        said = [word for word in said if word]
        return f"{NOTE}{'; '.join(said)}" if said else ""

    def _sureness(self) -> str:
        confidence = self._extra.get("encoding_confidence")
        return "" if confidence is None else f", {confidence:.0%} sure"

    # --- what the caller holds -------------------------------------------------------------------------------------

    def _hash(self, rows: Sequence[Row], texts: Sequence[str]) -> str:
        digest = Digest(self.key[0])
        following = 0
        for row, text in zip(rows, texts, strict=True):
            if row.number != following:
                digest.start(row.number, row.column)
            digest.add(text)
            following = row.number + 1
        return digest.value()

    def _held(self) -> int:
        """How many of the first rows the caller holds already, as they are now."""
        known = self.call.args.known
        if self._held_rows < 0:
            self._held_rows = 0
            digest = Digest(self.key[0])
            following = 0
            for at, (row, text) in enumerate(zip(self._rows, self._texts, strict=True) if known else ()):
                if row.number != following:
                    digest.start(row.number, row.column)
                digest.add(text)
                following = row.number + 1
                if digest.value() in known:
                    self._held_rows, self._held_value = at + 1, digest.value()
        return self._held_rows

    def _changes(self, rows: Sequence[Row]) -> list[str]:
        """Which lines are not as the caller holds them, where the old version is remembered."""
        lines = [(row.number, row.text) for row in rows]
        said = []
        for value in sorted(self.call.args.known - {self._held_value}):
            changes = self.call.dialect.versions.changes(self.key[0], value, lines)
            if changes is not None:
                said.append(f"changed since #{value}: {changes}")
        return said

    # --- structure -------------------------------------------------------------------------------------------------

    def _outlined(self, room: int) -> str:
        """The outline of a file too large to show, or "" if it has none."""
        from eyespan.outline import render

        outline = self.outline()
        return render(outline, room) if len(outline.symbols) > 1 else ""

    # --- secrets ---------------------------------------------------------------------------------------------------

    def _redacted(self) -> list[str]:
        """The texts with marks for their secrets; also for those that begin before, or end behind, what was read."""
        lines = [row.text for row in self._rows]
        first = self._rows[0] if self._rows else None
        before = ""
        if first is not None and first.column > 1:
            start = max(1, first.column - redaction.MAX_SECRET_CHARS)
            part, _ = self._get(CharRange(first.number, start, first.number, first.column - start))
            before = part.data.decode("utf-8", "replace")
            lines[0] = before + lines[0]
        self._marks = redaction.secrets(lines)
        if before:
            shift = len(before)
            self._marks[0] = [(max(0, a - shift), b - shift, what) for a, b, what in self._marks[0] if b > shift]
        last = self._rows[-1] if self._rows else None
        if last is not None and last.open and len(last.text) > redaction.MAX_SECRET_CHARS:
            # A secret may go on behind what was read: the last of it waits for the next call.
            self._rows[-1] = Row(last.number, last.column, last.text[: -redaction.MAX_SECRET_CHARS], False, True, False)
        return [redaction.redacted(row.text, marks) for row, marks in zip(self._rows, self._marks, strict=True)]


class OutlineOnly(Part):
    """The symbols of a file instead of its text."""

    def __init__(self, file: TextFile) -> None:
        self._file = file

    @property
    def selector(self) -> str:
        return self._file.base

    def need(self) -> int:
        return tokens.estimate(self._text(None)) + 1

    def _text(self, room: int | None) -> str:
        from eyespan.outline import render

        outline = self._file.outline()
        name = visible(self.selector)
        listed = render(outline, room)
        if not listed:
            return f"{name}: no symbols found" + ("" if outline.language else ", its language is not known")
        said = f"outline of {name}, by {outline.how}"
        if not outline.complete:
            said += ", perhaps not complete"
        if outline.hint:
            said += f" ({outline.hint})"
        return f"{said}\n{listed}"

    def show(self, allotted: int) -> Shown:
        text = self._text(None)
        if tokens.estimate(text) >= allotted:
            frame = tokens.estimate(text.partition("\n")[0])
            text = self._text(max(LEAST_TOKENS, allotted - frame - 1))
        how = self._file.outline().how
        facts = {"path": self.selector, "outline": how, "tokens": tokens.estimate(text), "next": None}
        return Shown(text, facts)
