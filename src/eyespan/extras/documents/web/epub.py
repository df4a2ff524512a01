"""E-books as Markdown: the chapters in reading order."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, BinaryIO
from urllib.parse import unquote

from eyespan.decoders.files import unreadable
from eyespan.escape import plural
from eyespan.extras.documents.shared import markdown_pieces
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import local_name
from eyespan.extras.documents.web import html

CONTAINER = "META-INF/container.xml"


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the book to Markdown. Books with DRM are refused. Raises: Missing, Unreadable."""
    package = Package(file)
    roots = [
        element.get("full-path") for element in package.parse(CONTAINER).iter() if local_name(element) == "rootfile"
    ]
    book = next(filter(None, roots), "")
    directory = posixpath.dirname(book)
    items: dict[str, str] = {}
    spine: list[str] = []
    about: dict[str, list[str]] = {"title": [], "creator": []}
    for element in package.parse(book).iter():
        name = local_name(element)
        if name == "item":
            target = posixpath.join(directory, unquote(element.get("href", "")))
            items[element.get("id", "")] = posixpath.normpath(target)
        elif name == "itemref":
            spine.append(element.get("idref", ""))
        elif name in about and (text := " ".join((element.text or "").split())):
            about[name].append(text)
    # A book names each chapter once; one that repeats a chapter would be converted for as long as the job may run.
    chapters = list(dict.fromkeys([items[name] for name in spine if name in items and items[name] in package]))
    if spine and not chapters:
        raise unreadable("all of its chapters are missing")
    if "META-INF/encryption.xml" in package and "META-INF/rights.xml" in package:
        raise unreadable("it is protected by DRM")
    facts: dict[str, Any] = {"chapters": len(chapters)}
    blocks: list[str] = []
    if about["title"]:
        facts["title"] = about["title"][0]
        by = f"\n\nby {', '.join(about['creator'])}" if about["creator"] else ""
        blocks.append(f"# {facts['title']}{by}")
    for chapter in chapters:
        blocks += html.convert(html.decode_text(package.read(chapter)))[1]
    missing = len([name for name in dict.fromkeys(spine) if items.get(name, "") not in package])
    if missing:
        blocks.append(f"[{plural(missing, 'chapter')} missing in the file]")
    return facts, [markdown_pieces.finish(blocks)]
