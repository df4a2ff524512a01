"""Regular expressions that match in time linear in the text, whatever the expression: RE2 on blocks of lines.

Python's own `re` backtracks: an expression such as `(a+)+b` takes exponential time on a line of `a`. RE2 has no
back-references and no lookaround, and its `\\w`, `\\d`, `\\s` and `\\b` know ASCII only. A match never leaves its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eyespan.errors import Missing

MAX_MEMORY_BYTES = 4 << 20
"""The memory of an expression, with the states that RE2 makes of it."""
MAX_PROGRAM_SIZE = 10_000
MAX_STEPS = 1 << 25
"""The work between two checks of the deadline: in the worst case a step for each byte and instruction, of some 8 ns."""


class PatternError(ValueError):
    """The text is no expression that RE2 can match."""


class Pattern:
    """A compiled expression, or with `is_literal` a text that is searched as it is. Needs google-re2."""

    def __init__(self, text: str, *, is_literal: bool = False) -> None:
        """Raises: PatternError, Missing."""
        try:
            import re2
        except ImportError:
            raise Missing("", what="searching", install="pip install google-re2") from None
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MAX_MEMORY_BYTES
        options.never_capture = True
        options.never_nl = True
        options.literal = is_literal
        written = text if is_literal else "(?m)" + re.sub(r"(?s)\\.|\(\?\w*-\w*m", _for_lines, text)
        try:
            regexp = re2.compile(written.encode("utf-8", "surrogatepass"), options)
        except re2.error as error:
            raise PatternError(_reason(error.args[0].decode("utf-8", "replace").replace("(?m)", "", 1))) from None
        finally:
            re2.purge()  # the module's cache would keep the memory of 128 expressions
        if regexp.programsize > MAX_PROGRAM_SIZE:
            raise PatternError("too large")
        self._search = regexp.search
        self.max_chars = MAX_STEPS // regexp.programsize
        """The text that may be searched at once."""

    def matching_lines(self, data: bytes, *, is_valid: bool = False) -> Iterator[tuple[int, int]]:
        """Yield the number from 0 and the length in bytes of each line of a text in UTF-8 that matches.

        `is_valid`: all of its bytes are known to be characters.
        """
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if not is_valid and not data.isascii():
            data = data.decode("utf-8", "replace").encode()
        size = len(data) - data.endswith(b"\n")
        at = number = 0
        while (match := self._search(data, at, size)) is not None:
            number += data.count(b"\n", at, match.start())
            start = data.rfind(b"\n", 0, match.start()) + 1
            end = data.find(b"\n", match.start(), size)
            yield number, (size if end < 0 else end) - start
            if end < 0:
                return
            at = end + 1
            number += 1


def _for_lines(token: re.Match[str]) -> str:
    """Return a token for many lines: the ends of the text become those of a line. Raises: PatternError."""
    if token[0] == r"\C" or token[0].startswith("(?"):
        raise PatternError(f"{token[0]} is not supported")
    return {r"\A": "^", r"\z": "$", r"\Z": "$"}.get(token[0], token[0])


def _reason(message: str) -> str:
    """Return why RE2 refuses an expression, for people who know those of Python."""
    if re.search(r"operator: \(\?<?[=!]", message):
        return "lookaround is not supported"
    if re.search(r"escape sequence: \\[1-9]", message):
        return "back-references are not supported"
    return message
