"""A document in windows: pages of a PDF, rows of tables, cells of a notebook, each with the piece that reads it again.

A reader shows a part of a large document and offers the rest. In bulk, the windows of a document follow each other to
its end, and each states what of it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyespan.dialects.pieces import PdfPage, pages_of
from eyespan.escape import plural
from eyespan.model import Document, DocumentOptions, NotebookOptions, PdfOptions, TableOptions
from eyespan.opened import Opened
from eyespan.selectors import Cells, Named, Pages, Piece, Target, readings, write_target

MAX_PAGES = 10_000
MAX_ROWS = 10_000
"""The pages and rows that are read at once."""


@dataclass(frozen=True, slots=True)
class DocumentWindow:
    """A part of a document."""

    piece: Piece | None
    """Selects this part; None: the whole document, or what a PDF has before its first page."""
    document: Document
    left_out: str = ""
    """What belongs to this part and is not in the document."""


def windows(opened: Opened) -> Iterator[DocumentWindow]:
    """Yield the parts of a document, to its end. The deadline starts again after each.

    Raises: ReadError.
    """
    match opened.kind.parts:
        case "pages":
            found = _page_windows(opened)
        case "table":
            found = _row_windows(opened, "")
        case "tables":
            found = _table_windows(opened)
        case "cells":
            found = _cell_windows(opened)
        case _:
            document = opened.read()
            found = iter([DocumentWindow(None, document, _left_out(document.extra, document.kind))])
    for window in found:
        yield window
        opened.context.renew()  # the caller has taken what it needs


def _page_windows(opened: Opened) -> Iterator[DocumentWindow]:
    first: int | None = 1
    while first is not None:
        options = PdfOptions(first=first, max_pages=MAX_PAGES, has_images=False, has_layout=True)
        document = opened.read(options=DocumentOptions(pdf=options))
        contents, pages = pages_of(document)
        if contents is not None:
            more = document.extra.get("left_out_contents", "")
            yield DocumentWindow(None, replace(document, parts=(contents,)), more)
        for page, facts in zip(pages, document.extra["pages"], strict=True):
            left_out = _left_out_of_page(page, facts)
            yield DocumentWindow(Pages(page.number, page.number), replace(document, parts=(page.note,)), left_out)
        first = document.extra["left_out"][0] if pages and "left_out" in document.extra else None


def _left_out_of_page(page: PdfPage, facts: Mapping[str, Any]) -> str:
    if facts.get("damaged"):
        return "a damaged page"
    if "text_chars" in facts:
        return f"text of the page, which has {facts['text_chars']} characters"
    return "" if page.note.text else "the image of a page without a text layer"


def _table_windows(opened: Opened) -> Iterator[DocumentWindow]:
    overview = opened.read(options=DocumentOptions(table=TableOptions(count=0)))
    tables = overview.extra["tables"]
    more = overview.extra["total_tables"] - len(tables)
    if not tables:
        yield DocumentWindow(None, overview)
    for number, table in enumerate(tables):
        for window in _row_windows(opened, table["name"]):
            is_first = number == 0 and more > 0
            yield replace(window, left_out=_listed(window.left_out, plural(more, "table"))) if is_first else window


def _row_windows(opened: Opened, table: str) -> Iterator[DocumentWindow]:
    """Yield all rows of a table, "" for the only one; at least one window, which may have none."""
    first = 1
    while True:
        options = TableOptions(table or None, first, MAX_ROWS)
        document = opened.read(options=DocumentOptions(table=options))
        facts = document.extra["tables"][0] if table else document.extra
        shown, total = facts.get("rows_returned"), facts.get("total_rows")
        last = shown[1] if shown else first - 1
        is_short = not shown and total is not None and first <= total
        left_out = _left_out(facts, document.kind)
        if is_short or "problem" in facts:
            reason = f": {facts['problem']}" if "problem" in facts else ""
            left_out = _listed(left_out, f"rows from {last + 1} on{reason}")
        if shown or first == 1 or left_out:
            name = f"{table} rows {first}-{last}".strip() if shown else table
            yield DocumentWindow(Named(name) if name else None, document, left_out)
        if not shown or "problem" in facts or (total is not None and last >= total):
            return
        first = last + 1


def _cell_windows(opened: Opened) -> Iterator[DocumentWindow]:
    options = NotebookOptions(has_long_outputs=True, has_selectors=True)
    document = opened.read(options=DocumentOptions(notebook=options))
    cells = document.extra["total_cells"]
    left_out = "outputs or images, which the text names" if document.extra["truncated"] else ""
    yield DocumentWindow(Cells(1, cells) if cells else None, document, left_out)


def _left_out(facts: Mapping[str, Any], kind: str) -> str:
    """Return what the facts of a document, or of a table in it, report as missing."""
    found = []
    if facts.get("cut_cells"):
        found.append(f"ends of {plural(facts['cut_cells'], 'cell')}")
    if facts.get("left_out_columns"):
        found.append(plural(facts["left_out_columns"], "column"))
    if facts.get("animated") and not facts.get("unchanged"):
        found.append(f"frames 2-{facts['frames']}")
    if facts.get("attachments"):
        found.append(plural(facts["attachments"], "attachment"))
    if kind == "archive":
        unlisted = facts["total_members"] - len(facts["members"])
        if unlisted:
            found.append(f"{plural(unlisted, 'member')}")
        if "complaint" in facts:
            found.append(f"what cannot be listed: {facts['complaint']}")
    if kind == "data":
        found.append("the contents: this is a description")
    return _listed(*found)


def _listed(*found: str) -> str:
    return "; ".join([one for one in found if one])


def selector_of(path: str, piece: Piece | None) -> str:
    """Return the selector of a part; the path alone for a part that no selector names, such as a table "a:b"."""
    target = Target(path, piece)
    written = write_target(target)
    return written if piece is not None and target in readings(written) else path
