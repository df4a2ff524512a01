"""Slides as Markdown, in the order of the show: title, text, tables, speaker notes and comments of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.decoders import markdown
from eyespan.decoders.ooxml import Package
from eyespan.decoders.xml_tree import NAMES, Handlers, attributes, local_name, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO
    from xml.etree.ElementTree import Element

KIND = "pptx"
SHOW = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_REPEATED = ("dt", "ftr", "sldNum", "hdr", "sldImg")
"""Placeholders that repeat on every slide or have no text of their own."""
_COMMENTS = ("cm", "reply")
_LEFT_OUT = frozenset(
    (
        "mc:Fallback",
        *("p:spPr", "p:grpSpPr", "p:style", "p:timing", "p:transition"),  # formatting without text, here and below
        *("a:bodyPr", "a:lstStyle", "a:pPr", "a:rPr", "a:endParaRPr"),
    )
)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the presentation to Markdown, each slide under a heading with its number. Raises: Unreadable."""
    package = Package(file, KIND)
    show = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), SHOW)
    relations = package.relations(show)
    slides = []
    for element in package.parse(show).iter():
        if NAMES[element.tag] == "p:sldId":
            _, part = relations.get(attributes(element).get("r:id", ""), ("", ""))
            if part in package:
                slides.append(part)
    authors = _authors(package, relations)
    blocks: list[str] = []
    for number, part in enumerate(slides, 1):
        blocks += _slide(package, part, number, authors)
    return {"slides": len(slides)}, [markdown.finish(blocks)]


def _slide(package: Package, part: str, number: int, authors: Mapping[str, str]) -> list[str]:
    slide = Slide(package.parse(part))
    title = " ".join(slide.title.split())
    hidden = " (hidden)" if slide.is_hidden else ""
    blocks = [f"## Slide {number}{hidden}" + (f": {title}" if title else ""), *slide.blocks]
    for kind, target in package.relations(part).values():
        if target not in package:
            continue
        if kind == "notesSlide":
            notes = [block for block in Slide(package.parse(target)).blocks if block.strip()]
            if notes:
                blocks += ["Notes:", *(_quoted(block) for block in notes)]
        elif kind == "comments":
            blocks += _comments(package, target, authors)
    return blocks


def _quoted(block: str) -> str:
    return "\n".join(f"> {line}" for line in block.split("\n"))


class Slide:
    """The text of one slide or page of notes: its title, and the rest as blocks."""

    def __init__(self, root: Element) -> None:
        self.title = ""
        self.is_hidden = NAMES[root.tag] == "p:sld" and root.get("show") in ("0", "false")
        self.blocks: list[str] = []
        self._holder = ""
        """The type of the placeholder that the current shape fills."""
        self._add_shapes(root)

    def _add_shapes(self, elements: Iterable[Element]) -> None:
        for element in elements:
            handle = _SHAPE_HANDLERS[element.tag]
            if handle is not None:
                handle(self, element)
            elif len(element):
                self._add_shapes(element)

    def _add_shape(self, element: Element) -> None:
        self._holder = ""
        self._add_shapes(element)

    def _set_holder(self, element: Element) -> None:
        self._holder = element.get("type", "body")

    def _add_description(self, element: Element) -> None:
        if description := element.get("descr"):
            self.blocks.append(f"![{' '.join(description.split())}]")

    def _add_table(self, element: Element) -> None:
        rows: list[list[str]] = []
        _add_cells(element, rows)
        self.blocks.append(markdown.table(rows))

    def _add_paragraph(self, element: Element) -> None:
        text = _paragraph_text(element)
        if not text or self._holder in _REPEATED:
            return
        if self._holder in _TITLES:
            self.title = f"{self.title} {text}".strip()
            return
        # The body of a slide is a list unless it declares otherwise, other shapes are the reverse.
        level, is_item = _list_level(element, self._holder in ("body", "obj"))
        self.blocks.append(markdown.Item(markdown.indented(text, "-", level)) if is_item else text)

    def _leave_out(self, element: Element) -> None:
        pass


_SHAPE_HANDLERS = Handlers(
    {
        **dict.fromkeys(_LEFT_OUT, Slide._leave_out),
        **dict.fromkeys(("p:sp", "p:graphicFrame", "p:pic"), Slide._add_shape),
        "p:ph": Slide._set_holder,
        "p:cNvPr": Slide._add_description,
        "a:p": Slide._add_paragraph,
        "a:tbl": Slide._add_table,
    }
)
"""Handlers of the elements of a slide. All other elements are searched for these."""


def _paragraph_text(paragraph: Element) -> str:
    runs: list[str] = []
    _add_runs(paragraph, runs)
    return "".join(runs).strip()


def _add_runs(elements: Iterable[Element], runs: list[str]) -> None:
    for element in elements:
        name = NAMES[element.tag]
        if name == "a:t":
            runs.append(text_of(element))
        elif name == "a:br":
            runs.append("\n")
        elif name not in _LEFT_OUT:
            _add_runs(element, runs)


def _list_level(paragraph: Element, is_item: bool) -> tuple[int, bool]:
    """Return the level of a paragraph, and whether it is an item of a list; `is_item` is the default."""
    properties = paragraph[0] if len(paragraph) else paragraph
    if NAMES[properties.tag] != "a:pPr":
        return 0, is_item
    digits = properties.get("lvl", "0")
    level = min(8, int(digits)) if digits.isdecimal() else 0
    is_item = is_item or level > 0
    for element in properties:
        name = NAMES[element.tag]
        if name == "a:buNone":
            is_item = False
        elif name in ("a:buChar", "a:buAutoNum"):
            is_item = True
    return level, is_item


def _add_cells(elements: Iterable[Element], rows: list[list[str]]) -> None:
    """Add the cells of a table to `rows`."""
    for element in elements:
        name = NAMES[element.tag]
        if name == "a:tr":
            rows.append([])
            _add_cells(element, rows)
        elif name == "a:tc":
            if not rows:
                rows.append([])  # a cell without a row
            rows[-1].append("\n".join(_lines(element)))
        elif name not in _LEFT_OUT:
            _add_cells(element, rows)


def _lines(elements: Iterable[Element]) -> Iterator[str]:
    """Yield the paragraphs of a cell. A table in a cell is text, one line for each row."""
    for element in elements:
        name = NAMES[element.tag]
        if name == "a:p":
            if text := _paragraph_text(element):
                yield text
        elif name == "a:tbl":
            rows: list[list[str]] = []
            _add_cells(element, rows)
            yield from (" ".join(filter(None, row)) for row in rows)
        elif name not in _LEFT_OUT:
            yield from _lines(element)


def _authors(package: Package, relations: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, target in relations.values():
        if kind in ("commentAuthors", "authors") and target in package:
            for element in package.parse(target).iter():
                facts = attributes(element)
                if local_name(element) in ("cmAuthor", "author") and "id" in facts:
                    found[facts["id"]] = facts.get("name", "")
    return found


def _comments(package: Package, part: str, authors: Mapping[str, str]) -> list[str]:
    """Return comments of both formats (one text element, or paragraphs of runs) and replies, one line each."""
    lines = []
    for element in package.parse(part).iter():
        if local_name(element) in _COMMENTS:
            text = " ".join("".join(_comment_texts(element)).split())
            author = authors.get(attributes(element).get("authorId", ""), "")
            if text:
                lines.append(f"> Comment by {author}: {text}" if author else f"> Comment: {text}")
    return lines


def _comment_texts(comment: Element) -> Iterator[str]:
    """Yield the texts of a comment, without those of its replies."""
    for element in comment:
        name = local_name(element)
        if name in ("text", "t"):
            yield text_of(element)
        elif name not in _COMMENTS:
            yield from _comment_texts(element)
        if name == "p":
            yield " "
