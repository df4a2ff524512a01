"""The door for plugins: the rows of the tree's own extras, and rows that installed distributions add.

A row is a kind of file, a dialect, an outliner or a scheme of roots. The extras of the tree list theirs as constants of
their `plugin.py`. Other distributions declare entry points in the groups `eyespan.kinds`, `eyespan.dialects`,
`eyespan.outliners` and `eyespan.roots`. Both meet in the tables of the core, which ask installed plugins only about
names and files that the tree does not know.

A plugin that cannot be imported, breaks its contract or takes a name of another row is left out and becomes one line of
`problems`; it never ends a call. `EYESPAN_NO_PLUGINS=1` (`--no-plugins`) turns installed plugins off.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NamedTuple

Group = Literal["kinds", "dialects", "outliners", "roots"]

EXTRAS = ("documents", "languages", "families", "http", "remote", "bulk", "hosts")
OFF = "EYESPAN_NO_PLUGINS"
"""The variable that turns installed plugins off, in this process and those that it starts."""


class Command(NamedTuple):
    """A command of the command line: its operands and its line in the help, and its module (see `eyespan.cli.main`)."""

    operands: str
    text: str
    module: str


@dataclass(frozen=True, slots=True)
class Plugin:
    """One row of an installed distribution."""

    group: Group
    name: str
    """The name of its entry point."""
    row: Any
    origin: str
    """The distribution and its version, and the object: `acme-agenda 1.2 (acme_agenda:AGENDA)`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A plugin that was left out, and why."""

    group: Group
    name: str
    origin: str
    reason: str

    def __str__(self) -> str:
        return f"plugin {self.name} of {self.origin}: {self.reason}"


class BrokenContract(Exception):
    """A row that cannot be used. The message is the reason, for the author of the plugin."""


_problems: dict[tuple[Group, str, str], Problem] = {}


@cache
def own(constant: str) -> tuple[Any, ...]:
    """Return the values of a constant, such as `KINDS`, in the `plugin.py` of each extra that has it."""
    modules = [import_module(f"eyespan.extras.{extra}.plugin") for extra in EXTRAS]
    return tuple([getattr(module, constant) for module in modules if hasattr(module, constant)])


def load(reference: str) -> Any:
    """Return the object that `module:name` refers to. Raises: ImportError, AttributeError, what the module raises."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def installed(group: Group, check: Callable[[str, Any], None]) -> tuple[Plugin, ...]:
    """Return the usable rows of installed distributions in this group, ordered by name.

    An entry point refers to one row or a tuple of rows. `check(name, row)` raises `BrokenContract` for a row that
    cannot be used. The distributions are looked up once for each group and `check`.
    """
    return () if os.environ.get(OFF) else _installed(group, check)


def problems() -> tuple[Problem, ...]:
    """Return the plugins that were left out so far."""
    return tuple(_problems.values())


@cache
def _installed(group: Group, check: Callable[[str, Any], None]) -> tuple[Plugin, ...]:
    usable: list[Plugin] = []
    for entry in sorted(entry_points(group=f"eyespan.{group}"), key=lambda entry: (entry.name, entry.value)):
        origin = _origin(entry)
        try:
            loaded = entry.load()
            rows = loaded if isinstance(loaded, tuple) else (loaded,)
            for row in rows:
                check(entry.name, row)
        except BrokenContract as error:
            reason = str(error)
        except (Exception, SystemExit) as error:  # whatever the plugin's own code raises
            reason = f"cannot be imported: {type(error).__name__}: {str(error)[:200]}"
        else:
            taken = next((plugin.origin for plugin in usable if plugin.name == entry.name), "")
            if not taken:
                usable.extend([Plugin(group, entry.name, row, origin) for row in rows])
                continue
            reason = f"the name {entry.name} is taken by {taken}"
        _problems[group, entry.name, origin] = Problem(group, entry.name, origin, reason)
    return tuple(usable)


def _origin(entry: EntryPoint) -> str:
    name = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
    return f"{name} ({entry.value})"
