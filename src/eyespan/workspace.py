"""A workspace: the roots, the policy and the engine that its tools share."""

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
    """One or several directories that may be read, and the tools that read them.

    `Workspace(".")`, `Workspace("src", "docs")`; `Workspace("/")` is the whole machine, by explicit choice. Relative
    paths belong to the first root. `policy` lists the names that are refused (by default private keys and credentials);
    `backend` picks the way files are opened (`eyespan doctor` lists those that work here). No call takes longer than
    `deadline_seconds`, opening the roots included; None sets no limit, and a dead network mount then blocks for ever.

    A pickled workspace holds the paths of its roots and its settings, and opens the roots again where it is unpickled.
    A copy is the workspace itself, because two owners would close the same roots twice.

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
        self.policy = policy or Policy()
        self.backend = backend
        self.deadline_seconds = deadline_seconds
        self.roots = open_roots(roots, deadline_seconds)
        self.engine = Engine(Guard(self.roots, self.policy, backend), deadline_seconds)

    def tool(self, dialect: str, **settings: Any) -> Tool:
        """Return the read tool in a dialect, with settings of that dialect.

        Raises: ValueError for an unknown dialect or an invalid value, TypeError for an unknown setting.
        """
        import eyespan.readers.text  # noqa: F401 - nearly every call needs it, and the first should not wait
        from eyespan.dialects import dialect_class
        from eyespan.tool import Tool

        return Tool(dialect_class(dialect)(**settings), self.engine, workspace=self)

    def close(self) -> None:
        """Close the roots. Tools of this workspace cannot read afterwards."""
        for root in self.roots:
            root.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self, _memo: object = None) -> Workspace:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, ([root.path for root in self.roots], self.policy, self.backend, self.deadline_seconds)

    def __repr__(self) -> str:
        return f"Workspace({', '.join(repr(root.path) for root in self.roots)})"


def _reopen(paths: list[str], policy: Policy, backend: str, deadline_seconds: float | None) -> Workspace:
    return Workspace(*paths, policy=policy, backend=backend, deadline_seconds=deadline_seconds)
