"""The lines of an opened text one by one, for dialects that end an answer by a limit of their own.

Lines are read in windows of a bounded size, so a limit on the answer bounds the memory of the call, whatever number of
lines was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from eyespan.dialects.base import only_text, text_notes
from eyespan.model import EXACT_TOTAL, Document, Lines, TextPart, TotalRule
from eyespan.opened import Opened

WINDOW_LINES = 2000
"""So many lines of 2,000 characters fit into the largest window, in any script."""


def raw_lines(data: bytes | bytearray) -> Iterator[bytes | bytearray]:
    """Yield each line with its line end.

    The text of a whole window, with four bytes for each character if one of them is wide, and the list of its lines
    would take several times the memory of the window.
    """
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


def line_length(opened: Opened, number: int) -> int:
    """Return the characters of a line, in a request that counts those of lines it cuts. Raises: ReadError."""
    part = only_text(opened.read(Lines(number, 1)))
    return part.cuts.get(number) or len(part.data.decode("utf-8", "replace").rstrip("\r\n"))


class OpenedLines:
    """The lines from `first` on, at most `count`; iterate once."""

    def __init__(self, opened: Opened, first: int, count: int | None = None) -> None:
        self._opened = opened
        self._first = first
        self._count = count
        self._total: int | None = None
        self._documents: list[Document] = []
        self.has_last_end = False
        """The last line so far has a line end."""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each line and its text without the line end. Raises: ReadError."""
        number, left = self._first, self._count
        while left is None or left > 0:
            wanted = WINDOW_LINES if left is None else min(left, WINDOW_LINES)
            part = self._read(Lines(number, wanted))
            for line in raw_lines(part.data):
                text = line.decode("utf-8", "replace")
                self.has_last_end = text.endswith("\n")
                yield number, text[:-1].removesuffix("\r") if self.has_last_end else text
                number += 1
            if not part.more:
                return
            left = None if left is None else left - wanted

    def total(self) -> int:
        """Return the number of lines of the file. Raises: ReadError."""
        if self._total is None:
            self._read(Lines(1, 1), EXACT_TOTAL)
        return self._total or 0

    def notes(self) -> tuple[str, ...]:
        """Return notes on the text that was read: a change of the file, a guess of its encoding."""
        notes = [note for document in self._documents for note in text_notes(document)]
        return tuple(dict.fromkeys(notes))

    def _read(self, selection: Lines, total: TotalRule | None = None) -> TextPart:
        document = self._opened.read(selection, total=total)
        self._documents.append(replace(document, parts=()))
        part: Any = document.parts[0]
        self._total = part.total_lines
        text_part: TextPart = part
        return text_part
