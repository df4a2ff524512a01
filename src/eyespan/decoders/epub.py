"""E-books: the chapters in reading order as Markdown."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from eyespan.decoders import html, markdown
from eyespan.decoders.ooxml import Package, local

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

KIND = "epub"
CONTAINER = "META-INF/container.xml"


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The book as Markdown; without DRM only.

    Raises: Missing, Unreadable.
    """
    package = Package(file, KIND)
    book = ""

    def root(tag: str, attributes: dict[str, str]) -> None:
        nonlocal book
        if local(tag) == "rootfile" and not book:
            book = attributes.get("full-path", "")

    package.parse(CONTAINER, root)
    folder = posixpath.dirname(book)
    items: dict[str, str] = {}
    spine: list[str] = []
    about: dict[str, list[str]] = {"title": [], "creator": []}
    inside = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        inside = local(tag)
        if inside == "item":
            target = posixpath.normpath(posixpath.join(folder, unquote(attributes.get("href", ""))))
            items[attributes.get("id", "")] = target
        elif inside == "itemref":
            spine.append(attributes.get("idref", ""))

    def end(tag: str) -> None:
        nonlocal inside
        inside = ""

    def text(data: str) -> None:
        if inside in about and data.strip():
            about[inside].append(" ".join(data.split()))

    package.parse(book, start, end, text)
    chapters = [items[name] for name in spine if name in items and items[name] in package]
    if spine and not chapters:
        raise package.unreadable("none of its chapters is in it")
    if "META-INF/encryption.xml" in package and "META-INF/rights.xml" in package:
        raise package.unreadable("it is protected by DRM")
    facts: dict[str, Any] = {"chapters": len(chapters)}
    blocks: list[str] = []
    if about["title"]:
        facts["title"] = about["title"][0]
        by = f"\n\nby {', '.join(about['creator'])}" if about["creator"] else ""
        blocks.append(f"# {facts['title']}{by}")
    for chapter in chapters:
        blocks += html.convert(html.text_of(package.read(chapter)))[1]
    return facts, [markdown.finish(blocks)]
