"""Every selector of docs/selectors.md and every pasted text reads the same through `native` and `eyespan read`."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.escape import visible
from eyespan.extras.pasted.interpretations import EXAMPLES
from eyespan.extras.pasted.pasted_forms import ROWS

DOC = Path(__file__).parent.parent / "docs" / "selectors.md"


def rows() -> list[str]:
    """The first column of the table of selectors, each selector once."""
    lines = [line for line in DOC.read_text("utf-8").split("\n") if line.startswith("| `")]
    return list(dict.fromkeys([line.split(" | ")[0].strip("| `") for line in lines]))


def sheet(cells: list[list[str]]) -> str:
    """One sheet of a workbook, as XML."""
    body = ""
    for row, values in enumerate(cells, 1):
        columns = "".join(
            f'<c r="{chr(65 + column)}{row}" t="inlineStr"><is><t>{value}</t></is></c>'
            for column, value in enumerate(values)
        )
        body += f'<row r="{row}">{columns}</row>'
    main_part = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{main_part}"><sheetData>{body}</sheetData></worksheet>'


def workbook(path: Path, sheets: dict[str, list[list[str]]]) -> None:
    """A small workbook with these sheets."""
    spreadsheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packages = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    numbered = list(enumerate(sheets.items(), 1))
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>' for n, _ in numbered
    )
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, (name, _) in numbered)
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{relations}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n, _ in numbered
    )
    with zipfile.ZipFile(path, "w") as package:
        package.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{packages}/content-types"><Default Extension="rels" '
            f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName='
            f'"/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>{types}</Types>',
        )
        package.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{packages}/relationships"><Relationship Id="rId1" '
            f'Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        package.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{spreadsheet}" xmlns:r="{relations}"><sheets>{names}</sheets></workbook>',
        )
        package.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{packages}/relationships">{links}</Relationships>'
        )
        for n, (_, cells) in numbered:
            package.writestr(f"xl/worksheets/sheet{n}.xml", sheet(cells))


def pdf(pages: int, lines_per_page: int) -> bytes:
    """A document with numbered lines on each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join([f"{3 + 2 * n} 0 R" for n in range(pages)])
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>")
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for page in range(1, pages + 1):
        shown = " ".join([f"({n}. page {page} line {n}) Tj T*" for n in range(1, lines_per_page + 1)])
        text = f"BT /F1 10 Tf 12 TL 50 780 Td {shown} ET"
        contents = 2 * page + 2
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources {font} /Contents {contents} 0 R >>"
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join([f"{place:010} 00000 n \n" for place in places])
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()


def lines(count: int, text: str = "line") -> str:
    return "".join(f"{text} {n}\n" for n in range(1, count + 1))


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A directory with every file that the table names."""
    root = tmp_path_factory.mktemp("selectors")
    (root / "src").mkdir()
    (root / "a.py").write_text(lines(100, "x = 'line'  #"))
    (root / "src" / "a.c").write_text(lines(140, "int x;  // line"))
    (root / "src" / "net.rs").write_text("pub fn open() {}\n\nmod tests {\n    fn opens() {\n    }\n}\n")
    (root / "AppTest.java").write_text(lines(20, "int x;  // line"))
    (root / "Makefile").write_text(lines(5))
    (root / "my notes.txt").write_text(lines(5))
    (root / "app.min.js").write_text(f"{'var a=1;' * 600}\nvar b=2;\nvar c=3;\nvar d=4;\n")
    (root / "lib.py").write_text("class Class:\n    def method(self):\n        return 1\n")
    (root / "lib.rs").write_text("mod net {\n    impl Socket {\n        pub fn open() {\n        }\n    }\n}\n")
    (root / "guide.md").write_text("# Guide\n\n## Set-up: first steps\n\nDo it.\n\n## After\n")
    (root / "doc.pdf").write_bytes(pdf(pages=8, lines_per_page=50))
    cells = [{"cell_type": "markdown", "metadata": {}, "source": f"cell {n}"} for n in range(1, 6)]
    (root / "nb.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    table = [[f"{column}{row}" for column in "ABCDE"] for row in range(1, 31)]
    workbook(root / "book.xlsx", {"Sheet1": table, "Q3 totals": [["total", "42"]]})
    with sqlite3.connect(root / "app.sqlite") as database:
        database.execute('create table "table" (id integer, name text)')
        database.execute("insert into \"table\" values (1, 'one')")
    database.close()
    with zipfile.ZipFile(root / "logs.zip", "w") as archive:
        archive.writestr("app/today.log", lines(300, "log"))
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        entry = tarfile.TarInfo("c.txt")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"deep\n"))
    with zipfile.ZipFile(root / "a.zip", "w") as archive:
        archive.writestr("b.tar", inner.getvalue())
    (root / "app.log.gz").write_bytes(gzip.compress(lines(6000, "log").encode()))
    (root / "me@home.txt").write_text("home\n")
    (root / "odd:1-2").write_text(lines(9, "odd"))
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(5):
        (root / "src" / "a.py").write_text(lines(30, f"version {number}, line"))
        subprocess.run([*git, "add", "src/a.py"], check=True)
        subprocess.run([*git, "commit", "-qm", f"version {number}"], check=True)
        if number == 1:
            subprocess.run([*git, "tag", "v1.2"], check=True)
    return root


@pytest.mark.parametrize("written", rows())
def test_native_and_eyespan_read_show_the_same(place, written, monkeypatch, capfdbinary):
    monkeypatch.chdir(place)
    with Workspace(place) as workspace:
        reply = workspace.tool("native").call({"files": [written], "budget": 200_000})
    status = main(["read", "-N", written])
    printed = capfdbinary.readouterr()

    assert (status, reply.is_error) == (0, False)
    notes = [line.removeprefix(f"eyespan: {written}: ") for line in printed.err.decode().split("\n") if line]
    assert [note for note in notes if f">note: {note}" not in reply.text] == []
    shown = printed.out.decode().split("\n")
    assert shown != [""]
    assert [line for line in shown if line not in reply.text] == []


def test_the_table_is_read():
    assert len(rows()) > 25


@pytest.mark.parametrize(("pasted", "meant"), [*[example for row in ROWS for example in row.examples], *EXAMPLES])
def test_a_pasted_text_is_read_as_the_selectors_that_it_means(place, pasted, meant, monkeypatch, capfd):
    monkeypatch.chdir(place)
    selectors = meant.split(", ")
    with Workspace(place) as workspace:
        tool = workspace.tool("native")
        reply = tool.call({"files": [pasted], "budget": 200_000})
        exact = tool.call({"files": selectors, "budget": 200_000})
    statuses = [main(["read", "--", pasted]), main(["read", *selectors])]
    printed = capfd.readouterr()

    note = f"\n>note: read as {meant}"
    assert (reply.text.count(note), reply.text.replace(note, "")) == (1, exact.text)
    assert (statuses, printed.err) == ([0, 0], f"eyespan: {visible(pasted)}: read as {meant}\n")
    assert printed.out[: len(printed.out) // 2] == printed.out[len(printed.out) // 2 :]
