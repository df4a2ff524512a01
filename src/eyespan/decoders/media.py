"""Images in office files: a line for each, with its description, its selector and its size.

The images themselves are members of the package: the selector of one (`deck.pptx!/ppt/media/image1.png`) shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.decoders.xml_tree import NAMES, attributes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from xml.etree.ElementTree import Element

    from eyespan.decoders.ooxml import Package

_HEADER_BYTES = 64 * 1024
_BLIPS = frozenset(("a:blip", "v:imagedata"))


class Images:
    """The images of one package, as lines of Markdown."""

    def __init__(self, package: Package, params: Mapping[str, Any]) -> None:
        self._package = package
        self._name = str(params.get("name", ""))
        self.shown: set[str] = set()
        """The parts that have a line."""

    def lines(self, element: Element, relations: Mapping[str, tuple[str, str]], description: str = "") -> list[str]:
        """Return the line of an image: of an element that names a part, and that may hold its description."""
        target = ""
        for child in element.iter():
            if NAMES[child.tag] in ("a:cNvPr", "p:cNvPr", "a:docPr"):
                description = description or child.get("descr", "") or child.get("title", "")
            if NAMES[child.tag] in _BLIPS and not target:
                facts = attributes(child)
                reference = facts.get("r:embed") or facts.get("r:id") or facts.get("r:link") or ""
                target = relations.get(reference, ("", ""))[1]
        return [self.line(target, description)] if target or description else []

    def line(self, target: str, description: str = "") -> str:
        """Return the line of an image in a part, or elsewhere if there is no such part."""
        alt = " ".join(description.split())
        if target not in self._package:
            return f"![{alt}]({target})" if target else f"![{alt}]"
        self.shown.add(target.lower())
        return f"![{alt}]({self._name}!/{target}) ({self._size(target)})"

    def _size(self, target: str) -> str:
        pixels = image_size(self._package.read_start(target, _HEADER_BYTES))
        return f"{pixels[0]}x{pixels[1]}" if pixels else f"{self._package.size_of(target)} bytes"


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of an image by its first bytes; None for other formats and cut headers."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data[:4] == b"GIF8" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[:2] == b"BM" and len(data) >= 26:
        return int.from_bytes(data[18:22], "little"), abs(int.from_bytes(data[22:26], "little", signed=True))
    return _jpeg_size(data) if data[:2] == b"\xff\xd8" else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        code = data[at + 1]
        if code == 0xFF:  # padding
            at += 1
        elif 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        elif code == 0x01 or 0xD0 <= code <= 0xD8:
            at += 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
