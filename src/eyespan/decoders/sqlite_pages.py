"""SQLite databases that are too large to be held in memory: the schema and windows of rows, read page by page.

A table is a tree of pages. Only the pages on the way to the requested rows are read, so the size of the file does not
matter. SQL in the file is never run: columns are taken from the text of the statement that made a table. Rows are not
counted. Tables without row numbers are listed, their rows are not shown.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from eyespan.decoders import tabular
from eyespan.decoders.files import read_up_to, unreadable

MAX_DEPTH = 20
MAX_PAGES = 2_000_000
"""The pages that are visited for one answer."""
MAX_TABLES = 200
SAMPLED_TABLES = 20
TABLE_ROWS = 3
MAX_ROW_BYTES = 256 * 1024
"""More of one row is not read; long values are cut in any case."""
MAX_SCHEMA_ROWS = 20_000
_INTERIOR, _LEAF = 0x05, 0x0D
_ENCODINGS = {1: "utf-8", 2: "utf-16-le", 3: "utf-16-be"}
_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
_CONSTRAINT = re.compile(r"(?:constraint|primary\s+key|unique|check|foreign\s+key)\b", re.IGNORECASE)
_NAME = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|'((?:[^']|'')*)'|([^\s,()]+))\s*""")
_TYPE_END = re.compile(
    r"\b(?:constraint|primary|not|null|unique|check|default|collate|references|generated|as)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/""", re.DOTALL)

# In the sandbox no module can be imported.
"".encode("utf-16-le"), "".encode("utf-16-be")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the schema and rows, like the decoder of smaller databases. Raises: Unreadable."""
    try:
        database = _Database(file)
        found = database.tables()
        wanted = params["table"]
        if wanted is None:
            facts, blocks = _overview(database, found, params)
        else:
            name = str(wanted)
            one = next((each for each in found if each.name == name), None)
            one = one or next((each for each in found if each.name.lower() == name.lower()), None)
            if one is None:
                return {"no_table": True, "suggestions": [each.name[:200] for each in found[:10]]}, [b""]
            text, facts = _described(database, one, params, params["first"], params["count"])
            facts = {"tables": [facts], "total_tables": len(found)}
            blocks = ["SQLite database", text]
    except (IndexError, struct.error, ValueError):
        raise unreadable("not a database, or a corrupt one") from None
    return facts, ["\n\n".join(blocks).encode("utf-8", "replace")]


class _Table:
    """One table or view of the schema."""

    def __init__(self, *, kind: str, name: str, root: int, sql: str) -> None:
        self.name, self.root = name, root
        is_virtual = sql.lstrip()[:14].upper() == "CREATE VIRTUAL"
        self.what = "virtual table" if is_virtual else kind
        self.columns = columns_of(sql) if self.what == "table" else []
        self.has_rows = self.what == "table" and "WITHOUT ROWID" not in " ".join(sql.upper().split())[-60:]


def _overview(database: _Database, found: list[_Table], params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    tables = [one for one in found if one.what != "view"]
    counts = [tabular.plural(len(tables), "table")]
    if len(tables) < len(found):
        counts.append(tabular.plural(len(found) - len(tables), "view"))
    blocks = [f"SQLite database, {', '.join(counts)}; rows of a database of this size are not counted"]
    facts = []
    for number, one in enumerate(found[:MAX_TABLES]):
        count = params["count"] if params["windowed"] else TABLE_ROWS
        text, about = _described(database, one, params, 1, count if number < SAMPLED_TABLES else 0)
        blocks.append(text)
        facts.append(about)
    if len(found) > MAX_TABLES:
        blocks.append(f"... {len(found) - MAX_TABLES} more")
        facts += [{"name": one.name, "what": one.what} for one in found[MAX_TABLES:]]
    return {"tables": facts, "total_tables": len(found)}, blocks


def _described(
    database: _Database, one: _Table, params: Mapping[str, Any], first: int, count: int
) -> tuple[str, dict[str, Any]]:
    title = f"## {one.what} {tabular.cell(one.name)}"
    facts: dict[str, Any] = {"name": one.name, "what": one.what}
    if one.what != "table":
        return title, facts
    columns = [(name, kind) for name, kind, _ in one.columns]
    facts["columns"] = [{"name": name[:200], "type": kind[:200]} for name, kind in columns[: tabular.MAX_COLUMNS]]
    facts["total_rows"] = None
    lines = [title, f"columns: {tabular.columns_line(columns)}"]
    if not one.has_rows:
        facts["problem"] = "its rows are not shown: a table without row numbers in a database of this size"
        lines.append(facts["problem"])
    elif count:
        names = [name for name, _ in columns]
        rows = tabular.table(names, database.rows(one, first, count), is_selected=params["windowed"])
        facts |= rows.facts(first)
        lines += [tabular.rows_line(first, rows.row_count, None), *([rows.text()] if rows.row_count else [])]
    return "\n".join(lines), facts


def columns_of(sql: str) -> list[tuple[str, str, str]]:
    """Return the columns that the statement of a table defines: name, type, and "stored", "rowid" or "virtual"."""
    found = []
    for definition in _definitions(sql):
        if _CONSTRAINT.match(definition.lstrip()):
            continue
        match = _NAME.match(definition)
        if match is None:
            continue
        name = next(group for group in match.groups() if group is not None).replace('""', '"')
        rest = definition[match.end() :]
        bare = _QUOTED.sub("", rest)
        end = _TYPE_END.search(bare)
        kind = " ".join((bare[: end.start()] if end else bare).split())
        upper = " ".join(bare.upper().split())
        place = "stored"
        if kind.upper() == "INTEGER" and "PRIMARY KEY" in upper and "PRIMARY KEY DESC" not in upper:
            place = "rowid"
        elif re.search(r"\bAS \(", upper.replace("AS(", "AS (")) and "STORED" not in upper:
            place = "virtual"
        found.append((name, kind + (" primary key" if "PRIMARY KEY" in upper else ""), place))
    return found


def _definitions(sql: str) -> list[str]:
    """Return the texts between the commas of the outer parentheses."""
    masked = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), sql)  # commas in quotes separate nothing
    start = masked.find("(")
    if start < 0:
        return []
    depth, at, found = 0, start + 1, []
    for place in range(start, len(masked)):
        sign = masked[place]
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        if (sign == "," and depth == 1) or (sign == ")" and depth == 0):
            found.append(sql[at:place])
            at = place + 1
        if depth == 0:
            break
    return found


class _Database:
    """The pages of one file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0)
        header = read_up_to(file, 100)
        size = int.from_bytes(header[16:18], "big")
        self._page_bytes = 65536 if size == 1 else size
        self._usable_bytes = self._page_bytes - header[20]
        if self._page_bytes < 512 or self._page_bytes & (self._page_bytes - 1) or self._usable_bytes < 480:
            raise ValueError("page size")
        self._encoding = _ENCODINGS.get(int.from_bytes(header[56:60], "big"), "utf-8")
        self._visited = 0

    def tables(self) -> list[_Table]:
        """Return the tables and views, without those of SQLite itself."""
        found = []
        schema = _Table(kind="table", name="", root=1, sql="create table x (type, name, tbl_name, rootpage, sql)")
        for row in self.rows(schema, 1, MAX_SCHEMA_ROWS):
            kind, name, _, root, sql = row
            is_listed = kind in ("table", "view") and isinstance(name, str) and not name.lower().startswith("sqlite_")
            if is_listed:
                number = root if isinstance(root, int) else 0
                found.append(_Table(kind=str(kind), name=str(name), root=number, sql=str(sql or "")))
        return found

    def _page(self, number: int) -> bytes:
        self._visited += 1
        if number < 1 or self._visited > MAX_PAGES:
            raise ValueError("page")
        self._file.seek((number - 1) * self._page_bytes)
        data = read_up_to(self._file, self._page_bytes)
        if len(data) < self._page_bytes:
            raise ValueError("page")
        return data

    def rows(self, table: _Table, first: int, count: int) -> Iterator[list[Any]]:
        """Yield the rows of a window, by the order of row numbers."""
        skip = first - 1
        for page, cells in self._leaves(table.root, 0):
            if skip >= len(cells):
                skip -= len(cells)
                continue
            for at in cells[skip:]:
                if count <= 0:
                    return
                yield self._row(page, at, table)
                count -= 1
            skip = 0
            if count <= 0:
                return

    def _leaves(self, number: int, depth: int) -> Iterator[tuple[bytes, tuple[int, ...]]]:
        """Yield the leaf pages of a tree in order, with the places of their cells."""
        if depth > MAX_DEPTH:
            raise ValueError("depth")
        page = self._page(number)
        start = 100 if number == 1 else 0
        kind, cell_count = page[start], int.from_bytes(page[start + 3 : start + 5], "big")
        header = 12 if kind == _INTERIOR else 8
        cells = struct.unpack_from(f">{cell_count}H", page, start + header)
        if kind == _LEAF:
            yield page, cells
        elif kind == _INTERIOR:
            for at in cells:
                yield from self._leaves(int.from_bytes(page[at : at + 4], "big"), depth + 1)
            yield from self._leaves(int.from_bytes(page[start + 8 : start + 12], "big"), depth + 1)
        else:
            raise ValueError("kind of page")

    def _row(self, page: bytes, at: int, table: _Table) -> list[Any]:
        size, at = _varint(page, at)
        number, at = _varint(page, at)
        values = self._values(self._payload(page, at, size))
        row, place = [], 0
        for _, _, kind in table.columns:
            value = values[place] if kind != "virtual" and place < len(values) else None
            place += kind != "virtual"
            row.append(number if kind == "rowid" and value is None else value)
        return row

    def _payload(self, page: bytes, at: int, size: int) -> bytes:
        """Return the contents of a row, up to `MAX_ROW_BYTES`; what does not fit a page is on pages of its own."""
        usable = self._usable_bytes
        if size <= usable - 35:
            return page[at : at + size]
        least = (usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (usable - 4)
        local = local if local <= usable - 35 else least
        data = bytearray(page[at : at + local])
        number = int.from_bytes(page[at + local : at + local + 4], "big")
        while number and len(data) < min(size, MAX_ROW_BYTES):
            more = self._page(number)
            number = int.from_bytes(more[:4], "big")
            data += more[4 : min(usable, 4 + size - len(data))]
        return bytes(data)

    def _values(self, data: bytes) -> list[Any]:
        header_bytes, at = _varint(data, 0)
        kinds = []
        while at < header_bytes:
            kind, at = _varint(data, at)
            kinds.append(kind)
        values = []
        at = header_bytes
        for kind in kinds:
            value, at = self._value(data, at, kind)
            values.append(value)
        return values

    def _value(self, data: bytes, at: int, kind: int) -> tuple[Any, int]:
        if kind >= 12:
            size = (kind - 12) // 2
            raw = data[at : at + size]
            if kind % 2:
                text = raw.decode(self._encoding, "replace")
                return text if len(raw) == size else tabular.CutText(f"{text[:200]}... ({size} bytes)"), at + size
            return raw if len(raw) == size else tabular.CutText(f"x'{raw[:16].hex()}...' ({size} bytes)"), at + size
        if kind in (0, 10, 11):
            return None, at
        if kind == 7:
            return struct.unpack(">d", data[at : at + 8])[0], at + 8
        if kind in (8, 9):
            return kind - 8, at
        size = _INTEGER_BYTES[kind]
        return int.from_bytes(data[at : at + size], "big", signed=True), at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer of one to nine bytes, and the position after it."""
    value = 0
    for place in range(at, at + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9
