"""The machine that runs PostScript: values, the stack, dictionaries, and the state of drawing.

Operators register themselves in `OPERATORS`: those for values in `postscript_operators`, those that draw in
`postscript_drawing`. The machine can open nothing and has limits of steps, time, depth and memory.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from PIL import ImageFont

from eyespan.decoders.canvas import HAS_LETTERS, Canvas, TooMuchWork
from eyespan.decoders.postscript_names import GLYPHS, SYMBOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eyespan.decoders.canvas import Colour, Point

    Matrix = tuple[float, float, float, float, float, float]

LEAST_PX = 512
"""The longer side of a drawing whose own size is smaller."""
MAX_STEPS = 3_000_000
MAX_DEPTH = 60
MAX_STACK = 20_000
MAX_STRING_BYTES = 1 << 20
MAX_ITEMS = 100_000
MAX_MEMORY_BYTES = 128 << 20
"""The memory of all values that operators make."""
ITEM_BYTES = 100
MAX_PATH_POINTS = 200_000
MAX_DASHES = 20_000
MAX_PIXELS = 16_000_000
MAX_SECONDS = 4.0
"""The CPU time."""
_TOKEN = re.compile(
    r"""[\0\t\n\f\r ]+ | %[^\n\r]* | (?P<string>\() | <<|>> | <(?P<hex>[0-9A-Fa-f\s]*)> | <~(?P<base85>[^~]*)~>
    | //?(?P<literal>[^\0\t\n\f\r ()<>\[\]{}/%]*) | [\[\]{}] | (?P<word>[^\0\t\n\f\r ()<>\[\]{}/%]+)""",
    re.VERBOSE,
)
_RADIX = re.compile(r"(\d{1,2})#([0-9A-Za-z]{1,12})")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class Failed(Exception):
    """Reports an error of the program, with its name in PostScript."""


class Exit(Exception):
    """Leaves a loop."""


class Quit(Exception):
    """Ends the program: it drew its page, or reached a limit."""


class Literal(str):
    """A name that stands for itself."""

    __slots__ = ()


class Word(str):
    """A name that is executed."""

    __slots__ = ()


class Procedure(list[Any]):
    """The values between braces."""


class Mark:
    """The mark on the stack."""


MARK = Mark()


@dataclass
class State:
    """Everything that `gsave` keeps."""

    matrix: Matrix
    colour: Colour = (0, 0, 0)
    line_width: float = 1.0
    dashes: tuple[float, ...] = ()
    dash_start: float = 0.0
    font: dict[Any, Any] = field(default_factory=dict)
    path: list[list[Point]] = field(default_factory=list)
    """Lines in pixels."""
    place: Point | None = None
    """The current point in pixels."""


def key_of(value: Any) -> Any:
    """Return a value as the key of a dictionary: a string stands for its name."""
    return value.decode("latin-1") if isinstance(value, bytearray) else value


OPERATORS: dict[str, Callable[[Interpreter], None]] = {}


def operator_of(*names: str) -> Callable[[Callable[[Interpreter], None]], Callable[[Interpreter], None]]:
    """Return a decorator that registers a function as these operators."""

    def register(function: Callable[[Interpreter], None]) -> Callable[[Interpreter], None]:
        for name in names:
            OPERATORS[name] = function
        return function

    return register


class Interpreter:
    """Runs a program."""

    def __init__(self, source: str, box: tuple[float, float, float, float], max_px: int) -> None:
        left, bottom, right, top = box
        self.own_size = right - left, top - bottom
        longer = max(self.own_size)
        zoom = min(max_px, max(LEAST_PX, longer)) / longer
        size = [max(1, round(side * zoom)) for side in self.own_size]
        self.canvas = Canvas(size[0], size[1])
        self.base: Matrix = (zoom, 0.0, 0.0, -zoom, -left * zoom, top * zoom)
        self.state = State(self.base)
        self.kept: list[State] = []
        self.stack: list[Any] = []
        self.user: dict[Any, Any] = {}
        self.system: dict[Any, Any] = {**OPERATORS, "true": True, "false": False, "null": None}
        self.dictionaries: list[dict[Any, Any]] = [self.system, self.user]
        self.fonts: dict[str, Any] = {}
        self.source, self.at = source, 0
        self.failure = ""
        self._steps = 0
        self._charged_bytes = 0
        self._depth = 0
        self._end = time.process_time() + MAX_SECONDS

    def run(self) -> bool:
        """Run the program; return False if it ended early."""
        try:
            for value in self.tokens():
                self.execute(value, is_direct=True)
        except Quit as end:
            self.failure = str(end)
            return not self.failure
        except (Exit, TooMuchWork):
            self.failure = "it takes too much time"
            return False
        except Failed as error:
            self.failure = f"it uses {error}"
            return False
        except (TypeError, ValueError, IndexError, KeyError, ArithmeticError, AttributeError, RecursionError):
            self.failure = "its program is damaged"
            return False
        return True

    # --- reading -----------------------------------------------------------------------------------------------------

    def tokens(self) -> Iterator[Any]:
        """Yield the values of the program from the present position on."""
        while (value := self.next_value()) is not _END:
            yield value

    def next_value(self) -> Any:
        """Return the next value; `_END` at the end and at a closing brace."""
        while (found := _TOKEN.match(self.source, self.at)) is not None:
            self.at = found.end()
            if found["word"] is not None:
                return _word(found["word"])
            if found["literal"] is not None:
                is_immediate = found[0].startswith("//")
                return self.find(found["literal"]) if is_immediate else Literal(found["literal"])
            if found["string"]:
                return self._string()
            if found["hex"] is not None:
                digits = "".join(found["hex"].split())
                return bytearray.fromhex(digits + "0" * (len(digits) % 2))
            if found[0] == "{":
                return self._procedure()
            if found[0] == "}":
                return _END
            if found[0] in ("[", "]", "<<", ">>"):
                return Word(found[0])
            if found["base85"] is not None:
                raise Failed("strings of base 85")
        if self.at < len(self.source):
            self.at += 1  # a character that begins nothing
            return self.next_value() if self._depth < MAX_DEPTH else _END
        return _END

    def _procedure(self) -> Procedure:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Failed("procedures that are too deep")
        values = Procedure()
        while (value := self.next_value()) is not _END:
            values.append(value)
            self._step()
        self._depth -= 1
        return values

    def _string(self) -> bytearray:
        depth, at, source = 1, self.at, self.source
        out: list[str] = []
        while at < len(source):
            char = source[at]
            at += 1
            if char == "\\":
                char = source[at : at + 1]
                at += 1
                if char in "01234567" and char:
                    digits = re.compile("[0-7]{1,3}").match(source, at - 1)
                    assert digits is not None
                    at = digits.end()
                    out.append(chr(int(digits[0], 8) & 255))
                elif char not in ("\n", "\r"):
                    out.append(_ESCAPES.get(char, char))
                continue
            depth += (char == "(") - (char == ")")
            if not depth:
                break
            out.append(char)
        self.at = at
        return bytearray("".join(out), "latin-1")

    # --- running -----------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS or (self._steps % 1000 == 0 and time.process_time() > self._end):
            raise Quit("it takes too much time")

    def execute(self, value: Any, is_direct: bool = False) -> None:
        """Execute a value: names and operators are run, everything else goes to the stack.

        A procedure is run too, unless it `is_direct`: it stands in the program itself.
        """
        self._step()
        if isinstance(value, Word):
            value, is_direct = self.find(value), False
        if callable(value):
            value(self)
        elif isinstance(value, Procedure) and not is_direct:
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise Failed("procedures that are too deep")
            try:
                for each in value:
                    self.execute(each, is_direct=True)
            finally:
                self._depth -= 1
        else:
            self.push(value)

    def find(self, name: str) -> Any:
        """Return the value of a name. Raises: Failed."""
        for dictionary in reversed(self.dictionaries):
            if name in dictionary:
                return dictionary[name]
        raise Failed(f"{name[:40]!r}, which is not known")

    def push(self, *values: Any) -> None:
        """Put values on the stack."""
        self.stack += values
        if len(self.stack) > MAX_STACK:
            raise Failed("a stack that is too large")

    def charge(self, size_bytes: int) -> None:
        """Count memory that an operator takes. Raises: Failed."""
        self._charged_bytes += size_bytes
        if self._charged_bytes > MAX_MEMORY_BYTES:
            raise Failed("too much memory")

    def pop(self) -> Any:
        """Take a value from the stack. Raises: Failed."""
        if not self.stack:
            raise Failed("more values than there are")
        return self.stack.pop()

    def numbers(self, count: int) -> list[float]:
        """Take numbers from the stack, the last of them from the top. Raises: Failed."""
        if len(self.stack) < count:
            raise Failed("more values than there are")
        found = self.stack[len(self.stack) - count :] if count else []
        del self.stack[len(self.stack) - count :]
        if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in found):
            raise Failed("something else instead of a number")
        return found

    # --- drawing -----------------------------------------------------------------------------------------------------

    def to(self, x: float, y: float) -> Point:
        """Return a place in pixels."""
        a, b, c, d, e, f = self.state.matrix
        return a * x + c * y + e, b * x + d * y + f

    def back(self, place: Point) -> Point:
        """Return a place of the program's own units."""
        return apply(inverse(self.state.matrix), place)

    def here(self) -> Point:
        """Return the current point in the program's units. Raises: Failed."""
        if self.state.place is None:
            raise Failed("a current point that is not set")
        return self.back(self.state.place)

    def move(self, place: Point) -> None:
        """Begin a line at a place in pixels."""
        self.state.place = place
        self.state.path.append([place])

    def line(self, *places: Point) -> None:
        """Continue the line over places in pixels. Raises: Failed."""
        state = self.state
        if state.place is None or not state.path:
            raise Failed("a line without a start")
        state.path[-1] += places
        state.place = places[-1]
        if sum(map(len, state.path)) > MAX_PATH_POINTS and len(state.path[-1]) % 100 == 0:
            raise Quit("it takes too much time")

    def scale(self) -> float:
        """Return the pixels of a unit."""
        a, b, c, d, _, _ = self.state.matrix
        return math.sqrt(abs(a * d - b * c))

    def stroke(self) -> None:
        """Draw the lines of the path, and forget it."""
        state = self.state
        scale = self.scale()
        for points in state.path:
            pieces = _dashed(points, [dash * scale for dash in state.dashes], state.dash_start * scale)
            for piece in pieces:
                if len(piece) == 1 or (len(piece) == 2 and piece[0] == piece[1]):
                    piece = [piece[0], (piece[0][0] + 0.5, piece[0][1])]
                self.canvas.line(piece, state.colour, state.line_width * scale)
        state.path, state.place = [], None

    def fill(self, has_holes: bool) -> None:
        """Fill the areas of the path, and forget it."""
        self.canvas.area(self.state.path, self.state.colour, has_holes or len(self.state.path) > 1)
        self.state.path, self.state.place = [], None

    def show(self, data: bytes | bytearray | str, extra: float = 0.0) -> None:
        """Draw letters at the current point and move it after them. Raises: Failed."""
        state = self.state
        if state.place is None:
            raise Failed("letters without a place")
        text = data if isinstance(data, str) else text_of(data, state.font)
        size = font_size(state.font)
        a, b, _, _, _, _ = state.matrix
        angle = -math.degrees(math.atan2(b, a))
        self.canvas.text(state.place, text, size=size * self.scale(), colour=state.colour, angle=angle)
        wide = text_width(text) * size + extra * len(text)
        x, y = self.here()
        state.place = self.to(x + wide, y)
        state.path.append([state.place])


_END = object()


def _word(text: str) -> Any:
    if _NUMBER.fullmatch(text) and len(text) < 40:
        return float(text) if any(char in text for char in ".eE") else int(text)
    if (radix := _RADIX.fullmatch(text)) is not None and 2 <= int(radix[1]) <= 36:
        with contextlib.suppress(ValueError):
            return int(radix[2], int(radix[1]))
    return Word(text)


# --- matrices and lines -----------------------------------------------------------------------------------------------


def apply(matrix: Matrix, place: Point) -> Point:
    """Return a place after a matrix."""
    a, b, c, d, e, f = matrix
    return a * place[0] + c * place[1] + e, b * place[0] + d * place[1] + f


def product(first: Matrix, second: Matrix) -> Matrix:
    """Return the matrix that applies one after the other."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def inverse(matrix: Matrix) -> Matrix:
    """Return the matrix that undoes another. Raises: Failed."""
    a, b, c, d, e, f = matrix
    determinant = a * d - b * c
    if abs(determinant) < 1e-12:
        raise Failed("a matrix without an inverse")
    return (
        d / determinant,
        -b / determinant,
        -c / determinant,
        a / determinant,
        (c * f - d * e) / determinant,
        (b * e - a * f) / determinant,
    )


def _dashed(points: list[Point], dashes: list[float], start: float) -> list[list[Point]]:
    """Return the pieces of a line that its dashes draw; dashes shorter than a pixel make it solid."""
    if not dashes or min(dashes) < 0 or sum(dashes) < 1.5 or len(points) < 2:
        return [points]
    length = sum([math.dist(a, b) for a, b in pairwise(points)])
    if not math.isfinite(length) or length / sum(dashes) > MAX_DASHES:
        return [points]
    if len(dashes) % 2:
        dashes = dashes * 2
    at, left = 0, start % sum(dashes)
    while left >= dashes[at]:
        left -= dashes[at]
        at = (at + 1) % len(dashes)
    left = dashes[at] - left
    pieces: list[list[Point]] = []
    piece = [points[0]]
    for begin, end in pairwise(points):
        far = math.dist(begin, end)
        done = 0.0
        while far - done > left:
            done += left
            share = done / far
            place = begin[0] + share * (end[0] - begin[0]), begin[1] + share * (end[1] - begin[1])
            if at % 2 == 0:
                pieces.append([*piece, place])
            piece = [place]
            at = (at + 1) % len(dashes)
            left = max(dashes[at], 1e-3)
        left -= far - done
        piece.append(end)
    if at % 2 == 0:
        pieces.append(piece)
    return pieces


# --- letters ----------------------------------------------------------------------------------------------------------

_WIDTH_PX = 100
_width_font = ImageFont.load_default(_WIDTH_PX) if HAS_LETTERS else None


def text_width(text: str) -> float:
    """Return the width of a text of size 1."""
    shown = "".join([char if char.isprintable() else " " for char in text[:2000]])
    return _width_font.getlength(shown) / _WIDTH_PX if _width_font is not None else 0.5 * len(shown)


def font_size(font: dict[Any, Any]) -> float:
    """Return the size of a font in units."""
    size = font.get(SIZE, 10.0)
    return float(size) if isinstance(size, (int, float)) else 10.0


SIZE = Literal("eyespan size")


def text_of(data: bytes | bytearray, font: dict[Any, Any]) -> str:
    """Return the characters of a string in the encoding of its font."""
    names = font.get("Encoding")
    if isinstance(names, list) and len(names) == 256:
        return "".join([glyph_text(str(names[byte])) if names[byte] else "\ufffd" for byte in data])
    text = data.decode("latin-1")
    if str(font.get("FontName", "")).startswith("Symbol"):
        return "".join([SYMBOL.get(char, char if not char.isalpha() else "\ufffd") for char in text])
    return text


def glyph_text(name: str) -> str:
    """Return the character of a glyph's name; U+FFFD if the name is not known."""
    if len(name) == 1:
        return name
    if (code := re.fullmatch(r"uni([0-9A-Fa-f]{4})", name)) is not None:
        return chr(int(code[1], 16))
    return GLYPHS.get(name, "\ufffd")
