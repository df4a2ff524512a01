"""Windows metafiles (EMF, WMF) and the previews of EPS files, drawn as images.

A metafile is a list of calls of the drawing functions of Windows. Those for lines, areas, letters and bitmaps are
executed; regions that limit drawing, patterns of lines and the records of EMF+ are not.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image

from eyespan.decoders import postscript
from eyespan.decoders.canvas import Canvas, Colour, Point, TooMuchWork, curve
from eyespan.decoders.font_charsets import FONT_CHARSETS
from eyespan.decoders.postscript_machine import Failed

MAX_RECORDS = 200_000
MAX_BITMAP_PIXELS = 20_000_000
MAX_SAVED = 100
LEAST_PX = 512
"""The longer side of a drawing whose own size is smaller."""
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_STOCK_BRUSHES: dict[int, Colour | None] = {
    0: _WHITE,
    1: (192, 192, 192),
    2: (128, 128, 128),
    3: (64, 64, 64),
    4: _BLACK,
    5: None,
}
_STOCK_PENS: dict[int, Colour | None] = {6: _WHITE, 7: _BLACK, 8: None}
_COPIES = {0xCC0020: "copy", 0x8800C6: "and", 0xEE0086: "or", 0x660046: "xor"}
"""The ways of drawing a bitmap that are known, by their number in a record."""
_FILLS: dict[int, Colour] = {0xFF0062: _WHITE, 0x000042: _BLACK}


for _encoding in ("cp1252", "utf-16-le"):
    codecs.lookup(_encoding)  # in the sandbox no module can be imported


class NoDrawing(Exception):
    """Reports a metafile that cannot be drawn; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Pen:
    """The colour of lines, None for no lines, and their width in logical units."""

    colour: Colour | None = _BLACK
    width: float = 0


@dataclass(frozen=True, slots=True)
class Font:
    """The size of letters in logical units, and the angle of their line in degrees."""

    size: float = 12
    angle: float = 0
    is_cell_height: bool = False
    encoding: str = "cp1252"


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the records of a metafile set and `SaveDC` keeps."""

    pen: Pen = Pen()
    brush: tuple[int, int, int] | None = _WHITE
    font: Font = Font()
    text_colour: tuple[int, int, int] = _BLACK
    align: int = 0
    has_holes: bool = True
    map_mode: int = 1
    window_origin: tuple[float, float] = (0, 0)
    window_extent: tuple[float, float] = (1, 1)
    view_origin: tuple[float, float] = (0, 0)
    view_extent: tuple[float, float] = (1, 1)
    world: tuple[float, float, float, float, float, float] = (1, 0, 0, 1, 0, 0)
    at: tuple[float, float] = (0, 0)


def draw(data: bytes, kind: str, max_px: int) -> tuple[Image.Image, dict[str, Any]]:
    """Return the drawing, and facts: `is_drawn` or `is_preview`, `texts`, `lacks_letters`, `damaged`.

    Raises: NoDrawing.
    """
    if kind == "EPS":
        return _preview(data, max_px)
    player: _Player = _EmfPlayer(data, max_px) if kind == "EMF" else _WmfPlayer(data, max_px)
    with contextlib.suppress(TooMuchWork):
        player.play()
    image = player.canvas.finish()
    is_blank = all(low == high for low, high in image.getextrema())  # type: ignore[misc]  # pairs, as the image has bands
    if not player.has_drawn or (is_blank and not player.canvas.texts):
        raise NoDrawing(
            "it has no lines, areas, letters or bitmaps that can be drawn; LibreOffice or inkscape opens it"
        )
    facts: dict[str, Any] = {"is_drawn": True, "texts": player.canvas.texts}
    if player.canvas.lacks_letters:
        facts["lacks_letters"] = True
    return image, facts if player.is_complete else {**facts, "damaged": True}


def _preview(data: bytes, max_px: int) -> tuple[Image.Image, dict[str, Any]]:
    """Return the image of an EPS file for programs that do not execute PostScript: a TIFF or a WMF.

    A file without one is drawn. Raises: NoDrawing.
    """
    _, _, _, wmf_at, wmf_size, tiff_at, tiff_size = struct.unpack_from("<7I", data.ljust(32, b"\0"))
    if tiff_size:
        try:
            with Image.open(io.BytesIO(data[tiff_at : tiff_at + tiff_size]), formats=("TIFF",)) as image:
                if image.width * image.height > MAX_BITMAP_PIXELS:
                    raise NoDrawing("its preview has too many pixels")
                shown = image.convert("RGB")
        except (MemoryError, NoDrawing):
            raise
        except Exception:  # damaged images raise many types
            raise NoDrawing("its preview is damaged; ghostscript opens it") from None
        return shown, {"is_preview": True}
    if wmf_size:
        drawn, facts = draw(data[wmf_at : wmf_at + wmf_size], "WMF", max_px)
        return drawn, {**facts, "is_preview": True}
    start, size = struct.unpack_from("<2I", data.ljust(32, b"\0"), 4)
    try:
        return postscript.draw(data[start : start + size], max_px)
    except Failed:
        raise NoDrawing("it has no preview; ghostscript opens it") from None


def rehearse() -> None:
    """Draw once, so that nothing is left to be imported."""
    canvas = Canvas(8, 8)
    canvas.text((1, 7), "aé", size=6, colour=_BLACK, angle=30)
    canvas.finish()


class _Player:
    """What both formats share: objects, state, and the calls of drawing functions with logical places."""

    def __init__(self, own_size: Point, max_px: int) -> None:
        width, height = (max(1.0, min(1e6, abs(side))) for side in own_size)
        self.own_size = width, height
        longer = max(width, height)
        self.zoom = min(max_px, max(LEAST_PX, longer)) / longer
        size = max(1, round(width * self.zoom)), max(1, round(height * self.zoom))
        self.canvas = Canvas(*size)
        self.state = State()
        self.saved: list[State] = []
        self.objects: dict[int, Any] = {}
        self.path: list[list[Point]] | None = None
        """The outlines of the path that is open or was just closed, in pixels."""
        self.is_in_path = False
        self.has_drawn = False
        self.is_complete = False
        """The record that ends the list was reached."""

    def play(self) -> None:
        """Execute the records. Raises: TooMuchWork."""
        raise NotImplementedError  # abstract

    def place(self, x: float, y: float) -> Point:
        """Return the pixel of a logical place."""
        raise NotImplementedError  # abstract

    def set(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    def length(self, size: float) -> float:
        """Return a logical length in pixels, as the mean of both directions."""
        a, b, c = self.place(0, 0), self.place(size, 0), self.place(0, size)
        return (math.dist(a, b) + math.dist(a, c)) / 2

    def select(self, handle: int) -> None:
        chosen = self.objects.get(handle)
        if handle & 0x80000000:
            number = handle & 0xFF
            if number in _STOCK_BRUSHES:
                self.set(brush=_STOCK_BRUSHES[number])
            elif number in _STOCK_PENS:
                self.set(pen=Pen(_STOCK_PENS[number], 0))
        elif isinstance(chosen, Pen):
            self.set(pen=chosen)
        elif isinstance(chosen, Font):
            self.set(font=chosen)
        elif isinstance(chosen, tuple):
            self.set(brush=chosen[0])

    def save(self) -> None:
        if len(self.saved) < MAX_SAVED:
            self.saved.append(self.state)

    def restore(self, which: int) -> None:
        count = -which if which < 0 else len(self.saved) - which + 1
        while count > 0 and self.saved:
            self.state = self.saved.pop()
            count -= 1

    # --- drawing, in pixels ---

    def stroke(self, points: list[Point]) -> None:
        pen = self.state.pen
        if pen.colour is not None and len(points) > 1:
            self.canvas.line(points, pen.colour, max(0.7, self.length(pen.width)))
            self.has_drawn = True

    def fill(self, shapes: list[list[Point]], has_outline: bool = True) -> None:
        if self.is_in_path and self.path is not None:
            self.path += [[*shape, *shape[:1]] for shape in shapes]
            return
        if self.state.brush is not None:
            self.canvas.area(shapes, self.state.brush, self.state.has_holes)
            self.has_drawn = True
        if has_outline:
            for shape in shapes:
                self.stroke([*shape, *shape[:1]])

    def open_line(self, points: list[Point], is_continued: bool) -> None:
        """Draw a line, or add it to the open path. `is_continued`: the first point is the end of the line before."""
        if not self.is_in_path or self.path is None:
            self.stroke(points)
        elif is_continued and self.path and math.dist(self.path[-1][-1], points[0]) < 0.01:
            self.path[-1] += points[1:]
        else:
            self.path.append(points)

    def rectangle(self, left: float, top: float, right: float, bottom: float) -> list[Point]:
        return [self.place(left, top), self.place(right, top), self.place(right, bottom), self.place(left, bottom)]

    def arc(self, box: tuple[float, ...], rays: tuple[float, ...] | None) -> list[Point]:
        """Return the pixels of an ellipse in a box, or of its part between two rays, counter-clockwise."""
        (x0, y0), (x1, y1) = self.place(box[0], box[1]), self.place(box[2], box[3])
        centre, radii = ((x0 + x1) / 2, (y0 + y1) / 2), (abs(x1 - x0) / 2, abs(y1 - y0) / 2)
        if rays is None:
            return self.canvas.ellipse(centre, radii, 0, 360)
        angles = []
        for x, y in (self.place(rays[0], rays[1]), self.place(rays[2], rays[3])):
            angles.append(
                math.degrees(math.atan2((y - centre[1]) / (radii[1] or 1), (x - centre[0]) / (radii[0] or 1)))
            )
        start, end = angles
        if start <= end:
            start += 360
        return self.canvas.ellipse(centre, radii, end, start)[::-1]

    def letters(self, x: float, y: float, text: str, width: float = 0) -> None:
        state, font = self.state, self.state.font
        if state.align & 1:
            x, y = state.at
        vertical = {24: "s", 8: "d"}.get(state.align & 24, "a")
        horizontal = {2: "r", 6: "m"}.get(state.align & 6, "l")
        size = self.length(abs(font.size)) * (0.84 if font.is_cell_height else 1)
        self.canvas.text(
            self.place(x, y),
            text,
            size=size,
            colour=state.text_colour,
            anchor=horizontal + vertical,
            angle=font.angle,
            width=self.length(width) if width > 0 else 0,
        )
        self.has_drawn = True

    def bitmap(self, image: Image.Image | None, box: tuple[float, float, float, float], operation: int) -> None:
        """Draw a bitmap into a box of left, top, width and height, or fill the box if there is none."""
        corner, other = self.place(box[0], box[1]), self.place(box[0] + box[2], box[1] + box[3])
        if image is not None:
            size = other[0] - corner[0], other[1] - corner[1]
            self.canvas.image(image, corner, size, _COPIES.get(operation, "copy"))
            self.has_drawn = True
        elif operation in _FILLS or (operation == 0xF00021 and self.state.brush is not None):
            colour = _FILLS.get(operation, self.state.brush or _WHITE)
            self.canvas.area([[corner, (other[0], corner[1]), other, (corner[0], other[1])]], colour, False)
            self.has_drawn = True


def _colour(data: bytes, at: int) -> Colour:
    return data[at], data[at + 1], data[at + 2]


def _bitmap(info: bytes, pixels: bytes) -> Image.Image | None:
    """Return a device-independent bitmap; None if it is damaged or too large."""
    if len(info) < 12:
        return None
    (size,) = struct.unpack_from("<I", info)
    if size == 12:
        width, height = struct.unpack_from("<HH", info, 4)
    elif size >= 40 and len(info) >= 40:
        width, height, _, _, compression = struct.unpack_from("<iiHHI", info, 4)
        if compression in (4, 5):  # the pixels are a JPEG or PNG file
            return _opened(pixels, ("JPEG", "PNG"))
    else:
        return None
    if not 0 < abs(width) * abs(height) <= MAX_BITMAP_PIXELS:
        return None
    start = 14 + len(info)
    return _opened(b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + info + pixels, ("BMP",))


def _opened(data: bytes, formats: tuple[str, ...]) -> Image.Image | None:
    try:
        with Image.open(io.BytesIO(data), formats=formats) as image:
            if image.width * image.height > MAX_BITMAP_PIXELS:
                return None
            image.load()
            return image.convert("RGB")
    except MemoryError:
        raise
    except Exception:  # damaged images raise many types
        return None


def _info_size(info: bytes) -> int:
    """Return the size of the header of a bitmap and its colours, if the pixels follow at once."""
    size, _, _, _, bits, compression = struct.unpack_from("<IiiHHI", info.ljust(20, b"\0"))
    if size == 12:
        bits = struct.unpack_from("<H", info, 10)[0] if len(info) > 11 else 24
        return 12 + (3 << bits if bits <= 8 else 0)
    used = struct.unpack_from("<I", info, 32)[0] if len(info) >= 36 else 0
    colours = min(used or (1 << bits if bits <= 8 else 0), 256)
    return int(size) + 4 * colours + (12 if compression == 3 and size == 40 else 0)


# --- EMF --------------------------------------------------------------------------------------------------------------

_MILLIMETRES = {2: 0.1, 3: 0.01, 4: 0.254, 5: 0.0254, 6: 25.4 / 1440}
"""The size of a logical unit in the mapping modes that have a fixed one; y grows upwards in them."""


class _EmfPlayer(_Player):
    def __init__(self, data: bytes, max_px: int) -> None:
        self._data = data
        try:
            bounds = struct.unpack_from("<4i", data, 8)
            frame = struct.unpack_from("<4i", data, 24)
            device = struct.unpack_from("<4i", data, 72)
        except struct.error:
            raise NoDrawing("its header is damaged") from None
        self._per_mm = [abs(device[at]) / (abs(device[at + 2]) or 1) or 3.8 for at in (0, 1)]
        left, top, right, bottom = bounds
        if right - left < 2 or bottom - top < 2:
            # Without bounds the frame gives the size; its unit is a hundredth of a millimetre.
            left, top, right, bottom = (round(side / 100 * self._per_mm[at % 2]) for at, side in enumerate(frame))
        self._corner = left, top
        super().__init__((right - left + 1, bottom - top + 1), max_px)

    def place(self, x: float, y: float) -> Point:
        state = self.state
        a, b, c, d, e, f = state.world
        x, y = a * x + c * y + e, b * x + d * y + f
        if state.map_mode in _MILLIMETRES:
            unit = _MILLIMETRES[state.map_mode]
            across, down = unit * self._per_mm[0], -unit * self._per_mm[1]
        elif state.map_mode in (7, 8):
            across = state.view_extent[0] / (state.window_extent[0] or 1)
            down = state.view_extent[1] / (state.window_extent[1] or 1)
        else:
            across = down = 1
        x = (x - state.window_origin[0]) * across + state.view_origin[0]
        y = (y - state.window_origin[1]) * down + state.view_origin[1]
        return (x - self._corner[0]) * self.zoom, (y - self._corner[1]) * self.zoom

    def play(self) -> None:
        at = 0
        for _ in range(MAX_RECORDS):
            if at + 8 > len(self._data):
                return
            kind, size = struct.unpack_from("<II", self._data, at)
            if size < 8 or kind == 14:
                self.is_complete = kind == 14
                return
            handler = _EMF_RECORDS.get(kind)
            if handler is not None:
                with contextlib.suppress(struct.error, IndexError, ValueError, ArithmeticError):
                    handler(self, self._data[at : at + size])
            at += size

    def _points(self, r: bytes, at: int, count: int, is_short: bool) -> list[Point]:
        values = struct.unpack_from(f"<{2 * min(count, len(r))}{'h' if is_short else 'i'}", r, at)
        return [self.place(values[i], values[i + 1]) for i in range(0, len(values), 2)]

    def _poly(self, r: bytes, is_short: bool, how: str) -> None:
        count = struct.unpack_from("<I", r, 24)[0]
        points = self._points(r, 28, count, is_short)
        is_continued = how in ("line_to", "curve_to")
        if is_continued:
            points.insert(0, self.place(*self.state.at))
        if how in ("curve", "curve_to"):
            made = points[:1]
            for i in range(1, len(points) - 2, 3):
                made += curve(made[-1], *points[i : i + 3])
            points = made
        if how == "polygon":
            self.fill([points])
            return
        self.open_line(points, is_continued)
        if is_continued:
            last = struct.unpack_from("<2h" if is_short else "<2i", r, 28 + (count - 1) * (4 if is_short else 8))
            self.set(at=last)

    def _polypoly(self, r: bytes, is_short: bool, is_closed: bool) -> None:
        shapes_count = struct.unpack_from("<I", r, 24)[0]
        counts = struct.unpack_from(f"<{min(shapes_count, len(r))}I", r, 32)
        at = 32 + 4 * shapes_count
        shapes = []
        for count in counts:
            shapes.append(self._points(r, at, count, is_short))
            at += count * (4 if is_short else 8)
        if is_closed:
            self.fill(shapes)
        else:
            for shape in shapes:
                self.open_line(shape, is_continued=False)

    def _line_to(self, r: bytes) -> None:
        end = struct.unpack_from("<2i", r, 8)
        self.open_line([self.place(*self.state.at), self.place(*end)], is_continued=True)
        self.set(at=end)

    def _arc(self, r: bytes, how: str) -> None:
        box = struct.unpack_from("<4i", r, 8)
        if how == "ellipse":
            self.fill([self.arc(box, None)])
            return
        points = self.arc(box, struct.unpack_from("<4i", r, 24))
        if how == "arc":
            self.open_line(points, is_continued=False)
            return
        (x0, y0), (x1, y1) = self.place(*box[:2]), self.place(*box[2:])
        self.fill([[*points, ((x0 + x1) / 2, (y0 + y1) / 2)] if how == "pie" else points])

    def _pen(self, r: bytes) -> None:
        handle, style, width = struct.unpack_from("<IIi", r, 8)
        self.objects[handle] = Pen(None if style & 0xF == 5 else _colour(r, 24), width)

    def _ext_pen(self, r: bytes) -> None:
        handle = struct.unpack_from("<I", r, 8)[0]
        style, width, brush = struct.unpack_from("<3I", r, 28)
        self.objects[handle] = Pen(None if style & 0xF == 5 or brush == 1 else _colour(r, 40), width)

    def _brush(self, r: bytes) -> None:
        handle, style = struct.unpack_from("<II", r, 8)
        self.objects[handle] = (None if style == 1 else _colour(r, 16),)

    def _font(self, r: bytes) -> None:
        handle, height, _, angle = struct.unpack_from("<Iiii", r, 8)
        self.objects[handle] = Font(abs(height) or 12, (angle % 3600) / 10, height > 0)

    def _text(self, r: bytes, is_wide: bool) -> None:
        x, y, count, offset, _, _, _, _, _, spaces = struct.unpack_from("<iiIIIiiiiI", r, 36)
        data = r[offset : offset + count * (2 if is_wide else 1)]
        text = data.decode("utf-16-le" if is_wide else "cp1252", "replace")
        width = 0
        if spaces and spaces + 4 * count <= len(r):
            width = sum(struct.unpack_from(f"<{count}i", r, spaces))
        self.letters(x, y, text, width)

    def _small_text(self, r: bytes) -> None:
        x, y, count, options = struct.unpack_from("<iiII", r, 8)
        at = 36 if options & 0x100 else 52
        is_narrow = options & 0x200
        data = r[at : at + count * (1 if is_narrow else 2)]
        self.letters(x, y, data.decode("cp1252" if is_narrow else "utf-16-le", "replace"))

    def _blit(self, r: bytes) -> None:
        x, y, width, height, operation = struct.unpack_from("<4iI", r, 24)
        info_at, info_size, bits_at, bits_size = struct.unpack_from("<4I", r, 84)
        image = _bitmap(r[info_at : info_at + info_size], r[bits_at : bits_at + bits_size]) if bits_size else None
        if struct.unpack_from("<I", r)[0] in (114, 116):
            operation = 0xCC0020  # in these records the field is a transparency
        if image is not None or not bits_size:
            self.bitmap(image, (x, y, width, height), operation)

    def _stretch(self, r: bytes) -> None:
        x, y, _, _, _, _, info_at, info_size, bits_at, bits_size, _, operation, width, height = struct.unpack_from(
            "<6i4IIIii", r, 24
        )
        image = _bitmap(r[info_at : info_at + info_size], r[bits_at : bits_at + bits_size])
        if image is not None:
            self.bitmap(image, (x, y, width, height), operation)

    def _set_bits(self, r: bytes) -> None:
        x, y, _, _, width, height, info_at, info_size, bits_at, bits_size = struct.unpack_from("<6i4I", r, 24)
        image = _bitmap(r[info_at : info_at + info_size], r[bits_at : bits_at + bits_size])
        if image is not None:
            self.bitmap(image, (x, y, width, height), 0xCC0020)

    def _world(self, r: bytes) -> None:
        self.set(world=struct.unpack_from("<6f", r, 8))

    def _modify_world(self, r: bytes) -> None:
        new, how = struct.unpack_from("<6f", r, 8), struct.unpack_from("<I", r, 32)[0]
        old = self.state.world
        self.set(world={1: (1, 0, 0, 1, 0, 0), 2: _product(new, old), 3: _product(old, new)}.get(how, new))

    def _begin_path(self, r: bytes) -> None:
        self.path, self.is_in_path = [], True

    def _end_path(self, r: bytes) -> None:
        self.is_in_path = False

    def _close_figure(self, r: bytes) -> None:
        if self.path:
            self.path[-1].append(self.path[-1][0])

    def _use_path(self, r: bytes) -> None:
        kind = struct.unpack_from("<I", r)[0]
        shapes, self.path, self.is_in_path = self.path or [], None, False
        if kind in (62, 63):
            self.fill(shapes, has_outline=False)
        if kind in (63, 64):
            for shape in shapes:
                self.stroke(shape)


def _product(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    """Return the transformation that does first `a`, then `b`."""
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    )


def _setter(name: str, form: str) -> Callable[[Any, bytes], None]:
    def handle(player: Any, r: bytes) -> None:
        values = struct.unpack_from(form, r, 8)
        player.set(**{name: values[0] if len(values) == 1 else values})

    return handle


_EMF_RECORDS: dict[int, Callable[[_EmfPlayer, bytes], None]] = {
    9: _setter("window_extent", "<2i"),
    10: _setter("window_origin", "<2i"),
    11: _setter("view_extent", "<2i"),
    12: _setter("view_origin", "<2i"),
    17: _setter("map_mode", "<I"),
    19: lambda player, r: player.set(has_holes=struct.unpack_from("<I", r, 8)[0] == 1),
    22: _setter("align", "<I"),
    24: lambda player, r: player.set(text_colour=_colour(r, 8)),
    27: _setter("at", "<2i"),
    33: lambda player, r: player.save(),
    34: lambda player, r: player.restore(struct.unpack_from("<i", r, 8)[0]),
    35: _EmfPlayer._world,
    36: _EmfPlayer._modify_world,
    37: lambda player, r: player.select(struct.unpack_from("<I", r, 8)[0]),
    38: _EmfPlayer._pen,
    39: _EmfPlayer._brush,
    40: lambda player, r: player.objects.pop(struct.unpack_from("<I", r, 8)[0], None),
    42: lambda player, r: player._arc(r, "ellipse"),
    43: lambda player, r: player.fill([player.rectangle(*struct.unpack_from("<4i", r, 8))]),
    44: lambda player, r: player.fill([player.rectangle(*struct.unpack_from("<4i", r, 8))]),
    45: lambda player, r: player._arc(r, "arc"),
    46: lambda player, r: player._arc(r, "chord"),
    47: lambda player, r: player._arc(r, "pie"),
    54: _EmfPlayer._line_to,
    55: lambda player, r: player._arc(r, "arc"),
    59: _EmfPlayer._begin_path,
    60: _EmfPlayer._end_path,
    61: _EmfPlayer._close_figure,
    **dict.fromkeys((62, 63, 64), _EmfPlayer._use_path),
    **dict.fromkeys((76, 77, 114, 116), _EmfPlayer._blit),
    80: _EmfPlayer._set_bits,
    81: _EmfPlayer._stretch,
    82: _EmfPlayer._font,
    83: lambda player, r: player._text(r, is_wide=False),
    84: lambda player, r: player._text(r, is_wide=True),
    95: _EmfPlayer._ext_pen,
    108: _EmfPlayer._small_text,
    7: lambda player, r: player._polypoly(r, is_short=False, is_closed=False),
    8: lambda player, r: player._polypoly(r, is_short=False, is_closed=True),
    90: lambda player, r: player._polypoly(r, is_short=True, is_closed=False),
    91: lambda player, r: player._polypoly(r, is_short=True, is_closed=True),
}


def _poly_handler(is_short: bool, how: str) -> Callable[[_EmfPlayer, bytes], None]:
    return lambda player, r: player._poly(r, is_short, how)


for _number, _how in enumerate(("curve", "polygon", "line", "curve_to", "line_to")):
    _EMF_RECORDS[2 + _number] = _poly_handler(False, _how)
    _EMF_RECORDS[85 + _number] = _poly_handler(True, _how)


# --- WMF --------------------------------------------------------------------------------------------------------------

_PLACEABLE = b"\xd7\xcd\xc6\x9a"


class _WmfPlayer(_Player):
    def __init__(self, data: bytes, max_px: int) -> None:
        self._data = data
        self._start = 18
        box = None
        if data.startswith(_PLACEABLE):
            self._start += 22
            left, top, right, bottom, inch = struct.unpack_from("<4hH", data.ljust(18, b"\0"), 6)
            box = (left, top, right - left, bottom - top)
            size = tuple(side * 96 / (inch or 1440) for side in box[2:])
        window = self._first_window() if box is None else None
        box = box or window
        if box is None or not box[2] or not box[3]:
            raise NoDrawing("it does not state its size; LibreOffice or inkscape opens it")
        super().__init__(size if window is None else (abs(box[2]) / 15, abs(box[3]) / 15), max_px)
        self.set(window_origin=box[:2], window_extent=box[2:])

    def _first_window(self) -> tuple[float, float, float, float] | None:
        """Return the window that the records set first."""
        origin, extent = (0, 0), None
        for function, r in self._records():
            if function == 0x020B:
                origin = struct.unpack_from("<2h", r)[::-1]
            elif function == 0x020C and extent is None:
                extent = struct.unpack_from("<2h", r)[::-1]
            if extent is not None and function in (0x0213, 0x0324, 0x0325, 0x0F43, 0x0B41):
                break
        return None if extent is None else (*origin, *extent)

    def _records(self) -> Any:
        at = self._start
        for _ in range(MAX_RECORDS):
            if at + 6 > len(self._data):
                return
            words, function = struct.unpack_from("<IH", self._data, at)
            if words < 3 or function == 0:
                self.is_complete = function == 0
                return
            yield function, self._data[at + 6 : at + 2 * words]
            at += 2 * words

    def place(self, x: float, y: float) -> Point:
        (left, top), (width, height) = self.state.window_origin, self.state.window_extent
        return (
            (x - left) / (width or 1) * self.own_size[0] * self.zoom,
            (y - top) / (height or 1) * self.own_size[1] * self.zoom,
        )

    def play(self) -> None:
        for function, r in self._records():
            handler = _WMF_RECORDS.get(function)
            if handler is not None:
                with contextlib.suppress(struct.error, IndexError, ValueError, ArithmeticError):
                    handler(self, r)

    def _create(self, made: Any) -> None:
        """Add an object at the lowest free number, as Windows does."""
        number = next(number for number in range(len(self.objects) + 1) if number not in self.objects)
        self.objects[number] = made

    def _pen(self, r: bytes) -> None:
        style, width = struct.unpack_from("<Hh", r)
        self._create(Pen(None if style & 0xF == 5 else _colour(r, 6), width))

    def _brush(self, r: bytes) -> None:
        self._create((None if struct.unpack_from("<H", r)[0] == 1 else _colour(r, 2),))

    def _pattern_brush(self, r: bytes) -> None:
        image = _bitmap(r[4 : 4 + _info_size(r[4:])], r[4 + _info_size(r[4:]) :])
        self._create((None if image is None else image.resize((1, 1), Image.Resampling.BOX).getpixel((0, 0)),))

    def _font(self, r: bytes) -> None:
        height, _, angle = struct.unpack_from("<3h", r)
        self._create(Font(abs(height) or 12, (angle % 3600) / 10, height > 0, FONT_CHARSETS.get(r[13], "cp1252")))

    def _line_to(self, r: bytes) -> None:
        end = struct.unpack_from("<2h", r)[::-1]
        self.stroke([self.place(*self.state.at), self.place(*end)])
        self.set(at=end)

    def _shape(self, r: bytes, how: str) -> None:
        values = struct.unpack_from("<4h", r, len(r) - 8)
        box = values[3], values[2], values[1], values[0]
        if how == "rectangle":
            self.fill([self.rectangle(*box)])
        elif how == "ellipse":
            self.fill([self.arc(box, None)])
        else:
            y1, x1, y0, x0 = struct.unpack_from("<4h", r)
            points = self.arc(box, (x0, y0, x1, y1))
            (a, b), (c, d) = self.place(*box[:2]), self.place(*box[2:])
            if how == "arc":
                self.stroke(points)
            else:
                self.fill([[*points, ((a + c) / 2, (b + d) / 2)] if how == "pie" else points])

    def _points(self, r: bytes, at: int, count: int) -> list[Point]:
        values = struct.unpack_from(f"<{2 * count}h", r, at)
        return [self.place(values[i], values[i + 1]) for i in range(0, len(values), 2)]

    def _poly(self, r: bytes, is_closed: bool) -> None:
        points = self._points(r, 2, struct.unpack_from("<H", r)[0])
        if is_closed:
            self.fill([points])
        else:
            self.stroke(points)

    def _polypolygon(self, r: bytes) -> None:
        count = struct.unpack_from("<H", r)[0]
        counts = struct.unpack_from(f"<{count}H", r, 2)
        at = 2 + 2 * count
        shapes = []
        for each in counts:
            shapes.append(self._points(r, at, each))
            at += 4 * each
        self.fill(shapes)

    def _text(self, r: bytes) -> None:
        count = struct.unpack_from("<H", r)[0]
        y, x = struct.unpack_from("<2h", r, 2 + count + count % 2)
        self.letters(x, y, r[2 : 2 + count].decode(self.state.font.encoding, "replace"))

    def _ext_text(self, r: bytes) -> None:
        y, x, count, options = struct.unpack_from("<hhHH", r)
        at = 16 if options & 6 else 8
        spaces = at + count + count % 2
        width = sum(struct.unpack_from(f"<{count}h", r, spaces)) if spaces + 2 * count <= len(r) else 0
        self.letters(x, y, r[at : at + count].decode(self.state.font.encoding, "replace"), width)

    def _blit(self, r: bytes, at: int) -> None:
        """Draw the bitmap at an offset of a record; the place of the result is before it."""
        operation = struct.unpack_from("<I", r)[0]
        height, width, y, x = struct.unpack_from("<4h", r, at - 8)
        image = None
        if len(r) > at + 12:
            info = _info_size(r[at:])
            image = _bitmap(r[at : at + info], r[at + info :])
            if image is None:
                return
        self.bitmap(image, (x, y, width, height), operation)

    def _fill_box(self, r: bytes) -> None:
        operation, height, width, y, x = struct.unpack_from("<I4h", r)
        self.bitmap(None, (x, y, width, height), operation)


def _pair(name: str) -> Callable[[_WmfPlayer, bytes], None]:
    return lambda player, r: player.set(**{name: struct.unpack_from("<2h", r)[::-1]})


_WMF_RECORDS: dict[int, Callable[[_WmfPlayer, bytes], None]] = {
    0x020B: _pair("window_origin"),
    0x020C: _pair("window_extent"),
    0x0214: _pair("at"),
    0x0106: lambda player, r: player.set(has_holes=struct.unpack_from("<H", r)[0] == 1),
    0x0209: lambda player, r: player.set(text_colour=_colour(r, 0)),
    0x012E: lambda player, r: player.set(align=struct.unpack_from("<H", r)[0]),
    0x001E: lambda player, r: player.save(),
    0x0127: lambda player, r: player.restore(struct.unpack_from("<h", r)[0]),
    0x012D: lambda player, r: player.select(struct.unpack_from("<H", r)[0]),
    0x01F0: lambda player, r: player.objects.pop(struct.unpack_from("<H", r)[0], None),
    0x02FA: _WmfPlayer._pen,
    0x02FC: _WmfPlayer._brush,
    0x02FB: _WmfPlayer._font,
    0x0142: _WmfPlayer._pattern_brush,
    **dict.fromkeys((0x00F7, 0x01F9, 0x06FF, 0x00F8), lambda player, r: player._create(None)),
    0x0213: _WmfPlayer._line_to,
    0x041B: lambda player, r: player._shape(r, "rectangle"),
    0x061C: lambda player, r: player._shape(r, "rectangle"),
    0x0418: lambda player, r: player._shape(r, "ellipse"),
    0x0817: lambda player, r: player._shape(r, "arc"),
    0x081A: lambda player, r: player._shape(r, "pie"),
    0x0830: lambda player, r: player._shape(r, "chord"),
    0x0324: lambda player, r: player._poly(r, is_closed=True),
    0x0325: lambda player, r: player._poly(r, is_closed=False),
    0x0538: _WmfPlayer._polypolygon,
    0x0521: _WmfPlayer._text,
    0x0A32: _WmfPlayer._ext_text,
    0x061D: _WmfPlayer._fill_box,
    0x0940: lambda player, r: player._blit(r, 16),
    0x0B41: lambda player, r: player._blit(r, 20),
    0x0F43: lambda player, r: player._blit(r, 22),
}
