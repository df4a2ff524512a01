"""Outlook messages (msg) as Markdown: the main headers, the text and a list of attachments, like a mail.

The text is the plain one, else the HTML, else the compressed RTF. Attached messages follow with their own text.
"""

from __future__ import annotations

import codecs
import datetime
import re
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import unreadable
from eyespan.extras.documents.office import rtf
from eyespan.extras.documents.shared import markdown_pieces
from eyespan.extras.documents.shared.ole import Container, read_file
from eyespan.extras.documents.web import html

MAX_NESTED = 3
MAX_ATTACHMENTS = 500
MAX_RTF_BYTES = 32 * 1024 * 1024
_SUBJECT, _SENDER, _SENDER_ADDRESS, _SENDER_MAIL = "0037", "0c1a", "0c1f", "5d01"
_TO, _CC, _BCC, _HEADERS, _BODY, _HTML, _RTF = "0e04", "0e03", "0e02", "007d", "1000", "1013", "1009"
_LONG_NAME, _SHORT_NAME, _TYPE, _ATTACHED = "3707", "3704", "370e", "3701"
_SENT, _DELIVERED, _PAGES = 0x00390040, 0x0E060040, (0x3FFD0003, 0x3FDE0003)
_DATE = re.compile(r"^Date: *(.*)$", re.MULTILINE)
_PAGE_NAMES = {
    65001: "utf-8",
    20127: "ascii",
    28591: "latin-1",
    28592: "iso8859-2",
    50220: "iso2022-jp",
    1200: "utf-16-le",
}
_RTF_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n"
    b"\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
"""The dictionary that compressed RTF starts with, as the format defines it."""

for _name in (*_PAGE_NAMES.values(), *(f"cp{page}" for page in (874, 932, 936, 949, 950, *range(1250, 1259)))):
    codecs.lookup(_name)  # the sandbox allows no import


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the message to Markdown. Raises: Missing, Unreadable."""
    container = Container(read_file(file))
    if "__properties_version1.0" not in container:
        raise unreadable("not an Outlook message")
    message = _Message(container, "")
    return {"attachments": message.attachments}, [markdown_pieces.finish(message.blocks())]


class _Message:
    """One message in a container: the file itself, or one that is attached."""

    def __init__(self, container: Container, place: str, depth: int = 0) -> None:
        self._container = container
        self._place = place
        self._depth = depth
        self.attachments = 0
        self._page = "cp1252"
        self._numbers: dict[int, bytes] = {}
        self._read_properties()

    def _read_properties(self) -> None:
        """Read the properties of fixed size: the code page and the dates."""
        name = f"{self._place}__properties_version1.0"
        data = self._container.read(name) if name in self._container else b""
        start = 24 if self._place else 32
        for at in range(start, len(data) - 15, 16):
            self._numbers[struct.unpack_from("<I", data, at)[0]] = data[at + 8 : at + 16]
        for tag in _PAGES:
            if tag in self._numbers:
                page = int.from_bytes(self._numbers[tag][:4], "little")
                self._page = _known_page(_PAGE_NAMES.get(page, f"cp{page}")) or self._page

    def _property_text(self, name: str, place: str = "") -> str:
        """Return a property that is text, as Unicode or in the code page of the message."""
        prefix = f"{self._place}{place}__substg1.0_{name}"
        for suffix, encoding in (("001f", "utf-16-le"), ("001e", self._page)):
            if prefix + suffix in self._container:
                return self._container.read(prefix + suffix).decode(encoding, "replace").rstrip("\0")
        return ""

    def _bytes(self, name: str) -> bytes:
        path = f"{self._place}__substg1.0_{name}0102"
        return self._container.read(path) if path in self._container else b""

    def blocks(self) -> list[str]:
        """Return the headers, the text and the attachments."""
        sender = _address(
            self._property_text(_SENDER), self._property_text(_SENDER_MAIL) or self._property_text(_SENDER_ADDRESS)
        )
        fields = {
            "From": sender,
            "To": self._property_text(_TO),
            "Cc": self._property_text(_CC),
            "Bcc": self._property_text(_BCC),
            "Date": self._date(),
            "Subject": self._property_text(_SUBJECT),
        }
        headers = [f"{name}: {' '.join(value.split())}" for name, value in fields.items() if value.strip()]
        return ["\n".join(headers), *self._body(), *self._attachment_blocks()]

    def _date(self) -> str:
        match = _DATE.search(self._property_text(_HEADERS))
        if match:
            return match[1]
        for tag in (_SENT, _DELIVERED):
            ticks = int.from_bytes(self._numbers.get(tag, b""), "little")  # of 100 nanoseconds since 1601
            if ticks:
                try:
                    moment = datetime.datetime(1601, 1, 1) + datetime.timedelta(microseconds=ticks // 10)
                except OverflowError:
                    continue
                return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
        return ""

    def _body(self) -> list[str]:
        text = self._property_text(_BODY)
        if text.strip():
            return [text.replace("\r\n", "\n")]
        page = self._bytes(_HTML) or self._property_text(_HTML).encode("utf-8", "replace")
        if page:
            return html.convert(html.decode_text(page, self._page))[1]
        packed = self._bytes(_RTF)
        return rtf.text_of(unpacked_rtf(packed)).split("\n\n") if packed else []

    def _attachment_blocks(self) -> list[str]:
        prefix = f"{self._place}__attach_version1.0_#"
        places = sorted({name[: len(prefix) + 9] for name in self._container.names() if name.startswith(prefix)})
        lines, inner = [], []
        for place in places[:MAX_ATTACHMENTS]:
            local = place[len(self._place) :]
            name = self._property_text(_LONG_NAME, local) or self._property_text(_SHORT_NAME, local) or "unnamed"
            data = f"{place}__substg1.0_{_ATTACHED}0102"
            nested = f"{place}__substg1.0_{_ATTACHED}000d/"
            facts = [self._property_text(_TYPE, local)] if self._property_text(_TYPE, local) else []
            if data in self._container:
                facts.append(f"{len(self._container.read(data))} bytes")
            elif f"{nested}__properties_version1.0" in self._container and self._depth < MAX_NESTED:
                facts.append("a message, below")
                inner += ["---", *_Message(self._container, nested, self._depth + 1).blocks()]
            lines.append(f"- {' '.join(name.split())}" + (f" ({', '.join(facts)})" if facts else ""))
        self.attachments = len(places)
        if len(places) > MAX_ATTACHMENTS:
            lines.append(f"- {len(places) - MAX_ATTACHMENTS} more attachments")
        return ["Attachments:", "\n".join(lines), *inner] if lines else []


def _address(name: str, address: str) -> str:
    name, address = name.strip(), address.strip()
    if not address or address == name or address.startswith("/"):  # an address within one Exchange server
        return name
    return f"{name} <{address}>" if name else address


def _known_page(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:  # or a codec that is not loaded
        return ""


def unpacked_rtf(data: bytes) -> bytes:
    """Return the RTF of a message, which is compressed with references into the 4096 bytes before."""
    if data[8:12] != b"LZFu":
        return data[16:]
    out = bytearray(_RTF_START)
    size = min(int.from_bytes(data[4:8], "little"), MAX_RTF_BYTES) + len(_RTF_START)
    at = 16
    while at < len(data) and len(out) < size:
        flags = data[at]
        at += 1
        for bit in range(8):
            if at >= len(data) or len(out) >= size:
                break
            if not flags >> bit & 1:
                out.append(data[at])
                at += 1
                continue
            if at + 2 > len(data):
                at = len(data)
                break
            token = data[at] << 8 | data[at + 1]
            at += 2
            offset, length = token >> 4, (token & 15) + 2
            if offset == len(out) & 4095:  # the sign for the end
                at = len(data)
                break
            place = (len(out) & ~4095) + offset
            if place >= len(out):
                place -= 4096
            for _ in range(length):
                out.append(out[place] if 0 <= place < len(out) else 32)
                place += 1
    return bytes(out[len(_RTF_START) : size])
