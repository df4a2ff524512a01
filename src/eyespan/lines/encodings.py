"""What a file's bytes mean: the codec, the width of its units and where its lines end.

A line ends at U+000A and nowhere else. In UTF-8 and in every code page that may be named, byte 0x0A is never part of
another character, so lines are found in the raw bytes; in UTF-16 and UTF-32 it is one unit wide and aligned. Encodings
in which that does not hold (EBCDIC, UTF-7, ISO-2022...) are refused when a tool is made.
"""

from __future__ import annotations

import codecs

from eyespan import _native
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@record
class Encoding:
    """A codec by its Python name, with what line finding needs to know of it."""

    name: str
    unit_bytes: int = 1
    bom: bytes = b""
    """The mark at the start of the file that is no part of the text."""
    newline: bytes = b"\n"
    how: str = "default"
    """How it was found: default, bom, named, utf-8 (the bytes are valid), plain (the pattern of NULs), detected."""
    confidence: float | None = None
    """How sure the guess is, from 0 to 1; None where nothing was guessed."""

    def count(self, block: bytes) -> int:
        """How many line feeds an aligned block holds."""
        if self.unit_bytes == 1:
            return _native.count(block)
        return block.decode(self.name, "replace").count("\n")

    def nth(self, block: bytes, n: int, start: int = 0) -> int:
        """The offset just behind the n-th line feed at or after `start` in an aligned block, or -1."""
        if self.unit_bytes == 1:
            return _native.nth(block, n, start)
        at = start
        for _ in range(n):
            at = self.find(block, at)
            if at < 0:
                return -1
            at += self.unit_bytes
        return at

    def find(self, block: bytes, start: int = 0) -> int:
        """The offset of the first line feed at or after `start`, or -1."""
        at = block.find(self.newline, start)
        while at >= 0 and at % self.unit_bytes:
            at = block.find(self.newline, at + 1)
        return at

    def rfind(self, block: bytes, end: int) -> int:
        """The offset of the last line feed that ends at or before `end`, or -1."""
        at = block.rfind(self.newline, 0, end)
        while at >= 0 and at % self.unit_bytes:
            at = block.rfind(self.newline, 0, at + self.unit_bytes - 1)
        return at

    def ends_line(self, block: bytes) -> bool:
        """Whether an aligned block ends with a line feed; a last unit that is cut in two is none."""
        return block.endswith(self.newline) and len(block) % self.unit_bytes == 0


UTF8 = Encoding("utf-8")
_UTF8_MARKED = Encoding("utf-8", 1, codecs.BOM_UTF8, b"\n", "bom")

# UTF-32 before UTF-16: its little-endian mark starts with UTF-16's.
_MARKS = (
    Encoding("utf-32-le", 4, codecs.BOM_UTF32_LE, b"\n\0\0\0", "bom"),
    Encoding("utf-32-be", 4, codecs.BOM_UTF32_BE, b"\0\0\0\n", "bom"),
    Encoding("utf-16-le", 2, codecs.BOM_UTF16_LE, b"\n\0", "bom"),
    Encoding("utf-16-be", 2, codecs.BOM_UTF16_BE, b"\0\n", "bom"),
)
_MARK_STARTS = frozenset([mark.bom[:1] for mark in _MARKS])
_WIDE = {mark.name: mark for mark in _MARKS}


def by_mark(head: bytes) -> Encoding | None:
    """The wide encoding that a byte order mark announces. A UTF-8 mark changes nothing: it is part of the text."""
    if head[:1] in _MARK_STARTS:
        for encoding in _MARKS:
            if head.startswith(encoding.bom):
                return encoding
    return None


def choose(rule: str, head: bytes, more: Callable[[int, int], bytes] | None = None) -> Encoding:
    """The encoding to read with.

    "utf-8" looks at nothing; "utf-8-sig" takes one UTF-8 mark off; "bom" honours the marks of the wide encodings.
    "auto" looks at the bytes (`more(offset, size)` gives those behind the head). Any other rule is the name of a codec
    that `checked` let pass and means what Python's codec of that name means: "utf-16" takes a mark off, "utf-16-le"
    does not.
    """
    if rule == "utf-8":
        return UTF8
    if rule == "utf-8-sig":
        return _UTF8_MARKED if head.startswith(codecs.BOM_UTF8) else UTF8
    if rule == "bom":
        return by_mark(head) or UTF8
    if rule == "auto":
        from eyespan.lines.detect import detect

        return detect(head, more) or UTF8
    if rule in ("utf-16", "utf-32"):
        marked = by_mark(head)
        if marked is not None and marked.name.startswith(rule):
            return marked
        rule += "-le"
    wide = _WIDE.get(rule)
    if wide is not None:
        return Encoding(wide.name, wide.unit_bytes, b"", wide.newline, "named")
    return Encoding(rule, how="named")


def plain_wide(sample: bytes) -> Encoding | None:
    """The wide encoding without a mark that these bytes must be, if their NULs leave no doubt.

    In plain text most units of UTF-16 or UTF-32 have a NUL, always at the same place, and no character is a control.
    """
    if b"\0" not in sample[:400]:
        return None
    for mark in _MARKS:
        unit = mark.unit_bytes
        usable = sample[: len(sample) - len(sample) % unit]
        if len(usable) < 2 * unit:
            continue
        low = 0 if mark.name.endswith("le") else unit - 1  # where the low byte of each unit lies
        if usable[low::unit].count(0) or usable[unit - 1 - low :: unit].count(0) * 4 < len(usable) // unit:
            continue
        try:
            text = usable.decode(mark.name)
        except UnicodeDecodeError as error:
            if error.end < len(usable):
                continue
            text = usable[: error.start].decode(mark.name)  # a pair that the end of the sample cut in two
        if not any(c < " " and c not in "\t\n\r\f\x1b" for c in set(text)):
            return Encoding(mark.name, unit, b"", mark.newline, "plain")
    return None


EXAMPLES = "utf-8, utf-16, cp1252, latin-1, shift_jis, gb18030, euc_kr, koi8-r"
_NOT_LINES = ("utf-7", "hz", "idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "charmap", "mbcs")


def checked(name: object) -> str | None:
    """The setting `encoding` in its one spelling: None, "auto", or the name of a codec in which lines can be found.

    Raises: ValueError.
    """
    if name is None or name == "auto":
        return name
    if not isinstance(name, str):
        raise ValueError(f'encoding must be None, "auto" or the name of an encoding ({EXAMPLES}), not {name!r}')
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        raise ValueError(f'no encoding {name!r}; there are "auto", {EXAMPLES} and others that Python has') from None
    known = info.name.replace("_", "-")
    module = getattr(info.incrementaldecoder, "__module__", "")
    if not getattr(info, "_is_text_encoding", True) or not module.startswith(("encodings.", "codecs")):
        raise ValueError(f"{name!r} is no encoding of text; use one such as {EXAMPLES}")
    if known in _WIDE or known in ("utf-16", "utf-32"):
        return known
    # EBCDIC has its line feed elsewhere; the others hide byte 0x0A in escapes, or write a line feed without it.
    if known in _NOT_LINES or known.startswith("iso2022") or b"\n".decode(known, "replace") != "\n":
        raise ValueError(
            f"{name!r} cannot be read by lines: byte 0x0A is not always, and only, a line feed in it; "
            f"use one such as {EXAMPLES}"
        )
    return known


_LOST = "\udfff"
"""What stands for bytes that are no character until they are counted; no decoder gives a lone surrogate itself."""
codecs.register_error("eyespan-lost", lambda error: (_LOST, error.end))  # type: ignore[attr-defined]  # of UnicodeError


class Transcoder:
    """Any encoding to UTF-8, a block at a time from the start of a line on; counts what could not be decoded.

    A line feed always ends a character: some decoders would take it into the ruins of the one before.
    """

    __slots__ = ("_decoder", "_encoding", "replaced")

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding.name)("eyespan-lost")
        self.replaced = 0

    def feed(self, block: bytes, final: bool = False) -> bytes:
        """The UTF-8 of an aligned block; `final` ends the text."""
        encoding, unit = self._encoding, self._encoding.unit_bytes
        first = encoding.find(block)
        if first < 0:
            return self._told(self._decoder.decode(block, final))
        last = encoding.rfind(block, len(block))
        pieces = [self._decoder.decode(block[:first], True), "\n", self._lines(block[first + unit : last + unit])]
        self._decoder.reset()
        pieces.append(self._decoder.decode(block[last + unit :], final))
        return self._told("".join(pieces))

    def _lines(self, lines: bytes) -> str:
        name = self._encoding.name
        try:
            return lines.decode(name)
        except UnicodeDecodeError:
            if self._encoding.unit_bytes > 1:
                return lines.decode(name, "eyespan-lost")
            return "\n".join([line.decode(name, "eyespan-lost") for line in lines.split(b"\n")])

    def _told(self, text: str) -> bytes:
        if _LOST in text:
            self.replaced += text.count(_LOST)
            text = text.replace(_LOST, "\ufffd")
        return text.encode("utf-8", "replace")


def transcode(data: bytes, encoding: Encoding) -> tuple[bytes, int]:
    """All of a text in UTF-8, and how many pieces of it could not be decoded."""
    transcoder = Transcoder(encoding)
    return transcoder.feed(data, final=True), transcoder.replaced


class CharCounter:
    """Counts the characters of a line of UTF-8 that is seen in pieces and kept by nobody."""

    __slots__ = ("_decoder", "_ends_in_cr", "chars")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ends_in_cr = False
        self.chars = 0

    def feed(self, piece: bytes, final: bool = False) -> None:
        text = self._decoder.decode(piece, final)
        if text:
            self.chars += len(text)
            self._ends_in_cr = text[-1] == "\r"

    def total(self, terminated: bool) -> int:
        """The characters of the line, its terminator not counted."""
        self.feed(b"", final=True)
        return self.chars - (terminated and self._ends_in_cr)
