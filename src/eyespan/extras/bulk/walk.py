"""Paths, directories and patterns to files, in one fixed order: that of their paths, character by character.

Directories of any size are walked to their end. A bucket is listed by its keys, which stores send in that order. What
ignore files name is left out, unless the workspace is open without them; a file that is named is found.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import InvalidPath, NotFound, NotRegular, ReadError, Unsearched, from_os_error
from eyespan.escape import named_path
from eyespan.guard.paths import as_relative
from eyespan.guard.tree import MAX_DEPTH, Identity
from eyespan.selectors.globs import PathGlob, split_glob

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


FoundFile = tuple[str, ReadError | None, Identity | None]


def find_files(workspace: Workspace, targets: Iterable[str]) -> Iterator[FoundFile]:
    """Yield the path of each file that the targets name, once per target; a path that cannot be searched has an error.

    The third value is the identity of the file's version, where the listing of a bucket has it.

    A target is a file, a directory with everything below it, or a pattern (`selectors.globs`). Links that a
    directory contains are not followed, so nothing is found twice. Names that a rule forbids are left out.
    """
    for target in map(named_path, targets):
        if set("*?[") & set(target):
            yield from _matching(workspace, target)
        else:
            yield from _named(workspace, target)


def _matching(workspace: Workspace, target: str) -> Iterator[FoundFile]:
    start, glob = split_glob(target.removeprefix("./"), "*?[{")
    lead = start and f"{start.rstrip('/')}/"
    has_match = False
    try:
        pattern = PathGlob(glob)
    except ValueError as reason:
        yield target, Unsearched(InvalidPath(target, str(reason))), None
        return
    for path, error, identity in _below(workspace, start or ".", start):
        if isinstance(error, Unsearched) or pattern.matches(path.removeprefix(lead)):
            has_match = True
            yield path, error, identity
    if not has_match:
        yield target, Unsearched(NotFound(target), "no file matches"), None


def _named(workspace: Workspace, target: str) -> Iterator[FoundFile]:
    try:
        status = workspace.engine.describe(target, CallContext(workspace.deadline_seconds))
    except ReadError as error:
        yield target, None if "!/" in target else Unsearched(error), None
    else:
        if stat.S_ISDIR(status.st_mode):
            yield from _below(workspace, target.rstrip("/") or "/", "" if target in (".", "./") else target)
        else:
            yield target, None, None


def _below(workspace: Workspace, directory: str, name: str) -> Iterator[FoundFile]:
    """Yield the files below a directory, which has this name in their paths."""
    base = "" if not name else name.rstrip("/") + "/"
    context = CallContext(workspace.deadline_seconds)
    try:
        for below, error, identity in workspace.engine.walk(directory, context):
            path = as_relative(base + below)
            context.renew()
            if isinstance(error, OSError):
                yield path, Unsearched(from_os_error(error, path)), None
            elif isinstance(error, NotRegular) and error.what == "other":
                yield path, NotRegular(path, what="other"), None
            elif error is not None:
                yield path, Unsearched(NotRegular(path, what="directory"), f"deeper than {MAX_DEPTH} directories"), None
            else:
                yield path, None, identity
    except ReadError as error:
        yield directory, Unsearched(error), None
    finally:
        context.finish()


def order(path: str) -> str:
    """Return the key by which `find_files` sorts the files of a directory and everything below it."""
    return path.removeprefix("./")
