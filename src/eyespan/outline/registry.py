"""The outliners of languages, by the names and the first lines of files.

A row holds everything about a language. The rows of the core stand here, those of the extras in their `plugin.py`;
installed distributions add others through the entry point `eyespan.outliners`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from eyespan import plugins


@dataclass(frozen=True, slots=True)
class Outliner:
    """One language: the names of its files, and the function that outlines them."""

    name: str
    """The language."""
    function: str
    """`module:function`, called in the sandboxed worker as `function(data, language)`; it returns an `Outline`."""
    suffixes: tuple[str, ...] = ()
    """Ends of names, in lower case."""
    file_names: tuple[str, ...] = ()
    """Whole names, in lower case. `name.*` stands for the name with any suffix."""
    interpreters: tuple[str, ...] = ()
    """Programs that the first line of a script names, without their version."""
    by_text: Callable[[str, bytes], str] | None = None
    """For names that several languages share: a function that returns the language by name and text."""


CORE = (
    Outliner(
        "python",
        "eyespan.outline.python:scan",
        (".py", ".pyi", ".pyw", ".pyx"),
        file_names=("sconstruct", "sconscript", "wscript"),
        interpreters=("python", "pypy"),
    ),
    Outliner("markdown", "eyespan.outline.markdown:scan", (".md", ".markdown", ".mdx", ".qmd", ".rmd")),
)


@cache
def rows() -> dict[str, Outliner]:
    """Return the outliners of the tree by language."""
    return {row.name: row for rows in (CORE, *plugins.own("OUTLINERS")) for row in rows}


def installed() -> tuple[plugins.Plugin, ...]:
    """Return the outliners that installed distributions add."""
    return plugins.installed("outliners", _check)


def origin(language: str) -> str:
    """Return the distribution that outlines a language; "" for a language of the tree."""
    if language in rows():
        return ""
    return next((plugin.origin for plugin in installed() if plugin.row.name == language), "")


def languages() -> tuple[str, ...]:
    """Return the languages that the tree outlines."""
    return tuple(rows())


def outliner_of(language: str) -> Outliner | None:
    """Return the outliner of a language, of the tree or of an installed distribution."""
    return rows().get(language) or next((plugin.row for plugin in installed() if plugin.row.name == language), None)


def language_of(name: str, data: bytes = b"") -> str:
    """Return the language of a file by its name and its text, of which the start may do; "" if it is unknown.

    Installed outliners are asked only about files that the tree does not know.
    """
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    row = _match(_tree_table(), base, data) or _match(_table([plugin.row for plugin in installed()]), base, data)
    if row is None:
        return ""
    return row.by_text(base, data) if row.by_text is not None else row.name


Table = dict[str, Outliner]


def _table(rows: Iterable[Outliner]) -> Table:
    """Return the rows by suffix, by `/name` and by `#!interpreter`."""
    table: Table = {}
    for row in rows:
        table.update(dict.fromkeys(_keys(row), row))
    return table


def _keys(row: Outliner) -> list[str]:
    return [*row.suffixes, *[f"/{name}" for name in row.file_names], *[f"#!{program}" for program in row.interpreters]]


@cache
def _tree_table() -> Table:
    return _table(rows().values())


def _match(table: Table, base: str, data: bytes) -> Outliner | None:
    keys = [f"/{base}", f"/{base.partition('.')[0]}.*", base[base.rfind(".") :] if "." in base else ""]
    if data.startswith(b"#!"):
        words = data[2:200].split(b"\n", 1)[0].decode("ascii", "replace").lower().replace("/", " ").split()
        keys += [f"#!{word.rstrip('0123456789.')}" for word in reversed(words)]
    return next((table[key] for key in keys if key in table), None)


def _check(name: str, row: Any) -> None:
    """Check the row of an installed distribution. Raises: BrokenContract."""
    if not isinstance(row, Outliner):
        raise plugins.BrokenContract(f"an outliner is an eyespan.outline.Outliner, not {type(row).__name__}")
    if not re.fullmatch(r"[a-z][a-z0-9_+#-]*", row.name):
        raise plugins.BrokenContract(f"the language {row.name!r} is not a word in lower case")
    if row.name in rows():
        raise plugins.BrokenContract(f"eyespan itself outlines {row.name}")
    if not all(row.function.partition(":")):
        raise plugins.BrokenContract(f"the function {row.function} is not module:function")
    if not plugins.exists(row.function.partition(":")[0]):
        raise plugins.BrokenContract(f"the module of {row.function} does not exist")
    if not _keys(row):
        raise plugins.BrokenContract(f"the outliner of {row.name} needs suffixes, file_names or interpreters")
    if not all(suffix.startswith(".") for suffix in row.suffixes) or _keys(row) != [key.lower() for key in _keys(row)]:
        raise plugins.BrokenContract(f"the suffixes of {row.name} must start with a dot, and all names be lower case")
    if row.by_text is not None:
        raise plugins.BrokenContract("by_text reads files outside of the sandbox, so only eyespan's own rows have it")
    taken = next((key for key in _keys(row) if key in _tree_table()), "")
    if taken:
        raise plugins.BrokenContract(f"eyespan itself outlines {taken.lstrip('/#!')} as {_tree_table()[taken].name}")
