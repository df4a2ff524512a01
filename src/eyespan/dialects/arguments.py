"""Judging the values that a model sends. Which of them are wrong, and in which words, is each dialect's own affair."""

from __future__ import annotations

from eyespan.errors import BadArguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["BadArguments", "as_whole", "is_integer", "shown"]

_MOST_BITS = 1024
"""No number of a line is longer, and Python writes no number of more than 4,300 digits."""


def is_integer(value: Any) -> bool:
    """A whole number written as one; `true` is none."""
    return type(value) is int and value.bit_length() <= _MOST_BITS


def as_whole(value: Any) -> int | None:
    """A number without a fraction, as JSON has it: 2 and 2.0, but neither 2.5 nor "2" nor true."""
    if is_integer(value):
        number: int = value
        return number
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def shown(value: Any) -> str:
    """A value as an error message shows it: its JSON form, shortened, or its type if it has none."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # no JSON, too many digits, too deep
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."
