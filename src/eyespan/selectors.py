"""Which part of a file a person or a compiler means: `app.py:10-20`, `app.log:-50`.

    path:10-20   lines 10 to 20          path:10-   from line 10 on
    path:10+5    5 lines from line 10    path:-50   the last 50 lines
    path:10      line 10                 path:1-5,40-45   several at once

A file whose real name looks like this still opens: whoever reads tries the whole text as a name first.
"""

from __future__ import annotations

from eyespan.model import Lines, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.model import Selection


def split(text: str) -> tuple[str, tuple[Selection, ...]] | None:
    """The path and the selections of `path:selector`, or None if the text holds no selector."""
    path, colon, tail = text.rpartition(":")
    if not colon or not path:
        return None
    selections = parse(tail)
    return None if selections is None else (path, selections)


def parse(text: str) -> tuple[Selection, ...] | None:
    """The selections that a selector names, or None if it is none."""
    found: list[Selection] = []
    for piece in text.split(","):
        selection = _one(piece)
        if selection is None:
            return None
        found.append(selection)
    return tuple(found)


def _one(text: str) -> Selection | None:
    if text.startswith("-"):
        count = _number(text[1:])
        return None if count is None else Tail(count)
    for mark in "-+":
        left, found, right = text.partition(mark)
        if not found:
            continue
        first = _number(left)
        if first is None:
            return None
        if mark == "-" and not right:
            return Lines(first, None)
        second = _number(right)
        if second is None or (mark == "-" and second < first):
            return None
        return Lines(first, second if mark == "+" else second - first + 1)
    line = _number(text)
    return None if line is None else Lines(line, 1)


def _number(text: str) -> int | None:
    """A positive number in plain digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0 else None


def write(path: str, selection: Selection) -> str:
    """The text that `split` reads as this path and selection."""
    if isinstance(selection, Tail):
        return f"{path}:-{selection.count}"
    if isinstance(selection, Lines):
        if selection.count is None:
            return f"{path}:{selection.first}-"
        if selection.count == 1:
            return f"{path}:{selection.first}"
        return f"{path}:{selection.first}-{selection.first + selection.count - 1}"
    raise ValueError(f"no selector says {selection!r}")
