"""The rows of this extra: office files, sheets, mail, web pages, tables, drawings and the layout of PDFs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eyespan import kinds
from eyespan.extras.documents.images.signature import is_drawing
from eyespan.kinds import Kind
from eyespan.signatures import ZIP_HEADER, Bytes, Signature, is_binary

DEPENDENCIES = {
    "duckdb": ("tables", "Parquet files"),
    "olefile": ("docs", "xls files"),
    "python_calamine": ("docs", "spreadsheets"),
    "resvg_py": ("svg", "SVG files as images"),
    "selectolax": ("docs", "HTML"),
}

_HERE = "eyespan.extras.documents"
_ODF = b"mimetypeapplication/vnd.oasis.opendocument."


def _in_zip(directory: bytes) -> Bytes:
    """Return the signature of a zip file of which one of the first members lies in a directory."""
    return Bytes(0, ZIP_HEADER, also=lambda first_bytes: _has_member(first_bytes, directory))


def _has_member(first_bytes: bytes, directory: bytes) -> bool:
    """Return True if the header of one of the first members has a name in this directory."""
    at = 0
    for _ in range(64):
        if not first_bytes.startswith(ZIP_HEADER, at):
            return False
        header = first_bytes[at : at + 30]
        name = at + 30
        if first_bytes.startswith(directory, name):
            return True
        size, name_size, extra_size = (
            int.from_bytes(header[start:end], "little") for start, end in ((18, 22), (26, 28), (28, 30))
        )
        # A member that was written as a stream has its size after its data. A stored member has it here, and its data
        # may be another zip file, with headers of its own.
        is_known = 0 < size < 0xFFFFFFFF
        at = name + name_size + extra_size + size if is_known else first_bytes.find(ZIP_HEADER, name)
        if at < 0:
            return False
    return False


_IN_XL = _in_zip(b"xl/")


def _is_sheet(first_bytes: bytes) -> bool:
    return first_bytes.startswith(_ODF + b"spreadsheet", 30) or _IN_XL(first_bytes)


def _text_kind(
    name: str, noun: str, decoder: str, suffixes: str = "", signature: Signature | None = None, **fields: Any
) -> Kind:
    """Return the row of a kind whose decoder returns its text."""
    found = {"suffixes": tuple(suffixes.split()), "signature": signature, **fields}
    return Kind(name, noun=noun, decoder=f"{_HERE}.{decoder}:decode", layout="text", **found)


def _packed(name: str, noun: str, decoder: str, suffixes: str, signature: Signature, **fields: Any) -> Kind:
    """Return the same for a kind whose files are zip packages."""
    return _text_kind(name, noun, decoder, suffixes, signature, container="zip", **fields)


def _table(name: str, noun: str, decoder: str, signature: Signature, parts: str = "table", **fields: Any) -> Kind:
    """Return the row of a kind whose decoder returns rows."""
    found: dict[str, Any] = {"signature": signature, "parts": parts, **fields}
    return Kind(name, f"{_HERE}.tables.reader", noun, decoder=f"{_HERE}.{decoder}:decode", **found)


_SELECTOLAX: dict[str, Any] = {"needs": "selectolax", "is_text": True}
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
    _packed("docx", "a text document", "office.docx", ".docx .docm .dotx", _in_zip(b"word/")),
    _packed("pptx", "a presentation", "office.pptx", ".pptx .pptm .ppsx", _in_zip(b"ppt/")),
    _packed(
        *("sheet", "a spreadsheet", "sheets.sheet", ".xlsx .xlsm .xlsb .xls .ods", _is_sheet),
        needs="python_calamine",
        parts="sheets",
    ),
    _packed(
        *("odf", "an OpenDocument file", "office.odf", ".odt .ott .odp .otp .odg .otg"),
        signature=Bytes(30, (_ODF + b"text", _ODF + b"presentation", _ODF + b"graphics")),
    ),
    _text_kind("rtf", "a rich text", "office.rtf", "", Bytes(0, b"{\\rtf1"), is_text=True),
    _packed("epub", "a book", "web.epub", ".epub", Bytes(30, b"mimetypeapplication/epub+zip"), needs="selectolax"),
    _text_kind("html", "a web page", "web.html", ".html .htm .xhtml", **_SELECTOLAX, shown_in=()),
    _text_kind("eml", "a mail", "mail.eml", ".eml", **_SELECTOLAX, shown_in=("native",)),
    _table("sqlite", "a database", "tables.sqlite", Bytes(0, b"SQLite format 3\0"), "tables"),
    _table("parquet", "a table", "tables.parquet", Bytes(0, b"PAR1", also=is_binary), needs="duckdb"),
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
