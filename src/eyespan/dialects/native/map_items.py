"""Items that map a directory: counts and sizes, and its files by rank with the names they define."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from eyespan import errors, plugins, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.items import RowsItem, counted, row_range, rows_after
from eyespan.engine import Engine
from eyespan.selectors import Target, write_target
from eyespan.selectors.globs import PathGlob, split_glob

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.extras.languages.maps import MapFile, TreeMap


ROW_NAMES = 5
"""The names in the row of a file."""
DIRECTORY_SHARE = 4
"""Directories take at most this part of the answer."""
LEAST_ROW_TOKENS = 4
"""A path and a size."""
KIB = 1024


def map_item(target: Target, tree: TreeMap, view: View) -> RowsItem:
    """Return the files of a directory, or those that a pattern matches, by rank. Raises: NotRegular."""
    base, pattern = split_glob(target.path)
    prefix = "" if base in ("", ".") else base.rstrip("/") + "/"
    glob = f"{prefix}{pattern or '**'}"
    total = len(tree.files)
    first, last = row_range(target, total)
    max_rows = max(1, view.budget // LEAST_ROW_TOKENS)  # no more rows can be shown
    files = tree.files[first - 1 : min(last, first - 1 + max_rows)]
    rows = [[own_lines.entry(_row(prefix, file))] for file in files]
    title = f"map of {own_lines.quoted(glob)}: {counted(total, 'file')}, {_size(tree.size_bytes)}"
    title += "" if tree.is_complete else " of more"
    title += f", names of {tree.scanned} so far, the next call continues" if tree.is_partial else ""

    def header(count: int, max_tokens: int | None) -> Sequence[str]:
        line = own_lines.words(title + (f", {first}-{first + count - 1} shown" if count != total else ""))
        largest = tree.largest if first == 1 else ()
        while largest:
            listed = [f"{prefix}{path} {counted(n, 'file')}, {_size(size)}" for path, n, size in sorted(largest)]
            if max_tokens is None or tokens.estimate("\n".join(listed)) <= max_tokens // DIRECTORY_SHARE:
                names = own_lines.words("files by rank, names with lines:")
                return [line, own_lines.words("directories:"), *map(own_lines.entry, listed), names]
            largest = largest[: len(largest) * 3 // 4]
        return [line]

    facts = {"path": write_target(target), "kind": "map", "files": total}
    following = partial(rows_after, glob, first, last - first + 1)
    return RowsItem(write_target(target), rows, header, following, facts, view, key=f"map of {glob}")


def _row(prefix: str, file: MapFile) -> str:
    row = f"{prefix}{file.path} {_size(file.size_bytes)}"
    if not file.names:
        return row
    names = ", ".join([f"{line} {name}" for name, line in file.names[:ROW_NAMES]])
    more = file.name_count - min(ROW_NAMES, len(file.names))
    return f"{row}: {names}{f' +{more}' if more > 0 else ''}"


def plan_map(target: Target, view: View, engine: Engine, context: CallContext) -> RowsItem | None:
    """Return the map of a directory or of the files that a pattern matches; None if it matches none.

    Raises: ReadError.
    """
    base, pattern = split_glob(target.path)
    accepts = _matcher(target.path, pattern, context) if pattern else None

    paid: list[int] = []

    def pay(size_bytes: int) -> bool:
        try:
            context.charge(size_bytes)
        except errors.TooMuchMemory:
            return False
        paid.append(size_bytes)
        return True

    try:
        found: TreeMap = plugins.load(plugins.own("MAPS")[0])().make(
            lambda choose, take, max_bytes: engine.explore(base or ".", choose, take, max_bytes, context, accepts),
            lambda: context.is_half_over,
            pay,
        )
    finally:
        context.memory.refund(sum(paid))
    if pattern and not found.files:
        if found.is_complete:
            return None
        reason = "not found so far: there are too many files to look at all; begin with the directory of the file"
        raise errors.Unsearched(errors.NotFound(target.path), reason)
    return map_item(target, found, view)


def _matcher(path: str, pattern: str, context: CallContext) -> Callable[[str], bool] | None:
    """Return the test of a path by a pattern; None if all paths match. Raises: InvalidPath."""
    if pattern == "**":
        return None
    try:
        return PathGlob(pattern, context.check).matches
    except ValueError as error:
        raise errors.InvalidPath(path, str(error)) from None


def _size(size_bytes: int) -> str:
    if size_bytes < KIB:
        return f"{size_bytes} B"
    return f"{size_bytes / KIB:.0f} KB" if size_bytes < KIB * KIB else f"{size_bytes / KIB / KIB:.1f} MB"
