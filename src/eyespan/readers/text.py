"""Read the selected lines of text files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.lines.block import grow
from eyespan.lines.encodings import UTF8, Encoding, choose
from eyespan.lines.reader import LineReader
from eyespan.lines.rows import Rows
from eyespan.lines.whole import ConvertedSource, decoded
from eyespan.model import Block, CharRange, Document, Lines, Part, ReadRequest, RowsPart, Selection, Tail, TextPart
from eyespan.source import Source

if TYPE_CHECKING:
    from eyespan.opened import Opened


CHEAP_REMOTE_BYTES = 4 << 20
"""The bytes that are read from a store without being asked for, to count lines."""


NO_FACTS: Mapping[str, Any] = {}


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return the selected lines of a text file; a part without lines if the selection is beyond the end.

    Facts, if the request `reports_encoding`: `encoding`, `encoding_found` (the method), `encoding_confidence` for a
    guess, and `replaced`, the number of pieces that could not be decoded.

    Raises: ScanLimit, TooLarge, WindowTooLarge, and what reading raises.
    """
    source, request = opened.source, opened.request
    encoding = UTF8 if request.encoding == "utf-8" else _encoding(opened, context)
    parts, facts = read_parts(source, request, selection, context, encoding)
    return opened.document(parts, facts)


def read_parts(
    source: Source, request: ReadRequest, selection: Selection, context: CallContext, encoding: Encoding = UTF8
) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    """Read lines of any source of text; return the parts and the facts about their decoding.

    Raises: ScanLimit, TooLarge, WindowTooLarge, and what reading raises.
    """
    if not encoding.has_lines:
        return _read_decoded(source, request, selection, encoding, context)
    if isinstance(selection, CharRange) or (isinstance(selection, Tail) and selection.max_bytes is not None):
        from eyespan.lines.char_range import read_char_range

        return read_char_range(source, request, selection, encoding, context)
    if isinstance(selection, Block):
        return _read_block(source, request, selection, encoding, context)
    lines = LineReader(source, request, encoding, context)
    try:
        if isinstance(selection, Tail):
            part = lines.tail(selection.count, selection.numbered)
        else:
            part = lines.window(selection.first, selection.count)
        return (part,), _encoding_facts(request, encoding, lines.replaced)
    finally:
        lines.cache_index()


def read_held(
    held: ConvertedSource, request: ReadRequest, selection: Selection, context: CallContext
) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    """Read lines of a text that was made for this read only; what is not returned of it is free again.

    Raises: ScanLimit, TooLarge, WindowTooLarge, and what reading raises.
    """
    parts, facts = read_parts(held, request, selection, context)
    returned_bytes = sum([len(part.data) if isinstance(part, TextPart) else held.size_bytes for part in parts])
    context.memory.refund(max(0, held.size_bytes - returned_bytes))
    return parts, facts


def stream(opened: Opened, selection: Selection, context: CallContext) -> Iterator[TextPart]:
    """Yield the same lines in small parts; at least one part, which may be empty."""
    source, request = opened.source, opened.request
    encoding = _encoding(opened, context)
    if isinstance(selection, Lines) and encoding.has_lines:
        lines = LineReader(source, request, encoding, context)
        try:
            yield from lines.stream(selection.first, selection.count)
        finally:
            lines.cache_index()
    else:
        parts, _ = read_parts(source, request, selection, context, encoding)
        yield from [part for part in parts if isinstance(part, TextPart)]


def is_count_costly(opened: Opened) -> bool:
    """Return True if the lines of a text can only be counted by many requests: a large object without an index."""
    source = opened.source
    if not source.is_version or not source.has_exact_size or source.size_bytes <= CHEAP_REMOTE_BYTES:
        return False
    encoding = _encoding(opened, opened.context)
    if not encoding.has_lines:
        return False
    return LineReader(source, opened.request, encoding, opened.context).uncounted_bytes() > CHEAP_REMOTE_BYTES


def _read_decoded(
    source: Source, request: ReadRequest, selection: Selection, encoding: Encoding, context: CallContext
) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    """Read lines of a text that must be decoded whole."""
    held, replaced = decoded(source, encoding, context)
    parts, facts = read_held(held, request, selection, context)
    if not facts:
        return parts, facts
    encoding_facts = {"encoding": encoding.name, "encoding_found": encoding.how, "replaced": replaced}
    if encoding.confidence is not None:
        encoding_facts["encoding_confidence"] = encoding.confidence
    return parts, {**facts, **encoding_facts}


def _encoding(opened: Opened, context: CallContext) -> Encoding:
    source = opened.source
    first_bytes = source.first_bytes
    # To search a remote file for its first other character would take as long as a scan.
    has_more = not source.is_version and not (source.has_exact_size and len(first_bytes) == source.size_bytes)
    return choose(
        opened.request.encoding, first_bytes, source.read_at if has_more else None, opened.ask_encoding(context)
    )


def _encoding_facts(request: ReadRequest, encoding: Encoding, replaced: int) -> Mapping[str, Any]:
    """Return the facts about the decoding, if the dialect reports them."""
    if not request.reports_encoding:
        return NO_FACTS
    name = "utf-8-sig" if encoding.name == "utf-8" and encoding.bom else encoding.name
    facts: dict[str, Any] = {"encoding": name, "encoding_found": encoding.how, "replaced": replaced}
    if encoding.confidence is not None:
        facts["encoding_confidence"] = encoding.confidence
    return facts


def _read_block(
    source: Source, request: ReadRequest, block: Block, encoding: Encoding, context: CallContext
) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    most = request.limits.max_line_bytes or request.limits.max_window_bytes
    rows = Rows(source, encoding, context, max_line_bytes=most)
    try:
        part = grow(rows, block, request.limits.max_window_bytes) or RowsPart((), past_end=True)
    finally:
        rows.cache_index()
    text = b"\n".join([data for _, data in part.rows]).decode("utf-8", "replace")
    return (part,), _encoding_facts(request, encoding, text.count("\ufffd"))
