"""Encodings of text: the codec, the width of its units and the bytes of a line feed.

A line ends at U+000A and nowhere else. In UTF-8 and in every code page that may be named, byte 0x0A is never part of
another character, so lines are found in the raw bytes; in UTF-16 and UTF-32 a line feed is one aligned unit. Encodings
without this property (EBCDIC, UTF-7, ISO-2022...) are refused when a tool is made; a file that is detected to be in one
is decoded whole.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from sys import getsizeof
from typing import TYPE_CHECKING

from eyespan import _native

if TYPE_CHECKING:
    from eyespan.lines.detect import Ask


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec by its Python name, with the properties that finding lines needs."""

    name: str
    unit_bytes: int = 1
    bom: bytes = b""
    """The byte order mark at the start of the file, which is not part of the text."""
    newline: bytes = b"\n"
    how: str = "default"
    """The way it was found: default, bom, named, utf-8 (the bytes are valid), plain (the pattern of NULs), declared,
    escapes (the sequences that switch alphabets), detected."""
    confidence: float | None = None
    """The probability of a guess, from 0 to 1; None if nothing was guessed."""
    has_lines: bool = True
    """Lines can be found in its bytes; a text in another encoding is decoded whole."""

    def count(self, block: bytes, start: int = 0, end: int | None = None) -> int:
        """Return the number of line feeds in an aligned block, or in an aligned part of it."""
        if self.unit_bytes == 1:
            return _native.count(block, start, end)
        return block[start:end].decode(self.name, "replace").count("\n")

    def nth(self, block: bytes, n: int, start: int = 0) -> int:
        """Return the offset just after the n-th line feed from `start` on in an aligned block, or -1."""
        if self.unit_bytes == 1 and n:
            return _native.nth(block, n, start)
        at = start
        for _ in range(n):
            at = self.find(block, at)
            if at < 0:
                return -1
            at += self.unit_bytes
        return at

    def find(self, block: bytes, start: int = 0) -> int:
        """Return the offset of the first line feed from `start` on, or -1."""
        at = block.find(self.newline, start)
        while at >= 0 and at % self.unit_bytes:
            at = block.find(self.newline, at + 1)
        return at

    def rfind(self, block: bytes, end: int) -> int:
        """Return the offset of the last line feed that ends at or before `end`, or -1."""
        at = block.rfind(self.newline, 0, end)
        while at >= 0 and at % self.unit_bytes:
            at = block.rfind(self.newline, 0, at + self.unit_bytes - 1)
        return at

    def ends_line(self, block: bytes) -> bool:
        """Return True if an aligned block ends with a line feed; an incomplete last unit is none."""
        return block.endswith(self.newline) and len(block) % self.unit_bytes == 0


READ_BYTES = {1: 7, 2: 13, 4: 25}
"""The memory of a character that is read by characters: as text, encoded, in rows, and in the answer made of them.
The widest character of a text decides how many bytes every other one takes."""


def char_width(text: str) -> int:
    """Return the bytes that Python takes for each character of a text: those of its widest one."""
    if text.isascii():
        return 1
    if len(text) > 1000:
        return min(4, getsizeof(text) // len(text))  # 1, 2 or 4, and a little for the object
    widest = ord(max(text))
    return 1 if widest < 0x100 else 2 if widest < 0x10000 else 4


UNSURE = 0.5
"""The confidence of a guess that is as likely wrong as right."""
UTF8 = Encoding("utf-8")
_UTF8_WITH_BOM = Encoding("utf-8", bom=codecs.BOM_UTF8, how="bom")

# UTF-32 before UTF-16: the BOM of UTF-32-LE starts with that of UTF-16-LE.
_WIDE_WITH_BOM = (
    Encoding("utf-32-le", unit_bytes=4, bom=codecs.BOM_UTF32_LE, newline=b"\n\0\0\0", how="bom"),
    Encoding("utf-32-be", unit_bytes=4, bom=codecs.BOM_UTF32_BE, newline=b"\0\0\0\n", how="bom"),
    Encoding("utf-16-le", unit_bytes=2, bom=codecs.BOM_UTF16_LE, newline=b"\n\0", how="bom"),
    Encoding("utf-16-be", unit_bytes=2, bom=codecs.BOM_UTF16_BE, newline=b"\0\n", how="bom"),
)
_FIRST_BYTES_OF_BOMS = frozenset([encoding.bom[:1] for encoding in _WIDE_WITH_BOM])
_WIDE = {encoding.name: encoding for encoding in _WIDE_WITH_BOM}


def by_bom(first_bytes: bytes) -> Encoding | None:
    """Return the wide encoding that a BOM announces. A UTF-8 BOM changes nothing: it is part of the text."""
    if first_bytes[:1] in _FIRST_BYTES_OF_BOMS:
        for encoding in _WIDE_WITH_BOM:
            if first_bytes.startswith(encoding.bom):
                return encoding
    return None


def choose(
    rule: str, first_bytes: bytes, read_more: Callable[[int, int], bytes] | None = None, ask: Ask | None = None
) -> Encoding:
    """Return the encoding to read with.

    "utf-8" looks at nothing; "utf-8-sig" removes one UTF-8 BOM; "bom" honours the BOMs of the wide encodings. "auto"
    looks at the bytes; `read_more(offset, size)` returns those after the first, and `ask` has the encoding of a sample
    guessed. Any other rule is a name returned by `canonical_name` and means the same as in Python: "utf-16" removes a
    BOM, "utf-16-le" does not.
    """
    if rule == "utf-8":
        return UTF8
    if rule == "utf-8-sig":
        return _UTF8_WITH_BOM if first_bytes.startswith(codecs.BOM_UTF8) else UTF8
    if rule == "bom":
        return by_bom(first_bytes) or UTF8
    if rule == "auto":
        from eyespan.lines.detect import detect

        return detect(first_bytes, read_more, ask) or UTF8
    if rule in ("utf-16", "utf-32"):
        with_bom = by_bom(first_bytes)
        if with_bom is not None and with_bom.name.startswith(rule):
            return with_bom
        rule += "-le"
    if rule in _WIDE:
        return replace(_WIDE[rule], bom=b"", how="named")
    return Encoding(rule, how="named")


def is_text_after_bom(first_bytes: bytes, encoding: Encoding) -> bool:
    """Return True if the bytes after a BOM are text. Data of other kinds can begin with the two bytes of a BOM, too."""
    sample = first_bytes[len(encoding.bom) : 4096]
    text = sample[: len(sample) - len(sample) % encoding.unit_bytes].decode(encoding.name, "replace")
    strange = sum([c < " " and c not in _TEXT_CONTROLS for c in text]) + text.count("\ufffd")
    if not text.isascii():
        strange += sum([unicodedata.category(c) in _UNASSIGNED for c in text])
    return strange * 50 <= len(text) and text.count("\0") * 200 <= len(text)


_UNASSIGNED = ("Cn", "Co", "Cs")
_TEXT_CONTROLS = "\t\n\r\f\x1b"


def wide_without_bom(sample: bytes) -> Encoding | None:
    """Return the wide encoding without a BOM that these bytes must have, if their NULs leave no doubt.

    In usual text most units of UTF-16 or UTF-32 have a NUL, always at the same place, and no character is a control. In
    other scripts only blanks and line ends have one; then nearly all letters must be of the same few alphabets.
    """
    if b"\0" not in sample[:400]:
        return None
    found, most = None, 0
    for encoding in _WIDE_WITH_BOM:
        unit_bytes = encoding.unit_bytes
        usable = sample[: len(sample) - len(sample) % unit_bytes]
        if len(usable) < 2 * unit_bytes:
            continue
        try:
            text = usable.decode(encoding.name)
        except UnicodeDecodeError as error:
            if error.end < len(usable):
                continue
            text = usable[: error.start].decode(encoding.name)  # the sample ends between two surrogates
        if any(c < " " and c not in _TEXT_CONTROLS for c in set(text)):
            continue
        # The other byte order makes other characters of a blank, a line feed and a full stop.
        narrow = sum([c <= "\x7f" for c in text])
        usual = narrow + sum(map(text.count, _CJK_SIGNS)) + (unit_bytes == 4)  # few bytes are valid UTF-32 by chance
        if usual > most and _is_of_few_scripts(text, is_narrow=narrow * 4 >= len(text)):
            found, most = replace(encoding, bom=b"", how="plain"), usual
    return found


_CJK_SIGNS = "，。、　！？：；「」・"
_CJK = (0x2E80, 0xD7FF)
"""Chinese, Japanese and Korean: one large range instead of a block each."""


def _is_of_few_scripts(text: str, is_narrow: bool) -> bool:
    """Return True if nine of ten characters are in three blocks of 256, and all of them are assigned.

    With `is_narrow`, many characters are ASCII, and the blocks need not be counted.
    """
    rare = {char for char in text if char > "\xff"}
    if any(unicodedata.category(char) in _UNASSIGNED for char in rare):
        return False
    if is_narrow:
        return True
    blocks: dict[int, int] = {}
    for char in text:
        code = ord(char)
        block = 0x30 if _CJK[0] <= code <= _CJK[1] else code >> 8
        blocks[block] = blocks.get(block, 0) + 1
    return sum(sorted(blocks.values())[-3:]) * 10 >= len(text) * 9


EXAMPLES = "utf-8, utf-16, cp1252, latin-1, shift_jis, gb18030, euc_kr, koi8-r"
_NOT_LINES = ("utf-7", "hz", "idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "charmap", "mbcs")


def canonical_name(name: object) -> str | None:
    """Return the canonical value of the setting `encoding`: None, "auto", or a codec in which lines can be found.

    Raises: ValueError.
    """
    if name is None or name == "auto":
        return name
    if not isinstance(name, str):
        raise ValueError(f'encoding must be None, "auto" or the name of an encoding ({EXAMPLES}), not {name!r}')
    from eyespan.lines.declared import codec

    known = codec(name)
    if known is None:
        raise ValueError(f'{name!r} is no text encoding that Python knows; use "auto" or one such as {EXAMPLES}')
    if known in _WIDE or known in ("utf-16", "utf-32"):
        return known
    # EBCDIC has another line feed; the others use byte 0x0A in escapes, or write a line feed without it.
    if known in _NOT_LINES or known.startswith("iso2022") or b"\n".decode(known, "replace") != "\n":
        raise ValueError(
            f"{name!r} cannot be read by lines, because byte 0x0A is not always, or not only, a line feed in it; "
            f"use one such as {EXAMPLES}"
        )
    return known


UNDECODED = "\udfff"
"""Stands for bytes that are no character until they are counted; no decoder returns a lone surrogate itself."""
codecs.register_error("eyespan-undecoded", lambda error: (UNDECODED, error.end))  # type: ignore[attr-defined]  # typeshed has Exception


class Transcoder:
    """Converts any encoding to UTF-8, a block at a time from the start of a line, and counts undecodable pieces.

    A line feed always ends a character; some decoders would include it in an invalid sequence before it.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding.name)("eyespan-undecoded")
        self.replaced = 0

    def feed(self, block: bytes, final: bool = False) -> bytes:
        """Return the UTF-8 of an aligned block; `final` ends the text."""
        text = self.decode(block, final)
        if UNDECODED in text:
            self.replaced += text.count(UNDECODED)
            text = text.replace(UNDECODED, "\ufffd")
        return text.encode("utf-8", "replace")

    def decode(self, block: bytes, final: bool = False) -> str:
        """Return the text of an aligned block with `UNDECODED` for each undecodable piece, which is not counted."""
        encoding, unit_bytes = self._encoding, self._encoding.unit_bytes
        first = encoding.find(block)
        if first < 0:
            return self._decoder.decode(block, final)
        last = encoding.rfind(block, len(block))
        pieces = [
            self._decoder.decode(block[:first], True),
            "\n",
            self._decoded_lines(block[first + unit_bytes : last + unit_bytes]),
        ]
        self._decoder.reset()
        pieces.append(self._decoder.decode(block[last + unit_bytes :], final))
        return "".join(pieces)

    def _decoded_lines(self, lines: bytes) -> str:
        """Decode whole lines."""
        name = self._encoding.name
        try:
            return lines.decode(name)
        except UnicodeDecodeError:
            if self._encoding.unit_bytes > 1:
                return lines.decode(name, "eyespan-undecoded")
            return "\n".join([line.decode(name, "eyespan-undecoded") for line in lines.split(b"\n")])


_COUNTED_BYTES = 1 << 16


class CharCounter:
    """Counts the characters of a line of UTF-8 that arrives in pieces and is not stored."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ends_in_cr = False
        self.chars = 0

    def feed(self, piece: bytes, final: bool = False) -> None:
        """Count the characters of the next piece; `final` ends the line."""
        for at in range(0, len(piece) or 1, _COUNTED_BYTES):  # a text takes up to four times the memory of its bytes
            text = self._decoder.decode(piece[at : at + _COUNTED_BYTES], final)
            if text:
                self.chars += len(text)
                self._ends_in_cr = text[-1] == "\r"

    def total(self, has_newline: bool) -> int:
        """End the line and return its characters, without its terminator."""
        self.feed(b"", final=True)
        return self.chars - (has_newline and self._ends_in_cr)
