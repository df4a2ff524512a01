"""Bombs that mix kinds: one wide character in a long text, escapes in documents and names, limits just missed."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proof.bombs.archives import _directory_bomb, header, pax, with_body, zipped
from proof.bombs.documents import _database, _notebook, _page, _stream, _word, _workbook
from proof.bombs.texts import MB, writer

WIDE = "\U0001f600"
"""One of these makes every other character of a Python text take four bytes."""


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, group, function that makes it, selectors."""
    yield from _texts()
    yield from _documents()
    yield from _archives()
    yield from _structures()


def _texts() -> Iterator[tuple[Any, ...]]:
    yield "wide-cell.csv", "csv", writer(lambda: f'a,b\n{WIDE},"' + '""' * 25 * MB + '"\n')
    yield "wide-cells.csv", "csv", writer("a,b\n" + f"{WIDE}\x01,{'q' * 200}\n" * 60_000)
    # Lines just short of the longest that a dialect reads, of which it shows a part.
    yield "wide-long-lines.txt", "text", writer(lambda: (WIDE + "x" * 7990 + "\r\n") * 2100), ":1-2000", ":-2000"
    yield "invalid-long-lines.txt", "text", writer(lambda: (b"\xff" * 7999 + b"\n") * 2100), ":1-2000"
    yield "wide-keys.json", "json", writer(lambda: _json({f"k{n}\x01{WIDE}": n for n in range(60_000)}))
    yield "wide-headings.md", "text", writer(lambda: "".join([f"# {WIDE}\x01 heading {n}\n" for n in range(60_000)]))
    yield "quotes.log.gz", "compressed", writer(lambda: gzip.compress((WIDE + '"' * 4 * MB).encode())), ":-1"
    yield "controls.log.bz2", "compressed", writer(lambda: bz2.compress(b"\x01" * 4 * MB + WIDE.encode()))
    yield "search-wide.txt", "search", writer((WIDE + '"' * 60 + "\n") * 100_000), '?"+$', f"?{WIDE}"
    yield "utf-16-wide.txt", "text", writer(lambda: b"\xff\xfe" + ('"' * MB + WIDE).encode("utf-16-le"))
    yield "replaced.txt", "text", writer(b"a\x80" * 500_000)
    yield "strings.jsonl", "json", writer((_json({"a": WIDE + '"' * 500}) + "\n") * 10_000)
    yield "diff.patch", "text", writer("--- a\n+++ b\n" + f'@@ -1 +1 @@\n-{WIDE}\x01\n+"\n' * 200_000)

    def make_names(path: Path) -> None:
        path.mkdir()
        for number in range(3000):
            (path / f'{WIDE}"\x01{number:05}{"q" * 200}').touch()

    yield "wide-names", "directory", make_names


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _documents() -> Iterator[tuple[Any, ...]]:
    cell = {"cell_type": "code", "source": WIDE + '"' * 20_000, "outputs": []}
    output = {"output_type": "stream", "name": "stdout", "text": WIDE + "\x01" * 2 * MB}
    yield "wide-source.ipynb", "notebook", writer(lambda: _notebook(*[cell] * 100))
    yield "wide-output.ipynb", "notebook", writer(lambda: _notebook({"source": "a", "outputs": [output]}))
    yield "wide.docx", "office", writer(lambda: _word(f"<w:p><w:r><w:t>{WIDE + 'q' * 3 * MB}</w:t></w:r></w:p>"))
    yield "runs.docx", "office", writer(lambda: _word("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * MB + "</w:p>"))
    yield "wide.xlsx", "office", writer(lambda: _workbook("".join([_row(n) for n in range(1, 8000)])))
    yield "wide.html", "html", writer("<p>" + WIDE + '"' * MB + "</p>" + "<b>" * MB)
    yield "wide.eml", "mail", writer("From: a\nContent-Type: text/plain; charset=utf-8\n\n" + WIDE + '"' * 6 * MB)
    yield "boundaries.eml", "mail", writer("".join([_part(n) for n in range(10_000)]))
    yield "wide.db", "sqlite", writer(lambda: _database("CREATE TABLE t (a)", *[_insert(150_000)] * 20))
    names = ",".join([f"c{n}" for n in range(2000)])
    values = ",".join([f"'{'x' * 50}'"] * 2000)
    more = [f"INSERT INTO t VALUES ({values})"] * 20
    yield "columns-2000.db", "sqlite", writer(lambda: _database(f"CREATE TABLE t ({names})", *more))
    operators = b"BT /F 1 Tf " + b'("""""""""") Tj 0 -1 Td ' * 100_000 + b"ET"
    yield "quotes.pdf", "pdf", writer(lambda: _page(_stream(zlib.compress(operators), b"/Filter /FlateDecode")))


def _row(number: int) -> str:
    text = WIDE + "&quot;" * 300
    return f'<row r="{number}"><c r="A{number}" t="inlineStr"><is><t>{text}</t></is></c></row>'


def _part(number: int) -> str:
    return f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n"


def _insert(size: int) -> str:
    return f"INSERT INTO t VALUES ('{WIDE}' || hex(zeroblob({size})))"


def _archives() -> Iterator[tuple[Any, ...]]:
    long = (WIDE + '"' * 4 * MB).encode()
    yield "empty-names.zip", "zip", writer(lambda: _directory_bomb(65_000, 0))
    yield "wide-names.zip", "zip", writer(lambda: zipped({f'{WIDE}"{n:05}{"q" * 150}': b"" for n in range(20_000)}))
    named = [pax(path=f'{WIDE}"{n}{"q" * 300}') + header(b"x") for n in range(5000)]
    yield "wide-names.tar.gz", "tar", writer(lambda: gzip.compress(b"".join(named)))
    fields = b"".join([b"1010 k%03d=%s\n" % (n, b"v" * 999) for n in range(900)])
    members = b"".join([header(b"m%d" % n) for n in range(20_000)])
    yield "global-first.tar.gz", "tar", writer(lambda: gzip.compress(with_body(b"g", b"g", fields) + members))
    parts = with_body(b"././@LongLink", b"L", b"n/" * 450_000 + b"\0") + header(b"x")
    yield "parts.tar", "tar", writer(parts), "!/x"
    inner = "!/b.zip!/c.zip"
    yield (
        "zip.zip.zip",
        "nested",
        writer(lambda: zipped({"b.zip": zipped({"c.zip": zipped({"d": long})})})),
        inner,
        f"{inner}!/d",
    )
    yield "wide.tar.xz.gz", "nested", writer(lambda: gzip.compress(lzma.compress(_tar({"a.txt": long})))), "!/a.txt"
    yield "wide-member.zip", "zip", writer(lambda: zipped({"d.txt": long})), "!/d.txt", "!/d.txt:1:1000000-1:1200000"


def _tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _structures() -> Iterator[tuple[Any, ...]]:
    yield "nested.toml", "toml", writer("a = " + "{b = " * 20_000 + "1" + "}" * 20_000)
    yield "flow.yaml", "yaml", writer("{" * 100_000 + "}" * 100_000)
    yield "merged.yaml", "yaml", writer("k0: &a0 {x: 1}\n" + "".join([_merged(n) for n in range(1, 20_000)]))
    text = f"<text>{WIDE}{'&quot;' * 400_000}</text>"
    yield "quotes.svg", "markup", writer(f"<svg xmlns='http://www.w3.org/2000/svg'>{text}</svg>")
    yield "functions.go", "source", writer("package a\n" + "".join([f"func F{n}() {{}}\n" for n in range(200_000)]))
    functions = "".join([f"function f{n}(){{return 'x'}}" for n in range(40_000)])
    yield "one-line.min.js", "source", writer(f"{functions}//{WIDE}")


def _merged(number: int) -> str:
    return f"k{number}: &a{number}\n  <<: *a{number - 1}\n  x{number}: 1\n"
