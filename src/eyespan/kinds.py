"""Kinds of files, detected by their first bytes or, for kinds without a signature, by their names.

A row holds everything about a kind. A new kind is one row and one reader module, imported on first use, and one decoder
module if its files are decoded in the worker. The rows of the core stand here, those of the extras in their
`plugin.py`; installed distributions add others through the entry point `eyespan.kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from eyespan import plugins, signatures
from eyespan.binary_types import binary_type
from eyespan.signatures import Signature, container, is_binary

Layout = Literal["text", "notes", "image", "drawing", "pages", "cells"]
Parts = Literal["", "frames", "pages", "cells", "sheets", "tables", "table"]
Surface = Literal["native", "terminal", "claude"]
SOURCES = "sources"
"""In the documents of a request: the kinds whose files are readable text as well."""
BINARIES = "binaries"
"""In the refused kinds of a request: those whose files are never text, which their first bytes show."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of file: its detection, its reader and decoder, and how it is shown."""

    name: str
    reader: str = "eyespan.readers.converted"
    """The module whose `read(opened, selection, context)` returns the document. The default is for a decoder that
    returns text."""
    noun: str = "a document"
    """The kind in messages, with its article."""
    signature: Signature | None = None
    """A function that returns True if the first bytes are of this kind."""
    suffixes: tuple[str, ...] = ()
    """Names that make a file of this kind when no signature is found in its bytes; a text only if the kind has none."""
    decoder: str = ""
    """The function that decodes it in the worker, as `module:function`."""
    needs: str = ""
    """The module that the decoder imports, if it does not come with Python."""
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
    is_fallback: bool = False
    """A file is of this kind only if no other row claims it: many documents are zip archives, too."""
    container: str = ""
    """The format of `container` that its files have, for a document that is an archive or compressed. Rows of other
    formats are not compared with such files, because an archive begins with the bytes of its first member."""

    def is_one_of(self, documents: frozenset[str]) -> bool:
        """Return True if a request asks for it: by its name, by a surface that shows it, or as a source."""
        is_shown = self.name in documents or not documents.isdisjoint(self.shown_in)
        return is_shown or (self.is_text and SOURCES in documents)


_PDF = b"%PDF-"


def is_pdf(first_bytes: bytes) -> bool:
    """Return True if the signature of a PDF is near the start, where PDF readers search for it, and no other before."""
    return _PDF in first_bytes[:1024] and not container(first_bytes) and not binary_type(first_bytes)


def _is_pdf_file(first_bytes: bytes) -> bool:
    # A signature after other bytes counts only if they are not text: a text may mention it.
    if first_bytes.startswith((_PDF, b"\xef\xbb\xbf" + _PDF)):
        return True
    return is_pdf(first_bytes) and is_binary(first_bytes)


PDF = Kind(
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
)
DATA = Kind("data", "eyespan.readers.data", "a binary file", is_fallback=True)
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
        "notebook",
        "eyespan.readers.notebook",
        "a notebook",
        suffixes=(".ipynb",),
        decoder="eyespan.decoders.notebook:decode",
        layout="cells",
        parts="cells",
        shown_in=("native", "terminal", "claude"),
    ),
    PDF,
    DATA,
)
"""The rows of the core. The signature of a PDF may stand after other bytes, so it is compared last."""
TEXT = Kind("text", "eyespan.readers.text", "a text", layout="text", is_text=True)
BINARY = Kind("binary", "eyespan.readers.raw_bytes", "a binary file")

_TEXT_SUFFIXES = (
    "c cc cfg conf cpp cs css cxx diff env go gradle h hpp hs ini java jl js json jsonl jsx kt less log lua m md mjs "
    "mk patch php pl po properties proto ps1 py pyi r rb rs rst scala scss sh sql svelte swift tex tf toml ts tsx txt "
    "vue xml yaml yml zig"
)
TEXT_SUFFIXES = frozenset(["", *[f".{suffix}" for suffix in _TEXT_SUFFIXES.split()]])
"""A text with one of these names is not compared with the rows of installed plugins."""


@cache
def rows() -> tuple[Kind, ...]:
    """Return the rows of the tree in the order of their detection: extras, core, and the fallbacks of both.

    A row of an extra takes the place of the core's row of the same name.
    """
    of_extras = {kind.name: kind for kinds in plugins.own("KINDS") for kind in kinds}
    of_core = [of_extras.pop(kind.name, kind) for kind in KINDS]
    return tuple(sorted([*of_extras.values(), *of_core], key=lambda kind: kind.is_fallback))


def installed() -> tuple[plugins.Plugin, ...]:
    """Return the rows that installed distributions add."""
    return plugins.installed("kinds", _check)


def origin(kind: Kind) -> str:
    """Return the distribution that a row comes from; "" for a row of the tree."""
    if kind in (*rows(), TEXT, BINARY):
        return ""
    return next((plugin.origin for plugin in installed() if plugin.row is kind), "")


def _check(name: str, row: Any) -> None:
    """Check the row of an installed distribution. Raises: BrokenContract."""
    if not isinstance(row, Kind):
        raise plugins.BrokenContract(f"a kind is an eyespan.kinds.Kind, not {type(row).__name__}")
    if row.name in {kind.name for kind in (*rows(), TEXT, BINARY)}:
        raise plugins.BrokenContract(f"the kind {row.name} is one of eyespan's own")
    if not (row.signature or row.suffixes) or row.is_fallback:
        raise plugins.BrokenContract(f"the kind {row.name} needs a signature or suffixes, and is no fallback")
    if row.decoder and not all(row.decoder.partition(":")):
        raise plugins.BrokenContract(f"the decoder {row.decoder} is not module:function")
    if not all(suffix.startswith(".") and suffix == suffix.lower() for suffix in row.suffixes):
        raise plugins.BrokenContract(f"the suffixes of {row.name} must start with a dot and be lower case")
    for module in [row.reader, *([row.decoder.partition(":")[0]] if row.decoder else [])]:
        if not plugins.exists(module):
            raise plugins.BrokenContract(f"the kind {row.name} names the module {module}, which does not exist")


def by_name(name: str) -> Kind:
    """Return the row of a kind. Raises: KeyError."""
    for kind in (*rows(), TEXT, BINARY):
        if kind.name == name:
            return kind
    for plugin in installed():
        if plugin.row.name == name:
            row: Kind = plugin.row
            return row
    raise KeyError(name)


def detect(first_bytes: bytes, name: str) -> Kind | None:
    """Return the document kind of a file, or None if it is plain text, empty or unknown.

    Signatures decide before names, ordinary kinds before those of installed plugins, and these before fallbacks. A
    container is recognised before its contents: an archive or compressed file is compared only with the documents of
    its format.
    """
    if not first_bytes:
        return None
    suffix = suffix_of(name)
    held = container(first_bytes)
    match = _match(_rows_of(held, False), first_bytes, suffix)
    if match is None and (suffix not in TEXT_SUFFIXES or is_binary(first_bytes)):
        of_plugins: list[Kind] = [plugin.row for plugin in installed()]
        match = _match([row for row in of_plugins if held in ("", row.container)], first_bytes, suffix)
    return match or _match(_rows_of("", True), first_bytes, suffix)


def suffix_of(name: str) -> str:
    """Return what follows the last dot of a name, in lower case and with the dot; "" without one."""
    return name[name.rfind(".") :].lower() if "." in name else ""


@cache
def _rows_of(held: str, is_fallback: bool) -> Sequence[Kind]:
    """Return the rows of the tree for files of one container; `held=""`: it has none, or any will do."""
    return [kind for kind in rows() if kind.is_fallback == is_fallback and held in ("", kind.container)]


def _match(possible: Sequence[Kind], first_bytes: bytes, suffix: str) -> Kind | None:
    """Return the row that claims a file.

    A text is a text, whatever its name: a suffix makes a document of it only if the kind has no signature.
    """
    for kind in possible:
        try:
            if kind.signature is not None and kind.signature(first_bytes):
                return kind
        except Exception as error:  # of a plugin; its suffixes still count
            plugins.note("kinds", kind.name, origin(kind), f"its signature raised {plugins.describe(error)}")
    named = [kind for kind in possible if suffix in kind.suffixes]
    return next((kind for kind in named if kind.signature is None or is_binary(first_bytes)), None)
