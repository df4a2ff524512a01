"""Dialects: the read tools of one agent each, by name.

A dialect of the core is one row of `CORE`. Those of the families and of installed plugins come through
`eyespan.plugins`, and `module:Class` names a class anywhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eyespan import plugins

if TYPE_CHECKING:
    from eyespan.dialects.base import Dialect


CORE = {
    "native": "eyespan.dialects.native:Native",
    "codex": "eyespan.dialects.codex:Codex",
    "codex-upstream": "eyespan.dialects.codex:CodexUpstream",
    "workspace": "eyespan.dialects.workspace:WorkspaceDialect",
    "workspace-upstream": "eyespan.dialects.workspace:WorkspaceUpstream",
    "forge": "eyespan.dialects.forge:Forge",
    "claude": "eyespan.dialects.claude:Claude",
}


def dialect_names() -> tuple[str, ...]:
    """Return the names of all dialects: those of the core, of the families, and of installed plugins."""
    return (*_rows(), *[plugin.name for plugin in installed()])


def dialect_class(name: str | type[Dialect]) -> type[Dialect]:
    """Return the class of a dialect, imported on first use: by its name, as `module:Class`, or the class itself.

    `module:Class` runs the code of that module, so it must come from the user and never from a file of a workspace.

    Raises: ValueError, which names the known dialects, or the reason why a class cannot be used.
    """
    if not isinstance(name, str):
        return _checked(name, getattr(name, "__name__", type(name).__name__))
    row = CORE.get(name) or _rows().get(name)
    if row is not None:
        chosen: type[Dialect] = plugins.load(row)
        return chosen
    if re.fullmatch(r"[\w.]+:\w+", name):
        try:
            chosen = plugins.load(name)
        except (Exception, SystemExit) as error:  # whatever the module raises
            raise ValueError(f"{name} is no dialect: {plugins.describe(error)}") from None
        return _checked(chosen, name)
    for plugin in installed():
        if plugin.name == name:
            return plugin.row  # type: ignore[no-any-return]  # checked by `_check`
    raise ValueError(
        plugins.problem("dialects", name) or f"no dialect {name!r}; the dialects are {', '.join(dialect_names())}"
    )


def installed() -> tuple[plugins.Plugin, ...]:
    """Return the dialects that installed distributions add."""
    return plugins.installed("dialects", _check)


def _checked(row: Any, name: str) -> type[Dialect]:
    """Return a class that a caller gave. Raises: ValueError."""
    try:
        _check("", row, is_installed=False)
    except plugins.BrokenContract as error:
        raise ValueError(f"{name} is no dialect: {error}") from None
    return row  # type: ignore[no-any-return]  # checked


def _rows() -> dict[str, str]:
    rows = dict(CORE)
    for more in plugins.own("DIALECTS"):
        rows.update(more)
    return rows


def _check(name: str, row: Any, *, is_installed: bool = True) -> None:
    """Check the class of a plugin. Raises: BrokenContract."""
    from eyespan.dialects.base import Dialect

    if not (isinstance(row, type) and issubclass(row, Dialect)):
        raise plugins.BrokenContract("a dialect is a subclass of eyespan.dialects.base.Dialect")
    if is_installed and name in _rows():
        raise plugins.BrokenContract(f"eyespan itself has a dialect {name}")
    if is_installed and row.name != name:
        raise plugins.BrokenContract(f"the class is named {row.name!r}, its entry point {name!r}")
    if is_installed:
        _try(row)


def _try(row: type[Dialect]) -> None:
    """Make a dialect of a plugin with its default settings. Raises: BrokenContract."""
    from eyespan.model import ToolSpec

    try:
        made = row()
    except Exception as error:
        raise plugins.BrokenContract(f"it cannot be made: {plugins.describe(error)}") from None
    if not all(isinstance(member.spec, ToolSpec) for member in made.members):
        raise plugins.BrokenContract("its _spec() returns no ToolSpec")
