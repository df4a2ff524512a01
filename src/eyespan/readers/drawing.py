"""Read a drawing that is text, such as SVG, as an image."""

from __future__ import annotations

from eyespan.context import DEADLINE_SECONDS
from eyespan.errors import TimedOut, Unreadable
from eyespan.kinds import drawing_type
from eyespan.model import NotePart
from eyespan.outline.isolated import PartDeadline
from eyespan.readers.image import MAX_BYTES, MAX_SIDE_PX, SHOWN_PX, image_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.model import Document, Selection
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
    if facts.get("format") == "EPS":
        note += " points, letters in another typeface"
    if facts.get("lacks_letters"):
        note += ", some of them left out" if facts.get("format") == "EPS" else ", without its letters"
    if facts.get("damaged"):
        note += "; incomplete, its program uses what is not drawn here"
    return opened.document((image, NotePart(note)), facts)
