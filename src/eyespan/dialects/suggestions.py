"""Suggestions for a path that names no file: similar names.

Directories are listed through the guard, so only names inside the roots that no rule forbids are suggested.
"""

from __future__ import annotations

from collections.abc import Callable

from eyespan import errors, suggest
from eyespan.context import CallContext, WouldBlock
from eyespan.dialects.base import Dialect
from eyespan.engine import Engine
from eyespan.escape import visible
from eyespan.guard import Root
from eyespan.guard.listing import Listing
from eyespan.model import ReadRequest, ReplyError
from eyespan.policy import Policy

MAX_PATH_CHARS = 4096
"""No file has a longer path, so nothing is similar to one."""
MAX_LEVELS_UP = 32
MAX_LOCATED_PATHS = 40
"""The wrong paths of a call that are compared with all files below the roots."""
TREE_COPIES = 3
"""The memory of the names of a tree while paths are compared with them, in copies of their text."""
MAX_LOOKUPS = 200
"""The directories and files that are opened for all wrong paths of a call, so that a hundred deep names do not delay
the answer."""


def _below(root: Root, path: str) -> str:
    """Return the part of a path after the root, if it begins with it."""
    for spelling in (root.path, root.canonical):
        if path.startswith(f"{spelling.rstrip('/')}/"):
            path = path[len(spelling) :]
    return path


def _admission(policy: Policy, root: str) -> Callable[[str], bool]:
    """Return a function that admits the paths below a root that no rule forbids.

    It refers to no tree, so a tree with all names is freed when the call ends, and not by the next garbage collection.
    """

    def admits(path: str) -> bool:
        rule = policy.rule_against(path, root)
        if rule is None and path.endswith("/"):
            rule = policy.rule_against(f"{path}x", root)
        return rule is None

    return admits


class Suggestions:
    """Suggestions for the wrong paths of one call: every directory is listed once."""

    def __init__(self, engine: Engine, context: CallContext) -> None:
        self._engine = engine
        self._context = context
        self._listings: dict[str, Listing | None] = {}
        self._lookups = 0
        self._trees: list[tuple[Root, suggest.Tree, str, bool]] | None = None
        """The files below each root, the start of the paths that lead to them, and whether these are all."""
        self._located: dict[str, suggest.Located] = {}

    @property
    def is_remote(self) -> bool:
        """Return True if opening a file is a request to a server."""
        return self._engine.guard.roots[0].is_remote

    def similar(self, path: str) -> list[str]:
        """Return the names that are similar to the first wrong one of a path, the most similar first."""
        descent = self._descent(path)
        if descent is None:
            return []
        directory, (name, *rest) = descent
        entries = self._names(directory)
        similar = [one for one in suggest.nearest(name, entries) if not rest or entries[one] != "file"]
        return [f"{directory}{one}{'/' if entries[one] == 'directory' else ''}" for one in similar]

    def locate(self, path: str) -> suggest.Located:
        """Return the files below all roots that a wrong path may mean, spelled as they open."""
        if path not in self._located:
            if len(path) > MAX_PATH_CHARS or len(self._located) >= MAX_LOCATED_PATHS:
                return suggest.Located()
            certain: list[str] = []
            others: list[str] = []
            for root, tree, prefix, _ in self._all_trees():
                in_tree = tree.locate(_below(root, path))
                certain += [prefix + in_tree.certain] if in_tree.certain else []
                others += [prefix + other for other in in_tree.others]
            guard = self._engine.guard
            is_known = len(guard.local_roots) == len(guard.roots) and all(one[3] for one in self._all_trees())
            is_certain = len(certain) == 1 and is_known
            located = suggest.Located(certain[0] if is_certain else "", tuple(others[: suggest.MAX_SAME_NAME]))
            self._located[path] = located
        return self._located[path]

    def near(self, path: str) -> list[str]:
        """Return the paths to show with an error: those of the same file name first, then names of similar letters."""
        others = self.locate(path).others
        similar = self.similar(path)
        if others and others[0].rstrip("/").rpartition("/")[2].casefold() != path.rpartition("/")[2].casefold():
            ordered = [*similar, *others]
        else:
            ordered = [*others, *similar]
        return list(dict.fromkeys(ordered))[: max(suggest.MAX_LOCATED, len(others))]

    def with_same_end(self, path: str) -> list[str]:
        """Return the paths that end with the same directory and name, for a path that leads out of the roots."""
        end = "/".join(path.split("/")[-2:])
        if "/" not in end or end.startswith(("/", "..")):
            return []
        return [other for other in self.locate(path).others if f"/{other}".endswith(f"/{end}")]

    def _all_trees(self) -> list[tuple[Root, suggest.Tree, str, bool]]:
        if self._trees is None:
            self._trees = []
            policy = self._engine.guard.policy
            first = self._engine.guard.roots[0]
            for root, names in self._engine.names(self._context):
                try:
                    self._context.charge(TREE_COPIES * names.decoded_bytes)
                except errors.TooMuchMemory:
                    break  # the answer does without suggestions from this root
                prefix = "" if root is first else f"{root.path.rstrip('/')}/"
                tree = suggest.Tree(names.directories(), _admission(policy, root.canonical))
                self._trees.append((root, tree, prefix, names.is_complete))
        return self._trees

    def _descent(self, path: str) -> tuple[str, list[str]] | None:
        """Return the deepest directory of a path that exists, with a slash, and the names that do not."""
        if len(path) > MAX_PATH_CHARS:
            return None
        names = [name for name in path.split("/") if name]
        lead = "/" if path.startswith("/") else ""
        for depth in range(len(names) - 1, max(-1, len(names) - 1 - MAX_LEVELS_UP), -1):
            directory = lead + "".join([f"{name}/" for name in names[:depth]])
            if self._listing(directory) is not None:
                return directory, names[depth:]
        return None

    def _names(self, directory: str) -> dict[str, str]:
        """Return the names in a directory with the type of each."""
        listing = self._listing(directory)
        return {} if listing is None else {entry.name: entry.what for entry in listing.entries}

    def _listing(self, directory: str) -> Listing | None:
        """Return the listing of a directory; None if it cannot be listed."""
        if directory not in self._listings:
            if self._is_exhausted():
                return None
            try:
                self._listings[directory] = self._engine.list(directory or ".", self._context, hides_ignored=True)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                self._listings[directory] = None
        return self._listings[directory]

    def _is_exhausted(self) -> bool:
        """Count one lookup; return True if there were too many."""
        self._lookups += 1
        return self._lookups > MAX_LOOKUPS

    def exists(self, path: str) -> bool:
        """Return True if a file has this name."""
        try:
            self._engine.open(ReadRequest(path), self._context).close()
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadError:
            return False
        return True


def suggested(
    dialect: Dialect, error: errors.ReadError, wording: ReplyError, engine: Engine, context: CallContext
) -> ReplyError:
    """Return the error of a missing file with the files that were perhaps meant, if the setting is on."""
    if not dialect.host.suggest or type(error) is not errors.NotFound or not error.path:
        return wording
    try:
        near = Suggestions(engine, context).near(error.path)
    except (errors.ReadError, WouldBlock):
        return wording  # there is no time to look for names
    near = [path for path in near if path.startswith("/") == error.path.startswith("/")] or near
    if not near:
        return wording
    return ReplyError(wording.code, f"{wording.message} Did you mean {', '.join([visible(one) for one in near])}?")
