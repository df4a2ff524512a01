"""Pictures: as they are where model APIs take them so, else made anew, with a word about what was done.

Options: `crop` (x, y, width, height in pixels of the upright original), `max_px` (longer side of a picture made anew).
"""

from __future__ import annotations

from eyespan.errors import Unreadable
from eyespan.kinds import api_image_type, image_type
from eyespan.model import MIB, ImagePart, NotePart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.model import Document, ImageOptions, Part, Selection
    from eyespan.opened import Opened

MAX_BASE64_BYTES = 5 * MIB
MAX_BYTES = MAX_BASE64_BYTES // 4 * 3
MAX_SIDE_PX = 8000
"""What model APIs take at most; one picture beyond it makes every later request of a conversation fail."""
SHOWN_PX = 1568
"""The longer side of a picture made anew. The model sees no more than this anyway: larger ones are scaled down on the
other side, where nobody can tell the scale."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """One picture, and a note if it is not the file as it is.

    Raises: Unreadable, Missing, TimedOut, Cancelled.
    """
    source, options = opened.source, opened.request.options.image
    parts, facts = read_parts(source.first_bytes, source.asked, options, lambda params: opened.decode(params, context))
    return opened.document(parts, {"size_bytes": source.size_bytes, **facts})


def read_parts(
    first_bytes: bytes,
    asked: str,
    options: ImageOptions,
    decode: Callable[[dict[str, Any]], tuple[dict[str, Any], list[bytes]]],
) -> tuple[tuple[Part, ...], dict[str, Any]]:
    """Decode an image; return it with a note if it differs from the file, and its facts.

    Raises: Unreadable, Missing, TimedOut, Cancelled.
    """
    media_type = image_type(first_bytes)
    params = {
        "media_type": media_type,
        "max_px": options.max_px or SHOWN_PX,
        "max_side_px": MAX_SIDE_PX,
        "max_bytes": MAX_BYTES,
        "crop": options.crop,
    }
    facts, blobs = decode(params)
    picture = checked_image(blobs, facts.get("media_type"), asked, "image")
    note = _note(facts)
    parts: tuple[Part, ...] = (picture, NotePart(note)) if note else (picture,)
    return parts, {"media_type": picture.media_type, **facts}


def checked_image(blobs: list[bytes], media_type: Any, asked: str, kind: str) -> ImagePart:
    """The first blob as a picture, if it is one: what comes back from a decoder is believed only as far as it shows.

    Raises: Unreadable.
    """
    if not blobs or len(blobs[0]) > MAX_BYTES or media_type is None or api_image_type(blobs[0]) != media_type:
        raise Unreadable(asked, kind=kind, reason="the decoder returned an invalid response")
    return ImagePart(blobs[0], media_type)


def _note(facts: Mapping[str, Any]) -> str:
    """What a reader of the picture must know to speak about the original; "" for the file as it is."""
    if facts.get("unchanged"):
        return ""
    width, height = facts["width"], facts["height"]
    shown = f"{facts['shown_width']} x {facts['shown_height']}"
    words = [f"The original is a picture of {width} x {height} pixels ({facts['format']})."]
    if "crop" in facts:
        x, y, w, h = facts["crop"]
        words.append(f"Shown is the part of {w} x {h} pixels at x={x}, y={y}.")
    scale = facts["scale"]
    if scale < 1:
        words.append(
            f"It is shown at {shown} pixels (scale {scale:.4f}): multiply coordinates by {1 / scale:.4f} "
            f"{'and add the x and y above ' if 'crop' in facts else ''}to get those of the original."
        )
    else:
        words.append(f"It is shown at {shown} pixels (scale 1).")
    if facts.get("animated"):
        words.append("It has several frames; the first is shown.")
    if facts.get("damaged"):
        words.append("The file is damaged; what could be decoded is shown, the rest is blank.")
    return " ".join(words)
