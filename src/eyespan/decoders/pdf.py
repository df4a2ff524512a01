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
import time
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

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
LEAST_SHARED_PAGES = 32
"""Fewer pages are not divided between two jobs."""
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


PageText = Callable[[pypdfium2.PdfPage, Any], str]
"""Returns the text of a page, from the page and its text layer."""


def decode(
    file: BinaryIO, params: Mapping[str, Any], laid_out: PageText = pdf_text.page_text
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode pages `first` to `last` (None: to the end), at most `max_pages` of them.

    Blobs: for each page its text, and with `images` an image of at most `max_px` on its longer side. With `textless`,
    the first so many pages whose text cannot be read have an image, too. Decoding stops when half of `seconds` is used
    or the next page would exceed `max_bytes`; the fact `stopped` gives the reason. With `section`, the pages are those
    of the bookmark of that name. With `whole`, the file itself is the only blob, after it was opened successfully.
    Two jobs may decode one file at the same time, with a `share` of 0 and 1: each decodes a half of the pages, the
    first alone all of them if they are few. With `layout`, `laid_out` returns the text of each page.

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
    if params.get("section"):
        entries = pdf_extras.bookmarks(document)
        section = pdf_extras.section_pages(entries, params["section"], total)
        if section is None:
            return {**facts, "sections": [title[:200] for _, title, _ in entries[:MAX_SUGGESTED]]}, []
        facts["section"] = list(section)
        _, first, wanted_last = section
    elif params.get("layout") and first == 1 and params["last"] is None and not params.get("share"):
        facts.update(_lists(document))
    last = min(total, wanted_last, first + params["max_pages"] - 1)
    share = params.get("share")
    if share is not None:
        last_of_first = (first + last) // 2 if last - first + 1 >= LEAST_SHARED_PAGES else last
        first, last = (last_of_first + 1, last) if share else (first, last_of_first)
    blobs: list[bytes] = []
    used, end = 0, time.monotonic() + params["seconds"] / 2
    if params["images"] or params.get("layout"):
        document.init_forms()
    textless: int = params.get("textless", 0)
    gc.disable()  # the words of a page are many small objects without cycles, in a process that ends soon
    for number in range(first, last + 1):
        page, made = _page(document, number, params, laid_out, may_draw=textless > 0)
        textless -= "unreadable" in page
        used += sum(map(len, made))
        if facts["pages"] and (used > params["max_bytes"] or time.monotonic() > end):
            facts["stopped"] = "bytes" if used > params["max_bytes"] else "seconds"
            break
        facts["pages"].append(page)
        blobs += made
    return facts, blobs


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
    try:
        return pypdfium2.PdfDocument(held if len(held) <= MAX_HELD_BYTES else own)
    except pypdfium2.PdfiumError as error:
        raise unreadable(_REASONS.get(error.err_code, "it cannot be opened")) from None


def _page(
    document: pypdfium2.PdfDocument, number: int, params: Mapping[str, Any], laid_out: PageText, *, may_draw: bool
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode one page: its facts, and its blobs in the order text, image. A damaged page has only an empty text."""
    facts: dict[str, Any] = {"page": number}
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return {**facts, "damaged": True}, [b""]
    try:
        facts["width"], facts["height"] = (round(side, 2) for side in page.get_size())
        text, extras = _page_text(document, page, laid_out if params.get("layout") else None)
        if params.get("layout"):
            facts["label"] = pdf_extras.label(document, number - 1)
        is_drawn = params["images"]
        if may_draw and not is_drawn and (reason := _unreadable_text(page, text)):
            is_drawn, facts["unreadable"] = True, reason
            if reason == "garbage":
                text = ""
        text = "\n".join([text, *extras]) if extras else text
        if len(text) > params["max_text_chars"]:
            facts["text_chars"] = len(text)
            text = text[: params["max_text_chars"]]
        blobs = [text.encode("utf-8", "replace")]
        if is_drawn:
            image, media_type, size = _render(page, params["max_px"])
            blobs.append(image)
            facts.update(media_type=media_type, shown_width=size[0], shown_height=size[1])
        return facts, blobs
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return {"page": number, "damaged": True}, [b""]
    finally:
        page.close()


def _page_text(
    document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, laid_out: PageText | None
) -> tuple[str, list[str]]:
    """Return the text of a page, and if it is laid out the lines about its fields, links and annotations."""
    layer = pdfium.FPDFText_LoadPage(page.raw)
    try:
        if laid_out is None:
            return pdf_text.page_text(page, layer), []
        return laid_out(page, layer), pdf_extras.page_extras(document, page, layer)
    finally:
        if layer:
            pdfium.FPDFText_ClosePage(layer)


FEW_CHARS = 50
"""A page with fewer characters that consists of an image is a scan with a number or a stamp."""


def _unreadable_text(page: pypdfium2.PdfPage, text: str) -> str:
    """Return the reason why the text of a page does not show what the page shows; "" if it does.

    "none": there is no text; "scan": nearly none on a page that is an image; "garbage": the fonts have no valid map.
    """
    if not text:
        return "none"
    letters = [char for char in text if not char.isspace()]
    strange = sum([not char.isprintable() or char == "\ufffd" or "\ue000" <= char <= "\uf8ff" for char in letters])
    if strange * 4 > len(letters):
        return "garbage"
    return "scan" if len(letters) < FEW_CHARS and _is_image(page) else ""


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
