"""Drawings that are text: SVG, rendered by resvg, and the text forms of bitmaps, decoded like any image.

Nothing outside the file is loaded. Fonts are files too, so the letters of an SVG are not drawn; its source has them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

try:
    import resvg_py
except ImportError:
    HAS_RESVG = False
else:
    HAS_RESVG = True

from eyespan.decoders import image
from eyespan.decoders.files import read_whole, unreadable
from eyespan.errors import Missing

MAX_SVG_BYTES = 4 * 1024 * 1024
LEAST_PX = 256
"""The longer side of an icon that is drawn larger than its own size."""
_ROOT = re.compile(r"<(?:[\w.-]{1,40}:)?svg\b([^>]{0,4000})>")
_LENGTH = re.compile(
    r"(?<![\w:-])(width|height)\s{0,8}=\s{0,8}[\"']\s{0,8}(\d{1,9}(?:\.\d{1,9})?)\s{0,8}(?:px|pt|mm|cm|in)?\s{0,8}[\"']"
)
_VIEW_BOX = re.compile(r"\bviewBox\s{0,8}=\s{0,8}[\"']((?:[\s,]{0,8}-?[\d.]{1,20}){4})\s{0,8}[\"']")
# References to anything but parts of the same file and embedded data; also values that begin with an entity.
_OUTSIDE = re.compile(r"(\bhref\s{0,8}=\s{0,8})(?:\"(?!\s{0,8}(?:#|data:))[^\"]*\"|'(?!\s{0,8}(?:#|data:))[^']*')")
_TEXT = re.compile(r"<(?:[\w.-]{1,40}:)?text\b")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the drawing as one image, and its facts; `params` are those of `image.decode`.

    Raises: Unreadable, Missing.
    """
    if params["media_type"] != "image/svg+xml":
        return image.decode(file, params)
    if not HAS_RESVG:
        raise Missing("", what="drawing SVG images", install="pip install 'eyespan[svg]'")
    data = read_whole(file, MAX_SVG_BYTES)
    source = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace").lstrip("\ufeff")
    source = _OUTSIDE.sub(r'\1""', source)
    width, height = _size(source)
    try:
        drawn = resvg_py.svg_to_bytes(
            svg_string=source, skip_system_fonts=True, dpi=96, **_target(width, height, params["max_px"])
        )
    except Exception as error:
        raise unreadable(f"invalid SVG: {error}"[:200]) from None
    facts, blobs = image.decode(io.BytesIO(drawn), {**params, "media_type": "image/png"})
    facts.update(format="SVG", width=round(width or facts["width"]), height=round(height or facts["height"]))
    if _TEXT.search(source):
        facts["lacks_letters"] = True
    return facts, blobs


def rehearse() -> None:
    """Draw once, so that nothing is left to be imported."""
    image.rehearse()
    limits = {"max_px": 64, "max_side_px": 2000, "max_bytes": 100_000}
    svg = (
        b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>a</text><rect width="5" height="5"/></svg>'
    )
    if HAS_RESVG:
        decode(io.BytesIO(svg), {"media_type": "image/svg+xml", "crop": None, **limits})


def _size(source: str) -> tuple[float, float]:
    """Return the width and the height that the root element gives; 0 for what it does not give."""
    root = _ROOT.search(source)
    if root is None:
        raise unreadable("invalid SVG: it has no root element")
    lengths = {name: float(value) for name, value in _LENGTH.findall(root[1])}
    if lengths.get("width") and lengths.get("height"):
        return lengths["width"], lengths["height"]
    box = _VIEW_BOX.search(root[1])
    if box is None:
        return 0.0, 0.0
    try:
        _, _, width, height = (float(number) for number in box[1].replace(",", " ").split())
    except ValueError:
        return 0.0, 0.0
    return max(0.0, width), max(0.0, height)


def _target(width: float, height: float, max_px: int) -> dict[str, Any]:
    """Return the side to draw: the longer one, between `LEAST_PX` and `max_px`."""
    longer = max(width, height)
    side = round(min(max_px, max(LEAST_PX, longer))) if longer else min(max_px, 1024)
    return {"height" if height > width else "width": side}
