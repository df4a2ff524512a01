"""Bombs of documents: notebooks, images, PDFs, office files, web pages, mails, databases."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proof.bombs.archives import zipped
from proof.bombs.texts import MB, writer


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, group, function that makes it, selectors."""
    yield from _notebooks()
    yield from _images()
    yield from _pdfs()
    yield from _office()
    yield from _web()
    yield from _databases()


def samples() -> dict[str, bytes]:
    """Return small valid documents, by name, which load every module of a process before it is measured."""
    return {
        "sample.py": b"def f():\n    return 1\n" * 2000,
        "sample.json": b'{"a": [1, 2]}\n',
        "sample.csv": b"a,b\n1,2\n",
        "sample.ipynb": _notebook({"source": "a", "outputs": [_output(image_png=_sample_png())]}),
        "sample.png": base64.b64decode(_sample_png()),
        "sample.pdf": _page(_stream(b"0 0 m")),
        "sample.docx": _word("<w:p><w:r><w:t>a</w:t></w:r></w:p>"),
        "sample.html": b"<html><p>a</p></html>",
        "sample.eml": b"From: a\nSubject: b\n\nbody\n",
        "sample.db": _database("CREATE TABLE t (a)"),
        "sample.zip": zipped({"a.txt": b"a\n"}),
        "sample.log.gz": gzip.compress(b"a\n"),
        "sample.latin.txt": b"caf\xe9\n" * 10,
        "sample.long.txt": b"a line of a long file\n" * 200_000,
    }


def _sample_png() -> str:
    return base64.b64encode(_blank_png(64, 64)).decode()


# --- notebooks --------------------------------------------------------------------------------------------------------


def _notebook(*cells: Any, **top: Any) -> bytes:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, **top}).encode()


def _output(**forms: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {name.replace("_", "/"): value for name, value in forms.items()}}


def _notebooks() -> Iterator[tuple[Any, ...]]:
    yield "values.ipynb", "notebook", writer(b'{"cells": [' + b"{}," * 900_000 + b"{}]}"), ":cells=1-3"
    yield "numbers.ipynb", "notebook", writer(b'{"cells": [' + b"0," * 1_900_000 + b"0]}")
    yield "floats.ipynb", "notebook", writer(b'{"cells": [' + b"1.5e3," * 1_900_000 + b"0]}")
    yield "lists.ipynb", "notebook", writer(b'{"cells": [], "x": [' + b"[]," * 1_000_000 + b"0]}")
    yield "deep.ipynb", "notebook", writer(b'{"cells": ' + b"[" * MB)
    yield "source.ipynb", "notebook", writer(lambda: _notebook({"source": "\U0001f600" * MB}))
    yield "pieces.ipynb", "notebook", writer(b'{"cells": [{"source": [' + b'"a",' * 1_500_000 + b'"a"]}]}')
    yield (
        "outputs.ipynb",
        "notebook",
        writer(lambda: b'{"cells": [{"outputs": [' + b",".join([b'{"data":{"x":1}}'] * 300_000) + b"]}]}"),
    )
    yield (
        "title.ipynb",
        "notebook",
        writer(lambda: _notebook({"attachments": {"t" * 10 * MB: {"image/png": "A" * 20_000_000}}})),
    )
    yield "images.ipynb", "notebook", writer(lambda: _plots(30_016, 30))
    yield "plots.ipynb", "notebook", writer(lambda: _plots(1984, 300))


def _plots(side: int, count: int) -> bytes:
    image = base64.b64encode(_blank_png(side, side)).decode()
    return _notebook(*[{"outputs": [_output(image_png=image)]}] * count)


# --- images -----------------------------------------------------------------------------------------------------------


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, body: bytes, *more: bytes, bits: int = 1, colour: int = 0) -> bytes:
    start = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + b"".join(more) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _blank_png(width: int, height: int) -> bytes:
    packer = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    body = b"".join([packer.compress(row * 64) for _ in range(height // 64)]) + packer.flush()
    return _png(width, height, body)


def _gif(frames: int) -> bytes:
    frame = b",\0\0\0\0\x10\x10\x10\x10\0\x02\x02\x44\x01\0"
    return b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff" + frame * frames + b";"


def _tiff(width: int, height: int) -> bytes:
    fields = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
    fields += [(273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, width * height & 0xFFFFFFFF)]
    rows = b"".join([struct.pack("<HHLL", *field) for field in fields])
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(fields)) + rows + bytes(4)


def _tiff_of_directories(count: int) -> bytes:
    """Return an image of many small frames."""
    body = _tiff(64, 64)[8:-4]
    return b"II*\0\x08\0\0\0" + b"".join(
        [body + struct.pack("<L", 8 + (len(body) + 4) * number) for number in range(1, count)] + [body + bytes(4)]
    )


def _with_zeros(kind: bytes, start: bytes) -> bytes:
    """Return an image with a compressed chunk of 200 MB."""
    chunk = _chunk(kind, start + zlib.compress(bytes(200 * MB), 9))
    return _png(8, 8, zlib.compress(bytes(16)), chunk)


def _images() -> Iterator[tuple[Any, ...]]:
    yield "pixels.png", "image", writer(lambda: _blank_png(60_032, 60_032))
    yield "comment.png", "image", writer(lambda: _with_zeros(b"zTXt", b"Comment\0\0"))
    yield "profile.png", "image", writer(lambda: _with_zeros(b"iCCP", b"icc\0\0"))
    yield "short.png", "image", writer(_png(30_000, 30_000, zlib.compress(bytes(100)), bits=16, colour=6))
    yield "texts.png", "image", writer(_png(8, 8, zlib.compress(bytes(16)), _chunk(b"tEXt", b"k\0v") * 200_000))
    yield "frames.gif", "image", writer(_gif(200_000))
    yield "canvas.tiff", "image", writer(_tiff(65_000, 65_000))
    yield "directories.tiff", "image", writer(_tiff_of_directories(30_000)), ":f29999"
    size = struct.pack("<LLHHLLLLLL", 40, 60_000, 1, 24, 0, 0, 0, 0, 0, 0)[:4] + struct.pack("<ll", 60_000, 60_000)
    yield "canvas.bmp", "image", writer(b"BM" + bytes(8) + b"\x36\0\0\0" + size + b"\1\0\x18\0" + bytes(100))
    icon = b"\0\0\1\0\xff\xff" + (b"\0\0\0\0\1\0\x20\0\xff\xff\xff\x7f\x16\0\0\0") * 65_535
    yield "icons.ico", "image", writer(icon)
    jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xdc\xff\xdc\3\1\x11\0\2\x11\0\3\x11\0"
    yield "canvas.jpg", "image", writer(jpeg + b"\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0" + bytes(1000))
    webp = b"VP8X" + struct.pack("<L", 10) + b"\0\0\0\0" + b"\xff\xff\xff" * 2
    yield "canvas.webp", "image", writer(b"RIFF" + struct.pack("<L", 4 + len(webp)) + b"WEBP" + webp)


# --- PDF --------------------------------------------------------------------------------------------------------------


def _pdf(*objects: bytes) -> bytes:
    data = b"%PDF-1.7\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    table += b"".join([b"%010d 00000 n \n" % place for place in places])
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
    return data + table + end


def _stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n" % (len(data), extra) + data + b"\nendstream"


def _page(contents: bytes, box: bytes = b"0 0 200 200", resources: bytes = b"<< >>") -> bytes:
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources %s >>" % (box, resources)
    return _pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, contents)


def _pdfs() -> Iterator[tuple[Any, ...]]:
    flate = b"/Filter /FlateDecode"
    text = b"BT /F1 12 Tf " + b"(aaaaaaaaaaaaaaaa) Tj " * 400_000 + b"ET"
    font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    yield "stream.pdf", "pdf", writer(lambda: _page(_stream(zlib.compress(bytes(200 * MB), 9), flate)))
    yield "text.pdf", "pdf", writer(lambda: _page(_stream(zlib.compress(text), flate), resources=font))
    yield "box.pdf", "pdf", writer(_page(_stream(b"0 0 m"), box=b"0 0 100000 100000"))
    yield "operators.pdf", "pdf", writer(lambda: _page(_stream(zlib.compress(b"q " * 10 * MB), flate)))
    kids = b"[" + b"3 0 R " * 100_000 + b"]"
    many = b"<< /Type /Pages /Kids %s /Count 100000 >>" % kids
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    yield "pages.pdf", "pdf", writer(_pdf(b"<< /Type /Catalog /Pages 2 0 R >>", many, page)), ":p1"
    loop = b"<< /Type /Pages /Kids [2 0 R] /Count 9 >>"
    yield "loop.pdf", "pdf", writer(_pdf(b"<< /Type /Catalog /Pages 2 0 R >>", loop))
    yield "arrays.pdf", "pdf", writer(_pdf(b"<< /Type /Catalog /Pages " + b"[" * 500_000 + b" >>"))
    both = b"/Filter [/FlateDecode /FlateDecode]"
    yield (
        "filters.pdf",
        "pdf",
        writer(lambda: _page(_stream(zlib.compress(zlib.compress(bytes(300 * MB), 9), 9), both))),
    )


# --- office files -----------------------------------------------------------------------------------------------------

_TYPES = '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def _package(main: str, text: str | bytes, **more: bytes) -> bytes:
    target = f'<Relationship Id="r1" Type="http://x/officeDocument" Target="{main}"/>'
    links = (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{target}</Relationships>'
    )
    data = text.encode() if isinstance(text, str) else text
    members = {"[Content_Types].xml": _TYPES.encode(), "_rels/.rels": links.encode(), main: data}
    return zipped({**members, **{name.replace("__", "/"): value for name, value in more.items()}}, 9)


def _word(body: str) -> bytes:
    return _package("word/document.xml", f"<w:document {_WORD}><w:body>{body}</w:body></w:document>")


def _office() -> Iterator[tuple[Any, ...]]:
    paragraph = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
    cell = f"<w:tc>{paragraph}</w:tc>"
    entities = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
        [f'<!ENTITY a{n} "{"&a;" * 10 if n == 0 else f"&a{n - 1};" * 10}">' for n in range(9)]
    )
    yield "paragraphs.docx", "office", writer(lambda: _word(paragraph * 600_000))
    yield "deep.docx", "office", writer(lambda: _word("<w:p>" * 300_000))
    yield "cells.docx", "office", writer(lambda: _word(f"<w:tbl><w:tr>{cell * 300_000}</w:tr></w:tbl>"))
    yield "laughs.docx", "office", writer(lambda: _package("word/document.xml", f"{entities}]><a>&a8;</a>"))
    yield "zeros.docx", "office", writer(lambda: _package("word/document.xml", bytes(150 * MB)))
    attribute = f'<w:document {_WORD} a="{{}}"/>'
    yield (
        "attribute.docx",
        "office",
        writer(lambda: _package("word/document.xml", attribute.format("x" * 60 * MB))),
    )
    row = '<row r="1">' + '<c t="inlineStr"><is><t>a</t></is></c>' * 500_000 + "</row>"
    yield (
        "cells.xlsx",
        "office",
        writer(lambda: _workbook(f"<worksheet {_SHEET}><sheetData>{row}</sheetData></worksheet>")),
    )
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    yield (
        "far.xlsx",
        "office",
        writer(lambda: _workbook(f"<worksheet {_SHEET}><sheetData>{far}</sheetData></worksheet>")),
    )
    shared = f"<sst {_SHEET}>" + "<si><t>a</t></si>" * MB + "</sst>"
    yield "strings.xlsx", "office", writer(lambda: _workbook(f"<worksheet {_SHEET}/>", shared))
    yield "shapes.pptx", "office", writer(lambda: _package("ppt/presentation.xml", "<a>" * 400_000))
    mime = b"application/epub+zip"
    yield (
        "book.epub",
        "office",
        writer(lambda: zipped({"mimetype": mime, "META-INF/container.xml": bytes(100 * MB)}, 9)),
    )
    sheet = b"application/vnd.oasis.opendocument.spreadsheet"
    table = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:spreadsheet>'
        '<table:table table:name="a"><table:table-row table:number-rows-repeated="1048576">'
        '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"/>'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    )
    yield "repeated.ods", "office", writer(lambda: zipped({"mimetype": sheet, "content.xml": table.encode()}))


def _workbook(sheet: str, strings: str = "") -> bytes:
    book = f'<workbook {_SHEET} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    book += '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    links += f'<Relationship Id="r1" Type="{kind}/worksheet" Target="worksheets/sheet1.xml"/>'
    links += f'<Relationship Id="r2" Type="{kind}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
    return _package(
        "xl/workbook.xml",
        book,
        xl___rels__workbook_xml_rels=b"",
        **{
            "xl___rels__workbook.xml.rels": links.encode(),
            "xl__worksheets__sheet1.xml": sheet.encode(),
            "xl__sharedStrings.xml": strings.encode(),
        },
    )


# --- web pages and mails ----------------------------------------------------------------------------------------------


def _web() -> Iterator[tuple[Any, ...]]:
    yield "elements.html", "html", writer("<html>" + "<div>" * 400_000)
    yield "attributes.html", "html", writer("<html><a " + "a=b " * 500_000 + ">")
    yield "table.html", "html", writer("<html><table><tr>" + "<td>a" * 400_000)
    yield "entities.html", "html", writer("<html>" + "&amp;&#x41;" * 300_000)
    yield "unclosed.html", "html", writer("<html>" + "<!--" * 500_000)
    yield "lists.html", "html", writer("<html>" + "<ul><li>" * 200_000)
    yield "spans.html", "html", writer('<html><table><tr><td colspan="1000000" rowspan="1000000">a')
    parts = "Content-Type: multipart/mixed; boundary=x\n\n--x\n"
    yield "deep.eml", "mail", writer("From: a\n" + parts * 20_000)
    yield "headers.eml", "mail", writer("From: a\n" + "X-A: b\n" * 400_000 + "\nbody\n")
    yield "header.eml", "mail", writer("From: " + "a@b.c, (" * 300_000 + "\n\nbody\n")
    yield "words.eml", "mail", writer("From: a\nSubject: " + "=?utf-8?b?YQ==?= " * 200_000 + "\n\nbody\n")
    start = b"From: a\nContent-Transfer-Encoding: base64\n\n"
    yield "body.eml", "mail", writer(lambda: start + base64.encodebytes(bytes(20 * MB)))
    part = "--x\nContent-Disposition: attachment; filename=a\n\nb\n"
    yield "parts.eml", "mail", writer("From: a\nContent-Type: multipart/mixed; boundary=x\n\n" + part * 40_000)


# --- databases --------------------------------------------------------------------------------------------------------


def _database(*statements: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.db"
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return path.read_bytes()


def _databases() -> Iterator[tuple[Any, ...]]:
    endless = "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    yield "view.db", "sqlite", writer(lambda: _database("CREATE TABLE t (a)", endless)), "::v"
    blob = "CREATE VIEW b AS SELECT zeroblob(900000000), hex(zeroblob(400000000))"
    yield "blob.db", "sqlite", writer(lambda: _database("CREATE TABLE t (a)", blob)), "::b"
    columns = ", ".join([f"c{n}" for n in range(2000)])
    values = ", ".join(["randomblob(400)"] * 2000)
    wide = (f"CREATE TABLE t ({columns})", f"INSERT INTO t VALUES ({values})")
    yield "columns.db", "sqlite", writer(lambda: _database(*wide)), "::t"
    tables = [f'CREATE TABLE "t{n}" (a, b)' for n in range(5000)]
    yield "tables.db", "sqlite", writer(lambda: _database(*tables))
    text = "INSERT INTO t VALUES (hex(zeroblob(8000000)))"
    yield "cell.db", "sqlite", writer(lambda: _database("CREATE TABLE t (a)", text)), "::t"
    name = "n" * 500_000
    yield "name.db", "sqlite", writer(lambda: _database(f'CREATE TABLE "{name}" (a)'))
    yield "header.db", "sqlite", writer(b"SQLite format 3\0" + b"\xff" * 84 + bytes(4000))
    yield "footer.parquet", "parquet", writer(b"PAR1" + bytes(1000) + b"\xff\xff\xff\x7f" + b"PAR1")
    schema = b"\x19\xfc" + b"\xff\xff\xff\xff\x0f" + b"\x15\x02" * 500_000
    yield "schema.parquet", "parquet", writer(b"PAR1" + schema + struct.pack("<L", len(schema)) + b"PAR1")
    yield "deep.parquet", "parquet", writer(b"PAR1" + b"\x1c" * MB + struct.pack("<L", MB) + b"PAR1")
