"""Plans of differences between revisions: the text of the difference, read like any text that is held whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from eyespan import errors, tokens
from eyespan.dialects import differences
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.documents import NO_NUMBERS
from eyespan.dialects.native.items import Shown
from eyespan.dialects.native.text import HeldText
from eyespan.dialects.native.text_items import TextPlan
from eyespan.dialects.native.wanted import Wanted, want_ranges
from eyespan.opened import Opened
from eyespan.selectors import Enclosing, Ranges, Target, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.items import Item, View


def plan_difference(target: Target, view: View, open_file: Callable[[Target], Opened]) -> Item | TextPlan:
    """Return the plan of the difference that a target names. Lines of it are those of its text. Raises: ReadError."""
    if not differences.is_difference(target):
        raise errors.NoRevision(target.path, revision=target.revision, reason=f"no revision '{target.revision}'")
    if isinstance(target.piece, Enclosing):
        raise errors.NoSuchPart(target.path, document="a difference", part="symbols around lines")
    text, opened = differences.difference(target, open_file)
    if not text:
        return NoDifference(target)
    held = HeldText(opened.document(()), text, opened.context)
    style = replace(view.style, every=NO_NUMBERS) if view.style.every else view.style
    if isinstance(target.piece, Ranges):
        return TextPlan(replace(target, piece=None), held, want_ranges(held, target.piece.ranges), style)
    return TextPlan(target, held, Wanted(is_whole=True), style)


class NoDifference:
    """Two files that are equal."""

    def __init__(self, target: Target) -> None:
        self.selector = write_target(target)
        self._path = target.path
        self._lines = (own_lines.header(f"{own_lines.base_name(target)}: no difference"),)

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lines)) + 1

    def show(self, max_tokens: int) -> Shown:
        return Shown(self._lines, {"path": self._path, "selector": self.selector, "next": None})
