"""PostScript drawings (EPS) as images.

The program of the file is run by a small interpreter (`postscript_machine`), with the operators that drawing programs
write. Letters are those of one typeface, at the places and sizes of the program. Regions that limit drawing, patterns,
bitmaps that are compressed and fonts that are encrypted are not drawn. A program that uses an unknown operator ends
there, and the drawing is reported as incomplete.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from eyespan.decoders import postscript_drawing, postscript_operators  # noqa: F401  # they register their operators
from eyespan.decoders.postscript_machine import Failed, Interpreter

if TYPE_CHECKING:
    from PIL import Image


_BOX = re.compile(r"%%(?:HiRes)?BoundingBox:\s*(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)")


def draw(data: bytes, max_px: int) -> tuple[Image.Image, dict[str, Any]]:
    """Return the drawing, and facts: `is_drawn`, `width` and `height` in points, `texts`, `lacks_letters`, `damaged`.

    Raises: Failed, if nothing is drawn.
    """
    source = data.decode("latin-1")
    interpreter = Interpreter(source, _bounding_box(source), max_px)
    is_complete = interpreter.run()
    image = interpreter.canvas.finish()
    is_blank = all(low == high for low, high in image.getextrema())  # type: ignore[misc]  # pairs, as it has bands
    if is_blank:
        raise Failed(interpreter.failure or "it draws nothing")
    facts: dict[str, Any] = {"is_drawn": True, "texts": interpreter.canvas.texts}
    facts["width"], facts["height"] = (max(1, round(side)) for side in interpreter.own_size)
    if interpreter.canvas.lacks_letters:
        facts["lacks_letters"] = True
    return image, facts if is_complete else {**facts, "damaged": True}


def rehearse() -> None:
    """Draw once, so that nothing is left to be imported."""
    with contextlib.suppress(Failed):
        draw(b"%!PS\n%%BoundingBox: 0 0 9 9\n/F findfont 5 scalefont setfont 1 1 moveto (a) show 5 5 lineto stroke", 32)


def _bounding_box(source: str) -> tuple[float, float, float, float]:
    found = _BOX.search(source, 0, 20_000) or _BOX.search(source, max(0, len(source) - 4000))
    try:
        left, bottom, right, top = (float(number) for number in found.groups()) if found else (0.0, 0.0, 0.0, 0.0)
    except ValueError:
        left = bottom = right = top = 0.0
    is_box = 0 < right - left < 20_000 and 0 < top - bottom < 20_000
    return (left, bottom, right, top) if is_box else (0.0, 0.0, 612.0, 792.0)
