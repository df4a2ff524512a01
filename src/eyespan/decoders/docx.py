"""Word documents: headings, lists, tables, links, notes and comments as Markdown.

Text that was deleted under tracked changes is left out, text that was inserted is in; headers and footers are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eyespan.decoders import markdown
from eyespan.decoders.ooxml import Package, rehearse_relations, rehearse_xml
from eyespan.decoders.scan import Tags

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

KIND = "docx"
BODY = "word/document.xml"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_TOLD = (
    *("w:p", "w:pStyle", "w:outlineLvl", "w:ilvl", "w:numId", "w:tab", "w:br", "w:cr", "w:noBreakHyphen"),
    *("w:hyperlink", "w:footnoteReference", "w:endnoteReference", "w:commentReference", "a:docPr descr"),
    *("w:tbl", "w:tr", "w:tc", "w:gridSpan"),
)
_ENDED = ("w:p", "w:hyperlink", "w:tc", "w:tbl")
_TEXTS = ("w:t", "m:t")
_SKIPPED = ("w:del", "w:moveFrom", "mc:Fallback", "w:instrText", "w:sectPr", "w:rPrChange", "w:pPrChange")
_TAGS = Tags(_TOLD, _ENDED, _TEXTS, _SKIPPED)

ASIDES = (
    ("footnotes", "w:footnote", "^"),
    ("endnotes", "w:endnote", "^e"),
    ("comments", "w:comment", "comment "),
)
"""What hangs on a place in the text: the part it is in, the element that holds one, the mark at the place."""


def rehearse() -> None:
    """Makes ready, once for all jobs, what takes its time."""
    drawing = f"{DRAWING}/wordprocessingDrawing"
    for bound in ({}, {"wp": drawing}, {"wp": drawing, "a": f"{DRAWING}/main", "pic": f"{DRAWING}/picture"}):
        rehearse_xml(_TAGS, bound)
    rehearse_relations()


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The document as Markdown.

    Raises: Unreadable.
    """
    package = Package(file, KIND)
    body = BODY
    for kind, target in package.relations("").values():
        if kind == "officeDocument":
            body = target
    folder = body.rpartition("/")[0]
    styles, numbering = Styles(package, f"{folder}/styles.xml"), Numbering(package, f"{folder}/numbering.xml")
    relations = package.relations(body)
    story = Story(package, body, styles, numbering, relations)
    blocks = story.blocks
    asides: list[str] = []
    for leaf, item, mark in ASIDES:
        part = next((target for kind, target in relations.values() if kind == leaf), f"{folder}/{leaf}.xml")
        if part in package:
            asides += _asides(package, part, styles, numbering, item, mark)
    if asides:
        blocks = [*blocks, "---", "\n".join(asides)]
    return {"paragraphs": story.paragraphs, "tables": story.tables}, [markdown.finish(blocks)]


def _asides(package: Package, part: str, styles: Styles, numbering: Numbering, item: str, mark: str) -> list[str]:
    """Foot- and endnotes or comments, one line each."""
    story = Story(package, part, styles, numbering, package.relations(part), item)
    lines = []
    for attributes, blocks in story.items:
        if attributes.get("type", "normal") != "normal":  # the lines that separate notes from the text
            continue
        text = " ".join(" ".join(blocks).split())
        author = attributes.get("author")
        lines.append(f"[{mark}{attributes.get('id', '')}]: " + (f"{author}: {text}" if author else text))
    return lines


class Styles:
    """What a paragraph's style says of it: the level of a heading, or the list it belongs to."""

    def __init__(self, package: Package, part: str) -> None:
        self._own: dict[str, dict[str, str]] = {}
        self._levels: dict[str, int] = {}
        if part not in package:
            return
        style: dict[str, str] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal style
            if tag == "w:style":
                style = self._own.setdefault(attributes.get("styleId", ""), {})
            elif tag in ("w:name", "w:basedOn", "w:outlineLvl", "w:numId", "w:ilvl"):
                style.setdefault(tag, attributes.get("val", ""))

        package.parse(part, start)

    def find(self, style: str, wanted: str) -> str | None:
        """A property of the style or of those it is based on."""
        for _ in range(20):  # a chain that goes round in circles ends as well
            own = self._own.get(style)
            if own is None:
                return None
            if wanted in own:
                return own[wanted]
            style = own.get("w:basedOn", "")
        return None

    def heading(self, style: str) -> int:
        """The level from 1; 0 for plain text."""
        if style not in self._levels:
            self._levels[style] = self._level(style)
        return self._levels[style]

    def _level(self, style: str) -> int:
        for _ in range(20):
            own = self._own.get(style, {})
            name = own.get("w:name", "") if own else style
            found = _HEADING.fullmatch(name)
            if found:
                return int(found[1])
            if name.lower() == "title":
                return 1
            level = own.get("w:outlineLvl", "")
            if level.isdecimal() and int(level) < 9:
                return int(level) + 1
            style = own.get("w:basedOn", "")
            if not style:
                return 0
        return 0


class Numbering:
    """Which lists are numbered and which have bullets."""

    def __init__(self, package: Package, part: str) -> None:
        self._formats: dict[tuple[str, str], str] = {}
        self._abstract: dict[str, str] = {}
        self._counts: dict[str, list[int]] = {}
        if part not in package:
            return
        abstract = level = number = ""

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal abstract, level, number
            if tag == "w:abstractNum":
                abstract = attributes.get("abstractNumId", "")
            elif tag == "w:lvl":
                level = attributes.get("ilvl", "0")
            elif tag == "w:numFmt":
                self._formats.setdefault((abstract, level), attributes.get("val", ""))
            elif tag == "w:num":
                number = attributes.get("numId", "")
            elif tag == "w:abstractNumId":
                self._abstract[number] = attributes.get("val", "")

        package.parse(part, start)

    def mark(self, number: str, level: int) -> str:
        """What stands in front of the next item of this list: `-`, or its number; "" if the list has no marks."""
        style = self._formats.get((self._abstract.get(number, ""), str(level)), "bullet")
        if style == "none":
            return ""
        counts = self._counts.setdefault(number, [])
        del counts[level + 1 :]
        counts += [0] * (level + 1 - len(counts))
        counts[level] += 1
        return "-" if style == "bullet" else f"{counts[level]}."


class Story:
    """One part of a document read from top to bottom: its blocks in `blocks`, or in `items`, one for each `item`."""

    def __init__(
        self,
        package: Package,
        part: str,
        styles: Styles,
        numbering: Numbering,
        relations: Mapping[str, tuple[str, str]],
        item: str = "",
    ) -> None:
        self.blocks: list[str] = []
        self.items: list[tuple[dict[str, str], list[str]]] = []
        self.paragraphs = self.tables = 0
        self._styles, self._numbering, self._relations, self._item = styles, numbering, relations, item
        self._runs: list[str] = []
        self._outer: list[tuple[list[str], dict[str, str]]] = []
        self._paragraph: dict[str, str] = {}
        self._links: list[tuple[int, str]] = []
        self._rows: list[list[list[str]]] = []
        """Of the tables that are open, the innermost last: rows of cells."""
        self._cells: list[list[str]] = []
        """The paragraphs of each cell that is open."""
        self._spans: list[int] = []
        """Over how many columns each cell that is open goes."""
        tags = Tags((*_TOLD, item), _ENDED, _TEXTS, _SKIPPED) if item else _TAGS
        package.parse(part, self._start, self._end, self._data, tags)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "w:p":
            self._outer.append((self._runs, self._paragraph))  # a text box has paragraphs inside a paragraph
            self._runs, self._paragraph = [], {}
        elif tag in ("w:pStyle", "w:outlineLvl", "w:ilvl", "w:numId"):
            self._paragraph.setdefault(tag, attributes.get("val", ""))
        elif tag == "w:tab" and "pos" not in attributes:
            self._runs.append("\t")
        elif tag in ("w:br", "w:cr"):
            self._runs.append("\n" if attributes.get("type") != "page" else "")
        elif tag == "w:noBreakHyphen":
            self._runs.append("-")
        elif tag == "w:hyperlink":
            self._links.append((len(self._runs), self._relations.get(attributes.get("r:id", ""), ("", ""))[1]))
        elif tag in ("w:footnoteReference", "w:endnoteReference", "w:commentReference"):
            mark = {"f": "^", "e": "^e", "c": "comment "}[tag[2]]
            self._runs.append(f"[{mark}{attributes.get('id', '')}]")
        elif tag == "a:docPr" and attributes.get("descr"):
            self._runs.append(f"![{' '.join(attributes['descr'].split())}]")
        elif tag == "w:tbl":
            self._rows.append([])
        elif tag == "w:tr" and self._rows:
            self._rows[-1].append([])
        elif tag == "w:tc" and self._rows:
            self._rows[-1] = self._rows[-1] or [[]]  # a cell without a row is one all the same
            self._cells.append([])
            self._spans.append(1)
        elif tag == "w:gridSpan" and self._spans and attributes.get("val", "").isdecimal():
            self._spans[-1] = min(63, int(attributes["val"][:3]))
        elif tag == self._item:
            self.items.append((attributes, []))

    def _end(self, tag: str) -> None:
        if tag == "w:p" and self._outer:
            self._close_paragraph()
        elif tag == "w:hyperlink" and self._links:
            at, target = self._links.pop()
            text = "".join(self._runs[at:]).strip()
            if text and target and at <= len(self._runs):
                self._runs[at:] = [text if text == target else f"[{text}]({target})"]
        elif tag == "w:tc" and self._cells:
            paragraphs, span = self._cells.pop(), self._spans.pop()
            self._rows[-1][-1] += ["\n".join(paragraphs), *[""] * (span - 1)]
        elif tag == "w:tbl":
            rows = self._rows.pop()
            self.tables += 1
            if self._cells:  # a table in a cell: its text, row by row
                self._cells[-1] += [" ".join(filter(None, row)) for row in rows]
            else:
                self._put(markdown.table(rows))

    def _data(self, data: str) -> None:
        self._runs.append(data)

    def _close_paragraph(self) -> None:
        """A paragraph ends: it is a line of a cell, or a block of its own."""
        text = "".join(self._runs).strip()
        paragraph = self._paragraph
        inner = len(self._outer) > 1
        self._runs, self._paragraph = self._outer.pop()
        self._links = [link for link in self._links if inner]
        self.paragraphs += 1
        if not text:
            return
        if inner:  # in a text box: where its anchor stands
            self._runs.append(("\n" if self._runs else "") + text + "\n")
            return
        text = self._marked(text, paragraph)
        if self._cells:
            self._cells[-1].append(text)
        else:
            self._put(text)

    def _marked(self, text: str, paragraph: Mapping[str, str]) -> str:
        style = paragraph.get("w:pStyle", "")
        own_level = paragraph.get("w:outlineLvl", "")
        heading = int(own_level) + 1 if own_level.isdecimal() and int(own_level) < 9 else self._styles.heading(style)
        if heading:
            return "#" * min(heading, 6) + " " + " ".join(text.split("\n"))
        number = paragraph.get("w:numId") or self._styles.find(style, "w:numId")
        if number and number != "0":
            level = paragraph.get("w:ilvl") or self._styles.find(style, "w:ilvl") or "0"
            depth = min(8, int(level)) if level.isdecimal() else 0
            mark = self._numbering.mark(number, depth)
            if mark:
                return markdown.Item(markdown.indented(text, mark, depth))
        return text

    def _put(self, block: str) -> None:
        (self.items[-1][1] if self.items else self.blocks).append(block)
