"""The last lines of a file whose lines cannot be counted cheaply: a large object of a store. They have no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan import tokens
from eyespan.dialects import redaction
from eyespan.dialects.native import own_lines, text_facts
from eyespan.dialects.native.holdings import digest, hashed_lines
from eyespan.dialects.native.items import LEAST_TOKENS, LEFT_TOKENS, Shown, counted, part_shown
from eyespan.dialects.native.loaded import MAX_ROWS
from eyespan.dialects.native.rows import count_fitting, rows_of
from eyespan.model import Tail
from eyespan.selectors import Target, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.text import FileText


class TailItem:
    """The last lines of a text, without numbers. Another selector of the same lines numbers them."""

    def __init__(self, text: FileText, target: Target, count: int, view: View) -> None:
        """Raises: ReadError; WindowTooLarge for more than a window holds."""
        self._base = write_target(target)
        self._facts = text.facts
        self.selector = f"{self._base}:-{count}"
        self._numbered = f"{self._base}:1,-{count}"
        part, document = text.read(Tail(min(count, MAX_ROWS), numbered=False))
        self._rows = rows_of(part)
        self._texts = [row.text for row in self._rows]
        if view.redacts:
            found = redaction.secrets(self._texts)
            self._texts = [redaction.redacted(row.text, one) for row, one in zip(self._rows, found, strict=True)]
        self._lines_shown = [f"\t{text}" if text else "" for text in self._texts]
        self._has_changed = document.facts.changed
        self._name = own_lines.base_name(target)
        self._notes = [f"not numbered, because that reads all of the file; {self._numbered} does"]
        hidden = text_facts.hidden([(at - len(self._rows), 1, row.text) for at, row in enumerate(self._rows)])
        self._notes.append(text_facts.describe_hidden(hidden))
        if self._rows and not self._rows[-1].has_newline:
            self._notes.append("no newline at the end")
        if any("\ufffd" in row.text for row in self._rows):
            self._notes.append("bytes that cannot be decoded are shown as U+FFFD")

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lines(len(self._rows)))) + 1

    def _lines(self, count: int) -> tuple[str, ...]:
        """Return the header, this many of the last lines, and the notes."""
        at = len(self._rows) - count
        value = digest(self._facts.canonical, hashed_lines(self._rows[at:], self._texts[at:]))
        size = f"{counted(self._facts.size_bytes, 'byte')}"
        header = own_lines.header(f"{self._name}: the last {counted(count, 'line')} of {size} #{value}")
        return (header, *self._lines_shown[at:], own_lines.note("; ".join([note for note in self._notes if note])))

    def show(self, max_tokens: int) -> Shown:
        count = len(self._rows)
        left: tuple[str, ...] = ()
        if count and self.need() > max_tokens:
            around = tokens.estimate(own_lines.write(self._lines(0)) + self._numbered)
            room = max(LEAST_TOKENS, max_tokens - around - LEFT_TOKENS)
            count = count_fitting(self._lines_shown, room, tokens.estimate, at_end=True)
            left = (self._numbered,)  # what follows can only be named by numbers
        lines = self._lines(count)
        facts: dict[str, Any] = {
            "path": self._facts.path,
            "selector": self.selector,
            "lines": count,
            "total_lines": None,
        }
        if self._has_changed:
            facts["changed_during_read"] = True
        return part_shown(lines, facts, left)
