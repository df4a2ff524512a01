"""PDFs, decoded by pdfium: the text and an image of single pages.

Pages are loaded one at a time from the file itself, so page 250 costs as much as page 1. A page that cannot be decoded
is reported as damaged, and the others are shown. The text is that of the text layer; an extra may lay it out and add to
it what else a page holds (`pdf_text.PageText`).
"""

from __future__ import annotations

import encodings.utf_16_le  # noqa: F401  # pypdfium2 uses it, and the sandbox allows no import
import gc
import io
import re
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from eyespan.decoders.files import PositionedFile, read_up_to, read_whole, unreadable
from eyespan.decoders.pdf_text import DecodedPage, PageText, loaded

MAX_SCALE = 4.0
"""The most pixels for a point, so that a tiny page does not become a large image."""
PNG_BYTES = 384 * 1024
"""A grey page that is larger than this as PNG is a scan, which JPEG suits better."""
MAX_HELD_BYTES = 4 * 1024 * 1024
"""A larger file is read piece by piece where it is."""
_REASONS = {
    pdfium.FPDF_ERR_SUCCESS: "it has no pages",  # no other error
    pdfium.FPDF_ERR_FILE: "the file cannot be read",
    pdfium.FPDF_ERR_FORMAT: "not a PDF, or a corrupt one",
    pdfium.FPDF_ERR_PASSWORD: "it is protected by a password",
    pdfium.FPDF_ERR_SECURITY: "its encryption is not supported",
}

Image.init()


def decode(
    file: BinaryIO, params: Mapping[str, Any], text: PageText | None = None
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode pages `first` to `last` (None: to the end), at most `max_pages` of them.

    Blobs: for each page its text, and with `images` an image of at most `max_px` on its longer side. With `textless`,
    the first so many pages whose text cannot be read have an image, too. Decoding stops when half of `seconds` is used
    or the next page would exceed `max_bytes`; the fact `stopped` gives the reason. With `whole`, the file itself is the
    only blob, after it was opened successfully. `text` returns the text of the pages; None: that of the text layer.

    Raises: Unreadable.
    """
    document = _open(file)
    total = len(document)
    if total <= 0:
        raise unreadable("it has no pages")
    if params.get("whole"):
        file.seek(0)
        return {"total_pages": total}, [read_whole(file, params["max_bytes"])]
    text = text or PageText()
    first, last, facts = text.select(document, params)
    facts["total_pages"] = total
    last = min(total, last, first + params["max_pages"] - 1)
    decoded: list[DecodedPage] = []
    used, end = 0, time.monotonic() + params["seconds"] / 2
    document.init_forms()
    textless: int = params.get("textless", 0)
    gc.disable()  # the words of a page are many small objects without cycles, in a process that ends soon
    for number in range(first, last + 1):
        page = _page(document, number, params, text, may_draw=textless > 0)
        textless -= bool(page.image)
        used += len(str(page.draft or "")) + len(page.image)
        if decoded and (used > params["max_bytes"] or time.monotonic() > end):
            facts["stopped"] = "bytes" if used > params["max_bytes"] else "seconds"
            break
        decoded.append(page)
    texts, more = text.texts([page.draft for page in decoded], first)
    facts.update(more, pages=[page.facts for page in decoded])
    blobs: list[bytes] = []
    for page, made in zip(decoded, texts, strict=True):
        made = "\n".join([made, *page.additions])
        if len(made) > params["max_text_chars"]:
            page.facts["text_chars"] = len(made)
            made = made[: params["max_text_chars"]]
        blobs += [made.encode("utf-8", "replace"), *([page.image] if page.image else [])]
    return facts, blobs


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
    document: pypdfium2.PdfDocument, number: int, params: Mapping[str, Any], text: PageText, *, may_draw: bool
) -> DecodedPage:
    made = DecodedPage({"page": number})
    try:
        with loaded(document, number) as (page, layer):
            made.facts["width"], made.facts["height"] = (round(side, 2) for side in page.get_size())
            made.draft = text.page(page, layer)
            text.complete(made, document, page, layer, may_draw=may_draw)
            if params["images"] or (may_draw and "unreadable" in made.facts):
                made.image, media_type, size = _render(page, params["max_px"])
                made.facts.update(media_type=media_type, shown_width=size[0], shown_height=size[1])
            return made
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return DecodedPage({"page": number, "damaged": True})


def _render(page: pypdfium2.PdfPage, max_px: int) -> tuple[bytes, str, tuple[int, int]]:
    width, height = page.get_size()
    longer = max(width, height)
    if not 0 < longer < float("inf"):
        raise ValueError("a page without size")
    scale = min(MAX_SCALE, max_px / longer)
    # pdfium rounds up, so a slightly smaller scale keeps the longer side within the limit.
    image = page.render(scale=scale * (1 - 1e-6)).to_pil()
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
