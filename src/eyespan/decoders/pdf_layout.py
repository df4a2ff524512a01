"""Tables and columns of a PDF page, from the places of its words.

The order of the text layer is the best order on real files, so it is kept. Only words that form a table are taken out
of it and shown as rows, at the place of the first of them. A page whose text layer jumps between columns of running
text from line to line is put in order by its columns. Pages with much right-to-left or rotated text stay as they are.

    pieces     text of the layer between blanks: left, top, right and bottom, and the places of its start and end
    words      pieces with their text
    segments   words of one line with no wide gap between them
    rows       the segments that stand on one line, from left to right
"""

from __future__ import annotations

import ctypes
import re
import struct
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import pypdfium2.raw as pdfium

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pypdfium2

    Box = tuple[float, float, float, float]
    Span = tuple[float, float]
    Piece = tuple[float, float, float, float, int, int]

MAX_WORDS = 20_000
"""A page with more words is shown as it is."""
MAX_RULES = 3000
MAX_ROWS_BACK = 6
"""A word belongs to one of the last so many rows, or starts a new one."""
WIDE_GAP = 0.95
"""A wider gap than this share of the line's height separates two segments."""
MAX_GAP_LINES = 3.2
"""A table ends at a gap of so many lines."""
MAX_TRIES = 10
"""Rows that are no table are tried again without the first, at most so often, because it may be a title."""
MAX_CELL_CHARS = 90
"""With longer cells on average, columns are running text and no table."""
_PIECE = re.compile(r"[^ \t\r\n\x0b\x0c\xa0\0]+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
_HYPHENS = "\ufffe\x02"
"""pdfium writes these for a hyphen at the end of a line."""
_FLOATS = struct.Struct("4f")


def _address_of(pointer: Any) -> int:
    """Return a pointer of pdfium as a number; 0 for none."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def _plain_call(function: Any, result: Any, *parameters: Any) -> Any:
    """Return a function of pdfium that takes addresses as numbers.

    The checks of typed pointers take twice the time of the call, and a page has some thousand calls.
    """
    return ctypes.CFUNCTYPE(result, *parameters)(_address_of(function))


_ADDRESS, _INT = ctypes.c_void_p, ctypes.c_int
_loose_box = _plain_call(pdfium.FPDFText_GetLooseCharBox, _INT, _ADDRESS, _INT, _ADDRESS)
_page_object = _plain_call(pdfium.FPDFPage_GetObject, _ADDRESS, _ADDRESS, _INT)
_object_type = _plain_call(pdfium.FPDFPageObj_GetType, _INT, _ADDRESS)
_object_bounds = _plain_call(pdfium.FPDFPageObj_GetBounds, _INT, _ADDRESS, *[_ADDRESS] * 4)


@dataclass(slots=True)
class Word:
    """A piece of the text layer; `start` and `end` are places in it. y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Segment:
    """Words of one line that belong together."""

    left: float
    top: float
    right: float
    bottom: float
    words: list[Word] = field(default_factory=list)
    made_text: str = ""
    column: int = 0
    """The column of the table that the segment is tried in."""

    @property
    def text(self) -> str:
        """Return the words with blanks where there are gaps; made once, when all words are there."""
        if not self.made_text:
            least = 0.08 * (self.bottom - self.top)
            shown = [self.words[0].text]
            for last, word in pairwise(self.words):
                shown.append(word.text if word.left - last.right < least else f" {word.text}")
            self.made_text = "".join(shown)
        return self.made_text

    @property
    def start(self) -> int:
        return self.words[0].start

    def add(self, word: Word) -> None:
        """Append a word to the right."""
        self.words.append(word)
        if word.right > self.right:
            self.right = word.right
        if word.top < self.top:
            self.top = word.top
        if word.bottom > self.bottom:
            self.bottom = word.bottom


Row = list[Segment]


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


def page_text(page: pypdfium2.PdfPage, layer: Any) -> str:
    """Return the text of a page with its tables as rows."""
    text = characters(layer)
    plain = clean(text)
    if "\n" not in plain:
        return plain
    try:
        return _laid_out(page, layer, text, plain)
    except (ArithmeticError, ValueError, IndexError):
        return plain  # boxes of a damaged file can have any numbers, also none


def _laid_out(page: pypdfium2.PdfPage, layer: Any, text: str, plain: str) -> str:
    pieces, odd = read_pieces(page, layer, text)
    if not pieces or len(pieces) > MAX_WORDS or odd * 4 > len(pieces) or _is_right_to_left(plain):
        return plain
    if _is_one_column(pieces):
        return plain
    rows = rows_of(words_of(pieces, text))
    if sum([len(row) > 1 for row in rows]) < 3:
        return plain
    rules = _Rules(page)
    jumps: list[float] = []
    runs = in_columns(rows, jumps)
    found = [block for run in runs for block in blocks_of(run, rules)]
    tables = [block for block in found if isinstance(block, Table)]
    if jumps:
        return _joined_pairs("\n".join([line for block in found for line in _block_lines(block)]))
    return _with_tables(text, tables) if tables else plain


def _block_lines(block: Table | Row) -> list[str]:
    return block.lines() if isinstance(block, Table) else ["   ".join([segment.text for segment in block])]


def characters(layer: Any) -> str:
    """Return the text layer with one character for each of pdfium's, which may be halves of a pair."""
    count = pdfium.FPDFText_CountChars(layer) if layer else 0
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (2 * count + 2))()
    written = pdfium.FPDFText_GetText(layer, 0, count, buffer)
    text = bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    codes = [pdfium.FPDFText_GetUnicode(layer, index) for index in range(count)]
    return "".join([chr(code) if 0 < code < 0x110000 else "\ufffd" for code in codes])


def clean(text: str) -> str:
    """Return text of the layer with LF line ends, with hyphens where pdfium joined lines, without blanks at the end."""
    text = text.replace("\r\n", "\n")
    for hyphen in _HYPHENS:
        text = text.replace(hyphen, "-\n")
    return _joined_pairs(text.replace("\0", "").rstrip())


def _joined_pairs(text: str) -> str:
    """Return text with one character for each pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _is_right_to_left(text: str) -> bool:
    return not text.isascii() and len(_RIGHT_TO_LEFT.findall(text)) * 6 > len(text)


# --- words and rows --------------------------------------------------------------------------------------------------


def read_pieces(page: pypdfium2.PdfPage, layer: Any, text: str) -> tuple[list[Piece], int]:
    """Return the pieces between blanks with their boxes, and the number of those that have none or are rotated."""
    place = _places(page, layer)
    pieces: list[Piece] = []
    odd = 0
    for found in _PIECE.finditer(text):
        start, end = found.span()
        first = left, top, right, bottom = place(start)
        height = bottom - top
        if height <= 0 or right < left:
            odd += 1
            continue
        if end - start > 1:
            last = last_left, last_top, last_right, last_bottom = place(end - 1)
            if abs(last_top - top) > 0.5 * height or last_left < left - 0.1:
                parts = _split_piece(
                    start, [first, *[place(index) for index in range(start + 1, end - 1)], last], height
                )
                # Rotated letters stand below each other; a hyphen joins two lines.
                if len(parts) > 2:
                    odd += 1
                else:
                    pieces += parts
                continue
            if last_top < top:
                top = last_top
            if last_right > right:
                right = last_right
            if last_bottom > bottom:
                bottom = last_bottom
        pieces.append((left, top, right, bottom, start, end))
    return pieces, odd


def words_of(pieces: list[Piece], text: str) -> list[Word]:
    """Return the pieces as words."""
    shown = text.replace("\ufffe", "-").replace("\x02", "-")
    return [
        Word(left, top, right, bottom, shown[start:end], start, end) for left, top, right, bottom, start, end in pieces
    ]


def _is_one_column(pieces: list[Piece]) -> bool:
    """Return True if each line of the text layer stands below the one before, nearly all of them without wide gaps.

    Such a page has neither tables nor columns. This is most pages, and takes a fraction of the time of rows.
    """
    gaps = 0
    middle = height = right = -1e9
    for left, top, edge, bottom, _, _ in pieces:
        own, tall = (top + bottom) / 2, bottom - top
        low, high = (tall, height) if tall < height else (height, tall)
        slack = 0.4 * low + 0.05 * high
        shift = own - middle
        if shift <= -slack:
            return False
        if shift >= slack:
            middle, height, right = own, tall, edge
            continue
        if left < right - tall:
            return False
        if left - right >= WIDE_GAP * min(low, 30) + 0.5:
            gaps += 1
            if gaps == 3:
                return False
        if edge > right:
            right = edge
    return True


def _places(page: pypdfium2.PdfPage, layer: Any) -> Callable[[int], Box]:
    """Return a function that returns the box of a character on the upright page."""
    width, height = page.get_size()
    rotation = page.get_rotation()
    left, bottom, _, _ = page.get_bbox()
    upper = height + bottom
    box = ctypes.create_string_buffer(_FLOATS.size)  # left, top, right, bottom, as in FS_RECTF
    read_floats, text_page, address = _FLOATS.unpack_from, _address_of(layer), ctypes.addressof(box)

    def place(index: int) -> Box:
        _loose_box(text_page, index, address)
        x0, y1, x1, y0 = read_floats(box)
        if rotation == 0:
            return x0 - left, upper - y1, x1 - left, upper - y0
        x0, y0, x1, y1 = x0 - left, y0 - bottom, x1 - left, y1 - bottom
        if rotation == 90:
            return y0, x0, y1, x1
        if rotation == 180:
            return width - x1, y0, width - x0, y1
        return width - y1, height - x1, width - y0, height - x0

    return place


def _split_piece(start: int, boxes: list[Box], height: float) -> list[Piece]:
    """Return the parts of a piece that goes over several lines."""
    parts: list[Piece] = []
    begin = 0
    for at in range(1, len(boxes) + 1):
        if at < len(boxes):
            is_same_line = abs(boxes[at][1] - boxes[at - 1][1]) <= 0.5 * height
            if is_same_line and boxes[at][0] >= boxes[at - 1][0] - height:
                continue
        lefts, tops, rights, bottoms = zip(*boxes[begin:at], strict=True)
        parts.append((min(lefts), min(tops), max(rights), max(bottoms), start + begin, start + at))
        begin = at
    return parts


def rows_of(words: list[Word]) -> list[Row]:
    """Return the words by lines from top to bottom, as segments from left to right."""
    lines: list[tuple[float, float, list[Word]]] = []
    for twice, word in sorted([(word.top + word.bottom, word) for word in words], key=itemgetter(0)):
        middle, height = twice / 2, word.bottom - word.top
        for at in range(len(lines) - 1, max(-1, len(lines) - 1 - MAX_ROWS_BACK), -1):
            other, line_height, members = lines[at]
            low, high = (height, line_height) if height < line_height else (line_height, height)
            if abs(other - middle) < 0.4 * low + 0.05 * high:
                members.append(word)
                break
        else:
            lines.append((middle, height, [word]))
    return [_segments(members, height) for _, height, members in sorted(lines, key=itemgetter(0))]


def _segments(words: list[Word], height: float) -> Row:
    row: Row = []
    wide = WIDE_GAP * min(height, 30) + 0.5
    right = -wide
    last: Segment | None = None
    for word in sorted(words, key=_left_edge):
        if last is not None and word.left - right < wide:
            last.add(word)
        else:
            last = Segment(word.left, word.top, word.right, word.bottom, [word])
            row.append(last)
        right = last.right
    return row


_left_edge = attrgetter("left")


# --- columns of running text -----------------------------------------------------------------------------------------


def in_columns(rows: list[Row], jumps: list[float], depth: int = 0) -> list[list[Row]]:
    """Return runs of rows in reading order, each of one column.

    Adds to `jumps` where the text layer changes between the columns again and again.
    """
    x = _gutter(rows) if depth < 3 else None
    if x is None:
        return [rows]
    beside = sorted([s for row in rows for s in row if not s.left < x < s.right], key=lambda s: s.start)
    changes = sum([(a.left < x) != (b.left < x) for a, b in pairwise(beside)])
    left = sum([s.left < x for s in beside])
    if changes >= 0.25 * min(left, len(beside) - left):
        jumps.append(x)
    runs: list[list[Row]] = []
    band: list[Row] = []
    for row in rows:
        if any(s.left < x < s.right for s in row):
            runs += _both_columns(band, x, jumps, depth)
            runs.append([row])
            band = []
        else:
            band.append(row)
    runs += _both_columns(band, x, jumps, depth)
    return _joined_runs(runs)


def _both_columns(band: list[Row], x: float, jumps: list[float], depth: int) -> list[list[Row]]:
    left = [kept for row in band if (kept := [s for s in row if s.right <= x])]
    right = [kept for row in band if (kept := [s for s in row if s.left >= x])]
    if len(left) < 2 or len(right) < 2:
        return [band] if band else []
    return [*in_columns(left, jumps, depth + 1), *in_columns(right, jumps, depth + 1)]


def _joined_runs(runs: list[list[Row]]) -> list[list[Row]]:
    """Join single lines to the run of single lines before them."""
    joined: list[list[Row]] = []
    for run in runs:
        is_line = len(run) == 1 and len(run[0]) == 1
        if joined and is_line and all(len(row) == 1 for row in joined[-1]):
            joined[-1] = joined[-1] + run
        else:
            joined.append(run)
    return joined


def _gutter(rows: list[Row]) -> float | None:
    """Return the x of a white strip between two columns of running text; None if there is none."""
    segments = [s for row in rows for s in row]
    if len(rows) < 4 or len(segments) > 4000:
        return None
    low, high = min(s.left for s in segments), max(s.right for s in segments)
    near, far = low + 0.15 * (high - low), high - 0.12 * (high - low)
    best, place = 3, None
    starts: dict[int, int] = {}
    for s in segments:
        if near < s.left < far:
            starts[round(s.left - 2)] = starts.get(round(s.left - 2), 0) + 1
    # The column begins where most lines begin.
    for x in sorted([x for x in starts if starts[x] > 2], key=lambda x: -starts[x])[:6]:
        score = sum([_band_score(band, x) for band in _bands(rows, x)])
        if score > best:
            best, place = score, float(x)
    return place


def _bands(rows: list[Row], x: float) -> list[list[Row]]:
    """Return the runs of rows that nothing crosses at x."""
    bands: list[list[Row]] = [[]]
    for row in rows:
        if any(s.left < x < s.right for s in row):
            bands.append([])
        else:
            bands[-1].append(row)
    return bands


def _band_score(band: list[Row], x: float) -> int:
    left = [s for row in band for s in row if s.right <= x]
    right = [s for row in band for s in row if s.left >= x]
    if len(left) < 3 or len(right) < 3 or not (_is_running_text(left) and _is_running_text(right)):
        return 0
    return min(len(left), len(right))


def _is_running_text(segments: list[Segment], again: bool = True) -> bool:
    """Return True if most lines fill their column."""
    width = max(s.right for s in segments) - min(s.left for s in segments)
    chars = sum([s.words[-1].end - s.words[0].start for s in segments]) / len(segments)
    per_line = len(segments) / len({round(s.top / 3) for s in segments})
    if per_line >= 1.5:  # perhaps columns again
        spans = spans_of([[s] for s in segments])
        if not again or not 1 < len(spans) < 4:
            return False
        parts = [[s for s in segments if low <= s.left < high] for low, high in spans]
        return all(_is_running_text(part, again=False) for part in parts if part)
    return sum([s.right - s.left > 0.6 * width for s in segments]) >= 0.45 * len(segments) and chars >= 16


# --- tables ----------------------------------------------------------------------------------------------------------


def blocks_of(rows: list[Row], rules: _Rules) -> list[Table | Row]:
    """Return the tables and the other rows of a run."""
    blocks: list[Table | Row] = []
    at = tries = last_end = 0
    while at < len(rows):
        end, spans = _table_end(rows, at)
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


def _table_end(rows: list[Row], start: int) -> tuple[int, list[Span]]:
    """Return the end of the table that begins with a row, and its columns; the start if there is no table."""
    end, several = start, 0
    spans: list[Span] = []
    while end < len(rows):
        row = rows[end]
        height = row[0].bottom - row[0].top
        if end > start and row[0].top - max(s.bottom for s in rows[end - 1]) > MAX_GAP_LINES * height:
            break
        if len(row) == 1 and not (several and _is_within(row[0], spans)):
            break
        trial = _joined_spans([*spans, *[(s.left, s.right) for s in row]])
        if len(trial) < 2 or (several >= 2 and (len(trial) < 0.7 * len(spans) or len(trial) < len(spans) - 1)):
            break
        spans = trial
        several += len(row) > 1
        end += 1
    while end > start and len(rows[end - 1]) == 1 and _is_label(rows[end - 1][0], spans):
        end -= 1
    is_table = several >= 3 and len(spans) >= 2
    return (end, spans) if is_table else (start, [])


def spans_of(rows: Iterable[Row]) -> list[Span]:
    """Return the intervals of x that hold text; between them is white space in all rows."""
    return _joined_spans([(s.left, s.right) for row in rows for s in row])


def _joined_spans(parts: list[Span]) -> list[Span]:
    """Return intervals from left to right, those that overlap as one."""
    parts.sort(key=itemgetter(0))
    joined: list[Span] = []
    low = high = 0.0
    for left, right in parts:
        if joined and left < high - 0.5:
            if right > high:
                high = right
                joined[-1] = low, high
        else:
            low, high = left, right
            joined.append((low, high))
    return joined


def _is_within(segment: Segment, spans: list[Span]) -> bool:
    """Return True if a segment stands in one column alone."""
    touched = sum([segment.left < high and segment.right > low for low, high in spans])
    return len(spans) > 1 and touched <= 1 and segment.left < spans[-1][1] and segment.right > spans[0][0]


def _is_label(segment: Segment, spans: list[Span]) -> bool:
    """Return True for a line after a table that is no cell of it: a title, or text across columns."""
    return not _is_within(segment, spans) or segment.text.rstrip().endswith((":", "."))


def _make_table(rows: list[Row], spans: list[Span], rules: _Rules) -> Table | None:
    """Return the table of these rows; None if its cells are more likely running text."""
    words = [word for row in rows for s in row for word in s.words]
    rows, spans = _finer(rows, spans)
    in_order = [s for row in rows for s in row]
    for s in in_order:
        s.column = _column(s, spans)
    in_order.sort(key=_text_start)
    made = _cells_of_several_lines(in_order, len(spans)) or _cells_by_lines(rows, spans, rules)
    cells = _without_split_headings(made)
    if len(cells[0]) == 2 and _is_by_columns(in_order, len(spans)) and not _has_numbers(cells):
        return None  # two blocks of text beside each other, such as addresses
    filled = [cell for row in cells for cell in row if cell]
    if len(cells) < 2 or len(cells[0]) < 2:
        return None
    is_prose = sum(map(len, filled)) > MAX_CELL_CHARS * len(filled) or _is_mostly_prose(cells)
    return None if is_prose or not _is_grid(rows, cells) else Table(cells, words)


_text_start = attrgetter("start")


LEAST_FILLED = 0.45
FEW_ROWS = 5
LEAST_FILLED_OF_FEW = 0.6
"""The share of cells with text, and that of a table with few rows."""
LEAST_ALIGNED = 0.65
MOST_OVERLAPPING = 0.2


def _is_grid(rows: list[Row], cells: list[list[str]]) -> bool:
    """Return True if rows and columns are sure: few cells are empty, columns are aligned, lines do not overlap.

    The labels of a diagram, the marks of an axis and the parts of a formula are none.
    """
    filled = [sum(map(bool, row)) for row in cells]
    least = LEAST_FILLED if len(cells) >= FEW_ROWS else LEAST_FILLED_OF_FEW
    if sum(filled) < least * len(cells) * len(cells[0]) or max(filled) < 0.75 * len(cells[0]):
        return False
    if sum([count > 1 for count in filled]) < 3:
        return False
    overlapping = 0
    for above, below in pairwise(rows):
        height = min(above[0].bottom - above[0].top, below[0].bottom - below[0].top)
        overlapping += above[0].bottom - below[0].top > 0.35 * height
    if overlapping > MOST_OVERLAPPING * len(rows):
        return False
    columns: dict[int, list[Segment]] = {}
    for s in [s for row in rows for s in row]:
        columns.setdefault(s.column, []).append(s)
    aligned = sum([_most_aligned(members) for members in columns.values()])
    return aligned >= LEAST_ALIGNED * sum(map(len, columns.values()))


def _most_aligned(segments: list[Segment]) -> int:
    """Return how many segments of a column have the same left edge, right edge or middle, whichever are most."""
    slack = max(1.5, 0.25 * (segments[0].bottom - segments[0].top))
    best = 0
    for edge in (
        [s.left for s in segments],
        [s.right for s in segments],
        [(s.left + s.right) / 2 for s in segments],
    ):
        edge.sort()
        start = 0
        for end, value in enumerate(edge):
            while value - edge[start] > slack:
                start += 1
            best = max(best, end - start + 1)
    return best


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


def _column(segment: Segment | Word, spans: Sequence[Span]) -> int:
    """Return the column that a segment shares most with, or the nearest one."""
    left, right = segment.left, segment.right
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
    finer: list[Span] = []
    lines = [[word for s in row for word in s.words] for row in rows]
    ordered = sorted([word for words in lines for word in words], key=_left_edge)
    at = 0
    for low, high in spans:
        cuts = [low]
        while at < len(ordered) and ordered[at].right <= low:
            at += 1
        until = bisect_left(ordered, high, at, key=_left_edge)
        parts = _joined_spans([(word.left, word.right) for word in ordered[at:until] if word.right > low])
        if len(parts) > 1:
            held = [[w for w in words if w.left < high and w.right > low] for words in lines]
            held = [words for words in held if words]
            height = held[0][0].bottom - held[0][0].top
            edges = [(min([w.right for w in words]), max([w.left for w in words])) for words in held]
            for (_, left), (right, _) in pairwise(parts):
                if len(held) < 4 or right - left <= 0.3 * height:
                    continue
                x = (left + right) / 2
                if sum([first < x < last for first, last in edges]) >= 0.6 * len(held):
                    cuts.append(x)
        finer += list(zip(cuts, [*cuts[1:], high], strict=True))
    if len(finer) == len(spans):
        return rows, spans
    divided: list[Row] = []
    for row in rows:
        made: Row = []
        last = -1
        for word in [word for s in row for word in s.words]:
            column = _column(word, finer)
            if made and column == last:
                made[-1].add(word)
            else:
                made.append(Segment(word.left, word.top, word.right, word.bottom, [word]))
            last = column
        divided.append(made)
    return divided, finer


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


def _cells_by_lines(rows: list[Row], spans: list[Span], rules: _Rules) -> list[list[str]]:
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


class _Rules:
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
    edges = ctypes.create_string_buffer(_FLOATS.size)
    places = [ctypes.addressof(edges) + 4 * at for at in range(4)]
    handle = _address_of(page.raw)
    for index in range(min(MAX_RULES, pdfium.FPDFPage_CountObjects(page.raw))):
        item = _page_object(handle, index)
        if _object_type(item) == pdfium.FPDF_PAGEOBJ_PATH and _object_bounds(item, *places):
            left, bottom, right, top = _FLOATS.unpack_from(edges)
            found.append((left, right, height - bottom))
            if top - bottom >= 3:
                found.append((left, right, height - top))
    return found


# --- the text --------------------------------------------------------------------------------------------------------

_TAKEN, _TABLE = "\x00", "\x01"


def _with_tables(text: str, tables: list[Table]) -> str:
    """Return the text layer with the words of each table replaced by its rows."""
    shown = list(text.replace(_TABLE, " "))
    order = sorted(tables, key=lambda table: min(word.start for word in table.words))
    for table in order:
        first = min(word.start for word in table.words)
        for word in table.words:
            shown[word.start : word.end] = _TAKEN * (word.end - word.start)
        shown[first] = _TABLE
    waiting = iter(order)
    lines: list[str] = []
    for line in clean("".join(shown).replace(_TAKEN, "\ufdd0")).split("\n"):
        rest = line.replace("\ufdd0", "").replace(_TABLE, "").strip()
        if rest or not ("\ufdd0" in line or _TABLE in line):
            lines.append(rest if "\ufdd0" in line else line.replace(_TABLE, ""))
        for _ in range(line.count(_TABLE)):
            lines += next(waiting).lines()
    return _joined_pairs("\n".join(lines).rstrip())
