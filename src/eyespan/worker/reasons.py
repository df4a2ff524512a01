"""Texts of libraries, made fit for an answer.

The message of an exception may name what only concerns this machine: paths of its files, addresses of objects in
memory, classes of a library. None of that helps a caller, and a path reveals where the host keeps its files.
"""

from __future__ import annotations

import re

MAX_REASON_CHARS = 500
_WORD = r"""[^\s'"`,;:<>()]{1,300}"""
_REMOVED = (
    # repr() of objects and classes: <_io.FileIO name='/x' at 0x7f00>, <class 'a.B'>
    (re.compile(r"<[^<>]{0,200}\bat 0x[0-9a-fA-F]+>"), ""),
    (re.compile(r"<(?:class|module|function|built-in)\b[^<>]{0,200}>"), ""),
    (re.compile(r"\bat 0x[0-9a-fA-F]+\b|\b0x[0-9a-fA-F]{9,}\b"), ""),
    # Names of exception classes, with the modules they are in.
    (re.compile(r"\b(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Warning)\b(?:: ?)?"), ""),
    # Absolute paths: in quotes to the closing one, else to the next character that ends a word in a sentence.
    (re.compile(r"""(['"`])(?:file:)?(?:/|[A-Za-z]:[\\/]|\\\\)(?:(?!\1).){1,300}(?:\1|$)"""), "the file"),
    (re.compile(rf"\bfile:/+{_WORD}"), "the file"),
    (re.compile(rf"(?<![\w.)\]/-])(?:/(?=[\w.~@+-])|[A-Za-z]:[\\/]|\\\\(?=\w)){_WORD}"), "the file"),
    (re.compile(r"\(\s*\)"), ""),
)
_BLANKS = re.compile(r"\s+")
_EMPTY_END = re.compile(r"[\s:,;(-]+$")


def clean_reason(text: str) -> str:
    """Return a message on one line without absolute paths, memory addresses and names of classes, and not too long."""
    text = text[: 2 * MAX_REASON_CHARS]
    for pattern, replacement in _REMOVED:
        text = pattern.sub(replacement, text)
    text = _BLANKS.sub(" ", text).strip()
    return _EMPTY_END.sub("", text)[:MAX_REASON_CHARS]
