"""The text layer of a PDF page, in its own order."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

HYPHENS = "\ufffe\x02"
"""pdfium writes these for a hyphen at the end of a line."""


@dataclass(slots=True)
class DecodedPage:
    """A decoded page; of a damaged one there are only facts."""

    facts: dict[str, Any]
    draft: Any = None
    """None: there is no text, or it cannot be read; a str is shown as it is."""
    additions: list[str] = field(default_factory=list)
    """Lines after its text."""
    image: bytes = b""


class PageText:
    """The text of pages as it is in the layer. An extra overrides the steps to show more."""

    def select(self, document: pypdfium2.PdfDocument, params: Mapping[str, Any]) -> tuple[int, int, dict[str, Any]]:
        """Return the first and the last page to decode, and facts about the file."""
        return params["first"], params["last"] or len(document), {}

    def page(self, page: pypdfium2.PdfPage, layer: Any) -> Any:
        """Return the draft of a page. As `str` it is the text in the order of the layer."""
        return clean(characters(layer))

    def complete(
        self, made: DecodedPage, document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, layer: Any, *, may_draw: bool
    ) -> None:
        """Add to a page what it holds beside its text. With `may_draw`, the fact `unreadable` asks for its image."""

    def texts(self, drafts: list[Any], first: int) -> tuple[list[str], dict[str, Any]]:
        """Return the text of each page, "" for None, and facts about all; `first` is the number of the first page."""
        return [draft or "" for draft in drafts], {}


@contextmanager
def loaded(document: pypdfium2.PdfDocument, number: int) -> Iterator[tuple[pypdfium2.PdfPage, pypdfium2.PdfTextPage]]:
    """Load a page, counted from 1, and its text layer. Raises: PdfiumError."""
    page = document[number - 1]
    try:
        yield page, page.get_textpage()
    finally:
        page.close()  # its layer, too


def characters(layer: Any) -> str:
    """Return the text layer with one character for each of pdfium's, which may be halves of a pair."""
    count = layer.count_chars()
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
    for hyphen in HYPHENS:
        text = text.replace(hyphen, "-\n")
    return joined_pairs(text.replace("\0", "").rstrip())


def joined_pairs(text: str) -> str:
    """Return text with one character for each pair of surrogates."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
