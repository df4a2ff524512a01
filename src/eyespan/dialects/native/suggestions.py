"""Help when a path names nothing: the file that looks exactly like it, or what is near.

Folders are listed through the guard, so only names inside the roots that no rule forbids are ever told.
"""

from __future__ import annotations

from eyespan import errors, suggest
from eyespan.dialects.native.parts import visible
from eyespan.model import ReadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.engine import Engine
    from eyespan.guard.listing import Listing

MAX_PATH_CHARS = 4096
"""Nothing has a longer name, so nothing is near one."""
MAX_LEVELS_UP = 32
MAX_PREFIXES = 8
MAX_LOOKS = 200
"""At folders and files, for all wrong paths of a call: help is a courtesy, and a hundred deep names must not hold the
answer up."""


class Suggestions:
    """What is near wrong paths, for one call: every folder is listed once."""

    def __init__(self, engine: Engine, context: CallContext) -> None:
        self._engine = engine
        self._context = context
        self._listings: dict[str, Listing | None] = {}
        self._looks = 0

    def alike(self, path: str) -> str | None:
        """The one path that looks like this one, name by name; None if there is none or several."""
        found = self._descent(path)
        while found is not None:
            folder, (name, *rest) = found
            names = self._names(folder)
            alike = [name] if name in names and rest else suggest.lookalikes(name, names)
            if len(alike) != 1:
                return None
            if not rest:
                return folder + alike[0]
            found = (f"{folder}{alike[0]}/", rest)
        return None

    def near(self, path: str) -> list[str]:
        """Paths that were perhaps meant, nearest first."""
        found: list[str] = []
        if len(path) > MAX_PATH_CHARS:
            return found
        names = path.split("/")
        if not path.startswith("/"):
            # The workspace's own folder, or one above it, named once too often.
            shorter = ["/".join(names[at:]) for at in range(1, min(len(names), MAX_PREFIXES))]
            found = [name for name in shorter if not self._spent() and self.is_there(name)]
        descent = self._descent(path)
        if descent is not None:
            folder, (name, *rest) = descent
            entries = self._names(folder)
            for near in suggest.nearest(name, entries):
                whole = "/".join([folder + near, *rest])
                if not rest:
                    found.append(whole + ("/" if entries[near] == "folder" else ""))
                elif entries[near] != "file":
                    found.append(whole if self.is_there(whole) else f"{folder}{near}/")
        return list(dict.fromkeys(found))[: suggest.MAX_NEAR]

    def _descent(self, path: str) -> tuple[str, list[str]] | None:
        """The deepest folder of a path that is there, with a slash behind, and the names that are not."""
        if len(path) > MAX_PATH_CHARS:
            return None
        names = [name for name in path.split("/") if name]
        lead = "/" if path.startswith("/") else ""
        for depth in range(len(names) - 1, max(-1, len(names) - 1 - MAX_LEVELS_UP), -1):
            folder = lead + "".join([f"{name}/" for name in names[:depth]])
            if self._listing(folder) is not None:
                return folder, names[depth:]
        return None

    def _names(self, folder: str) -> dict[str, str]:
        """What is in a folder, and what each is."""
        listing = self._listing(folder)
        return {} if listing is None else {entry.name: entry.what for entry in listing.entries}

    def _listing(self, folder: str) -> Listing | None:
        """None if there is no such folder to list."""
        if folder not in self._listings:
            if self._spent():
                return None
            try:
                self._listings[folder] = self._engine.list(folder or ".", self._context)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                self._listings[folder] = None
        return self._listings[folder]

    def _spent(self) -> bool:
        """Whether enough was looked at; counts one look more."""
        self._looks += 1
        return self._looks > MAX_LOOKS

    def is_there(self, path: str) -> bool:
        """Whether a file has this name."""
        try:
            self._engine.look(ReadRequest(path), self._context)
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadError:
            return False
        return True


def differing(asked: str, real: str) -> str:
    """The real name, and which of its characters are not as asked."""
    odd = [f"U+{ord(c):04X}" for c in dict.fromkeys(real) if not c.isascii() and c not in asked]
    return f"{visible(real)}{' with ' + ', '.join(odd[:4]) if odd else ''}"
