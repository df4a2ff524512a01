"""A workspace: the roots, the rules and the engine that every tool of it shares."""

from __future__ import annotations

import os

from eyespan.context import DEADLINE_SECONDS
from eyespan.engine import Engine
from eyespan.guard import Guard
from eyespan.guard.roots import open_roots
from eyespan.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.tool import Tool


class Workspace:
    """One or several folders that may be read, and the tools that read them.

    `Workspace(".")`, `Workspace("src", "docs")`; `Workspace("/")` is the whole machine, by explicit choice. Relative
    paths belong to the first root. `policy` says which names are refused (private keys and credentials by default);
    `backend` picks how files are opened (`eyespan doctor` tells which are possible here). No call takes longer than
    `deadline_seconds`, opening the roots included; None is as long as it takes, on a dead network mount for ever.

    Raises: ValueError, NotADirectoryError, TimeoutError, OSError.
    """

    def __init__(
        self,
        *roots: str | os.PathLike[str],
        policy: Policy | None = None,
        backend: str = "auto",
        deadline_seconds: float | None = DEADLINE_SECONDS,
    ) -> None:
        if not roots:
            raise ValueError("a workspace needs at least one root")
        if deadline_seconds is not None and not deadline_seconds > 0:
            raise ValueError(f"deadline_seconds must be more than 0, not {deadline_seconds!r}")
        self.roots = open_roots(roots, deadline_seconds)
        self.engine = Engine(Guard(self.roots, policy or Policy(), backend), deadline_seconds)

    def tool(self, dialect: str, **settings: Any) -> Tool:
        """The read tool in a dialect, with that dialect's settings.

        Raises: ValueError for an unknown dialect or a senseless value, TypeError for an unknown setting.
        """
        from eyespan.dialects import dialect_class
        from eyespan.tool import Tool

        return Tool(dialect_class(dialect)(**settings), self.engine)

    def close(self) -> None:
        """Lets go of the roots. Tools of this workspace cannot read any more."""
        for root in self.roots:
            root.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workspace({', '.join(repr(root.path) for root in self.roots)})"
