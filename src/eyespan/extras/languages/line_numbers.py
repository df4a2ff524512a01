"""The line of each character of a text."""

from __future__ import annotations

import re
from bisect import bisect_left


class LineNumbers:
    """The line of each character of a text; a line ends at a line feed only."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self.last = len(self._ends) + (not text.endswith("\n") or not text)
        """The last line that is not the empty one after a final line feed."""

    def at(self, offset: int) -> int:
        """Return the line of the character at `offset`."""
        return bisect_left(self._ends, offset) + 1
