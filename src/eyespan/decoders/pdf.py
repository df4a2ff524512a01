"""PDFs, decoded by pdfium: the text and an image of single pages.

Pages are loaded one at a time from the file itself, so page 250 costs as much as page 1. A page that cannot be decoded
is reported as damaged, and the others are shown. The text is that of the text layer (`pdf_text`); with `layout`, form
values, links and annotations follow (`pdf_extras`), and an extra may return the text of a page laid out.
"""

from __future__ import annotations

import ctypes
import encodings.utf_16_le  # noqa: F401  # pypdfium2 uses it, and the sandbox allows no import
import gc
import io
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from eyespan.decoders import pdf_extras, pdf_text
from eyespan.decoders.files import PositionedFile, read_up_to, read_whole, unreadable

MAX_SCALE = 4.0
"""The most pixels for a point, so that a tiny page does not become a large image."""
PNG_BYTES = 384 * 1024
"""A grey page that is larger than this as PNG is a scan, which JPEG suits better."""
MAX_HELD_BYTES = 4 * 1024 * 1024
"""A larger file is read piece by piece where it is."""
MAX_LISTED = 60
"""The bookmarks, attachments and signatures that are listed before the first page; the others are counted."""
MAX_SUGGESTED = 200
"""The titles that one which does not exist is compared with."""
_REASONS = {
    pdfium.FPDF_ERR_SUCCESS: "it has no pages",  # no other error
    pdfium.FPDF_ERR_FILE: "the file cannot be read",
    pdfium.FPDF_ERR_FORMAT: "not a PDF, or a corrupt one",
    pdfium.FPDF_ERR_PASSWORD: "it is protected by a password",
    pdfium.FPDF_ERR_SECURITY: "its encryption is not supported",
}

Image.init()


class PageLayout(Protocol):
    """Returns the text of pages. The draft of a page, as `str`, is the text in the order of the layer."""

    def page(self, page: pypdfium2.PdfPage, layer: Any) -> Any:
        """Return the draft of a page."""

    def texts(self, drafts: list[Any], first: int) -> tuple[list[str], dict[str, Any]]:
        """Return the text of each page, "" for None, and facts about all; `first` is the number of the first page."""


def decode(
    file: BinaryIO, params: Mapping[str, Any], layout: PageLayout | None = None
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode pages `first` to `last` (None: to the end), at most `max_pages` of them.

    Blobs: for each page its text, and with `images` an image of at most `max_px` on its longer side. With `textless`,
    the first so many pages whose text cannot be read have an image, too. Decoding stops when half of `seconds` is used
    or the next page would exceed `max_bytes`; the fact `stopped` gives the reason. With `section`, the pages are those
    of the bookmark of that name, or of the heading in a file without bookmarks; with `outline`, the fact `outline`
    lists them and there are no pages. With `whole`, the file itself is the only blob, after it was opened successfully.
    Two jobs may decode one file at the same time, with a `share` of 0 and 1: each decodes a half of the pages, the
    first alone all of them if they are few. With the parameter `layout`, `layout` returns the text of the pages.

    Raises: Unreadable.
    """
    document = _open(file)
    total = len(document)
    if total <= 0:
        raise unreadable("it has no pages")
    if params.get("whole"):
        file.seek(0)
        return {"total_pages": total}, [read_whole(file, params["max_bytes"])]
    facts: dict[str, Any] = {"total_pages": total, "pages": []}
    first: int = params["first"]
    wanted_last: int = params["last"] or total
    layout = layout if params.get("layout") and layout is not None else pdf_text.PlainText()
    if params.get("section") or params.get("outline"):
        entries = pdf_extras.bookmarks(document) or _headings(document, layout, params)
        if params.get("outline"):
            return {**facts, "outline": entries}, []
        section = pdf_extras.section_pages(entries, params["section"], total)
        if section is None:
            return {**facts, "sections": [title[:200] for _, title, _ in entries[:MAX_SUGGESTED]]}, []
        facts["section"] = list(section)
        _, first, wanted_last = section
    elif params.get("layout") and first == 1 and params["last"] is None:
        facts.update(_lists(document))
    last = min(total, wanted_last, first + params["max_pages"] - 1)
    decoded: list[_Page] = []
    used, end = 0, time.monotonic() + params["seconds"] / 2
    if params["images"] or params.get("layout"):
        document.init_forms()
    textless: int = params.get("textless", 0)
    gc.disable()  # the words of a page are many small objects without cycles, in a process that ends soon
    for number in range(first, last + 1):
        page = _page(document, number, params, layout, may_draw=textless > 0)
        textless -= bool(page.image)
        used += len(str(page.draft or "")) + len(page.image)
        if decoded and (used > params["max_bytes"] or time.monotonic() > end):
            facts["stopped"] = "bytes" if used > params["max_bytes"] else "seconds"
            break
        decoded.append(page)
    texts, more = layout.texts([page.draft for page in decoded], first)
    facts.update(more, pages=[page.facts for page in decoded])
    blobs: list[bytes] = []
    for page, text in zip(decoded, texts, strict=True):
        text = "\n".join([text, *page.extras])
        if len(text) > params["max_text_chars"]:
            page.facts["text_chars"] = len(text)
            text = text[: params["max_text_chars"]]
        blobs += [text.encode("utf-8", "replace"), *([page.image] if page.image else [])]
    return facts, blobs


@dataclass(slots=True)
class _Page:
    """A decoded page; of a damaged one there are only facts."""

    facts: dict[str, Any]
    draft: Any = None
    """None: there is no text, or it cannot be read; a str is shown as it is."""
    extras: list[str] = field(default_factory=list)
    """The lines about its fields, links and annotations."""
    image: bytes = b""


def _headings(
    document: pypdfium2.PdfDocument, layout: PageLayout, params: Mapping[str, Any]
) -> list[tuple[int, str, int]]:
    """Return level, title and page of the headings in the text, of as many pages as half of `seconds` allow."""
    end = time.monotonic() + params["seconds"] / 2
    drafts = []
    for number in range(1, len(document) + 1):
        drafts.append(_page(document, number, {"images": False}, layout, may_draw=False).draft)
        if time.monotonic() > end:
            break
    found: list[tuple[int, str, int]] = layout.texts(drafts, 1)[1].get("headings", [])
    return found


def _lists(document: pypdfium2.PdfDocument) -> dict[str, Any]:
    """Return the first bookmarks, attachments and signatures of a file, and the number of each."""
    entries = pdf_extras.bookmarks(document)
    listed = [
        (level, pdf_extras.shortened(title, pdf_extras.MAX_TITLE_CHARS), page)
        for level, title, page in entries[:MAX_LISTED]
    ]
    attachments, attachment_count = pdf_extras.attachments(document, MAX_LISTED)
    signatures, signature_count = pdf_extras.signatures(document, MAX_LISTED)
    return {
        "bookmarks": listed,
        "attachments": attachments,
        "signatures": signatures,
        "total_bookmarks": len(entries),
        "total_attachments": attachment_count,
        "total_signatures": signature_count,
    }


def _open(file: BinaryIO) -> pypdfium2.PdfDocument:
    # Another job may move the position of the same descriptor. pdfium reads a file in many small pieces, and each of
    # them is a call of this process.
    own = PositionedFile(file)
    held = read_up_to(own, MAX_HELD_BYTES + 1)
    own.seek(0)
    if b"%PDF-" not in held[:1024]:  # the first line is damaged; the places of objects stay
        line = re.match(rb"[^\r\n\d][^\r\n]{7,}", held)
        held = b"%PDF-1.7".ljust(line.end()) + held[line.end() :] if line else b"%PDF-1.7\n" + held
    try:
        return pypdfium2.PdfDocument(held if len(held) <= MAX_HELD_BYTES else own)
    except pypdfium2.PdfiumError as error:
        raise unreadable(_REASONS.get(error.err_code, "it cannot be opened")) from None


def _page(
    document: pypdfium2.PdfDocument, number: int, params: Mapping[str, Any], layout: PageLayout, *, may_draw: bool
) -> _Page:
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return _Page({"page": number, "damaged": True})
    layer = None
    try:
        made = _Page({"page": number})
        facts = made.facts
        facts["width"], facts["height"] = (round(side, 2) for side in page.get_size())
        layer = pdfium.FPDFText_LoadPage(page.raw)
        made.draft = layout.page(page, layer)
        if params.get("layout"):
            made.extras = pdf_extras.page_extras(document, page, layer)
            facts["label"] = pdf_extras.label(document, number - 1)
            reason = _unreadable_text(page, layer, str(made.draft))
            if reason in ("ocr", "unmapped", "garbage") or (reason and may_draw):
                facts["unreadable"] = reason
            if reason == "garbage":
                made.draft = None
            elif reason == "ocr":
                made.draft = str(made.draft)  # the places of recognised words are not exact enough for a layout
        if params["images"] or (may_draw and "unreadable" in facts):
            made.image, media_type, size = _render(page, params["max_px"])
            facts.update(media_type=media_type, shown_width=size[0], shown_height=size[1])
        return made
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return _Page({"page": number, "damaged": True})
    finally:
        if layer:
            pdfium.FPDFText_ClosePage(layer)
        page.close()


_STRANGE = re.compile("[\ufffd\ue000-\uf8ff]")
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")
FEW_CHARS = 50
"""A page with fewer characters that consists of an image is a scan with a number or a stamp."""


def _unreadable_text(page: pypdfium2.PdfPage, layer: Any, text: str) -> str:
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
        errors = sum([pdfium.FPDFText_HasUnicodeMapError(layer, at) == 1 for at in sample])
        if errors * 5 > len(sample):
            return "garbage" if controls * 20 > len(text) and errors * 2 > len(sample) else "unmapped"
    if len(letters) < FEW_CHARS and _is_image(page):
        return "scan"
    return "ocr" if _is_invisible(layer) else ""


def _sample(layer: Any, number: int) -> range:
    """Return the places of at most so many characters, far apart."""
    count = pdfium.FPDFText_CountChars(layer)
    return range(0, count, count // number + 1)


def _is_invisible(layer: Any) -> bool:
    """Return True if nearly all characters of some that are far apart are not drawn."""
    items = [pdfium.FPDFText_GetTextObject(layer, at) for at in _sample(layer, 20)]
    modes = [pdfium.FPDFTextObj_GetTextRenderMode(item) for item in items if item]
    return modes.count(pdfium.FPDF_TEXTRENDERMODE_INVISIBLE) > 0.9 * len(modes)


def _is_image(page: pypdfium2.PdfPage) -> bool:
    """Return True if one of the first objects of a page is an image that covers half of it."""
    width, height = page.get_size()
    edges = [ctypes.c_float() for _ in range(4)]
    for index in range(min(20, pdfium.FPDFPage_CountObjects(page.raw))):
        item = pdfium.FPDFPage_GetObject(page.raw, index)
        is_image = pdfium.FPDFPageObj_GetType(item) == pdfium.FPDF_PAGEOBJ_IMAGE
        if is_image and pdfium.FPDFPageObj_GetBounds(item, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            if (right - left) * (top - bottom) * 2 > width * height:
                return True
    return False


def _render(page: pypdfium2.PdfPage, max_px: int) -> tuple[bytes, str, tuple[int, int]]:
    width, height = page.get_size()
    longer = max(width, height)
    if not 0 < longer < float("inf"):
        raise ValueError("a page without size")
    scale = min(MAX_SCALE, max_px / longer)
    # pdfium rounds up, so a slightly smaller scale keeps the longer side within the limit.
    image = page.render(scale=scale * (1 - 1e-6)).to_pil()
    if image.mode not in ("L", "RGB"):
        image = image.convert("RGB")
    if image.mode == "RGB":
        red, green, blue = image.split()
        if not ImageChops.difference(red, green).getbbox() and not ImageChops.difference(green, blue).getbbox():
            image = green
    out = io.BytesIO()
    if image.mode == "L":
        image.save(out, "PNG", compress_level=6)
        if out.tell() <= PNG_BYTES:
            return out.getvalue(), "image/png", image.size
        out = io.BytesIO()
    image.save(out, "JPEG", quality=80, subsampling=0)
    return out.getvalue(), "image/jpeg", image.size
