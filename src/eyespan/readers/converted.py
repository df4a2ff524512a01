"""Read documents whose decoders return text, by lines: office files, web pages, and most kinds of plugins.

The decoder of each kind, `decode(file, params) -> (facts, [text])`, runs in the worker and returns the text, which is
then selected, limited and numbered like that of a text file. Headings, lists, tables, links, notes, comments, slide
numbers and sheet names are kept; the layout is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyespan import escape
from eyespan.context import CallContext
from eyespan.lines.whole import ConvertedSource
from eyespan.model import Document, ReadRequest, Selection
from eyespan.readers import text

if TYPE_CHECKING:
    from eyespan.opened import Opened


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return the selected lines of the document's text.

    Raises: Unreadable, Missing, TimedOut, and what reading lines raises.
    """
    request, sheet = opened.request, opened.request.options.sheet
    params = {name: value for name, value in (("sheet", sheet.sheet), ("range", sheet.cells)) if value}
    params["name"] = escape.visible(opened.source.path)  # decoders put it before the names of members
    facts, blobs = opened.decode(params, context)
    converted = ConvertedSource(blobs[0] if blobs else b"", opened.source)
    text_request = ReadRequest(
        request.path, limits=request.limits, total=request.total, counts_cut_chars=request.counts_cut_chars
    )
    parts, _ = text.read_held(converted, text_request, selection, context)
    return opened.document(parts, facts)
