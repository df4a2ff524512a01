"""Whether the text layer of a page shows what the page shows: scans, fonts without a map, recognised text."""

from __future__ import annotations

import re
from itertools import islice

import pypdfium2
import pypdfium2.raw as pdfium

_STRANGE = re.compile("[\ufffd\ue000-\uf8ff]")
_CONTROL = re.compile("[\x02\x0b-\r\ufffd]")
FEW_CHARS = 50
"""A page with fewer characters that consists of an image is a scan with a number or a stamp."""


def unreadable_text(page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage, text: str) -> str:
    """Return the reason why the text of a page does not show what the page shows; "" if it does.

    "none": there is no text; "scan": nearly none on a page that is an image; "garbage": the fonts have no valid map;
    "unmapped": some of them have none; "ocr": nearly all of it is invisible, as the text that was recognised in a scan.
    """
    if not text:
        return "none"
    letters = "".join(text.split())
    if not letters.isprintable() or _STRANGE.search(letters):
        strange = len(_STRANGE.findall(letters)) + sum([not char.isprintable() for char in letters])
        if strange * 4 > len(letters):
            return "garbage"
    # pdfium shows the codes of characters without a map. They may be right, but then none stands for a blank.
    controls = len(_CONTROL.findall(text))
    if controls * 50 > len(text):
        sample = _sample(layer, 100)
        errors = sum([pdfium.FPDFText_HasUnicodeMapError(layer.raw, at) == 1 for at in sample])
        if errors * 5 > len(sample):
            return "garbage" if controls * 20 > len(text) and errors * 2 > len(sample) else "unmapped"
    if len(letters) < FEW_CHARS and _is_image(page):
        return "scan"
    return "ocr" if _is_invisible(layer) else ""


def _sample(layer: pypdfium2.PdfTextPage, number: int) -> range:
    """Return the places of at most so many characters, far apart."""
    count = layer.count_chars()
    return range(0, count, count // number + 1)


def _is_invisible(layer: pypdfium2.PdfTextPage) -> bool:
    """Return True if nearly all characters of some that are far apart are not drawn."""
    items = [pdfium.FPDFText_GetTextObject(layer.raw, at) for at in _sample(layer, 20)]
    modes = [pdfium.FPDFTextObj_GetTextRenderMode(item) for item in items if item]
    return modes.count(pdfium.FPDF_TEXTRENDERMODE_INVISIBLE) > 0.9 * len(modes)


def _is_image(page: pypdfium2.PdfPage) -> bool:
    """Return True if one of the first objects of a page is an image that covers half of it."""
    width, height = page.get_size()
    for item in islice(page.get_objects(max_depth=1), 20):
        left, bottom, right, top = item.get_bounds()
        if item.type == pdfium.FPDF_PAGEOBJ_IMAGE and (right - left) * (top - bottom) * 2 > width * height:
            return True
    return False
