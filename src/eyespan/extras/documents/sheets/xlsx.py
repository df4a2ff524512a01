"""What workbooks in XML (xlsx, xlsm) hold beside values: errors, formulas, formats, hidden and merged cells, comments,
links, charts, images and defined names.

The XML of a sheet is searched for the cells that have any of these; it is not parsed, because most cells have none.
"""

from __future__ import annotations

import re
from html import unescape
from xml.etree.ElementTree import Element

from eyespan.escape import plural
from eyespan.extras.documents.shared import drawings, number_formats
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import NAMES, attributes, local_name, text_of
from eyespan.extras.documents.sheets import cells

_PREFIX = rb"(?:\w{1,16}:)?"
_FORMULA = re.compile(
    rb"<" + _PREFIX + rb"c\s([^<>]*)>\s*<" + _PREFIX + rb"f\b([^<>]*?)(?:/>|>([^<]*)</" + _PREFIX + rb"f>)"
    rb"\s*(<" + _PREFIX + rb"v\b[^<>]*>)?"
)
_VALUE = re.compile(
    rb"[^>]*>\s*(?:<" + _PREFIX + rb"f\b.*?(?:/>|f>)\s*)?<" + _PREFIX + rb"v\b[^<>]*>([^<]*)", re.DOTALL
)
_ATTRIBUTE = re.compile(rb"""([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ERROR = re.compile(rb"""\st=["']e["']""")
_ROW_OR_COLUMN = re.compile(rb"<" + _PREFIX + rb"""(row|col)\s([^<>]*\bhidden=["'](?:1|true)["'][^<>]*)>""")
_MERGED = re.compile(rb"<" + _PREFIX + rb"mergeCell\s([^<>]*)>")
_LINK = re.compile(rb"<" + _PREFIX + rb"hyperlink\s([^<>]*)>")
_CELL_OR_ROW = re.compile(rb"<(" + _PREFIX + rb")(c|row)(\s[^<>]*?)?(/?)>")
_UNNAMED = re.compile(rb"<" + _PREFIX + rb"c(?=[\s/>])(?![^<>]*\sr=)")
_HEADERS = re.compile(rb"<" + _PREFIX + rb"(odd|even|first)(Header|Footer)\b[^<>]*>([^<]+)<")


class XlsxWorkbook:
    """The parts of a workbook: its sheets in order, their states, and its defined names."""

    def __init__(self, package: Package, images: Images) -> None:
        """Read the part of the workbook. Raises: Unreadable."""
        self.package = package
        self._images = images
        self.parts: dict[str, str] = {}
        """The part of each sheet by the sheet's name."""
        self.hidden: set[str] = set()
        self.names: list[str] = []
        """Defined names as items of a list."""
        book = "xl/workbook.xml"
        if book not in package:
            book = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), "")
        if book not in package:
            return
        relations = package.relations(book)
        self._people = _people(package, relations)
        self._formats: dict[bytes, str] | None = None
        self._styles = next((target for kind, target in relations.values() if kind == "styles"), "")
        if not book.endswith(".xml"):
            return  # xlsb
        sheet_names: list[str] = []
        for element in package.parse(book).iter():
            name, facts = NAMES[element.tag], attributes(element)
            if name == "x:sheet":
                sheet_names.append(facts.get("name", ""))
                self.parts[facts.get("name", "")] = relations.get(facts.get("r:id", ""), ("", ""))[1]
                if facts.get("state", "visible") != "visible":
                    self.hidden.add(facts.get("name", ""))
            elif name == "x:definedName" and not facts.get("name", "").startswith("_xlnm."):
                self._add_name(element, facts, sheet_names)

    def _add_name(self, element: Element, facts: dict[str, str], sheet_names: list[str]) -> None:
        owner = facts.get("localSheetId", "")
        place = f" (in {sheet_names[int(owner)]})" if owner.isdecimal() and int(owner) < len(sheet_names) else ""
        hidden = " (hidden)" if facts.get("hidden") in ("1", "true") else ""
        text = " ".join(text_of(element).split())
        self.names.append(f"- {facts.get('name', '')}{place}{hidden} = {text}")

    def extras(self, name: str, xml: bytes) -> cells.Extras:
        """Return what the sheet has beside its values; `xml` is its part. Raises: Unreadable."""
        made = cells.Extras()
        made.is_hidden = name in self.hidden
        part = self.parts[name]
        relations = self.package.relations(part)
        xml = _with_references(xml)
        _add_errors(xml, made)
        _add_formulas(xml, made)
        self._add_formats(xml, made)
        _add_hidden(xml, made)
        if b"mergeCell" in xml:
            areas = [_attributes(match[1]).get("ref", "") for match in _MERGED.finditer(xml)]
            made.merged = [area for area in areas if area]
        made.notes += _header_lines(xml)
        made.blocks += self._comments(relations)
        made.blocks += _links(xml, relations)
        made.blocks += drawings.sheet_blocks(self.package, self._images, relations)
        return made

    # --- formats -----------------------------------------------------------------------------------------------------

    def _add_formats(self, xml: bytes, found: cells.Extras) -> None:
        codes = self._codes()
        if not codes:
            return
        separator, quote = (b" ", b'"') if b"s='" not in xml and b"\ns=" not in xml else (rb"\s", b"[\"']")
        for match in re.finditer(separator + b"s=" + quote + b"(" + b"|".join(codes) + b")" + quote, xml):
            start = xml.rfind(b"<", 0, match.start())
            facts = _attributes(xml[start : xml.find(b">", match.end())])
            place = cells.place_of(facts.get("r", ""))
            if place is not None and xml.find(b">", start, match.start()) < 0:
                found.formats[place] = codes[match[1]]

    def _codes(self) -> dict[bytes, str]:
        """Return the formats that change the meaning of a number, by the number of the style."""
        if self._formats is None:
            self._formats = {}
            if self._styles in self.package:
                self._formats = _style_formats(self.package.parse(self._styles))
        return self._formats

    # --- parts of a sheet --------------------------------------------------------------------------------------------

    def _comments(self, relations: dict[str, tuple[str, str]]) -> list[str]:
        """Return the comments on cells as blocks. Comments with replies also have an old form, which is left out."""
        lines: list[str] = []
        for kind, target in relations.values():
            if kind == "threadedComment" and target in self.package:
                lines += _thread_lines(self.package.parse(target), self._people)
        for kind, target in relations.values():
            if kind == "comments" and target in self.package:
                lines += comment_lines(self.package.parse(target), is_threaded=bool(lines))
        return ["Comments:", "\n".join(lines)] if lines else []


def _people(package: Package, relations: dict[str, tuple[str, str]]) -> dict[str, str]:
    people = {}
    for kind, target in relations.values():
        if kind == "person" and target in package:
            for element in package.parse(target).iter():
                if local_name(element) == "person":
                    people[element.get("id", "")] = element.get("displayName", "")
    return people


def _style_formats(root: Element) -> dict[bytes, str]:
    codes = dict(number_formats.BUILT_IN)
    by_style = {}
    for element in root.iter():
        name = NAMES[element.tag]
        number = element.get("numFmtId", "")
        if name == "x:numFmt" and number.isdecimal():
            codes[int(number)] = element.get("formatCode", "")
        elif name == "x:cellXfs":
            for index, style in enumerate(element):
                number = style.get("numFmtId", "")
                code = codes.get(int(number), "") if number.isdecimal() else ""
                if code and number_formats.has_meaning(code):
                    by_style[b"%d" % index] = code
    return by_style


def comment_lines(root: Element, is_threaded: bool = False) -> list[str]:
    """Return the notes on the cells of a sheet as items of a list."""
    authors: list[str] = []
    lines: list[str] = []
    for element in root.iter():
        name = NAMES[element.tag]
        if name == "x:author":
            authors.append(" ".join(text_of(element).split()))
        elif name == "x:comment":
            cell, number = element.get("ref", ""), element.get("authorId", "")
            author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
            if is_threaded and author.startswith("tc="):
                continue
            text = " ".join("".join([text_of(run) for run in element.iter() if NAMES[run.tag] == "x:t"]).split())
            lines.append(f"- {cell} ({author}): {text}" if author else f"- {cell}: {text}")
    return lines


def _thread_lines(root: Element, people: dict[str, str]) -> list[str]:
    lines = []
    for element in root.iter():
        if local_name(element) == "threadedComment":
            text = " ".join(" ".join([text_of(child) for child in element if local_name(child) == "text"]).split())
            author = people.get(element.get("personId", ""), "")
            reply = "  " if element.get("parentId") else ""
            lines.append(f"{reply}- {element.get('ref', '')}" + (f" ({author}): {text}" if author else f": {text}"))
    return lines


# --- the XML of a sheet ----------------------------------------------------------------------------------------------


def _attributes(tag: bytes) -> dict[str, str]:
    """Return the attributes in the text of a tag."""
    attributes = {}
    for match in _ATTRIBUTE.finditer(tag):
        value = (match[2] if match[2] is not None else match[3]).decode("utf-8", "replace")
        attributes[match[1].decode("utf-8", "replace")] = unescape(value) if "&" in value else value
    return attributes


def as_utf8(xml: bytes) -> bytes:
    """Return XML in UTF-16 as UTF-8, which the searches need."""
    for bom, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if xml.startswith(bom):
            return xml[2:].decode(encoding, "replace").encode("utf-8", "replace")
    return xml


def _with_references(xml: bytes) -> bytes:
    """Return the XML with a name for every cell. A cell without one stands right of the cell before it."""
    if _UNNAMED.search(xml) is None:
        return xml
    row, column = -1, -1

    def named(match: re.Match[bytes]) -> bytes:
        nonlocal row, column
        facts = _attributes(match[3] or b"")
        if match[2] == b"row":
            row = int(facts["r"]) - 1 if facts.get("r", "").isdecimal() else row + 1
            column = -1
            return match[0]
        place = cells.place_of(facts.get("r", ""))
        if place is not None:
            column = place[1]
            return match[0]
        column += 1
        name = cells.cell_name(max(0, row), column).encode()
        return b'<%sc r="%s"%s%s>' % (match[1], name, match[3] or b"", match[4])

    return _CELL_OR_ROW.sub(named, xml)


# Each search runs only if its word is there: finding a word is ten times faster than a pattern.


def _add_errors(xml: bytes, found: cells.Extras) -> None:
    if b'"e"' not in xml and (b"'" not in xml or b"'e'" not in xml):
        return
    for match in _ERROR.finditer(xml):
        start = xml.rfind(b"<", 0, match.start())
        value = _VALUE.match(xml, match.end())
        place = cells.place_of(_attributes(xml[start : xml.find(b">", match.end())]).get("r", ""))
        if value is not None and place is not None and xml.find(b">", start, match.start()) < 0:
            found.texts[place] = unescape(value[1].decode("utf-8", "replace")) or "#ERROR"


def _add_formulas(xml: bytes, found: cells.Extras) -> None:
    if b"<f" not in xml and b":f" not in xml:
        return
    shared: dict[str, tuple[tuple[int, int], str]] = {}
    copies: list[tuple[tuple[int, int], str]] = []
    for tag, formula_tag, raw, value in _FORMULA.findall(xml):
        cell = _attributes(tag)
        place = cells.place_of(cell.get("r", ""))
        if place is None:
            continue
        text = unescape(raw.decode("utf-8", "replace")).strip()
        facts = _attributes(formula_tag)
        if facts.get("t") == "shared":
            if text:
                shared[facts.get("si", "")] = (place, text)
            else:
                copies.append((place, facts.get("si", "")))
        elif facts.get("t") == "dataTable":
            text = f"TABLE({facts.get('r1', '')}{',' + facts['r2'] if 'r2' in facts else ''})"
        if text:
            found.formulas[place] = text
        if value and cell.get("t") == "str":
            found.empty_texts.add(place)
    for place, number in copies:
        if number in shared:
            (row, column), text = shared[number]
            found.formulas[place] = cells.moved(text, place[0] - row, place[1] - column)
    lost = len([number for _, number in copies if number not in shared])
    if lost:
        found.notes.append(f"[{plural(lost, 'formula')} not shown: the one that they copy is missing]")


def _add_hidden(xml: bytes, found: cells.Extras) -> None:
    if b"hidden=" not in xml:
        return
    for match in _ROW_OR_COLUMN.finditer(xml):
        facts = _attributes(match[2])
        first, last = ("r", "r") if match[1] == b"row" else ("min", "max")
        if facts.get(first, "").isdecimal() and facts.get(last, "").isdecimal():
            ranges = found.hidden_rows if match[1] == b"row" else found.hidden_columns
            ranges.append((int(facts[first]) - 1, min(int(facts[last]), cells.MAX_ROWS) - 1))


def _header_lines(xml: bytes) -> list[str]:
    """Return the headers and footers of the printed sheet, without their formatting."""
    lines: list[str] = []
    if b"headerFooter" not in xml:
        return lines
    at = max(0, xml.rfind(b"headerFooter") - 20_000)
    for match in _HEADERS.finditer(xml, at):
        text = unescape(match[3].decode("utf-8", "replace"))
        page = {b"odd": "", b"even": " of even pages", b"first": " of the first page"}[match[1]]
        lines.append(cells.margin_line(text, match[2].decode().lower() + page))
    return [line for line in lines if line]


def _links(xml: bytes, relations: dict[str, tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for match in _LINK.finditer(xml) if b"hyperlink" in xml else ():
        facts = {
            key.rpartition(":")[2] if key != "r:id" else key: value for key, value in _attributes(match[1]).items()
        }
        target = relations.get(facts.get("r:id", facts.get("id", "")), ("", ""))[1]
        place = "#" + facts["location"] if facts.get("location") else ""
        if target or place:
            lines.append(f"- {facts.get('ref', '')}: {target}{place}")
    return ["Links:", "\n".join(lines)] if lines else []
