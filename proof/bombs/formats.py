"""Bombs of the other document formats, of searches and of directories."""

from __future__ import annotations

import base64
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proof.bombs.archives import header, pax, with_body, zipped
from proof.bombs.documents import _page, _pdf, _stream
from proof.bombs.texts import MB, writer

ODF = (
    "<office:document-content "
    + " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "draw")
    )
    + "><office:body>"
)


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, group, function that makes it, selectors."""
    yield from _open_documents()
    yield from _old_documents()
    yield from _mail()
    yield from _more_archives()
    yield from _more_pdfs()
    yield from _markup()
    yield from _searches()
    yield from _directories()


# --- documents --------------------------------------------------------------------------------------------------------


def _odf(kind: str, body: str) -> bytes:
    mime = f"application/vnd.oasis.opendocument.{kind}".encode()
    return zipped({"mimetype": mime, "content.xml": f"{ODF}{body}".encode()}, 9)


def _open_documents() -> Iterator[tuple[Any, ...]]:
    paragraph = "<text:p>a</text:p>"
    yield "paragraphs.odt", "office", writer(lambda: _odf("text", "<office:text>" + paragraph * 500_000))
    yield "spaces.odt", "office", writer(lambda: _odf("text", '<office:text><text:p><text:s text:c="2000000000"/>'))
    yield "deep.odt", "office", writer(lambda: _odf("text", "<office:text>" + "<text:section>" * 200_000))
    yield "columns.ods", "office", writer(lambda: _odf("spreadsheet", "<office:spreadsheet>" + _wide_odf_table()))
    yield (
        "shapes.odp",
        "office",
        writer(lambda: _odf("presentation", "<office:presentation>" + "<draw:page>" * 200_000)),
    )
    slide = "<p:sld xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main'>" + "<p:sp>" * 300_000
    yield (
        "slide.pptx",
        "office",
        writer(lambda: zipped({"[Content_Types].xml": b"<Types/>", "ppt/slides/slide1.xml": slide.encode()}, 9)),
    )
    yield "spine.epub", "office", writer(lambda: zipped(_repeated_chapter(20_000)))
    yield (
        "members.docx",
        "office",
        writer(lambda: zipped({"word/document.xml": b"<a/>", **{f"m{n}": b"" for n in range(60_000)}})),
    )


def _repeated_chapter(count: int) -> dict[str, bytes]:
    """Return the members of a book that names one chapter many times."""
    container = b"<container><rootfiles><rootfile full-path='o.opf'/></rootfiles></container>"
    item = b"<manifest><item id='c' href='c.xhtml'/></manifest>"
    return {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": container,
        "o.opf": b"<package>" + item + b"<spine>" + b"<itemref idref='c'/>" * count + b"</spine></package>",
        "c.xhtml": b"<html><body>" + b"<p>text</p>" * 20_000 + b"</body></html>",
    }


def _wide_odf_table() -> str:
    cell = '<table:table-cell office:value-type="string" table:number-columns-repeated="100000">'
    cell += "<text:p>a</text:p></table:table-cell>"
    return f'<table:table table:name="a"><table:table-row table:number-rows-repeated="100000">{cell * 1000}'


def _ole(stream: bytes, name: str, sectors: int = 0) -> bytes:
    """Return an old office file with one stream; with `sectors`, its table declares so many."""
    data = stream + bytes(-len(stream) % 512)
    count = len(data) // 512
    chain = [*range(3, 2 + count), 0xFFFFFFFE] if count else []
    fat = [0xFFFFFFFD, 0xFFFFFFFE, *chain]
    fat += [0xFFFFFFFF] * (128 - len(fat))
    entries = b""
    for title, kind, start, size in (
        ("Root Entry", 5, 0xFFFFFFFE, 0),
        (name, 2, 2 if count else 0xFFFFFFFE, len(stream)),
    ):
        raw = title.encode("utf-16-le") + b"\0\0"
        entry = raw.ljust(64, b"\0") + struct.pack(
            "<HBB3L", len(raw), kind, 1, 0xFFFFFFFF, 0xFFFFFFFF, 1 if kind == 5 else 0xFFFFFFFF
        )
        entries += entry.ljust(116, b"\0") + struct.pack("<LQ", start, size)
    first = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    first += struct.pack("<9L", 0, sectors or 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    first += struct.pack("<109L", 0, *[0xFFFFFFFF] * 108)
    return first + struct.pack("<128L", *fat[:128]) + entries.ljust(512, b"\0") + data


def _old_documents() -> Iterator[tuple[Any, ...]]:
    yield "groups.rtf", "office", writer("{\\rtf1 " + "{" * 800_000)
    yield "binary.rtf", "office", writer("{\\rtf1 \\bin2000000000 x" + "\\u8364?" * 200_000)
    yield "words.rtf", "office", writer("{\\rtf1 " + "\\par a" * 500_000 + "}")
    yield "tables.rtf", "office", writer("{\\rtf1 " + "\\trowd" + "\\cellx1 a\\cell" * 200_000 + "\\row}")
    book = struct.pack("<HH", 0x809, 16) + struct.pack("<HH", 0x600, 5).ljust(16, b"\0")
    strings = struct.pack("<HHLL", 0xFC, 8200, 0xFFFFFFFF, 0xFFFFFFFF) + b"\1\0\0a" * 2048
    yield "strings.xls", "office", writer(lambda: _ole(book + strings * 6, "Workbook"))
    yield "chain.xls", "office", writer(lambda: _ole(book + strings * 6, "Workbook", 0xFFFFFF))


def _mail() -> Iterator[tuple[Any, ...]]:
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(5000))
    yield "nested.eml", "mail", writer("From: a\nSubject: b\nMIME-Version: 1.0\n" + deep)
    quoted = base64.encodebytes(gzip.compress(bytes(20 * MB))).decode()
    yield (
        "attached.eml",
        "mail",
        writer("From: a\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n" + quoted),
    )
    yield "folded.eml", "mail", writer("From: a\nSubject: " + "a\n " * 400_000 + "\n\nb\n")


# --- archives ---------------------------------------------------------------------------------------------------------


def _more_archives() -> Iterator[tuple[Any, ...]]:
    yield "overlap.zip", "zip", writer(_overlapping), "!/m0", "!/m1999"
    yield "lzma.zip", "zip", writer(_lzma_zip), "!/a.txt"
    yield "comment.zip", "zip", writer(lambda: zipped({"a.txt": b"a\n"})[:-2] + b"\xff\xff" + bytes(65_535)), "!/a.txt"
    yield (
        "self.zip",
        "zip",
        writer(lambda: zipped({"self.zip": zipped({"self.zip": b"PK\5\6" + bytes(18)})})),
        "!/self.zip!/self.zip",
    )
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 18, "GNU.sparse.name": "s"}
    numbers = b"1000000\n" + b"0\n" * 500_000
    member = (
        with_body(b"pax", b"x", pax(**sparse)) + header(b"s", size=len(numbers)) + numbers + bytes(-len(numbers) % 512)
    )
    yield "sparse-pax.tar", "tar", writer(member), "!/s"
    yield "size-pax.tar", "tar", writer(with_body(b"p", b"x", pax(size="9" * 30)) + header(b"x") + bytes(2000)), "!/x"
    yield (
        "many-pax.tar.gz",
        "tar",
        writer(lambda: gzip.compress((with_body(b"p", b"x", pax(comment="c"))) * 100_000 + header(b"x"))),
        "!/x",
    )
    yield "checksums.tar", "tar", writer((bytes(511) + b"\1") * 20_000)
    wide = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 << 20}]
    yield "wide.log.xz", "compressed", writer(lambda: lzma.compress(b"a line\n" * 12 * MB, filters=wide)), ":-3"
    names = b"".join(b"%d\n" % n for n in range(9))
    yield "blocks.log.zst", "compressed", writer(b"\x28\xb5\x2f\xfd\x00\x38" + b"\0\0\0" * 300_000 + b"\1\0\0" + names)
    yield "single.log.zst", "compressed", writer(b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\1\0\0")
    yield (
        "skipped.log.zst",
        "compressed",
        writer(b"\x28\xb5\x2f\xfd\x20\0\1\0\0" + b"\x50\x2a\x4d\x18\0\0\0\0" * 150_000),
    )
    stored = b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\0\0\0\xff\xff" * 400_000
    yield "stored.log.gz", "compressed", writer(stored)
    yield "name.log.gz", "compressed", writer(b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + b"n" * 4 * MB)


def _overlapping() -> bytes:
    """Return a zip archive with 2,000 members that share one range of bytes, which decodes to 10 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(bytes(10 * MB)) + packer.flush()
    sizes = struct.pack("<3L", zlib.crc32(bytes(10 * MB)), len(body), 10 * MB)
    local = struct.pack("<4s5H", b"PK\3\4", 20, 0, 8, 0, 0) + sizes + struct.pack("<2H", 2, 0) + b"m0" + body
    directory = b""
    for number in range(2000):
        name = b"m%d" % number
        fixed = struct.pack("<4s6H", b"PK\1\2", 20, 20, 0, 8, 0, 0) + sizes
        directory += fixed + struct.pack("<5H2L", len(name), 0, 0, 0, 0, 0, 0) + name
    return local + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2000, 2000, len(directory), len(local), 0)


def _lzma_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("a.txt", b"a line\n" * 8 * MB)
    data = buffer.getvalue()
    at = data.index(b"a.txt") + 5
    return data[: at + 5] + struct.pack("<L", 64 << 20) + data[at + 9 :]


# --- PDF, markup ------------------------------------------------------------------------------------------------------


def _more_pdfs() -> Iterator[tuple[Any, ...]]:
    catalog, pages = b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    inside = zlib.compress(b"1 0 " * 100_000 + b"<< >> " * 100_000, 9)
    objects = _stream(inside, b"/Type /ObjStm /N 100000 /First 400000 /Filter /FlateDecode /Extends 3 0 R")
    yield "objects.pdf", "pdf", writer(_pdf(catalog, pages, objects))
    plain = _pdf(catalog, b"<< /Type /Pages /Kids [] /Count 0 >>")
    yield "previous.pdf", "pdf", writer(plain.replace(b"/Size", b"/Prev 9 /Size"))
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 4 0 R >> >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R "
    page += b"/Resources << /XObject << /F 4 0 R >> >> >>"
    yield "forms.pdf", "pdf", writer(_pdf(catalog, pages, page, _stream(b"/F Do " * 50_000, form)))
    image = _stream(
        zlib.compress(bytes(1000)),
        b"/Subtype /Image /Width 65000 /Height 65000 /BitsPerComponent 8 /ColorSpace /DeviceRGB /Filter /FlateDecode",
    )
    yield (
        "image.pdf",
        "pdf",
        writer(_page(_stream(b"/I Do"), resources=b"<< /XObject << /I 5 0 R >> >>") + b"5 0 obj\n" + image),
    )
    outline = b"<< /Type /Catalog /Pages 2 0 R /Outlines << /First 3 0 R >> >>"
    yield (
        "outline.pdf",
        "pdf",
        writer(_pdf(outline, b"<< /Type /Pages /Kids [] /Count 0 >>", b"<< /Title (a) /Next 3 0 R /First 3 0 R >>")),
    )
    # pdfium decompresses an attached file to find its size.
    names = b" ".join([b"(a%d) 4 0 R" % number for number in range(20_000)])
    attached = b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [%s] >> >> >>" % names
    bare = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    yield (
        "attached.pdf",
        "pdf",
        writer(
            lambda: _pdf(
                attached,
                pages,
                bare,
                b"<< /Type /Filespec /F (x) /UF (x) /EF << /F 5 0 R >> >>",
                _stream(zlib.compress(bytes(50 * MB)), b"/Filter /FlateDecode"),
            )
        ),
    )


def _markup() -> Iterator[tuple[Any, ...]]:
    yield "deep.svg", "markup", writer("<svg xmlns='http://www.w3.org/2000/svg'>" + "<g>" * 300_000)
    yield "uses.svg", "markup", writer(_svg_of_uses())
    yield "size.svg", "markup", writer("<svg xmlns='http://www.w3.org/2000/svg' width='1e9' height='1e9'><rect/></svg>")
    yield (
        "path.svg",
        "markup",
        writer("<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0" + " L1 1" * 400_000 + "'/></svg>"),
    )
    blurs = "<filter id='f'>" + "<feGaussianBlur stdDeviation='9999'/>" * 5000 + "</filter>"
    area = "<rect filter='url(#f)' width='500' height='500'/>"
    yield (
        "filter.svg",
        "markup",
        writer(f"<svg xmlns='http://www.w3.org/2000/svg' width='500' height='500'>{blurs}{area}</svg>"),
    )
    row = b"1 " * 3000 + b"\n"
    yield "rows.pbm", "markup", writer(b"P1\n3000 3000\n" + row * 3000)
    yield (
        "entities.xml",
        "markup",
        writer(
            "<?xml version='1.0'?><!DOCTYPE a ["
            + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10 if n else 'aaaaaaaaaa'}'>" for n in range(12))
            + "]><a>&a11;</a>"
        ),
    )
    yield "attributes.xml", "markup", writer("<a " + " ".join(f"a{n}='1'" for n in range(100_000)) + "/>")
    yield (
        "headings.html",
        "html",
        writer("<html>" + "".join(f"<h{n % 6 + 1}>h{n}</h{n % 6 + 1}>" for n in range(60_000))),
    )
    yield "tables.html", "html", writer("<html>" + "<table><tr><td>" * 60_000)
    yield "script.html", "html", writer("<html><script>" + "<" * 2 * MB)
    yield "select.html", "html", writer("<html>" + "<b><i><a>" * 150_000 + "</b></i></a>" * 150_000)
    yield (
        "aliases.yaml",
        "yaml",
        writer("a: &a\n" + "".join(f"b{n}: &b{n} [{', '.join(['*a'] * 50)}]\n" for n in range(4000))),
    )
    yield "indents.yaml", "yaml", writer("".join(" " * n + "a:\n" for n in range(3000)))
    yield "quoted.toml", "toml", writer('a = """' + "\\u0041" * 300_000 + '"""\n')
    yield "inline.toml", "toml", writer("a = " + "{b = " * 200_000)
    yield (
        "attachments.ipynb",
        "notebook",
        writer(b'{"cells":[{"attachments":{' + b",".join(b'"%d":{}' % n for n in range(300_000)) + b"}}]}"),
    )


def _svg_of_uses() -> str:
    text = "<svg xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'><g id='a0'><rect/></g>"
    for level in range(1, 12):
        text += f"<g id='a{level}'>" + f"<use x:href='#a{level - 1}'/>" * 10 + "</g>"
    return text + "<use x:href='#a11'/></svg>"


# --- searches and directories -----------------------------------------------------------------------------------------


def _searches() -> Iterator[tuple[Any, ...]]:
    patterns = ("?a+a+a+a+$", "?(a|aa)+$", "?(a*)*b", "?" + "a?" * 100 + "a" * 100, "?.*.*.*.*x", "?[a-z]{1,200}[0-9]")
    yield "search.txt", "search", writer(b"a" * 2 * MB + b"\n"), *patterns
    yield "search-lines.txt", "search", writer(b"aaaaaaaaaaaaaaaaaaaaaaaa\n" * 200_000), *patterns[:4], "?a"
    yield "search.log.gz", "search", writer(lambda: gzip.compress(b"aaaa aaaa\n" * 4 * MB)), "?(a|aa)+b", "?zzz"
    yield "search.csv", "search", writer(b"a,b\n" + b"aaaa,aaaa\n" * 300_000), "?(a*)*b"


def _directories() -> Iterator[tuple[Any, ...]]:
    def make_many(path: Path) -> None:
        path.mkdir()
        for number in range(100_000):
            os.close(os.open(path / f"{number}", os.O_CREAT | os.O_WRONLY, 0o600))

    def make_deep(path: Path) -> None:
        path.mkdir()
        fd = os.open(path, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d", dir_fd=fd)
            below = os.open("d", os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
        os.close(fd)

    def make_links(path: Path) -> None:
        path.mkdir()
        for number in range(2000):
            (path / f"l{number}").symlink_to(".")

    def make_sources(path: Path) -> None:
        path.mkdir()
        for number in range(3000):
            (path / f"m{number}.py").write_text("def f():\n    pass\n" * 200)

    def make_definitions(path: Path) -> None:
        path.mkdir()
        for number in range(1500):
            names = [f"def {'n' * 100}{number}_{each}(): pass\n" for each in range(120)]
            (path / f"m{number}.py").write_text("".join(names))

    def make_letters(path: Path) -> None:
        path.mkdir()
        for number in range(1, 240):
            (path / ("a" * number)).touch()

    yield "definitions", "directory", make_definitions, "/", "/**/*"
    yield "letters", "directory", make_letters, "/" + "*a" * 60 + "c", "/" + "**/" * 60 + "*a*a*a*c", "/[b-a]*"
    yield "many-names", "directory", make_many, "/"
    yield "deep-names", "directory", make_deep, "/"
    yield "links", "directory", make_links, "/l1/l2/l3"
    yield "sources", "directory", make_sources, "/", "?def f"
