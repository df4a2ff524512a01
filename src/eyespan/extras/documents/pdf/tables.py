"""Tables of a PDF page, found by the white space between its rows and the lines that are drawn."""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

import pypdfium2.raw as pdfium

from eyespan.extras.documents.pdf.words import (
    FLOATS,
    Row,
    Segment,
    Span,
    Word,
    address_of,
    joined_spans,
    left_edge,
    plain_call,
    segment_of,
)

if TYPE_CHECKING:
    import pypdfium2


MAX_RULES = 3000
MAX_GAP_LINES = 3.2
"""A table ends at a gap of so many lines."""
MAX_TRIES = 10
"""Rows that are no table are tried again without the first, at most so often, because it may be a title."""
MAX_CELL_CHARS = 90
"""With longer cells on average, columns are running text and no table."""
_ADDRESS, _INT = ctypes.c_void_p, ctypes.c_int
_page_object = plain_call(pdfium.FPDFPage_GetObject, _ADDRESS, _ADDRESS, _INT)
_object_type = plain_call(pdfium.FPDFPageObj_GetType, _INT, _ADDRESS)
_object_bounds = plain_call(pdfium.FPDFPageObj_GetBounds, _INT, _ADDRESS, *[_ADDRESS] * 4)


@dataclass(slots=True)
class Table:
    """Cells by rows, and the words they consist of."""

    cells: list[list[str]]
    words: list[Word]

    def lines(self) -> list[str]:
        """Return the table in Markdown; the first row is its heading."""
        rows = [[cell.replace("|", "\\|") for cell in row] for row in self.cells]
        shown = [f"| {' | '.join(row)} |" for row in rows]
        return [shown[0], "|" + " --- |" * len(rows[0]), *shown[1:]]


def blocks_of(rows: list[Row], rules: Rules) -> list[Table | Row]:
    """Return the tables and the other rows of a run."""
    blocks: list[Table | Row] = []
    bottoms = [max([s.bottom for s in row]) for row in rows]
    at = tries = last_end = 0
    while at < len(rows):
        end, spans = _table_end(rows, bottoms, at)
        tries = tries + 1 if end == last_end else 0
        last_end = end
        table = _make_table(rows[at:end], spans, rules) if end > at and tries < MAX_TRIES else None
        if table is None:
            blocks.append(rows[at])
            at += 1
        else:
            blocks.append(table)
            at = end
    return blocks


def _table_end(rows: list[Row], bottoms: list[float], start: int) -> tuple[int, list[Span]]:
    """Return the end of the table that begins with a row, and its columns; the start if there is no table."""
    end, several = start, 0
    spans: list[Span] = []
    while end < len(rows):
        row = rows[end]
        first = row[0]
        if end > start and first.top - bottoms[end - 1] > MAX_GAP_LINES * (first.bottom - first.top):
            break
        if len(row) == 1 and not (several and _is_within(first, spans)):
            break
        trial = joined_spans([*spans, *[(s.left, s.right) for s in row]])
        if len(trial) < 2 or (several >= 2 and (len(trial) < 0.7 * len(spans) or len(trial) < len(spans) - 1)):
            break
        spans = trial
        several += len(row) > 1
        end += 1
    while end > start and len(rows[end - 1]) == 1 and _is_label(rows[end - 1][0], spans):
        end -= 1
    is_table = several >= 3 and len(spans) >= 2
    return (end, spans) if is_table else (start, [])


def _is_within(segment: Segment, spans: list[Span]) -> bool:
    """Return True if a segment stands in one column alone."""
    touched = sum([segment.left < high and segment.right > low for low, high in spans])
    return len(spans) > 1 and touched <= 1 and segment.left < spans[-1][1] and segment.right > spans[0][0]


def _is_label(segment: Segment, spans: list[Span]) -> bool:
    """Return True for a line after a table that is no cell of it: a title, or text across columns."""
    return not _is_within(segment, spans) or segment.text.rstrip().endswith((":", "."))


def _make_table(rows: list[Row], spans: list[Span], rules: Rules) -> Table | None:
    """Return the table of these rows; None if its cells are more likely running text.

    Most rows that are tried are no table, so the tests that need no text come first.
    """
    if _is_overlapping(rows):
        return None
    lines, spans = _finer(rows, spans)
    in_order = [s for row in lines for s in row]
    lows = [low for low, _ in spans]
    for s in in_order:
        at = bisect_right(lows, s.left) - 1
        s.column = at if at >= 0 and s.right <= spans[at][1] else _column(s.left, s.right, spans)
    if not _is_aligned(in_order):
        return None
    in_order.sort(key=_text_start)
    made = _cells_of_several_lines(in_order, len(spans)) or _cells_by_lines(lines, spans, rules)
    cells = _without_split_headings(made)
    if len(cells[0]) == 2 and _is_by_columns(in_order, len(spans)) and not _has_numbers(cells):
        return None  # two blocks of text beside each other, such as addresses
    filled = [cell for row in cells for cell in row if cell]
    if len(cells) < 2 or len(cells[0]) < 2 or not _is_filled(cells):
        return None
    if sum(map(len, filled)) > MAX_CELL_CHARS * len(filled) or _is_mostly_prose(cells):
        return None
    return Table(cells, [word for row in rows for s in row for word in s.words])


_text_start = attrgetter("start")


# Rows and columns are sure if few cells are empty, columns are aligned and lines do not overlap. The labels of a
# diagram, the marks of an axis and the parts of a formula are no table.
LEAST_FILLED = 0.45
FEW_ROWS = 5
LEAST_FILLED_OF_FEW = 0.6
"""The share of cells with text, and that of a table with few rows."""
LEAST_ALIGNED = 0.65
MOST_OVERLAPPING = 0.2


def _is_filled(cells: list[list[str]]) -> bool:
    """Return True if few cells are empty."""
    filled = [sum(map(bool, row)) for row in cells]
    least = LEAST_FILLED if len(cells) >= FEW_ROWS else LEAST_FILLED_OF_FEW
    if sum(filled) < least * len(cells) * len(cells[0]) or max(filled) < 0.75 * len(cells[0]):
        return False
    return sum([count > 1 for count in filled]) >= 3


def _is_overlapping(rows: list[Row]) -> bool:
    """Return True if many lines reach into the next one."""
    overlapping = 0
    for above, below in pairwise(rows):
        height = min(above[0].bottom - above[0].top, below[0].bottom - below[0].top)
        overlapping += above[0].bottom - below[0].top > 0.35 * height
    return overlapping > MOST_OVERLAPPING * len(rows)


def _is_aligned(segments: list[Segment]) -> bool:
    """Return True if most segments have an edge or the middle of their column."""
    columns: dict[int, list[Segment]] = {}
    for s in segments:
        columns.setdefault(s.column, []).append(s)
    return sum(map(_most_aligned, columns.values())) >= LEAST_ALIGNED * len(segments)


def _most_aligned(segments: list[Segment]) -> int:
    """Return how many segments of a column have the same left edge, right edge or middle, whichever are most."""
    slack = max(1.5, 0.25 * (segments[0].bottom - segments[0].top))
    best = 0
    for edge in (_left_of, _right_of, _middle_of):
        edges = sorted(map(edge, segments))
        start = 0
        for end, value in enumerate(edges):
            while value - edges[start] > slack:
                start += 1
            if end - start >= best:
                best = end - start + 1
        if best == len(segments):
            break
    return best


_left_of, _right_of = attrgetter("left"), attrgetter("right")


def _middle_of(segment: Segment) -> float:
    return (segment.left + segment.right) / 2


def _is_mostly_prose(cells: list[list[str]]) -> bool:
    """Return True if a table of two columns has words in most cells that are parts of sentences."""
    filled = [cell for row in cells for cell in row if cell]
    long = sum([len(cell) > 35 and cell.count(" ") >= 5 for cell in filled])
    return long * 2 > len(filled)


def _is_by_columns(in_order: list[Segment], columns: int) -> bool:
    """Return True if the text layer, whose order the segments have, has all of one column before the next."""
    return sum([a.column != b.column for a, b in pairwise(in_order)]) < columns + 1


def _has_numbers(cells: list[list[str]]) -> bool:
    """Return True if most cells of a column are numbers."""
    for column in zip(*cells[1:], strict=True):
        filled = [cell for cell in column if cell]
        numbers = sum([2 * sum(map(str.isdigit, cell)) > sum(map(str.isalnum, cell)) for cell in filled])
        if filled and numbers * 5 >= 3 * len(filled):
            return True
    return False


def _column(left: float, right: float, spans: Sequence[Span]) -> int:
    """Return the column that an interval shares most with, or the nearest one."""
    at = bisect_left(spans, (left, left))
    if at and spans[at - 1][1] > left:
        at -= 1
    if at >= len(spans) - 1 or spans[at + 1][0] >= right:
        # Before the first column that it could touch there may be a nearer one.
        is_between = at < len(spans) and at > 0 and left >= spans[at - 1][1] and right <= spans[at][0]
        if is_between:
            return at - 1 if left - spans[at - 1][1] < spans[at][0] - right else at
        return min(at, len(spans) - 1)
    best, most = at, -1.0
    for index in range(at, len(spans)):
        low, high = spans[index]
        if low >= right:
            break
        shared = min(right, high) - max(left, low)
        if shared > most:
            best, most = index, shared
    return best


def _finer(rows: list[Row], spans: list[Span]) -> tuple[list[Row], list[Span]]:
    """Divide columns where a narrow strip is free in all rows and most rows have words on both sides."""
    ordered = [(word[0], word[2]) for row in rows for s in row for word in s.words]
    if len(joined_spans(ordered)) <= len(spans):
        return rows, spans
    finer: list[Span] = []
    lines = [[word for s in row for word in s.words] for row in rows]
    at = 0
    for low, high in spans:
        cuts = [low]
        while at < len(ordered) and ordered[at][1] <= low:
            at += 1
        until = bisect_left(ordered, high, at, key=left_edge)
        parts = joined_spans([word for word in ordered[at:until] if word[1] > low])
        if len(parts) > 1:
            held = [[w for w in words if w[0] < high and w[2] > low] for words in lines]
            held = [words for words in held if words]
            height = held[0][0][3] - held[0][0][1]
            edges = [(min([w[2] for w in words]), max([w[0] for w in words])) for words in held]
            for (_, left), (right, _) in pairwise(parts):
                if len(held) < 4 or right - left <= 0.3 * height:
                    continue
                x = (left + right) / 2
                if sum([first < x < last for first, last in edges]) >= 0.6 * len(held):
                    cuts.append(x)
        finer += list(zip(cuts, [*cuts[1:], high], strict=True))
    if len(finer) == len(spans):
        return rows, spans
    page = rows[0][0].page
    return [_divided(words, finer, page) for words in lines], finer


def _divided(words: list[Word], spans: list[Span], page: str) -> Row:
    """Return the words of a row as one segment for each column."""
    columns = [_column(word[0], word[2], spans) for word in words]
    changes = [at for at in range(1, len(words)) if columns[at] != columns[at - 1]]
    return [segment_of(words[begin:end], page) for begin, end in pairwise([0, *changes, len(words)])]


@dataclass(slots=True)
class _Cell:
    column: int
    top: float
    bottom: float
    text: str
    last_top: float
    lines: int = 1


def _cells_of_several_lines(in_order: list[Segment], columns: int) -> list[list[str]] | None:
    """Return the rows of a table whose cells go over several lines, if the text layer writes cell by cell."""
    cells: list[_Cell] = []
    for s in in_order:
        column = s.column
        last = cells[-1] if cells else None
        is_next_line = last is not None and last.column == column and s.top > last.last_top
        if last is not None and is_next_line and s.top - last.bottom < 0.6 * (s.bottom - s.top):
            last.bottom, last.text, last.last_top = s.bottom, f"{last.text} {s.text}", s.top
            last.lines += 1
        else:
            cells.append(_Cell(column, s.top, s.bottom, s.text, s.top))
    if not 2 <= max(cell.lines for cell in cells) <= 8:
        return None
    table: list[list[_Cell]] = []
    low = 0.0
    for cell in sorted(cells, key=lambda cell: cell.top):
        slack = 0.3 * (cell.bottom - cell.top) / cell.lines
        if not table or cell.top + slack > low:
            table.append([])
            low = cell.bottom - slack
        table[-1].append(cell)
        low = max(low, cell.bottom - slack)
    if any(len({cell.column for cell in row}) < len(row) for row in table):
        return None  # two cells of one column beside a taller one
    if len(table) == 1:
        return None  # written column by column, each of them looks like one cell
    return [[next((c.text for c in row if c.column == at), "") for at in range(columns)] for row in table]


def _cells_by_lines(rows: list[Row], spans: list[Span], rules: Rules) -> list[list[str]]:
    """Return a row of cells for each line; lines between the same two rules, or close together, are one row."""
    width = spans[-1][1] - spans[0][0]
    heights = rules.wider_than(0.5 * width)
    inside = [y for y in heights if rows[0][0].top - 5 < y < rows[-1][0].bottom + 5]
    is_ruled = len(inside) >= max(3, len(rows) // 4)
    table: list[list[str]] = []
    last_bottom, last_band = 0.0, -1
    for row in rows:
        cells = [""] * len(spans)
        for s in row:
            cells[s.column] = f"{cells[s.column]} {s.text}".strip()
        top, bottom = row[0].top, row[0].bottom
        band = bisect_left(heights, (top + bottom) / 2)
        filled = sum(map(bool, cells))
        if not table:
            is_same = False
        elif is_ruled:
            is_same = band == last_band and filled < max(2, 0.6 * sum(map(bool, table[-1])))
        else:
            is_close = top - last_bottom < 0.45 * (bottom - top)
            is_same = is_close and not cells[0] and filled <= max(1, len(spans) // 3)
        if is_same:
            table[-1] = [f"{a} {b}".strip() for a, b in zip(table[-1], cells, strict=True)]
        else:
            table.append(cells)
        last_bottom, last_band = max(s.bottom for s in row), band
    return table


def _without_split_headings(cells: list[list[str]]) -> list[list[str]]:
    """Join a column that holds only a heading with the column of its numbers beside it."""
    at = 0
    while at + 1 < len(cells[0]):
        is_apart = not any(row[at] and row[at + 1] for row in cells)
        few = min(sum([bool(row[at]) for row in cells]), sum([bool(row[at + 1]) for row in cells]))
        if is_apart and few <= 2 and len(cells) > 4:
            cells = [[*row[:at], row[at] or row[at + 1], *row[at + 2 :]] for row in cells]
        else:
            at += 1
    return cells


class Rules:
    """The horizontal lines of a page, found when a table first needs them."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        self._found: list[tuple[float, float, float]] | None = None

    def wider_than(self, width: float) -> list[float]:
        """Return the y of each longer line, from the top."""
        if self._found is None:
            self._found = _read_rules(self._page) if self._page.get_rotation() == 0 else []
        return sorted([y for left, right, y in self._found if right - left > width])


def _read_rules(page: pypdfium2.PdfPage) -> list[tuple[float, float, float]]:
    """Return left, right and y of the horizontal lines of a page."""
    height = page.get_size()[1]
    found: list[tuple[float, float, float]] = []
    edges = ctypes.create_string_buffer(FLOATS.size)
    places = [ctypes.addressof(edges) + 4 * at for at in range(4)]
    handle = address_of(page.raw)
    for index in range(min(MAX_RULES, pdfium.FPDFPage_CountObjects(page.raw))):
        item = _page_object(handle, index)
        if _object_type(item) == pdfium.FPDF_PAGEOBJ_PATH and _object_bounds(item, *places):
            left, bottom, right, top = FLOATS.unpack_from(edges)
            found.append((left, right, height - bottom))
            if top - bottom >= 3:
                found.append((left, right, height - top))
    return found
