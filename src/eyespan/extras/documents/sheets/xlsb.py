"""What binary workbooks (xlsb) hold beside values: errors, formats, hidden and merged cells, comments, links, charts.

Formulas and defined names are counted, not shown.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from eyespan.escape import plural
from eyespan.extras.documents.shared import drawings, number_formats
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.sheets import cells
from eyespan.extras.documents.sheets.cells import ERRORS

_ROW, _CELL_ERROR, _FORMULA_STRING, _FORMULA_ERROR = 0, 3, 8, 11
_CELLS = range(1, 12)
_FORMAT, _STYLE, _CELL_STYLES, _END_CELL_STYLES = 44, 47, 617, 618
_COLUMN, _SHEET, _MERGED = 60, 156, 176
_AUTHOR, _COMMENT, _COMMENT_TEXT = 632, 635, 637
_NAME, _LINK = 39, 494


class XlsbWorkbook:
    """The parts of a binary workbook."""

    def __init__(self, package: Package, images: Images) -> None:
        """Read the part of the workbook. Raises: Unreadable."""
        self._package = package
        self._images = images
        self._codes: dict[int, str] = {}
        self.parts: dict[str, str] = {}
        self.hidden: set[str] = set()
        self.names: list[str] = []
        """A line that counts the defined names."""
        names = 0
        book = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), "")
        if book not in package:
            return
        relations = package.relations(book)
        self._codes = _style_codes(package, relations)
        for code, data in _records(package.read(book)):
            if code == _SHEET and len(data) >= 12:
                relation, at = _wide_text(data, 8)
                name, _ = _wide_text(data, at)
                self.parts[name] = relations.get(relation, ("", ""))[1]
                if data[:4] != b"\0\0\0\0":
                    self.hidden.add(name)
            elif code == _NAME and len(data) >= 13:
                names += not int.from_bytes(data[:4], "little") & 0x2B  # hidden, macros, built in
        if names:
            self.names = [f"[{plural(names, 'defined name')} not shown: those of xlsb files are not decoded]"]

    def extras(self, name: str) -> cells.Extras:
        """Return what the sheet has beside its values. Raises: Unreadable."""
        made = cells.Extras()
        made.is_hidden = name in self.hidden
        part = self.parts.get(name, "")
        if part not in self._package:
            return made
        relations = self._package.relations(part)
        row = formulas = 0
        links: list[str] = []
        for code, data in _records(self._package.read(part)):
            if code == _ROW and len(data) >= 12:
                row = int.from_bytes(data[:4], "little")
                if data[11] & 0x10:
                    made.hidden_rows.append((row, row))
            elif code in _CELLS and len(data) >= 8:
                column = int.from_bytes(data[:4], "little")
                if code in (_CELL_ERROR, _FORMULA_ERROR) and len(data) > 8:
                    made.texts[row, column] = ERRORS.get(data[8], "#ERROR")
                elif (style := int.from_bytes(data[4:7], "little")) in self._codes:
                    made.formats[row, column] = self._codes[style]
                formulas += code >= _FORMULA_STRING
            elif code == _COLUMN and len(data) >= 18 and data[16] & 1:
                made.hidden_columns.append(struct.unpack_from("<II", data))
            elif code == _MERGED and len(data) >= 16:
                first_row, last_row, first_column, last_column = struct.unpack_from("<IIII", data)
                made.merged.append(cells.area_name(first_row, first_column, last_row, last_column))
            elif code == _LINK and len(data) >= 20:
                links += _link(data, relations)
        if formulas:
            made.notes.append(f"[{plural(formulas, 'formula')} not shown, only their values: xlsb]")
        if links:
            made.blocks += ["Links:", "\n".join(links)]
        for kind, target in relations.values():
            if kind == "comments" and target in self._package:
                made.blocks += _comments(self._package.read(target))
        made.blocks += drawings.sheet_blocks(self._package, self._images, relations)
        return made


def _link(data: bytes, relations: dict[str, tuple[str, str]]) -> list[str]:
    """Return a link as an item of a list; nothing if it has no target."""
    row, _, column, _ = struct.unpack_from("<IIII", data)
    relation, at = _wide_text(data, 16)
    place, _ = _wide_text(data, at)
    target = relations.get(relation, ("", ""))[1] + (f"#{place}" if place else "")
    return [f"- {cells.cell_name(row, min(column, cells.MAX_COLUMNS))}: {target}"] if target else []


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the code and the contents of each record, up to the first that is cut."""
    at, end = 0, len(data)
    while at < end:
        code = data[at]
        at += 1
        if code & 0x80:
            if at >= end:
                return
            code = (code & 0x7F) | (data[at] & 0x7F) << 7
            at += 1
        size = shift = 0
        while at < end and shift < 28:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if at + size > end:
            return
        yield code, data[at : at + size]
        at += size


def _wide_text(data: bytes, at: int) -> tuple[str, int]:
    """Return a text with its length before it, and the position after it."""
    size = 2 * int.from_bytes(data[at : at + 4], "little")
    end = at + 4 + size
    return data[at + 4 : end].decode("utf-16-le", "replace"), min(end, len(data))


def _style_codes(package: Package, relations: dict[str, tuple[str, str]]) -> dict[int, str]:
    """Return the formats that change the meaning of a number, by the number of the style."""
    part = next((target for kind, target in relations.values() if kind == "styles"), "")
    codes = dict(number_formats.BUILT_IN)
    by_style: dict[int, str] = {}
    is_in_styles, index = False, 0
    for code, data in _records(package.read(part)) if part in package else ():
        if code == _FORMAT and len(data) >= 6:
            codes[int.from_bytes(data[:2], "little")] = _wide_text(data, 2)[0]
        elif code in (_CELL_STYLES, _END_CELL_STYLES):
            is_in_styles = code == _CELL_STYLES
        elif code == _STYLE and is_in_styles:
            own = codes.get(int.from_bytes(data[2:4], "little"), "")
            if own and number_formats.has_meaning(own):
                by_style[index] = own
            index += 1
    return by_style


def _comments(data: bytes) -> list[str]:
    authors: list[str] = []
    lines: list[str] = []
    header = ""
    for code, record in _records(data):
        if code == _AUTHOR:
            authors.append(" ".join(_wide_text(record, 0)[0].split()))
        elif code == _COMMENT and len(record) >= 20:
            author, row, _, column, _ = struct.unpack_from("<IIIII", record)
            name = authors[author] if author < len(authors) else ""
            header = f"- {cells.cell_name(row, min(column, cells.MAX_COLUMNS))}" + (f" ({name})" if name else "")
        elif code == _COMMENT_TEXT and header:
            lines.append(f"{header}: {' '.join(_wide_text(record, 1)[0].split())}")
    return ["Comments:", "\n".join(lines)] if lines else []
