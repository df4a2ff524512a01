"""Targets that are not written as selectors: plan what was meant, with a note, or fail with suggestions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eyespan import errors, tokens
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.items import DirectoryItem, Failure
from eyespan.dialects.native.text_items import TextPlan
from eyespan.errors import ReadError
from eyespan.selectors import Target
from eyespan.selectors.forgive import (
    MAX_TRIED,
    MAX_TRIED_REMOTELY,
    better_error,
    describe_reading,
    forgive,
    forgive_target,
    is_vague,
    likely_path,
    may_forgive,
)

if TYPE_CHECKING:
    from eyespan.dialects.native.arguments import Ask
    from eyespan.dialects.native.call import Files
    from eyespan.dialects.native.items import Item, Shown

    Plan = Item | TextPlan


def plan_forgiving(
    ask: Ask, failure: ReadError, take: Callable[[Target], Plan], files: Files, max_tokens: int
) -> Sequence[Item | TextPlan]:
    """Return the plans of what a text means that no exact reading explains, the first with a note about it.

    If there are none, the error lists as many similar paths as `max_tokens` allow. Raises: Cancelled, TimedOut.
    """

    if not may_forgive(failure):
        return [Failure(ask.written, failure, getattr(failure, "suggestions", ()))]
    stars = 0

    def take_file(target: Target) -> Plan:
        nonlocal stars
        if "*" in target.path:
            # A pattern is matched with all files, so only one that is likely is.
            stars += 1
            if stars > 1 or "/" not in target.path:
                raise errors.NotFound(target.path)
        plan = take(target)
        if isinstance(plan, DirectoryItem) and target.piece is not None:
            raise errors.NotRegular(target.path, what="directory")
        return plan

    def locate(path: str) -> str:
        return files.suggestions.locate(path).certain

    guard = files.engine.guard
    max_tried = MAX_TRIED_REMOTELY if guard.roots[0].is_remote else MAX_TRIED
    try:
        missing: list[str] = []
        if ask.is_object:
            found = [forgive_target(ask.readings[0], take_file, locate)]
        else:
            found, missing = forgive(ask.written, take_file, locate, max_tried)
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError as error:
        return [_failure(ask, failure, error, files, max_tokens)]
    note = describe_reading([target for target, _ in found], missing)
    (_, first), *others = found
    return [noted(first, note), *[plan for _, plan in others]]


def _failure(ask: Ask, failure: ReadError, other: ReadError, files: Files, max_tokens: int) -> Failure:
    """Return why a target cannot be read, with suggestions."""
    error = better_error(failure, other, ask.readings)
    if not is_vague(error):
        # The file of another reading is named, because the error is about it.
        named = [error.path] if error is other and error.path not in ask.written else []
        return Failure(ask.written, error, getattr(error, "suggestions", ()) or named)
    path = likely_path(ask.readings)
    if isinstance(error, errors.OutsideRoot):
        return Failure(ask.written, error, files.suggestions.with_same_end(path))
    return Failure(ask.written, error, files.suggestions.near(path), max_tokens)


def noted(plan: Plan, note: str) -> Plan:
    """Return a plan with a note about it."""
    if isinstance(plan, TextPlan):
        return replace(plan, wanted=replace(plan.wanted, notes=(note, *plan.wanted.notes)))
    return NotedItem(plan, note)


class NotedItem:
    """An item with a note after it."""

    def __init__(self, item: Item, note: str) -> None:
        self._item = item
        self._note = own_lines.note(note)
        self._cost = tokens.estimate(own_lines.write([self._note])) + 1
        self.selector = item.selector

    def need(self) -> int:
        return self._item.need() + self._cost

    def show(self, max_tokens: int) -> Shown:
        shown = self._item.show(max(1, max_tokens - self._cost))
        return replace(shown, lines=(*shown.lines, self._note))
