"""The contract between reads and edits: which lines that were shown have changed, and which were never shown.

`changed` and `unseen` compare what a tool has shown with the files as they are, and answer by selectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from eyespan import errors, kinds
from eyespan.context import CallContext
from eyespan.dialects.native.holdings import as_hash, hash_row
from eyespan.dialects.native.rows import Row, as_selector_range, ranges_of, rows_of, split_runs
from eyespan.dialects.native.text import FileText
from eyespan.model import CharRange, Lines
from eyespan.selectors import Range, Ranges, Target, parse_ranges, write_piece, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native import Native
    from eyespan.engine import Engine


def changed(dialect: Native, engine: Engine) -> list[str]:
    """Return selectors of the lines of text files that were shown and are no longer so, by the numbers shown.

    A file that cannot be read any more is named without lines.
    """
    from eyespan.dialects.native.call import Files

    found: list[str] = []
    for key, target in dialect.holdings.texts().items():
        if target.piece is not None or target.revision:
            continue  # the text of a part of a document, or one that cannot change
        held = dialect.holdings.lines(key)
        now: dict[int, int] = {}
        try:
            with Files(engine, CallContext(engine.deadline_seconds), dialect, dialect.documents) as files:
                opened = files.open(target)
                if opened.kind is kinds.TEXT:
                    text = FileText(opened)
                    for run in _runs(held):
                        now |= {row.number: hash_row(row, row.text) for row in rows_of(text.read(run)[0])}
        except errors.ReadError:
            found.append(write_target(target))
            continue
        numbers = [number for number, value in held.items() if now.get(number) != value]
        if numbers and opened.kind is kinds.TEXT:
            found.append(_selector(target, numbers))
    return found


def unseen(dialect: Native, engine: Engine, path: str, first: int, last: int) -> list[str]:
    """Return selectors of the lines of a text file that were never shown. Raises: ReadError."""
    from eyespan.dialects.native.call import Files

    target = Target(path)
    with Files(engine, CallContext(engine.deadline_seconds), dialect, dialect.documents) as files:
        key = (files.open(target).facts.canonical, None, "", "")
    held = dialect.holdings.lines(key)
    numbers = [number for number in range(first, last + 1) if number not in held]
    return [_selector(target, numbers)] if numbers else []


def part_seen(lines: str, header: str) -> str:
    """Return the selector of the part that a hash from a header covers: its lines, if given, or exactly `lines`.

    Returns "" if the part lacks some of the lines. Raises: ValueError for what are no lines and no hash.
    """
    from eyespan.dialects.native.arguments import known_parts

    wanted = parse_ranges(lines)
    if wanted is None or as_hash(header) is None:
        raise ValueError(f'lines are as in "10-20", a hash as in "482913758201", not {lines!r} and {header!r}')
    ((_, parts),) = known_parts([header]).items()
    seen = tuple([as_selector_range(part) for part in parts]) or wanted
    return write_piece(Ranges(seen)) if _numbers(wanted) <= _numbers(seen) else ""


def has_anchors(text: str) -> bool:
    """Return True if a text is anchors of lines: `12:a3f 14:x0b`."""
    return re.fullmatch(r"\d+:[a-z][0-9a-z]{2}(?:[ ,]+\d+:[a-z][0-9a-z]{2})*", text) is not None


def _numbers(ranges: Iterable[Range]) -> set[int]:
    return {
        number
        for one in ranges
        if isinstance(one, Lines) and one.count
        for number in range(one.first, one.first + one.count)
    }


def _selector(target: Target, numbers: Iterable[int]) -> str:
    found = _runs(numbers)
    ranges = tuple([as_selector_range(CharRange(one.first, 1, one.last)) for one in found])
    return write_target(replace(target, piece=Ranges(ranges)))


def _runs(numbers: Iterable[int]) -> list[CharRange]:
    return ranges_of(split_runs([Row(number, 1, "") for number in sorted(numbers)]))
