"""Outline source code of languages other than Python: by their grammars if those are installed, else by braces.

A grammar is a generated parser in C with a hand-written scanner, and the source is untrusted, so this module runs in
the sandboxed worker (`decoders.outlines`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.errors import Missing
from eyespan.model import MAX_SYMBOLS
from eyespan.outline.merge import merged
from eyespan.outline.model import Definition, build_outline
from eyespan.outline.rewrite import rewrite
from eyespan.outline.shape import scan_shape
from eyespan.outline.text import decode_text

if TYPE_CHECKING:
    from eyespan.outline import LoadParser
    from eyespan.outline.model import Outline


_KINDS = (
    "function",
    "method",
    "class",
    "struct",
    "interface",
    "enum",
    "trait",
    "impl",
    "namespace",
    "macro",
    "type",
    "constant",
    "field",
)


def scan(data: bytes, language: str, load_parser: LoadParser | None) -> Outline:
    """Return the definitions in source code, by the grammar that `load_parser` loads or else by its shape."""
    source = decode_text(data).encode("utf-8", "replace")
    hint = ""
    if load_parser is not None:
        try:
            parsed = load_parser(language)(source)
            definitions = _valid_definitions(parsed.rows, source.count(b"\n") + 1)
            if parsed.errors:
                scanned = scan_shape(parsed.plain.decode("utf-8", "replace"), language)
                definitions = merged(definitions, scanned.definitions, parsed.errors, is_balanced=scanned.is_balanced)
            if definitions or parsed.is_whole:
                return build_outline(definitions, "tree-sitter", is_complete=parsed.is_whole)
        except Missing as missing:
            hint = missing.install
    if language in ("c", "cpp"):
        source = rewrite(source).plain
    return build_outline(
        scan_shape(source.decode("utf-8", "replace"), language).noted(), "shape", is_complete=False, hint=hint
    )


def _valid_definitions(rows: Any, line_count: int) -> list[Definition]:
    """Return the rows as definitions if all are valid: inside the file, in order, children inside their parents."""
    definitions: list[Definition] = []
    if not isinstance(rows, list):
        return definitions
    for row in rows[:MAX_SYMBOLS]:
        match row:
            case [
                str(name),
                str(kind),
                int(line),
                int(first),
                int(last),
                int(parent),
                str(signature),
                str(owner),
            ] if kind in _KINDS and 1 <= first <= line <= last <= line_count and -1 <= parent < len(definitions):
                if parent >= 0 and not (definitions[parent].first <= first and last <= definitions[parent].last):
                    return []
                definitions.append(
                    Definition(
                        name=name,
                        kind=kind,
                        line=line,
                        first=first,
                        last=last,
                        parent=parent,
                        signature=signature,
                        owner=owner,
                    )
                )
            case _:
                return []
    return definitions
