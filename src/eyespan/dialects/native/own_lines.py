"""The lines of an answer: those of the tool itself, and those that come from files and names.

Every line of the tool itself starts with a sign, `>`, and no other line does, so nothing in a file, a name or the error
text of a library can be mistaken for it (docs/native.md has the grammar). A row of a file starts with its gutter, a
name in a list with a blank. Lists of lines hold the tool's own lines as `Own`, without the sign.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from eyespan.escape import visible
from eyespan.selectors import Area, Named, Target, write_piece, write_target

SIGN = ">"


class Own(str):
    """A line of the tool itself, without its sign. Make it with the functions below, which escape foreign text."""

    __slots__ = ()


GAP = Own("...")
_ROW_STARTS = frozenset(" 0123456789")
"""The characters that a row of an outline starts with: its line number, or the indentation before it."""
_SEPARATORS = (": ", "; ", ", ", '"')


def header(text: str) -> Own:
    """Return the line before a part; `text` starts with the name of the part."""
    return Own(f" {visible(text)}")


def failure(text: str) -> Own:
    """Return the line for a target that cannot be shown; `text` starts with its name."""
    return Own(f"! {visible(text)}")


def note(text: str) -> Own:
    """Return a line about the part before it."""
    return Own(f"note: {visible(text)}")


def words(text: str) -> Own:
    """Return a line that starts with words of the tool, such as the title of a list."""
    return Own(visible(text))


def entry(name: str) -> str:
    """Return the line of a name in a list."""
    return f" {visible(name)}"


def quoted(name: str) -> str:
    """Return a name within a line, in quotes if it contains what separates the parts of a line."""
    shown = visible(name)
    if name == name.strip() and not any(separator in name for separator in _SEPARATORS):
        return shown
    return _in_quotes(shown)


def base_name(target: Target) -> str:
    """Return the selector of a target for a header, where lines follow it.

    A path with a colon and the name of a sheet or table that could be lines are in quotes.
    """
    piece = target.piece
    base = write_target(target if piece is None else replace(target, piece=None))
    if ":" in base or '"' in base:
        base = _in_quotes(visible(base))
    if piece is None:
        return base
    part = visible(write_piece(piece))
    if isinstance(piece, (Named, Area)):
        sheet = piece.name if isinstance(piece, Named) else piece.sheet
        if not part[:1].isalpha() or ":" in sheet or '"' in part:
            part = _in_quotes(part)
    return f"{base}:{part}"


def _in_quotes(shown: str) -> str:
    return '"' + shown.replace('"', "\\x22") + '"'


def outline_rows(listed: str) -> list[str]:
    """Return the lines of an outline (`eyespan.outline.render`); the last may count the symbols that are left out."""
    rows: list[str] = []
    for line in listed.split("\n"):
        if line.startswith("…"):
            rows.append(Own(visible(line)))
        else:
            rows.append(visible(line) if line[:1] in _ROW_STARTS else entry(line))
    return rows


def write(lines: Iterable[str]) -> str:
    """Return the text of these lines."""
    return "\n".join([f"{SIGN}{line}" if type(line) is Own else line for line in lines])
