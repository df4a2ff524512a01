"""Slides as Markdown, in the order of the show: title, text, tables, charts, images, footers, notes and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element

from eyespan.errors import Unreadable
from eyespan.extras.documents.office import omml
from eyespan.extras.documents.shared import embedded_images, markdown_pieces
from eyespan.extras.documents.shared.drawings import Drawings
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import NAMES, Handlers, attributes, local_name, text_of

SHOW = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_FOOTERS = ("dt", "ftr", "hdr")
"""Placeholders of the margins: date, footer, header."""
_NUMBERS = ("sldNum", "sldImg")
"""Placeholders without a text of their own."""
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
    package = Package(file)
    show = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), SHOW)
    relations = package.relations(show)
    slides = [part for key in _slide_ids(package, show) if (part := relations.get(key, ("", ""))[1]) in package]
    authors = _authors(package, relations)
    images = embedded_images.Images(package, params)
    blocks: list[str] = []
    for number, part in enumerate(slides, 1):
        try:
            blocks += _slide(package, part, number, authors, images)
        except Unreadable as error:
            blocks += [f"## Slide {number}", f"[this slide cannot be read: {error.reason}]"]
    others = embedded_images.other_lines(package, images, show.rpartition("/")[0])
    if others:
        blocks += ["---", "\n".join(others)]
    return {"slides": len(slides)}, [markdown_pieces.finish([*package.notes(), *blocks])]


def _slide_ids(package: Package, show: str) -> list[str]:
    """Return the ids of the relations to the slides in their order. Raises: Unreadable."""
    root = package.parse(show)
    return [attributes(element).get("r:id", "") for element in root.iter() if NAMES[element.tag] == "p:sldId"]


def _slide(
    package: Package, part: str, number: int, authors: Mapping[str, str], images: embedded_images.Images
) -> list[str]:
    relations = package.relations(part)
    slide = Slide(package.parse(part), package, relations, images)
    title = " ".join(slide.title.split())
    hidden = " (hidden)" if slide.is_hidden else ""
    blocks = [f"## Slide {number}{hidden}" + (f": {title}" if title else ""), *slide.blocks]
    if slide.footers:
        blocks.append(f"{' | '.join(slide.footers)} [footer]")
    for kind, target in relations.values():
        if target not in package:
            continue
        if kind == "notesSlide":
            root = package.parse(target)
            page = Slide(root, package, package.relations(target) if _has_references(root) else {}, images)
            notes = [block for block in page.blocks if block.strip()]
            if notes:
                blocks += ["Notes:", *(_quoted(block) for block in notes)]
        elif kind == "comments":
            blocks += _comments(package, target, authors)
    return blocks


def _has_references(root: Element) -> bool:
    """Return True if an element has an attribute whose name has a namespace: only these refer to other parts."""
    return any("{" in name for element in root.iter() for name in element.attrib)


def _quoted(block: str) -> str:
    return "\n".join(f"> {line}" for line in block.split("\n"))


class Slide:
    """The text of one slide or page of notes: its title, its footers, and the rest as blocks."""

    def __init__(
        self, root: Element, package: Package, relations: Mapping[str, tuple[str, str]], images: embedded_images.Images
    ) -> None:
        self.title = ""
        self.is_hidden = NAMES[root.tag] == "p:sld" and root.get("show") in ("0", "false")
        self.blocks: list[str] = []
        self.footers: list[str] = []
        self._relations = relations
        self._images = images
        self._drawings = Drawings(package, relations)
        self._holder = ""
        """The type of the placeholder that the current shape fills."""
        self._description = ""
        """The description of the current shape, until an image has shown it."""
        self._counts: list[int] = []
        """The numbers of the current list by level."""
        self._add_shapes(root)

    def _add_shapes(self, elements: Iterable[Element]) -> None:
        for element in elements:
            handle = _SHAPE_HANDLERS[element.tag]
            if handle is not None:
                handle(self, element)
            elif len(element):
                self._add_shapes(element)

    def _add_shape(self, element: Element) -> None:
        outer = self._holder, self._description
        self._holder = self._description = ""
        self._counts = []
        self._add_shapes(element)
        if self._description:
            self.blocks.append(f"![{self._description}]")
        self._holder, self._description = outer

    def _set_holder(self, element: Element) -> None:
        self._holder = element.get("type", "body")

    def _set_description(self, element: Element) -> None:
        self._description = " ".join((element.get("descr") or "").split())
        for child in element:
            target = self._target(child)
            if target:
                self.blocks.append(f"[link: {target}]")

    def _target(self, element: Element) -> str:
        """Return the target of a link; "" if the element is no link, or one that the show itself uses."""
        if local_name(element) not in ("hlinkClick", "hlinkHover"):
            return ""
        kind, target = self._relations.get(attributes(element).get("r:id", ""), ("", ""))
        return target if kind in ("hyperlink", "slide") else ""

    def _add_image(self, element: Element) -> None:
        line = self._images.blip_line(element, self._relations, self._description)
        if line:
            self._description = ""
            self.blocks.append(line)

    def _add_media(self, element: Element) -> None:
        _, target = self._relations.get(attributes(element).get("r:link", ""), ("", ""))
        if target:
            self._images.shown.add(target.lower())
            noun = local_name(element).removesuffix("File")
            self.blocks.append(f"[{noun}: {self._images.selector(target)}]")

    def _add_chart(self, element: Element) -> None:
        self.blocks += self._drawings.blocks_of(element)

    def _add_table(self, element: Element) -> None:
        rows: list[list[str]] = []
        self._add_cells(element, rows)
        self.blocks.append(markdown_pieces.table(rows))

    def _add_paragraph(self, element: Element) -> None:
        text = self._paragraph_text(element)
        if not text or self._holder in _NUMBERS:
            return
        if self._holder in _FOOTERS:
            self.footers.append(" ".join(text.split()))
            return
        if self._holder in _TITLES:
            self.title = f"{self.title} {text}".strip()
            return
        # The body of a slide is a list unless it declares otherwise, other shapes are the reverse.
        level, label = _list_label(element, self._holder in ("body", "obj"))
        del self._counts[level + 1 :]
        if label:
            self.blocks.append(
                markdown_pieces.ListItem(markdown_pieces.indented(text, self._next_label(label, level), level))
            )
        else:
            self._counts = []
            self.blocks.append(text)

    def _next_label(self, label: str, level: int) -> str:
        """Return the label of the next item; for a numbered one, `label` is its style and its first number."""
        if label == "-":
            return label
        style, _, start = label.partition(" ")
        self._counts += [0] * (level + 1 - len(self._counts))
        self._counts[level] += 1
        number = self._counts[level] + (int(start) - 1 if start.isdecimal() and len(start) < 6 else 0)
        shown = markdown_pieces.counted(number, style)
        return f"({shown})" if "ParenBoth" in style else f"{shown})" if "ParenR" in style else f"{shown}."

    def _leave_out(self, element: Element) -> None:
        pass

    # --- texts -------------------------------------------------------------------------------------------------------

    def _paragraph_text(self, paragraph: Element) -> str:
        runs: list[str] = []
        self._add_runs(paragraph, runs)
        return "".join(runs).strip()

    def _add_runs(self, elements: Iterable[Element], runs: list[str]) -> None:
        for element in elements:
            name = NAMES[element.tag]
            if name == "a:t":
                runs.append(text_of(element))
            elif name == "a:br":
                runs.append("\n")
            elif name == "a:r":
                self._add_run(element, runs)
            elif name == "m:oMath":
                if text := omml.latex(element):
                    runs.append(f"${text}$")
            elif name not in _LEFT_OUT:
                self._add_runs(element, runs)

    def _add_run(self, run: Element, runs: list[str]) -> None:
        """Add the text of a run, with the target of its link. Neighbours with the same target become one link."""
        target = ""
        for properties in run:
            if NAMES[properties.tag] == "a:rPr":
                target = next(filter(None, map(self._target, properties)), "")
        inner: list[str] = []
        self._add_runs(run, inner)
        text = "".join(inner)
        end = f"]({target})"
        if not target or not text.strip() or text.strip() == target:
            runs.append(text)
        elif runs and runs[-1].endswith(end) and runs[-1].startswith("["):
            runs[-1] = runs[-1].removesuffix(end) + text + end
        else:
            runs.append(f"[{text}{end}")

    def _add_cells(self, elements: Iterable[Element], rows: list[list[str]]) -> None:
        """Add the cells of a table to `rows`."""
        for element in elements:
            name = NAMES[element.tag]
            if name == "a:tr":
                rows.append([])
                self._add_cells(element, rows)
            elif name == "a:tc":
                if not rows:
                    rows.append([])  # a cell without a row
                rows[-1].append("\n".join(self._paragraph_lines(element)))
            elif name not in _LEFT_OUT:
                self._add_cells(element, rows)

    def _paragraph_lines(self, elements: Iterable[Element]) -> Iterator[str]:
        """Yield the paragraphs of a cell. A table in a cell is text, one line for each row."""
        for element in elements:
            name = NAMES[element.tag]
            if name == "a:p":
                if text := self._paragraph_text(element):
                    yield text
            elif name == "a:tbl":
                rows: list[list[str]] = []
                self._add_cells(element, rows)
                yield from (" | ".join([cell.replace("\n", " ") for cell in row]) for row in rows if any(row))
            elif name not in _LEFT_OUT:
                yield from self._paragraph_lines(element)


_SHAPE_HANDLERS = Handlers(
    {
        **dict.fromkeys(_LEFT_OUT, Slide._leave_out),
        **dict.fromkeys(("p:sp", "p:graphicFrame", "p:pic", "p:cxnSp"), Slide._add_shape),
        "p:ph": Slide._set_holder,
        "p:cNvPr": Slide._set_description,
        "a:p": Slide._add_paragraph,
        "a:tbl": Slide._add_table,
        "a:blip": Slide._add_image,
        **dict.fromkeys(("a:videoFile", "a:audioFile"), Slide._add_media),
        **dict.fromkeys(("a:chart", "chart", "a:relIds"), Slide._add_chart),
    }
)
"""Handlers of the elements of a slide. All other elements are searched for these."""


def _list_label(paragraph: Element, is_item: bool) -> tuple[int, str]:
    """Return the level of a paragraph, and its label: "-", the style of its number, or "" if it is no item of a list.

    `is_item` is the default.
    """
    properties = paragraph[0] if len(paragraph) else paragraph
    if NAMES[properties.tag] != "a:pPr":
        return 0, "-" if is_item else ""
    digits = properties.get("lvl", "0")
    level = min(8, int(digits)) if digits.isdecimal() else 0
    label = "-" if is_item or level > 0 else ""
    for element in properties:
        name = NAMES[element.tag]
        if name == "a:buNone":
            label = ""
        elif name == "a:buChar":
            label = "-"
        elif name == "a:buAutoNum":
            label = f"{element.get('type', 'arabicPeriod')} {element.get('startAt', '1')}"
    return level, label


def _authors(package: Package, relations: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    authors: dict[str, str] = {}
    for kind, target in relations.values():
        if kind in ("commentAuthors", "authors") and target in package:
            for element in package.parse(target).iter():
                facts = attributes(element)
                if local_name(element) in ("cmAuthor", "author") and "id" in facts:
                    authors[facts["id"]] = facts.get("name", "")
    return authors


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
