"""The sizes of tests that have a short and a long form.

`make test` runs the short form. EYESPAN_TESTS=long selects the long form, which `make proof` runs. EYESPAN_FUZZ=10, as
`make fuzz` sets it, lets property tests try random examples, ten times as many.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

FORM = os.environ.get("EYESPAN_TESTS", "short")
if FORM not in ("short", "long"):
    raise ValueError(f"EYESPAN_TESTS is {FORM!r}; it can be short or long")

FUZZ = int(os.environ.get("EYESPAN_FUZZ", "0"))
"""The factor of the number of examples; 0: the examples are not random."""


def size(*, short: T, long: T) -> T:
    """Return the value for the selected form."""
    return long if FORM == "long" else short


def examples(count: int, short: int | None = None) -> int:
    """Return the number of examples of a property test: `count` in the long form, a tenth of it in the short one."""
    return max(1, FUZZ) * size(short=max(20, count // 10) if short is None else short, long=count)
