"""Judging the values that a model sends. Which of them are wrong, and in which words, is each dialect's own affair."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class BadArguments(Exception):
    """Arguments that the dialect refuses before anything is read: its own code and text."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


def is_integer(value: Any) -> bool:
    """A whole number written as one; `true` is none."""
    return type(value) is int


def as_whole(value: Any) -> int | None:
    """A number without a fraction, as JSON has it: 2 and 2.0, but neither 2.5 nor "2" nor true."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def shown(value: Any) -> str:
    """A value as an error message shows it: its JSON form, shortened."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
