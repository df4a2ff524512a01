"""The text layer of a PDF page, in its own order."""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

HYPHENS = "\ufffe\x02"
"""pdfium writes these for a hyphen at the end of a line."""


class PlainText:
    """The text of pages as it is in the layer."""

    def page(self, page: pypdfium2.PdfPage, layer: Any) -> str:
        """Return the text of a page."""
        return clean(characters(layer))

    def texts(self, drafts: list[str | None], first: int) -> tuple[list[str], dict[str, Any]]:
        """Return the texts as they are."""
        return [draft or "" for draft in drafts], {}


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
    for hyphen in HYPHENS:
        text = text.replace(hyphen, "-\n")
    return joined_pairs(text.replace("\0", "").rstrip())


def joined_pairs(text: str) -> str:
    """Return text with one character for each pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
