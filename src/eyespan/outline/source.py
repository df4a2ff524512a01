"""Outline source code of languages other than Python: by their grammars if those are installed, else by braces.

A grammar is a generated parser in C with a hand-written scanner, and the source is untrusted. It runs in the worker, a
sandboxed process that is killed at a deadline; it is started once and reused. After a crash or a timeout the outline is
made by shape, and its `how` shows that. The worker's response is validated like any foreign data.
"""

from __future__ import annotations

from eyespan.context import CallContext
from eyespan.errors import Cancelled, Missing, ReadError
from eyespan.model import MAX_SYMBOLS
from eyespan.outline.model import Definition, build_outline
from eyespan.outline.shape import definitions_by_shape
from eyespan.outline.text import decode_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.outline import Decode
    from eyespan.outline.model import Outline

_KINDS = (
    "function",
    "method",
    "class",
    "struct",
    "interface",
    "enum",
    "trait",
    "impl",
    "namespace",
    "macro",
    "type",
    "constant",
    "field",
)
DEADLINE_SECONDS = 8.0
"""The time for one outline, with the start of the worker; 2 MB of ordinary source take half a second."""
_parsers: dict[str, Any] = {}
"""The parsers of this process by language."""


def scan(data: bytes, language: str, decode: Decode | None, context: CallContext | None) -> Outline:
    """Return the definitions in source code. Without `decode`, grammars run in this process.

    Raises: Cancelled, TimedOut, if `context` demands it.
    """
    source = decode_text(data).encode("utf-8", "replace")
    hint = ""
    try:
        if decode is None:
            rows, is_whole = _parse_here(source, language)
        else:
            rows, is_whole = _parse_in_worker(source, language, decode, context)
        definitions = _valid_definitions(rows, source.count(b"\n") + 1)
        if definitions or is_whole:
            return build_outline(definitions, "tree-sitter", is_complete=is_whole)
    except Cancelled:
        raise
    except Missing as missing:
        hint = missing.install
    except ReadError:
        if context is not None:
            context.advance(0, 0)  # raises if the caller's deadline has passed; any other failure is the grammar's
    definitions = definitions_by_shape(source.decode("utf-8", "replace"), language)
    return build_outline(definitions, "shape", is_complete=False, hint=hint)


class _Deadline(CallContext):
    """The caller's context with a deadline of its own, after which the worker is killed."""

    def __init__(self, outer: CallContext | None) -> None:
        super().__init__(DEADLINE_SECONDS)
        self._outer = outer

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        if self._outer is not None:
            self._outer.advance(done_bytes, total_bytes)
        super().advance(done_bytes, total_bytes)


def _parse_here(source: bytes, language: str) -> tuple[Any, Any]:
    from eyespan.decoders.grammars import load_parser

    if language not in _parsers:
        _parsers[language] = load_parser(language)
    rows, is_whole = _parsers[language](source)
    return rows, is_whole


def _parse_in_worker(source: bytes, language: str, decode: Decode, context: CallContext | None) -> tuple[Any, Any]:
    facts, _ = decode(f"outline-{language}", source, {}, _Deadline(context))
    return facts.get("rows"), facts.get("whole")


def _valid_definitions(rows: Any, line_count: int) -> list[Definition]:
    """Return the rows as definitions if all are valid: inside the file, in order, children inside their parents."""
    definitions: list[Definition] = []
    if not isinstance(rows, list):
        return definitions
    for row in rows[:MAX_SYMBOLS]:
        match row:
            case [
                str(name),
                str(kind),
                int(line),
                int(first),
                int(last),
                int(parent),
                str(signature),
                str(owner),
            ] if kind in _KINDS and 1 <= first <= line <= last <= line_count and -1 <= parent < len(definitions):
                if parent >= 0 and not (definitions[parent].first <= first and last <= definitions[parent].last):
                    return []
                definitions.append(
                    Definition(
                        name=name,
                        kind=kind,
                        line=line,
                        first=first,
                        last=last,
                        parent=parent,
                        signature=signature,
                        owner=owner,
                    )
                )
            case _:
                return []
    return definitions
