"""Word 97-2003 documents (doc) as text: the body, notes, comments, headers and text boxes.

The text of such a file is a list of pieces. Its formatting is spread over tables of the binary format that are not
read: headings, lists and the ends of table rows are only known as far as the text itself shows them.
"""

from __future__ import annotations

import codecs
import io
import re
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import unreadable
from eyespan.extras.documents.office import docx, rtf
from eyespan.extras.documents.shared import markdown_pieces
from eyespan.extras.documents.shared.ole import Container, read_file
from eyespan.extras.documents.shared.ooxml import ENCRYPTED

NOTE = "[text of a Word 97-2003 file: formatting, images and the layout of tables are left out]"
_IS_ENCRYPTED, _IS_TABLE_1 = 0x100, 0x200
_FIRST_WITH_PIECES = 0xC1
"""The number of the first version of the format with a list of pieces: Word 97."""
_STORIES = (
    "",
    "footnotes",
    "headers and footers",
    "macros",
    "comments",
    "endnotes",
    "text boxes",
    "text boxes in headers",
)
_LINK = re.compile(r'\x13\s*HYPERLINK\s+(?:\\l\s+)?"([^"]*)"[^\x13\x14\x15]*\x14([^\x13\x15]*)\x15', re.IGNORECASE)
_FIELD = re.compile("\x13([^\x13\x14\x15]*)(?:\x14([^\x13\x15]*))?\x15")
_EQUATION_SIGNS = re.compile(r'\\\*\s*(?:"[^"]*"|\S+)|\\[A-Za-z]+\s*\d*|[(),;]')
_CONTROLS = re.compile("[\x00-\x06\x08\x0e-\x1d\x1f]")
_MAX_NESTED_FIELDS = 8

codecs.lookup("cp1252")  # the sandbox allows no import
codecs.lookup("utf-16-le")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the document to text. Raises: Missing, Unreadable."""
    data = read_file(file)
    if data.startswith(b"{\\rtf"):
        return rtf.decode(io.BytesIO(data), params)
    if data.startswith(b"PK"):
        return docx.decode(io.BytesIO(data), params)
    container = Container(data)
    stream = container.read("WordDocument")
    if len(stream) < 0x60:
        raise unreadable("it is corrupt")
    version, flags = struct.unpack_from("<H", stream, 2)[0], struct.unpack_from("<H", stream, 10)[0]
    if flags & _IS_ENCRYPTED:
        raise unreadable(ENCRYPTED)
    if version < _FIRST_WITH_PIECES:
        first, last = struct.unpack_from("<II", stream, 0x18)
        stories = [stream[first:last].decode("cp1252", "replace")]
    else:
        table = container.read("1Table" if flags & _IS_TABLE_1 else "0Table")
        stories = _stories(stream, _pieces(stream, table))
    blocks = [NOTE]
    for name, text in zip(_STORIES, stories, strict=False):
        paragraphs = [line for line in _shown(text).split("\n") if line.strip()]
        if paragraphs and name:
            blocks.append(f"[{name}]")
        blocks += paragraphs
    return {}, [markdown_pieces.finish(blocks if len(blocks) > 1 else [])]


def _pieces(stream: bytes, table: bytes) -> str:
    """Return the whole text by the list of its pieces; what lies outside the file is left out."""
    if len(stream) < 0x1AA:
        return ""
    start, size = struct.unpack_from("<II", stream, 0x1A2)
    pieces = table[start : start + size]
    at = 0
    while at + 3 <= len(pieces) and pieces[at] == 1:  # formatting of the pieces
        at += 3 + struct.unpack_from("<H", pieces, at + 1)[0]
    if at + 5 > len(pieces) or pieces[at] != 2:
        return ""
    length = struct.unpack_from("<I", pieces, at + 1)[0]
    places = pieces[at + 5 : at + 5 + length]
    count = max(0, (len(places) - 4) // 12)
    texts = []
    left = 2 * len(stream)  # pieces may overlap in a malicious file
    for number in range(count):
        first, last = struct.unpack_from("<II", places, 4 * number)
        offset = struct.unpack_from("<I", places, 4 * (count + 1) + 8 * number + 2)[0]
        chars = max(0, min(last - first, len(stream)))
        left -= chars
        if left < 0:
            break
        if offset & 0x40000000:
            offset = (offset & 0x3FFFFFFF) // 2
            texts.append(stream[offset : offset + chars].decode("cp1252", "replace"))
        else:
            texts.append(stream[offset : offset + 2 * chars].decode("utf-16-le", "replace"))
    return "".join(texts)


def _stories(stream: bytes, text: str) -> list[str]:
    """Return the parts of the text: body, footnotes, headers and so on, by their lengths in the file's header."""
    stories = []
    at = 0
    for length in struct.unpack_from("<8I", stream, 0x4C) if len(stream) >= 0x6C else ():
        stories.append(text[at : at + length])
        at += length
    if not any(stories):
        return [text]
    stories[0] += text[at:].rstrip("\r") if len(text) > at + 1 else ""
    return stories


def _field_text(found: re.Match[str]) -> str:
    """Return the result of a field. Equations and readings of characters have none: their instruction is the text."""
    instruction = found[1].strip()
    if found[2] is None and instruction[:3].upper() in ("EQ", "EQ "):
        return " ".join(_EQUATION_SIGNS.sub(" ", instruction[2:]).split())
    return found[2] or ""


def _shown(text: str) -> str:
    """Return text with links and without the instructions of fields and the characters that stand for objects."""
    for _ in range(_MAX_NESTED_FIELDS):
        if "\x13" not in text:
            break
        text = _LINK.sub(lambda found: f"[{found[2].strip()}]({found[1]})" if found[2].strip() else "", text)
        text = _FIELD.sub(_field_text, text)
    text = text.replace("\x07\x07", " |\n").replace("\x07", " | ")
    text = text.replace("\r", "\n").replace("\x0b", "\n").replace("\x0c", "\n").replace("\x1e", "-")
    return _CONTROLS.sub("", text)
