"""Kinds of files, detected by their first bytes or, for kinds without a signature, by their names.

A row of `KINDS` holds everything about a kind. A new kind is one row and one reader module, imported on first use, and
one decoder module if its files are decoded in the worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eyespan import signatures
from eyespan.binary_types import binary_type
from eyespan.signatures import Bytes, Signature, archive, compression, container, in_zip, is_binary, may_begin

Layout = Literal["text", "notes", "image", "drawing", "pages", "cells"]
Parts = Literal["", "frames", "pages", "cells", "sheets", "tables", "table"]
Surface = Literal["native", "terminal", "claude"]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of file: its detection, its reader and decoder, and how it is shown."""

    name: str
    reader: str
    """The module whose `read(opened, selection, context)` returns the document."""
    noun: str = "a document"
    """The kind in messages, with its article."""
    signature: Signature | None = None
    """A function that returns True if the first bytes are of this kind."""
    suffixes: tuple[str, ...] = ()
    """Names that make a file of this kind when no signature is found in its bytes."""
    needs_suffix: bool = False
    """Files of other kinds have the signature too: a file needs the signature and one of the suffixes."""
    decoder: str = ""
    """The function that decodes it in the worker, as `module:function`."""
    needs: str = ""
    """The module that the decoder imports, if it does not come with Python."""
    extra: str = ""
    """The extra of this package that installs `needs`; "": a dependency of the package itself."""
    layout: Layout = "notes"
    """The form of what the reader returns: lines of text, notes, one image, an image beside its text, or pages or cells
    with images."""
    is_text: bool = False
    """Its bytes are readable text as well, so people may want to see them as they are."""
    shown_in: tuple[Surface, ...] = ("native", "terminal")
    """The surfaces that show it as a document unless they are asked for its source; elsewhere it is text or binary."""
    parts: Parts = ""
    """The parts that a selector can name: frames, pages, cells, sheets, tables of a database, or its only table."""
    source_bytes: int = 0
    """A file of at most this size is shown as its source, if it is text."""
    log_suffix: str = ""
    """The suffix of a file beside it that may hold its latest changes."""
    is_fallback: bool = False
    """A file is of this kind only if no other row claims it: many documents are zip archives, too."""
    container: str = ""
    """The format of `container` that its files have, for a document that is an archive or compressed. Rows of other
    formats are not compared with such files, because an archive begins with the bytes of its first member."""


_PDF = b"%PDF-"


def is_pdf(first_bytes: bytes) -> bool:
    """Return True if the signature of a PDF is near the start, where PDF readers search for it, and no other before."""
    return _PDF in first_bytes[:1024] and not container(first_bytes) and not binary_type(first_bytes)


def _is_pdf_file(first_bytes: bytes) -> bool:
    # A signature after other bytes counts only if they are not text: a text may mention it.
    if first_bytes.startswith((_PDF, b"\xef\xbb\xbf" + _PDF)):
        return True
    return is_pdf(first_bytes) and is_binary(first_bytes)


KINDS: tuple[Kind, ...] = (
    Kind(
        "image",
        "eyespan.readers.image",
        "an image",
        signature=signatures.is_image,
        decoder="eyespan.decoders.image:decode",
        needs="PIL",
        layout="image",
        parts="frames",
        shown_in=("native", "terminal", "claude"),
    ),
    Kind(
        "drawing",
        "eyespan.readers.drawing",
        "a drawing",
        signature=signatures.is_drawing,
        decoder="eyespan.decoders.drawing:decode",
        layout="drawing",
        is_text=True,
        shown_in=("native",),
    ),
    Kind(
        "notebook",
        "eyespan.readers.notebook",
        "a notebook",
        suffixes=(".ipynb",),
        decoder="eyespan.decoders.notebook:decode",
        layout="cells",
        parts="cells",
        shown_in=("native", "terminal", "claude"),
    ),
    Kind(
        "docx",
        "eyespan.readers.converted",
        "a text document",
        signature=in_zip(b"word/"),
        suffixes=(".docx", ".docm", ".dotx"),
        container="zip",
        decoder="eyespan.decoders.docx:decode",
        layout="text",
    ),
    Kind(
        "pptx",
        "eyespan.readers.converted",
        "a presentation",
        signature=in_zip(b"ppt/"),
        suffixes=(".pptx", ".pptm", ".ppsx"),
        container="zip",
        decoder="eyespan.decoders.pptx:decode",
        layout="text",
    ),
    Kind(
        "sheet",
        "eyespan.readers.converted",
        "a spreadsheet",
        signature=signatures.SHEET,
        suffixes=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        container="zip",
        decoder="eyespan.decoders.sheet:decode",
        needs="python_calamine",
        extra="docs",
        layout="text",
        parts="sheets",
    ),
    Kind(
        "odf",
        "eyespan.readers.converted",
        "an OpenDocument file",
        signature=signatures.ODF,
        suffixes=(".odt", ".ott", ".odp", ".otp", ".odg", ".otg"),
        container="zip",
        decoder="eyespan.decoders.odf:decode",
        layout="text",
    ),
    Kind(
        "rtf",
        "eyespan.readers.converted",
        "a rich text",
        signature=Bytes(0, b"{\\rtf1"),
        decoder="eyespan.decoders.rtf:decode",
        layout="text",
        is_text=True,
    ),
    Kind(
        "doc",
        "eyespan.readers.converted",
        "a Word document",
        suffixes=(".doc", ".dot"),
        signature=signatures.OLE,
        needs_suffix=True,
        decoder="eyespan.decoders.doc:decode",
        needs="olefile",
        extra="docs",
        layout="text",
    ),
    Kind(
        "ppt",
        "eyespan.readers.converted",
        "a presentation",
        suffixes=(".ppt", ".pps", ".pot"),
        signature=signatures.OLE,
        needs_suffix=True,
        decoder="eyespan.decoders.ppt:decode",
        needs="olefile",
        extra="docs",
        layout="text",
    ),
    Kind(
        "msg",
        "eyespan.readers.converted",
        "a message",
        suffixes=(".msg", ".oft"),
        signature=signatures.OLE,
        needs_suffix=True,
        decoder="eyespan.decoders.msg:decode",
        needs="olefile",
        extra="docs",
        layout="text",
    ),
    Kind(
        "epub",
        "eyespan.readers.converted",
        "a book",
        signature=Bytes(30, b"mimetypeapplication/epub+zip"),
        suffixes=(".epub",),
        container="zip",
        decoder="eyespan.decoders.epub:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
    ),
    Kind(
        "html",
        "eyespan.readers.converted",
        "a web page",
        suffixes=(".html", ".htm", ".xhtml"),
        decoder="eyespan.decoders.html:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "mbox",
        "eyespan.readers.converted",
        "a mailbox",
        suffixes=(".mbox", ".mbx"),
        signature=Bytes(0, b"From "),
        needs_suffix=True,
        decoder="eyespan.decoders.mbox:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "eml",
        "eyespan.readers.converted",
        "a mail",
        suffixes=(".eml",),
        decoder="eyespan.decoders.eml:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
        is_text=True,
        shown_in=("native",),
    ),
    Kind(
        "sqlite",
        "eyespan.readers.tables",
        "a database",
        signature=Bytes(0, b"SQLite format 3\0"),
        decoder="eyespan.decoders.sqlite:decode",
        parts="tables",
        log_suffix="-wal",
    ),
    Kind(
        "npy",
        "eyespan.readers.tables",
        "an array",
        signature=Bytes(0, b"\x93NUMPY"),
        decoder="eyespan.decoders.numpy_arrays:decode",
        parts="table",
    ),
    Kind(
        "avro",
        "eyespan.readers.tables",
        "a table",
        signature=Bytes(0, b"Obj\1"),
        decoder="eyespan.decoders.avro:decode",
        parts="table",
    ),
    Kind(
        "arrow",
        "eyespan.readers.tables",
        "a table",
        signature=signatures.is_arrow,
        decoder="eyespan.decoders.arrow:decode",
        parts="table",
    ),
    Kind(
        "plist",
        "eyespan.readers.converted",
        "a property list",
        signature=Bytes(0, b"bplist0", also=is_binary),
        decoder="eyespan.decoders.plist:decode",
        layout="text",
    ),
    Kind(
        "parquet",
        "eyespan.readers.tables",
        "a table",
        signature=Bytes(0, b"PAR1", also=is_binary),
        parts="table",
        decoder="eyespan.decoders.parquet:decode",
        needs="duckdb",
        extra="tables",
    ),
    Kind(  # after those whose files may hold one in their first bytes
        "pdf",
        "eyespan.readers.pdf",
        "a PDF",
        signature=_is_pdf_file,
        suffixes=(".pdf",),
        decoder="eyespan.decoders.pdf:decode",
        needs="pypdfium2",
        layout="pages",
        parts="pages",
        shown_in=("native", "terminal", "claude"),
    ),
    Kind(
        "archive",
        "eyespan.readers.archive",
        "an archive",
        signature=lambda first_bytes: archive(first_bytes) is not None,
        is_fallback=True,
    ),
    Kind(
        "compressed",
        "eyespan.readers.binary",
        "a compressed file",
        signature=lambda first_bytes: compression(first_bytes) is not None,
        is_fallback=True,
    ),
    Kind("data", "eyespan.readers.data", "a binary file", is_fallback=True),
    Kind(
        "csv",
        "eyespan.readers.tables",
        "a table",
        suffixes=(".csv", ".tsv", ".tab"),
        is_text=True,
        shown_in=("native",),
        parts="table",
        source_bytes=2048,
        is_fallback=True,
    ),
)
TEXT = Kind("text", "eyespan.readers.text", "a text", layout="text", is_text=True)
BINARY = Kind("binary", "eyespan.readers.binary", "a binary file")


def shown_in(surface: Surface) -> frozenset[str]:
    """Return the names of the kinds that a surface shows as documents."""
    return frozenset([kind.name for kind in KINDS if surface in kind.shown_in])


def sources() -> frozenset[str]:
    """Return the names of the kinds whose files are readable text as well: source or document, as the caller asks."""
    return frozenset([kind.name for kind in KINDS if kind.is_text])


def by_name(name: str) -> Kind:
    """Return the row of a kind. Raises: KeyError."""
    for kind in (*KINDS, TEXT, BINARY):
        if kind.name == name:
            return kind
    raise KeyError(name)


def detect(first_bytes: bytes, name: str) -> Kind | None:
    """Return the document kind of a file, or None if it is plain text, empty or unknown.

    Signatures decide before names, and ordinary kinds before fallbacks. A container is recognised before its contents:
    an archive or compressed file is compared only with the documents of its format.
    """
    if not first_bytes:
        return None
    held = container(first_bytes)
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    for is_fallback in (False, True):
        candidates, by_suffix = _candidates(KINDS, first_bytes[0], "" if is_fallback else held, is_fallback)
        for kind, signature in candidates:
            if signature(first_bytes) and (not kind.needs_suffix or suffix in kind.suffixes):
                return kind
        if suffix in by_suffix:
            return by_suffix[suffix]
    return None


@lru_cache(maxsize=1024)
def _candidates(
    kinds: tuple[Kind, ...], first_byte: int, held: str, is_fallback: bool
) -> tuple[list[tuple[Kind, Signature]], dict[str, Kind]]:
    """Return the rows whose signature a file may have that begins with this byte, and rows by suffixes.

    `held`: the format of the container, "" for none or any.
    """
    rows = [kind for kind in kinds if kind.is_fallback is is_fallback and held in ("", kind.container)]
    candidates = [(kind, kind.signature) for kind in rows if kind.signature and may_begin(kind.signature, first_byte)]
    return candidates, {suffix: kind for kind in rows if not kind.needs_suffix for suffix in kind.suffixes}


def is_document(first_bytes: bytes, name: str) -> bool:
    """Return True if a file is of a kind that `eyespan read` shows as a document."""
    kind = detect(first_bytes, name)
    return kind is not None and "terminal" in kind.shown_in
