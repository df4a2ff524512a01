"""Outline source in the worker: one decoder for each language, and one that does without a grammar.

`decode_<language>` is made on first access, so the grammar and the scanner are loaded before the sandbox closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, BinaryIO

from eyespan import outline
from eyespan.decoders.grammars import load_parser
from eyespan.errors import Missing
from eyespan.outline import isolated

Decoder = Callable[[BinaryIO, Mapping[str, Any]], tuple[dict[str, Any], list[bytes]]]


def decode_shape(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Outline source code by its indentation and braces."""
    return isolated.response(outline.scan(file.read(), params["language"], None)), []


def rehearse() -> None:
    """Import what a scan without a grammar loads on first use."""
    outline.scan(b"int a() {\n}\n", "c", None)


def __getattr__(name: str) -> Decoder:
    """Return the decoder `decode_<language>`, ready for the sandbox."""
    language = name.removeprefix("decode_")
    if language == name or language not in outline.LANGUAGES:
        raise AttributeError(name)
    import_module(outline.scanner_module(language))
    loaded = _loaded_for(language)

    def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        return isolated.response(outline.scan(file.read(), language, loaded)), []

    # The first run imports what the scanner loads on first use.
    outline.scan(b"a = 1\n", language, loaded)
    return decode


def _loaded_for(language: str) -> outline.LoadParser | None:
    """Return the loader of the grammars that a language needs; None if it needs none."""
    if outline.has_grammar(language):
        return _loaded(language)
    if language in ("html", "vue", "svelte"):
        loaders = {script: _loaded(script) for script in ("javascript", "typescript", "tsx")}
        return lambda script: loaders[script](script)
    return None


def _loaded(language: str) -> outline.LoadParser:
    """Return a loader of the grammar that has it in memory already, or fails as the first attempt did."""
    try:
        parse = load_parser(language)
    except Missing as missing:
        what, install = missing.what, missing.install

        def fail(_: str) -> Callable[[bytes], tuple[Any, bool]]:
            raise Missing("", what=what, install=install)

        return fail
    return lambda _: parse
