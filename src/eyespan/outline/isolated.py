"""Outlines that are made in the sandboxed worker: the request, and the check of what comes back.

Each language has a task of its own, `outline-<language>`, so that its grammar is loaded before the sandbox closes. The
response is checked as if it came from an attacker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import Cancelled, Missing, ReadError, SystemFailure, TimedOut, Unreadable
from eyespan.model import MAX_SYMBOLS
from eyespan.outline.model import MAX_DEPTH, Outline, Symbol

if TYPE_CHECKING:
    from eyespan.outline import Decode


METHODS = ("ast", "tree-sitter", "shape", "regex")
MAX_TEXT_CHARS = 2000
LOAD_SECONDS = DEADLINE_SECONDS / 2
"""The time for the start of the worker and the import of a grammar, apart from short deadlines."""
_loaded: set[str] = set()
"""The tasks whose decoders this process has had loaded."""


class PartDeadline(CallContext):
    """The caller's context with a deadline of its own, for a part of the work that may be left out."""

    def __init__(self, outer: CallContext, seconds: float) -> None:
        super().__init__(seconds, ledger=outer.ledger)
        self._outer = self._caller = outer
        self.memory = outer.memory

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        self._caller.advance(done_bytes, total_bytes)
        super().advance(done_bytes, total_bytes)


def outline_in_worker(
    data: bytes, language: str, decode: Decode, context: CallContext, deadline_seconds: float, *, is_courtesy: bool
) -> Outline:
    """Return the outline of source in this language.

    A courtesy outline that fails is empty and has the reason as its hint; any other failure is raised.

    Raises: Cancelled, TimedOut, if `context` demands it; SystemFailure, Missing, Unreadable.
    """
    task = f"outline-{language}"
    if is_courtesy and task not in _loaded:
        # Loading a grammar takes longer than most outlines, and only once.
        try:
            decode(task, b"", {}, PartDeadline(context, LOAD_SECONDS))
        except (Cancelled, SystemFailure):
            raise
        except ReadError:
            pass  # the attempt below reports it
        context.check()
        _loaded.add(task)
    try:
        facts, _ = decode(task, data, {}, PartDeadline(context, deadline_seconds))
        return checked_outline(facts, data.count(b"\n") + 1)
    except (Cancelled, SystemFailure):
        raise
    except TimedOut:
        hint = f"the outline was not finished within {deadline_seconds:g} s"
        failure: ReadError = Unreadable("", kind="outline", reason=hint)
    except Missing as missing:
        hint, failure = missing.install, missing
    except ReadError as error:
        hint, failure = "the parser failed", error
    context.check()
    if not is_courtesy:
        raise failure
    return Outline(symbols=(), how="shape", language=language, is_complete=False, hint=hint)


def checked_outline(facts: dict[str, Any], line_count: int) -> Outline:
    """Return the outline of a response; rows that are invalid make it empty."""
    how = facts.get("how")
    hint = facts.get("hint")
    symbols = _checked_symbols(facts.get("symbols"), line_count)
    is_complete = facts.get("complete") is True and symbols is not None
    return Outline(
        symbols=symbols or (),
        how=how if how in METHODS else "shape",
        language="",
        is_complete=is_complete,
        hint=hint[:MAX_TEXT_CHARS] if isinstance(hint, str) else "",
    )


def _checked_symbols(rows: Any, line_count: int) -> tuple[Symbol, ...] | None:
    """Return the rows as symbols, or None if one is invalid: outside the file, or not in its parent."""
    if not isinstance(rows, list):
        return None
    symbols: list[Symbol] = []
    around: list[Symbol] = []
    for row in rows[:MAX_SYMBOLS]:
        match row:
            case [
                str(name),
                str(qualified),
                str(kind),
                int(line),
                int(first),
                int(last),
                int(depth),
                str(signature),
                int(doubt),
            ] if (
                0 <= doubt <= line_count
                and 1 <= first <= line <= last <= line_count
                and 0 <= depth <= min(len(around), MAX_DEPTH)
            ):
                del around[depth:]
                if around and not (around[-1].first <= first and last <= around[-1].last):
                    return None
                symbol = Symbol(
                    name=name[:MAX_TEXT_CHARS],
                    qualified=qualified[:MAX_TEXT_CHARS],
                    kind=kind[:MAX_TEXT_CHARS],
                    line=line,
                    first=first,
                    last=last,
                    depth=depth,
                    signature=signature[:MAX_TEXT_CHARS],
                    doubt=doubt,
                )
                symbols.append(symbol)
                around.append(symbol)
            case _:
                return None
    return tuple(symbols)


def response(found: Outline) -> dict[str, Any]:
    """Return an outline as the facts of a response: the counterpart of the check, for the worker."""
    rows = [
        [one.name, one.qualified, one.kind, one.line, one.first, one.last, one.depth, one.signature, one.doubt]
        for one in found.symbols
    ]
    return {"symbols": rows, "how": found.how, "complete": found.is_complete, "hint": found.hint}
