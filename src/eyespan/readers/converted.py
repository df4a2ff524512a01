"""Office and web documents as Markdown text with line windows.

One module for each kind, with `decode(file, params) -> (facts, [text])`; they are imported only in the worker, where
the file is decoded. On this side the text is lines like those of any text file: selected, limited and numbered alike.
What a reader looks for is kept (headings, lists, tables, links, notes, comments, numbers of slides, names of sheets);
how a page looks is not. Outlook's `.msg` is not read: the one library that is kept up has a licence that binds users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan import kinds, worker
from eyespan.errors import Unreadable
from eyespan.guard.source import Source
from eyespan.model import ReadRequest
from eyespan.readers import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eyespan.context import CallContext
    from eyespan.model import Part

OPTIONS = ("sheet", "range")
"""What of a request's options the converters understand."""


class Converted(Source):
    """The text that a document was converted to, read like a file."""

    __slots__ = ("_data",)
    indexed = False

    def __init__(self, data: bytes, source: Source) -> None:
        super().__init__(-1, source.status, asked=source.asked, path=source.path, canonical=source.canonical)
        self.size_bytes = len(data)
        self._data = data
        self._head = data

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        return self._data[offset : offset + size_bytes]


def read(source: Source, request: ReadRequest, context: CallContext) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    """The lines that the selection names, of the document's text.

    Raises: Unreadable, Missing, TimedOut, and what reading lines raises.
    """
    kind = kinds.detect(source.head, source.name)
    if kind is None:
        raise Unreadable(source.asked, kind="document", reason="it is of no kind that is known")
    params = {name: request.options[name] for name in OPTIONS if request.options.get(name) is not None}
    facts, blobs = worker.run(kind.name, source.fd, params, asked=source.asked, context=context)
    converted = Converted(blobs[0] if blobs else b"", source)
    plain = ReadRequest(
        request.path,
        request.selection,
        request.limits,
        total=request.total,
        counts_cut_chars=request.counts_cut_chars,
    )
    parts, _ = text.read(converted, plain, context)
    return parts, facts
