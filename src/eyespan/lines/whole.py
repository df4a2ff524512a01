"""Texts that are held whole: converted documents, and files in encodings whose lines cannot be found in the bytes."""

from __future__ import annotations

import codecs
from collections.abc import Hashable
from io import BytesIO

from eyespan.context import CallContext
from eyespan.errors import TooLarge
from eyespan.lines.encodings import UNDECODED, Encoding
from eyespan.model import MIB
from eyespan.source import Source, Status

MAX_BYTES = 16 * MIB
"""The largest file that is decoded whole."""
_BLOCK_BYTES = 256 * 1024


class ConvertedSource(Source):
    """Text in memory that stands for a document, read like a file."""

    __slots__ = ("_data", "_document")
    is_indexable = False

    def __init__(self, data: bytes, document: Source) -> None:
        self._document = document
        self._data = data
        self._first_bytes = data
        self.size_bytes = len(data)
        self.asked, self.path, self.canonical = document.asked, document.path, document.canonical

    @property
    def identity(self) -> tuple[Hashable, ...]:
        return (*self._document.identity, "converted")

    @property
    def status(self) -> Status:
        return self._document.status

    def changed(self) -> bool:
        return self._document.changed()

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        return self._data[offset : offset + size_bytes]

    def close(self) -> None:
        """Do nothing: the document belongs to the caller."""


def decoded(source: Source, encoding: Encoding, context: CallContext) -> tuple[ConvertedSource, int]:
    """Return the text of a file in UTF-8, and how many pieces of it could not be decoded.

    Raises: TooLarge, and what reading raises.
    """
    decoder = codecs.getincrementaldecoder(encoding.name)("eyespan-undecoded")
    data = BytesIO()  # its value is not copied at the end
    size, replaced, held = len(encoding.bom), 0, ""
    block = b"\n"
    while block:
        block = source.read_at(size, _BLOCK_BYTES)
        size += len(block)
        if size > MAX_BYTES:
            raise TooLarge(source.asked, size_bytes=max(size, source.size_bytes), limit_bytes=MAX_BYTES)
        text = held + decoder.decode(block, not block)
        held = "\r" if block and text.endswith("\r") else ""  # it may be half of a line end
        text = text.removesuffix(held)
        replaced += text.count(UNDECODED)
        # EBCDIC has a new line character of its own, and some systems use it alone.
        text = text.replace(UNDECODED, "\ufffd").replace("\r\x85", "\n").replace("\x85", "\n")
        piece = text.encode("utf-8", "replace")
        context.charge(len(piece))
        data.write(piece)
        context.advance(size, source.size_bytes)
    return ConvertedSource(data.getvalue(), source), replaced
