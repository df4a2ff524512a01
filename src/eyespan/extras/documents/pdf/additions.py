"""What a PDF holds beside its text: form values, links, annotations, bookmarks, labels of pages, attached files.

Strings are whole. Limits apply to the entries of a page, to the text of a page, and to lists about the whole file; what
exceeds them is counted. A file that is damaged in one of these parts loses that part.
"""

from __future__ import annotations

import ctypes
import operator
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

MAX_ENTRIES = 10_000
"""The fields, links and annotations of a page that are read, and the options of a list; each takes some 0.1 ms."""
SIZES_SECONDS = 1.0
MAX_LISTED = 60
"""The bookmarks and attachments that are listed before the first page; the others are counted."""
MAX_BOOKMARKS = 20_000
MAX_DEPTH = 64
MAX_TITLE_CHARS = 200
MAX_QUOTE_CHARS = 120
"""The text of the page that an annotation repeats."""
QUOTES_SECONDS = 2.0
"""The time for these texts of one page: pdfium searches the whole page for each."""
MAX_STRING_BYTES = 8 * 1024 * 1024
"""A longer string exceeds the text of a page. pdfium copies all of a string or nothing."""
_MARKS = {
    pdfium.FPDF_ANNOT_HIGHLIGHT: "highlight",
    pdfium.FPDF_ANNOT_UNDERLINE: "underline",
    pdfium.FPDF_ANNOT_SQUIGGLY: "squiggly underline",
    pdfium.FPDF_ANNOT_STRIKEOUT: "strikeout",
}
_SUBTYPES = _MARKS | {
    pdfium.FPDF_ANNOT_TEXT: "note",
    pdfium.FPDF_ANNOT_LINK: "link",
    pdfium.FPDF_ANNOT_FREETEXT: "text box",
    pdfium.FPDF_ANNOT_STAMP: "stamp",
    pdfium.FPDF_ANNOT_CARET: "insertion",
    pdfium.FPDF_ANNOT_FILEATTACHMENT: "attached file",
    pdfium.FPDF_ANNOT_POPUP: "popup",
}
_BUTTONS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)


def page_additions(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, layer: pypdfium2.PdfTextPage) -> list[str]:
    """Return the lines about the fields, links and annotations of a page. `layer` is its text."""
    found: dict[str, list[str]] = {"Form fields": [], "Links": [], "Annotations": []}
    quotes = _Quotes(layer)
    for annotation in _annotations(page):
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        if subtype != pdfium.FPDF_ANNOT_WIDGET:
            found["Links"].append(_link(document, annotation, quotes))
            found["Annotations"].append(_note(annotation, subtype, quotes))
        elif document.formenv:
            found["Form fields"].append(_field(document.formenv, annotation))
    lines: list[str] = []
    for title, entries in found.items():
        counted = entries if title == "Links" else dict.fromkeys(entries)  # a field has several places on a page
        if shown := [f"- {entry}" for entry in counted if entry]:
            lines += ["", f"{title}:", *shown]
    total = pdfium.FPDFPage_GetAnnotCount(page)
    if total > MAX_ENTRIES:
        read = f"the first {MAX_ENTRIES} of {total} fields, links and annotations of this page are read"
        lines += ["", f"... {read}, {total - MAX_ENTRIES} are left out"]
    if quotes.left_out:
        lines += ["", f"... the texts under {quotes.left_out} links and annotations are left out: they take too long"]
    return lines


def _annotations(page: pypdfium2.PdfPage) -> Iterator[Any]:
    for index in range(min(MAX_ENTRIES, pdfium.FPDFPage_GetAnnotCount(page))):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        yield annotation
        pdfium.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (-1, pdfium.FPDF_FORMFIELD_PUSHBUTTON):
        return ""
    name = _string(partial(pdfium.FPDFAnnot_GetFormFieldName, form, annotation))
    label = _string(partial(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation))
    value = _string(partial(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation))
    if kind in _BUTTONS:
        export = _string(partial(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation))
        is_checked = pdfium.FPDFAnnot_IsChecked(form, annotation)
        value = f"[x] {export or value}" if is_checked else f"[ ] {export}".rstrip()
    elif kind in _CHOICES:
        value = ", ".join(dict.fromkeys(filter(None, [*_chosen(form, annotation), value])))
    title = f"{name} ({label})" if label and label != name else name or label
    if kind == pdfium.FPDF_FORMFIELD_SIGNATURE:
        return f"{title}: (field of a signature)"  # pdfium gives no value, whether it is signed or not
    return f"{title}: {value}" if value else f"{title}: (empty)"


def _chosen(form: Any, annotation: Any) -> list[str]:
    """Return the labels of the chosen options of a list."""
    count = min(MAX_ENTRIES, pdfium.FPDFAnnot_GetOptionCount(form, annotation))
    chosen = [at for at in range(count) if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, at)]
    return [_string(partial(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, at)) for at in chosen]


def _link(document: pypdfium2.PdfDocument, annotation: Any, quotes: _Quotes) -> str:
    link = pdfium.FPDFAnnot_GetLink(annotation)
    action = pdfium.FPDFLink_GetAction(link) if link else None
    if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return ""
    address = _string(partial(pdfium.FPDFAction_GetURIPath, document, action), "utf-8")
    label = quotes.text_under(annotation)
    if address in ("", label):  # it stands in the text
        return ""
    return f"{label}: {address}" if label else address


def _note(annotation: Any, subtype: int, quotes: _Quotes) -> str:
    contents = _string(partial(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents"))
    if subtype == pdfium.FPDF_ANNOT_FILEATTACHMENT:
        name = _attached_name(pdfium.FPDFAnnot_GetFileAttachment(annotation))
        contents = name if contents in ("", name) else f"{name} {contents}"
    if not contents:
        return ""
    head = _SUBTYPES.get(subtype, "drawing")
    if subtype in _MARKS and (marked := quotes.text_under(annotation)):
        head += f' on "{marked}"'
    if author := _string(partial(pdfium.FPDFAnnot_GetStringValue, annotation, b"T")):
        head += f" by {author}"
    return f"{head}: {contents}"


def _attached_name(attachment: Any) -> str:
    return _string(partial(pdfium.FPDFAttachment_GetName, attachment)) or "unnamed"


class _Quotes:
    """The text of a page that its annotations cover."""

    def __init__(self, layer: pypdfium2.PdfTextPage) -> None:
        self._layer = layer
        self._end = time.monotonic() + QUOTES_SECONDS
        self.left_out = 0
        """The annotations whose text was not read in time."""

    def text_under(self, annotation: Any) -> str:
        """Return the text that an annotation covers, or the start of it."""
        box = pdfium.FS_RECTF()
        if not pdfium.FPDFAnnot_GetRect(annotation, box):
            return ""
        if time.monotonic() >= self._end:
            self.left_out += 1
            return ""
        text = self._layer.get_text_bounded(box.left, box.bottom, box.right, box.top, "replace")
        return shortened(_one_line(text), MAX_QUOTE_CHARS)


# --- the whole file --------------------------------------------------------------------------------------------------


def bookmarks(document: pypdfium2.PdfDocument) -> list[tuple[int, str, int]]:
    """Return level, title and page of each bookmark, in order; the page is 0 if it has none.

    The last entry states it if not all of them were read: there are more than `MAX_BOOKMARKS`, or they are damaged.
    """
    entries = []
    try:
        found = document.get_toc(max_depth=MAX_DEPTH)
        for entry in islice(found, MAX_BOOKMARKS):
            page = target.get_index() if (target := entry.get_dest()) else None
            if title := _one_line(entry.get_title()):
                entries.append((entry.level, title, page + 1 if page is not None and 0 <= page < len(document) else 0))
        if next(found, None) is not None:
            entries.append((0, f"(bookmarks after the first {MAX_BOOKMARKS} are not read)", 0))
    except (pypdfium2.PdfiumError, ValueError, RecursionError):
        entries.append((0, "(the list of bookmarks is damaged; others may follow)", 0))
    return entries


def section_pages(entries: list[tuple[int, str, int]], name: str, total: int) -> tuple[str, int, int] | None:
    """Return the title and the pages of a section: from its bookmark to the page of the next one of its level or above.

    The exact title counts first, then one without regard to case, then one that contains the name.
    """
    entries = [entry for entry in entries if entry[2]]
    wanted = _one_line(name)
    for fold, is_found in ((str, operator.eq), (str.casefold, operator.eq), (str.casefold, operator.contains)):
        for at, (level, title, first) in enumerate(entries):
            if is_found(fold(title), fold(wanted)):
                later = [page for other, _, page in entries[at + 1 :] if other <= level]
                return title, first, max(first, later[0] if later else total)
    return None


def label(document: pypdfium2.PdfDocument, index: int) -> str:
    """Return the label of a page, counted from 0, as it is printed on it; "" if there is none."""
    return shortened(_string(partial(pdfium.FPDF_GetPageLabel, document, index)), 40)


def lists(document: pypdfium2.PdfDocument) -> dict[str, Any]:
    """Return the first bookmarks and attachments of a file, the number of each, and that of digital signatures.

    Attachments have a name and the size in bytes; -1 if it is not known. pdfium decompresses a file to find its size,
    so the sizes are left out after `SIZES_SECONDS`.
    """
    entries = bookmarks(document)
    files = []
    end = time.process_time() + SIZES_SECONDS
    total = max(0, pdfium.FPDFDoc_GetAttachmentCount(document))
    for index in range(min(MAX_LISTED, total)):
        attachment = pdfium.FPDFDoc_GetAttachment(document, index)
        size = ctypes.c_ulong()
        is_known = time.process_time() < end and pdfium.FPDFAttachment_GetFile(attachment, None, 0, size)
        files.append((_attached_name(attachment), size.value if is_known else -1))
    return {
        "bookmarks": [(level, shortened(title, MAX_TITLE_CHARS), page) for level, title, page in entries[:MAX_LISTED]],
        "attachments": files,
        "total_bookmarks": len(entries),
        "total_attachments": total,
        "total_signatures": max(0, pdfium.FPDF_GetSignatureCount(document)),
    }


# --- strings ---------------------------------------------------------------------------------------------------------


def _string(call: Callable[[Any, int], int], encoding: str = "utf-16-le") -> str:
    """Return a string that pdfium writes into a buffer, as one line."""
    size, end = call(None, 0), len("\0".encode(encoding))
    if size <= end:
        return ""
    if size > MAX_STRING_BYTES:
        return f"({size // end - 1} characters, too long to be shown)"
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    call(buffer, size)
    return _one_line(bytes(buffer)[: size - end].decode(encoding, "replace"))


def _one_line(text: str) -> str:
    return " ".join("".join([c if c.isprintable() else " " for c in text]).split())


def shortened(text: str, max_chars: int) -> str:
    """Return the start of a text that is too long, with its length."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}... ({len(text)} characters)"
