"""The rows of this extra: office files, sheets, mail, web pages, tables, drawings and the layout of PDFs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eyespan import kinds
from eyespan.extras.documents.images.signature import is_drawing
from eyespan.kinds import Kind
from eyespan.signatures import Bytes, in_zip, is_binary

DEPENDENCIES = {
    "duckdb": "tables",
    "olefile": "docs",
    "python_calamine": "docs",
    "resvg_py": "svg",
    "selectolax": "docs",
}

_HERE = "eyespan.extras.documents"
_ODF = b"mimetypeapplication/vnd.oasis.opendocument."
_IN_XL = in_zip(b"xl/")
_OLE = Bytes(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""The container of Office files from before 2007, of Outlook messages, and of others."""


def _is_sheet(first_bytes: bytes) -> bool:
    return first_bytes.startswith(_ODF + b"spreadsheet", 30) or _IN_XL(first_bytes)


def _is_arrow(first_bytes: bytes) -> bool:
    """Return True for an Arrow file, and for an Arrow stream, whose first message is the schema."""
    if first_bytes.startswith(b"ARROW1\0\0"):
        return True
    if first_bytes[:4] != b"\xff\xff\xff\xff" or len(first_bytes) < 16:
        return False
    size, root = (int.from_bytes(first_bytes[at : at + 4], "little") for at in (4, 8))
    return size % 8 == 0 and 0 < size < 1 << 24 and 8 <= root < 64 and root % 4 == 0


def _text_kind(name: str, noun: str, decoder: str, **fields: Any) -> Kind:
    """Return the row of a kind whose decoder returns its text."""
    return Kind(name, noun=noun, decoder=f"{_HERE}.{decoder}:decode", layout="text", **fields)


def _table(name: str, noun: str, decoder: str, **fields: Any) -> Kind:
    """Return the row of a kind whose decoder returns rows."""
    return Kind(name, f"{_HERE}.tables.reader", noun, decoder=f"{_HERE}.{decoder}:decode", **fields)


KINDS = (
    Kind(
        "drawing",
        f"{_HERE}.images.reader",
        "a drawing",
        signature=is_drawing,
        decoder=f"{_HERE}.images.drawing:decode",
        layout="drawing",
        is_text=True,
        shown_in=("native",),
    ),
    _text_kind(
        "docx",
        "a text document",
        "office.docx",
        signature=in_zip(b"word/"),
        suffixes=(".docx", ".docm", ".dotx"),
        container="zip",
    ),
    _text_kind(
        "pptx",
        "a presentation",
        "office.pptx",
        signature=in_zip(b"ppt/"),
        suffixes=(".pptx", ".pptm", ".ppsx"),
        container="zip",
    ),
    _text_kind(
        "sheet",
        "a spreadsheet",
        "sheets.sheet",
        signature=_is_sheet,
        suffixes=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        container="zip",
        needs="python_calamine",
        parts="sheets",
    ),
    _text_kind(
        "odf",
        "an OpenDocument file",
        "office.odf",
        signature=Bytes(30, (_ODF + b"text", _ODF + b"presentation", _ODF + b"graphics")),
        suffixes=(".odt", ".ott", ".odp", ".otp", ".odg", ".otg"),
        container="zip",
    ),
    _text_kind("rtf", "a rich text", "office.rtf", signature=Bytes(0, b"{\\rtf1"), is_text=True),
    _text_kind(
        "doc",
        "a Word document",
        "office.doc",
        signature=_OLE,
        suffixes=(".doc", ".dot"),
        needs_suffix=True,
        needs="olefile",
    ),
    _text_kind(
        "ppt",
        "a presentation",
        "office.ppt",
        signature=_OLE,
        suffixes=(".ppt", ".pps", ".pot"),
        needs_suffix=True,
        needs="olefile",
    ),
    _text_kind(
        "msg",
        "a message",
        "mail.msg",
        signature=_OLE,
        suffixes=(".msg", ".oft"),
        needs_suffix=True,
        needs="olefile",
    ),
    _text_kind(
        "epub",
        "a book",
        "web.epub",
        signature=Bytes(30, b"mimetypeapplication/epub+zip"),
        suffixes=(".epub",),
        container="zip",
        needs="selectolax",
    ),
    _text_kind(
        "html",
        "a web page",
        "web.html",
        suffixes=(".html", ".htm", ".xhtml"),
        needs="selectolax",
        is_text=True,
        shown_in=(),
    ),
    _text_kind(
        "mbox",
        "a mailbox",
        "mail.mbox",
        signature=Bytes(0, b"From "),
        suffixes=(".mbox", ".mbx"),
        needs_suffix=True,
        needs="selectolax",
        is_text=True,
        shown_in=(),
    ),
    _text_kind("eml", "a mail", "mail.eml", suffixes=(".eml",), needs="selectolax", is_text=True, shown_in=("native",)),
    _text_kind("plist", "a property list", "tables.plist", signature=Bytes(0, b"bplist0", also=is_binary)),
    _table(
        "sqlite",
        "a database",
        "tables.sqlite",
        signature=Bytes(0, b"SQLite format 3\0"),
        parts="tables",
        log_suffix="-wal",
    ),
    _table("npy", "an array", "tables.numpy_arrays", signature=Bytes(0, b"\x93NUMPY"), parts="table"),
    _table("arrow", "a table", "tables.arrow", signature=_is_arrow, parts="table"),
    _table(
        "parquet",
        "a table",
        "tables.parquet",
        signature=Bytes(0, b"PAR1", also=is_binary),
        needs="duckdb",
        parts="table",
    ),
    Kind(
        "csv",
        f"{_HERE}.tables.reader",
        "a table",
        suffixes=(".csv", ".tsv", ".tab"),
        is_text=True,
        shown_in=("native",),
        parts="table",
        source_bytes=2048,
        is_fallback=True,
    ),
    replace(kinds.PDF, decoder=f"{_HERE}.pdf.layout:decode"),
)
