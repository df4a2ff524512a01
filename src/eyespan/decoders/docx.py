"""Word documents as Markdown: headings, lists, tables, links, notes and comments.

Text deleted under tracked changes is left out, inserted text is included. Headers and footers are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eyespan.decoders import markdown
from eyespan.decoders.ooxml import Package
from eyespan.decoders.xml_tree import NAMES, Handlers, attributes, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO
    from xml.etree.ElementTree import Element

KIND = "docx"
BODY = "word/document.xml"
MAX_BASE_STYLES = 20
"""The longest chain of styles based on styles; a chain may be a circle."""
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_STYLE_PROPERTIES = ("w:name", "w:basedOn", "w:outlineLvl", "w:numId", "w:ilvl")
_LEFT_OUT = frozenset(
    (
        *("w:del", "w:moveFrom", "mc:Fallback", "w:instrText", "w:sectPr", "w:rPrChange", "w:pPrChange"),
        *("w:rPr", "w:tblPr", "w:tblGrid", "w:trPr", "w:tcPr"),  # formatting without text
    )
)

_CONTAINERS = frozenset(("w:body", "w:tbl"))
"""Elements that may be too large to be held whole."""

NOTES = (
    ("footnotes", "w:footnote", "^"),
    ("endnotes", "w:endnote", "^e"),
    ("comments", "w:comment", "comment "),
)
"""Notes at a place in the text: their part, the element of one note, the label at the place."""


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the document to Markdown. Raises: Unreadable."""
    package = Package(file, KIND)
    body = BODY
    for kind, target in package.relations("").values():
        if kind == "officeDocument":
            body = target
    directory = body.rpartition("/")[0]
    styles = Styles(package, f"{directory}/styles.xml")
    numbering = Numbering(package, f"{directory}/numbering.xml")
    relations = package.relations(body)
    story = Story(styles, numbering, relations)
    blocks = story.blocks(package.stream(body, _CONTAINERS))
    notes: list[str] = []
    for leaf, element_name, label in NOTES:
        part = next((target for kind, target in relations.values() if kind == leaf), f"{directory}/{leaf}.xml")
        if part in package:
            notes += _notes(package, part, Story(styles, numbering, package.relations(part)), element_name, label)
    if notes:
        blocks += ["---", "\n".join(notes)]
    return {"paragraphs": story.paragraphs, "tables": story.tables}, [markdown.finish(blocks)]


def _notes(package: Package, part: str, story: Story, element_name: str, label: str) -> list[str]:
    """Return footnotes, endnotes or comments, one line each."""
    lines = []
    for element in package.parse(part).iter():
        if NAMES[element.tag] != element_name:
            continue
        blocks = story.blocks(element)
        facts = attributes(element)
        if facts.get("type", "normal") != "normal":  # the lines that separate notes from the text
            continue
        text = " ".join(" ".join(blocks).split())
        author = facts.get("author")
        lines.append(f"[{label}{facts.get('id', '')}]: " + (f"{author}: {text}" if author else text))
    return lines


class Styles:
    """The properties of paragraph styles: the level of a heading, or the list it belongs to."""

    def __init__(self, package: Package, part: str) -> None:
        self._own: dict[str, dict[str, str]] = {}
        self._levels: dict[str, int] = {}
        if part not in package:
            return
        style: dict[str, str] = {}
        for element in package.parse(part).iter():
            name = NAMES[element.tag]
            if name == "w:style":
                style = self._own.setdefault(attributes(element).get("styleId", ""), {})
            elif name in _STYLE_PROPERTIES:
                style.setdefault(name, attributes(element).get("val", ""))

    def find(self, style: str, name: str) -> str | None:
        """Return a property of the style or of those it is based on."""
        for _ in range(MAX_BASE_STYLES):
            own = self._own.get(style)
            if own is None:
                return None
            if name in own:
                return own[name]
            style = own.get("w:basedOn", "")
        return None

    def heading(self, style: str) -> int:
        """Return the level of a heading from 1, or 0 for other text."""
        if style not in self._levels:
            self._levels[style] = self._heading(style)
        return self._levels[style]

    def _heading(self, style: str) -> int:
        for _ in range(MAX_BASE_STYLES):
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
    """The lists of a document: the format of each level, and the numbers used so far."""

    def __init__(self, package: Package, part: str) -> None:
        self._formats: dict[tuple[str, str], str] = {}
        self._abstract: dict[str, str] = {}
        self._counts: dict[str, list[int]] = {}
        if part not in package:
            return
        abstract = level = number = ""
        for element in package.parse(part).iter():
            name = NAMES[element.tag]
            if name == "w:abstractNum":
                abstract = attributes(element).get("abstractNumId", "")
            elif name == "w:lvl":
                level = attributes(element).get("ilvl", "0")
            elif name == "w:numFmt":
                self._formats.setdefault((abstract, level), attributes(element).get("val", ""))
            elif name == "w:num":
                number = attributes(element).get("numId", "")
            elif name == "w:abstractNumId":
                self._abstract[number] = attributes(element).get("val", "")

    def next_label(self, number: str, level: int) -> str:
        """Return the label of the next item of a list: `-`, or its number; "" if the list has no labels."""
        style = self._formats.get((self._abstract.get(number, ""), str(level)), "bullet")
        if style == "none":
            return ""
        counts = self._counts.setdefault(number, [])
        del counts[level + 1 :]
        counts += [0] * (level + 1 - len(counts))
        counts[level] += 1
        return "-" if style == "bullet" else f"{counts[level]}."


class Paragraph:
    """The text of one paragraph in pieces, and its properties."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.properties: dict[str, str] = {}

    def text(self) -> str:
        return "".join(self.runs).strip()

    def add_box(self, text: str) -> None:
        """Add text on lines of its own, at the place where a text box is anchored."""
        if text:
            self.runs.append(("\n" if self.runs else "") + text + "\n")


class Story:
    """Converts paragraphs and tables to Markdown blocks, and counts them."""

    def __init__(self, styles: Styles, numbering: Numbering, relations: Mapping[str, tuple[str, str]]) -> None:
        self.paragraphs = self.tables = 0
        self._styles, self._numbering, self._relations = styles, numbering, relations

    def blocks(self, elements: Iterable[Any]) -> list[str]:
        """Return the blocks of some elements."""
        blocks: list[str] = []
        self._add_blocks(elements, blocks)
        return blocks

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _add_blocks(
        self, elements: Iterable[Any], blocks: list[str], rows: list[list[str]] | None = None, in_cell: bool = False
    ) -> None:
        """Add blocks, and cells of the table that the elements belong to, if any, to `rows`."""
        for element in elements:
            name = NAMES[element.tag]
            if name == "w:p":
                block = self._block(self._read_paragraph(element))
                if block:
                    blocks.append(block)
            elif name == "w:tbl":
                self._add_table(element, blocks, in_cell)
            elif rows is not None and name == "w:tr":
                rows.append([])
                self._add_blocks(element, blocks, rows, in_cell)
            elif rows is not None and name == "w:tc":
                if not rows:
                    rows.append([])  # a cell without a row
                rows[-1] += self._cells(element)
            elif name not in _LEFT_OUT:
                self._add_blocks(element, blocks, rows, in_cell)

    def _add_table(self, table: Iterable[Any], blocks: list[str], in_cell: bool) -> None:
        """Add a table. In a cell of another table it is text, one line for each row."""
        rows: list[list[str]] = []
        self._add_blocks(table, blocks, rows, in_cell)
        self.tables += 1
        if in_cell:
            blocks += [" ".join(filter(None, row)) for row in rows]
        else:
            blocks.append(markdown.table(rows))

    def _cells(self, cell: Element) -> list[str]:
        """Return the text of a cell, and "" for each further column that it spans."""
        lines: list[str] = []
        self._add_blocks(cell, lines, in_cell=True)
        return ["\n".join(lines), *[""] * (_span_of(cell) - 1)]

    def _block(self, paragraph: Paragraph) -> str:
        """Return a paragraph as Markdown: a heading, an item of a list, or text."""
        text = paragraph.text()
        if not text:
            return ""
        properties = paragraph.properties
        style = properties.get("w:pStyle", "")
        own_level = properties.get("w:outlineLvl", "")
        heading = int(own_level) + 1 if own_level.isdecimal() and int(own_level) < 9 else self._styles.heading(style)
        if heading:
            return "#" * min(heading, 6) + " " + " ".join(text.split("\n"))
        number = properties.get("w:numId") or self._styles.find(style, "w:numId")
        if number and number != "0":
            level = properties.get("w:ilvl") or self._styles.find(style, "w:ilvl") or "0"
            depth = min(8, int(level)) if level.isdecimal() else 0
            label = self._numbering.next_label(number, depth)
            if label:
                return markdown.Item(markdown.indented(text, label, depth))
        return text

    # --- within a paragraph ------------------------------------------------------------------------------------------

    def _read_paragraph(self, element: Element) -> Paragraph:
        paragraph = Paragraph()
        self._add_runs(element, paragraph)
        self.paragraphs += 1
        return paragraph

    def _add_runs(self, elements: Iterable[Element], paragraph: Paragraph) -> None:
        for element in elements:
            handle = _RUN_HANDLERS[element.tag]
            if handle is not None:
                handle(self, element, paragraph)
            elif len(element):
                self._add_runs(element, paragraph)

    def _add_text(self, element: Element, paragraph: Paragraph) -> None:
        paragraph.runs.append(text_of(element))

    def _add_property(self, element: Element, paragraph: Paragraph) -> None:
        paragraph.properties.setdefault(NAMES[element.tag], attributes(element).get("val", ""))

    def _add_tab(self, element: Element, paragraph: Paragraph) -> None:
        if "pos" not in attributes(element):  # else the definition of a tab stop
            paragraph.runs.append("\t")

    def _add_break(self, element: Element, paragraph: Paragraph) -> None:
        paragraph.runs.append("\n" if attributes(element).get("type") != "page" else "")

    def _add_hyphen(self, element: Element, paragraph: Paragraph) -> None:
        paragraph.runs.append("-")

    def _add_link(self, element: Element, paragraph: Paragraph) -> None:
        at = len(paragraph.runs)
        self._add_runs(element, paragraph)
        target = self._relations.get(attributes(element).get("r:id", ""), ("", ""))[1]
        text = "".join(paragraph.runs[at:]).strip()
        if text and target:
            paragraph.runs[at:] = [text if text == target else f"[{text}]({target})"]

    def _add_reference(self, element: Element, paragraph: Paragraph) -> None:
        label = {"f": "^", "e": "^e", "c": "comment "}[NAMES[element.tag][2]]
        paragraph.runs.append(f"[{label}{attributes(element).get('id', '')}]")

    def _add_image(self, element: Element, paragraph: Paragraph) -> None:
        if description := element.get("descr"):
            paragraph.runs.append(f"![{' '.join(description.split())}]")

    def _add_inner_paragraph(self, element: Element, paragraph: Paragraph) -> None:
        paragraph.add_box(self._read_paragraph(element).text())

    def _add_inner_table(self, element: Element, paragraph: Paragraph) -> None:
        lines: list[str] = []
        self._add_table(element, lines, in_cell=True)
        paragraph.add_box("\n".join(lines).strip())

    def _leave_out(self, element: Element, paragraph: Paragraph) -> None:
        pass


def _span_of(cell: Element) -> int:
    """Return the number of columns that a cell spans."""
    for properties in cell:
        if NAMES[properties.tag] == "w:tcPr":
            for element in properties:
                if NAMES[element.tag] == "w:gridSpan" and attributes(element).get("val", "").isdecimal():
                    return min(63, int(attributes(element)["val"][:3]))
    return 1


_RUN_HANDLERS = Handlers(
    {
        **dict.fromkeys(_LEFT_OUT, Story._leave_out),
        **dict.fromkeys(("w:t", "m:t"), Story._add_text),
        **dict.fromkeys(("w:pStyle", "w:outlineLvl", "w:ilvl", "w:numId"), Story._add_property),
        **dict.fromkeys(("w:br", "w:cr"), Story._add_break),
        **dict.fromkeys(("w:footnoteReference", "w:endnoteReference", "w:commentReference"), Story._add_reference),
        "w:tab": Story._add_tab,
        "w:noBreakHyphen": Story._add_hyphen,
        "w:hyperlink": Story._add_link,
        "a:docPr": Story._add_image,
        "w:p": Story._add_inner_paragraph,
        "w:tbl": Story._add_inner_table,
    }
)
"""Handlers of elements within a paragraph. All other elements are searched for these."""
