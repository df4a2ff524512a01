"""OpenDocument texts, presentations and drawings (odt, odp, odg) as Markdown.

Headings, lists, tables, links, notes, comments, tracked changes, headers and footers are kept. Images are lines with
the selector that shows them, charts are tables, equations are the text that they were typed as.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element

from eyespan.decoders.files import unreadable
from eyespan.errors import Unreadable
from eyespan.extras.documents.shared import markdown_pieces
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.shared.ooxml import ENCRYPTED, Package
from eyespan.extras.documents.shared.xml_tree import local_name, text_of

CONTENT = "content.xml"
MANIFEST = "META-INF/manifest.xml"
MAX_REPEATED = 1000
_DOCTYPE = re.compile(
    rb'\A(?:<\?xml[^<>?]*\?>)?\s*<!DOCTYPE (?:office|math):[a-z-]+ PUBLIC "[^"<>\[]*" "(?:office|math)\.dtd">'
)
"""The document type of files from before OpenDocument 1.0. It declares nothing in the file itself."""
_CONTAINERS = frozenset(("body", "text", "presentation", "drawing", "page", "table"))
_LEFT_OUT = frozenset(
    (
        *("automatic-styles", "scripts", "font-face-decls", "forms", "sequence-decls", "variable-decls", "settings"),
        *("tracked-changes", "bookmark", "soft-page-break", "desc", "title", "glue-point", "ruby-text"),
    )
)
_FRAMES = frozenset(("frame", "custom-shape", "rect", "ellipse", "line", "connector", "polygon", "path", "g"))


def is_encrypted(package: Package) -> bool:
    """Return True if parts of the package are encrypted."""
    return MANIFEST in package and b"encryption-data" in package.read(MANIFEST)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the document to Markdown. Raises: Unreadable."""
    package = Package(file, _DOCTYPE)
    if is_encrypted(package):
        raise unreadable(ENCRYPTED)
    images = Images(package, params)
    story = OdfStory(package, images)
    root = package.parse_optional(CONTENT)
    if root is not None:
        story.add_lists(root)
    blocks: list[str] = []
    try:
        story.add_blocks(package.stream(CONTENT, _CONTAINERS), blocks)
    except Unreadable as error:
        if not blocks:
            raise
        package.complaints.append(f"{error.reason}; the rest of the text is left out")
    if story.has_changes:
        blocks.insert(0, "[tracked changes: {++inserted++}, {--deleted--}]")
    blocks += _margins(package, images)
    if story.notes:
        blocks += ["---", "\n".join(story.notes)]
    facts = {"slides": story.slides} if story.slides else {"paragraphs": story.paragraphs, "tables": story.tables}
    return facts, [markdown_pieces.finish([*package.notes(), *blocks])]


def _margins(package: Package, images: Images) -> list[str]:
    """Return the headers and footers of the pages, each text once."""
    blocks: list[str] = []
    seen: set[str] = set()
    if "styles.xml" not in package:
        return blocks
    for element in package.parse("styles.xml").iter():
        name = local_name(element)
        kind = name.removesuffix("-left").removesuffix("-first")
        if kind in ("header", "footer"):
            own = OdfStory(package, images).blocks(element)
            text = "\n\n".join(own)
            pages = {"left": " of left pages", "first": " of the first page"}.get(name.partition("-")[2], "")
            if own and not text.isdecimal() and (kind + text) not in seen:  # more than the number of the page
                seen.add(kind + text)
                blocks += [f"[{kind}{pages}]", *own]
    return blocks


def _facts(element: Any) -> dict[str, str]:
    return {name.rpartition("}")[2]: value for name, value in element.attrib.items()}


class OdfStory:
    """Converts the elements of a text to blocks, and counts them."""

    def __init__(self, package: Package, images: Images) -> None:
        self.paragraphs = self.tables = self.slides = 0
        self.notes: list[str] = []
        """Footnotes, endnotes and comments, one line each."""
        self.has_changes = False
        self._package = package
        self._images = images
        self._numbered: dict[str, set[int]] = {}
        """The levels of each list style that have numbers."""
        self._deleted: dict[str, str] = {}
        self._inserted: set[str] = set()
        self._page_noun = "Slide"
        self._after: list[str] = []
        """Blocks that are anchored in the current paragraph."""

    def add_lists(self, root: Element) -> None:
        """Read the styles of lists and the tracked changes, which stand before the text."""
        for element in root.iter():
            name = local_name(element)
            if name == "list-style":
                levels = [child for child in element if local_name(child) == "list-level-style-number"]
                numbers = {
                    int(_facts(child).get("level", "1")) for child in levels if _facts(child).get("num-format", "1")
                }
                self._numbered[_facts(element).get("name", "")] = numbers
            elif name == "changed-region":
                self._add_change(element)

    def _add_change(self, region: Element) -> None:
        facts = _facts(region)
        for change in region:
            if local_name(change) == "deletion":
                lines = [text_of(child) for child in change if local_name(child) in ("p", "h")]
                self._deleted[facts.get("id", "")] = " ".join(" ".join(lines).split())
            elif local_name(change) == "insertion":
                self._inserted.add(facts.get("id", ""))

    # --- blocks ------------------------------------------------------------------------------------------------------

    def blocks(self, elements: Iterable[Any]) -> list[str]:
        """Return the blocks of some elements."""
        made: list[str] = []
        self._add_blocks(elements, made)
        return made

    def add_blocks(self, elements: Iterable[Any], blocks: list[str]) -> None:
        """Add the blocks of some elements one by one, so that those before an error are there."""
        self._add_blocks(elements, blocks)

    def _add_blocks(self, elements: Iterable[Any], blocks: list[str]) -> None:
        for element in elements:
            name = local_name(element)
            if name == "h":
                self._add_heading(element, blocks)
            elif name == "p":
                self._add_text(self._paragraph(element), blocks)
            elif name == "list":
                self._add_list(element, blocks, 0)
            elif name == "table":
                self._add_table(element, blocks)
            elif name == "page":
                self._add_page(element, blocks)
            elif name == "notes":
                self._add_speaker_notes(element, blocks)
            elif name in _FRAMES:
                blocks += self._frame(element)
            elif name == "annotation":
                blocks.append(f"[{self._comment(element)}]")
            elif name not in _LEFT_OUT:
                self._page_noun = "Page" if name == "drawing" else self._page_noun
                self._add_blocks(element, blocks)

    def _add_text(self, text: str, blocks: list[str]) -> None:
        if text:
            blocks.append(text)
        blocks += self._after
        self._after = []

    def _add_heading(self, element: Element, blocks: list[str]) -> None:
        level = _facts(element).get("outline-level", "1")
        text = " ".join(self._paragraph(element).split("\n"))
        if text:
            blocks.append("#" * min(6, max(1, int(level) if level.isdecimal() else 1)) + " " + text)
        self._add_text("", blocks)

    def _add_page(self, page: Any, blocks: list[str]) -> None:
        self.slides += 1
        hidden = " (hidden)" if _facts(page).get("visibility") == "hidden" else ""
        name = _facts(page).get("name", "")
        title = "" if not name or name.lower() in (f"page{self.slides}", f"slide{self.slides}") else f": {name}"
        blocks.append(f"## {self._page_noun} {self.slides}{hidden}{title}")
        self._add_blocks(page, blocks)

    def _add_speaker_notes(self, element: Element, blocks: list[str]) -> None:
        lines = [line for block in self.blocks(element) for line in block.split("\n")]
        if lines:
            blocks += ["Notes:", "\n".join([f"> {line}" for line in lines])]

    def _add_list(self, element: Element, blocks: list[str], level: int, style: str = "") -> None:
        style = _facts(element).get("style-name", "") or style
        is_numbered = level + 1 in self._numbered.get(style, ())
        number = 0
        for item in element:
            if local_name(item) not in ("list-item", "list-header"):
                continue
            start = _facts(item).get("start-value", "")
            number = int(start) if start.isdecimal() and len(start) < 7 else number + 1
            is_labelled = False
            for child in item:
                if local_name(child) == "list":
                    self._add_list(child, blocks, min(level + 1, 8), style)
                elif local_name(child) in ("p", "h"):
                    text = self._paragraph(child)
                    label = f"{number}." if is_numbered else "-"
                    if text and not is_labelled:
                        blocks.append(markdown_pieces.ListItem(markdown_pieces.indented(text, label, level)))
                        is_labelled = True
                    elif text:
                        blocks.append(markdown_pieces.ListItem("  " * (level + 1) + text))
                    self._add_text("", blocks)
                else:
                    self._add_blocks([child], blocks)

    def _add_table(self, table: Any, blocks: list[str]) -> None:
        rows: list[list[str]] = []
        self._add_rows(table, rows)
        self.tables += 1
        blocks.append(markdown_pieces.table(rows))

    def _add_rows(self, elements: Iterable[Any], rows: list[list[str]]) -> None:
        for element in elements:
            name = local_name(element)
            if name == "table-row":
                row: list[str] = []
                for cell in element:
                    if local_name(cell) in ("table-cell", "covered-table-cell"):
                        row += [self._cell(cell)] * _repeated(cell, "number-columns-repeated")
                rows += [row] * _repeated(element, "number-rows-repeated")
            elif name in ("table-header-rows", "table-rows", "table-row-group"):
                self._add_rows(element, rows)

    def _cell(self, cell: Element) -> str:
        lines: list[str] = []
        for child in cell:
            if local_name(child) == "table":
                rows: list[list[str]] = []
                self._add_rows(child, rows)
                lines += [" | ".join(row) for row in rows if any(row)]
            else:
                self._add_blocks([child], lines)
        if len(lines) == 1 and type(lines[0]) is markdown_pieces.ListItem:  # tables of slides hold lists of one item
            return lines[0].strip().removeprefix("- ")
        return "\n".join(lines)

    # --- within a paragraph ------------------------------------------------------------------------------------------

    def _paragraph(self, element: Element) -> str:
        self.paragraphs += 1
        runs: list[str] = []
        self._add_runs(element, runs)
        return "".join(runs).strip()

    def _add_runs(self, element: Element, runs: list[str]) -> None:
        runs.append(element.text or "")
        for child in element:
            self._add_run(child, runs)
            runs.append(child.tail or "")

    def _add_run(self, child: Element, runs: list[str]) -> None:
        name, facts = local_name(child), _facts(child)
        if name == "s":
            count = facts.get("c", "1")
            runs.append(" " * (min(int(count), 1000) if count.isdecimal() else 1))
        elif name == "tab":
            runs.append("\t")
        elif name == "line-break":
            runs.append("\n")
        elif name == "a":
            self._add_link(child, runs)
        elif name == "note":
            self._add_note(child, facts, runs)
        elif name == "annotation":
            self._add_comment(child, runs)
        elif name in ("change-start", "change-end", "change"):
            self._add_change_mark(name, facts.get("change-id", ""), runs)
        elif name in _FRAMES:
            self._after += self._frame(child)
        elif name not in _LEFT_OUT:
            self._add_runs(child, runs)

    def _add_link(self, element: Element, runs: list[str]) -> None:
        inner: list[str] = []
        self._add_runs(element, inner)
        text, target = "".join(inner), _facts(element).get("href", "")
        is_link = text.strip() and target and text.strip() != target
        runs.append(f"[{text.strip()}]({target})" if is_link else text)

    def _add_note(self, element: Element, facts: dict[str, str], runs: list[str]) -> None:
        label = ("^e" if facts.get("note-class") == "endnote" else "^") + str(len(self.notes) + 1)
        self.notes.append("")
        place = len(self.notes) - 1
        lines = [block for child in element if local_name(child) == "note-body" for block in self.blocks(child)]
        self.notes[place] = f"[{label}]: {' '.join(' '.join(lines).split())}"
        runs.append(f"[{label}]")

    def _comment(self, element: Element) -> str:
        author = " ".join([text_of(child) for child in element if local_name(child) == "creator"])
        texts = [text_of(child) for child in element if local_name(child) in ("p", "list")]
        text = " ".join(" ".join(texts).split())
        return f"comment by {author}: {text}" if author else f"comment: {text}"

    def _add_comment(self, element: Element, runs: list[str]) -> None:
        label = f"comment {len(self.notes) + 1}"
        self.notes.append(
            f"[{label}]: {self._comment(element).removeprefix('comment').removeprefix(' by ').lstrip(': ')}"
        )
        runs.append(f"[{label}]")

    def _add_change_mark(self, name: str, key: str, runs: list[str]) -> None:
        if name == "change" and self._deleted.get(key):
            runs.append("{--" + self._deleted[key] + "--}")
        elif name != "change" and key in self._inserted:
            runs.append("{++" if name == "change-start" else "++}")
        else:
            return
        self.has_changes = True

    # --- frames ------------------------------------------------------------------------------------------------------

    def _frame(self, frame: Element) -> list[str]:
        """Return what a frame or a shape holds: an image, an object, or text."""
        described = [text_of(child) for child in frame if local_name(child) in ("desc", "title")]
        description = " ".join(" ".join(described[:1]).split())
        blocks: list[str] = []
        is_shown = any(local_name(child) in ("table", "object", "text-box") for child in frame)
        for child in frame:
            name, target = local_name(child), _facts(child).get("href", "").removeprefix("./")
            if name == "object" and target:
                blocks += self.object_blocks(target)
            elif name == "object-ole":
                blocks.append(f"[embedded file: {self._images.selector(target)}]")
            elif name == "image" and target and not is_shown:
                blocks.append(self._images.line(target, description))
                is_shown = True
            elif name == "plugin" and target:
                blocks.append(f"[media: {self._images.selector(target)}]")
            elif name not in ("image", "desc", "title"):
                self._add_blocks([child], blocks)
        return blocks if blocks or not description else [f"![{description}]"]

    def object_blocks(self, target: str) -> list[str]:
        """Return an equation or a chart, which is a document of its own."""
        target = target.strip("/")
        part = f"{target}/content.xml"
        if part not in self._package:
            return [f"[embedded object: {self._images.selector(target)}]"]
        try:
            root = self._package.parse(part)
        except Unreadable as error:
            return [f"[embedded object: {error.reason}]"]
        for element in root.iter():
            name = local_name(element)
            if name == "annotation" and "StarMath" in element.get("encoding", ""):
                return [f"[equation: {' '.join(text_of(element).split())}]"]
            if name == "math":
                equation = " ".join(text_of(element).split())
                if not any(local_name(child) == "annotation" for child in element.iter()):
                    return [f"[equation: {equation}]"]
            if name == "chart" and "class" in _facts(element):
                return self._chart(element)
        return OdfStory(self._package, self._images).blocks(root)

    def _chart(self, chart: Element) -> list[str]:
        kind = _facts(chart).get("class", "").rpartition(":")[2]
        titles = [" ".join(text_of(child).split()) for child in chart if local_name(child) == "title"]
        title = f', "{titles[0]}"' if titles and titles[0] else ""
        blocks = [f"[chart: {kind or 'unknown kind'}{title}]"]
        for child in chart.iter():
            if local_name(child) == "table":
                self._add_table(child, blocks)
        if len(blocks) == 1:  # the numbers are those of cells
            ranges = [_facts(child).get("values-cell-range-address", "") for child in chart.iter()]
            blocks += [f"[values: {', '.join(filter(None, ranges))}]"] if any(ranges) else []
        return blocks


def _repeated(element: Element, name: str) -> int:
    count = _facts(element).get(name, "1")
    return max(1, min(int(count), MAX_REPEATED)) if count.isdecimal() and len(count) < 9 else 1
