"""PDFs by pdfium: the text and a picture of single pages.

Pages are loaded one at a time from the file itself, so page 250 costs what page 1 does. A page that cannot be decoded
is told as such and the others are shown.
"""

from __future__ import annotations

import ctypes
import encodings.utf_16_le  # noqa: F401  # used by pypdfium2; inside the sandbox it cannot be imported
import io
import time
from typing import TYPE_CHECKING, Any

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from eyespan.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

MAX_SCALE = 4.0
"""Pixels for a point, at most: a stamp-sized page is not blown up to a poster."""
PNG_BYTES = 384 * 1024
"""A grey page that takes more than this as PNG is a scan, for which JPEG was made."""
_REASONS = {
    pdfium.FPDF_ERR_SUCCESS: "it has no pages",  # all is well but for that
    pdfium.FPDF_ERR_FILE: "the file cannot be read",
    pdfium.FPDF_ERR_FORMAT: "it is damaged, or no PDF at all",
    pdfium.FPDF_ERR_PASSWORD: "it is encrypted and opens only with a password",
    pdfium.FPDF_ERR_SECURITY: "it is encrypted in a way that is not supported",
}

Image.init()


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Pages `first` to `last` (None: to the end), at most `max_pages` of them.

    Blobs: for each page its text, and, with `pictures`, a picture of at most `max_px` on its longer side. It stops
    early, and says so in `stopped`, when half of `seconds` is used up or the next page would exceed `max_bytes`. With
    `whole`, the file itself is the only blob, once it is sure that it opens.

    Raises: Unreadable.
    """
    document = _open(file)
    total = len(document)
    if total <= 0:
        raise _unreadable("it has no pages")
    if params.get("whole"):
        return {"total_pages": total}, [_all(file, params["max_bytes"])]
    first: int = params["first"]
    last = min(total, params["last"] or total, first + params["max_pages"] - 1)
    facts: dict[str, Any] = {"total_pages": total, "pages": []}
    blobs: list[bytes] = []
    used, end = 0, time.monotonic() + params["seconds"] / 2
    if params["pictures"]:
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


def _all(file: BinaryIO, max_bytes: int) -> bytes:
    file.seek(0)
    data = bytearray()
    while len(data) <= max_bytes:
        more = file.read(max_bytes + 1 - len(data))
        if not more:
            return bytes(data)
        data += more
    raise _unreadable("it grew while it was read")


def _page(
    document: pypdfium2.PdfDocument, number: int, params: Mapping[str, Any]
) -> tuple[dict[str, Any], list[bytes]]:
    """One page: its facts, and its blobs in the order text, picture. A page that fails has only an empty text."""
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
        if params["pictures"]:
            picture, media_type, size = _picture(page, params["max_px"])
            blobs.append(picture)
            facts.update(media_type=media_type, shown_width=size[0], shown_height=size[1])
        return facts, blobs
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return {"page": number, "damaged": True}, [b""]
    finally:
        page.close()


def _text(page: pypdfium2.PdfPage) -> str:
    """The text layer in its own order, lines ending in a line feed, without blanks at the end."""
    layer = pdfium.FPDFText_LoadPage(page.raw)
    if not layer:
        return ""
    try:
        count = pdfium.FPDFText_CountChars(layer)
        if count <= 0:
            return ""
        # A character may come out as more than one unit: ask for the size first.
        units = 2 * count + 2
        buffer = (ctypes.c_ushort * units)()
        written = pdfium.FPDFText_GetText(layer, 0, count, buffer)
    finally:
        pdfium.FPDFText_ClosePage(layer)
    text = bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "replace")
    # pdfium takes the line break out behind a hyphen at the end of a line and leaves this mark.
    text = text.replace("\r\n", "\n").replace("\ufffe", "-\n").replace("\x02", "-\n").replace("\0", "")
    return text.rstrip()


def _picture(page: pypdfium2.PdfPage, max_px: int) -> tuple[bytes, str, tuple[int, int]]:
    width, height = page.get_size()
    longer = max(width, height)
    if not 0 < longer < float("inf"):
        raise ValueError("a page without size")
    scale = min(MAX_SCALE, max_px / longer)
    # Rounded up by pdfium: a hair less keeps the longer side within the limit.
    picture = page.render(scale=scale * (1 - 1e-6)).to_pil()
    if picture.mode not in ("L", "RGB"):
        picture = picture.convert("RGB")
    if picture.mode == "RGB":
        red, green, blue = picture.split()
        if not ImageChops.difference(red, green).getbbox() and not ImageChops.difference(green, blue).getbbox():
            picture = green
    out = io.BytesIO()
    if picture.mode == "L":
        picture.save(out, "PNG", compress_level=6)
        if out.tell() <= PNG_BYTES:
            return out.getvalue(), "image/png", picture.size
        out = io.BytesIO()
    picture.save(out, "JPEG", quality=80, subsampling=0)
    return out.getvalue(), "image/jpeg", picture.size


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind="pdf", reason=reason)
