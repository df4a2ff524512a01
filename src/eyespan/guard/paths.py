"""Map the text of a path to a root and the rest of the path. Nothing on disk is accessed.

Nothing is expanded: `~`, `$NAME`, `*` and `%20` are ordinary characters. Nothing is normalised either, except for
dialects that request it (`lexical`): `a/../b` means what the file system makes of it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from eyespan.errors import InvalidPath, OutsideRoot, SystemFailure

if TYPE_CHECKING:
    from eyespan.guard.roots import Root

MAX_PATH_BYTES = 4095
"""The limit of Linux: PATH_MAX is 4096 and includes the NUL after the path."""
_POSIX = os.name == "posix"
_SCHEMES = ("file:", "http:", "https:", "ftp:", "data:")


class Roots(tuple["Root", ...]):
    """Roots in their order, found by name in a time that does not depend on their number."""

    @cached_property
    def by_spelling(self) -> dict[tuple[str, ...], Root]:
        """The root of each spelling; the first of those that are spelled alike."""
        return {spelling: root for root in reversed(self) for spelling in root.spellings}

    @cached_property
    def depth(self) -> int:
        """The number of names in the longest spelling."""
        return max(map(len, self.by_spelling), default=0)

    @cached_property
    def local(self) -> Roots:
        """Those that a link may lead to."""
        return Roots([root for root in self if not root.is_remote])


def check(path: str) -> None:
    """Refuse what is not a path on any platform.

    Raises: InvalidPath, SystemFailure (ENAMETOOLONG).
    """
    if "\0" in path:
        raise InvalidPath(path, "the path contains a NUL byte")
    if len(path) > MAX_PATH_BYTES // 4:
        try:
            size = len(os.fsencode(path))
        except UnicodeEncodeError:
            size = 0  # not Unicode: reported below
        if size > MAX_PATH_BYTES:
            raise SystemFailure(path, errno.ENAMETOOLONG)
    colon = path.find(":")
    if colon > 0:
        lower = path[: colon + 1].lower()
        if lower in _SCHEMES or (path.startswith("//", colon + 1) and _is_scheme(path[:colon])):
            raise InvalidPath(path, "a path is expected, not a URI; web servers and buckets are read as roots (--root)")
        if colon == 1 and path[0].isalpha() and path[0].isascii() and path[2:3] in ("", "/", "\\"):
            raise InvalidPath(path, "a drive letter is not part of a path here")
    if path.startswith("\\\\"):
        raise InvalidPath(path, "a network path is not a path here")
    if not path.isascii():
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise InvalidPath(path, "the path is not valid Unicode") from None


def as_relative(path: str) -> str:
    """Return a path below a root in a spelling that `check` accepts: `./c:/x` for a directory that is named `c:`."""
    if ":" in path or path.startswith("\\\\"):
        try:
            check(path)
        except InvalidPath:
            return f"./{path}"
    return path


def _is_scheme(text: str) -> bool:
    return text[0].isalpha() and text.isascii() and all(c.isalnum() or c in "+.-" for c in text)


def locate(path: str, roots: Sequence[Root], *, lexical: bool = False) -> tuple[Root, str]:
    """Return the root that a path belongs to and the rest of the path below it, as written.

    Relative paths belong to the first root. With `lexical`, `.` and `..` are resolved in the text first, even through
    directories that do not exist and out of the root and back.

    Raises: OutsideRoot, InvalidPath, SystemFailure.
    """
    check(path)
    first = roots[0]
    if lexical:
        path = os.path.normpath(os.path.join(first.path, path))
    if not (path[:1] == "/" if _POSIX else os.path.isabs(path)):  # isabs takes longer than everything else here
        return first, path
    if len(roots) == 1 and path.startswith(first.prefix):
        return first, path[len(first.prefix) :].lstrip("/")
    found = beneath(path, roots)
    if found is None:
        raise OutsideRoot(path)
    return found


def beneath(path: str, roots: Sequence[Root]) -> tuple[Root, str] | None:
    """Return the deepest root that contains an absolute path, by components, and the rest of the path; or None."""
    known = roots if isinstance(roots, Roots) else Roots(roots)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for count in range(min(len(parts), known.depth), -1, -1):
        root = known.by_spelling.get(tuple(parts[:count]))
        if root is not None:
            return root, _rest_after(path, parts[:count])
    return None


def _rest_after(path: str, parts: list[str]) -> str:
    at = 0
    for part in parts:
        while path.startswith(("/", "./"), at):
            at += 1
        at += len(part)
    return path[at:].lstrip("/")
