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
from importlib.util import find_spec
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["kinds", "dialects", "outliners", "roots"]

EXTRAS = (
    *("documents", "languages", "families", "http", "remote", "bulk", "hosts", "git", "pasted", "operations"),
    *("resources", "archives", "edits"),
)
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
    """A plugin that was left out or failed, and why."""

    group: Group
    name: str
    origin: str
    reason: str

    def __str__(self) -> str:
        return f"plugin {self.name} of {self.origin}: {self.reason}"


class BrokenContract(Exception):
    """A row that cannot be used. The message is the reason, for the author of the plugin."""


_problems: dict[tuple[Group, str, str], Problem] = {}
_packages: dict[str, str] = {}
"""The origin of a plugin, by the package of its code."""


@cache
def own(constant: str) -> tuple[Any, ...]:
    """Return the values of a constant, such as `KINDS`, in the `plugin.py` of each extra that has it."""
    modules = [import_module(f"eyespan.extras.{extra}.plugin") for extra in EXTRAS]
    return tuple([getattr(module, constant) for module in modules if hasattr(module, constant)])


@cache
def load(reference: str) -> Any:
    """Return the object that `module:name` refers to. Raises: ImportError, AttributeError, what the module raises."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def exists(module: str) -> bool:
    """Return True if a module could be imported. Imports the packages around it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def installed(group: Group, check: Callable[[str, Any], None]) -> tuple[Plugin, ...]:
    """Return the usable rows of installed distributions in this group, ordered by name.

    An entry point refers to one row or a tuple of rows. `check(name, row)` raises `BrokenContract` for a row that
    cannot be used. The distributions are looked up once for each group and `check`.
    """
    return () if are_off() else _installed(group, check)


def are_off() -> bool:
    """Return True if installed plugins are left out."""
    return bool(os.environ.get(OFF))


def problems() -> tuple[Problem, ...]:
    """Return the plugins that were left out so far, or that failed, and why."""
    return tuple(_problems.values())


def note(group: Group, name: str, origin: str, reason: str) -> None:
    """Add a problem to `problems`."""
    _problems[group, name, origin] = Problem(group, name, origin, reason)


def problem(group: Group, name: str) -> str:
    """Return why the plugin of this name was left out, in one line; "" if none was."""
    return next((str(one) for one in problems() if (one.group, one.name) == (group, name)), "")


def origin_of(error: BaseException) -> str:
    """Return the origin of the plugin whose code an exception passed through; "" if there is none."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return next((_packages[package] for package in map(_package, reversed(modules)) if package in _packages), "")


@cache
def _installed(group: Group, check: Callable[[str, Any], None]) -> tuple[Plugin, ...]:
    from importlib.metadata import entry_points  # takes 25 ms

    usable: list[Plugin] = []
    known: dict[str, str] = {}
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
            reason = f"cannot be imported: {describe(error)}"
        else:
            names = [getattr(row, "name", entry.name) for row in rows]
            taken = [f"{name} is taken by {known[name]}" for name in names if name in known]
            if not taken:
                known.update(dict.fromkeys(names, origin))
                usable.extend([Plugin(group, entry.name, row, origin) for row in rows])
                _packages[_package(entry.value)] = origin
                continue
            reason = f"the name {taken[0]}"
        note(group, entry.name, origin, reason)
    return tuple(usable)


def describe(error: BaseException) -> str:
    """Return the class of an exception and its message, on one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # the plugin's own class
        text = ""
    return f"{type(error).__name__}: {text[:200]}".rstrip(": ")


def _package(reference: str) -> str:
    return reference.partition(":")[0].partition(".")[0]


def _origin(entry: EntryPoint) -> str:
    name = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
    return f"{name} ({entry.value})"
