"""Read images: unchanged if model APIs accept them, else as a new image with a note about the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import PastEnd, Unreadable
from eyespan.model import Document, ImageOptions, ImagePart, NotePart, Part, Selection
from eyespan.signatures import api_image_type, image_type

if TYPE_CHECKING:
    from eyespan.opened import Opened


MAX_BYTES = 3_750_000
MAX_SIDE_PX = 2000
"""The strictest limits of model APIs: one larger image makes every later request of a conversation fail. A side of more
than 2,000 pixels is refused in a conversation with many images, 3.75 MB by the API that accepts the fewest bytes."""
SHOWN_PX = 1568
"""The longer side of a new image. Models see no more: larger images are scaled down by the API, which does not report
the scale."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return one image, and a note if it differs from the file.

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

    Raises: PastEnd, Unreadable, Missing, TimedOut, Cancelled.
    """
    media_type = image_type(first_bytes)
    params = {
        "media_type": media_type,
        "max_px": options.max_px or SHOWN_PX,
        "max_side_px": min(MAX_SIDE_PX, options.max_px or MAX_SIDE_PX),
        "max_bytes": MAX_BYTES,
        "crop": options.crop,
        "frame": options.frame,
    }
    facts, blobs = decode(params)
    if options.frame is not None and not blobs:
        total = facts.get("frames", 1)
        raise PastEnd(asked, part="frame", wanted=str(options.frame), document="the image", total=total)
    image = image_part(blobs, facts.get("media_type"), asked, "image")
    note = _note(facts)
    parts: tuple[Part, ...] = (image, NotePart(note)) if note else (image,)
    return parts, {"media_type": image.media_type, **facts}


def image_part(blobs: list[bytes], media_type: Any, asked: str, kind: str) -> ImagePart:
    """Return the first blob of a decoder's response as an image, checked by its first bytes and its size.

    Raises: Unreadable.
    """
    if not blobs or len(blobs[0]) > MAX_BYTES or media_type is None or api_image_type(blobs[0]) != media_type:
        raise Unreadable(asked, kind=kind, reason="the decoder returned an invalid response")
    return ImagePart(blobs[0], media_type)


def _note(facts: Mapping[str, Any]) -> str:
    """Return what a model must know to describe the original; "" if the image is unchanged."""
    if facts.get("unchanged"):
        return ""
    shown = f"{facts['shown_width']} x {facts['shown_height']}"
    sentences = [f"The original image has {facts['width']} x {facts['height']} pixels ({facts['format']})."]
    if facts.get("is_preview"):
        sentences = [
            f"This is the preview in the file, of {facts['width']} x {facts['height']} pixels ({facts['format']})."
        ]
    if "crop" in facts:
        x, y, width, height = facts["crop"]
        sentences.append(f"The part of {width} x {height} pixels at x={x}, y={y} is shown.")
    scale = facts["scale"]
    if scale < 1:
        sentences.append(
            f"It is shown at {shown} pixels (scale {scale:.4f}): multiply coordinates by {1 / scale:.4f} "
            f"{'and add the x and y above ' if 'crop' in facts else ''}to get those of the original."
        )
    else:
        sentences.append(f"It is shown at {shown} pixels (scale 1).")
    if "frame" in facts:
        sentences.append(f"Frame {facts['frame']} of {facts.get('frames', 1)} is shown.")
    elif facts.get("animated"):
        sentences.append("It has several frames; the first is shown.")
    if facts.get("damaged"):
        sentences.append("The file is damaged; what could be decoded is shown, the rest is blank.")
    return " ".join(sentences)
