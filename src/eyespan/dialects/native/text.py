"""Texts that items are made of: lines of an opened file, or text that was made from a document."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.pieces import cut_out
from eyespan.model import CHEAP_TOTAL, CharRange, Document, DocumentOptions, Facts, Tail, TextPart, TotalRule
from eyespan.opened import Opened

if TYPE_CHECKING:
    from eyespan.outline import Outline


class Text(Protocol):
    """A text that is read by ranges."""

    @property
    def facts(self) -> Facts:
        """Return the facts of the file as it was opened."""
        ...

    def read(self, selection: CharRange | Tail, total: TotalRule = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        """Read a part of the text. Raises: ReadError."""
        ...

    def outline(self) -> Outline | None:
        """Return the symbols of the text, with little time to find them, or None if it can have none."""
        ...

    def drop_buffers(self) -> None:
        """Free the memory that a later read can fill again."""
        ...


ROW_BYTES = 200
"""The memory of a row that is made of a line, beside its text."""
SPLIT_COPIES = 2
"""The copies of a whole text that a read of it makes: its lines, and those of them that are wanted as one text."""
READ_COPIES = 4
"""The copies of the part that is read: its text and bytes, its rows, and its lines in the answer."""


class FileText:
    """The lines of an opened file, or of a document that its reader converts to lines."""

    def __init__(self, opened: Opened, options: DocumentOptions | None = None, *, as_text: bool = False) -> None:
        self.opened = opened
        self.facts = opened.facts
        if opened.request.revision:
            self.facts = replace(opened.facts, hard_links=1)  # those of the repository's file mean nothing here
        self._options = options
        self._as_text = as_text

    def read(self, selection: CharRange | Tail, total: TotalRule = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        document = self.opened.read(selection, options=self._options, total=total, as_text=self._as_text)
        part = document.parts[0] if document.parts else None
        if not isinstance(part, TextPart):
            raise errors.Binary(self.opened.request.path, kind=document.kind)
        self.opened.context.charge(ROW_BYTES * part.line_count)
        return part, document

    def outline(self) -> Outline | None:
        kind = self.opened.kind
        if not (kind.is_text or (kind.layout == "text" and not kind.parts)) or self.opened.context.is_half_over:
            return None
        try:
            return self.opened.outline(is_courtesy=True)
        except (errors.SystemFailure, errors.TooMuchMemory):
            return None  # it was not asked for, and the text is complete without it

    def drop_buffers(self) -> None:
        self.opened.source.drop_buffers()


@dataclass(frozen=True, slots=True)
class HeldText:
    """Text that was made from a document and is held whole; its lines are not those of a file.

    The call pays for every read of it.
    """

    document: Document
    text: str
    context: CallContext
    find_outline: Callable[[str], Outline | None] | None = None

    @property
    def facts(self) -> Facts:
        return self.document.facts

    def read(self, selection: CharRange | Tail, total: TotalRule = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        text = self.text
        most_chars = selection.max_bytes if isinstance(selection, Tail) else selection.max_chars
        share = 1.0 if most_chars is None or not text else min(1.0, most_chars / len(text))
        with self.context.memory.loan():
            self.context.charge(int((SPLIT_COPIES + READ_COPIES * share) * sys.getsizeof(text)))
            part = cut_out(text, selection)
        share = min(share, len(part.data) / len(text)) if text else 0.0
        self.context.charge(int(READ_COPIES * share * sys.getsizeof(text)) + ROW_BYTES * part.line_count)
        return part, self.document

    def outline(self) -> Outline | None:
        return None if self.find_outline is None else self.find_outline(self.text)

    def drop_buffers(self) -> None:
        """Do nothing: the text is held whole."""
