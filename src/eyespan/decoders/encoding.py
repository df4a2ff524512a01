"""Guess the encoding of a sample of text with chardet, whose tables take 40 MB."""

from __future__ import annotations

import codecs
from encodings.aliases import aliases
from typing import TYPE_CHECKING, Any

from eyespan.errors import Missing
from eyespan.lines.detect import SAMPLE_BYTES, UNLIKELY, ask_here

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the encoding and its score. Raises: Missing."""
    encoding, score = ask_here(file.read(SAMPLE_BYTES))
    return {"encoding": encoding, "score": score}, []


def _load() -> None:
    """Load what chardet loads on first use: inside the sandbox no file can be opened."""
    for name in {*aliases.values(), *UNLIKELY}:
        try:
            codecs.lookup(name)
        except (LookupError, ImportError):
            pass  # of another system
    try:
        ask_here("caf\xe9 \xe0 la cr\xe8me\n".encode("latin-1") * 10)
    except Missing:
        pass  # reported by the job


_load()
