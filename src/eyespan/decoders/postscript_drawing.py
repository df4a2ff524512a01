"""The operators of PostScript that draw: state, matrices, paths, letters, bitmaps."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PIL import Image

from eyespan.decoders.canvas import Point, curve
from eyespan.decoders.postscript_machine import (
    IDENTITY,
    ITEM_BYTES,
    MAX_PIXELS,
    OPERATORS,
    SIZE,
    Failed,
    Interpreter,
    Literal,
    Matrix,
    State,
    apply,
    font_size,
    glyph_text,
    inverse,
    key_of,
    operator_of,
    product,
    text_of,
    text_width,
)

# the state of drawing


@operator_of("gsave")
def _gsave(it: Interpreter) -> None:
    if len(it.kept) > 500:
        raise Failed("too much memory")
    it.charge(ITEM_BYTES * sum(map(len, it.state.path)))
    it.kept.append(replace(it.state, path=[list(points) for points in it.state.path]))


@operator_of("save")
def _save(it: Interpreter) -> None:
    _gsave(it)
    it.push(None)


@operator_of("grestore", "grestoreall")
def _grestore(it: Interpreter) -> None:
    if it.kept:
        it.state = it.kept.pop()


@operator_of("restore")
def _restore(it: Interpreter) -> None:
    it.pop()
    _grestore(it)


@operator_of("initgraphics")
def _initgraphics(it: Interpreter) -> None:
    it.state = State(it.base)


@operator_of("setlinewidth")
def _setlinewidth(it: Interpreter) -> None:
    it.state.line_width = abs(it.numbers(1)[0])


@operator_of("currentlinewidth")
def _currentlinewidth(it: Interpreter) -> None:
    it.push(it.state.line_width)


@operator_of("setdash")
def _setdash(it: Interpreter) -> None:
    (start,) = it.numbers(1)
    dashes = it.pop()
    if not isinstance(dashes, list) or len(dashes) > 20:
        raise Failed("something else instead of dashes")
    if not all(isinstance(dash, (int, float)) and math.isfinite(dash) and dash >= 0 for dash in dashes):
        raise Failed("something else instead of dashes")
    it.state.dashes, it.state.dash_start = tuple(dashes), start


def _level(value: float) -> int:
    return round(255 * max(0.0, min(1.0, value)))


def _set_colour(it: Interpreter, parts: list[float]) -> None:
    if len(parts) == 1:
        parts = parts * 3
    elif len(parts) == 4:
        parts = [1 - min(1.0, part + parts[3]) for part in parts[:3]]
    if len(parts) != 3:
        raise Failed("a colour that is not known")
    it.state.colour = _level(parts[0]), _level(parts[1]), _level(parts[2])


for _name, _parts in (("setgray", 1), ("setrgbcolor", 3), ("setcmykcolor", 4)):
    OPERATORS[_name] = lambda it, _parts=_parts: _set_colour(it, it.numbers(_parts))  # type: ignore[misc]  # bound


@operator_of("sethsbcolor")
def _sethsbcolor(it: Interpreter) -> None:
    hue, saturation, brightness = it.numbers(3)
    _set_colour(it, list(colorsys.hsv_to_rgb(hue, saturation, brightness)))


@operator_of("setcolorspace")
def _setcolorspace(it: Interpreter) -> None:
    space = it.pop()
    it.state.colour = (0, 0, 0)
    it.user[_SPACE] = str(space[0] if isinstance(space, list) and space else space)


_SPACE = Literal("eyespan colour space")


@operator_of("makepattern")
def _makepattern(it: Interpreter) -> None:
    it.pop()  # its matrix; a pattern that is used ends the drawing


@operator_of("setcolor")
def _setcolor(it: Interpreter) -> None:
    parts = {"DeviceGray": 1, "DeviceRGB": 3, "DeviceCMYK": 4}.get(it.user.get(_SPACE, "DeviceGray"))
    if parts is None:
        raise Failed("a colour space that is not known")
    _set_colour(it, it.numbers(parts))


@operator_of("currentrgbcolor")
def _currentrgbcolor(it: Interpreter) -> None:
    it.push(*[part / 255 for part in it.state.colour])


@operator_of("currentgray")
def _currentgray(it: Interpreter) -> None:
    it.push(sum(it.state.colour) / 765)


# matrices


def _as_matrix(value: Any) -> Matrix:
    if not isinstance(value, list) or len(value) != 6:
        raise Failed("something else instead of a matrix")
    a, b, c, d, e, f = (float(number) for number in value)
    return a, b, c, d, e, f


def _change_matrix(it: Interpreter, matrix: Matrix) -> None:
    it.state.matrix = product(matrix, it.state.matrix)


def _changes(name: str, count: int, make: Callable[..., Matrix]) -> None:
    """Register an operator that changes the matrix, or one that it is given."""

    def run(it: Interpreter) -> None:
        if it.stack and isinstance(it.stack[-1], list):
            held = it.pop()
            held[:] = make(*it.numbers(count))
            it.push(held)
        else:
            _change_matrix(it, make(*it.numbers(count)))

    OPERATORS[name] = run


def _rotation(degrees: float) -> Matrix:
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return cosine, sine, -sine, cosine, 0.0, 0.0


_changes("translate", 2, lambda x, y: (1.0, 0.0, 0.0, 1.0, x, y))
_changes("scale", 2, lambda x, y: (x, 0.0, 0.0, y, 0.0, 0.0))
_changes("rotate", 1, _rotation)


@operator_of("concat")
def _concat(it: Interpreter) -> None:
    _change_matrix(it, _as_matrix(it.pop()))


@operator_of("matrix")
def _matrix(it: Interpreter) -> None:
    it.push(list(IDENTITY))


@operator_of("currentmatrix")
def _currentmatrix(it: Interpreter) -> None:
    held = it.pop()
    held[:] = it.state.matrix
    it.push(held)


@operator_of("setmatrix")
def _setmatrix(it: Interpreter) -> None:
    it.state.matrix = _as_matrix(it.pop())


@operator_of("defaultmatrix")
def _defaultmatrix(it: Interpreter) -> None:
    held = it.pop()
    held[:] = it.base
    it.push(held)


@operator_of("initmatrix")
def _initmatrix(it: Interpreter) -> None:
    it.state.matrix = it.base


@operator_of("concatmatrix")
def _concatmatrix(it: Interpreter) -> None:
    held, second, first = it.pop(), it.pop(), it.pop()
    held[:] = product(_as_matrix(first), _as_matrix(second))
    it.push(held)


@operator_of("invertmatrix")
def _invertmatrix(it: Interpreter) -> None:
    held, first = it.pop(), it.pop()
    held[:] = inverse(_as_matrix(first))
    it.push(held)


def _transforms(name: str, is_distance: bool, is_inverse: bool) -> None:
    def run(it: Interpreter) -> None:
        matrix = _as_matrix(it.pop()) if it.stack and isinstance(it.stack[-1], list) else it.state.matrix
        if is_distance:
            matrix = (*matrix[:4], 0.0, 0.0)
        x, y = it.numbers(2)
        it.push(*apply(inverse(matrix) if is_inverse else matrix, (x, y)))

    OPERATORS[name] = run


for _name in ("transform", "dtransform", "itransform", "idtransform"):
    _transforms(_name, "d" in _name[:2], _name.startswith("i"))


# paths


@operator_of("newpath")
def _newpath(it: Interpreter) -> None:
    it.state.path, it.state.place = [], None


@operator_of("currentpoint")
def _currentpoint(it: Interpreter) -> None:
    it.push(*it.here())


@operator_of("moveto")
def _moveto(it: Interpreter) -> None:
    x, y = it.numbers(2)
    it.move(it.to(x, y))


@operator_of("rmoveto")
def _rmoveto(it: Interpreter) -> None:
    x, y = it.numbers(2)
    left, bottom = it.here()
    it.move(it.to(left + x, bottom + y))


@operator_of("lineto")
def _lineto(it: Interpreter) -> None:
    x, y = it.numbers(2)
    it.line(it.to(x, y))


@operator_of("rlineto")
def _rlineto(it: Interpreter) -> None:
    x, y = it.numbers(2)
    left, bottom = it.here()
    it.line(it.to(left + x, bottom + y))


def _curve_by(it: Interpreter, origin: Point) -> None:
    numbers = it.numbers(6)
    x, y = origin
    first, second, end = (it.to(x + numbers[at], y + numbers[at + 1]) for at in (0, 2, 4))
    if it.state.place is None:
        raise Failed("a line without a start")
    it.line(*curve(it.state.place, first, second, end))


@operator_of("curveto")
def _curveto(it: Interpreter) -> None:
    _curve_by(it, (0.0, 0.0))


@operator_of("rcurveto")
def _rcurveto(it: Interpreter) -> None:
    _curve_by(it, it.here())


def _arc_by(it: Interpreter, is_clockwise: bool) -> None:
    x, y, radius, start, end = it.numbers(5)
    if is_clockwise:
        while end > start:
            end -= 360 * math.ceil((end - start) / 360)
    elif end < start:
        end += 360 * math.ceil((start - end) / 360)
    if abs(end - start) > 36_000:
        raise Failed("an arc that is too long")
    steps = max(4, min(180, round(abs(end - start) / 3)))
    angles = [math.radians(start + (end - start) * step / steps) for step in range(steps + 1)]
    places = [it.to(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]
    if it.state.place is None:
        it.move(places[0])
    it.line(*places)


@operator_of("arc")
def _arc(it: Interpreter) -> None:
    _arc_by(it, is_clockwise=False)


@operator_of("arcn")
def _arcn(it: Interpreter) -> None:
    _arc_by(it, is_clockwise=True)


@operator_of("closepath")
def _closepath(it: Interpreter) -> None:
    path = it.state.path
    if path and path[-1]:
        path[-1].append(path[-1][0])
        it.state.place = path[-1][0]
        path.append([path[-1][0]])


@operator_of("pathbbox")
def _pathbbox(it: Interpreter) -> None:
    places = [it.back(place) for points in it.state.path for place in points]
    if not places:
        raise Failed("a current point that is not set")
    xs, ys = zip(*places, strict=True)
    it.push(min(xs), min(ys), max(xs), max(ys))


@operator_of("stroke")
def _stroke(it: Interpreter) -> None:
    it.state.path = [points for points in it.state.path if len(points) > 1]
    it.stroke()


@operator_of("fill")
def _fill(it: Interpreter) -> None:
    it.fill(has_holes=False)


@operator_of("eofill")
def _eofill(it: Interpreter) -> None:
    it.fill(has_holes=True)


def _rectangle(it: Interpreter) -> list[Point]:
    x, y, width, height = it.numbers(4)
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y))
    return [it.to(*corner) for corner in corners]


@operator_of("rectfill")
def _rectfill(it: Interpreter) -> None:
    it.canvas.area([_rectangle(it)], it.state.colour, has_holes=False)


@operator_of("rectstroke")
def _rectstroke(it: Interpreter) -> None:
    it.canvas.line(_rectangle(it), it.state.colour, it.state.line_width * it.scale())


@operator_of("rectclip")
def _rectclip(it: Interpreter) -> None:
    it.numbers(4)


@operator_of("clippath")
def _clippath(it: Interpreter) -> None:
    wide, high = it.canvas.size
    it.state.path = [[(0.0, 0.0), (wide, 0.0), (wide, high), (0.0, high), (0.0, 0.0)]]
    it.state.place = (0.0, 0.0)


# fonts and letters


@operator_of("findfont")
def _findfont(it: Interpreter) -> None:
    name = str(key_of(it.pop()))
    found = it.fonts.get(name)
    it.push(dict(found) if found is not None else {"FontName": Literal(name), "FontType": 1, SIZE: 1.0})


@operator_of("definefont")
def _definefont(it: Interpreter) -> None:
    font, name = it.pop(), str(key_of(it.pop()))
    if not isinstance(font, dict) or len(it.fonts) > 500:
        raise Failed("something else instead of a font")
    it.fonts[name] = {"FontName": Literal(name), SIZE: 1.0, **font}
    it.push(it.fonts[name])


@operator_of("scalefont")
def _scalefont(it: Interpreter) -> None:
    (factor,) = it.numbers(1)
    font = it.pop()
    _push_font(it, font, font_size(font) * abs(factor))


@operator_of("makefont")
def _makefont(it: Interpreter) -> None:
    a, b, c, d, _, _ = _as_matrix(it.pop())
    font = it.pop()
    _push_font(it, font, font_size(font) * math.sqrt(abs(a * d - b * c)))


def _push_font(it: Interpreter, font: dict[Any, Any], size: float) -> None:
    it.charge(ITEM_BYTES * len(font))
    it.push({**font, SIZE: size})


@operator_of("setfont")
def _setfont(it: Interpreter) -> None:
    font = it.pop()
    if not isinstance(font, dict):
        raise Failed("something else instead of a font")
    it.state.font = font


@operator_of("selectfont")
def _selectfont(it: Interpreter) -> None:
    size = it.pop()
    _findfont(it)
    it.push(size)
    (_makefont if isinstance(size, list) else _scalefont)(it)
    _setfont(it)


@operator_of("currentfont")
def _currentfont(it: Interpreter) -> None:
    it.push(it.state.font)


@operator_of("show")
def _show(it: Interpreter) -> None:
    it.show(it.pop())


@operator_of("ashow")
def _ashow(it: Interpreter) -> None:
    text = it.pop()
    extra, _ = it.numbers(2)
    it.show(text, extra)


@operator_of("widthshow")
def _widthshow(it: Interpreter) -> None:
    text = it.pop()
    it.numbers(3)
    it.show(text)


@operator_of("awidthshow")
def _awidthshow(it: Interpreter) -> None:
    text = it.pop()
    it.numbers(5)
    it.show(text)


@operator_of("glyphshow")
def _glyphshow(it: Interpreter) -> None:
    it.show(glyph_text(str(it.pop())))


@operator_of("stringwidth")
def _stringwidth(it: Interpreter) -> None:
    it.push(text_width(text_of(it.pop(), it.state.font)) * font_size(it.state.font), 0.0)


# bitmaps


@operator_of("currentfile")
def _currentfile(it: Interpreter) -> None:
    it.push(Literal("eyespan file"))


@operator_of("readhexstring")
def _readhexstring(it: Interpreter) -> None:
    held, _ = it.pop(), it.pop()
    digits: list[str] = []
    while len(digits) < 2 * len(held) and it.at < len(it.source):
        char = it.source[it.at]
        it.at += 1
        if char in "0123456789abcdefABCDEF":
            digits.append(char)
    data = bytes.fromhex("".join(digits[: len(digits) // 2 * 2]))
    held[: len(data)] = data
    it.push(held[: len(data)], len(data) == len(held))


@operator_of("readstring")
def _readstring(it: Interpreter) -> None:
    held, _ = it.pop(), it.pop()
    if it.source[it.at : it.at + 1] in ("\n", "\r", " "):
        it.at += 1
    data = it.source[it.at : it.at + len(held)].encode("latin-1")
    it.at += len(data)
    held[: len(data)] = data
    it.push(held[: len(data)], len(data) == len(held))


def _bitmap(it: Interpreter, bands: int) -> None:
    source = it.pop()
    matrix = _as_matrix(it.pop())
    width, height, bits = (int(number) for number in it.numbers(3))
    if not (0 < width * height <= MAX_PIXELS and bits in (1, 8) and width > 0):
        raise Failed("a bitmap that is not known")
    row_bytes = (width * bits * bands + 7) // 8
    data = bytearray()
    while len(data) < row_bytes * height:
        if isinstance(source, bytearray):
            data += source
        else:
            it.execute(source)
            piece = it.pop()
            if not piece:
                break
            data += piece
        if isinstance(source, bytearray) and not source:
            break
    data += bytes(max(0, row_bytes * height - len(data)))
    mode = {(1, 1): "1", (8, 1): "L", (8, 3): "RGB", (8, 4): "CMYK"}.get((bits, bands))
    if mode is None:
        raise Failed("a bitmap that is not known")
    image = Image.frombytes(mode, (width, height), bytes(data[: row_bytes * height])).convert("RGB")
    placed = product(inverse(matrix), it.state.matrix)
    if abs(placed[1]) + abs(placed[2]) > 0.01 * (abs(placed[0]) + abs(placed[3])):
        raise Failed("a rotated bitmap")
    it.canvas.image(image, apply(placed, (0.0, 0.0)), (placed[0] * width, placed[3] * height))


@operator_of("image")
def _image(it: Interpreter) -> None:
    if it.stack and isinstance(it.stack[-1], dict):
        raise Failed("a bitmap that is compressed")
    _bitmap(it, 1)


@operator_of("colorimage")
def _colorimage(it: Interpreter) -> None:
    bands = it.pop()
    if it.pop() or bands not in (1, 3, 4):
        raise Failed("a bitmap of several sources")
    _bitmap(it, bands)
