"""Rich Text Format as Markdown text: paragraphs, tables, lists, links, notes and comments.

An RTF file is text with control words in ASCII. Letters beyond ASCII are bytes in the code page of their font, or
numbers of Unicode characters followed by a substitute for old programs.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.extras.documents.shared import markdown_pieces

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_GROUPS = 10_000
_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})"  # 1: a byte
    rb"|\\([a-zA-Z]{1,32})(-?\d{1,10})? ?"  # 2, 3: a control word and its number
    rb"|\\(.)"  # 4: a control sign
    rb"|([{}])"  # 5: the start or the end of a group
    rb"|[\r\n\0]+"
    rb"|([^\\{}\r\n\0]+)",  # 6: text
    re.DOTALL,
)
_DROPPED = frozenset(
    (
        *(b"fonttbl", b"colortbl", b"stylesheet", b"info", b"themedata", b"colorschememapping", b"datastore"),
        *(b"latentstyles", b"listtable", b"listoverridetable", b"rsidtbl", b"generator", b"xmlnstbl", b"filetbl"),
        *(b"revtbl", b"mmathPr", b"pntext", b"bkmkstart", b"bkmkend", b"nonshppict", b"objdata", b"blipuid", b"upr"),
        *(b"atrfstart", b"atrfend", b"atnid", b"atnref", b"atndate", b"atntime", b"pgptbl", b"listlevel", b"falt"),
    )
)
_KEPT = frozenset((b"shppict", b"annotation", b"footnote", b"fldinst", b"shpinst", b"shptxt", b"ud", b"atnauthor"))
"""Groups that old programs may skip, and that have text."""
_SIGNS = {
    b"par": "\n\n",
    b"sect": "\n\n",
    b"page": "\n\n",
    b"line": "\n",
    b"tab": "\t",
    b"emdash": "—",
    b"endash": "–",
    b"lquote": "‘",
    b"rquote": "’",
    b"ldblquote": "“",
    b"rdblquote": "”",
    b"bullet": "•",
    b"emspace": " ",
    b"enspace": " ",
    b"qmspace": " ",
    b"nestcell": " | ",
    b"nestrow": "\n",
}
_PAGES = {10000: "mac-roman", 65001: "utf-8", 20127: "ascii", 28591: "latin-1"}
_FONT_CHARSETS = {
    77: "mac-roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp437",
}
"""Encodings by the number of the character set of a font; 0 to 2 leave the encoding of the document."""
_LINK = re.compile(r'\s*HYPERLINK\s+(?:\\l\s+)?"?([^"\s]*)"?', re.IGNORECASE)
_BLANKS = re.compile(r"(?<![ \t])[ \t]++\n|\n[ \t]++(?=\n)")  # possessive: one attempt for each run of blanks

# In the sandbox no module can be imported.
for _name in {*_PAGES.values(), *_FONT_CHARSETS.values(), "cp850", "cp1252", "cp950", "cp936"}:
    codecs.lookup(_name)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the text to Markdown. Raises: Unreadable."""
    data = read_whole(file, MAX_FILE_BYTES)
    if not data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{\\rtf"):
        raise unreadable("not RTF, despite its name")
    return {}, [markdown_pieces.finish(_Reader().read(data).split("\n\n"))]


class _RtfGroup:
    """The state that a group restores at its end."""

    __slots__ = ("font", "is_dropped", "is_in_fonts", "kind", "skipped_chars", "start", "target")

    def __init__(
        self, *, is_dropped: bool = False, is_in_fonts: bool = False, font: bytes = b"", skipped_chars: int = 1
    ) -> None:
        self.is_dropped, self.is_in_fonts, self.font = is_dropped, is_in_fonts, font
        self.skipped_chars = skipped_chars
        """The length of the substitute after a Unicode character."""
        self.kind = b""
        self.start = 0
        """The place in the output where the group began."""
        self.target = ""
        """The target of the link that the field in the group is."""

    def inner(self, start: int) -> _RtfGroup:
        """Return a group in this one."""
        made = _RtfGroup(
            is_dropped=self.is_dropped, is_in_fonts=self.is_in_fonts, font=self.font, skipped_chars=self.skipped_chars
        )
        made.start = start
        return made


class _Reader:
    """One pass over a file."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._bytes = bytearray()
        self._page = "cp1252"
        self._fonts: dict[bytes, str] = {}
        self._font_number = b""
        self._group = _RtfGroup()
        self._stack: list[_RtfGroup] = []
        self._skip = 0
        self._is_optional = False
        self._row: list[str] | None = None
        self._cell_start = 0
        self._has_header = False
        self._author = ""
        self._pictures = 0

    def read(self, data: bytes) -> str:
        for match in _TOKEN.finditer(data):
            digits, word, number, sign, brace, plain = match.groups()
            if digits is None:
                self._flush()
            if brace == b"{":
                self._open_group()
            elif brace == b"}":
                self._close_group()
            elif digits is not None:
                if self._skip:
                    self._skip -= 1
                elif not self._group.is_dropped:
                    self._bytes.append(int(digits, 16))
            elif word is not None:
                if word == b"bin":
                    continue
                self._control(word, int(number) if number else None)
            elif sign is not None:
                self._sign(sign)
            elif plain is not None:
                self._add_text(plain)
        self._flush()
        while self._stack:
            self._close_group()
        if self._pictures:
            self._out.append(f"\n\n[{self._pictures} images are left out]\n")
        text = "".join(self._out)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs are written as two numbers
        return _BLANKS.sub("\n", text)

    # --- groups ------------------------------------------------------------------------------------------------------

    def _open_group(self) -> None:
        if len(self._stack) >= MAX_GROUPS:
            raise unreadable("it is nested too deeply")
        self._stack.append(self._group)
        self._group = self._group.inner(len(self._out))
        self._is_optional = False

    def _close_group(self) -> None:
        group = self._group
        if not self._stack:
            return
        self._group = self._stack.pop()
        if not group.kind or (group.is_dropped and group.kind != b"fldinst"):
            return
        text = "".join(self._out[group.start :])
        if group.kind == b"fldinst":
            del self._out[group.start :]
            match = _LINK.match(text)
            self._group.target = match[1] if match else ""
        elif group.kind == b"fldrslt" and self._group.target and text.strip() and text.strip() != self._group.target:
            self._out[group.start :] = [f"[{text.strip()}]({self._group.target})"]
        elif group.kind in (b"footnote", b"annotation"):
            noun = "note" if group.kind == b"footnote" else f"comment{' by ' + self._author if self._author else ''}"
            self._out[group.start :] = [f" [{noun}: {' '.join(text.split())}] "] if text.strip() else []
            self._author = ""
        elif group.kind == b"atnauthor":
            self._author = " ".join(text.split())
            del self._out[group.start :]

    # --- control words -----------------------------------------------------------------------------------------------

    def _control(self, word: bytes, number: int | None) -> None:
        group = self._group
        if word == b"fonttbl":
            group.is_in_fonts = True
        if group.is_in_fonts:
            self._font_table(word, number)
        is_optional, self._is_optional = self._is_optional, False
        if word == b"pict":
            self._pictures += not group.is_dropped
            group.is_dropped = True
        elif word in _DROPPED or (is_optional and word not in _KEPT):
            group.is_dropped = True
        if word in (b"fldinst", b"fldrslt", b"footnote", b"annotation", b"atnauthor"):
            group.kind = word
        if word == b"ansicpg":
            self._page = _PAGES.get(number or 0) or _known_page(f"cp{number}") or self._page
        elif word == b"uc":
            group.skipped_chars = max(0, min(number if number is not None else 1, 100))
        elif word == b"f":
            group.font = b"%d" % (number or 0)
        elif word == b"ud":
            group.is_dropped = False
        elif not group.is_dropped:
            self._shown_control(word, number)

    def _shown_control(self, word: bytes, number: int | None) -> None:
        if word == b"u" and number is not None:
            self._out.append(chr(number % 65536))
            self._skip = self._group.skipped_chars
        elif word == b"trowd":
            if self._row is None:
                self._row = []
                self._cell_start = len(self._out)
        elif word == b"cell":
            if self._row is None:
                self._row = []
            text = "".join(self._out[self._cell_start :])
            del self._out[self._cell_start :]
            self._row.append(" ".join(text.split()))
        elif word == b"row":
            self._end_row()
        elif word in _SIGNS:
            self._out.append(_SIGNS[word])
        elif word == b"pard" and self._row is None:
            self._cell_start = len(self._out)
        if word in (b"par", b"sect", b"page") and self._row is None:
            self._cell_start = len(self._out)
            self._has_header = False

    def _end_row(self) -> None:
        row = self._row or []
        if not self._has_header:
            self._out.append("\n\n")
        self._out.append("| " + " | ".join([markdown_pieces.cell(text) for text in row]) + " |\n")
        if not self._has_header:
            self._out.append("|" + " --- |" * len(row) + "\n")
        self._has_header = True
        self._row = None
        self._cell_start = len(self._out)

    def _font_table(self, word: bytes, number: int | None) -> None:
        if word == b"f":
            self._font_number = b"%d" % (number or 0)
        elif word == b"fcharset" and number in _FONT_CHARSETS:
            self._fonts[self._font_number] = _FONT_CHARSETS[number]

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._is_optional = True
        elif self._group.is_dropped:
            return
        elif sign in b"\\{}":
            self._add_text(sign)
        elif sign == b"~":
            self._out.append("\u00a0")
        elif sign == b"_":
            self._out.append("-")
        elif sign in b"\r\n":
            self._out.append("\n\n")

    # --- text --------------------------------------------------------------------------------------------------------

    def _add_text(self, plain: bytes) -> None:
        if self._skip:
            plain, self._skip = plain[self._skip :], max(0, self._skip - len(plain))
        if not self._group.is_dropped and plain:
            self._is_optional = False
            self._bytes += plain
            self._flush()

    def _flush(self) -> None:
        if self._bytes:
            page = self._fonts.get(self._group.font) or self._page
            self._out.append(bytes(self._bytes).decode(page, "replace"))
            self._bytes.clear()


def _known_page(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:  # or a codec that is not loaded
        return ""
