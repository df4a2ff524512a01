"""Binary search over a predicate. `bisect` does the same with a key function and costs an import at start."""

from __future__ import annotations

from collections.abc import Callable


def first_true(low: int, high: int, predicate: Callable[[int], bool]) -> int:
    """Return the smallest number from `low` to `high - 1` for which `predicate` is true, or `high` if there is none.

    The predicate must be false up to some number and true from there on.
    """
    while low < high:
        middle = (low + high) // 2
        if predicate(middle):
            high = middle
        else:
            low = middle + 1
    return low
