"""The third step: as many of the loaded rows as a share of the budget allows, formatted, and what is left to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eyespan import tokens
from eyespan.dialects import redaction
from eyespan.dialects.native import own_lines, text_facts
from eyespan.dialects.native.fold import Gap, fold
from eyespan.dialects.native.holdings import digest, hashed_lines
from eyespan.dialects.native.items import LEAST_TOKENS, LEFT_TOKENS
from eyespan.dialects.native.rows import Row, count_fitting, extent, place_after, shared, split_runs, starts_after_gap
from eyespan.dialects.pieces import AROUND_LINES
from eyespan.escape import number_runs
from eyespan.lines.encodings import UNSURE
from eyespan.model import CharRange
from eyespan.selectors import write_symbol

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.loaded import Loaded
    from eyespan.dialects.native.rows import Style
    from eyespan.outline import Outline


LEAST_CUT_TOKENS = 16
"""A line is cut for no less; also for no less than a twentieth of the share."""
FIRST_LINES = 100
"""The lines of a large file that follow its outline."""
OUTLINE_SHARE = 0.5
"""The least of a large file's share that its outline may take."""
LEAST_STRUCTURE_TOKENS = 100
"""With less room the first lines come without an outline, of which little more than its title would fit."""


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
    held: tuple[tuple[int, str], ...] = ()
    """Lines for rows that the caller holds, each with the number of the first such row."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Rows that fit, what is left to read, what is hidden between them, and all of it ready to be shown."""

    rows: Sequence[Row]
    texts: Sequence[str]
    """The text shown for each row."""
    left: list[CharRange]
    gaps: Sequence[Gap] = ()
    lines: Sequence[str] = ()
    hash: str = ""
    runs: Sequence[Sequence[Row]] = ()
    """The rows in runs without a gap."""


def fit(frame: Frame, loaded: Loaded, max_tokens: int | None = None, outline: Outline | None = None) -> Fitted:
    """Format all rows, or as much as `max_tokens` allow.

    An outline precedes the first lines of a large file, and names what is hidden of a symbol.
    """
    chosen = Fitted(loaded.rows, loaded.texts, [])
    if not loaded.rows:
        return replace(chosen, lines=[own_lines.header(f"{frame.name}: {_notes(loaded, ())}")])
    listed: list[str] = []
    if max_tokens is not None:
        around = [header_of(frame, loaded, [loaded.rows[:1]], "0" * 12), _notes(loaded, loaded.rows), frame.base]
        around += [line for _, line in frame.held]
        room = max(LEAST_TOKENS, max_tokens - tokens.estimate(own_lines.write(around)) - LEFT_TOKENS)
        if loaded.wanted.is_whole and outline and len(outline.symbols) > 1 and room >= LEAST_STRUCTURE_TOKENS:
            listed, chosen = _structure(frame, loaded, outline, room)
        elif loaded.wanted.symbol and frame.view.folds and outline is not None:
            chosen = _folded(frame, loaded, outline, room)
        else:
            chosen = _fitting_rows(frame, loaded, room)
    runs = split_runs(chosen.rows)
    value = digest(frame.key, hashed_lines(chosen.rows, chosen.texts))
    lines = [*listed, own_lines.header(header_of(frame, loaded, runs, value)), *_written(frame, loaded, chosen, runs)]
    notes = _notes(loaded, chosen.rows)
    if notes:
        lines.append(own_lines.note(notes))
    if outline is not None and not outline.symbols and "not finished" in outline.hint:
        lines.append(own_lines.note(f"{outline.hint}, so it is left out"))
    return Fitted(chosen.rows, chosen.texts, chosen.left, chosen.gaps, lines, value, runs)


def _written(frame: Frame, loaded: Loaded, chosen: Fitted, runs: Sequence[Sequence[Row]]) -> list[str]:
    """Return the rows with a line for everything between them: what is held, hidden, or was not asked for."""
    between = sorted(
        [*frame.held, *[(gap.first, gap.line()) for gap in (*chosen.gaps, *loaded.wanted.gaps)]], reverse=True
    )
    formatted = frame.style.format(chosen.rows, chosen.texts)
    if loaded.wanted.matches:
        matches = frozenset(loaded.wanted.matches)
        for at, row in enumerate(chosen.rows):
            if row.number in matches and row.column == 1:
                text = chosen.texts[at]
                formatted[at] = f"{frame.style.number(row, text)}*\t{text}"
    lines: list[str] = []
    at = 0
    for run in runs:
        is_named = not at
        while between and between[-1][0] <= run[0].number:
            lines.append(between.pop()[1])
            is_named = True
        lines += [] if is_named else [own_lines.GAP]
        lines += formatted[at : at + len(run)]
        at += len(run)
    return [*lines, *[line for _, line in reversed(between)]]


def _structure(frame: Frame, loaded: Loaded, outline: Outline, room: int) -> tuple[list[str], Fitted]:
    """Return the outline of a large file, and its first lines."""
    from eyespan.outline import render

    rows, texts = loaded.rows[:FIRST_LINES], loaded.texts[:FIRST_LINES]
    spent = tokens.estimate("\n".join(frame.style.format(rows, texts)))
    lines = "?" if loaded.total_lines is None else loaded.total_lines
    title = f"outline of {frame.name}, {lines} lines, {loaded.facts.size_bytes} bytes, by {outline.how}"
    listing = render(outline, max(int(room * OUTLINE_SHARE), room - spent) - tokens.estimate(title))
    listed = [own_lines.words(title), *own_lines.outline_rows(listing)]
    room = max(LEAST_TOKENS, room - tokens.estimate(own_lines.write(listed)) - LEFT_TOKENS)
    first = replace(loaded, rows=rows, texts=texts)
    chosen = _fitting_rows(frame, first, room)
    return listed, chosen


def _folded(frame: Frame, loaded: Loaded, outline: Outline, room: int) -> Fitted:
    """Return the rows of symbols that fit, and the gaps between them."""
    lines = frame.style.format(loaded.rows, loaded.texts)
    costs = [tokens.estimate(line) + 1 for line in lines]
    regions = split_runs(loaded.rows)
    needs, at = [], 0
    for region in regions:
        needs.append(sum(costs[at : at + len(region)]))
        at += len(region)
    rows: list[Row] = []
    texts: list[str] = []
    gaps: list[Gap] = []
    at = 0
    for region, max_tokens in zip(regions, shared(needs, room), strict=True):
        end = at + len(region)
        is_shown, hidden = fold(region, costs[at:end], outline.symbols, max_tokens, loaded.wanted.lines)
        shown = [index for index, shows in enumerate(is_shown, at) if shows]
        rows += [loaded.rows[index] for index in shown]
        texts += [loaded.texts[index] for index in shown]
        gaps += hidden
        at = end
    left = [] if loaded.is_complete else left_after(loaded, loaded.rows[-1])
    return Fitted(rows, texts, left, gaps)


# --- which rows fit --------------------------------------------------------------------------------------------------


def _fitting_rows(frame: Frame, loaded: Loaded, room: int) -> Fitted:
    """Return as many rows as fit: the last ones, those around matches or places, or the first."""
    rows, texts = loaded.rows, loaded.texts
    lines = [
        _gap_before(row) + line if after else line
        for row, line, after in zip(rows, frame.style.format(rows, texts), starts_after_gap(rows), strict=True)
    ]
    wanted = loaded.wanted
    if wanted.tail is not None:
        return _last_rows(loaded, lines, room)
    near = frozenset(wanted.matches or [place.line for place in wanted.places])
    if not near.isdisjoint([row.number for row in rows]):
        return _near_rows(frame, loaded, near, room)
    count = count_fitting(lines, room, tokens.estimate)
    left_room = room - (tokens.estimate("\n".join(lines[:count])) + 2 if count else 0)
    if not count or (count < len(rows) and left_room >= max(LEAST_CUT_TOKENS, room // 20)):
        # Only a long line leaves so much room, so it is cut, and continued by the next call.
        row, text = _cut_row(loaded, count, lines[count], left_room)
        return Fitted((*rows[:count], row), (*texts[:count], text), left_after(loaded, row))
    return Fitted(rows[:count], texts[:count], left_after(loaded, rows[count - 1]))


def _gap_before(row: Row) -> str:
    """Return the words that a gap before a row costs: its line, and the lines after it in the header."""
    return f"{own_lines.write([own_lines.GAP])}{row.number}-{row.number},\n"


def _last_rows(loaded: Loaded, lines: Sequence[str], room: int) -> Fitted:
    rows, texts = loaded.rows, loaded.texts
    count = count_fitting(lines, room, tokens.estimate, at_end=True)
    at = len(rows) - count
    first = loaded.wanted.ranges[0].first
    left_room = room - (tokens.estimate("\n".join(lines[at:])) + 2 if count else 0)
    least_room = max(LEAST_CUT_TOKENS, room // 20) if count else 0
    if at and left_room >= least_room:
        # A long line is before the last lines: its start is shown, and the next call continues it.
        at -= 1
        row, text = _cut_row(loaded, at, lines[at], left_room)
        rows, texts = (row, *rows[at + 1 :]), (text, *texts[at + 1 :])
    else:
        rows, texts = rows[at:], texts[at:]
    before = [CharRange(first, 1, rows[0].number - 1)] if first < rows[0].number else []
    if rows[0].is_cut and len(rows) > 1:
        before.append(CharRange(*place_after(rows[0]), rows[0].number))
    return Fitted(rows, texts, [*before, *left_after(loaded, rows[-1])])


def _near_rows(frame: Frame, loaded: Loaded, numbers: frozenset[int], room: int) -> Fitted:
    """Return these lines with as many lines around each as fit, or as many of them alone as fit."""
    for radius in range(AROUND_LINES, -1, -1):
        near = [
            at
            for at, row in enumerate(loaded.rows)
            if not numbers.isdisjoint(range(row.number - radius, row.number + radius + 1))
        ]
        rows, texts = [loaded.rows[at] for at in near], [loaded.texts[at] for at in near]
        if loaded.is_complete and rows and _cost(frame, rows, texts) <= room:
            return Fitted(rows, texts, [])
    lines = frame.style.format(rows, texts)
    counted = [_gap_before(row) + line for row, line in zip(rows, lines, strict=True)]
    count = count_fitting(counted, room, tokens.estimate)
    if not count:
        row, text = _cut_row(loaded, near[0], lines[0], room)
        return Fitted((row,), (text,), left_after(loaded, row))
    return Fitted(rows[:count], texts[:count], left_after(loaded, rows[count - 1]))


def _cost(frame: Frame, rows: Sequence[Row], texts: Sequence[str]) -> int:
    gaps = [_gap_before(row) for row, is_after_gap in zip(rows, starts_after_gap(rows), strict=True) if is_after_gap]
    return tokens.estimate("\n".join([*gaps, *frame.style.format(rows, texts)]))


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
    return row._replace(text=row.text[:end], has_cr=False, is_cut=True, has_newline=False), shown


def left_after(loaded: Loaded, last: Row) -> list[CharRange]:
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


def header_of(frame: Frame, loaded: Loaded, runs: Sequence[Sequence[Row]], value: str) -> str:
    """Return the words of the header of these rows."""
    name, symbol = frame.name, loaded.wanted.symbol
    total = "?" if loaded.total_lines is None else loaded.total_lines
    return f"{f'{name}{write_symbol(symbol)} ' if symbol else f'{name}:'}{extent(runs)}/{total} #{value}"


def _notes(loaded: Loaded, rows: Sequence[Row]) -> str:
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
    with_cr = [row.number for row in rows if row.has_cr]
    if with_cr:
        without_cr = [row.number for row in rows if row.has_newline and not row.has_cr]
        notes.append(text_facts.describe_line_ends(with_cr, without_cr))
    if rows and not rows[-1].is_cut and not rows[-1].has_newline:
        notes.append("no newline at the end")
    notes.append(text_facts.describe_indentation([(row.number, row.text) for row in rows if row.column == 1]))
    notes.append(text_facts.describe_hidden(text_facts.hidden([(row.number, row.column, row.text) for row in rows])))
    if extra.get("replaced"):
        lost = [row.number for row in rows if "\ufffd" in row.text]
        if lost:
            notes.append(f"bytes that are not {encoding} shown as U+FFFD on {number_runs(lost, text_facts.MAX_RUNS)}")
    if loaded.facts.hard_links > 1:
        notes.append(f"{loaded.facts.hard_links} hard links")
    if loaded.has_changed:
        notes.append("changed while it was read, read it again")
    return "; ".join([note for note in notes if note])
