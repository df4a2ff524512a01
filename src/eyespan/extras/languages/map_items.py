"""Items that map a directory: counts and sizes, and its files by rank with the names they define."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from eyespan import errors, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines, searches
from eyespan.dialects.native.items import RowsItem, counted, row_range, rows_after
from eyespan.engine import Engine
from eyespan.extras.languages.maps import MapFile, TreeMap, shared
from eyespan.guard.tree import MAX_FILES
from eyespan.model import Lines
from eyespan.selectors import Ranges, Target, write_target
from eyespan.selectors.globs import split_glob

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View


ROW_NAMES = 5
"""The names in the row of a file."""
DIRECTORY_SHARE = 4
"""Directories take at most this part of the answer."""
LEAST_ROW_TOKENS = 4
"""A path and a size."""


def map_item(target: Target, tree: TreeMap, view: View, passed: int = 0) -> RowsItem:
    """Return the files of a directory, or those that a pattern matches, by rank.

    The numbers of the rows begin after the files that were passed. Raises: NotRegular, PastEnd.
    """
    base, pattern = split_glob(target.path)
    prefix = "" if base in ("", ".") else base.rstrip("/") + "/"
    glob = f"{prefix}{pattern or '**'}"
    total = len(tree.files)
    first, last = row_range(target, passed + total)
    max_rows = max(1, view.budget // LEAST_ROW_TOKENS)  # no more rows can be shown
    files = tree.files[first - 1 - passed : min(last, first - 1 + max_rows) - passed]
    rows = [[own_lines.entry(_row(prefix, file))] for file in files]
    after = f" after the first {passed}" if passed else ""
    title = f"map of {own_lines.quoted(glob)}: {counted(total, 'file')}{after}, {_size(tree.size_bytes)}"
    title += "" if tree.is_complete else " of more"
    title += f", names of {tree.scanned} so far, the next call continues" if tree.is_partial else ""

    def header(count: int, max_tokens: int | None) -> Sequence[str]:
        line = own_lines.words(title + (f", {first}-{first + count - 1} shown" if count != total else ""))
        largest = tree.largest if first == passed + 1 else ()
        while largest:
            listed = [f"{prefix}{path} {counted(n, 'file')}, {_size(size)}" for path, n, size in sorted(largest)]
            if max_tokens is None or tokens.estimate("\n".join(listed)) <= max_tokens // DIRECTORY_SHARE:
                names = own_lines.words("files by rank, names with lines:")
                return [line, own_lines.words("directories:"), *map(own_lines.entry, listed), names]
            largest = largest[: len(largest) * 3 // 4]
        return [line]

    facts = {"path": write_target(target), "kind": "map", "files": total}
    goes_on = total == MAX_FILES and not tree.is_complete and target.piece in (None, Ranges((Lines(first),)))
    following = partial(rows_after, glob, first, None if goes_on else last - first + 1)
    return RowsItem(write_target(target), rows, header, following, facts, view, key=f"map of {glob}")


def _row(prefix: str, file: MapFile) -> str:
    row = f"{prefix}{file.path} {_size(file.size_bytes)}"
    if not file.names:
        return row
    names = ", ".join([f"{line} {name}" for name, line in file.names[:ROW_NAMES]])
    more = file.name_count - min(ROW_NAMES, len(file.names))
    return f"{row}: {names}{f' +{more}' if more > 0 else ''}"


def plan_map(target: Target, view: View, engine: Engine, context: CallContext) -> RowsItem:
    """Return the map of a directory or of the files that a pattern matches.

    A map has `MAX_FILES` files at most. Rows beyond them are those of the files that follow: `src/**:100001-`.

    Raises: ReadError; NotFound, if it matches none.
    """
    base, pattern = split_glob(target.path)
    matches = searches.matcher(target.path, pattern, context) if pattern not in ("", "**") else None
    passed = (row_range(target, sys.maxsize)[0] - 1) // MAX_FILES * MAX_FILES
    numbers = count()

    def accepts(path: str) -> bool:
        return (matches is None or matches(path)) and next(numbers) >= passed

    accepted = accepts if passed else matches

    def pay(size_bytes: int) -> bool:
        try:
            context.charge(size_bytes)
        except errors.TooMuchMemory:
            return False
        return True

    with context.memory.loan():
        found = shared().make(
            lambda choose, take, size: engine.explore(base or ".", choose, take, size, context, accepted),
            lambda: context.is_half_over,
            pay,
        )
    if pattern and not found.files and not (passed and found.is_complete):
        if found.is_complete:
            raise errors.NotFound(target.path)
        reason = "not found so far: there are too many files to look at all; begin with the directory of the file"
        raise errors.Unsearched(errors.NotFound(target.path), reason)
    return map_item(target, found, view, min(passed, next(numbers)))  # the tree may have fewer


def _size(size_bytes: int) -> str:
    if size_bytes < 1024:
        return f"{size_bytes} B"
    return f"{size_bytes / 1024:.0f} KB" if size_bytes < 1 << 20 else f"{size_bytes / (1 << 20):.1f} MB"
