"""Office files for tests: the fixtures read through the engine, and packages made of a few strings."""

from __future__ import annotations

import importlib.util
import io
import itertools
import re
import struct
import sys
import zipfile
from pathlib import Path

from PIL import Image

from eyespan import Workspace, kinds
from eyespan.extras.documents.office import docx
from eyespan.extras.documents.sheets import sheet
from eyespan.model import DocumentOptions, Lines, ReadRequest, SheetOptions

FIXTURES = Path(__file__).parents[2] / "fixtures" / "office"
ENGINE = Workspace("/").engine
CONVERTED = frozenset(kind.name for kind in kinds.rows() if kind.reader == "eyespan.readers.converted")


def _gif() -> bytes:
    made = io.BytesIO()
    Image.new("P", (5, 7)).save(made, "GIF")
    return made.getvalue()


GIF = _gif()
"""An image of 5x7 pixels."""
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PPTX = "http://schemas.openxmlformats.org/presentationml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
OFFICE_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


# --- read through the engine -----------------------------------------------------------------------------------------


def document(path, selection=None, *, sheet="", cells=""):
    options = DocumentOptions(sheet=SheetOptions(sheet, cells))
    return ENGINE.read(ReadRequest(str(path), selection or Lines(), documents=CONVERTED, options=options))


def text(path, **options) -> str:
    return bytes(document(path, **options).parts[0].data).decode("utf-8")


def expected(name: str) -> str:
    """Return the text that another program made of a fixture."""
    return (FIXTURES / name).read_text(encoding="utf-8-sig")


def words(markup: str) -> list[str]:
    """Return the words of a text without the syntax of Markdown, of lists and of tables."""
    markup = re.sub(r"\]\([^)]*\)", "", markup)  # the targets of links
    markup = re.sub(r"\[\^?\d*\]:?|\[comment \d+\]|<br>|\\(?=\|)", " ", markup)
    return re.findall(r"[^\W_]+", re.sub(r"^\s*\d+\.\s", " ", markup, flags=re.MULTILINE))


def load_without(library, module, monkeypatch):
    """Load a copy of a module in an environment without the library that it needs."""
    monkeypatch.setitem(sys.modules, library, None)
    spec = importlib.util.spec_from_file_location("without_its_library", module.__file__)
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


# --- made of strings -------------------------------------------------------------------------------------------------


def packed(method=zipfile.ZIP_DEFLATED, **parts):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return made


def repacked(name: str, changes: dict[str, bytes], target: Path) -> Path:
    """Copy a fixture with some of its parts replaced or added."""
    with zipfile.ZipFile(FIXTURES / name) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, changes.get(part, old.read(part)))
        for part, data in changes.items():
            if part not in old.namelist():
                new.writestr(part, data)
    return target


def relations(**targets):
    rows = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE_RELATIONS}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE_RELATIONS}">{rows}</Relationships>'


def word(body, **parts):
    """Decode a Word document with this body. Further parts are named by their root element."""
    files = {
        "word/document.xml": (
            f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE_RELATIONS}"><w:body>{body}</w:body></w:document>'
        ),
        "_rels/.rels": relations(a=("officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": relations(**{key: (key, f"{key}.xml") for key in parts}),
        **{f"word/{key}.xml": f'<w:{key} xmlns:w="{WORD}">{data}</w:{key}>' for key, data in parts.items()},
    }
    return docx.decode(packed(**files), {"seconds": 10})[1][0].decode()


def paragraph(content, style="", more=""):
    label = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{label}{more}</w:pPr><w:r><w:t>{content}</w:t></w:r></w:p>"


def workbook(rows, states=None, before=None, after=None, names="", **parts):
    """Decode a workbook with these rows by sheet, and XML before and after the rows of a sheet."""
    states, before, after = states or {}, before or {}, after or {}
    sheets = "".join(
        f'<sheet name="{name}" state="{states.get(name, "visible")}" r:id="s{n}"/>' for n, name in enumerate(rows)
    )
    files = {
        "_rels/.rels": relations(a=("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE_RELATIONS}"><sheets>{sheets}</sheets>'
        f"<definedNames>{names}</definedNames></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            **{f"s{n}": ("worksheet", f"worksheets/{n}.xml") for n in range(len(rows))}, t=("styles", "styles.xml")
        ),
        **{
            f"xl/worksheets/{n}.xml": f'<worksheet xmlns="{SHEET}" xmlns:r="{OFFICE_RELATIONS}">{before.get(name, "")}'
            f"<sheetData>{data}</sheetData>{after.get(name, '')}</worksheet>"
            for n, (name, data) in enumerate(rows.items())
        },
        "xl/styles.xml": f'<styleSheet xmlns="{SHEET}"/>',
        **parts,
    }
    return sheet.decode(io.BytesIO(packed(**files).getvalue()), {"name": "book.xlsx"})[1][0].decode()


def biff(*records):
    """Return a workbook of Excel 97 without its container, with one sheet of these records."""

    def packed_records(*parts):
        return b"".join(struct.pack("<HH", code, len(data)) + data for code, data in parts)

    start = struct.pack("<HHHHII", 0x0600, 5, 0, 0, 0, 0)
    globals_size = 4 + len(start) + 4 + 12 + 4
    globals_records = ((0x0809, start), (0x85, struct.pack("<IHBB", globals_size, 0, 4, 0) + b"Page"), (0x0A, b""))
    page = struct.pack("<HHHHII", 0x0600, 0x10, 0, 0, 0, 0)
    return io.BytesIO(packed_records(*globals_records, (0x0809, page), *records, (0x0A, b"")))


def ole(**streams):
    """Return a container with these streams by path, each padded to the size from which it has its own sectors."""
    sector, end, fat_sign, free = 512, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
    tree = {}
    for path, data in streams.items():
        *storages, leaf = path.split("/")
        place = tree
        for storage in storages:
            place = place.setdefault(storage, {})
        place[leaf] = data.ljust(4096, b"\0") + b"\0" * (-max(len(data), 4096) % sector)
    entries, contents, fat = [], [], []

    def add(name, item):
        number = len(entries)
        entries.append([name, item, free, free])
        if isinstance(item, dict):
            below = [add(child, item[child]) for child in sorted(item, key=lambda child: (len(child), child.upper()))]
            for one, following in itertools.pairwise(below):
                entries[one][2] = following
            entries[number][3] = below[0] if below else free
        return number

    add("Root Entry", tree)
    directory = b""
    for name, item, right, child in entries:
        is_storage = isinstance(item, dict)
        kind = 5 if not directory else 1 if is_storage else 2
        start, size = (end, 0) if is_storage else (len(fat), len(item))
        if not is_storage:
            count = len(item) // sector
            fat += [*range(len(fat) + 1, len(fat) + count), end]
            contents.append(item)
        encoded = name.encode("utf-16-le") + b"\0\0"
        directory += encoded.ljust(64, b"\0") + struct.pack("<HBBIII", len(encoded), kind, 1, free, right, child)
        directory += bytes(36) + struct.pack("<IQ", start, size)
    directory += b"\0" * (-len(directory) % sector)
    first_of_directory = len(fat)
    fat += [*range(len(fat) + 1, len(fat) + len(directory) // sector), end]
    fat_sectors = (len(fat) + 1) // 127 + 1
    first_of_fat = len(fat)
    fat += [fat_sign] * fat_sectors
    table = struct.pack(f"<{len(fat)}I", *fat)
    table += b"\xff" * (fat_sectors * sector - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIII", 0, fat_sectors, first_of_directory, 0, 4096, end, 0, end, 0)
    places = [first_of_fat + number for number in range(fat_sectors)] + [free] * (109 - fat_sectors)
    return io.BytesIO(header + struct.pack("<109I", *places) + b"".join(contents) + directory + table)
