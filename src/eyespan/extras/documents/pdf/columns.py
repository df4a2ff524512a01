"""Columns of running text of a PDF page, found as white strips between its rows."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

from eyespan.extras.documents.pdf.words import Row, Segment

MAX_GAP = 1.2
"""Columns may end at a gap between rows of so many times their height: a table may follow."""


def in_columns(rows: list[Row], jumps: list[float], depth: int = 0) -> list[list[Row]]:
    """Return runs of rows in reading order, each of one column.

    Adds to `jumps` where the text layer changes between the columns again and again.
    """
    x = _gutter(rows) if depth < 3 else None
    if x is None:
        return [rows]
    beside = [s for row in rows for s in row if not s.left < x < s.right]
    left = sum([s.left < x for s in beside])
    if _changes(beside, x) >= 0.25 * min(left, len(beside) - left):
        jumps.append(x)
    runs: list[list[Row]] = []
    for is_divided, bands in groupby(_bands(rows, x), key=lambda band: _band_score(band, x) > 0):
        run = [row for band in bands for row in band]
        if is_divided:
            runs += in_columns([kept for row in run if (kept := [s for s in row if s.right <= x])], jumps, depth + 1)
            runs += in_columns([kept for row in run if (kept := [s for s in row if s.left >= x])], jumps, depth + 1)
        else:
            runs.append(run)
    return runs


def _gutter(rows: list[Row]) -> float | None:
    """Return the x of a white strip between two columns of running text; None if there is none."""
    segments = [s for row in rows for s in row]
    if len(rows) < 4 or len(segments) > 4000:
        return None
    low, high = min(s.left for s in segments), max(s.right for s in segments)
    near, far = low + 0.15 * (high - low), high - 0.12 * (high - low)
    best, place = 3, None
    starts = Counter([round(s.left - 2) for s in segments if near < s.left < far])
    # The column begins where most lines begin.
    for x in sorted([x for x in starts if starts[x] > 2], key=lambda x: -starts[x])[:4]:
        score = sum([_band_score(band, x) for band in _bands(rows, x)])
        if score > best:
            best, place = score, float(x)
    return place


def _bands(rows: list[Row], x: float) -> list[list[Row]]:
    """Return the rows in runs: each row that crosses x alone, the others up to the next wide gap between rows."""
    bands: list[list[Row]] = []
    is_crossed = True
    bottom = 0.0
    for row in rows:
        was_crossed, is_crossed = is_crossed, any(s.left < x < s.right for s in row)
        first = row[0]
        if is_crossed or was_crossed or first.top - bottom > MAX_GAP * (first.bottom - first.top):
            bands.append([row])
        else:
            bands[-1].append(row)
        bottom = first.bottom
    return bands


def _band_score(band: list[Row], x: float) -> int:
    left = [s for row in band for s in row if s.right <= x]
    right = [s for row in band for s in row if s.left >= x]
    if len(left) < 3 or len(right) < 3:
        return 0
    running = _is_running_text(left) + _is_running_text(right)
    if running == 2 or (running == 1 and _changes([*left, *right], x) <= 3):  # a table beside text
        return min(len(left), len(right))
    return 0


def _changes(segments: list[Segment], x: float) -> int:
    """Return how often the text layer changes from one side of x to the other."""
    beside = sorted(segments, key=lambda s: s.start)
    return sum([(a.left < x) != (b.left < x) for a, b in pairwise(beside)])


def _is_running_text(segments: list[Segment]) -> bool:
    """Return True if most lines fill their column."""
    width = max(s.right for s in segments) - min(s.left for s in segments)
    chars = sum([s.words[-1][5] - s.words[0][4] for s in segments]) / len(segments)
    if sum([s.right - s.left > 0.6 * width for s in segments]) < 0.45 * len(segments) or chars < 16:
        return False
    sample = "".join([s.page[s.start : s.start + 16] for s in segments])
    return sum(map(str.isdigit, sample)) < 0.2 * len(sample)
