"""A workspace: the roots, the rules and the engine that every tool of it shares."""

from __future__ import annotations

import os

from eyespan.engine import Engine
from eyespan.guard import Guard, Root
from eyespan.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.tool import Tool


class Workspace:
    """One or several folders that may be read, and the tools that read them.

    `Workspace(".")`, `Workspace("src", "docs")`; `Workspace("/")` is the whole machine, by explicit choice. Relative
    paths belong to the first root. `policy` says which names are refused (private keys and credentials by default);
    `backend` picks how files are opened (`eyespan doctor` tells which are possible here).
    """

    def __init__(self, *roots: str | os.PathLike[str], policy: Policy | None = None, backend: str = "auto") -> None:
        if not roots:
            raise ValueError("a workspace needs at least one root")
        self.roots = tuple([Root(root) for root in roots])
        self.engine = Engine(Guard(self.roots, policy or Policy(), backend))

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
