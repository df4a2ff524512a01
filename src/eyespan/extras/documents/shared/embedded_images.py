"""Images in office files: a line for each, with its description, its selector and its size.

The images themselves are members of the package: the selector of one (`deck.pptx!/ppt/media/image1.png`) shows it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from PIL import Image

from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import NAMES, attributes

Image.preinit()  # the sandbox allows no import
Image.MAX_IMAGE_PIXELS = None  # only headers are read
_HEADER_BYTES = 64 * 1024
"""The first bytes that are unpacked for the size of an image."""
_FORMATS = ("PNG", "JPEG", "GIF", "BMP")
_BLIPS = frozenset(("a:blip", "imagedata"))


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
                target = relations.get(_reference(child), ("", ""))[1]
        return [self.line(target, description)] if target or description else []

    def blip_line(self, element: Element, relations: Mapping[str, tuple[str, str]], description: str = "") -> str:
        """Return the line of an image by the element that refers to its part; "" if it names none."""
        target = relations.get(_reference(element), ("", ""))[1]
        return self.line(target, description) if target else ""

    def selector(self, target: str) -> str:
        """Return the selector of a part, or the address of a file elsewhere."""
        return f"{self._name}!/{target}" if target in self._package else target

    def line(self, target: str, description: str = "") -> str:
        """Return the line of an image in a part, or elsewhere if there is no such part."""
        alt = " ".join(description.split())
        if target not in self._package:
            return f"![{alt}]({target})" if target else f"![{alt}]"
        self.shown.add(target.lower())
        return f"![{alt}]({self.selector(target)}) ({self._size(target)})"

    def _size(self, target: str) -> str:
        try:
            with Image.open(io.BytesIO(self._package.read_start(target, _HEADER_BYTES)), formats=_FORMATS) as image:
                return f"{image.width}x{image.height}"
        except (OSError, ValueError, SyntaxError, struct.error):  # another format, or damaged
            return f"{self._package.size_of(target)} bytes"


def _reference(element: Element) -> str:
    facts = attributes(element)
    return facts.get("r:embed") or facts.get("r:id") or facts.get("r:link") or facts.get("r:pict") or ""


def other_lines(package: Package, images: Images, directory: str) -> list[str]:
    """Return a line for each part of a document that is not text: embedded files, media without a place, macros."""
    lines = []
    data_of_charts = _chart_data(package, directory)
    for part in package.names(f"{directory}/embeddings/"):
        if not part.endswith("/") and part.lower() not in data_of_charts:
            lines.append(f"[embedded file: {images.selector(part)}]")
    for part in package.names(f"{directory}/media/"):
        if not part.endswith("/") and part.lower() not in images.shown:
            lines.append(f"[media without a place in the text: {images.selector(part)}]")
    if package.names(f"{directory}/vbaproject.bin"):
        lines.append("[macros are left out]")
    return lines


def _chart_data(package: Package, directory: str) -> set[str]:
    """Return the workbooks that hold the numbers of charts, which the charts hold too."""
    targets = set()
    for part in package.names(f"{directory}/charts/"):
        if part.endswith(".xml"):
            targets |= {target.lower() for kind, target in package.relations(part).values() if kind == "package"}
    return targets
