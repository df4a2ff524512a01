"""Read a drawing that is text, such as SVG, as an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import TimedOut, Unreadable
from eyespan.extras.documents.images.signature import drawing_type
from eyespan.model import Document, NotePart, Selection
from eyespan.outline.isolated import PartDeadline
from eyespan.readers.image import MAX_BYTES, MAX_SIDE_PX, SHOWN_PX, image_part

if TYPE_CHECKING:
    from eyespan.opened import Opened


DRAW_SECONDS = DEADLINE_SECONDS / 2
"""The time for the image. The text of the drawing is shown without it, so it must not take that of the whole call."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return one image and a note with its size.

    Raises: Unreadable, Missing, TimedOut, Cancelled.
    """
    source = opened.source
    params = {
        "media_type": drawing_type(source.first_bytes),
        "max_px": SHOWN_PX,
        "max_side_px": MAX_SIDE_PX,
        "max_bytes": MAX_BYTES,
        "crop": None,
    }
    try:
        facts, blobs = opened.decode(params, PartDeadline(context, DRAW_SECONDS))
    except TimedOut:
        context.check()
        raise Unreadable(source.asked, kind="drawing", reason=f"it was not drawn within {DRAW_SECONDS:g} s") from None
    image = image_part(blobs, facts.get("media_type"), source.asked, "drawing")
    note = f"drawn from {facts['width']} x {facts['height']}"
    if facts.get("lacks_letters"):
        note += ", without its letters"
    return opened.document((image, NotePart(note)), facts)
