"""The block of lines around an anchor, grown outward by indentation (seed 000, section 3.3).

The rules are those of the program the seed describes, one by one; they need an anchor's neighbours, not the whole file,
so only as much is read as they reach.
"""

from __future__ import annotations

from eyespan.errors import WindowTooLarge
from eyespan.model import RowsPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.lines.rows import Row, Rows
    from eyespan.model import Block

COLUMNS_PER_LEVEL = 4
ROW_BYTES = 200
"""What a row weighs beside its text, which is held twice by the time it is shown."""


def grow(rows: Rows, block: Block, max_window_bytes: int) -> RowsPart | None:
    """The rows of the block, or None if the file ends before the anchor.

    Raises: WindowTooLarge, and what reading raises.
    """
    anchor = rows.at(block.anchor)
    if anchor is None:
        return None
    up = _Upward(rows.above(anchor), block.cap, max_window_bytes)
    down = rows.below(anchor)
    anchor_indent = up.indent_above if anchor.blank else anchor.indent
    floor = 0 if block.max_levels == 0 else max(0, anchor_indent - COLUMNS_PER_LEVEL * block.max_levels)
    next_down = next(down, None)
    only_line = anchor.number == 1 and next_down is None
    if block.cap == 1 or only_line:
        return RowsPart(((anchor.number, anchor.shown),))

    above: list[Row] = []
    below: list[Row] = []
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
                    if up_floor_used and not (block.header and row.comment):
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
                if not row.blank:
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
    while kept and kept[-1].blank:
        kept.pop()
    start = 0
    while start < len(kept) and kept[start].blank:
        start += 1
    return RowsPart(tuple([(row.number, row.shown) for row in kept[start:]]))


def _weight(row: Row) -> int:
    return ROW_BYTES + 2 * len(row.shown)


class _Upward:
    """Rows going up, each with its effective indentation: a blank row has that of the nearest row above with text."""

    def __init__(self, rows: Iterator[Row], cap: int, max_bytes: int) -> None:
        self._rows = rows
        self._cap = cap
        self._max_bytes = max_bytes
        self._too_many = False  # blank rows to hold them all
        self._held: list[Row] = []  # rows read ahead, nearest last
        self._indent = 0  # of all blank rows that are held
        self.indent_above = self._look()

    def next(self) -> tuple[Row, int] | None:
        if not self._held:
            if self._too_many:
                # What follows was not held. `grow` weighs these rows, too, and has refused by now.
                raise WindowTooLarge("", limit_bytes=self._max_bytes)
            self._look()
        if not self._held:
            return None
        row = self._held.pop()
        return row, (self._indent if row.blank else row.indent)

    def _look(self) -> int:
        """Reads up to the next row with text; its indentation, or 0 at the top of the file."""
        ahead: list[Row] = []
        self._indent = weight = 0
        for row in self._rows:
            if len(ahead) < self._cap and not self._too_many:  # no more than that can ever be shown
                ahead.append(row)
                weight += _weight(row)
                self._too_many = weight > self._max_bytes
            if not row.blank:
                self._indent = row.indent
                break
        self._held = ahead[::-1]
        return self._indent
