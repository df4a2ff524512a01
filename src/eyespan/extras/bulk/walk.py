"""Paths, directories and patterns to files, in one fixed order: that of their paths, character by character.

Directories of any size are walked to their end. A bucket is listed by its keys, which stores send in that order. What
ignore files name is left out, unless the workspace is open without them; a file that is named is found.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import NotFound, NotRegular, ReadError, Unsearched, from_os_error
from eyespan.escape import named_path
from eyespan.guard.paths import as_relative
from eyespan.guard.tree import Identity

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


FoundFile = tuple[str, ReadError | None, Identity | None]


def find_files(workspace: Workspace, targets: Iterable[str]) -> Iterator[FoundFile]:
    """Yield the path of each file that the targets name, once per target; a path that cannot be searched has an error.

    The third value is the identity of the file's version, where the listing of a bucket has it.

    A target is a file, a directory with everything below it, or a pattern with `*`, `?`, `[...]` and `**`. Links that
    a directory contains are not followed, so nothing is found twice. Names that a rule forbids are left out.
    """
    for target in map(named_path, targets):
        if any(sign in target for sign in "*?["):
            fixed = target.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]
            pattern = _compiled(target)
            start = fixed or ("/" if target.startswith("/") else ".")
            has_match = False
            for path, error, identity in _below(workspace, start, "" if start == "." else None):
                if isinstance(error, Unsearched) or pattern.fullmatch(path):
                    has_match = True
                    yield path, error, identity
            if not has_match:
                yield target, Unsearched(NotFound(target), "no file matches"), None
        else:
            yield from _named(workspace, target)


def _named(workspace: Workspace, target: str) -> Iterator[FoundFile]:
    try:
        status = workspace.engine.describe(target, CallContext(workspace.deadline_seconds))
    except ReadError as error:
        yield target, None if "!/" in target else Unsearched(error), None
    else:
        if stat.S_ISDIR(status.st_mode):
            yield from _below(workspace, target.rstrip("/") or "/", "" if target in (".", "./") else None)
        else:
            yield target, None, None


def _below(workspace: Workspace, directory: str, prefix: str | None) -> Iterator[FoundFile]:
    """Yield the files below a directory; `prefix` replaces its name in their paths."""
    name = directory if prefix is None else prefix
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
                yield path, Unsearched(NotRegular(path, what="directory")), None
            else:
                yield path, None, identity
    except ReadError as error:
        yield directory, Unsearched(error), None
    finally:
        context.finish()


def order(path: str) -> str:
    """Return the key by which `find_files` sorts the files of a directory and everything below it."""
    return path.removeprefix("./")


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern: `**/` matches any number of directories, `*` and `?` no slash."""
    pattern = pattern.removeprefix("./")
    parts = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append(r"(?:[^/]+/)*")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(r".*")
            at += 2
        elif pattern[at] == "*":
            parts.append(r"[^/]*")
            at += 1
        elif pattern[at] == "?":
            parts.append(r"[^/]")
            at += 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", r"\\")
            parts.append(f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner}]")
            at = end + 1
        else:
            parts.append(re.escape(pattern[at]))
            at += 1
    return re.compile("".join(parts), re.DOTALL)
