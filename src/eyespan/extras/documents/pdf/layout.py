"""The text of PDF pages as Markdown: tables as rows, columns in order, headings and paragraphs.

The order of the text layer is the best order on real files, so it is kept. Only words that form a table are taken out
of it and shown as rows, at the place of the first of them. A page whose text layer jumps between columns of running
text from line to line is put in order by its columns. Pages with much right-to-left text, or with text in several
directions, stay as they are.
`words`, `columns` and `tables` find the parts, `structure` the rest.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

import pypdfium2

from eyespan.decoders import pdf
from eyespan.decoders.pdf_text import DecodedPage, PageText, characters, clean, loaded
from eyespan.extras.documents.pdf import additions
from eyespan.extras.documents.pdf.columns import in_columns
from eyespan.extras.documents.pdf.legible import unreadable_text
from eyespan.extras.documents.pdf.structure import Draft, Line, column_lines, lines_of, texts_of
from eyespan.extras.documents.pdf.tables import Table, blocks_of
from eyespan.extras.documents.pdf.words import RAISED, Boxes, is_right_to_left, read_words, rows_of, with_joined_letters

_DIGITS = re.compile(r"[0-9]+")
_UNMAPPED = re.compile("[\x01\x03-\x08\x0e-\x1f\x7f-\x9f]")
"""pdfium returns the codes of characters without a map; a digit that is left out would be worse than a sign of it."""
MAX_SUGGESTED = 200
"""The titles that one which does not exist is compared with."""


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode pages as `decoders.pdf` does; with `layout`, as Markdown with all that they hold beside their text.

    With `section`, the pages are those of the bookmark of that name, or of the heading in a file without bookmarks.
    With `outline`, the fact `outline` lists them and there are no pages.

    Raises: Unreadable.
    """
    return pdf.decode(file, params, MarkdownText() if params.get("layout") else None)


class MarkdownText(PageText):
    """The text of the pages of a file, laid out, with form values, links and annotations."""

    def select(self, document: pypdfium2.PdfDocument, params: Mapping[str, Any]) -> tuple[int, int, dict[str, Any]]:
        first, last, facts = super().select(document, params)
        if params.get("section") or params.get("outline"):
            entries, pages = self._outline(document, params["seconds"] / 2)
            if params.get("outline"):
                return 1, 0, {"outline": entries, "outline_pages": pages}
            section = additions.section_pages(entries, params["section"], len(document))
            if section is None:
                titles = [title[:200] for _, title, _ in entries[:MAX_SUGGESTED]]
                return 1, 0, {"sections": titles, "outline_pages": pages}
            return section[1], section[2], {"section": list(section)}
        return first, last, additions.lists(document) if first == 1 and params["last"] is None else facts

    def page(self, page: pypdfium2.PdfPage, layer: Any) -> Draft:
        """Return the lines of a page."""
        text = characters(layer)
        try:
            boxes, turned = Boxes(page, layer), page.get_rotation()
            if (boxes.rotation - turned) % 360 == 180:  # pdfium has the words of lines from right to left
                page.set_rotation(boxes.rotation)
                layer = page.get_textpage()
                page.set_rotation(turned)  # its image is drawn as it is
                text, boxes = characters(layer), Boxes(page, layer)
            text = with_joined_letters(_UNMAPPED.sub("\ufffd", text), boxes, layer)
            lines = _lines(boxes, layer, text)
            int(sum([line.left + line.top + line.right + line.bottom + line.height for line in lines]))
            return Draft(clean(text), lines, boxes.height)
        except (ArithmeticError, ValueError, IndexError):
            # Boxes of a damaged file can have any numbers, also infinite ones and NaN.
            return Draft(clean(_UNMAPPED.sub("\ufffd", text)))

    def complete(
        self, made: DecodedPage, document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, layer: Any, *, may_draw: bool
    ) -> None:
        made.additions = additions.page_additions(document, page, layer)
        made.facts["label"] = additions.label(document, made.facts["page"] - 1)
        reason = unreadable_text(page, layer, str(made.draft))
        if reason in ("ocr", "unmapped", "garbage") or (reason and may_draw):
            made.facts["unreadable"] = reason
        if reason == "garbage":
            made.draft = None
        elif reason == "ocr":
            made.draft = str(made.draft)  # the places of recognised words are not exact enough for a layout

    def texts(self, drafts: list[Draft | str | None], first: int) -> tuple[list[str], dict[str, Any]]:
        """Return the text of each page in Markdown, and facts about all of them."""
        return texts_of([one if isinstance(one, Draft) else Draft(one or "") for one in drafts], first)

    def _outline(self, document: pypdfium2.PdfDocument, seconds: float) -> tuple[list[tuple[int, str, int]], int]:
        """Return level, title and page of the bookmarks, or else of the headings in the text, and the pages that were
        read: as many as `seconds` allow.
        """
        if entries := additions.bookmarks(document):
            return entries, len(document)
        end = time.monotonic() + seconds
        drafts: list[Draft | str | None] = []
        while len(drafts) < len(document) and time.monotonic() < end:
            try:
                with loaded(document, len(drafts) + 1) as (page, layer):
                    drafts.append(self.page(page, layer))
            except (pypdfium2.PdfiumError, ValueError, OSError):
                drafts.append(None)
        return self.texts(drafts, 1)[1]["headings"], len(drafts)


def _lines(boxes: Boxes, layer: Any, text: str) -> list[Line]:
    words, odd, lacks = read_words(boxes, text)
    if not words or odd * 2 > len(words) or is_right_to_left(text):
        return []
    # Dots that lead from a label to its number are no words of a row.
    others = [word for word in words if text[word[4] : word[5]] != "."] if ". . ." in text else words
    rows = rows_of(others, _with_raised_digits(text, lacks))
    if sum([len(row) > 1 for row in rows]) < 2:
        return lines_of(layer, text, words, [], lacks)
    jumps: list[float] = []
    columns = [blocks_of(run) for run in in_columns(rows, jumps)]
    if jumps and not odd:
        return [line for column in columns for line in column_lines(layer, column)]
    tables = [block for column in columns for block in column if isinstance(block, Table)]
    return lines_of(layer, text, words, tables, lacks)


def _with_raised_digits(text: str, lacks: list[tuple[int, str]]) -> str:
    """Return text of the same length with superscripts for raised digits, so that 24.91 with a note 2 is no 24.912."""
    for place, sign in lacks:
        if sign == "^" and (digits := _DIGITS.match(text, place)):
            text = text[:place] + digits[0].translate(RAISED) + text[digits.end() :]
    return text
