"""Tables of a PDF page, found by the white space between its words.

    regions   runs of rows with wide gaps, with the short rows between them
    columns   strips of x that are free of words in nearly all rows of a region
    lines     the words of each row by columns; a phrase that covers several columns stands in the first of them
    rows      lines that belong together: overlapping, or the rest of a cell

A region becomes a table only if few cells are empty, the cells are no running text, and the text layer has them in
order.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from eyespan.extras.documents.pdf.words import WIDE_GAP, Row, Word, shown_words

MAX_GAP_LINES = 3.6
"""A table ends at a gap of so many lines."""
LARGE = 1.17
"""A line of letters that are so many times as high as most others is a title."""
MAX_CELL_CHARS = 90
"""With longer cells on average, columns are running text and no table."""


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


def blocks_of(rows: list[Row]) -> list[Table | Row]:
    """Return the tables and the other rows of a run."""
    if sum([len(row) > 1 for row in rows]) < 2:
        return list(rows)
    blocks: list[Table | Row] = []
    run = _Run(rows)
    at = 0
    while at < len(rows):
        end = max(at + 1, run.region_end(at))
        if sum([len(row) > 1 for row in rows[at:end]]) > 1 and (found := run.table(at, end)):
            table, first, end = found
            blocks += [*rows[at:first], table]
        else:
            blocks += rows[at:end]
        at = end
    return blocks


_TITLE = re.compile(
    r"(?:Table|TABLE|Figure|FIGURE|Fig\.|Exhibit|Chart|Tableau|Tabelle|Tabla|Box)\s?[\dA-Z]"
    r"|(?:Source|Note|NOTE|Notes)s?:|\*|\(\W\)"
)
"""The start of a line that belongs to a table but is no row of it."""
_CAPTION = re.compile(r"(?:Table|TABLE|Tab\.|Tableau|Tabelle|Tabla|Tabella)\s?[\dA-ZIVX]")
_FILLER = re.compile(r"[.\u2026_=\u2013\u2014-]{3,}")
"""Dots that lead from a label to its number, or a line of dashes."""


class _Run:
    """Rows of one column of a page, with what is known of each."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self.page = page = rows[0][0].page
        self.words = [[w for s in row for w in s.words] for row in rows]
        if _FILLER.search(page):
            self.words = [[w for w in words if not _FILLER.fullmatch(page, w[4], w[5])] for words in self.words]
        self.numbers = {w[4] for words in self.words for w in words if _is_number(page[w[4] : w[5]])}
        """The starts of the words that are numbers."""
        self._height = median([s.bottom - s.top for row in rows for s in row])
        self._is_break = [self._ends_region(at) for at in range(len(rows))]

    def _ends_region(self, at: int) -> bool:
        """Return True for a title, also one in large letters, and for a line of running text, whose gaps are alike."""
        words, row = self.words[at], self._rows[at]
        gap = row[0].top - max([s.bottom for s in self._rows[at - 1]]) if at else 0.0
        is_title = len(row) == 1 and gap > 0.6 * self._height
        if is_title and row[0].bottom - row[0].top <= LARGE * self._height:  # the next row has names of columns
            below = self._rows[at + 1] if at + 1 < len(self._rows) else row
            is_title = len(below) > 1 and below[0].top - row[0].bottom > 0.6 * self._height
            is_title = is_title and not any(w[4] in self.numbers for w in self.words[at + 1])
        if words and (is_title or _TITLE.match(self.page, words[0][4])):
            return True
        if len(words) < 7 or sum([w[4] in self.numbers for w in words]) * 3 >= len(words):
            return False
        gaps = [b[0] - a[2] for a, b in pairwise(words)]
        is_header = len(row) >= 0.7 * len(words) and bool(self.numbers)  # a word for each column of numbers
        return max(gaps) < 2.2 * sorted(gaps)[len(gaps) // 3] and not is_header

    def region_end(self, start: int) -> int:
        """Return the end of the region that begins with a row: the last row with several segments before other text."""
        end, alone = start, 0
        lefts: list[float] = []
        low = high = bottom = 0.0
        for at in range(start, len(self._rows)):
            row = self._rows[at]
            first = row[0]
            if at > start and first.top - bottom > MAX_GAP_LINES * (first.bottom - first.top):
                break
            bottom = max([s.bottom for s in row])
            if not self.words[at]:
                continue
            if len(row) == 1 and end > start and any(abs(first.left - left) < 2 for left in lefts):
                continue  # the rest of a cell that is not in the first column
            if self._is_break[at]:
                break
            if len(row) == 1:
                alone += 1
                if alone > 3 or (end > start and first.right - first.left > 0.75 * (high - low)):
                    break
                continue
            alone = 0
            lefts = [s.left for s in row[1:]]
            low = min(low, first.left) if end > start else first.left
            high = max(high, row[-1].right)
            end = at + 1
        return end

    def table(self, start: int, end: int) -> tuple[Table, int, int] | None:
        """Return the table of a region and where its rows begin and end; None if it is more likely something else."""
        grid = _Grid(self, self.words[start:end])
        lines = grid.lines
        first, last = 0, len(lines)
        while first + 2 < last and lines[first].cells.keys() <= {0}:  # a title
            first += 1
        while first + 2 < last and (len(lines[last - 1].cells) < 2 or lines[last - 1].spans):
            last -= 1
        lines = [line for line in lines[first:last] if line.cells]
        if len(lines) < 2 or _is_overlapping(lines):
            return None
        columns = len(grid.edges) + 1
        made = _joined_lines(lines, columns, grid)
        cells = [[grid.text(line.cells.get(at, [])) for at in range(columns)] for line in made]
        first, last = start + first, start + last
        words = [word for row in self._rows[first:last] for s in row for word in s.words]
        has_caption = first and _CAPTION.match(self.page, self._rows[first - 1][0].start)
        least = 2 if has_caption else 4 if columns == 2 else 3
        if not _is_sure(cells, least) or _is_out_of_order(made, columns):
            return None
        return Table(cells, words), first, last


@dataclass(slots=True)
class _Line:
    """The words of a row, or of several that are one row of the table, by columns."""

    top: float
    bottom: float
    cells: dict[int, list[list[Word]]] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """The first and the last column of each phrase that covers several."""

    def add(self, other: _Line) -> None:
        for column, phrases in other.cells.items():
            self.cells.setdefault(column, []).extend(phrases)
        self.top, self.bottom = min(self.top, other.top), max(self.bottom, other.bottom)
        self.spans += other.spans

    def is_above(self, other: _Line) -> bool:
        """Return True if a phrase is the heading of several columns of the other line."""
        return any(sum([first <= column <= last for column in other.cells]) > 1 for first, last in self.spans)


# --- columns ---------------------------------------------------------------------------------------------------------


class _Grid:
    """The columns of a region."""

    def __init__(self, run: _Run, rows: list[list[Word]]) -> None:
        self._page, self._numbers = run.page, run.numbers
        self._height = height = median([w[3] - w[1] for row in rows for w in row])
        pairs = [[(a, b, b[0] - a[2]) for a, b in pairwise(row)] for row in rows]
        wide = WIDE_GAP * height
        gaps = [gap for row in pairs for a, b, gap in row if self._numbers.isdisjoint((a[4], b[4]))]
        blanks = sorted([gap for gap in gaps if 0.05 * height < gap < wide])
        self._blank = blanks[len(blanks) // 3] if len(blanks) > 3 else 0.25 * height
        """The usual gap between two words of a cell."""
        body = [row for row, found in zip(rows, pairs, strict=True) if any(gap > wide for _, _, gap in found)]
        self.edges = self._found_edges(body)
        self.lines = [self._line(row) for row in rows]
        kept = self._needed_edges()
        if len(kept) < len(self.edges):
            self.edges = kept
            self.lines = [self._line(row) for row in rows]

    def _found_edges(self, body: list[list[Word]]) -> list[float]:
        """Return the x between columns: strips that nearly no row crosses, with words on both sides in many rows."""
        crossing = 0 if len(body) < 6 else 1 if len(body) < 12 else len(body) // 8
        changes = sorted([change for row in body for w in row for change in ((w[0] + 0.2, 1), (w[2] - 0.2, -1))])
        edges = []
        for x, leftmost in _strips(changes, crossing):
            gaps, numbers = [], 0
            for row in body:
                at = bisect_left(row, x, key=lambda word: (word[0] + word[2]) / 2)
                if 0 < at < len(row) and row[at - 1][2] <= x + 0.3 and row[at][0] >= x - 0.3:
                    gaps.append(row[at][0] - row[at - 1][2])
                    numbers += row[at - 1][4] in self._numbers and row[at][4] in self._numbers
            if len(gaps) < max(2, 0.2 * len(body)):
                continue
            gaps.sort()
            few, many = gaps[len(gaps) // 5], gaps[7 * len(gaps) // 10]
            # Between the parts of a cell, such as 40 and years, the gap is a blank in nearly all rows.
            are_numbers = numbers * 2 > len(gaps)
            is_blank = many < (0.4 if are_numbers else 0.75) * self._height and many - few < 0.06 * self._height
            is_apart = are_numbers and many > 1.6 * self._blank
            if not is_blank and (is_apart or median(gaps) >= max(0.45 * self._height, 1.6 * self._blank)):
                # Numbers end at the right of their column; a name or the sign of a currency may begin far before them.
                edges.append(leftmost if are_numbers else x)
        return edges

    def _needed_edges(self) -> list[float]:
        """Return the x between columns that share a row. Others divide the heading of a column from its numbers."""
        columns = range(len(self.edges) + 1)
        rows = [{at for at, line in enumerate(self.lines) if column in line.cells} for column in columns]
        kept, last = [], rows[0]
        for edge, held in zip(self.edges, rows[1:], strict=True):
            if last & held:
                kept.append(edge)
                last = held
            else:
                last = last | held
        return kept

    def text(self, phrases: list[list[Word]]) -> str:
        """Return the text of a cell."""
        return " ".join([shown_words(phrase, self._page) for phrase in phrases])

    def _line(self, words: list[Word]) -> _Line:
        """Return the words of a row by columns."""
        line = _Line(min([w[1] for w in words], default=0), max([w[3] for w in words], default=0))
        edges, height = self.edges, self._height
        phrases: list[list[Word]] = []
        for word in words:
            last = phrases[-1][-1] if phrases else None
            if last is not None and word[0] - last[2] < max(0.45 * height, min(1.4 * self._blank, 0.9 * height)):
                at = bisect_left(edges, last[2] - 0.5)
                has_edge = at < len(edges) and edges[at] <= word[0] + 0.5
                are_numbers = has_edge and last[4] in self._numbers and word[4] in self._numbers
                if not (are_numbers or (has_edge and word[0] - last[2] > 1.5 * self._blank)):
                    phrases[-1].append(word)
                    continue
            phrases.append([word])
        for phrase in phrases:
            left, right = phrase[0][0], phrase[-1][2]
            first, last_column = bisect_right(edges, left + 0.5), bisect_left(edges, right - 0.5)
            if last_column > first:
                shares = [b - a for a, b in pairwise([left, *edges[first:last_column], right])]
                most = max(shares)
                if most > 0.85 * (right - left):  # it only reaches into the next column
                    first += shares.index(most)
                else:
                    line.spans.append((first, last_column))
            line.cells.setdefault(first, []).append(phrase)
        return line


def _strips(changes: list[tuple[float, int]], crossing: int) -> list[tuple[float, float]]:
    """Return for each strip that few rows cross the middle of two parts, those that the fewest cross: the widest one,
    and the first one.
    """
    found: list[tuple[float, float]] = []
    depth, parts = 0, []
    for (x, change), (following, _) in pairwise(changes):
        depth += change
        if depth <= crossing:
            parts.append((depth, x - following, (x + following) / 2))
        elif parts:
            first = min([part for part in parts if part[1] < -0.5] or parts, key=lambda part: part[0])
            found.append((min(parts)[2], first[2]))
            parts = []
    return found


def _is_number(text: str) -> bool:
    return not text.isalpha() and sum(map(str.isalpha, text)) * 2 < len(text)


# --- rows ------------------------------------------------------------------------------------------------------------


def _joined_lines(lines: list[_Line], columns: int, grid: _Grid) -> list[_Line]:
    """Return the rows of a table: lines that overlap, or go on in cells of the line before."""
    lines = _without_overlaps(lines, grid)
    data = next((at for at, line in enumerate(lines) if _is_data(line, columns, grid)), 0)
    gaps = [below.top - above.bottom for above, below in pairwise(lines)]
    wrapped = _wrapped_by_gaps(lines, gaps, columns)
    made = lines[:1]
    for at, (gap, line) in enumerate(zip(gaps, lines[1:], strict=True), 1):
        last = made[-1]
        tall = line.bottom - line.top
        if at < data:
            are_full = min(len(line.cells), len(last.cells)) > 0.6 * columns and 0 in line.cells and 0 in last.cells
            is_same = gap < 0.8 * tall and not (last.is_above(line) or line.spans or are_full)
        elif at == data:
            is_same = False
        elif wrapped is not None:
            is_same = gap <= wrapped
        else:
            is_same = gap < 0.45 * tall and _goes_on(last, line, columns, grid)
        # Of two lines that end with numbers each is a row, and one below a heading is a row.
        ends = [grid.text(one.cells.get(columns - 1, [])) for one in (last, line)[at < data :]] if is_same else []
        if is_same and not all(_is_number(end) and len(end) > 2 for end in ends):
            last.add(line)
        else:
            made.append(line)
    return made


def _without_overlaps(lines: list[_Line], grid: _Grid) -> list[_Line]:
    """Return lines of which those that overlap are one, unless both have a number in the same column."""
    made = lines[:1]
    for line in lines[1:]:
        last = made[-1]
        shared = last.bottom - line.top
        common = last.cells.keys() & line.cells.keys() - {0}
        is_row = any(all(_is_number(grid.text(one.cells[at])) for one in (last, line)) for at in common)
        if not is_row and shared > 0.3 * min(line.bottom - line.top, last.bottom - last.top):
            main = line if len(line.cells) > len(last.cells) else last
            top, bottom = main.top, main.bottom
            last.add(line)
            last.top, last.bottom = top, bottom  # a cell that covers several rows stands beside one of them
        else:
            made.append(line)
    return made


def _is_data(line: _Line, columns: int, grid: _Grid) -> bool:
    """Return True if most cells of a line after the first column are numbers."""
    found = [grid.text(phrases) for column, phrases in line.cells.items() if column]
    return len(found) >= min(3, (columns - 1) / 2) and sum(map(_is_number, found)) * 2 > len(found)


def _wrapped_by_gaps(lines: list[_Line], gaps: list[float], columns: int) -> float | None:
    """Return the largest gap within a row, if gaps between rows are clearly larger; None otherwise."""
    if len(gaps) < 3:
        return None
    tall = median([line.bottom - line.top for line in lines])
    jump, limit = max([(b - a, (a + b) / 2) for a, b in pairwise(sorted(gaps))])
    if jump < 0.25 * tall:
        return None
    begins = [0, *[at for at, gap in enumerate(gaps, 1) if gap > limit], len(lines)]
    runs = [lines[begin:end] for begin, end in pairwise(begins)]
    anchors = max([sum([0 in line.cells and len(line.cells) > 1 for line in run]) for run in runs])
    return limit if anchors == 1 and len(runs) > 2 else None


def _goes_on(above: _Line, line: _Line, columns: int, grid: _Grid) -> bool:
    """Return True if a line has the rest of some cells of the line before."""
    if 0 not in line.cells:
        return len(line.cells) <= max(1, columns // 3) and set(line.cells) <= set(above.cells)
    text = grid.text(line.cells[0])
    return len(line.cells) == 1 and text[:1].islower() and 0 in above.cells


# --- tests -----------------------------------------------------------------------------------------------------------

# Rows and columns are sure if few cells are empty and lines do not overlap. The labels of a
# diagram, the marks of an axis and the parts of a formula are no table.
LEAST_FILLED = 0.45
"""The share of cells with text."""
MOST_OVERLAPPING = 0.2
MOST_BACK = 0.22
"""The share of steps from a cell to the next in the text layer that go back."""
_MARK = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})?(?:[.)\]]|\.\d+)*|\W{1,2}")
"""The mark of an item of a list."""


def _is_sure(cells: list[list[str]], least_rows: int) -> bool:
    """Return True if few cells are empty, and most of them are no parts of sentences."""
    columns = len(cells[0])
    numbers = [[int(cell) for cell in column if cell.isdecimal()] for column in zip(*cells, strict=True)]
    pages = [found for found in numbers if len(set(found)) > 4]
    if 1 < len(pages) <= columns // 2 and pages == sorted(map(sorted, pages)):
        return False  # tables of contents beside each other
    counts = [sum(map(bool, row)) for row in cells]
    is_short = sum([count > 1 for count in counts]) < least_rows
    if is_short or sum(counts) < LEAST_FILLED * len(cells) * columns or max(counts) < 0.75 * columns:
        return False
    filled = [cell for row in cells for cell in row if cell]
    if sum(map(len, filled)) > MAX_CELL_CHARS * len(filled):
        return False
    long = [cell for cell in filled if cell.count(" ") >= 3]
    lower = sum([cell[0].islower() for cell in long])
    if len(long) * 2 > len(filled) and lower * 5 > 2 * len(long):
        return False
    words = [row[1] for row in cells if row[1].count(" ") > 1]
    marks = sum([_MARK.fullmatch(row[0]) is not None for row in cells])
    if columns == 2 and marks >= 0.75 * len(cells) and len(words) * 2 > len(cells):
        return False  # a list
    return not (columns == 2 and sum([len(cell) > 35 and cell.count(" ") >= 5 for cell in filled]) * 2 > len(filled))


def _is_out_of_order(lines: list[_Line], columns: int) -> bool:
    """Return True if the text layer has the cells neither by rows nor by columns: a drawing, or blocks side by side."""
    cells = [(row, column, phrases) for row, line in enumerate(lines) for column, phrases in line.cells.items()]
    order = sorted([(phrase[0][4], row, column) for row, column, phrases in cells for phrase in phrases])
    by_row, by_column = [place[1:] for place in order], [place[:0:-1] for place in order]
    back = min([sum([a > b for a, b in pairwise(way)]) for way in (by_row, by_column)])
    if back > MOST_BACK * sum([a != b for a, b in pairwise(by_row)]):
        return True
    steps = [(a, b) for (_, a), (_, b) in pairwise(by_row) if a != b]
    if columns == 2:
        return len(steps) < 3
    # Blocks of several columns, each of them row by row.
    divided = [sum([(a < edge) != (b < edge) for a, b in steps]) == 1 for edge in range(2, columns - 1)]
    return any(divided) and len(steps) > 2 * (columns - 1)


def _is_overlapping(lines: list[_Line]) -> bool:
    """Return True if many lines reach into the next one, in the same column."""
    overlapping = 0
    for above, below in pairwise(lines):
        height = min(above.bottom - above.top, below.bottom - below.top)
        overlapping += above.bottom - below.top > 0.35 * height and not above.cells.keys().isdisjoint(below.cells)
    return overlapping > MOST_OVERLAPPING * len(lines)
