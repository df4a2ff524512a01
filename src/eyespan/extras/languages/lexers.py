"""Find the parts of source text that a terminal shows in colour, with the lexers of Pygments, in the worker.

`decode_<language>` is made on first access, so the lexer is loaded before the sandbox closes. The result has one byte
for each character: the number of its style in `STYLES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import unreadable
from eyespan.errors import Missing
from eyespan.outline import languages

try:
    from pygments.lexer import Lexer
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType
    from pygments.util import ClassNotFound
except ImportError as error:
    raise Missing("", what="colours of source text", install="pip install pygments") from error

Decoder = Callable[[BinaryIO, Mapping[str, Any]], tuple[dict[str, Any], list[bytes]]]

STYLES = ("plain", "comment", "string", "keyword", "name", "number", "builtin", "heading", "added", "removed")
_OPTIONS = {"markdown": {"handlecodeblocks": False}}
"""A lexer that loads others for code blocks could not load them in the sandbox."""
_NAMES = {"svelte": "html"}
_STYLE_OF = {
    Comment: "comment",
    String: "string",
    Keyword: "keyword",
    Operator.Word: "keyword",
    Name.Function: "name",
    Name.Class: "name",
    Name.Tag: "keyword",
    Name.Attribute: "name",
    Name.Builtin: "builtin",
    Name.Decorator: "builtin",
    Number: "number",
    Generic.Heading: "heading",
    Generic.Subheading: "heading",
    Generic.Inserted: "added",
    Generic.Deleted: "removed",
}


def styles_of(text: str, lexer: Lexer) -> bytes:
    """Return one byte for each character of a text."""
    styles = bytearray(len(text))
    known: dict[_TokenType, int] = {}
    for start, kind, value in lexer.get_tokens_unprocessed(text):
        number = known.get(kind)
        if number is None:
            number = known[kind] = _number(kind)
        if number:
            end = min(start + len(value), len(text))
            styles[start:end] = bytes([number]) * (end - start)
    return bytes(styles)


def _number(kind: _TokenType) -> int:
    """Return the number of the style of a token type, or of the nearest type above it that has one."""
    one: _TokenType | None = kind
    while one is not None:
        if one in _STYLE_OF:
            return STYLES.index(_STYLE_OF[one])
        one = one.parent
    return 0


def __getattr__(name: str) -> Decoder:
    """Return the decoder `decode_<language>`, ready for the sandbox."""
    language = name.removeprefix("decode_")
    if language == name or language not in languages():
        raise AttributeError(name)
    try:
        lexer = get_lexer_by_name(_NAMES.get(language, language), **_OPTIONS.get(language, {}))
    except ClassNotFound:
        return _refuse
    styles_of("a = 1\n", lexer)  # the first run makes the tables of the lexer

    def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        return {"styles": list(STYLES)}, [styles_of(file.read().decode("utf-8", "replace"), lexer)]

    return decode


def _refuse(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    raise unreadable("no lexer for this language")
