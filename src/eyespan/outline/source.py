"""Source code of languages other than Python: by their grammars where those are installed, else by braces.

**Where grammars run.** A grammar is a generated parser in C with a hand-written scanner, and the source is untrusted.
So it runs in the worker: a process behind walls, killed after its time, started once and then warm. A crash or a hang
costs that one outline its exactness: the file is then looked at by its shape, which says so. What comes back from there
is checked as if it came from anywhere.
"""

from __future__ import annotations

from eyespan.context import CallContext
from eyespan.errors import Cancelled, Missing, ReadError
from eyespan.outline.model import MAX_SYMBOLS, Find, build, text_of
from eyespan.outline.shape import finds_by_shape

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
SECONDS = 8.0
"""For one outline, the start of the worker included; 2 MB of ordinary source take half a second."""
_rowers: dict[str, Any] = {}


def look(data: bytes, language: str, decode: Decode | None, context: CallContext | None) -> Outline:
    """Raises: Cancelled, TimedOut, where `context` says so."""
    source = text_of(data).encode("utf-8", "replace")
    hint = ""
    try:
        rows, whole = _here(source, language) if decode is None else _decoded(source, language, decode, context)
        finds = _checked(rows, source.count(b"\n") + 1)
        if finds or whole:
            return build(finds, "tree-sitter", whole)
    except Cancelled:
        raise
    except Missing as missing:
        hint = missing.install
    except ReadError:
        if context is not None:
            context.advance(0, 0)  # its deadline is the caller's affair; any other failure is the grammar's
    return build(finds_by_shape(source.decode("utf-8", "replace"), language), "shape", False, hint)


class _Deadline(CallContext):
    """The caller's context, and an end of our own: past it the job is killed."""

    def __init__(self, outer: CallContext | None) -> None:
        super().__init__(SECONDS)
        self._outer = outer

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        if self._outer is not None:
            self._outer.advance(done_bytes, total_bytes)
        super().advance(done_bytes, total_bytes)


def _here(source: bytes, language: str) -> tuple[Any, Any]:
    from eyespan.decoders.grammars import find_rows

    if language not in _rowers:
        _rowers[language] = find_rows(language)
    rows, whole = _rowers[language](source)
    return rows, whole


def _decoded(source: bytes, language: str, decode: Decode, context: CallContext | None) -> tuple[Any, Any]:
    facts, _ = decode(f"outline-{language}", source, {}, _Deadline(context))
    return facts.get("rows"), facts.get("whole")


def _checked(rows: Any, lines: int) -> list[Find]:
    """The rows as finds, where they make sense: in the file, in order, children in their parents."""
    finds: list[Find] = []
    if not isinstance(rows, list):
        return finds
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
            ] if kind in _KINDS and 1 <= first <= line <= last <= lines and -1 <= parent < len(finds):
                if parent >= 0 and not (finds[parent].first <= first and last <= finds[parent].last):
                    return []
                finds.append(Find(name, kind, line, first, last, parent, signature, owner))
            case _:
                return []
    return finds
