"""Outline source in the worker: one decoder for each language.

`decode_<language>` is made on first access, so the grammar and the scanner are loaded before the sandbox closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from eyespan import outline
from eyespan.outline import isolated

Decoder = Callable[[BinaryIO, Mapping[str, Any]], tuple[dict[str, Any], list[bytes]]]
_REHEARSED = b"<script>a = 1</script><script lang=ts>a</script><script lang=tsx>a</script>\n"
"""A text whose scan imports all that any scan of its language imports: pages need the grammars of scripts."""


def __getattr__(name: str) -> Decoder:
    """Return the decoder `decode_<language>`, ready for the sandbox."""
    language = name.removeprefix("decode_")
    if language == name or not outline.outliner_of(language):
        raise AttributeError(name)
    try:
        outline.scan(_REHEARSED, language)
    except Exception:
        pass  # each request reports it: a missing grammar, or what the code of a plugin raises

    def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        return isolated.response(outline.scan(file.read(), language)), []

    return decode
