"""The third step: as many of the loaded rows as a share of the budget allows, formatted, and what is left to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eyespan import tokens
from eyespan.dialects import redaction
from eyespan.dialects.native import own_lines, text_facts
from eyespan.dialects.native.gutter import Row, Run, count_fitting, starts_after_gap
from eyespan.dialects.native.items import LEAST_TOKENS, LEFT_TOKENS
from eyespan.dialects.native.rows import extent, lacks_newline, place_after
from eyespan.dialects.native.versions import Digest, Version, hash_lines
from eyespan.dialects.pieces import AROUND_LINES
from eyespan.lines.encodings import UNSURE
from eyespan.model import CharRange
from eyespan.search import first_true
from eyespan.selectors import write_symbol

if TYPE_CHECKING:
    from eyespan.dialects.native.gutter import Style
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.loaded import Loaded
    from eyespan.outline import Outline


LEAST_CUT_TOKENS = 16
"""A line is cut for no less; also for no less than a twentieth of the share."""
GAP_TOKENS = 2
OUTLINE_SHARE = 0.5
"""The most of a large source file's share that its outline gets; its first lines get the rest."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The words around the rows of one text."""

    base: str
    """The selector of the text."""
    name: str
    """The same as headers show it."""
    key: str
    """The file's canonical path, which hashes are made with."""
    style: Style
    view: View


@dataclass(frozen=True, slots=True)
class Fitted:
    """Text ready to be shown."""

    lines: list[str]
    rows: Sequence[Row] | Run
    """The rows among the lines."""
    hash: str
    left: list[CharRange]
    """What is left to read."""
    is_unchanged: bool = False
    """The caller holds all of it."""


def fit_all(frame: Frame, loaded: Loaded) -> Fitted:
    """Format all rows, without those that the caller holds already."""
    return _fit(frame, loaded, None, None)


def fit(frame: Frame, loaded: Loaded, max_tokens: int, outline: Outline | None) -> Fitted:
    """Format as much as `max_tokens` allow; with an outline, the symbols of the file after its first lines."""
    return _fit(frame, loaded, max_tokens, outline)


def _fit(frame: Frame, loaded: Loaded, max_tokens: int | None, outline: Outline | None) -> Fitted:
    held, held_hash = _held(frame, loaded)
    rows: Sequence[Row] | Run = loaded.rows[held:] if held else loaded.rows
    shown = None if loaded.shown is None else loaded.shown[held:]
    lines: list[str] = []
    if held:
        lines.append(own_lines.header(f"{_header(frame, loaded, loaded.rows[:held], held_hash)} unchanged"))
    if not rows:
        if not held:
            lines.append(own_lines.header(f"{frame.name}: {_notes(frame, loaded, rows, held_hash)}"))
        left = [] if loaded.is_complete or not held else _left_after(loaded, loaded.rows[-1])
        return Fitted(lines, loaded.rows, held_hash, left, held > 0)
    left = []
    listed: list[str] = []
    if max_tokens is not None:
        around = [
            *lines,
            _header(frame, loaded, rows, "0" * 12),
            _notes(frame, loaded, rows, held_hash),
            frame.base,
        ]
        room = max(LEAST_TOKENS, max_tokens - tokens.estimate(own_lines.write(around)) - LEFT_TOKENS)
        if outline is not None and not held:
            listed = _listed(frame, outline, int(room * OUTLINE_SHARE))
            room = max(LEAST_TOKENS, room - tokens.estimate(own_lines.write(listed)) - LEFT_TOKENS * bool(listed))
        rows, texts, left = _fitting_rows(frame, loaded, held, room)
        shown = texts if loaded.shown is not None or not isinstance(rows, Run) else None
    value = digest(frame.key, rows, shown)
    lines.append(own_lines.header(_header(frame, loaded, rows, value)))
    if isinstance(rows, Run):
        if shown is None and frame.style.every:
            lines.append(own_lines.Rows("\n".join(frame.style.format(rows))))
        else:
            lines += frame.style.format(rows, shown)
    else:
        for line, is_after_gap in zip(frame.style.format(rows, shown), starts_after_gap(rows), strict=True):
            if is_after_gap:
                lines.append(own_lines.GAP)
            lines.append(line)
    notes = _notes(frame, loaded, rows, held_hash)
    if notes:
        lines.append(own_lines.note(notes))
    if outline is not None and not outline.symbols and "not finished" in outline.hint:
        lines.append(own_lines.note(f"{outline.hint}, so it is left out"))
    return Fitted([*lines, *listed], rows, value, left)


def _listed(frame: Frame, outline: Outline, max_tokens: int) -> list[str]:
    if len(outline.symbols) < 2:
        return []
    from eyespan.outline import render

    return [own_lines.words(f"outline of {frame.name}:"), *own_lines.outline_rows(render(outline, max_tokens))]


# --- which rows fit --------------------------------------------------------------------------------------------------


def _fitting_rows(
    frame: Frame, loaded: Loaded, held: int, room: int
) -> tuple[Sequence[Row] | Run, Sequence[str], list[CharRange]]:
    """Return the rows that fit, the text shown for them, and what is left to read."""
    rows, texts = loaded.rows[held:], loaded.texts[held:]
    lines = frame.style.format(rows, texts)
    gap = own_lines.write([own_lines.GAP, ""])
    counted = lines
    if not isinstance(rows, Run):
        counted = [gap + line if after else line for line, after in zip(lines, starts_after_gap(rows), strict=True)]
    wanted = loaded.wanted
    if wanted.tail is not None:
        count = count_fitting(counted, room, tokens.estimate, at_end=True)
        at = len(rows) - count
        first = wanted.ranges[0].first
        left_room = room - (tokens.estimate("\n".join(counted[at:])) + 2 if count else 0)
        least_room = max(LEAST_CUT_TOKENS, room // 20) if count else 0
        if at and left_room >= least_room:
            # A long line is before the last lines: its start is shown, and the next call continues it.
            at -= 1
            row, text = _cut_row(loaded, held + at, counted[at], left_room)
            rows, texts = (row, *rows[at + 1 :]), (text, *texts[at + 1 :])
        else:
            rows, texts = rows[at:], texts[at:]
        before = [CharRange(first, 1, rows[0].number - 1)] if first < rows[0].number else []
        if rows[0].is_cut and len(rows) > 1:
            before.append(CharRange(*place_after(rows[0]), rows[0].number))
        return rows, texts, [*before, *_left_after(loaded, rows[-1])]
    if wanted.pattern and not held:
        return _matching_rows(frame, loaded, room)
    if wanted.places and not held:
        around = _around_places(frame, loaded, room)
        if around is not None:
            return *around, []
    count = count_fitting(counted, room, tokens.estimate)
    left_room = room - (tokens.estimate("\n".join(counted[:count])) + 2 if count else 0)
    if not count or (count < len(rows) and left_room >= max(LEAST_CUT_TOKENS, room // 20)):
        # Only a long line leaves so much room, so it is cut, and continued by the next call.
        row, text = _cut_row(loaded, held + count, counted[count], left_room)
        return (*rows[:count], row), (*texts[:count], text), _left_after(loaded, row)
    return rows[:count], texts[:count], _left_after(loaded, rows[count - 1])


def _matching_rows(frame: Frame, loaded: Loaded, room: int) -> tuple[Sequence[Row], Sequence[str], list[CharRange]]:
    """Return the lines that match with fewer lines around them, or as many of them alone as fit."""
    matches = set(loaded.wanted.matches)
    for radius in (1, 0):
        near = [
            at
            for at, row in enumerate(loaded.rows)
            if any(number in matches for number in range(row.number - radius, row.number + radius + 1))
        ]
        rows, texts = [loaded.rows[at] for at in near], [loaded.texts[at] for at in near]
        if loaded.is_complete and rows and _cost(frame, rows, texts) <= room:
            return rows, texts, []
    lines = frame.style.format(rows, texts)
    gap = own_lines.write([own_lines.GAP, ""])
    count = count_fitting([gap + line for line in lines], room, tokens.estimate)
    if not count:
        row, text = _cut_row(loaded, near[0], lines[0], room)
        return (row,), (text,), _left_after(loaded, row)
    return rows[:count], texts[:count], _left_after(loaded, rows[count - 1])


def _around_places(frame: Frame, loaded: Loaded, room: int) -> tuple[Sequence[Row], Sequence[str]] | None:
    """Return as many lines on both sides of each place as fit, or of a single place the characters around it.

    None if not even the lines of several places fit.
    """
    places = loaded.wanted.places
    for radius in range(AROUND_LINES, -1, -1):
        near = [at for at, row in enumerate(loaded.rows) if any(abs(row.number - p.line) <= radius for p in places)]
        rows, texts = [loaded.rows[at] for at in near], [loaded.texts[at] for at in near]
        if rows and _cost(frame, rows, texts) <= room:
            return rows, texts
    if len(places) > 1 or loaded.secrets is not None:
        return None
    row = next((row for row in loaded.rows if row.number == places[0].line), None)
    if row is None:
        return None
    middle = min(max(places[0].column - row.column, 0), len(row.text))

    def cut(radius: int) -> Row:
        start, end = max(0, middle - radius), min(len(row.text), middle + radius)
        whole = replace(row, column=row.column + start, text=row.text[start:end])
        return whole if end == len(row.text) else replace(whole, has_cr=False, is_cut=True, has_newline=False)

    radius = first_true(1, len(row.text), lambda radius: _cost(frame, [cut(radius)], [cut(radius).text]) > room) - 1
    shown = cut(max(1, radius))
    return [shown], [shown.text]


def _cost(frame: Frame, rows: Sequence[Row], texts: Sequence[str]) -> int:
    gaps = sum(starts_after_gap(rows))
    return tokens.estimate("\n".join(frame.style.format(rows, texts))) + GAP_TOKENS * gaps


def _cut_row(loaded: Loaded, at: int, line: str, room: int) -> tuple[Row, str]:
    """Return as much of one row as fits, at least one character, and the text shown for it."""
    row, text = loaded.rows[at], loaded.texts[at]
    secrets = None if loaded.secrets is None else loaded.secrets[at]
    lead = len(line) - len(text)
    end = max(1, tokens.fit(line, room) - lead)
    if secrets is not None:
        end = redaction.up_to(row.text, secrets, end)
    if end >= len(row.text):
        return row, text
    shown = row.text[:end] if secrets is None else redaction.redacted(row.text, secrets, 0, end)
    return replace(row, text=row.text[:end], has_cr=False, is_cut=True, has_newline=False), shown


def _left_after(loaded: Loaded, last: Row) -> list[CharRange]:
    """Return what is wanted after this row."""
    line, column = place_after(last)
    total = loaded.total_lines
    left: list[CharRange] = []
    for one in loaded.wanted.ranges:
        if one.max_chars is not None and one.first <= last.number:
            continue
        end = total if one.last is None else one.last
        if end is not None and (end < line or (total is not None and line > total)):
            continue
        if (one.first, one.column) >= (line, column):
            left.append(one)
        else:
            left.append(CharRange(line, column, one.last))
    return left


# --- the words around the rows ---------------------------------------------------------------------------------------


def _header(frame: Frame, loaded: Loaded, rows: Sequence[Row] | Run, value: str) -> str:
    name, symbol = frame.name, loaded.wanted.symbol
    if not rows:
        return name
    total = "?" if loaded.total_lines is None else loaded.total_lines
    return f"{f'{name}{write_symbol(symbol)} ' if symbol else f'{name}:'}{extent(rows)}/{total} #{value}"


def _notes(frame: Frame, loaded: Loaded, rows: Sequence[Row] | Run, held_hash: str) -> str:
    """Return what cannot be seen in the text and matters, as one line; "" if there is nothing."""
    extra = loaded.extra
    notes = list(loaded.notes)
    encoding, found = extra.get("encoding", "utf-8"), extra.get("encoding_found", "")
    if encoding != "utf-8":
        confidence = extra.get("encoding_confidence")
        sure = "" if confidence is None else f", {confidence:.0%} sure" if confidence > UNSURE else ", unsure"
        notes.append(f"{encoding} by {'byte order mark' if found == 'bom' else found}{sure}")
    elif extra.get("bom"):
        notes.append("byte order mark")
    if not isinstance(rows, Run) or rows.has_crlf:
        ends = _line_ends(rows)
        with_cr = [number for number, has_cr in ends if has_cr]
        notes.append(text_facts.describe_line_ends(with_cr, [number for number, has_cr in ends if not has_cr]))
    if lacks_newline(rows):
        notes.append("no newline at the end")
    # Nearly every text has neither, which a look at the whole text shows.
    if not isinstance(rows, Run):
        text = "\n".join([row.text for row in rows])
    else:
        text = "\n".join(rows.texts) if rows.has_crlf else rows.text
    if text_facts.may_mix_indentation(text):
        notes.append(text_facts.describe_indentation([(row.number, row.text) for row in rows if row.column == 1]))
    if text_facts.may_hide(text):
        notes.append(text_facts.describe_hidden(text_facts.hidden(_numbered_texts(rows))))
    if extra.get("replaced"):
        lost = [row.number for row in rows if "\ufffd" in row.text]
        if lost:
            notes.append(f"bytes that are not {encoding} shown as U+FFFD on {text_facts.number_runs(lost)}")
    if loaded.facts.hard_links > 1:
        notes.append(f"{loaded.facts.hard_links} hard links")
    if loaded.has_changed:
        notes.append("changed while it was read, read it again")
    notes += _changes(frame, rows, held_hash)
    shown = [note for note in notes if note]
    return "; ".join(shown)


def _line_ends(rows: Sequence[Row] | Run) -> list[tuple[int, bool]]:
    """Return the number of each line that a line feed ends, with True if a carriage return precedes that."""
    if not isinstance(rows, Run):
        return [(row.number, row.has_cr) for row in rows if row.has_newline]
    ends = list(enumerate(rows.has_cr, rows.first))
    return ends if rows.has_newline else ends[:-1]


def _numbered_texts(rows: Sequence[Row] | Run) -> Iterator[tuple[int, int, str]]:
    """Yield number, first column and text of each row."""
    if not isinstance(rows, Run):
        for row in rows:
            yield row.number, row.column, row.text
        return
    column = rows.column
    for number, text in enumerate(rows.texts, rows.first):
        yield number, column, text
        column = 1


# --- what the caller holds -------------------------------------------------------------------------------------------


def version_of(rows: Sequence[Row] | Run) -> Version:
    """Return the version of a file that these rows are."""
    if isinstance(rows, Run):
        if not rows.has_crlf:
            return Version.of_lines(rows.first, hash_lines(rows.data or b"\n" * rows.count))
        return Version.of(range(rows.first, rows.first + rows.count), rows.texts)
    return Version.of([row.number for row in rows], [row.text for row in rows])


def digest(key: str, rows: Sequence[Row] | Run, shown: Sequence[str] | None = None) -> str:
    """Return the hash of these rows as they are shown; without texts to show, their own are."""
    state = Digest(key)
    following = 0
    if isinstance(rows, Run):
        if rows and rows.first != following:
            state.start(rows.first, rows.column)
        if shown is not None or rows.has_crlf:
            state.add_all(rows.texts if shown is None else shown)
        else:
            state.add_lines(rows.data, is_open=not rows.has_newline and rows.count > 0)
        return state.value()
    texts = [row.text for row in rows] if shown is None else shown
    for row, text in zip(rows, texts, strict=True):
        if row.number != following:
            state.start(row.number, row.column)
        state.add(text)
        following = row.number + 1
    return state.value()


def _held(frame: Frame, loaded: Loaded) -> tuple[int, str]:
    """Return how many of the first rows the caller holds already, unchanged, and their hash."""
    known = frame.view.known
    held, held_hash = 0, ""
    if not known:
        return held, held_hash
    state = Digest(frame.key)
    following = 0
    for at, (row, text) in enumerate(zip(loaded.rows, loaded.texts, strict=True)):
        if row.number != following:
            state.start(row.number, row.column)
        state.add(text)
        following = row.number + 1
        if (value := state.value()) in known:
            held, held_hash = at + 1, value
    return held, held_hash


def _changes(frame: Frame, rows: Sequence[Row] | Run, held_hash: str) -> list[str]:
    """Return which lines differ from those the caller holds, where the old version is remembered."""
    view = frame.view
    if not view.known:
        return []
    version = version_of(rows)
    found = []
    for value in sorted(view.known - {held_hash}):
        changes = view.versions.changes(frame.key, value, version)
        if changes is not None:
            found.append(f"changed since #{value}: {changes}")
    return found
