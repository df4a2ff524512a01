"""PowerPoint 97-2003 presentations (ppt) as text: titles, texts, footers and speaker notes of each slide.

The file is a tree of records. Tables, charts, images and the positions of shapes are not read.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import unreadable
from eyespan.extras.documents.shared import markdown_pieces
from eyespan.extras.documents.shared.ole import Container, read_file
from eyespan.extras.documents.shared.ooxml import ENCRYPTED

NOTE = "[text of a PowerPoint 97-2003 file: images, charts and the layout are left out]"
MAX_DEPTH = 32
MAX_RECORDS = 2_000_000
_ENCRYPTED_TOKEN = 0xF3D1C4DF
_SLIDE, _NOTES, _NOTES_ATOM, _SLIDE_PLACE, _DIRECTORY = 1006, 1008, 1009, 1011, 6002
_HEADER, _CHARS, _BYTES, _STRING, _LIST, _MARGINS = 3999, 4000, 4008, 4026, 4080, 4057
_TITLES = (0, 6)

codecs.lookup("utf-16-le")  # the sandbox allows no import
codecs.lookup("cp1252")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the presentation to text. Raises: Missing, Unreadable."""
    container = Container(read_file(file))
    if "Current User" in container and container.read("Current User")[12:16] == _ENCRYPTED_TOKEN.to_bytes(4, "little"):
        raise unreadable(ENCRYPTED)
    if "EncryptedSummary" in container:
        raise unreadable(ENCRYPTED)
    show = _Show(container.read("PowerPoint Document"))
    blocks = show.blocks()
    if show.is_cut:
        blocks.append(f"[the rest is left out: more than {MAX_RECORDS} records]")
    return {"slides": len(show.slides)}, [markdown_pieces.finish([NOTE, *blocks] if blocks else [])]


class _Slide:
    """The texts of one slide."""

    def __init__(self, place: int, key: int) -> None:
        self.place = place
        """The number by which the directory of the file finds it."""
        self.key = key
        """The number by which its notes refer to it."""
        self.title = ""
        self.texts: list[str] = []
        self.footers: list[str] = []
        self.notes: list[str] = []

    def add(self, text: str, kind: int) -> None:
        if not text or text == "*":
            return
        if kind in _TITLES and not self.title:
            self.title = " ".join(text.split())
        else:
            self.texts.append(text)


class _Show:
    """One pass over the records: the slides in their order, then the shapes and notes of each."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._records = 0
        self.is_cut = False
        self.slides: list[_Slide] = []
        offsets: dict[int, int] = {}
        notes: list[int] = []
        for kind, start, end, instance in self._walk(0, len(data)):
            if kind == _DIRECTORY:
                _add_places(data[start:end], offsets)
            elif kind == _LIST and instance == 0:
                self._add_list(start, end)
            elif kind == _NOTES:
                notes.append(start)
        by_key = {slide.key: slide for slide in self.slides}
        for slide in self.slides:
            self._add_shapes(slide, offsets.get(slide.place))
        for start in notes:
            self._add_notes(start, by_key)

    def blocks(self) -> list[str]:
        """Return the slides as blocks; without a list of slides, all texts in a row."""
        if not self.slides:
            return [text for text, _ in self._texts(0, len(self._data))]
        blocks = []
        for number, slide in enumerate(self.slides, 1):
            blocks.append(f"## Slide {number}" + (f": {slide.title}" if slide.title else ""))
            blocks += slide.texts
            if slide.footers:
                blocks.append(f"{' | '.join(slide.footers)} [footer]")
            if slide.notes:
                lines = [line for text in slide.notes for line in text.split("\n")]
                blocks += ["Notes:", "\n".join([f"> {line}" for line in lines])]
        return blocks

    # --- records -----------------------------------------------------------------------------------------------------

    def _walk(self, start: int, end: int, depth: int = 0) -> Iterator[tuple[int, int, int, int]]:
        """Yield the kind, the start, the end and the instance of each record, those in other records after them."""
        while start + 8 <= end:
            version, kind, size = struct.unpack_from("<HHI", self._data, start)
            start += 8
            stop = min(end, start + size)
            self._records += 1
            if self._records > MAX_RECORDS:
                self.is_cut = True
                return
            yield kind, start, stop, version >> 4
            if version & 15 == 15 and depth < MAX_DEPTH:
                yield from self._walk(start, stop, depth + 1)
            start = stop

    def _texts(self, start: int, end: int) -> Iterator[tuple[str, int]]:
        """Yield the texts of some records, each with the type of its placeholder."""
        holder = -1
        for kind, first, last, _ in self._walk(start, end):
            if kind == _HEADER:
                holder = int.from_bytes(self._data[first : first + 4], "little")
            elif kind in (_CHARS, _BYTES):
                text = self._atom_text(kind, first, last)
                if text and text != "*":
                    yield text, holder
                holder = -1

    def _atom_text(self, kind: int, start: int, end: int) -> str:
        encoding = "cp1252" if kind == _BYTES else "utf-16-le"
        text = self._data[start:end].decode(encoding, "replace")
        return text.replace("\r", "\n").replace("\x0b", "\n").replace("\0", "").strip()

    # --- slides ------------------------------------------------------------------------------------------------------

    def _add_list(self, start: int, end: int) -> None:
        """Add the slides of the list, with the texts of their placeholders."""
        holder = -1
        for kind, first, last, _ in self._walk(start, end):
            if kind == _SLIDE_PLACE and last - first >= 16:
                place, _flags, _count, key = struct.unpack_from("<IIII", self._data, first)
                self.slides.append(_Slide(place, key))
            elif kind == _HEADER:
                holder = int.from_bytes(self._data[first : first + 4], "little")
            elif kind in (_CHARS, _BYTES) and self.slides:
                self.slides[-1].add(self._atom_text(kind, first, last), holder)

    def _add_shapes(self, slide: _Slide, offset: int | None) -> None:
        """Add the texts that stand in the slide itself, not in the list."""
        if offset is None or offset + 8 > len(self._data):
            return
        _, kind, size = struct.unpack_from("<HHI", self._data, offset)
        if kind != _SLIDE:
            return
        start, end = offset + 8, min(len(self._data), offset + 8 + size)
        for text, holder in self._texts(start, end):
            slide.add(text, holder)
        for record, first, last, _ in self._walk(start, end):
            if record == _MARGINS:
                strings = [
                    self._atom_text(_STRING, a, b) for kind, a, b, _ in self._walk(first, last) if kind == _STRING
                ]
                slide.footers += [text for text in strings if text]

    def _add_notes(self, start: int, slides: dict[int, _Slide]) -> None:
        size = struct.unpack_from("<I", self._data, start - 4)[0]
        end = min(len(self._data), start + size)
        for kind, first, last, _ in self._walk(start, end):
            if kind == _NOTES_ATOM and last - first >= 4:
                slide = slides.get(struct.unpack_from("<I", self._data, first)[0])
                if slide is not None:
                    slide.notes += [text for text, _ in self._texts(start, end) if text not in slide.notes]
                return


def _add_places(data: bytes, offsets: dict[int, int]) -> None:
    """Add the entries of a directory: runs of numbers with the offset of each. A later one replaces an earlier one."""
    at = 0
    while at + 4 <= len(data):
        run = int.from_bytes(data[at : at + 4], "little")
        first, count = run & 0xFFFFF, run >> 20
        at += 4
        for number in range(count):
            if at + 4 > len(data):
                return
            offsets[first + number] = int.from_bytes(data[at : at + 4], "little")
            at += 4
