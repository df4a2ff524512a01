"""Read Jupyter notebooks: every cell with its outputs in order, as a person would see them.

A cell is `<cell id="ID">source</cell id="ID">`, followed by its outputs: text as text, images as images in their place.
The notebook is parsed in the worker, which returns the cells in pieces. Images are decoded and checked there too, each
like an image file and in a job of its own. For any file the result is valid UTF-8.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eyespan import escape
from eyespan.context import CallContext
from eyespan.errors import Cancelled, ReadError, TimedOut, Unreadable, WindowTooLarge
from eyespan.model import MIB, Document, ImagePart, NotePart, Part, Selection

if TYPE_CHECKING:
    from eyespan.opened import Opened


MAX_BYTES = 32 * MIB
MAX_OUTPUT_CHARS = 10_000
"""The limit for one output."""
MAX_OUTPUTS_CHARS = 100_000
"""The limit for all outputs in one answer; about 25,000 tokens."""
MAX_LONG_OUTPUTS_CHARS = 2_000_000
"""The limit for the outputs of cells that were selected."""
MAX_LANGUAGE_CHARS = 40
"""The memory of a character, which can be one byte of the response."""
MAX_IMAGES = 20
MAX_IMAGES_BYTES = 15 * MIB


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return the selected cells of a notebook.

    Facts: `total_cells`, `cells_returned`, `language`, `truncated`.

    Raises: Unreadable, if it is not a notebook or too large; WindowTooLarge, if the source of the cells is too large;
        TimedOut, Cancelled.
    """
    source, options, limits = opened.source, opened.request.options.notebook, opened.request.limits
    if source.size_bytes > MAX_BYTES:
        advice = "clear its outputs, or inspect it with jq"
        reason = f"{source.size_bytes} bytes exceed the limit of {MAX_BYTES} for notebooks; {advice}"
        raise Unreadable("", kind="notebook", reason=reason)
    params = {
        "asked": source.asked,
        "first": options.first,
        "last": options.last,
        "outline": options.is_outline,
        "markdown": options.is_markdown,
        "max_bytes": MAX_BYTES,
        "max_window_bytes": limits.max_window_bytes,
        "max_output_chars": MAX_LONG_OUTPUTS_CHARS if options.has_long_outputs else MAX_OUTPUT_CHARS,
        "max_outputs_chars": MAX_LONG_OUTPUTS_CHARS if options.has_long_outputs else MAX_OUTPUTS_CHARS,
        "selector": escape.visible(source.path) if options.has_selectors else "",
        "max_images_bytes": MAX_IMAGES_BYTES,
    }
    facts, blobs = opened.decode(params, context)
    if facts.get("too_large") is True:
        raise WindowTooLarge("", limit_bytes=limits.max_window_bytes)
    cells = _CellReader(opened, context)
    try:
        parts = tuple(cells.read(facts["pieces"], blobs))
        shown = {
            "total_cells": int(facts["total_cells"]),
            "cells_returned": int(facts["cells_returned"]),
            "language": str(facts["language"])[:MAX_LANGUAGE_CHARS],
            "truncated": facts["truncated"] is True or cells.is_truncated,
        }
    except (KeyError, IndexError, TypeError, ValueError):
        # A decoder that an attacker controls writes any response.
        raise Unreadable("", kind="notebook", reason="the decoder returned an invalid response") from None
    return opened.document(parts, shown)


class _CellReader:
    """Puts the pieces of a notebook together, within the limits for images."""

    def __init__(self, opened: Opened, context: CallContext) -> None:
        self.is_truncated = False
        """Images were left out."""
        self._opened = opened
        self._context = context
        self._images_left = MAX_IMAGES
        self._image_bytes_left = MAX_IMAGES_BYTES

    def read(self, pieces: list[Any], blobs: list[bytes]) -> Iterator[Part]:
        """Yield the parts. Raises: Cancelled, TimedOut, and what a damaged response raises."""
        text, images = memoryview(blobs[0]), iter(blobs[1:])
        at = 0

        def note(size: int) -> str:
            nonlocal at
            at += size
            made = str(text[at - size : at], "utf-8", "surrogatepass")
            self._context.charge(sys.getsizeof(made))
            return made

        for number, piece in enumerate(pieces, 1):
            self._context.advance(number, len(pieces))
            if isinstance(piece, int):
                yield NotePart(note(piece))
                continue
            left_out_bytes, size, invalid_bytes = piece
            left_out, invalid = note(left_out_bytes), note(invalid_bytes)
            data = b"" if invalid else next(images, b"")
            if self._images_left <= 0 or size > self._image_bytes_left:
                self.is_truncated = True
                yield NotePart(left_out)
            elif invalid:
                yield NotePart(invalid)
            else:
                yield from self._image(data)

    def _image(self, data: bytes) -> Iterator[Part]:
        """Yield an image, or a note if there is none: an invalid image would make the whole conversation fail."""
        try:
            parts = self._decoded_image(data)
        except Cancelled:
            raise
        except ReadError as error:
            self._context.check()  # raises if the deadline of the whole call has passed
            if isinstance(error, TimedOut):
                self._images_left = 0  # the next one may take as long
            yield NotePart(f"[image left out: {error}]")
            return
        for part in parts:
            if isinstance(part, ImagePart):
                self._images_left -= 1
                self._image_bytes_left -= len(part.data)
        yield from parts

    def _decoded_image(self, data: bytes) -> tuple[Part, ...]:
        """Return an image of the notebook, treated like an image file. Raises: ReadError."""
        from eyespan.readers import image

        opened, context = self._opened, self._context
        parts, _ = image.read_parts(
            first_bytes=data,
            asked=opened.source.asked,
            options=opened.request.options.image,
            decode=lambda params: opened.decode_bytes("image", data, params, context),
        )
        return parts
