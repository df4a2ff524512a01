"""Check the values that a model sends. Each dialect decides which are wrong, and words its own errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from eyespan.errors import BadArguments

__all__ = ["BadArguments", "as_whole", "is_integer", "path_in", "refusal", "shown"]

MAX_BITS = 1024
"""No line number is longer, and Python formats no number of more than 4,300 digits."""


def refusal(code: str, form: str = "{}") -> Callable[[str], BadArguments]:
    """Return the function that makes the error of wrong arguments, with the code and the form of text of a dialect."""
    return lambda text: BadArguments(code, form.format(text))


def is_integer(value: Any) -> bool:
    """Return True for a JSON integer; `true` is not one."""
    return type(value) is int and value.bit_length() <= MAX_BITS


def as_whole(value: Any) -> int | None:
    """Return a JSON number without a fraction as an integer: 2 and 2.0, but not 2.5, "2" or true; else None."""
    if is_integer(value):
        number: int = value
        return number
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def path_in(arguments: Any, name: str, bad: Callable[[str], BadArguments]) -> str:
    """Return the path in the arguments of a call; `bad` words the dialect's errors. Raises: BadArguments."""
    if not isinstance(arguments, dict):
        raise bad("the arguments must be an object")
    path = arguments.get(name)
    if not isinstance(path, str):
        raise bad(f"{name} must be a string, not {shown(path)}")
    return path


def shown(value: Any) -> str:
    """Return a value for an error message: its JSON form, shortened, or its type if it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # not JSON, too many digits, too deep
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."
