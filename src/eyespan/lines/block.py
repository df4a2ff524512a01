"""The block of lines around an anchor, grown outward by indentation (seed 000, section 3.3).

The rules are those of the program that the seed describes, one by one. They need the neighbours of the anchor, not the
whole file, so no more is read than they reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from eyespan.errors import WindowTooLarge
from eyespan.lines.rows import MeasuredRow, Rows
from eyespan.model import Block, RowsPart

ROW_BYTES = 200
"""The weight of a row beside its text, which is in memory twice when the answer is rendered."""


def grow(rows: Rows, block: Block, max_window_bytes: int) -> RowsPart | None:
    """Return the rows of the block, or None if the file ends before the anchor.

    Raises: WindowTooLarge, and what reading raises.
    """
    anchor = rows.at(block.anchor)
    if anchor is None:
        return None
    up = _Upward(rows.above(anchor), cap=block.cap, max_bytes=max_window_bytes)
    down = rows.below(anchor)
    anchor_indent = up.indent_above if anchor.is_blank else anchor.indent
    floor = 0 if block.max_levels == 0 else max(0, anchor_indent - 4 * block.max_levels)
    next_down = next(down, None)
    only_line = anchor.number == 1 and next_down is None
    if block.cap == 1 or only_line:
        return RowsPart(((anchor.number, anchor.data),))

    above: list[MeasuredRow] = []
    below: list[MeasuredRow] = []
    up_floor_used = down_floor_used = False
    up_open = down_open = True
    below_indent = anchor_indent
    weight = 0
    while 1 + len(above) + len(below) < block.cap:
        added = False
        if weight > max_window_bytes:
            raise WindowTooLarge("", limit_bytes=max_window_bytes)
        if up_open:
            step = up.next()
            if step is None or step[1] < floor:
                up_open = False
            else:
                row, indent = step
                if indent == floor and not block.siblings:
                    if up_floor_used and not (block.header and row.is_comment):
                        up_open = False
                    up_floor_used = True
                if up_open:
                    above.append(row)
                    weight += _weight(row)
                    added = True
                    if 1 + len(above) + len(below) >= block.cap:
                        break
        if down_open:
            if next_down is None:
                down_open = False
            else:
                row, next_down = next_down, None
                if not row.is_blank:
                    below_indent = row.indent
                if below_indent < floor:
                    down_open = False
                elif below_indent == floor and not block.siblings:
                    down_open = not down_floor_used
                    down_floor_used = True
                if down_open:
                    below.append(row)
                    weight += _weight(row)
                    added = True
                    next_down = next(down, None)
        if not added:
            break
    kept = [*reversed(above), anchor, *below]
    while kept and kept[-1].is_blank:
        kept.pop()
    start = 0
    while start < len(kept) and kept[start].is_blank:
        start += 1
    return RowsPart(tuple([(row.number, row.data) for row in kept[start:]]))


def _weight(row: MeasuredRow) -> int:
    return ROW_BYTES + 2 * len(row.data)


class _Upward:
    """Rows going up, each with its effective indentation: a blank row has that of the nearest row above with text."""

    def __init__(self, rows: Iterator[MeasuredRow], *, cap: int, max_bytes: int) -> None:
        self._rows = rows
        self._cap = cap
        self._max_bytes = max_bytes
        self._has_dropped_rows = False
        """There were too many blank rows to hold them all."""
        self._held: list[MeasuredRow] = []
        """Rows read ahead, nearest last."""
        self._indent = 0
        """The effective indentation of the blank rows that are held."""
        self.indent_above = self._read_ahead()

    def next(self) -> tuple[MeasuredRow, int] | None:
        """Return the next row up with its effective indentation, or None at the top. Raises: WindowTooLarge."""
        if not self._held:
            if self._has_dropped_rows:
                # The rows above were dropped. `grow` weighs the rows before them, so it has refused already.
                raise WindowTooLarge("", limit_bytes=self._max_bytes)
            self._read_ahead()
        if not self._held:
            return None
        row = self._held.pop()
        return row, (self._indent if row.is_blank else row.indent)

    def _read_ahead(self) -> int:
        """Read up to the next row with text; return its indentation, or 0 at the top of the file."""
        ahead: list[MeasuredRow] = []
        self._indent = weight = 0
        for row in self._rows:
            if len(ahead) < self._cap and not self._has_dropped_rows:  # no more rows than that can be shown
                ahead.append(row)
                weight += _weight(row)
                self._has_dropped_rows = weight > self._max_bytes
            if not row.is_blank:
                self._indent = row.indent
                break
        self._held = ahead[::-1]
        return self._indent
