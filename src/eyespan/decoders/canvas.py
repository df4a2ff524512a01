"""A canvas for drawings that are lists of commands, such as metafiles and PostScript.

Places are in pixels of the result, from the top left. Everything is drawn at twice the size and reduced at the end, so
that edges are smooth. Letters are those of the typeface that comes with Pillow, because fonts are files and the sandbox
opens none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFont, features

Point = tuple[float, float]
Colour = tuple[int, int, int]

ZOOM = 2
MAX_FONT_PX = 400
MAX_PLACE = 100_000.0
"""Places further away are moved to here, because the library keeps them in 32 bits."""
MAX_WORK = 3_000_000_000
"""The most pixels that all commands together may touch."""
HAS_LETTERS = bool(features.check("freetype2"))
CURVE_STEPS = 12
MAX_TEXTS = 1000
MAX_TEXT_CHARS = 2000


class TooMuchWork(Exception):
    """Reports a drawing whose commands touch too many pixels."""


class Canvas:
    """An image that lines, areas, letters and images are drawn on."""

    def __init__(self, width: int, height: int) -> None:
        self._image = Image.new("RGB", (width * ZOOM, height * ZOOM), (255, 255, 255))
        self._draw = ImageDraw.Draw(self._image)
        self._fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}
        self._work = 0
        self._has_glyph: dict[str, bool] = {}
        self.texts: list[str] = []
        """What was drawn with letters."""
        self.lacks_letters = False
        """Some letters are not in the typeface."""

    @property
    def size(self) -> tuple[int, int]:
        """Return the width and the height in pixels of the result."""
        return self._image.width // ZOOM, self._image.height // ZOOM

    def finish(self) -> Image.Image:
        """Return the drawing."""
        return self._image.reduce(ZOOM)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """Draw a line through the points."""
        if len(points) < 2:
            return
        wide = max(1, round(width * ZOOM))
        places = [_place(point) for point in points]
        self._charge(places, 1 + wide)
        self._draw.line(places, fill=colour, width=wide, joint="curve" if wide > 3 else None)

    def area(self, shapes: Sequence[Sequence[Point]], colour: Colour, has_holes: bool) -> None:
        """Fill closed shapes. With `has_holes`, parts that an even number of them covers stay as they are."""
        outlines = [[_place(point) for point in shape] for shape in shapes if len(shape) > 2]
        if not outlines:
            return
        every = [place for outline in outlines for place in outline]
        self._charge(every, len(outlines))
        if len(outlines) == 1 or not has_holes:
            for outline in outlines:
                self._draw.polygon(outline, fill=colour)
            return
        box = self._visible([min(xy[i] for xy in every) for i in (0, 1)], [max(xy[i] for xy in every) for i in (0, 1)])
        if box is None:
            return
        left, top, right, bottom = box
        mask = Image.new("1", (right - left, bottom - top))
        for outline in outlines:
            one = Image.new("1", mask.size)
            ImageDraw.Draw(one).polygon([(x - left, y - top) for x, y in outline], fill=1)
            mask = ImageChops.logical_xor(mask, one)
        self._image.paste(colour, (left, top), mask)

    def ellipse(self, centre: Point, radii: Point, start: float, end: float) -> list[Point]:
        """Return points of an arc, clockwise on the screen, from one angle in degrees to another."""
        steps = max(8, min(180, round((end - start) / 3)))
        angles = [math.radians(start + (end - start) * step / steps) for step in range(steps + 1)]
        return [(centre[0] + radii[0] * math.cos(angle), centre[1] + radii[1] * math.sin(angle)) for angle in angles]

    def text(
        self,
        at: Point,
        text: str,
        *,
        size: float,
        colour: Colour,
        anchor: str = "ls",
        angle: float = 0,
        width: float = 0,
    ) -> None:
        """Draw letters. `anchor` is that of Pillow; `angle` is in degrees, counter-clockwise; `width`: the space."""
        text = "".join([char if char.isprintable() else " " for char in text[:MAX_TEXT_CHARS]]).rstrip()
        if not text:
            return
        if len(self.texts) < MAX_TEXTS:
            self.texts.append(text)
        if not HAS_LETTERS or not self._has_glyphs(text):
            self.lacks_letters = True
            return
        font = self._font(size * ZOOM)
        length = font.getlength(text)
        if width > 0 and length > 1.03 * width * ZOOM:
            font = self._font(size * ZOOM * width * ZOOM / length)
            length = font.getlength(text)
        x, y = _place(at)
        high = 2 * size * ZOOM
        self._charge([(x, y), (x + length, y + high)], 2)
        if abs(angle) < 0.5:
            self._draw.text((x, y), text, fill=colour, font=font, anchor=anchor)
            return
        side = round(min(2 * (length + high), 3000))
        mask = Image.new("L", (side, side))
        ImageDraw.Draw(mask).text((side // 2, side // 2), text, fill=255, font=font, anchor=anchor)
        turned = mask.rotate(angle, Image.Resampling.BILINEAR)
        self._image.paste(colour, (round(x) - side // 2, round(y) - side // 2), turned)

    def image(self, image: Image.Image, corner: Point, size: Point, how: str = "copy") -> None:
        """Draw an image into a box; negative sizes mirror it. `how`: copy, and, or, xor."""
        left, top = _place(corner)
        right, bottom = _place((corner[0] + size[0], corner[1] + size[1]))
        if right < left:
            left, right, image = right, left, image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        if bottom < top:
            top, bottom, image = bottom, top, image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        target = max(1, round(right - left)), max(1, round(bottom - top))
        place = round(left), round(top)
        box = self._visible([left, top], [right, bottom])
        if box is None:
            return
        self._charge([(left, top), (right, bottom)], 3)
        if target[0] > 4 * self._image.width or target[1] > 4 * self._image.height:
            return
        alpha = image.getchannel("A") if image.mode == "RGBA" else None
        shown = image.convert("RGB").resize(
            target, Image.Resampling.BOX if how != "copy" else Image.Resampling.BILINEAR
        )
        if how != "copy":
            below = self._image.crop((*place, place[0] + target[0], place[1] + target[1]))
            shown = {"and": ImageChops.multiply, "or": ImageChops.lighter, "xor": ImageChops.difference}[how](
                below, shown
            )
        self._image.paste(shown, place, None if alpha is None else alpha.resize(target))

    def _has_glyphs(self, text: str) -> bool:
        """Return True if the typeface has all letters of a text; it shows the same box for every other."""
        font = self._font(24)
        for char in set(text) - self._has_glyph.keys():
            self._has_glyph[char] = char.isascii() or bytes(font.getmask(char)) != bytes(font.getmask("\U0010fffd"))
        return all(self._has_glyph[char] for char in text)

    def _font(self, size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        points = max(4, min(MAX_FONT_PX, round(size)))
        if points not in self._fonts:
            self._fonts[points] = ImageFont.load_default(points)
        return self._fonts[points]

    def _visible(self, low: Sequence[float], high: Sequence[float]) -> tuple[int, int, int, int] | None:
        """Return the part of a box that lies on the canvas; None if there is none."""
        left, top = max(0, math.floor(low[0])), max(0, math.floor(low[1]))
        right, bottom = min(self._image.width, math.ceil(high[0]) + 1), min(self._image.height, math.ceil(high[1]) + 1)
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _charge(self, places: Sequence[Point], factor: int) -> None:
        """Count the pixels of a command. Raises: TooMuchWork."""
        wide = min(self._image.width, max(x for x, _ in places) - min(x for x, _ in places))
        high = min(self._image.height, max(y for _, y in places) - min(y for _, y in places))
        # A line touches as many pixels as its longer side, an area as its box; both cost some time for each place.
        self._work += round(min(wide * high, (wide + high) * factor * 4)) + 20 * len(places) * factor + 200
        if self._work > MAX_WORK:
            raise TooMuchWork


def _place(point: Point) -> Point:
    x, y = point[0] * ZOOM, point[1] * ZOOM
    if not (math.isfinite(x) and math.isfinite(y)):
        return 0.0, 0.0
    return max(-MAX_PLACE, min(MAX_PLACE, x)), max(-MAX_PLACE, min(MAX_PLACE, y))


def curve(start: Point, first: Point, second: Point, end: Point) -> list[Point]:
    """Return points of a Bézier curve after its start."""
    points = []
    for step in range(1, CURVE_STEPS + 1):
        t = step / CURVE_STEPS
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        points.append(
            (
                a * start[0] + b * first[0] + c * second[0] + d * end[0],
                a * start[1] + b * first[1] + c * second[1] + d * end[1],
            )
        )
    return points
