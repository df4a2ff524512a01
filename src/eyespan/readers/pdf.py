"""PDFs: page by page, text and picture, or the whole file for hosts whose model reads PDFs itself.

Options: `pdf` ("pages" or "document"), `pages` ((first, last); absent: from the first), `max_pages`, `pictures` (False:
text alone), `max_px` (longer side of a page's picture).
"""

from __future__ import annotations

from eyespan.errors import Unreadable
from eyespan.kinds import is_pdf
from eyespan.model import MIB, BytesPart, NotePart
from eyespan.readers.image import SHOWN_PX, checked_image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.model import Document, Part, PdfOptions, Selection
    from eyespan.opened import Opened

MAX_REPLY_BYTES = 12 * MIB
"""Of text and pictures in one answer: 16 MiB as base64, half of what a request to a model API may hold."""
MAX_PAGE_CHARS = 200_000
MAX_DOCUMENT_BYTES = 20 * MIB
MAX_DOCUMENT_PAGES = 100
"""What model APIs take as one document: 100 pages, and 32 MB a request, of which base64 takes a quarter and the rest
of the conversation its share."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Pages as notes and pictures in turn, or the file as bytes. No parts: the pages asked for lie beyond the end.

    Facts: `total_pages`, `pages_returned`, `truncated`, `pages` (one dict a page), and, when pages that were asked for
    are not among them, `left_out` (first, last) and perhaps `stopped` ("bytes", "seconds"), why.

    Raises: Unreadable, TimedOut, Cancelled.
    """
    options = opened.request.options.pdf
    if not is_pdf(opened.source.first_bytes):
        raise Unreadable(opened.source.asked, kind="pdf", reason="not a PDF, despite its name")
    return _document(opened, context) if options.is_whole else _pages(opened, options, context)


def _document(opened: Opened, context: CallContext) -> Document:
    source = opened.source
    advice = 'ask for some of its pages with the argument pages, as in "1-5"'
    if source.size_bytes > MAX_DOCUMENT_BYTES:
        reason = (
            f"it has {source.size_bytes / MIB:.1f} MiB, more than the {MAX_DOCUMENT_BYTES // MIB} MiB that can be "
            f"handed on whole; {advice}"
        )
        raise Unreadable(source.asked, kind="pdf", reason=reason)
    params = {"whole": True, "max_bytes": MAX_DOCUMENT_BYTES}
    facts, blobs = opened.decode(params, context)
    total = _whole_number(facts.get("total_pages"), source.asked)
    if total > MAX_DOCUMENT_PAGES:
        reason = f"it has {total} pages, more than the {MAX_DOCUMENT_PAGES} that can be handed on whole; {advice}"
        raise Unreadable(source.asked, kind="pdf", reason=reason)
    if len(blobs) != 1 or not is_pdf(blobs[0]):
        raise _senseless(source.asked)
    extra = {"total_pages": total, "size_bytes": len(blobs[0])}
    return opened.document((BytesPart(blobs[0], False, "application/pdf"),), extra)


def _pages(opened: Opened, options: PdfOptions, context: CallContext) -> Document:
    source = opened.source
    first, last = options.first, options.last
    params = {
        "first": first,
        "last": last,
        "max_pages": options.max_pages,
        "pictures": options.has_images,
        "max_px": options.max_px or SHOWN_PX,
        "max_bytes": MAX_REPLY_BYTES,
        "max_text_chars": MAX_PAGE_CHARS,
    }
    facts, blobs = opened.decode(params, context)
    total = _whole_number(facts.get("total_pages"), source.asked)
    pages = facts.get("pages")
    if not isinstance(pages, list) or sum(map(len, blobs)) > 2 * MAX_REPLY_BYTES:
        raise _senseless(source.asked)
    parts: list[Part] = []
    left = list(blobs)
    for page in pages:
        parts += _page(page, left, total, source.asked)
    if pages and all(page.get("damaged") for page in pages):
        raise Unreadable(source.asked, kind="pdf", reason="its pages are damaged and cannot be decoded")
    shown_last = first + len(pages) - 1
    wanted_last = min(total, last or total)
    extra: dict[str, Any] = {
        "total_pages": total,
        "pages_returned": [page["page"] for page in pages],
        "truncated": shown_last < wanted_last,
        "size_bytes": source.size_bytes,
        "pages": pages,
    }
    if pages and shown_last < wanted_last:
        extra["left_out"] = [shown_last + 1, wanted_last]
        if facts.get("stopped") in ("bytes", "seconds"):
            extra["stopped"] = facts["stopped"]
    return opened.document(tuple(parts), extra)


def _page(page: dict[str, Any], blobs: list[bytes], total: int, asked: str) -> list[Part]:
    """A page's text and, if there is one, its picture; takes them off the front of `blobs`."""
    if not isinstance(page, dict) or not blobs:
        raise _senseless(asked)
    text = blobs.pop(0).decode("utf-8", "replace")
    heading = f"Page {_whole_number(page.get('page'), asked)} of {total}"
    if page.get("damaged"):
        return [NotePart(f"{heading}: it is damaged and cannot be shown.")]
    page["has_text"] = bool(text)
    if "text_chars" in page:
        text += f"\n... [text of the page cut, {page['text_chars']} chars total]"
    picture = page.get("media_type")
    if not text:
        text = f"{heading}: no text layer{', only this picture' if picture else ''}."
    else:
        text = f"{heading}:\n\n{text}"
    if picture is None:
        return [NotePart(text)]
    part = checked_image(blobs, picture, asked, "pdf")
    del blobs[0]
    return [NotePart(text), part]


def _whole_number(value: Any, asked: str) -> int:
    if type(value) is not int or value < 0:
        raise _senseless(asked)
    return value


def _senseless(asked: str) -> Unreadable:
    return Unreadable(asked, kind="pdf", reason="the decoder returned an invalid response")
