"""Count tokens exactly, with a vocabulary that is installed as a package (extra `tokens`).

Without one, answers keep their budget by an estimate (`eyespan.tokens`), which is some per cent off. A vocabulary takes
a second or two to load, so it is loaded for the first answer that needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""The values of the setting `tokenizer`, and the names of the encodings."""
INSTALL = "pip install 'eyespan[tokens]'"

_counters: dict[str, Callable[[str], int]] = {}


def check_setting(name: object) -> None:
    """Raise ValueError if no tokenizer has this name, or none is installed."""
    if name == "claude":
        raise ValueError("tokenizer: the vocabulary of claude is not public, so there is no exact count of its tokens")
    if name not in ENCODINGS:
        raise ValueError(f"tokenizer must be estimate, {' or '.join(ENCODINGS)}, not {name!r}")
    if find_spec("bpe_openai") is None:
        raise ValueError(f"tokenizer={name!r} needs a vocabulary: {INSTALL}")


def counter(name: str) -> Callable[[str], int]:
    """Return the function that counts the tokens of a text."""
    found = _counters.get(name)
    if found is None:
        encode = import_module("bpe_openai").get_encoding(ENCODINGS[name]).encode_ordinary
        found = _counters[name] = lambda text: len(encode(text))
    return found
