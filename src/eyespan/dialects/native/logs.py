"""Logs that exceed the budget: the first lines, the last ones, and the last errors between them.

The others are named by gaps that are selectors, so nothing is lost.
"""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING

from eyespan.dialects.native.fold import Gap
from eyespan.dialects.native.items import MAX_SCALE
from eyespan.dialects.native.rows import merged
from eyespan.dialects.native.wanted import Wanted
from eyespan.errors import Missing
from eyespan.model import EXACT_TOTAL, MIB, CharRange
from eyespan.readers.text import is_count_costly

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.text import FileText


SUFFIXES = (".log", ".out", ".err")
CHARS_PER_TOKEN = 2.5
"""Timestamps and numbers take many tokens."""
FIRST_SHARE, ERRORS_SHARE, LAST_SHARE = 0.1, 0.2, 0.5
"""The parts of the budget for the first lines, the errors with their gaps, and the last lines."""
MAX_FIRST, MAX_ERRORS = 20, 20
MAX_BYTES = 32 * MIB
"""Larger logs are not searched for errors."""
ERRORS = r"(?i)\b(?:error|fatal|critical|panic|exception|traceback|failed)\b"


def want_log(text: FileText, view: View) -> Wanted | None:
    """Return what is shown of a log that exceeds the budget; None for other texts. Raises: ReadError."""
    size_bytes, budget = text.facts.size_bytes, view.budget // MAX_SCALE
    if not (view.folds and text.facts.path.endswith(SUFFIXES)) or size_bytes < 4 * budget:
        return None
    if is_count_costly(text.opened):
        return None
    total = text.read(CharRange(1, 1, 1, 1), EXACT_TOTAL)[0].total_lines or 1
    lines = budget / (size_bytes / total / CHARS_PER_TOKEN + 3)  # as many as the budget holds
    first = min(MAX_FIRST, max(1, int(FIRST_SHARE * lines)))
    last = total - max(1, int(LAST_SHARE * lines)) + 1
    if last <= first + 1:
        return None
    most = min(MAX_ERRORS, int(ERRORS_SHARE * lines / 2))
    errors, count = _errors(text, first + 1, last - 1, most) if size_bytes <= MAX_BYTES else ([], 0)
    ranges = merged([CharRange(1, 1, first), *[CharRange(at, 1, at) for at in errors], CharRange(last, 1, total)])
    gaps = [Gap((one.last or 0) + 1, other.first - 1) for one, other in itertools.pairwise(ranges)]
    note = f"a log: its first and last lines, and {len(errors)} of {count} lines with errors between them"
    return Wanted(tuple(ranges), notes=(note,), gaps=tuple(gaps))


def _errors(text: FileText, first: int, last: int, most: int) -> tuple[list[int], int]:
    """Return the last `most` lines with errors between two lines, and how many there are. Raises: ReadError."""
    from eyespan.dialects.native.searches import compile_search, matching_lines

    try:
        search = compile_search(ERRORS, text.opened.context)
    except Missing:
        return [], 0
    found: deque[int] = deque(maxlen=most)
    count = 0
    for number, _ in matching_lines(text, [CharRange(first, 1, last)], search, [], []):
        found.append(number)
        count += 1
    return list(found), count
