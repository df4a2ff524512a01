"""Nothing is lost without a word: every unit of a file is shown, or named as left out, through every door.

A file of each kind is made of numbered units: lines, rows, cells, pages, form fields, annotations, members, messages,
slides, symbols. Each door is followed to its end: an answer shows a part and names how the rest is read. All units must
be there, in their order, and nothing else.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import sqlite3
import tarfile
import tempfile
import zipfile
from pathlib import Path

import duckdb
import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.server.service import Service
from tests.extras.documents.office_files import (
    OFFICE_RELATIONS,
    PPTX,
    SHEET,
    WORD,
    packed,
    relations,
)
from tests.extras.documents.sheets import test_biff
from tests.readers.pdf_files import pages, words
from tests.server.test_service import ask

COUNTS = (1, 260)
BUDGET = 1500
OPENDOCUMENT = "urn:oasis:names:tc:opendocument:xmlns"


def lines(units):
    return "".join([f"{unit} of this file\n" for unit in units]).encode()


def table(separator):
    rows = [["name", "number"]]
    return lambda units: "".join(
        [f"{separator.join(row)}\n" for row in [*rows, *([unit, str(at)] for at, unit in enumerate(units))]]
    ).encode()


def parquet(units):
    with tempfile.TemporaryDirectory() as directory, duckdb.connect() as database:
        values = ", ".join([f"('{unit}')" for unit in units])
        database.execute(f"copy (select * from (values {values}) t(name)) to '{directory}/t' (format parquet)")
        return Path(directory, "t").read_bytes()


def sqlite(units):
    with contextlib.closing(sqlite3.connect(":memory:")) as made:
        made.execute("create table t (name text)")
        made.executemany("insert into t values (?)", [(unit,) for unit in units])
        made.commit()
        return made.serialize()


def xlsx(units):
    rows = [
        f'<row r="{n}"><c r="B{n}" t="inlineStr"><is><t>{unit}</t></is></c></row>' for n, unit in enumerate(units, 1)
    ]
    sheet = '<sheets><sheet name="Page" sheetId="1" r:id="a"/></sheets>'
    parts = {
        "_rels/.rels": relations(a=("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE_RELATIONS}">{sheet}</workbook>',
        "xl/_rels/workbook.xml.rels": relations(a=("worksheet", "a.xml")),
        "xl/a.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{"".join(rows)}</sheetData></worksheet>',
    }
    return packed(**parts).getvalue()


def xls(units):
    labels = [test_biff.cell(0x0204, at, 0, test_biff.long(unit)) for at, unit in enumerate(units)]
    return test_biff.book(Page=(test_biff.page(*labels), 0, 0))


def ods(units):
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rows = [f"<table:table-row>{cell.format(unit)}</table:table-row>" for unit in units]
    return opendocument("spreadsheet", f'<table:table table:name="Page">{"".join(rows)}</table:table>')


def odt(units):
    return opendocument("text", "".join([f"<text:p>{unit}</text:p>" for unit in units]))


def opendocument(kind, body):
    names = " ".join([f'xmlns:{name}="{OPENDOCUMENT}:{name}:1.0"' for name in ("table", "office", "text")])
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}", zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{OPENDOCUMENT}:manifest:1.0"/>')
        archive.writestr("content.xml", f"<office:document-content {names}>{inner}</office:document-content>")
    return made.getvalue()


def docx(units):
    body = "".join([f"<w:p><w:r><w:t>{unit}</w:t></w:r></w:p>" for unit in units])
    return packed(
        **{
            "_rels/.rels": relations(a=("officeDocument", "word/document.xml")),
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
        }
    ).getvalue()


def docx_notes(units):
    """Return a document whose units are table cells and footnotes in turn."""
    rows = "".join([f"<w:tr><w:tc><w:p><w:r><w:t>{unit}</w:t></w:r></w:p></w:tc></w:tr>" for unit in units])
    return packed(
        **{
            "_rels/.rels": relations(a=("officeDocument", "word/document.xml")),
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body><w:tbl>{rows}</w:tbl></w:body></w:document>',
        }
    ).getvalue()


def pptx(units):
    spaces = f'xmlns:p="{PPTX}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    shape = "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    ids = "".join([f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(units))])
    slides = {
        f"ppt/slides/{n}.xml": f"<p:sld {spaces}><p:cSld><p:spTree>{shape.format(unit)}</p:spTree></p:cSld></p:sld>"
        for n, unit in enumerate(units)
    }
    return packed(
        **{
            "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'<p:presentation {spaces} xmlns:r="{OFFICE_RELATIONS}">'
            f"<p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(
                **{f"s{n}": ("slide", f"slides/{n}.xml") for n in range(len(units))}
            ),
            **slides,
        }
    ).getvalue()


def rtf(units):
    return ("{\\rtf1 " + "".join([f"{unit}\\par\n" for unit in units]) + "}").encode()


def html(units):
    body = "".join([f"<p>{unit}</p>\n" for unit in units])
    return f"<html><body>{body}</body></html>".encode()


def epub(units):
    files = '<rootfiles><rootfile full-path="a.opf"/></rootfiles>'
    container = f'<container xmlns="{OPENDOCUMENT}:container">{files}</container>'
    items = "".join(
        [f'<item id="i{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(len(units))]
    )
    spine = "".join([f'<itemref idref="i{n}"/>' for n in range(len(units))])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        archive.writestr(
            "a.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest><spine>{spine}</spine></package>',
        )
        for n, unit in enumerate(units):
            archive.writestr(f"{n}.xhtml", f"<html><body><p>{unit}</p></body></html>")
    return made.getvalue()


def eml(units):
    return b"From: a@b.c\nSubject: x\n\n" + lines(units)


def ipynb(units):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": unit} for unit in units]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def pdf_pages(units):
    return pages(*[words((50, 700, unit)) for unit in units])


def pdf_annotations(units):
    more = {
        1000 + n: f"<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents ({unit}) >>"
        for n, unit in enumerate(units)
    }
    return pages(words((50, 700, "page")), annotations=" ".join([f"{n} 0 R" for n in more]), more=more)


def pdf_fields(units):
    more = {
        1000 + n: f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f{n}) /V ({unit}) /Rect [0 {n} 9 {n + 9}] >>"
        for n, unit in enumerate(units)
    }
    names = " ".join([f"{n} 0 R" for n in more])
    return pages(words((50, 700, "page")), catalog=f"/AcroForm << /Fields [{names}] >>", annotations=names, more=more)


def zip_members(units):
    return packed(**{f"{unit}.txt": unit for unit in units}).getvalue()


def tar_members(units):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for unit in units:
            info = tarfile.TarInfo(f"{unit}.txt")
            info.size = len(unit)
            archive.addfile(info, io.BytesIO(unit.encode()))
    return made.getvalue()


def python_code(units):
    return "".join([f"def {unit.replace('-', '_')}():\n    return 1\n\n\n" for unit in units]).encode()


FILES = {
    "lines.txt": lines,
    "lines.txt.gz": lambda units: gzip.compress(lines(units)),
    "western.txt": lambda units: lines(units).decode().replace("of", "für").encode("cp1252"),
    "wide.txt": lambda units: lines(units).decode().encode("utf-16-le"),
    "one_line.txt": lambda units: " ".join(units).encode(),
    "code.py": python_code,
    "rows.csv": table(","),
    "rows.tsv": table("\t"),
    "rows.jsonl": lambda units: "".join([json.dumps({"name": unit}) + "\n" for unit in units]).encode(),
    "rows.parquet": parquet,
    "rows.sqlite": sqlite,
    "rows.xlsx": xlsx,
    "rows.xls": xls,
    "rows.ods": ods,
    "paragraphs.odt": odt,
    "paragraphs.docx": docx,
    "cells.docx": docx_notes,
    "slides.pptx": pptx,
    "paragraphs.rtf": rtf,
    "paragraphs.html": html,
    "chapters.epub": epub,
    "lines.eml": eml,
    "cells.ipynb": ipynb,
    "pages.pdf": pdf_pages,
    "annotations.pdf": pdf_annotations,
    "fields.pdf": pdf_fields,
    "members.zip": zip_members,
    "members.tar.gz": tar_members,
}
UNIT = re.compile(r"unit[-_](\d{5})")
MAX_CALLS = 300


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    directory = tmp_path_factory.mktemp("accounting")
    for name, make in FILES.items():
        for count in COUNTS:
            (directory / f"{count}-{name}").write_bytes(make([f"unit-{number:05d}" for number in range(count)]))
    return directory


@pytest.fixture(scope="module")
def workspace(root):
    with Workspace(root, deadline_seconds=120) as workspace:
        yield workspace


def followed(read, name):
    """Return the texts of all answers; `read` returns a text and the selectors that read the rest."""
    texts, waiting = [], [name]
    for _ in range(MAX_CALLS):
        if not waiting:
            return "\n".join(texts)
        text, more = read(waiting.pop(0))
        texts.append(text)
        waiting = [*more, *waiting]
    raise AssertionError(f"{name} has no end")


def native(workspace, name, capfd):
    tool = workspace.tool("native")

    def read(selector):
        reply = tool.call({"files": selector, "budget": BUDGET})
        assert not reply.is_error, reply.text
        parts = [part.get("next") for part in reply.structured["parts"]]
        left_out = reply.facts.get("left_out", [])
        assert set(left_out) == set(reply.structured.get("left_out", [])) >= {one for one in parts if one}
        return shown_lines(reply.text), left_out

    return followed(read, name)


def shown_lines(text):
    """Return an answer without its headers, notes and lists of what is left out."""
    return "\n".join([line for line in text.split("\n") if not line.startswith(">")])


def mcp(workspace, name, capfd):
    service = Service(workspace, ["native"])

    def read(selector):
        result = ask(service, "tools/call", name="read", arguments={"files": selector, "budget": BUDGET})
        assert not result.get("isError"), result
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        left_out = result["_meta"]["eyespan/facts"].get("left_out", [])
        return shown_lines("\n".join(texts)), left_out

    return followed(read, name)


def command(workspace, name, capfd):
    def read(selector):
        assert main(["read", "--root", workspace.roots[0].path, selector]) == 0
        text = capfd.readouterr().out
        return text, [name + piece for piece in re.findall(r"; the next with (:.+)", text)]

    return followed(read, name)


def bulk(workspace, name, capfd):
    records = list(workspace.read_many(name))
    assert [record.error_message for record in records if record.is_error] == []
    assert [record.facts["left_out"] for record in records if "left_out" in record.facts] == []
    return "\n".join([record.text for record in records])


def chunked(workspace, name, capfd):
    records = list(workspace.read_many(name, chunk_tokens=200))
    assert [record.error_message for record in records if record.is_error] == []
    assert [record.facts["left_out"] for record in records if "left_out" in record.facts] == []
    return "".join([record.text for record in records])


def export(workspace, name, capfd):
    assert main(["export", name, "--root", workspace.roots[0].path, "--to", "-", "--document"]) == 0
    return "\n".join([json.loads(line)["text"] for line in capfd.readouterr().out.splitlines()])


DOORS = {"native": native, "mcp": mcp, "command": command, "bulk": bulk, "chunks": chunked, "export": export}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", FILES)
def test_every_unit_is_shown_through_every_door(workspace, name, count, capfd):
    wanted = list(range(count))

    found = {
        door: list(dict.fromkeys(map(int, UNIT.findall(read(workspace, f"{count}-{name}", capfd)))))
        for door, read in DOORS.items()
    }

    assert found == dict.fromkeys(DOORS, wanted)
