"""Bombs of text: lines, encodings, source code, data formats, configuration, directories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eyespan.outline import registry

MB = 1_000_000
MIB = 1 << 20
SUFFIXES = {language: row.suffixes[0].lstrip(".") for language, row in registry.rows().items()}

DEFINITIONS = {
    "python": "def f(): pass\n",
    "markdown": "# heading\n",
    "json": '{"key": 1}\n',
    "yaml": "key:\n  inner: 1\n",
    "toml": "[table]\nkey = 1\n",
    "ini": "[section]\nkey = 1\n",
    "make": "target: other\n\ttrue\n",
    "dockerfile": "FROM a AS b\n",
    "sql": "CREATE TABLE t (a int);\n",
    "css": ".a { b: c }\n",
    "javascript": "function f() {}\n",
    "typescript": "interface I { a: B }\n",
    "tsx": "function F() { return <a></a> }\n",
    "go": "func f() {}\n",
    "rust": "fn f() {}\n",
    "java": "class A { void f() {} }\n",
    "c": "int f() { return 1; }\n",
    "cpp": "template<class T> int f();\n",
    "csharp": "class A { void F() {} }\n",
    "ruby": "def f; end\n",
    "php": "<?php function f() {} ?>\n",
    "bash": "f() { true; }\n",
    "kotlin": "fun f() {}\n",
    "scala": "def f() = 1\n",
    "swift": "func f() {}\n",
    "lua": "function f() end\n",
    "hcl": 'resource "a" "b" {}\n',
    "protobuf": "message A { int32 b = 1; }\n",
    "graphql": "type A { b: C }\n",
    "html": "<h1>a</h1>\n",
    "xml": "<a><b>c</b></a>\n",
    "rst": "Title\n=====\n",
    "tex": "\\\\section{a}\n",
    "haskell": "f x = x\n",
    "elixir": "def f do\nend\n",
    "ocaml": "let f x = x\n",
    "julia": "function f() end\n",
    "perl": "sub f { 1 }\n",
}
"""One definition in many of the languages that have an outline; the others share one."""
OTHER_DEFINITION = "function f(a) { return a; }\n= section =\nkey = value\n"
NESTED = {"json": "[", "yaml": "{a: [", "markdown": "> - ", "php": "<?php if (1) { f(", "lua": "function f() g({"}


def writer(data: bytes | str | Callable[[], bytes | str]) -> Callable[[Path], None]:
    """Return a function that writes these bytes to a path."""

    def write(path: Path) -> None:
        made = data() if callable(data) else data
        path.write_bytes(made.encode() if isinstance(made, str) else made)

    return write


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, group, function that makes it, selectors."""
    yield from _lines()
    for language, suffix in SUFFIXES.items():
        definition = DEFINITIONS.get(language, OTHER_DEFINITION)
        yield f"many.{suffix}", "source", writer(definition * (MB // len(definition)))
        opening = NESTED.get(language, "{([")
        yield f"deep.{suffix}", "source", writer(opening * (600_000 // len(opening)))
    yield "names.py", "source", writer("import " + ".".join(["a"] * 100_000))
    yield "statements.py", "source", writer("a;" * 400_000)
    yield "lines.py", "source", writer("a\n" * 2**19)
    yield "list.py", "source", writer("[" + "0," * 400_000 + "]")
    yield "template.cpp", "source", writer("a<" * 300_000)
    yield "braces.js", "source", writer("{" * MB)
    yield "at.js", "source", writer("@a" * 300_000)
    yield from _data()


def _lines() -> Iterator[tuple[Any, ...]]:
    yield "newlines.txt", "text", writer(b"\n" * 8 * MB), ":1-8000000", ":-100"
    yield "one-line.txt", "text", writer(b"a" * 16 * MB), ":1:1-1:16000000"
    yield "emoji.txt", "text", writer("\U0001f600".encode() * 4 * MB)
    yield "nul.txt", "text", writer(bytes(8 * MB))
    yield "returns.txt", "text", writer(b"\r" * 8 * MB)
    yield "invalid.txt", "text", writer(b"\xff\xfe\xfd" * 2 * MB)
    yield "latin.txt", "text", writer(b"caf\xe9 " * MB)
    yield "accents.txt", "text", writer(b"a" + "\u0301".encode() * 3 * MB)
    yield "utf-16.txt", "text", writer(b"\xff\xfe" + b"\n\0" * 4 * MB)
    yield "blanks.txt", "text", writer(b" " * 8 * MB + b"\n\t" * 100_000)
    for name, character in (("quotes", b'"'), ("controls", b"\x01")):  # JSON writes them as two and as six characters
        yield f"{name}.txt", "text", writer(character * (MIB - 10))
        # One wide character makes every other one take four bytes.
        yield f"wide-{name}.txt", "text", writer(character * (MIB - 10) + "\U0001f600".encode())
    yield "wide-lines.txt", "text", writer("\U0001f600".encode() + b"abc de\n" * 149_700)
    yield "hidden.txt", "text", writer("\u200b\u202e\n".encode() * MB)

    def make_holes(path: Path) -> None:
        with path.open("wb") as file:
            file.write(b"first\n")
            file.truncate(10**11)

    yield "holes.txt", "text", make_holes, ":1-3"

    def make_directory(path: Path) -> None:
        path.mkdir()
        for number in range(3000):
            (path / f"{number:05}{'n' * 240}").touch()

    yield "names", "directory", make_directory


def _data() -> Iterator[tuple[Any, ...]]:
    yield "wide.json", "json", writer("[" + "0," * MB + "0]")
    yield "lists.json", "json", writer("[" + "[]," * 600_000 + "0]")
    yield "keys.json", "json", writer(lambda: json.dumps({f"key{n}": n for n in range(100_000)}, indent=0))
    yield "string.json", "json", writer('"' + "\\u00e9" * MB + '"')
    yield "digits.json", "json", writer("9" * 4 * MB)
    yield "anchors.yaml", "yaml", writer(_laughs)
    yield "wide.yaml", "yaml", writer("- a\n" * 500_000)
    yield "merge.yaml", "yaml", writer("a: &a {x: 1}\n" + "b: {<<: [" + "*a," * 300_000 + "]}\n")
    yield "dotted.toml", "toml", writer(".".join(["a"] * 400_000) + " = 1\n")
    yield "tables.toml", "toml", writer("".join([f"[[a.b{n}]]\n" for n in range(80_000)]))
    yield "digits.toml", "toml", writer("a = " + "9" * MB)
    yield "sections.ini", "config", writer("".join([f"[s{n}]\nk = v\n" for n in range(80_000)]))
    yield "unclosed.ini", "config", writer("[" * MB + "\n=" * 200_000)
    yield "commas.csv", "csv", writer(b"," * 1_000_000 + b"\n" + b"1,2\n" * 1000), ":rows=1-1000"
    yield "wide.csv", "csv", writer(lambda: ",".join(["\u0416\u0436"] * 180_000) + "\n" + "1\n" * 1000)
    yield "many-wide.csv", "csv", writer((b"," * 900_000 + b"\n") * 8)
    yield "unclosed.csv", "csv", writer(b'a,b\n"' + b"x\n" * 4 * MB)
    yield "quotes.csv", "csv", writer(b'"' * 4 * MB)
    yield "rows.csv", "csv", writer(b"a\n" * 4 * MB)
    yield "cells.csv", "csv", writer(b"a,b\n" + (b"x" * 400_000 + b"," + b"y" * 400_000 + b"\n") * 10)


def _laughs() -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [" + ",".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 12)]
    return "\n".join(lines) + "\n"
