"""Selectors: a part of a file as people, models and compilers write it, such as `app.py:10-20`.

Parses a text into a `Target` and formats it back, without access to files. `native` and the command line use the same
grammar and the same `resolve`. Grammar and examples: docs/selectors.md.

    path:10-20   lines 10 to 20          path:10-          from line 10 on
    path:10+5    5 lines from line 10    path:-50          the last 50 lines
    path:10      line 10                 path:1-5,40-45    several at once
    path:120:8   a place, as compilers print it            path:12:2001-   from character 2001 of line 12 on
    path:303::   the function around line 303
    path::Class.method                                     path:p3-5   pages      path:c2-4   cells
    path?pattern   the lines that match a regular expression; in a name after a colon, ?? is the sign itself
    book.xlsx:Sheet1!A1:D20      app.sqlite:table          logs.zip!/app/today.log:-100      path@rev

A file whose real name looks like a selector still opens: `readings` returns the whole text as a name first, then every
way to split it, from the right; `resolve` takes the first whose path exists.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from eyespan.errors import InvalidPath, NoMember, NoRevision, NotFound, ReadError, SystemFailure
from eyespan.model import CharRange, Lines, Tail

T = TypeVar("T")

MAX_READINGS = 64
MAX_SPLITS = 8
"""A text with more `!/` or `@` is split at the last ones."""
MAX_COLONS = 128
MAX_TEXT_CHARS = 16 * 1024
"""A text with more colons is split at the last ones; a longer text is a name that no file has. Without these limits a
text of colons as long as an argument may be takes minutes."""
MAX_NAME_CHARS = 200
MAX_PATTERN_CHARS = 1000


# --- selections ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A line and a character of it, as compilers print them. It selects its surroundings."""

    line: int
    column: int


Range = Lines | Tail | Place | CharRange


@dataclass(frozen=True, slots=True)
class Ranges:
    """One or more pieces of a text, by lines."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class SymbolPiece:
    """A function, class, heading or key by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Enclosing:
    """The functions or classes around lines or places, such as the hits of a search."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages of a document; `last=None` is the end. `within`, here and below, selects lines of their text."""

    first: int
    last: int | None = None
    within: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a notebook; `last=None` is the end."""

    first: int
    last: int | None = None
    within: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class Area:
    """Cells of a spreadsheet: "A1:D20" of a sheet, or of the first one if `sheet` is ""."""

    sheet: str
    cells: str
    within: tuple[Range, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A table, a sheet, or another part with a name."""

    name: str
    within: tuple[Range, ...] = ()


Piece = Ranges | SymbolPiece | Enclosing | Pages | Cells | Area | Named


@dataclass(frozen=True, slots=True)
class Target:
    """A file, a revision of it, a member of it if it is an archive, and a piece of that."""

    path: str
    piece: Piece | None = None
    member: str = ""
    """A path in the archive, "/" for all of it; members of nested archives follow another `!/`."""
    revision: str = ""
    pattern: str = ""
    """An expression: the lines that match it are meant."""


# --- resolving -----------------------------------------------------------------------------------------------------


def resolve(readings: Sequence[Target], take: Callable[[Target], T], exists: Callable[[str], bool]) -> T:
    """Return the result of `take` for the first reading whose file exists.

    `exists(path)` is called only to distinguish a missing revision from a name with an "@".

    Raises: NoMember or NoRevision, if a file exists that lacks them; else NotFound, or what `take` raises.
    """
    missing: ReadError | None = None
    inner: ReadError | None = None
    try:
        for target in readings:
            try:
                return take(target)
            except (NoMember, NoRevision) as error:
                # A missing name that contains "@" is not a question about a revision.
                if inner is None and (isinstance(error, NoMember) or exists(target.path)):
                    inner = error
            except (SystemFailure, InvalidPath) as error:
                if not is_missing(error):
                    raise
                missing = error
        raise inner or missing or NotFound("")
    finally:
        del inner, missing  # The traceback of an error holds this frame: a reference back would keep both in memory.


def is_missing(error: ReadError) -> bool:
    """Return True if no file can have the name: absent, or too long because its selector is part of it."""
    if isinstance(error, SystemFailure):
        return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
    return isinstance(error, InvalidPath)


# --- reading -------------------------------------------------------------------------------------------------------


def readings(text: str) -> list[Target]:
    """Return every way to understand a text, the likeliest first: as a plain name, then split from the right.

    Several readings may have the same archive and different members.
    """
    plain = _plain_readings(text)
    signs = _pattern_signs(text) if len(text) <= MAX_TEXT_CHARS else []
    # A name with the sign is a name; a part with the sign is rather a part and a pattern.
    at = text.find("?", 1)
    targets = [target for target in plain if len(target.path) > at]
    others = [target for target in plain if len(target.path) <= at]
    for sign in signs:
        pattern = text[sign + 1 :]
        if pattern and len(pattern) <= MAX_PATTERN_CHARS and "\n" not in pattern:
            # After a selector, signs at the end are part of it: `??` stands for one.
            is_signs = not pattern.strip("?")
            targets += [
                replace(target, pattern=pattern)
                for target in _plain_readings(text[:sign], is_whole=False)
                if target.piece is None or not is_signs
            ]
    return [*targets, *others]


def _pattern_signs(text: str) -> list[int]:
    """Return the places of `?` at which a pattern may begin: the last of several in a row; at the end, the first."""
    signs: list[int] = []
    at = text.find("?", 1)
    while at >= 0 and len(signs) < MAX_SPLITS:
        end = len(text) - len(text[at:].lstrip("?"))
        signs.append(end - 1 if end < len(text) else at)
        at = text.find("?", end)
    return signs


def _plain_readings(text: str, *, is_whole: bool = True) -> list[Target]:
    """Return the readings of a text without a pattern; one follows it unless it is whole."""
    targets = [Target(text)]
    if len(text) > MAX_TEXT_CHARS or not (":" in text or "@" in text or "!/" in text):
        return targets
    for path, piece in [*_pieces(text, is_whole=is_whole), (text, None)]:
        for target in bases(path, piece):
            if target not in targets:
                targets.append(target)
            if len(targets) >= MAX_READINGS:
                return targets
    return targets


def _pieces(text: str, *, is_whole: bool) -> list[tuple[str, Piece | None]]:
    """Return the splits of `path:selector`, longest path first.

    In a selector, `??` stands for a `?` that begins no pattern. Before a pattern there is no single one.
    """
    splits: list[tuple[str, Piece | None]] = []
    at = text.rfind(":")
    for _ in range(MAX_COLONS):
        if at <= 0 or len(splits) >= MAX_READINGS:
            break
        if text[at - 1] != ":":
            written = text[at + 1 :]
            piece = parse_piece(written.replace("??", "?"))
            if piece is not None and (is_whole or "?" not in written.replace("??", "")):
                splits.append((text[:at], piece))
        at = text.rfind(":", 0, at)
    return splits


def bases(text: str, piece: Piece | None) -> list[Target]:
    """Return the splits into path, revision and member, longest path first."""
    targets = [Target(text, piece)]
    at = text.rfind("!/")
    splits = [(text, "")]
    while at > 0 and len(splits) < MAX_SPLITS:
        splits.append((text[:at], text[at + 2 :] or "/"))
        at = text.rfind("!/", 0, at)
    for path, member in splits:
        targets.append(Target(path, piece, member))
        at = path.rfind("@")
        least = max(0, len(path) - MAX_NAME_CHARS)
        for _ in range(MAX_SPLITS):
            if at <= least:
                break
            revision = path[at + 1 :]
            if is_revision(revision) and path[at - 1] != "/":
                targets.append(Target(path[:at], piece, member, revision))
            at = path.rfind("@", 0, at)
    return targets


def is_revision(text: str) -> bool:
    return (
        bool(text)
        and text.isprintable()
        and not any(mark in text for mark in (*" :\\*?[", "!/"))
        and text[0] not in "-/"
    )


def parse_piece(text: str) -> Piece | None:
    """Return the piece that the text after the colon of a path selects, or None if it cannot be one."""
    if text.startswith(":"):
        name = text[1:]
        return SymbolPiece(name) if name.strip() and len(name) <= MAX_NAME_CHARS and "\n" not in name else None
    ranges = parse_ranges(text.removesuffix("::"))
    if ranges is not None and not text.endswith("::"):
        return Ranges(ranges)
    if ranges is not None:
        is_bounded = all(isinstance(one, Place) or (isinstance(one, Lines) and one.count) for one in ranges)
        return Enclosing(ranges) if is_bounded else None
    whole = _part(text, ())
    if whole is not None:
        return whole
    # Lines of the text of a part: the shortest tail that can be lines, so that an area keeps its colon.
    at = text.rfind(":")
    for _ in range(MAX_SPLITS):
        ranges = parse_ranges(text[at + 1 :]) if at > 0 else None
        part = None if ranges is None else _part(text[:at], ranges)
        if part is not None or at <= 0:
            return part
        at = text.rfind(":", 0, at)
    return None


def _part(text: str, within: tuple[Range, ...]) -> Piece | None:
    """Return pages, cells, an area or a name; None if the text is none of them."""
    if text[:1] in ("p", "c"):
        span = parse_span(text[1:])
        if span is not None:
            return Pages(*span, within) if text[0] == "p" else Cells(*span, within)
    if not text or len(text) > MAX_NAME_CHARS or "/" in text or "\n" in text:
        return None
    sheet, mark, cells = text.rpartition("!")
    if mark:
        return Area(sheet, cells, within) if sheet and is_area(cells) else None
    if ":" in text:
        return Area("", text, within) if is_area(text) else None
    return Named(text, within) if text.strip() == text and text[0] not in "-+,." and not text.isdigit() else None


def parse_ranges(text: str) -> tuple[Range, ...] | None:
    """Return the ranges of a text such as `10-20,40-60`, or None."""
    ranges: list[Range] = []
    for piece in text.split(","):
        one = _range(piece)
        if one is None:
            return None
        ranges.append(one)
    return tuple(ranges)


def parse_span(text: str) -> tuple[int, int | None] | None:
    """Return the first and the last number of `3`, `3-5` or `3-`, or None."""
    one = _parsed_lines(text) if "+" not in text else None
    return None if one is None else (one.first, None if one.count is None else one.first + one.count - 1)


def is_area(text: str) -> bool:
    """Return True if a text names cells of a sheet: A1, A1:D20, A:C, 5:9."""
    corners = text.replace("$", "").split(":")
    if len(corners) > 2 or not all(corners):
        return False
    shapes = set()
    for corner in corners:
        letters = corner.rstrip("0123456789")
        digits = corner[len(letters) :]
        if len(letters) > 3 or len(digits) > 7 or (letters and not (letters.isascii() and letters.isalpha())):
            return False
        shapes.add((bool(letters), bool(digits)))
    return len(shapes) == 1 and (len(corners) == 2 or shapes == {(True, True)})


def _range(text: str) -> Range | None:
    if ":" not in text:
        if text.startswith("-"):
            count = _number(text[1:])
            return None if count is None else Tail(count)
        return _parsed_lines(text)
    left, _, right = text.partition(":")
    line = _number(left)
    place, plus, chars = right.partition("+")
    if plus:
        first, max_chars = _number(place), _number(chars)
        if line is None or first is None or max_chars is None:
            return None
        return CharRange(line, first, line, max_chars)
    start, dash, end = right.partition("-")
    column = _number(start)
    if line is None or column is None:
        return None
    if not dash:
        return Place(line, column)
    last = _number(end) if end else None
    return None if end and (last is None or last < line) else CharRange(line, column, last)


def _parsed_lines(text: str) -> Lines | None:
    for mark in "-+":
        left, sign, right = text.partition(mark)
        if not sign:
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
    """Return a positive number written in ASCII digits, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0 else None


# --- writing -------------------------------------------------------------------------------------------------------


def write_target(target: Target) -> str:
    """Return a text of which this target is one of the `readings`: of those with its file, the first."""
    text = target.path
    if target.revision:
        text += f"@{target.revision}"
    if target.member:
        text += "!/" if target.member == "/" else f"!/{target.member}"
    if isinstance(target.piece, SymbolPiece) and not target.pattern:
        return text + write_symbol(target.piece.name)
    if target.piece is not None:
        text += f":{write_piece(target.piece)}"
    return f"{text}?{target.pattern}" if target.pattern else text


def write_symbol(name: str) -> str:
    """Return the name of a symbol as it follows a path, if nothing follows it: `::empty?`, but `::What?? And why`."""
    escaped = name.replace("?", "??")
    return f"::{escaped.removesuffix('?') if escaped.endswith('??') else escaped}"


def write_piece(piece: Piece) -> str:
    """Return the text that is read as this piece after a path and a colon. Lines or a pattern may follow it."""
    return _write_piece(piece).replace("?", "??")


def _write_piece(piece: Piece) -> str:
    """Return the text that `parse_piece` parses as this piece."""
    if isinstance(piece, Ranges):
        return _ranges(piece.ranges)
    if isinstance(piece, SymbolPiece):
        return f":{piece.name}"
    if isinstance(piece, Enclosing):
        return f"{_ranges(piece.ranges)}::"
    if isinstance(piece, (Pages, Cells)):
        text = f"{'p' if isinstance(piece, Pages) else 'c'}{_span(piece.first, piece.last)}"
    elif isinstance(piece, Area):
        text = f"{piece.sheet}!{piece.cells}" if piece.sheet else piece.cells
    else:
        text = piece.name
    return f"{text}:{_ranges(piece.within)}" if piece.within else text


def _ranges(ranges: tuple[Range, ...]) -> str:
    return ",".join([write_range(one) for one in ranges])


def write_range(one: Range) -> str:
    """Return the text that `parse_ranges` parses as this one range."""
    if isinstance(one, Tail):
        return f"-{one.count}"
    if isinstance(one, Place):
        return f"{one.line}:{one.column}"
    if isinstance(one, CharRange):
        if one.max_chars is not None and one.last == one.first:
            return f"{one.first}:{one.column}+{one.max_chars}"
        return f"{one.first}:{one.column}-{'' if one.last is None else one.last}"
    return _span(one.first, None if one.count is None else one.first + one.count - 1)


def _span(first: int, last: int | None) -> str:
    return f"{first}-" if last is None else f"{first}" if last == first else f"{first}-{last}"
