"""Read PDFs page by page, as text and images, or whole for hosts whose models read PDFs themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import NoSymbol, Unreadable
from eyespan.escape import number_runs
from eyespan.kinds import is_pdf
from eyespan.model import MIB, BytesPart, Document, NotePart, Part, PdfOptions, Selection
from eyespan.readers.image import SHOWN_PX, image_part
from eyespan.selectors import write_symbol
from eyespan.signatures import container

if TYPE_CHECKING:
    from eyespan.opened import Opened


_OBJECT = re.compile(rb"(?:^|[\r\n])\d+ \d+ obj\b")
"""The start of an object: a PDF whose first line is damaged has it, too."""
_DOUBTS: dict[Any, str] = {
    "ocr": "a scan whose text was recognised by a program (OCR)",
    "unmapped": "whose text has characters of fonts without a map",
}
"""Why the text of a page may be wrong."""
MAX_REPLY_BYTES = 12 * MIB
"""The text and images of one answer: 16 MiB as base64, half of what a request to a model API may hold."""
MAX_PAGE_CHARS = 2_000_000
MAX_DOCUMENT_BYTES = 20 * MIB
MAX_DOCUMENT_PAGES = 100
"""The limits of model APIs for one document: 100 pages, and 32 MB for a request, a quarter of which is the overhead of
base64 and a part the rest of the conversation."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return pages as notes and images in turn, or the file as bytes. No parts: the selected pages are beyond the end.

    Facts: `total_pages`, `pages_returned`, `truncated`, `pages` (one dict for each); if selected pages are missing,
    `left_out` (first, last), and `stopped` ("bytes" or "seconds") if a limit was the reason; `has_contents` if the
    first part has bookmarks and attachments, and `left_out_contents` if not all of them.

    Raises: Unreadable, TimedOut, Cancelled.
    """
    options = opened.request.options.pdf
    first_bytes = opened.source.first_bytes
    is_damaged = _OBJECT.search(first_bytes) is not None and not container(first_bytes) and not options.is_whole
    if not is_pdf(first_bytes) and not is_damaged:
        raise _unreadable(opened.source.asked, "not a PDF, despite its name")
    if options.is_outline:
        return _outline_document(opened, context)
    return _whole_document(opened, context) if options.is_whole else _page_document(opened, options, context)


def _outline_document(opened: Opened, context: CallContext) -> Document:
    params = {"first": 1, "last": None, "max_pages": 0, "images": False, "layout": True, "outline": True}
    facts, _ = opened.decode(params, context)
    total = _page_number(facts.get("total_pages"), opened.source.asked)
    lines = _entries(facts.get("outline"))
    parts = (NotePart("\n".join(lines)),) if lines else ()
    return opened.document(parts, {"total_pages": total, "unread": _unread(facts)})


def _whole_document(opened: Opened, context: CallContext) -> Document:
    source = opened.source
    advice = 'request some of its pages with the argument pages, as in "1-5"'
    if source.size_bytes > MAX_DOCUMENT_BYTES:
        size, limit = f"{source.size_bytes / MIB:.1f} MiB", f"{MAX_DOCUMENT_BYTES // MIB} MiB"
        raise _unreadable(source.asked, f"{size} exceed the limit of {limit} for whole documents; {advice}")
    facts, blobs = opened.decode({"whole": True, "max_bytes": MAX_DOCUMENT_BYTES}, context)
    total = _page_number(facts.get("total_pages"), source.asked)
    if total > MAX_DOCUMENT_PAGES:
        limit = f"the limit of {MAX_DOCUMENT_PAGES} for whole documents"
        raise _unreadable(source.asked, f"{total} pages exceed {limit}; {advice}")
    if len(blobs) != 1 or not is_pdf(blobs[0]):
        raise _invalid_response(source.asked)
    part = BytesPart(blobs[0], truncated=False, media_type="application/pdf")
    return opened.document((part,), {"total_pages": total, "size_bytes": len(blobs[0])})


def _page_document(opened: Opened, options: PdfOptions, context: CallContext) -> Document:
    source = opened.source
    params = {
        "first": options.first,
        "last": options.last,
        "max_pages": options.max_pages,
        "images": options.has_images,
        "max_px": options.max_px or SHOWN_PX,
        "max_bytes": MAX_REPLY_BYTES,
        "max_text_chars": MAX_PAGE_CHARS,
        "layout": options.has_layout,
        "textless": options.textless_images,
        "section": options.section,
    }
    facts, blobs = opened.decode(params, context)
    if options.section:
        if "section" not in facts:
            raise _no_section(opened, options.section, facts)
        _, first, last = facts["section"]
        options = replace(options, first=first, last=last)
    total = _page_number(facts.get("total_pages"), source.asked)
    pages = facts.get("pages")
    if not isinstance(pages, list) or sum(map(len, blobs)) > 2 * MAX_REPLY_BYTES:
        raise _invalid_response(source.asked)
    parts: list[Part] = []
    remaining = list(blobs)
    for page in pages:
        parts += _page_parts(page, remaining, total, source.asked, has_heading=options.has_layout)
    contents = _contents(facts)
    if contents and parts:
        parts.insert(0, NotePart(contents, "Before the first page:"))
    if pages and all(page.get("damaged") for page in pages):
        raise _unreadable(source.asked, "its pages are damaged and cannot be decoded")
    last_shown = options.first + len(pages) - 1
    last_wanted = min(total, options.last or total)
    extra: dict[str, Any] = {
        "total_pages": total,
        "pages_returned": [page["page"] for page in pages],
        "truncated": last_shown < last_wanted,
        "size_bytes": source.size_bytes,
        "pages": pages,
    }
    if contents:
        extra["has_contents"] = True
        left_out = [
            f"{total - len(facts.get(name, ()))} {name}"
            for name in ("bookmarks", "attachments")
            if (total := facts.get(f"total_{name}", 0)) > len(facts.get(name, ()))
        ]
        if left_out:
            extra["left_out_contents"] = "; ".join(left_out)
    if options.section:
        extra["section"] = facts["section"]
    if pages and last_shown < last_wanted:
        extra["left_out"] = [last_shown + 1, last_wanted]
        if facts.get("stopped") in ("bytes", "seconds"):
            extra["stopped"] = facts["stopped"]
    return opened.document(tuple(parts), extra)


def _page_parts(page: dict[str, Any], blobs: list[bytes], total: int, asked: str, *, has_heading: bool) -> list[Part]:
    """Return the text of a page and its image, if it has one. Removes them from the front of `blobs`.

    With `has_heading`, the number of the page is the heading of its text, else the first line of it.
    """
    if not isinstance(page, dict) or not blobs:
        raise _invalid_response(asked)
    text = blobs.pop(0).decode("utf-8", "replace")
    number = _page_number(page.get("page"), asked)
    heading = f"Page {number} of {total}"
    if page.get("label") not in (None, "", str(number)):
        heading += f", labelled {page['label']}"
    if page.get("damaged"):
        damaged = f"{heading}: damaged, cannot be shown."
        return [NotePart("", damaged) if has_heading else NotePart(damaged)]
    page["has_text"] = bool(text)
    if "text_chars" in page:
        text += f"\n... [text of the page cut, {page['text_chars']} chars total]"
    media_type = page.get("media_type")
    note = NotePart(f"{heading}:\n\n{text}") if text else NotePart(_textless(heading, page))
    if has_heading:
        is_garbage = page.get("unreadable") == "garbage"
        if doubt := _DOUBTS.get(page.get("unreadable")):
            heading += f", {doubt} and may be wrong{', see this image' if media_type else ''}"
        note = NotePart(text, _textless(heading, page) if is_garbage or not text else f"{heading}:")
    if media_type is None:
        return [note]
    image = image_part(blobs, media_type, asked, "pdf")
    del blobs[0]
    return [note, image]


def _textless(heading: str, page: dict[str, Any]) -> str:
    """Return the line for a page whose text cannot be shown."""
    if page.get("unreadable") == "garbage":
        see = "see this image" if page.get("media_type") else "only its image shows it"
        return f"{heading}: its text layer is unreadable, {see}."
    return f"{heading}: no text layer{', only this image' if page.get('media_type') else ''}."


def _contents(facts: dict[str, Any]) -> str:
    """Return what does not belong to one page, such as bookmarks and attachments, one a line; "" for nothing."""
    attachments = [
        f"- {name}{f' ({size} bytes)' if size >= 0 else ''}" for name, size in facts.get("attachments") or []
    ]
    signed = [f"- {count}"] if (count := facts.get("total_signatures")) else []
    running = [f"- {text} (p{number_runs(pages)})" for text, pages in facts.get("running") or []]
    lists = (
        ("Bookmarks", _entries(facts.get("bookmarks")), facts.get("total_bookmarks", 0)),
        ("Attachments", attachments, facts.get("total_attachments", 0)),
        ("Running headers and footers, shown here alone", running, len(running)),
        ("Digital signatures, not verified", signed, 0),
    )
    blocks = []
    for title, lines, total in lists:
        more = [f"- ... {total - len(lines)} more"] if total > len(lines) else []
        if lines or more:
            blocks.append("\n".join([f"{title}:", *lines, *more]))
    return "\n\n".join(blocks)


def _entries(entries: list[tuple[int, str, int]] | None) -> list[str]:
    """Return bookmarks or headings as a nested list, with their pages."""
    return [f"{'  ' * level}- {title}{f' (p{page})' if page else ''}" for level, title, page in entries or ()]


def _no_section(opened: Opened, name: str, facts: dict[str, Any]) -> NoSymbol:
    from eyespan.suggest import nearest

    titles = [title for title in facts.get("sections") or [] if isinstance(title, str)]
    path = opened.request.path
    near = [path + write_symbol(title) for title in nearest(name, titles)]
    return NoSymbol(path, symbol=name, suggestions=near, doubt="".join(_unread(facts)))


def _unread(facts: dict[str, Any]) -> list[str]:
    """Return a note about pages that were not looked at for headings, because the time was over."""
    read, total = facts.get("outline_pages"), facts.get("total_pages")
    return [f"pages after {read} were not read in time"] if isinstance(read, int) and read != total else []


def _page_number(value: Any, asked: str) -> int:
    if type(value) is not int or value < 0:
        raise _invalid_response(asked)
    return value


def _invalid_response(asked: str) -> Unreadable:
    return _unreadable(asked, "the decoder returned an invalid response")


def _unreadable(asked: str, reason: str) -> Unreadable:
    return Unreadable(asked, kind="pdf", reason=reason)
