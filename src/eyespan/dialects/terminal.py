"""What `eyespan read` prints: numbers, colours on a terminal, and exact bytes in a pipe.

On a terminal, hidden characters are written as escapes and very long lines are shortened. In a pipe every byte of the
text arrives as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from eyespan._native import number
from eyespan.escape import visible
from eyespan.model import ImagePart, NotePart, Part, TextPart

if TYPE_CHECKING:
    from eyespan.guard.listing import Listing


MAX_LINE_CHARS = 2000
_DIM, _BOLD, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[0m"


def _visible(text: str) -> str:
    return visible(text, keeps_tabs=True)


@dataclass(slots=True)
class Terminal:
    """Formats the parts of documents for a person and passes them to `write`."""

    write: Callable[[bytes], None]
    _: KW_ONLY
    has_numbers: bool
    is_terminal: bool
    is_colored: bool
    has_headings: bool = True
    """Pages have a line with their number."""
    colored_lines: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    """The lines of the text that is written next, by number: pieces with the colour of each."""
    files: int = 0
    """The headers written so far."""
    at_line_start: bool = True

    def header(self, name: str) -> None:
        """Write the line that separates several files."""
        header = f"==> {visible(name)} <=="
        gap = ("" if self.at_line_start else "\n") + ("\n" if self.files else "")
        self.files += 1
        self._write(f"{gap}{_BOLD}{header}{_RESET}\n" if self.is_colored else f"{gap}{header}\n")

    def part(self, part: Part) -> None:
        """Write one part of a document."""
        if isinstance(part, TextPart):
            self._write_lines(part)
            return
        if isinstance(part, NotePart):
            text = f"{part.heading}\n\n{part.text}".rstrip("\n") if part.heading else part.text
            if not self.has_headings:
                text = f"{part.text}\n"
        elif isinstance(part, ImagePart):
            text = f"[an image: {part.media_type}, {len(part.data):,} bytes]"
        else:
            text = "[data that is not text]"
        if self.is_terminal:
            text = "\n".join([visible(line, keeps_tabs=True) for line in text.split("\n")])
        self._write(text if text.endswith("\n") else text + "\n")

    def listing(self, listing: Listing) -> None:
        """Write the names in a directory, each on a line; directories end in a slash, links in an at sign."""
        for entry in listing.entries:
            self._write(f"{visible(entry.name)}{entry.suffix}\n")
        if listing.partial:
            self._write("[more names than can be listed]\n")
        if listing.left_out:
            self._write(f"[{listing.left_out} of them no path can contain]\n")

    def _write_lines(self, part: TextPart) -> None:
        if not self.is_terminal and not self.is_colored:
            if self.has_numbers and part.first_line:
                self._write(number(bytes(part.data), part.first_line, width=6, keep_ends=True)[0])
            else:
                self._put(bytes(part.data))
            return
        lines = part.data.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        for line_number, line in enumerate(lines, part.first_line):
            shown = line.removesuffix("\r")
            if self.is_terminal:
                chars = part.cuts.get(line_number, len(shown))
                if chars > MAX_LINE_CHARS:
                    cut = visible(shown[:MAX_LINE_CHARS], keeps_tabs=True)
                    shown = f"{cut}... [line of {chars} characters]"
                else:
                    shown = self._colored(line_number, shown)
            elif self.colored_lines:
                shown = self._colored(line_number, shown, visible=str)
            lead = ""
            if self.has_numbers and part.first_line:
                lead = f"{_DIM}{line_number:>6}{_RESET}\t" if self.is_colored else f"{line_number:>6}\t"
            self._write(f"{lead}{shown}\n")

    def _colored(self, line_number: int, line: str, visible: Callable[[str], str] = _visible) -> str:
        """Return a line with the colours of its pieces, if these are the pieces of exactly this line."""
        pieces = self.colored_lines.get(line_number, [])
        if not pieces or "".join([piece for piece, _ in pieces]).removesuffix("\r") != line:
            return visible(line)
        left = len(line)
        shown = []
        for piece, color in pieces:
            text = visible(piece[:left])
            left -= len(piece)
            shown.append(f"{color}{text}{_RESET}" if color and text else text)
        return "".join(shown)

    def _write(self, text: str) -> None:
        self._put(text.encode("utf-8", "backslashreplace"))

    def _put(self, data: bytes) -> None:
        self.write(data)
        self.at_line_start = data.endswith(b"\n")
