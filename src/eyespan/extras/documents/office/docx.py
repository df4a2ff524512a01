"""Word documents as Markdown: headings, lists, tables, links, notes, comments, headers and footers.

Equations are LaTeX between dollar signs. Charts are tables and diagrams are lists, below the paragraph where they are
anchored. Images are lines with the selector that shows them. Tracked changes are marked: {++inserted++}, {--deleted--}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element

from eyespan.errors import Unreadable
from eyespan.extras.documents.office import omml
from eyespan.extras.documents.shared import embedded_images, markdown_pieces
from eyespan.extras.documents.shared.drawings import Drawings
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import NAMES, Handlers, attributes, text_of

BODY = "word/document.xml"
MAX_BASE_STYLES = 20
"""The longest chain of styles based on styles; a chain may be a circle."""
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_STYLE_PROPERTIES = ("w:name", "w:basedOn", "w:outlineLvl", "w:numId", "w:ilvl")
_LEFT_OUT = frozenset(
    (
        *("mc:Fallback", "w:rPrChange", "w:pPrChange", "w:sectPrChange"),
        *("w:rPr", "w:tblPr", "w:tblGrid", "w:trPr", "w:tcPr"),  # formatting without text
    )
)
_CHANGES = {
    **dict.fromkeys(("w:ins", "w:moveTo"), ("{++", "++}")),
    **dict.fromkeys(("w:del", "w:moveFrom"), ("{--", "--}")),
}
"""The signs around inserted and deleted text."""
_LINK_FIELD = re.compile(r'\s*HYPERLINK\s+(?:\\l\s+)?"([^"]*)"', re.IGNORECASE)

_CONTAINERS = frozenset(("w:body", "w:tbl"))
"""Elements that may be too large to be held whole."""

NOTES = (("footnotes", "w:footnote", "^"), ("endnotes", "w:endnote", "^e"), ("comments", "w:comment", "comment "))
"""Notes at a place in the text: their part, the element of one note, the label at the place."""


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the document to Markdown. Raises: Unreadable."""
    package = Package(file)
    body = BODY
    for kind, target in package.relations("").values():
        if kind == "officeDocument":
            body = target
    directory = body.rpartition("/")[0]
    shared = _Shared(package, directory, params)
    relations = package.relations(body)
    story = DocxStory(shared, relations)
    blocks: list[str] = []
    try:
        story.add_blocks(package.stream(body, _CONTAINERS), blocks)
    except Unreadable as error:
        if not blocks:
            raise
        package.complaints.append(f"{error.reason}; the rest of the text is left out")
    blocks += _margins(shared, relations, story.margins)
    notes: list[str] = []
    for leaf, element_name, label in NOTES:
        part = next((target for kind, target in relations.values() if kind == leaf), f"{directory}/{leaf}.xml")
        if part in package:
            notes += _notes(package, part, DocxStory(shared, package.relations(part)), element_name, label)
    others = embedded_images.other_lines(package, shared.images, directory)
    if notes or others:
        blocks += ["---", "\n".join([*notes, *others])]
    if shared.has_changes:
        by = f" by {', '.join(sorted(shared.authors))}" if shared.authors else ""
        blocks.insert(0, f"[tracked changes{by}: {{++inserted++}}, {{--deleted--}}]")
    blocks[:0] = package.notes()
    return {"paragraphs": story.paragraphs, "tables": story.tables}, [markdown_pieces.finish(blocks)]


class _Shared:
    """What all texts of a document share: styles, lists and images, and the authors of changes so far."""

    def __init__(self, package: Package, directory: str, params: Mapping[str, Any]) -> None:
        self.package = package
        self.styles = Styles(package, f"{directory}/styles.xml")
        self.numbering = Numbering(package, f"{directory}/numbering.xml")
        self.images = embedded_images.Images(package, params)
        self.has_changes = False
        self.authors: set[str] = set()


_PAGES = {"first": " of the first page", "even": " of even pages", "unused": ", of no section"}


def _margins(shared: _Shared, relations: Mapping[str, tuple[str, str]], references: list[tuple[str, str]]) -> list[str]:
    """Return headers and footers, each text once, with the pages that it stands on."""
    blocks: list[str] = []
    seen: set[str] = set()
    unused = [("unused", key) for key, (kind, _) in relations.items() if kind in ("header", "footer")]
    for pages, reference in [*references, *unused]:
        kind, part = relations.get(reference, ("", ""))
        if part in seen or part not in shared.package:
            continue
        seen.add(part)
        root = shared.package.parse_optional(part)
        own = [] if root is None else DocxStory(shared, shared.package.relations(part)).blocks(root)
        label = _PAGES.get(pages, "")
        text = "\n\n".join(own)
        if own and text not in seen:
            seen.add(text)
            blocks += [f"[{kind}{label}]", *own]
    return blocks


def _notes(package: Package, part: str, story: DocxStory, element_name: str, label: str) -> list[str]:
    """Return footnotes, endnotes or comments, one line each."""
    lines = []
    root = package.parse_optional(part)
    for element in () if root is None else root.iter():
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
        root = package.parse_optional(part)
        style: dict[str, str] = {}
        for element in () if root is None else root.iter():
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
            match = _HEADING.fullmatch(name)
            if match:
                return int(match[1])
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
        self._levels: dict[tuple[str, str], dict[str, str]] = {}
        self._abstract: dict[str, str] = {}
        self._overrides: dict[tuple[str, str], str] = {}
        """The first number of a level where a list begins again."""
        self._counts: dict[str, list[int]] = {}
        self._used: set[tuple[str, int]] = set()
        root = package.parse_optional(part)
        owner = level = ""
        is_list = False
        for element in () if root is None else root.iter():
            name, facts = NAMES[element.tag], attributes(element)
            if name in ("w:abstractNum", "w:num"):
                is_list = name == "w:num"
                owner = facts.get("numId" if is_list else "abstractNumId", "")
            elif name in ("w:lvl", "w:lvlOverride"):
                level = facts.get("ilvl", "0")
            elif name == "w:abstractNumId" and is_list:
                self._abstract[owner] = facts.get("val", "")
            elif name == "w:startOverride":
                self._overrides[owner, level] = facts.get("val", "1")
            elif name in ("w:numFmt", "w:lvlText", "w:start"):
                key = f"num {owner}" if is_list else owner
                self._levels.setdefault((key, level), {}).setdefault(name, facts.get("val", ""))

    def next_label(self, number: str, level: int) -> str:
        """Return the label of the next item of a list: `-`, or its number; "" if the list has no labels."""
        facts = self._facts(number, level)
        style = facts.get("w:numFmt", "bullet")
        if style == "none":
            return ""
        # Lists of one definition go on counting, unless one of them begins again.
        counts = self._counts.setdefault(self._abstract.get(number, number), [])
        del counts[level + 1 :]
        while len(counts) <= level:
            counts.append(self._start(number, len(counts)) - 1)
        if (number, level) not in self._used:
            self._used.add((number, level))
            if (number, str(level)) in self._overrides:
                counts[level] = self._start(number, level) - 1
        counts[level] += 1
        if style == "bullet":
            return "-"
        text = facts.get("w:lvlText", "")
        label = _PLACE.sub(lambda found: self._number(number, int(found[1]) - 1, counts), text)
        return " ".join(label.split()) if _PLACE.search(text) else f"{counts[level]}."

    def _facts(self, number: str, level: int) -> dict[str, str]:
        own = self._levels.get((f"num {number}", str(level)), {})
        return {**self._levels.get((self._abstract.get(number, ""), str(level)), {}), **own}

    def _start(self, number: str, level: int) -> int:
        text = self._overrides.get((number, str(level))) or self._facts(number, level).get("w:start", "1")
        return int(text) if text.isdecimal() and len(text) < 7 else 1

    def _number(self, number: str, level: int, counts: list[int]) -> str:
        start = self._start(number, level)
        count = max(counts[level], start) if level < len(counts) else start  # a level that was left out counts as one
        return markdown_pieces.counted(count, self._facts(number, level).get("w:numFmt", "decimal"))


_PLACE = re.compile(r"%([1-9])")


class Paragraph:
    """The text of one paragraph in pieces, and its properties."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.properties: dict[str, str] = {}
        self.after: list[str] = []
        """Blocks that are anchored in the paragraph: images, charts and diagrams."""
        self.fields: list[tuple[int, list[str]]] = []
        """The fields that are open: where the result of each starts, and its instruction."""

    def text(self) -> str:
        return "".join(self.runs).strip()

    def add_box(self, text: str) -> None:
        """Add text on lines of its own, at the place where a text box is anchored."""
        if text:
            self.runs.append(("\n" if self.runs else "") + text + "\n")


class DocxStory:
    """Converts paragraphs and tables to Markdown blocks, and counts them."""

    def __init__(self, shared: _Shared, relations: Mapping[str, tuple[str, str]]) -> None:
        self.paragraphs = self.tables = 0
        self.margins: list[tuple[str, str]] = []
        """The headers and footers of the sections: the pages that each is for, and the id of its relation."""
        self._shared = shared
        self._styles, self._numbering, self._relations = shared.styles, shared.numbering, relations
        self._drawings = Drawings(shared.package, relations)
        self._description = ""
        """The description of the drawing around the current element, until an image has shown it."""

    def blocks(self, elements: Iterable[Any]) -> list[str]:
        """Return the blocks of some elements."""
        blocks: list[str] = []
        self._add_blocks(elements, blocks)
        return blocks

    def add_blocks(self, elements: Iterable[Any], blocks: list[str]) -> None:
        """Add the blocks of some elements one by one, so that those before an error are there."""
        self._add_blocks(elements, blocks)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _add_blocks(
        self, elements: Iterable[Any], blocks: list[str], rows: list[list[str]] | None = None, in_cell: bool = False
    ) -> None:
        """Add blocks, and cells of the table that the elements belong to, if any, to `rows`."""
        for element in elements:
            name = NAMES[element.tag]
            if name == "w:p":
                paragraph = self._read_paragraph(element)
                block = self._block(paragraph)
                if block:
                    blocks.append(block)
                blocks += paragraph.after
            elif name == "w:tbl":
                self._add_table(element, blocks, in_cell)
            elif rows is not None and name == "w:tr":
                rows.append([])
                self._add_blocks(element, blocks, rows, in_cell)
            elif rows is not None and name == "w:tc":
                if not rows:
                    rows.append([])  # a cell without a row
                rows[-1] += self._cells(element)
            elif name == "w:sectPr":
                self._add_margins(element)
            elif name == "m:oMathPara":
                paragraph = Paragraph()
                self._add_equations(element, paragraph)
                blocks.append(paragraph.text())
            elif name == "w:altChunk":
                target = self._relations.get(attributes(element).get("r:id", ""), ("", ""))[1]
                blocks.append(f"[embedded document: {self._shared.images.selector(target)}]")
            elif name not in _LEFT_OUT:
                self._add_blocks(element, blocks, rows, in_cell)

    def _add_margins(self, section: Iterable[Element]) -> None:
        for element in section:
            if NAMES[element.tag] in ("w:headerReference", "w:footerReference"):
                facts = attributes(element)
                self.margins.append((facts.get("type", "default"), facts.get("r:id", "")))

    def _add_table(self, table: Iterable[Any], blocks: list[str], in_cell: bool) -> None:
        """Add a table. In a cell of another table it is text, one line for each row, with bars between its cells."""
        rows: list[list[str]] = []
        self._add_blocks(table, blocks, rows, in_cell)
        self.tables += 1
        if in_cell:
            blocks += [" | ".join([cell.replace("\n", " ") for cell in row]) for row in rows if any(row)]
        else:
            blocks.append(markdown_pieces.table(rows))

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
        number = properties.get("w:numId") or self._styles.find(style, "w:numId")
        label, depth = "", 0
        if number and number != "0":
            level = properties.get("w:ilvl") or self._styles.find(style, "w:ilvl") or "0"
            depth = min(8, int(level)) if level.isdecimal() else 0
            label = self._numbering.next_label(number, depth)
        if heading:
            label = f"{label} " if label not in ("", "-") else ""
            return "#" * min(heading, 6) + " " + label + " ".join(text.split("\n"))
        return markdown_pieces.ListItem(markdown_pieces.indented(text, label, depth)) if label else text

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

    def _add_field_mark(self, element: Element, paragraph: Paragraph) -> None:
        """Note where the result of a field starts, and make it a link at its end if the field is one."""
        kind = attributes(element).get("fldCharType", "")
        if kind == "begin":
            paragraph.fields.append((len(paragraph.runs), []))
        elif kind == "separate" and paragraph.fields:
            paragraph.fields[-1] = (len(paragraph.runs), paragraph.fields[-1][1])
        elif kind == "end" and paragraph.fields:
            at, instruction = paragraph.fields.pop()
            _make_link(paragraph, at, "".join(instruction))

    def _add_instruction(self, element: Element, paragraph: Paragraph) -> None:
        if paragraph.fields:
            paragraph.fields[-1][1].append(text_of(element))

    def _add_simple_field(self, element: Element, paragraph: Paragraph) -> None:
        at = len(paragraph.runs)
        self._add_runs(element, paragraph)
        _make_link(paragraph, at, attributes(element).get("instr", ""))

    def _add_change(self, element: Element, paragraph: Paragraph) -> None:
        """Add inserted or deleted text between its signs."""
        at = len(paragraph.runs)
        self._add_runs(element, paragraph)
        text = "".join(paragraph.runs[at:])
        if text.strip():
            before, after = _CHANGES[NAMES[element.tag]]
            paragraph.runs[at:] = [before, text, after]
            self._shared.has_changes = True
            if author := attributes(element).get("author"):
                self._shared.authors.add(" ".join(author.split()))

    def _add_equations(self, element: Element, paragraph: Paragraph) -> None:
        """Add a paragraph of equations, each between double dollar signs."""
        for child in element:
            if NAMES[child.tag] == "m:oMath" and (text := omml.latex(child)):
                paragraph.runs.append(f"$${text}$$")

    def _add_equation(self, element: Element, paragraph: Paragraph) -> None:
        if text := omml.latex(element):
            paragraph.runs.append(f"${text}$")

    def _add_symbol(self, element: Element, paragraph: Paragraph) -> None:
        digits = attributes(element).get("char", "")
        try:
            code = int(digits, 16)
        except ValueError:
            return
        # Characters of symbol fonts are in a private area; the ones of lists and forms are known.
        shown = _SYMBOLS.get(code & 0xFF, "") if 0xF000 <= code <= 0xF0FF else chr(code) if code < 0xD800 else ""
        paragraph.runs.append(shown)

    # --- drawings ----------------------------------------------------------------------------------------------------

    def _add_drawing(self, element: Element, paragraph: Paragraph) -> None:
        """Add what a drawing holds; its description stands with its image, or alone."""
        outer, self._description = self._description, ""
        self._add_runs(element, paragraph)
        if self._description:
            paragraph.after.append(f"![{self._description}]")
        self._description = outer

    def _set_description(self, element: Element, paragraph: Paragraph) -> None:
        description = element.get("descr") or element.get("title") or ""
        self._description = " ".join(description.split())
        self._add_runs(element, paragraph)

    def _add_image(self, element: Element, paragraph: Paragraph) -> None:
        line = self._shared.images.blip_line(element, self._relations, self._description)
        if line:
            self._description = ""
            paragraph.after.append(line)

    def _add_chart(self, element: Element, paragraph: Paragraph) -> None:
        paragraph.after += self._drawings.blocks_of(element)

    def _add_inner_paragraph(self, element: Element, paragraph: Paragraph) -> None:
        inner = self._read_paragraph(element)
        paragraph.add_box(inner.text())
        paragraph.after += inner.after

    def _add_inner_table(self, element: Element, paragraph: Paragraph) -> None:
        lines: list[str] = []
        self._add_table(element, lines, in_cell=True)
        paragraph.add_box("\n".join(lines).strip())

    def _leave_out(self, element: Element, paragraph: Paragraph) -> None:
        pass


def _make_link(paragraph: Paragraph, at: int, instruction: str) -> None:
    """Make the result of a field a link, if the field is one. `at` is the place of its first run."""
    match = _LINK_FIELD.match(instruction)
    text = "".join(paragraph.runs[at:]).strip()
    if match and match[1] and text and text != match[1] and "](" not in text:
        paragraph.runs[at:] = [f"[{text}]({match[1]})"]


_SYMBOLS = {
    0x6F: "☐",
    0xA8: "☐",
    0xFE: "☑",
    0xFD: "☒",
    0xFC: "✓",
    0xFB: "✗",
    0xE0: "→",
    0xDF: "←",
    0xB7: "•",
    0xA7: "▪",
}


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
        **dict.fromkeys(_LEFT_OUT, DocxStory._leave_out),
        **dict.fromkeys(("w:t", "w:delText"), DocxStory._add_text),
        **dict.fromkeys(_CHANGES, DocxStory._add_change),
        **dict.fromkeys(("w:pStyle", "w:outlineLvl", "w:ilvl", "w:numId"), DocxStory._add_property),
        **dict.fromkeys(("w:br", "w:cr"), DocxStory._add_break),
        **dict.fromkeys(("w:footnoteReference", "w:endnoteReference", "w:commentReference"), DocxStory._add_reference),
        "w:tab": DocxStory._add_tab,
        "w:noBreakHyphen": DocxStory._add_hyphen,
        "w:hyperlink": DocxStory._add_link,
        "w:fldChar": DocxStory._add_field_mark,
        **dict.fromkeys(("w:instrText", "w:delInstrText"), DocxStory._add_instruction),
        "w:fldSimple": DocxStory._add_simple_field,
        "w:sym": DocxStory._add_symbol,
        "w:sectPr": lambda story, element, paragraph: story._add_margins(element),
        "m:oMath": DocxStory._add_equation,
        "m:oMathPara": DocxStory._add_equations,
        **dict.fromkeys(("w:drawing", "w:pict", "w:object"), DocxStory._add_drawing),
        **dict.fromkeys(("a:docPr", "shape"), DocxStory._set_description),
        **dict.fromkeys(("a:blip", "imagedata"), DocxStory._add_image),
        **dict.fromkeys(("a:chart", "chart", "a:relIds"), DocxStory._add_chart),
        "w:p": DocxStory._add_inner_paragraph,
        "w:tbl": DocxStory._add_inner_table,
    }
)
"""Handlers of elements within a paragraph. All other elements are searched for these."""
