"""The structure of PDF text as Markdown: headings, paragraphs, lists, running headers and footers.

Lines are those of the text layer, in its order. A heading is larger than most text of the pages, or bold, and stands
alone. The lines of a paragraph are joined where the first word of the next line had no room. What stands at the same
place at the top or bottom of many pages is shown once, with these pages.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import pypdfium2.raw as pdfium

from eyespan.decoders.pdf_text import HYPHENS, joined_pairs
from eyespan.extras.documents.pdf.tables import LARGE, Table
from eyespan.extras.documents.pdf.words import Row, Word, address_of, plain_call, shown_words

MAX_HEADING_WORDS, MAX_HEADING_CHARS, MAX_HEADING_LINES = 16, 160, 3
WIDE_HEADING_GAP = 1.6
"""A line with a gap of so many times its height is no heading."""
NUMBER_GAP = 3.0
"""The most gap between the number of a heading and its title, in heights."""
LEAST_PROSE, LARGE_LABEL, MOST_HEADINGS, LARGE_SENTENCE = 0.15, 1.3, 0.4, 1.5
"""A page with a smaller share of sentences and tables among its lines is a form: text up to this size may be labels.
With a larger share of headings it is a slide or a list. A smaller text with a full stop at its end is no heading."""
NEAR_TEXT, LEAST_NEAR, UPPER_PART = 3, 0.4, 0.4
"""Text follows a heading within so many lines, or this share of the headings of its style. Otherwise
the largest one in this upper part of a page is its title."""
MAX_LABEL_CHARS = 20
"""A shorter text beside a line is a cell or a label, and so is the line, unless longer text follows."""
LEAST_WORDS = 4
"""A line of fewer words, such as a number in a list, is not joined with the next."""
NEAR = 5
"""So many lines before and after a line show how wide its column is."""
LEAST_RUNNING_PAGES = 3
MARGIN = 0.14
"""Running headers and footers are within this share of the height of a page."""
LONE_MARGIN, LONE_GAP = 0.12, 1.2
"""Those that are known by few pages, within this share, after a gap of so many lines."""
LEAST_PAGE_CHARS = 500
"""A page with less text keeps its running headers and footers."""
LEAST_REPEATED = 20
"""A mark that is repeated so often is shown once, with its number."""
_BREAK = re.compile(rf"\r\n|\n|[{HYPHENS}]")
_BULLET = re.compile(r"[•▪■●◦‣∙·►➢\uf0b7\uf0a7]\s*")
_ITEM = re.compile(r"[•▪■●◦‣∙·►➢\uf0b7\uf0a7–-]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s|\[\d{1,3}\]|_{5}")
_CAPTION = re.compile(
    r"(?i)(?:Table|Tab|Figure|Fig|Exhibit|Chart)s?\b[\s.]*(?:\d|[A-Z](?![a-z]))"
    r"|(?:Source|Note)s?\s?[:.]|(?:Grand )?Totals?\b|[表图圖図]\s?\d"
)
_NUMBERING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.(?:\d{1,2}\.?)*|[IVX]{1,5}\.)\s+(?=\S|$)")
_WORD = re.compile(r"[^\W\d_]{3}|[^\W\d_\x00-\u2fff]{2}")
_SECTION = re.compile(r"(?:[IVX]{1,5}|\d{1,2})\.\s+[A-Z]{4}[A-Z ,:&'’-]*")
_DATE = re.compile(r"(?:\w+, )?(?:[^\W\d]{3,10}\.?(?: \d{1,2})?,? \d{4}|\d{1,2}\.? \w{3,10} \d{4})")
_NO_TITLE = re.compile(
    r"\^.*\^|\w\^[a-z]|\[\d|[=\u00b7\U0001d400-\U0001d7ff]|\($|[^\W\d_] [A-Z]\. [A-Z]|[a-z], [A-Z]\.|\*(?!$)|@|://"
    r"|\ufffd|\.{4}|_{3}|…{2}|。"
)
"""Names of authors with notes or initials, addresses, formulas, code, unreadable letters, blanks, sentences."""
_SENTENCE = re.compile(r"(?:[^\W\d_]{2,}\W+){5}|[^\W\d_\x00-\u2fff]{12}")
_GOES_ON = re.compile(r"[a-zß-ÿа-я]{2,}[\s,;-]")
_ABSTRACT = re.compile(r"(?i)(?:1\.? |I\. )?(?:abstract|summary|introduction|keywords|r[ée]sum[ée]|zusammenfassung)\b")
_ENTRY = re.compile(r"\s(?:\d+|[ivxl]+)$")
_LEADERS = re.compile(r"\.(?: ?\.){4,} ?")
_LEADER = re.compile(r"(?:\.\s*){2,}|\s\.(?=\s|$)")
_BOLD = re.compile(rb"bold|black|heavy|demi|-medi(?!um)|cmbx|bx\d|\.b\b|\bbd", re.IGNORECASE)
_MARKS = re.compile(rf"(\s)(\S\S?)(?:\s+\2){{{LEAST_REPEATED - 1},}}(?!\S)")
_PAGE_NUMBER = re.compile(r"(?:[Pp]age |[-–] ?)?(?:\d{1,4}|[ivxl]{1,6})(?: ?[-–]| (?:of|/) \d{1,4})?")
_NAME = ctypes.create_string_buffer(128)
_ADDRESS, _INT = ctypes.c_void_p, ctypes.c_int
_font_name = plain_call(pdfium.FPDFText_GetFontInfo, ctypes.c_ulong, _ADDRESS, _INT, _ADDRESS, ctypes.c_ulong, _ADDRESS)


@dataclass(slots=True)
class Line:
    """A line of text and its box, or a table; a line without letters of known place has no height."""

    text: str
    left: float = 0
    top: float = 0
    right: float = 0
    bottom: float = 0
    height: float = 0
    """The height of most of its letters."""
    is_bold: bool = False
    is_apart: bool = False
    """Whether a gap divides its words."""
    table: Table | None = None
    level: int = 0
    """The level of a heading; 0 for other text."""


@dataclass(slots=True)
class Draft:
    """The lines of a page, before the text of all pages is known."""

    plain: str
    lines: list[Line] = field(default_factory=list)
    page_height: float = 0

    def __str__(self) -> str:
        return self.plain


def lines_of(layer: Any, text: str, words: list[Word], tables: list[Table], lacks: list[tuple[int, str]]) -> list[Line]:
    """Return the lines of a text layer, with tables at the place of their first word, and with what it lacks."""
    taken = {word[4] for table in tables for word in table.words}
    firsts = {min(word[4] for word in table.words): table for table in tables}
    starts = [word[4] for word in words]
    lines: list[Line] = []
    at = begin = 0
    breaks = [found.span() for found in _BREAK.finditer(text)]
    # pdfium goes on after a drawn line of signs with the next line of text.
    breaks += [(b[4], b[4]) for a, b in pairwise(words if "___" in text else []) if b[1] > a[3] and b[0] < a[2]]
    for end, following in [*sorted(breaks), (len(text), len(text))]:
        shown = text[begin:end]
        if text[end:following] in (*HYPHENS,):
            shown += "-"
        until = bisect_left(starts, following, at)
        own = words[at:until]
        gone = [word for word in own if word[4] in taken] if taken else []
        if gone:
            own = [word for word in own if word[4] not in taken]
            for word in reversed(gone):
                shown = f"{shown[: word[4] - begin]} {shown[word[5] - begin :]}"
            shown = " ".join(_LEADER.sub(" ", shown).split())
        elif lacks:
            for place, sign in reversed(lacks[bisect_left(lacks, (begin, "")) : bisect_left(lacks, (end, ""))]):
                shown = f"{shown[: place - begin]}{sign}{shown[place - begin :]}"
        shown = shown.replace("\0", "").strip()
        if shown:
            lines.append(_line(layer, joined_pairs(shown), own))
        lines += [_table_line(firsts[word[4]]) for word in gone if word[4] in firsts]
        at, begin = until, following
    return _joined_rows(lines)


def column_lines(layer: Any, blocks: list[Table | Row]) -> list[Line]:
    """Return the lines of a column: between tables, segments in the order of the text layer."""
    lines: list[Line] = []
    for is_table, several in groupby(blocks, key=lambda block: isinstance(block, Table)):
        if is_table:
            lines += [_table_line(block) for block in several if isinstance(block, Table)]
        else:
            segments = sorted([s for row in several if not isinstance(row, Table) for s in row], key=lambda s: s.start)
            lines += [_line(layer, joined_pairs(shown_words(s.words, s.page)), s.words) for s in segments]
    return _joined_rows(lines)


def _table_line(table: Table) -> Line:
    return Line("", top=min([w[1] for w in table.words]), bottom=max([w[3] for w in table.words]), table=table)


def _line(layer: Any, text: str, words: list[Word]) -> Line:
    if not words:
        return Line(text)
    lefts, tops, rights, bottoms, starts, ends = zip(*words, strict=True)
    longest = words[0] if len(words) == 1 or ends[0] - starts[0] >= ends[1] - starts[1] else words[1]
    line = Line(text, min(lefts), min(tops), max(rights), max(bottoms), longest[3] - longest[1])
    if len(text) <= MAX_HEADING_CHARS and len(words) <= MAX_HEADING_WORDS:
        # Only the number of a heading stands apart; other wide gaps divide labels, or names of columns.
        gaps = [b[0] - a[2] for a, b in pairwise(words)][bool(_NUMBERING.match(text)) :]
        line.is_apart = max(gaps, default=0.0) > WIDE_HEADING_GAP * line.height
        handle = address_of(layer.raw)
        line.is_bold = _is_bold(handle, starts[0]) and _is_bold(handle, ends[-1] - 1)
    if not line.is_bold and ends[-1] - starts[-1] > 2:  # after a label in large letters the line goes on in others
        line.height = min(line.height, bottoms[-1] - tops[-1])
    return line


def _is_bold(layer: int, index: int) -> bool:
    size = _font_name(layer, index, ctypes.addressof(_NAME), 128, None)
    return 0 < size <= 128 and _BOLD.search(_NAME.raw[:size]) is not None


def _joined_rows(lines: list[Line]) -> list[Line]:
    """Join lines that go on at the same height: after a superscript the text layer begins a new line."""
    made: list[Line] = []
    for line in lines:
        last = made[-1] if made else None
        if last is None or not last.height or not line.height or len(last.text) < 3 > len(line.text):
            made.append(line)
            continue
        small = min(last.height, line.height)
        shared = min(last.bottom, line.bottom) - max(last.top, line.top)
        distance = (line.left - last.right) / max(last.height, line.height)
        is_number = 0.9 <= distance < NUMBER_GAP and line.text[0].isalpha() and _NUMBERING.fullmatch(f"{last.text} ")
        if shared < 0.45 * small or not (-0.2 < distance < 0.9 or is_number):
            made.append(line)
            continue
        gap = "" if line.left - last.right < 0.1 * small else " "
        is_raised = line.height < 0.85 * last.height and line.bottom < last.bottom - 0.1 * last.height
        if is_raised and not gap and len(line.text) <= 4 and last.text[-1:].isalnum():
            gap = "^"
        last.text += gap + line.text
        last.right, last.top, last.bottom = line.right, min(last.top, line.top), max(last.bottom, line.bottom)
        last.height = max(last.height, line.height)
        last.is_bold &= line.is_bold or is_raised
    return made


# --- all pages -------------------------------------------------------------------------------------------------------


def texts_of(drafts: list[Draft], first: int) -> tuple[list[str], dict[str, Any]]:
    """Return the text of each page, and the facts `headings` (level, title, page) and `running` (text, pages)."""
    sizes: Counter[float] = Counter()
    for draft in drafts:
        for line in draft.lines:
            sizes[round(line.height * 2) / 2] += len(line.text) if line.height else 0
    body = max(sizes, key=lambda size: sizes[size], default=0.0)
    running = _running(drafts, body)
    pages = [[line for line in draft.lines if id(line) not in running[0]] for draft in drafts]
    for lines in pages:
        _mark_headings(lines, body)
    if first == 1 and pages:
        _unmark_authors(pages[0])
    _unmark_labels(pages, drafts)
    _set_levels([line for lines in pages for line in lines if line.level], body)
    known = cache(lambda: {word for draft in drafts for word in draft.plain.split()})
    texts = []
    facts: list[tuple[int, str, int]] = []
    for number, (draft, lines) in enumerate(zip(drafts, pages, strict=True), first):
        texts.append(_page_markdown(lines, known) if draft.lines else draft.plain)
        facts += [(line.level - 1, line.text, number) for line in lines if line.level]
    return texts, {"headings": facts, "running": [(text, [at + first for at in held]) for text, held in running[1]]}


def _running(drafts: list[Draft], body: float) -> tuple[set[int], list[tuple[str, list[int]]]]:
    """Return the lines that stand at the same place of many pages, and the first of each kind with its pages.

    A line that stands alone in the margin, such as the number of a page, needs fewer pages.
    """
    places: dict[tuple[str, int], list[tuple[int, Line]]] = {}
    for at, draft in enumerate(drafts):
        margin = MARGIN * draft.page_height
        if len(draft.plain) < LEAST_PAGE_CHARS:
            continue
        lines = [line for line in draft.lines if line.height]
        # The first and the last line, too, if the margins are wide.
        upper = max(margin, min([line.bottom for line in lines], default=0) + 1)
        lower = min(draft.page_height - margin, max([line.top for line in lines], default=0) - 1)
        for line in lines:
            if line.bottom < upper or line.top > lower:
                key = re.sub(r"\d+|\b[ivxl]+\b", "#", line.text)
                places.setdefault((key, round(line.top / 6)), []).append((at, line))
    gone: set[int] = set()
    kinds = []
    alone = {id(line) for draft in drafts for line in _lone_lines(draft, body)}
    for found in places.values():
        held = sorted({at for at, _ in found})
        is_alone = len(found) == len(held) and all(id(line) in alone for _, line in found)
        if len(held) >= (0.1 * len(drafts) if is_alone else max(LEAST_RUNNING_PAGES, 0.3 * len(drafts))):
            gone |= {id(line) for _, line in found}
            first, last = found[0][1].text, found[-1][1].text
            kinds.append((first if first == last else f"{first} ... {last}", held))
    return gone, kinds


def _lone_lines(draft: Draft, body: float) -> list[Line]:
    """Return the lines at the top and at the bottom of a page that a gap divides from the rest of it."""
    found: list[Line] = []
    height = draft.page_height
    spans = [(line, line.top, line.bottom) for line in draft.lines if line.height or line.table]
    for ends in (spans, [(line, height - bottom, height - top) for line, top, bottom in spans]):
        group: list[Line] = []
        last = 0.0
        for line, start, end in sorted(ends, key=itemgetter(1)):
            if group and start - last > LONE_GAP * body:
                found += group
                group = []
            if line.table or not _is_marginal(line, body, end < LONE_MARGIN * height):
                break
            group.append(line)
            last = max(last, end)
    return found


def _is_marginal(line: Line, body: float, is_near: bool) -> bool:
    text = line.text
    if line.height > 1.2 * body or _CAPTION.match(text) or _PAGE_NUMBER.fullmatch(text):
        return line.height <= 1.2 * body and not _CAPTION.match(text)
    is_sentence = (text.count(" ") > 3 and text[-1] in ".,;:") or (text[0].islower() and " " in text)
    is_note = line.height < 0.9 * body or re.search(r"\d|www\.", text) is not None
    return is_near and is_note and not line.is_bold and len(text) <= 100 and not is_sentence


def _mark_headings(lines: list[Line], body: float) -> None:
    """Find the headings of a page; those of several lines become one line."""
    found: list[Line] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        least = 0.8 if _SECTION.fullmatch(line.text) else 0.93 if line.is_bold else LARGE
        if line.is_apart or not body or line.height < least * body:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and _is_same_style(lines[end - 1], lines[end], body):
            end += 1
        group = lines[at:end]
        before = lines[at - 1] if at else None
        after = lines[end] if end < len(lines) else None
        text = " ".join([one.text for one in group])
        is_short = end - at <= MAX_HEADING_LINES and len(text) <= MAX_HEADING_CHARS
        # Bold letters above a table are names of columns, in a sentence a part of it.
        is_part = after and (after.table or (_GOES_ON.match(after.text) and not _NUMBERING.match(text)))
        is_head = is_short and (line.height >= LARGE * body or not is_part)
        if is_head and _stands_alone(group, before, after, lines) and _is_title(text, line.height / body):
            line.text, line.bottom, line.level = text, group[-1].bottom, 1
            del lines[at + 1 : end]
            found.append(line)
            at += 1
        else:
            at = end
    # Several lines that end with the number of a page are a table of contents, several with one number a list.
    keys = [number[0] if (number := _NUMBERING.match(line.text)) else line.text for line in found]
    counts = Counter(keys)
    entries = [key for key, line in zip(keys, found, strict=True) if _ENTRY.search(line.text)]
    counts.update(entries if len(entries) > 2 else [])
    for key, line in zip(keys, found, strict=True):
        line.level = int(counts[key] == 1)
    found = [line for line in found if line.level]
    if len(found) < 2:
        return
    prose = sum(map(_is_text, lines))
    heights = sorted([line.height for line in found])
    least = LARGE_LABEL * body if prose < LEAST_PROSE * len(lines) else 0  # a form
    if not prose or len(found) > max(3, MOST_HEADINGS * len(lines)):  # a slide or a drawing
        least = 0.97 * heights[-1] if prose else heights[-2] / 0.97
    for line in found:
        line.level = int(line.height > least)


def _is_text(line: Line) -> bool:
    """Return True for a table, and for a line with a part of a sentence."""
    return not line.level and (line.table is not None or _SENTENCE.search(line.text) is not None)


def _unmark_labels(pages: list[list[Line]], drafts: list[Draft]) -> None:
    """Labels, names and marks are no headings: text follows a heading, or most others of its style.

    The largest one in the upper part of a page, or of a page without text, is a title. What an earlier page has at the
    same height is the header of a chapter.
    """
    places: set[tuple[str, int]] = set()
    is_near: dict[int, bool] = {}
    styles: dict[tuple[int, bool], list[bool]] = {}
    others = [line for page in pages for line in page if not line.level]
    at = 0
    for line in [line for page in pages for line in page]:
        if line.level:
            is_near[id(line)] = any(map(_is_text, others[at : at + NEAR_TEXT]))
            styles.setdefault((round(line.height), line.is_bold), []).append(is_near[id(line)])
        at += not line.level
    for page, draft in zip(pages, drafts, strict=True):
        lowest = draft.page_height * (UPPER_PART if any(map(_is_text, page)) else 1)
        found = [line for line in page if line.level]
        largest = max([line.height for line in found], default=0)
        for line in found:
            alike = styles[round(line.height), line.is_bold]
            is_title = line.top < lowest and line.height > 0.97 * largest
            is_heading = is_near[id(line)] or is_title or sum(alike) >= LEAST_NEAR * len(alike)
            line.level = int(is_heading and (line.text, round(line.top)) not in places)
            places.add((line.text, round(line.top)))


def _unmark_authors(first_page: list[Line]) -> None:
    """Names of authors, between the title and the abstract of a paper, are no headings."""
    begin = next((at for at, line in enumerate(first_page) if _ABSTRACT.match(line.text)), 0)
    title = max(first_page[:begin], key=lambda line: line.height if line.level else 0, default=None)
    between = first_page[first_page.index(title) + 1 : begin] if title is not None and title.level else []
    if not any(line.text.endswith(".") and line.text.rpartition(" ")[2].islower() for line in between):  # no prose
        for line in between:
            line.level = 0


def _is_same_style(above: Line, line: Line, body: float) -> bool:
    """Return True for two lines of a heading; two lines with numbers are two headings."""
    if not line.height or (_NUMBERING.match(above.text) and _NUMBERING.match(line.text)):
        return False
    height = above.height
    most = 0.6 if above.is_bold == line.is_bold else 0.35 if height >= LARGE * body else -0.5
    return abs(height - line.height) < 0.04 * height and -0.5 < (line.top - above.bottom) / height < most


def _stands_alone(group: list[Line], before: Line | None, after: Line | None, page: list[Line]) -> bool:
    """Return True if nothing but the text of another column is beside a line, and a gap or other letters above it."""
    first, last = group[0], group[-1]
    is_last = after is None or len(after.text) < MAX_LABEL_CHARS
    for other in page:
        is_label = is_last and len(other.text) < MAX_LABEL_CHARS and 0.75 < other.height / first.height < 1.5
        if other.height and other not in group and (other is before or other is after or is_label):
            shared = min(other.bottom, last.bottom) - max(other.top, first.top)
            if shared > 0.5 * min(other.height, first.height):
                return False
    if before is None or not before.height or before.level or before.top > first.top:
        return True
    is_larger = first.height > 1.3 * before.height
    return is_larger or first.top - before.bottom > 0.2 * first.height or (before.is_bold != first.is_bold)


def _is_title(text: str, size: float) -> bool:
    """Return True if a text can be a heading: a few words that are no sentence, number or item of a list."""
    words = text.split()
    letters = sum(map(str.isalpha, text))
    if len(words) > MAX_HEADING_WORDS or not _WORD.search(text) or letters * 2 < len(text) - len(words):
        return False
    is_odd = text[-1] in ",;=" or text[0].islower() or not (text[0].isalnum() or text[0] in '“"¿¡«')
    if is_odd or _CAPTION.match(text) or _NO_TITLE.search(text) or _DATE.fullmatch(text):
        return False
    return text[-1] not in ".:" or size >= (LARGE if text[-1] == ":" or text.isupper() else LARGE_SENTENCE)


def _set_levels(headings: list[Line], body: float) -> None:
    """Set the levels of headings: by size, then by weight; numbers such as 2.1 are one level below 2."""
    levels: list[float] = []
    heights = {round(line.height * 2) / 2 for line in headings if line.height >= LARGE * body}
    for height in sorted(heights, reverse=True):
        if not levels or height < 0.9 * levels[-1]:
            levels.append(height)
    numbered = []
    for line in headings:
        line.level = min(6, sum([line.height < 0.97 * height for height in levels]) + 1)
        if found := _NUMBERING.match(line.text):
            numbered.append((line, found[0].strip(" .").count(".")))
    least = min([line.level for line, _ in numbered], default=0)
    for line, depth in numbered:
        line.level = min(6, least + depth)


# --- a page ----------------------------------------------------------------------------------------------------------


def _joined_words(above: str, below: str, known: Callable[[], set[str]]) -> str:
    """Return two lines as one, without the hyphen at the end of the first if it only divides a word."""
    first, second = above.rpartition(" ")[2], below.partition(" ")[0].rstrip(".,;:)")
    if not (first[-2:-1].isalpha() and second[:1].islower()):
        return above + below
    words, whole = known(), f"{first[:-1]}{second}"
    is_compound = first + second in words or (first[:-1] in words and second in words and whole not in words)
    return above + below if is_compound else above[:-1] + below


def _page_markdown(lines: list[Line], known: Callable[[], set[str]]) -> str:
    shown: list[str] = []
    edge = _right_edges(lines)
    below = [(a, b) for a, b in pairwise(lines) if a.height and b.height and b.top > a.bottom]
    gaps = sorted([(b.top - a.bottom) / a.height for a, b in below])
    leading = max(0.55, 1.2 * gaps[len(gaps) // 2]) if gaps and gaps[len(gaps) // 2] < 1.5 else 0.55
    for at, line in enumerate(lines):
        above = lines[at - 1] if at else None
        if line.table is not None:
            shown += ["", *line.table.lines(), ""]
            continue
        if line.level:
            shown += ["", f"{'#' * line.level} {line.text}", ""]
            continue
        text = line.text
        if above is not None and shown[-1] and _goes_on(above, line, edge[at], leading):
            if shown[-1].endswith("-"):
                shown[-1] = _joined_words(shown[-1], text, known)
            else:
                shown[-1] += f" {text}"
            continue
        if above is not None and above.height and line.height and line.top - above.bottom > leading * line.height:
            shown.append("")
        bullet = _BULLET.match(text)
        if bullet and text[bullet.end() : bullet.end() + 1].isalnum():
            text = f"- {text[bullet.end() :]}"
        elif re.match(r"#{1,6} |\|", text):
            text = f"\\{text}"
        shown.append(text)
    return _folded("\n".join([line for line, after in pairwise([*shown, ""]) if line or after]).strip("\n"))


def _right_edges(lines: list[Line]) -> list[float]:
    """Return for each line the right edge of the lines around it that stand below each other."""
    edges = [0.0] * len(lines)
    begin = 0
    for at in range(1, len(lines) + 1):
        line, above = lines[at] if at < len(lines) else None, lines[at - 1]
        if line is not None and line.height and above.height and not line.level and not above.level:
            is_below = line.top > above.top and line.left < above.right and line.right > above.left
            if is_below and line.top - above.bottom < 3 * line.height:
                continue
        rights = [one.right for one in lines[begin:at]]
        edges[begin:at] = [max(rights[max(0, place - NEAR) : place + NEAR]) for place in range(at - begin)]
        begin = at
    return edges


def _goes_on(above: Line, line: Line, edge: float, leading: float) -> bool:
    """Return True if a line goes on with the paragraph of the line above it: its first word had no room there."""
    if not above.height or not line.height or above.level or above.table or _ITEM.match(line.text):
        return False
    height = above.height
    if abs(line.height - height) > 0.12 * height or not -0.5 * height < line.top - above.bottom < leading * height:
        return False
    is_item = _ITEM.match(above.text) is not None or above.text[1:2] == " "
    if line.left > above.left + (3.5 if is_item else 0.8) * height or line.top <= above.top:
        return False
    if above.text.endswith("-") and line.text[:1].islower():
        return True
    is_entry = _ENTRY.search(above.text) and (above.is_apart or _LEADERS.search(above.text))
    if is_entry or (above.is_apart and line.is_apart):
        return False  # lines of a table of contents, cells
    if above.text.count(" ") < LEAST_WORDS - 1:
        return False
    word = len(line.text.partition(" ")[0]) / max(1, len(line.text)) * (line.right - line.left)
    return above.right + 0.2 * height + word > edge - 0.1 * height


def _folded(text: str) -> str:
    """Return text with long repetitions of a mark, such as the signs of a map, as the mark and its number."""
    text = _LEADERS.sub("... ", joined_pairs(f"\n{text}"))
    return _MARKS.sub(lambda found: f"{found[1]}{found[2]} × {len(found[0].split())}", text)[1:]
