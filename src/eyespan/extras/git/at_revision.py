"""Open a file as it was in a revision."""

from __future__ import annotations

import os

from eyespan.context import CallContext
from eyespan.errors import NoRevision, NotRegular, OutsideRoot, ReadError, Unreadable
from eyespan.extras.git import repository
from eyespan.extras.git.objects import SUBMODULE, SYMBOLIC_LINK, TREE, ObjectStore
from eyespan.extras.git.revisions import resolve
from eyespan.guard import Guard
from eyespan.model import ReadRequest
from eyespan.source import Source


def open_at(guard: Guard, request: ReadRequest, context: CallContext) -> Source:
    """Open a file as it was in a revision.

    Raises: NoRevision, PolicyDenied, OutsideRoot, NotRegular, Unreadable, and what opening and reading raise.
    """
    root, rest = guard.admit(request.path, lexical=request.lexical)
    path = os.path.normpath(rest).replace(os.sep, "/")
    if path.startswith("../") or path in ("..", "."):
        raise OutsideRoot(request.path) if path != "." else NotRegular(request.path, what="directory")
    guard.policy.admit(path, request.path, root.canonical)
    try:
        holder, inner = repository.find(guard, root.path, path, request.revision)
        for spelling in (inner, *holder.paths_of(inner)):
            guard.policy.admit(spelling, request.path, root.canonical)
        with ObjectStore(holder, context) as objects:
            digest = _find_blob(objects, inner, request.revision)
            address = guard.address(root, path)
            source = objects.open_blob(digest, path=f"{address}@{request.revision}", name=path)
    except ReadError as error:
        error.path, error.relative = request.path, guard.address(root, rest)
        raise
    source.asked = request.path
    source.canonical = source.path
    return source


def _find_blob(objects: ObjectStore, path: str, revision: str) -> str:
    """Return the hash of a file's contents in a revision."""
    mode, digest = TREE, resolve(objects, revision).tree
    for part in path.split("/"):
        entry = objects.find_in_tree(digest, part) if mode == TREE else None
        if entry is None:
            raise NoRevision("", revision=revision, reason=f"the file does not exist in revision {revision!r}")
        mode, digest = entry
    if mode in (TREE, SUBMODULE):
        raise NotRegular("", what="directory")
    if mode == SYMBOLIC_LINK:
        reason = "it is a symbolic link in this revision; links in revisions are not followed"
        raise Unreadable("", kind="git", reason=reason)
    return digest
