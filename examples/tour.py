"""Show what eyespan reads, and the same lines in the dialects that models know. `make run` runs this."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from eyespan import Workspace

SAMPLE = Path(__file__).resolve().parent / "sample"
FILE = SAMPLE / "harbor.py"
COLORS = ("\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[31m", "\x1b[0m")
BOLD, DIM, CYAN, RED, PLAIN = COLORS if sys.stdout.isatty() else [""] * 5


def show(root: Path, dialect: str, arguments: dict[str, object]) -> None:
    reply = Workspace(root).tool(dialect).call(arguments)
    shown = json.dumps(arguments, ensure_ascii=False).replace(f"{root}/", ".../")
    print(f"{DIM}{dialect} {shown}{PLAIN}")
    text = as_object(reply.structured) if dialect == "workspace" and reply.structured else reply.text
    for line in text.rstrip().split("\n"):
        color = RED if line.startswith(">!") else CYAN if line.startswith(">") else ""
        print(f"    {color}{line}{PLAIN if color else ''}".rstrip())
    print()


def title(text: str) -> None:
    print(f"{BOLD}{text}{PLAIN}\n")


def as_object(fields: Mapping[str, object]) -> str:
    """Write a result object, one field on a line."""
    rows = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "{\n" + ",\n".join(rows) + "\n}"


def make_files(directory: Path) -> None:
    """Make a log of 200,000 lines, a module, a PDF, a workbook, an archive, a link that leads out, and a key."""
    rows = [f"2026-01-01 tide {number % 4} depth {number % 97}\n" for number in range(1, 200_001)]
    rows[150_000] = "2026-01-01 ERROR mooring line 7 parted\n"
    (directory / "harbour.log").write_text("".join(rows))
    moor = "def moor_{0}(boat):\n    if boat.draught > {0}:\n        return False\n    return boat.tie(line={0})\n\n\n"
    (directory / "fleet.py").write_text("".join([moor.format(number) for number in range(500)]))
    (directory / "tides.pdf").write_bytes(
        pdf("Tides in January", "High water is at 06:12 and 18:40,", "low water at 00:05.")
    )
    with zipfile.ZipFile(directory / "boats.xlsx", "w") as book:
        for name, part in WORKBOOK.items():
            book.writestr(name, part)
    with zipfile.ZipFile(directory / "charts.zip", "w") as archive:
        archive.writestr("depths.txt", "buoy 1: 4.5 m\nbuoy 2: 3.9 m\nbuoy 3: 5.1 m\n")
    os.symlink("/etc/passwd", directory / "escape")
    (directory / "server.pem").write_text("a private key\n")


def pdf(*lines: str) -> bytes:
    """Return a PDF of one page."""
    text = "BT /F 14 Tf 40 160 Td 20 TL " + " ".join([f"({line}) Tj T*" for line in lines]) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        "/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
    ]
    made, places = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += f"{number} 0 obj\n{one}\nendobj\n".encode()
    table = "".join([f"{place:010} 00000 n \n" for place in places])
    trailer = (
        f"xref\n0 5\n0000000000 65535 f \n{table}trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    )
    return made + trailer.encode()


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>Boat</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>Draught</t></is></c></row>'
    '<row r="2"><c r="A2" t="inlineStr"><is><t>Étoile</t></is></c><c r="B2"><v>2.1</v></c></row>'
    '<row r="3"><c r="A3" t="inlineStr"><is><t>Möwe</t></is></c><c r="B3"><v>1.4</v></c></row>'
    '<row r="4"><c r="A4" t="inlineStr"><is><t>mean</t></is></c><c r="B4"><f>AVERAGE(B2:B3)</f><v>1.75</v></c></row>'
)
WORKBOOK = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="Boats" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{_SHEET}</sheetData></worksheet>',
}


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        make_files(place)
        title("One call: an error in a log of 200,000 lines, a PDF page, a spreadsheet, a member of an archive")
        targets = ["harbour.log?ERROR", "tides.pdf:p1", "boats.xlsx", "charts.zip!/depths.txt:2-3"]
        show(place, "native", {"files": targets})
        title("A link out of the directory, a path outside it and a private key are refused")
        show(place, "native", {"files": ["escape", "../outside.txt", "server.pem"]})
        title("A symbol costs what it is long, not what its file is long")
        show(place, "native", {"files": ["fleet.py::moor_200"]})
        tools = {name: Workspace(place).tool(name) for name in ("native", "claude@2.1")}
        symbol = tools["native"].call({"files": ["fleet.py::moor_200"]}).facts["tokens"]
        page = tools["claude@2.1"].call({"file_path": str(place / "fleet.py")}).facts["tokens"]
        print(f"    {symbol:,} tokens; the whole file, as Claude Code 2.1 reads it, costs {page:,}\n")

    title("The same lines in dialects: the read tools that models already know")
    show(SAMPLE, "codex", {"file_path": str(FILE), "offset": 20, "limit": 3})
    show(SAMPLE, "workspace", {"path": "harbor.py", "start_line": 20, "max_lines": 3})
    show(SAMPLE, "forge", {"path": "harbor.py", "start_line": 20, "end_line": 22})
    show(SAMPLE, "claude", {"file_path": str(FILE), "offset": 19, "limit": 3})

    title("Next")
    print(
        """\
    .venv/bin/eyespan README.md:1-9                    a file, as people read it
    .venv/bin/eyespan setup                            add it to a host
    .venv/bin/eyespan view                             a page that shows what a model receives
    make test"""
    )


if __name__ == "__main__":
    main()
