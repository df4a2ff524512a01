"""PDFs, decoded by pdfium: the text and an image of single pages.

Pages are loaded one at a time from the file itself, so page 250 costs as much as page 1. A page that cannot be decoded
is reported as damaged, and the others are shown.
"""

from __future__ import annotations

import ctypes
import encodings.utf_16_le  # noqa: F401  # pypdfium2 uses it, and the sandbox allows no import
import io
import time
from typing import TYPE_CHECKING, Any

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from eyespan.decoders.files import read_whole
from eyespan.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

KIND = "pdf"
MAX_SCALE = 4.0
"""The most pixels for a point, so that a tiny page does not become a large image."""
PNG_BYTES = 384 * 1024
"""A grey page that is larger than this as PNG is a scan, which JPEG suits better."""
_REASONS = {
    pdfium.FPDF_ERR_SUCCESS: "it has no pages",  # no other error
    pdfium.FPDF_ERR_FILE: "the file cannot be read",
    pdfium.FPDF_ERR_FORMAT: "not a PDF, or a corrupt one",
    pdfium.FPDF_ERR_PASSWORD: "it is protected by a password",
    pdfium.FPDF_ERR_SECURITY: "its encryption is not supported",
}

Image.init()


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode pages `first` to `last` (None: to the end), at most `max_pages` of them.

    Blobs: for each page its text, and with `images` an image of at most `max_px` on its longer side. Decoding stops
    when half of `seconds` is used or the next page would exceed `max_bytes`; the fact `stopped` gives the reason. With
    `whole`, the file itself is the only blob, after it was opened successfully.

    Raises: Unreadable.
    """
    document = _open(file)
    total = len(document)
    if total <= 0:
        raise _unreadable("it has no pages")
    if params.get("whole"):
        file.seek(0)
        return {"total_pages": total}, [read_whole(file, params["max_bytes"], kind=KIND)]
    first: int = params["first"]
    last = min(total, params["last"] or total, first + params["max_pages"] - 1)
    facts: dict[str, Any] = {"total_pages": total, "pages": []}
    blobs: list[bytes] = []
    used, end = 0, time.monotonic() + params["seconds"] / 2
    if params["images"]:
        document.init_forms()
    for number in range(first, last + 1):
        page, made = _page(document, number, params)
        used += sum(map(len, made))
        if facts["pages"] and (used > params["max_bytes"] or time.monotonic() > end):
            facts["stopped"] = "bytes" if used > params["max_bytes"] else "seconds"
            break
        facts["pages"].append(page)
        blobs += made
    return facts, blobs


def _open(file: BinaryIO) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(_REASONS.get(error.err_code, "it cannot be opened")) from None


def _page(
    document: pypdfium2.PdfDocument, number: int, params: Mapping[str, Any]
) -> tuple[dict[str, Any], list[bytes]]:
    """Decode one page: its facts, and its blobs in the order text, image. A damaged page has only an empty text."""
    facts: dict[str, Any] = {"page": number}
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return {**facts, "damaged": True}, [b""]
    try:
        facts["width"], facts["height"] = (round(side, 2) for side in page.get_size())
        text = _text(page)
        if len(text) > params["max_text_chars"]:
            facts["text_chars"] = len(text)
            text = text[: params["max_text_chars"]]
        blobs = [text.encode("utf-8", "replace")]
        if params["images"]:
            image, media_type, size = _render(page, params["max_px"])
            blobs.append(image)
            facts.update(media_type=media_type, shown_width=size[0], shown_height=size[1])
        return facts, blobs
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return {"page": number, "damaged": True}, [b""]
    finally:
        page.close()


def _text(page: pypdfium2.PdfPage) -> str:
    """Return the text layer in its own order, with LF line ends and without blanks at the end."""
    layer = pdfium.FPDFText_LoadPage(page.raw)
    if not layer:
        return ""
    try:
        count = pdfium.FPDFText_CountChars(layer)
        if count <= 0:
            return ""
        # A character may need two units.
        units = 2 * count + 2
        buffer = (ctypes.c_ushort * units)()
        written = pdfium.FPDFText_GetText(layer, 0, count, buffer)
    finally:
        pdfium.FPDFText_ClosePage(layer)
    text = bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "replace")
    # pdfium removes the line break after a hyphen at the end of a line and leaves one of these characters.
    text = text.replace("\r\n", "\n").replace("\ufffe", "-\n").replace("\x02", "-\n").replace("\0", "")
    return text.rstrip()


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


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind=KIND, reason=reason)
