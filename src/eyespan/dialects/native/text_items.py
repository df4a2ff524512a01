"""Items of text: ranges of one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eyespan import tokens
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.fitted import Fitted, Frame, fit, header_of, left_after
from eyespan.dialects.native.holdings import HeldRun, ShownPart, digest, digests, hash_row, hashed_lines, held_rows
from eyespan.dialects.native.items import MAX_SCALE, Shown, counted, image_tokens, part_shown
from eyespan.dialects.native.loaded import load
from eyespan.dialects.native.rows import Row, as_selector_range, extent, merged, ranges_of, rows_of, split_runs
from eyespan.dialects.native.wanted import combined
from eyespan.errors import PastEnd
from eyespan.model import CharRange, Content
from eyespan.selectors import Piece, Target, write_range, write_symbol, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.loaded import Loaded
    from eyespan.dialects.native.rows import Style
    from eyespan.dialects.native.text import Text
    from eyespan.dialects.native.wanted import Wanted
    from eyespan.outline import Outline


SYMBOL_TOKENS, SYMBOLS_TOKENS = 1300, 700
"""A longer class or function is folded, and so are several of one name that are longer together, if the caller names no
budget."""
FUNCTION_TOKENS, FOLDED_TOKENS = 500, 200
"""What is shown of a single function, and of anything else. Of functions that agents searched for, five of six were
read no further; the lines that they read of a class end anywhere (docs/benchmarks.md)."""
TOKENS_PER_MATCH = 8
HELD_TOKENS = 12
"""The cost of naming a run of lines that the caller holds."""
HELD_SHARE = 4
"""Such runs take at most this part of the budget."""
MAX_KNOWN_PARTS = 20
"""The known parts given with their lines that are compared with one file."""
MAX_NAMED_MATCHES = 20
"""The matches of a search that a note names."""


@dataclass(frozen=True, slots=True)
class TextPlan:
    """A target of text before anything of it is read. Plans with the same key become one item."""

    target: Target
    """The file, and the part of the document that the text is of."""
    text: Text
    wanted: Wanted
    style: Style
    blocks: tuple[Content, ...] = ()
    """Images that belong to the text."""
    is_one_part: bool = False
    """A single page or cell: its images come even where its text does not fit."""
    more: tuple[str, ...] = ()
    """Selectors of what follows the text, such as rows of a table, which the text names."""

    @property
    def key(self) -> tuple[str, Piece | None, str, str]:
        """Return what makes two targets the same text."""
        target = self.target
        return self.text.facts.canonical, target.piece, target.member, target.revision

    @property
    def selector(self) -> str:
        return selector_of(write_target(self.target), self.wanted)


def selector_of(base: str, wanted: Wanted) -> str:
    """Return the selector of all that is wanted of a text."""
    if wanted.pattern:
        return f"{base}?{wanted.pattern}"
    if wanted.is_whole or wanted.gaps:
        return base
    if wanted.symbol:
        return base + write_symbol(wanted.symbol)
    if wanted.tail is not None:
        return f"{base}:-{wanted.tail}"
    return _selector(base, wanted.ranges)


def _selector(base: str, ranges: Sequence[CharRange]) -> str:
    return f"{base}:{','.join([write_range(as_selector_range(one)) for one in ranges])}"


class TextItem:
    """Ranges of one text."""

    def __init__(self, plan: TextPlan, loaded: Loaded, view: View) -> None:
        self._plan = plan
        base = write_target(plan.target)
        name = own_lines.base_name(plan.target)
        held = _held(plan, loaded, view)
        self._held = [row for run in held for row in loaded.rows[run.start : run.end]]
        self._held_texts = [text for run in held for text in loaded.texts[run.start : run.end]]
        self._is_held = bool(loaded.rows) and len(self._held) == len(loaded.rows)
        self._is_unchanged = self._is_held and not any(run.shift for run in held)
        marks = tuple([(loaded.rows[run.start].number, _held_line(loaded.rows, run)) for run in held])
        self._frame = Frame(base, name, loaded.facts.canonical, plan.style, view, marks)
        self._loaded = loaded.without(held) if held and not self._is_held else loaded
        self.selector = selector_of(base, loaded.wanted)
        self._full: Fitted | None = None
        self._outline: Outline | None = None
        self._has_outline = False
        self._full_cost = 0
        self._text_need = view.budget + 1
        if loaded.is_complete or self._is_held:
            self._full = self._all_held() if self._is_held else fit(self._frame, self._loaded)
            self._full_cost = tokens.estimate(own_lines.write(self._full.lines))
            self._text_need = self._full_cost + 1 + self._match_tokens()
        limit = SYMBOL_TOKENS if len(loaded.wanted.ranges) == 1 else SYMBOLS_TOKENS
        is_long = loaded.wanted.symbol and self._text_need > limit and not self._is_held
        if is_long and view.folds_symbols and (outline := self._symbols()) is not None:
            lines = (loaded.wanted.ranges[0].first, loaded.wanted.ranges[-1].last)
            kind = next((one.kind for one in outline.symbols if (one.first, one.last) == lines), "")
            self._text_need = FUNCTION_TOKENS if kind in ("function", "method") else FOLDED_TOKENS

    def _all_held(self) -> Fitted:
        """Return the line for a part that the caller holds; if its lines have moved, with their former numbers."""
        loaded, frame = self._loaded, self._frame
        value, runs = digest(frame.key, hashed_lines(loaded.rows, loaded.texts)), split_runs(loaded.rows)
        header = f"{header_of(frame, loaded, runs, value)}{' unchanged' if self._is_unchanged else ''}"
        lines = [own_lines.header(header), *([] if self._is_unchanged else [line for _, line in frame.held])]
        following = [] if loaded.is_complete else left_after(loaded, loaded.rows[-1])
        return Fitted(loaded.rows, loaded.texts, following, lines=lines, hash=value, runs=runs)

    @property
    def is_cut(self) -> bool:
        """Return True if not all that is wanted was read."""
        return not self._loaded.is_complete

    @property
    def size_bytes(self) -> int:
        """Return the size of the text that was read."""
        return self._loaded.size_bytes

    def need(self) -> int:
        return self._text_need + image_tokens(self._plan.blocks)

    def show(self, max_tokens: int) -> Shown:
        blocks = self._plan.blocks
        cost = image_tokens(blocks)
        if not cost or self.need() <= max_tokens:
            return replace(self._show_text(max_tokens - cost), blocks=blocks)
        if self._plan.is_one_part and cost <= max_tokens // 2:
            return replace(self._show_text(max_tokens - cost), blocks=blocks)
        if self._plan.is_one_part:
            words = f"{counted(len(blocks), 'image')} not shown; a budget of {2 * cost} or more shows them"
        else:
            words = f"{len(blocks)} images are not shown; a cell alone comes with its own"
        note = own_lines.note(words)
        shown = self._show_text(max_tokens - tokens.estimate(note) - 1)
        return replace(shown, lines=(*shown.lines, note))

    def _show_text(self, max_tokens: int) -> Shown:
        loaded, frame = self._loaded, self._frame
        fitted = self._full
        if fitted is None or (self._full_cost + self._match_tokens() > max_tokens and not self._is_held):
            outline = self._symbols() if loaded.wanted.is_whole or loaded.wanted.symbol else None
            fitted = fit(frame, loaded, max_tokens - self._match_tokens(), outline)
        notes = self._match_notes(fitted)
        lines = (*fitted.lines, *notes)
        left = self._left(fitted)
        hidden = merged([CharRange(gap.first, 1, gap.last) for gap in (*fitted.gaps, *loaded.wanted.gaps)])
        folded = (*([_selector(frame.base, hidden)] if hidden else ()), *self._plan.more)
        facts: dict[str, Any] = {
            "path": loaded.facts.path,
            "selector": _selector(frame.base, ranges_of(fitted.runs)) if fitted.runs else self.selector,
            "hash": fitted.hash,
            "lines": len({row.number for row in fitted.rows}),
            "total_lines": loaded.total_lines,
        }
        if loaded.has_changed:
            facts["changed_during_read"] = True
        if self._held:
            facts["held"] = _selector(frame.base, ranges_of(split_runs(self._held)))
        if self._is_unchanged:
            facts["unchanged"] = True
        part = ShownPart.of(self._plan.target, [*self._held, *fitted.rows], [*self._held_texts, *fitted.texts])
        return part_shown(lines, facts, left, folded=folded, seen=(self._plan.key, fitted.hash, part))

    def _symbols(self) -> Outline | None:
        """Return the outline of the text, found once: an item is shown several times until the budget is filled."""
        if not self._has_outline:
            self._outline, self._has_outline = self._plan.text.outline(), True
        return self._outline

    def _left(self, fitted: Fitted) -> tuple[str, ...]:
        """Return the selectors of what is left to read."""
        wanted, base = self._loaded.wanted, self._frame.base
        if not wanted.pattern:
            return (_selector(base, fitted.left),) if fitted.left else ()
        left = []
        line = wanted.search_next
        if fitted.left:
            line, column = fitted.left[0].first, fitted.left[0].column
            if column > 1:
                left.append(f"{base}:{line}:{column}-{line}")
                line += 1
        last = wanted.search_last
        if line and (wanted.search_next or any(number >= line for number in wanted.matches)):
            left.append(f"{base}:{line}-{'' if last is None else last}?{wanted.pattern}")
        return tuple(left)

    def _match_tokens(self) -> int:
        """Return the cost of the note about matches, at most."""
        count = len(self._loaded.wanted.matches)
        return TOKENS_PER_MATCH * min(count, MAX_NAMED_MATCHES) + 4 if count else 0

    def _match_notes(self, fitted: Fitted) -> list[str]:
        """Return a note with the lines that match among those shown, each with the symbol around it."""
        wanted = self._loaded.wanted
        if not wanted.pattern:
            return []
        shown = {row.number for row in fitted.rows}
        matches = [number for number in wanted.matches if number in shown]
        outline = self._symbols()
        symbols = () if outline is None else outline.symbols
        named: dict[str, list[int]] = {}
        for number in matches[:MAX_NAMED_MATCHES]:
            around = [symbol for symbol in symbols if symbol.first <= number <= symbol.last]
            inner = min(around, key=lambda symbol: symbol.last - symbol.first, default=None)
            named.setdefault("" if inner is None else inner.qualified, []).append(number)
        texts = [f"{', '.join(map(str, lines))}{f' in {name}' if name else ''}" for name, lines in named.items()]
        more = len(matches) - MAX_NAMED_MATCHES
        text = f"match: {'; '.join(texts)}{f' and {more} more' if more > 0 else ''}"
        return [own_lines.note(text)] if matches else []


def _held(plan: TextPlan, loaded: Loaded, view: View) -> list[HeldRun]:
    """Return the runs of loaded rows that the caller holds unchanged. Raises: ReadError."""
    if not (view.known or view.remembers) or loaded.wanted.pattern:
        return []
    known = frozenset(view.known)
    lines = view.holdings.lines(plan.key, None if view.remembers else known)
    for value, ranges in list(view.known.items())[:MAX_KNOWN_PARTS]:
        rows = [row for one in ranges for row in rows_of(plan.text.read(one)[0])]
        if rows and digest(loaded.facts.canonical, hashed_lines(rows, [row.text for row in rows])) == value:
            lines.update({row.number: hash_row(row, row.text) for row in rows if row.is_whole})
    found = held_rows(loaded.rows, loaded.texts, lines)
    if HELD_TOKENS * len(found) > view.budget // MAX_SCALE // HELD_SHARE:
        return []  # so many runs that naming them costs more than it saves
    if not found and known:
        # A part with its hash alone: perhaps all of it, or its start, was shown by another process.
        values = digests(loaded.facts.canonical, hashed_lines(loaded.rows, loaded.texts))
        ends = [at for at, value in enumerate(values, 1) if value in known]
        found = [HeldRun(0, ends[-1])] if ends else []
    return found


def _held_line(rows: Sequence[Row], run: HeldRun) -> str:
    """Return the line that stands for rows which the caller holds."""
    lines = extent([rows[run.start : run.end]])
    if not run.shift:
        return own_lines.words(f"= {lines}")
    before = extent([[row._replace(number=row.number + run.shift) for row in rows[run.start : run.end]]])
    return own_lines.words(f"= {lines} shown as {before}")


def make_item(plans: Sequence[TextPlan], view: View, max_chars: int) -> TextItem:
    """Read what several targets want of the same text, at most `max_chars` of it, and make one item of it.

    Raises: ReadError.
    """
    plan = plans[0]
    wanted = combined(plan.text, [one.wanted for one in plans])
    loaded = load(plan.text, wanted, max_chars, redacts=view.redacts)
    plan.text.drop_buffers()
    if not loaded.rows and loaded.total_lines and loaded.wanted.ranges:
        first = str(loaded.wanted.ranges[0].first)
        raise PastEnd(loaded.facts.path, part="line", wanted=first, document="the file", total=loaded.total_lines)
    return TextItem(plan, loaded, view)
