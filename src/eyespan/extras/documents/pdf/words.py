"""The text layer of a PDF page: its characters, and the words of it with their places, by rows.

    words      text of the layer between blanks: left, top, right and bottom, and the places of its start and end
    segments   words of one line with no wide gap between them
    rows       the segments that stand on one line, from left to right

y grows downwards, and a page of rotated text is turned upright. Words are tuples, and pdfium is called for all of them
at once, because a page has some thousand.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pypdfium2.raw as pdfium

from eyespan.decoders.pdf_text import HYPHENS

if TYPE_CHECKING:
    import pypdfium2

Box = tuple[float, float, float, float]
Word = tuple[float, float, float, float, int, int]

MAX_ROWS_BACK = 6
"""A word belongs to one of the last so many rows, or starts a new one."""
WIDE_GAP = 0.95
"""A wider gap than this share of the line's height separates two segments."""
MAX_WORDS = 20_000
"""A page with more words is shown as it is."""
LEAST_SINGLE, MOST_APART = 0.2, 0.25
"""On a page with so many single letters for each blank, those that are narrower than others, and than this share of the
height of letters, may be none."""
MAX_RAISED = 3
_WORD = re.compile(r"[^ \t\r\n\x0b\x0c\xa0]+")
_BLANK, _SINGLE = re.compile(r"(?<=\S) (?=\S)"), re.compile(r" [A-Za-z](?!\S)")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
FLOATS = struct.Struct("4f")


def address_of(pointer: Any) -> int:
    """Return a pointer of pdfium as a number; 0 for none."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def plain_call(function: Any, result: Any, *parameters: Any) -> Any:
    """Return a function of pdfium that takes addresses as numbers.

    The checks of typed pointers take twice the time of the call, and a page has some thousand calls.
    """
    return ctypes.PYFUNCTYPE(result, *parameters)(address_of(function))


_ADDRESS, _INT = ctypes.c_void_p, ctypes.c_int
_loose_box = plain_call(pdfium.FPDFText_GetLooseCharBox, _INT, _ADDRESS, _INT, _ADDRESS)
_matrix = plain_call(pdfium.FPDFText_GetMatrix, _INT, _ADDRESS, _INT, _ADDRESS)
_MATRIX = pdfium.FS_MATRIX()
_font_size = plain_call(pdfium.FPDFText_GetFontSize, ctypes.c_double, _ADDRESS, _INT)


def is_right_to_left(text: str) -> bool:
    return not text.isascii() and len(_RIGHT_TO_LEFT.findall(text)) * 6 > len(text)


# --- words -----------------------------------------------------------------------------------------------------------


def with_joined_letters(text: str, boxes: Boxes, layer: Any) -> str:
    """Return text with NUL for each blank that pdfium has put between the letters of a word that are set apart."""
    if not 0 < LEAST_SINGLE * text.count(" ") < len(_SINGLE.findall(text)) or len(text) > MAX_WORDS * 5:
        return text
    places = [found.start() for found in _BLANK.finditer(text)]
    pairs = zip(boxes.of([at - 1 for at in places]), boxes.of([at + 1 for at in places]), strict=True)
    gaps = [(b[0] - a[2]) / max(a[3] - a[1], b[3] - b[1], 0.1) for a, b in pairs]
    most = min(MOST_APART, 0.45 * sorted([0.0, *gaps])[-1 - len(gaps) // 20])
    near = [at for at, gap in zip(places, gaps, strict=True) if gap < most]
    torn = {at for at in near if pdfium.FPDFText_IsGenerated(layer, at) == 1}
    return "".join(["\0" if at in torn else char for at, char in enumerate(text)])


def read_words(boxes: Boxes, text: str) -> tuple[list[Word], int, list[tuple[int, str]]]:
    """Return the words with their boxes, the number of those that are rotated, and what the text lacks.

    The text lacks ^ before the raised end of a word, as in the number of a footnote or a power, and a blank between
    characters that are far apart. There are no words if they are too many.
    """
    spans = [found.span() for found in _WORD.finditer(text)]
    if len(spans) > MAX_WORDS:
        return [], 0, []
    firsts = boxes.of([start for start, _ in spans])
    lasts = iter(boxes.of([end - 1 for start, end in spans if end - start > 1]))
    words: list[Word] = []
    odd = 0
    lacks: list[tuple[int, str]] = []
    for (start, end), first in zip(spans, firsts, strict=True):
        left, top, right, bottom = first
        height = bottom - top
        if end - start > 1:
            last = next(lasts)
            last_left, last_top, last_right, last_bottom = last
            if last_top != top or last_bottom != bottom:
                if abs(last_top - top) > 0.5 * height:
                    last_left = left - 1
                elif last_bottom < bottom - 0.1 * height and text[end - 1].isalnum():
                    lacks += _raised_start(boxes, start, end, height, text)
                top, bottom = min(top, last_top), max(bottom, last_bottom)
            if last_right > right:
                right = last_right
            is_wide = right - left > height * (end - start)
            if is_wide or last_left < left - 0.1:
                parts = _split_word(start, [first, *boxes.of(range(start + 1, end - 1)), last], height)
                is_wide |= all(abs(a[1] - b[1]) > 1.5 * height for a, b in pairwise(parts))
                # Rotated letters stand below each other; a hyphen joins two lines.
                if is_wide and len(parts) > 2:
                    lacks += [(part[4], " ") for part in parts[1:]]
                elif len(parts) > 2:
                    odd += 1
                    continue
                words += parts
                continue
        words.append((left, top, right, bottom, start, end))
    if odd:  # single letters of rotated text, too
        words, every = [word for word in words if not boxes.is_rotated(word[4])], len(words)
        odd += every - len(words)
    return words, odd, lacks


def _raised_start(boxes: Boxes, start: int, end: int, height: float, text: str) -> list[tuple[int, str]]:
    """Return where the raised end of a word begins; none if more than three letters are raised."""
    at = max(start, end - MAX_RAISED - 1)
    tall = [low - top > 0.85 * height for _, top, _, low in boxes.of(range(at, end))]
    if not any(tall):
        return []
    begin = end - tall[::-1].index(True)
    end_text = text[begin:end]
    is_sign = end_text.isdigit() or (len(end_text) == 1 and end_text.islower())  # small capitals are no sign
    return [(begin, "^")] if is_sign and text[begin - 1].isalnum() else []


class Boxes:
    """The boxes of the characters of a page, turned so that most text is upright."""

    def __init__(self, page: pypdfium2.PdfPage, layer: Any) -> None:
        left, bottom, right, top = page.get_bbox()
        self._layer = address_of(layer.raw)
        self._corner = left, bottom
        count = layer.count_chars()
        sample = Counter([self._quarter(at) for at in range(0, count, count // 20 + 1)])
        quarter, number = max(sample.items(), key=itemgetter(1), default=(0, 0))
        self.rotation = 90 * quarter if number * 2 > sample.total() else page.get_rotation()
        width, height = right - left, top - bottom
        self.width, self.height = (width, height) if self.rotation % 180 == 0 else (height, width)

    def _quarter(self, index: int) -> int:
        """Return how many quarters of a turn make a character upright."""
        _matrix(self._layer, index, ctypes.addressof(_MATRIX))
        size: float = _font_size(self._layer, index)  # a negative one turns letters, too
        return (2 * (size < 0) + round(math.atan2(_MATRIX.b, _MATRIX.a) * 2 / math.pi)) % 4

    def is_rotated(self, index: int) -> bool:
        """Return True for a character that does not stand as most do."""
        return 90 * self._quarter(index) != self.rotation

    def of(self, indexes: Sequence[int]) -> list[Box]:
        """Return left, top, right and bottom of characters."""
        size = FLOATS.size * len(indexes)
        buffer = ctypes.create_string_buffer(size + 1)  # each box as in FS_RECTF
        begin = ctypes.addressof(buffer)
        deque(map(_loose_box, repeat(self._layer), indexes, range(begin, begin + size, FLOATS.size)), maxlen=0)
        found = FLOATS.iter_unpack(memoryview(buffer)[:size])
        width, height = self.width, self.height
        x, y = self._corner
        if self.rotation == 0:
            upper = height + y
            return [(x0 - x, upper - y1, x1 - x, upper - y0) for x0, y1, x1, y0 in found]
        if self.rotation == 90:
            return [(y0 - y, x0 - x, y1 - y, x1 - x) for x0, y1, x1, y0 in found]
        if self.rotation == 180:
            return [(width - (x1 - x), y0 - y, width - (x0 - x), y1 - y) for x0, y1, x1, y0 in found]
        return [(width - (y1 - y), height - (x1 - x), width - (y0 - y), height - (x0 - x)) for x0, y1, x1, y0 in found]


def _split_word(start: int, boxes: list[Box], height: float) -> list[Word]:
    """Return the parts of a word that goes over several lines."""
    parts: list[Word] = []
    begin = 0
    for at in range(1, len(boxes) + 1):
        if at < len(boxes):
            is_same_line = abs(boxes[at][1] - boxes[at - 1][1]) <= 0.5 * height
            if is_same_line and -height <= boxes[at][0] - boxes[at - 1][2] <= 0.6 * height:
                continue
        lefts, tops, rights, bottoms = zip(*boxes[begin:at], strict=True)
        parts.append((min(lefts), min(tops), max(rights), max(bottoms), start + begin, start + at))
        begin = at
    return parts


# --- rows ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Segment:
    """Words of one line that belong together. `page` is the text of the page."""

    left: float
    top: float
    right: float
    bottom: float
    words: list[Word]
    page: str

    @property
    def start(self) -> int:
        return self.words[0][4]


def shown_words(words: list[Word], page: str) -> str:
    """Return words of a line with blanks where there are gaps."""
    _, top, right, bottom, start, end = words[0]
    height, low = bottom - top, bottom
    least = 0.02 * height  # the layer has blanks between letters that touch
    shown = [page[start:end]]
    for left, top, edge, bottom, start, end in words[1:]:
        text = page[start:end]
        if not -3 * least < left - right < least:
            text = f" {text}"
        elif bottom - top < 0.85 * height and bottom < low - 0.1 * height:
            text = text.translate(RAISED)
        shown.append(text)
        right = edge
    return "".join(shown).replace("\0", "")


Row = list[Segment]


def rows_of(words: list[Word], page: str) -> list[Row]:
    """Return the words by lines from top to bottom, as segments from left to right. `page` is the text of the page."""
    for hyphen in HYPHENS:
        page = page.replace(hyphen, "-")
    # Most words of a line have the same top and bottom, so lines are found for groups of words.
    groups: dict[tuple[float, float], list[Word]] = {}
    for word in words:
        groups.setdefault(word[1:4:2], []).append(word)
    lines: list[tuple[float, float, list[Word]]] = []
    for (top, bottom), group in sorted(groups.items(), key=lambda item: sum(item[0])):
        middle, height = (top + bottom) / 2, bottom - top
        for other, line_height, members in lines[: -MAX_ROWS_BACK - 1 : -1]:
            low, high = (height, line_height) if height < line_height else (line_height, height)
            if abs(middle - other) < 0.4 * low + 0.05 * high:
                members += group
                break
        else:
            lines.append((middle, height, group))
    return [_row(members, height, page) for _, height, members in lines]


def _row(words: list[Word], height: float, page: str) -> Row:
    wide = WIDE_GAP * min(height, 30) + 0.5
    words.sort()  # by the left edge, and the same whatever the order of the text layer
    begin = 0
    right = words[0][2]
    row: Row = []
    for at, (left, _, edge, _, _, _) in enumerate(words):
        if left - right >= wide:
            row.append(segment_of(words[begin:at], page))
            begin, right = at, edge
        elif edge > right:
            right = edge
    row.append(segment_of(words[begin:] if begin else words, page))
    return row


def segment_of(words: list[Word], page: str) -> Segment:
    """Return words of a line, from left to right, as a segment."""
    lefts, tops, rights, bottoms, _, _ = zip(*words, strict=True)
    return Segment(lefts[0], min(tops), max(rights), max(bottoms), words, page)
