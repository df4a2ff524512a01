"""Slides: title, text, tables, speaker notes and comments of each in the order of the show, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.decoders import markdown
from eyespan.decoders.ooxml import Package, local, rehearse_relations, rehearse_xml
from eyespan.decoders.scan import Tags

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

KIND = "pptx"
SHOW = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_LEFT_OUT = ("dt", "ftr", "sldNum", "hdr", "sldImg")
"""Placeholders that repeat on every slide or hold no text of their own."""
_TAGS = Tags(
    (
        *("p:sld show", "p:sp", "p:graphicFrame", "p:pic", "p:ph", "p:cNvPr descr", "a:tbl", "a:tr", "a:tc"),
        *("a:p", "a:pPr", "a:br", "a:buNone", "a:buChar", "a:buAutoNum"),
    ),
    ended=("a:p", "a:tc", "a:tbl"),
    texts=("a:t",),
    skipped=("mc:Fallback",),
    line="a:p a:r a:rPr a:t",
)


_ORDER = Tags(("p:sldId",))


def rehearse() -> None:
    """Makes ready, once for all jobs, what takes its time."""
    rehearse_xml(_TAGS, {})
    rehearse_xml(_ORDER, {})
    rehearse_relations()


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The presentation as Markdown, each slide under a heading with its number.

    Raises: Unreadable.
    """
    package = Package(file, KIND)
    show = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), SHOW)
    relations = package.relations(show)
    order: list[str] = []

    def start(_: str, attributes: dict[str, str]) -> None:
        if attributes.get("r:id") in relations:
            order.append(relations[attributes["r:id"]][1])

    package.parse(show, start, tags=_ORDER)
    authors = _authors(package, relations)
    blocks: list[str] = []
    slides = [part for part in order if part in package]
    for number, part in enumerate(slides, 1):
        blocks += _slide(package, part, number, authors)
    return {"slides": len(slides)}, [markdown.finish(blocks)]


def _slide(package: Package, part: str, number: int, authors: Mapping[str, str]) -> list[str]:
    slide = Shapes(package, part)
    title = " ".join(slide.title.split())
    hidden = " (hidden)" if slide.hidden else ""
    blocks = [f"## Slide {number}{hidden}" + (f": {title}" if title else ""), *slide.blocks]
    for kind, target in package.relations(part).values():
        if target not in package:
            continue
        if kind == "notesSlide":
            notes = [block for block in Shapes(package, target).blocks if block.strip()]
            if notes:
                blocks += ["Notes:", *(_quoted(block) for block in notes)]
        elif kind == "comments":
            blocks += _comments(package, target, authors)
    return blocks


def _quoted(block: str) -> str:
    return "\n".join(f"> {line}" for line in block.split("\n"))


class Shapes:
    """The text of one slide or page of notes: the title apart, the rest as blocks."""

    def __init__(self, package: Package, part: str) -> None:
        self.title = ""
        self.hidden = False
        self.blocks: list[str] = []
        self._holder = ""
        self._runs: list[str] = []
        self._level = 0
        self._bullet: bool | None = None
        self._lines: list[str] = []
        self._rows: list[list[str]] | None = None
        self._cell: list[str] | None = None
        package.parse(part, self._start, self._end, self._data, _TAGS, self._whole)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "a:p":
            self._runs, self._level, self._bullet = [], 0, None
        elif tag == "p:ph":
            self._holder = attributes.get("type", "body")
        elif tag in ("p:sp", "p:graphicFrame", "p:pic"):
            self._holder = ""
        elif tag == "p:cNvPr":
            if attributes.get("descr"):
                self.blocks.append(f"![{' '.join(attributes['descr'].split())}]")
        elif tag == "a:pPr":
            level = attributes.get("lvl", "0")
            self._level = min(8, int(level)) if level.isdecimal() else 0
        elif tag == "a:buNone":
            self._bullet = False
        elif tag in ("a:buChar", "a:buAutoNum"):
            self._bullet = True
        elif tag == "a:br":
            self._runs.append("\n")
        elif tag == "a:tbl":
            self._end("a:tc")
            self._end("a:tbl")  # one in another, which no program writes: what was begun stands before it
            self._rows = []
        elif tag == "a:tr" and self._rows is not None:
            self._rows.append([])
        elif tag == "a:tc" and self._rows is not None:
            self._rows = self._rows or [[]]  # a cell without a row is one all the same
            self._cell = []
        elif tag == "p:sld":
            self.hidden = attributes.get("show") in ("0", "false")

    def _end(self, tag: str) -> None:
        if tag == "a:p":
            text = "".join(self._runs).strip()
            self._runs = []
            if text:
                self._paragraph(text)
        elif tag == "a:tc" and self._rows and self._cell is not None:
            self._rows[-1].append("\n".join(self._cell))
            self._cell = None
        elif tag == "a:tbl" and self._rows is not None:
            self.blocks.append(markdown.table(self._rows))
            self._rows = None

    def _paragraph(self, text: str) -> None:
        if self._cell is not None:
            self._cell.append(text)
        elif self._holder in _TITLES:
            self.title = f"{self.title} {text}".strip()
        elif self._holder not in _LEFT_OUT:
            # The body of a slide is a list unless it says otherwise; other boxes are plain unless they say so.
            listed = self._bullet if self._bullet is not None else self._holder in ("body", "obj") or self._level > 0
            self.blocks.append(markdown.Item(markdown.indented(text, "-", self._level)) if listed else text)

    def _whole(self, data: str) -> None:
        """A paragraph of one run."""
        self._runs, self._level, self._bullet = [], 0, None
        text = data.strip()
        if text:
            self._paragraph(text)

    def _data(self, data: str) -> None:
        self._runs.append(data)


def _authors(package: Package, relations: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if local(tag) in ("cmAuthor", "author") and "id" in attributes:
            found[attributes["id"]] = attributes.get("name", "")

    for kind, target in relations.values():
        if kind in ("commentAuthors", "authors") and target in package:
            package.parse(target, start)
    return found


def _comments(package: Package, part: str, authors: Mapping[str, str]) -> list[str]:
    """Comments old (`text` elements) and new (paragraphs of runs), one line each."""
    lines: list[str] = []
    pieces: list[str] = []
    inside = False
    author = ""

    def close() -> None:
        text = " ".join("".join(pieces).split())
        if text:
            lines.append(f"> Comment by {author}: {text}" if author else f"> Comment: {text}")
        pieces.clear()

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal inside, author
        if local(tag) in ("cm", "reply"):
            close()
            author = authors.get(attributes.get("authorId", ""), "")
        inside = local(tag) in ("text", "t")

    def end(tag: str) -> None:
        nonlocal inside
        inside = False
        if local(tag) == "p":
            pieces.append(" ")
        elif local(tag) in ("cm", "reply"):
            close()

    def text(data: str) -> None:
        if inside:
            pieces.append(data)

    package.parse(part, start, end, text)
    return lines
