"""Outlines: the symbols, headings or keys of a file, each with its lines.

`outline(data, name, decode=...)` has the worker parse a file and returns its symbols in file order, with the method by
which they were found:

    ast           Python, by its own parser
    tree-sitter   other languages, by their grammars (extra `outline`)
    shape         by the file's own structure: headings, keys, tables; for languages whose grammar has no wheel, by
                  brackets and indentation
    regex         by lines that look like definitions: make targets, build stages, SQL statements

`find` looks up a symbol by the name that a person would write, `nearest` suggests similar names, `render` lists an
outline in few tokens. Nothing here opens a file or raises an error about its contents: a file that cannot be parsed has
an empty outline that is not complete. Lines count from 1, ends are inclusive, and only a line feed ends a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from eyespan import plugins
from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import Unreadable
from eyespan.outline.model import Definition, Outline, Symbol, build_outline
from eyespan.outline.registry import Outliner, installed, language_of, languages, origin, outliner_of
from eyespan.outline.render import render
from eyespan.outline.symbol_names import SymbolMatch, find, look_up, nearest, unique_names

Decode = Callable[[str, bytes, Mapping[str, Any], CallContext], tuple[dict[str, Any], list[bytes]]]

__all__ = [
    "MAX_BYTES",
    "Definition",
    "Outline",
    "Outliner",
    "Symbol",
    "SymbolMatch",
    "build_outline",
    "find",
    "installed",
    "language_of",
    "languages",
    "look_up",
    "nearest",
    "outline",
    "outline_here",
    "outliner_of",
    "render",
    "scan",
    "unique_names",
]

MAX_BYTES = 2 * 1024 * 1024
"""Only this much of a file is parsed, up to a line end."""
OUTLINE_SECONDS = 0.8 * DEADLINE_SECONDS
"""The time for one outline, with the start of the worker; 2 MB of ordinary source take half a second."""


def outline(
    data: bytes,
    name: str,
    *,
    decode: Decode,
    context: CallContext | None = None,
    deadline_seconds: float = OUTLINE_SECONDS,
    is_courtesy: bool = False,
) -> Outline:
    """Return the symbols of a file, parsed in the sandboxed worker through `decode` (`Opened.decode_bytes`).

    Parsers are not safe with hostile source: it can crash them, or make them take much time and memory. In the worker
    that costs only the outline. A courtesy outline, which the caller did not ask for, is then empty and has the reason
    as its hint.

    Raises: Cancelled, TimedOut, if `context` demands it; SystemFailure; Missing, if the grammar is not installed;
        Unreadable, if the parser failed.
    """
    from eyespan.outline.isolated import outline_in_worker

    context = context or CallContext()
    context.check()
    part, is_whole = parsed_part(data)
    language = language_of(name, part)
    if not language:
        return Outline(symbols=(), how="shape", language="", is_complete=False)
    try:
        parsed = outline_in_worker(part, language, decode, context, deadline_seconds, is_courtesy=is_courtesy)
    except Unreadable as error:
        if plugin := origin(language):
            error.reason += f" (plugin {plugin})"
        raise
    return named(parsed, name, language, is_whole)


def outline_here(data: bytes, name: str) -> Outline:
    """Return the symbols of a file, parsed in this process, for source that the caller trusts. Raises: Missing."""
    part, is_whole = parsed_part(data)
    language = language_of(name, part)
    if not language:
        return Outline(symbols=(), how="shape", language="", is_complete=False)
    return named(scan(part, language), name, language, is_whole)


def scan(data: bytes, language: str) -> Outline:
    """Return the symbols of source in this language, parsed in this process. Raises: Missing, ValueError, TypeError."""
    row = outliner_of(language)
    if row is None:
        raise ValueError(f"no outliner for {language}")
    outline = plugins.load(row.function)(data, language)
    if not isinstance(outline, Outline):
        raise TypeError(f"{row.function} returned {type(outline).__name__}, not an Outline")
    return outline


def parsed_part(data: bytes) -> tuple[bytes, bool]:
    """Return the part of a file that is parsed, up to a line end, and True if that is all of it."""
    if len(data) <= MAX_BYTES:
        return data, True
    line_end = data.rfind(b"\n", 0, MAX_BYTES) + 1
    return data[: line_end or MAX_BYTES], False


def named(found: Outline, name: str, language: str, is_whole: bool) -> Outline:
    """Return the outline of a file with this name."""
    return replace(
        found,
        language=language,
        is_complete=found.is_complete and is_whole,
        module=name.replace("\\", "/").rsplit("/", 1)[-1].partition(".")[0],
    )
