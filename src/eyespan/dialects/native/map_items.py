"""Items that map a directory: counts and sizes, and its files by rank with the names they define."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eyespan import errors, plugins, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.holdings import Digest
from eyespan.dialects.native.items import LEAST_TOKENS, LEFT_TOKENS, Shown, counted
from eyespan.dialects.native.rows import count_fitting
from eyespan.engine import Engine
from eyespan.model import Lines
from eyespan.selectors import Ranges, Target, write_target
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
SHARE_LEFT = 0.5
"""The share of the deadline that is left for the ranking when the scan of files ends."""
KIB = 1024


class MapItem:
    """The files of a directory, or those that a pattern matches, by rank."""

    def __init__(self, target: Target, found: TreeMap, view: View) -> None:
        """Raises: NotRegular for a target that names anything but rows of the map."""
        self._base, pattern = split_glob(target.path)
        self._prefix = "" if self._base in ("", ".") else self._base.rstrip("/") + "/"
        self._glob = f"{self._prefix}{pattern or '**'}"
        self._found = found
        self._known = view.known
        self._max_rows = max(1, view.budget // LEAST_ROW_TOKENS)
        """No more rows can be shown."""
        self.selector = write_target(target)
        self._first, self._last = 1, len(found.files)
        match target.piece:
            case None:
                pass
            case Ranges((Lines(start, count),)):
                self._first = start
                self._last = self._last if count is None else min(self._last, start + count - 1)
            case _:
                raise errors.NotRegular(target.path, what="directory")
        wanted = found.files.rows(self._first - 1, min(self._last, self._first - 1 + self._max_rows))
        self._rows = [own_lines.entry(self._row(file)) for file in wanted]

    def _row(self, file: MapFile) -> str:
        row = f"{self._prefix}{file.path} {_size(file.size_bytes)}"
        if not file.names:
            return row
        names = ", ".join([f"{line} {name}" for name, line in file.names[:ROW_NAMES]])
        more = file.name_count - min(ROW_NAMES, len(file.names))
        return f"{row}: {names}{f' +{more}' if more > 0 else ''}"

    def need(self) -> int:
        count = self._last - self._first + 1
        if count > len(self._rows):
            return self._max_rows * LEAST_ROW_TOKENS + 1
        return tokens.estimate(own_lines.write(self._lines(self._rows, self._directories()))) + 1

    def _directories(self, most: int | None = None) -> list[str]:
        """Return rows of the largest directories, in the order of their names."""
        if self._first > 1:
            return []
        rows = sorted(self._found.largest[:most])
        return [
            own_lines.entry(f"{self._prefix}{path} {counted(count, 'file')}, {_size(size)}")
            for path, count, size in rows
        ]

    def _lines(self, rows: Sequence[str], directories: Sequence[str]) -> tuple[str, ...]:
        """Return header, directories and files; the header alone if the caller holds them."""
        value = self._hash(rows, directories)
        header = f"{self._header(len(rows))} #{value}"
        if value in self._known:
            return (own_lines.words(f"{header} unchanged"),)
        parts: list[str] = [own_lines.words(header)]
        if directories:
            parts += [
                own_lines.words("directories:"),
                *directories,
                own_lines.words("files by rank, names with lines:"),
            ]
        return (*parts, *rows)

    def _header(self, count: int) -> str:
        found = self._found
        header = (
            f"map of {own_lines.quoted(self._glob)}: {counted(len(found.files), 'file')}, {_size(found.size_bytes)}"
        )
        if not found.is_complete:
            header += " of more"
        if found.is_partial:
            header += f", names of {found.scanned} so far, the next call continues"
        if count != len(found.files):
            header += f", {self._first}-{self._first + count - 1} shown"
        return header

    def _hash(self, rows: Sequence[str], directories: Sequence[str]) -> str:
        digest = Digest(f"map of {self._glob}")
        for row in (*directories, *rows):
            digest.add(row)
        return digest.value()

    def show(self, max_tokens: int) -> Shown:
        rows = self._rows
        directories = self._directories()
        wanted = self._last - self._first + 1
        if self.need() > max_tokens:
            share = max_tokens // DIRECTORY_SHARE
            while directories and tokens.estimate("\n".join(directories)) > share:
                directories = self._directories(len(directories) * 3 // 4)
            around = tokens.estimate(own_lines.write(self._lines([], directories)) + self._glob)
            room = max(LEAST_TOKENS, max_tokens - around - LEFT_TOKENS)
            rows = rows[: count_fitting(rows, room, tokens.estimate) or 1]
        lines = self._lines(rows, directories)
        left = None
        if len(rows) < wanted:
            following = Ranges((Lines(self._first + len(rows), wanted - len(rows)),))
            left = write_target(Target(self._glob, following))
        facts: dict[str, Any] = {
            "path": self.selector,
            "kind": "map",
            "files": len(self._found.files),
            "hash": self._hash(rows, directories),
            "tokens": tokens.estimate(own_lines.write(lines)),
            "next": left,
        }
        if facts["hash"] in self._known:
            facts["unchanged"] = True
        return Shown(lines, facts, () if left is None else (left,))


def plan_map(target: Target, view: View, engine: Engine, context: CallContext) -> MapItem | None:
    """Return the map of a directory or of the files that a pattern matches; None if it matches none.

    Raises: ReadError.
    """
    base, pattern = split_glob(target.path)
    accepts = _matcher(target.path, pattern, context) if pattern else None

    def is_late() -> bool:
        left = context.left()
        return left is not None and left < (context.seconds or 0.0) * SHARE_LEFT

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
            lambda choose, take, max_bytes: engine.explore(base or ".", choose, take, max_bytes, context),
            accepts,
            is_late,
            pay,
        )
    finally:
        context.memory.refund(sum(paid))
    if pattern and not found.files:
        return None
    return MapItem(target, found, view)


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
