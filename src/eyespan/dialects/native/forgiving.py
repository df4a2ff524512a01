"""Targets that are not written as selectors: plan what was meant, with a note, or fail with suggestions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from eyespan import errors
from eyespan.dialects.native.items import FixedItem, RowsItem
from eyespan.dialects.native.items import failure as failure_item
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
    from eyespan.dialects.native.items import Item

    Plan = Item | TextPlan


def plan_forgiving(
    ask: Ask, failure: ReadError, take: Callable[[Target], Plan], files: Files, max_tokens: int
) -> tuple[Sequence[Plan], str]:
    """Return the plans of what a text means that no exact reading explains, and a note about it.

    If there are none, the error lists as many similar paths as `max_tokens` allow. Raises: Cancelled, TimedOut.
    """

    if not may_forgive(failure):
        return [failure_item(ask.written, failure, getattr(failure, "suggestions", ()))], ""
    stars = 0

    def take_file(target: Target) -> Plan:
        nonlocal stars
        if "*" in target.path:
            # A pattern is matched with all files, so only one that is likely is.
            stars += 1
            if stars > 1 or "/" not in target.path:
                raise errors.NotFound(target.path)
        plan = take(target)
        if isinstance(plan, RowsItem) and plan.facts.get("kind") == "directory" and target.piece is not None:
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
        return [_failure(ask, failure, error, files, max_tokens)], ""
    return [plan for _, plan in found], describe_reading([target for target, _ in found], missing)


def _failure(ask: Ask, failure: ReadError, other: ReadError, files: Files, max_tokens: int) -> FixedItem:
    """Return why a target cannot be read, with suggestions."""
    error = better_error(failure, other, ask.readings)
    if not is_vague(error):
        # The file of another reading is named, because the error is about it.
        named = [error.path] if error is other and error.path not in ask.written else []
        return failure_item(ask.written, error, getattr(error, "suggestions", ()) or named)
    path = likely_path(ask.readings)
    if isinstance(error, errors.OutsideRoot):
        return failure_item(ask.written, error, files.suggestions.with_same_end(path))
    return failure_item(ask.written, error, files.suggestions.near(path), max_tokens)
