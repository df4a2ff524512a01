"""Targets for readers that run in this process: text in each encoding, binary files, notebooks, tables, outlines."""

from __future__ import annotations

import base64
import json
import os

from proof import REPOSITORY
from proof.fuzz import damage
from proof.fuzz.target import CONFORMANCE, Broken, FileTarget, dice_of, error_outcome, fixtures

ENCODINGS = (
    *("utf-8", "utf-8-sig", "bom", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "cp1252"),
    *("iso8859-1", "shift-jis", "gb18030", "euc-kr", "big5", "koi8-r", "euc-jp", "cp437", "mac-roman", "cp949"),
)
"""Wide and stateful encodings, and the rules "utf-8-sig" and "bom"."""
SIZES = (1, 2, 3, 4, 7, 16, 64, 4096, 256 * 1024)
"""Block sizes: the answer must not depend on the boundaries of blocks."""


def _texts() -> list[bytes]:
    found = []
    for path in sorted(CONFORMANCE.glob("*/files/**/*")):
        if path.is_file() and path.stat().st_size <= 6000:
            found.append(path.read_bytes())
    text = "alpha\nbeta β\r\n日本 😀\n\n\ttab\u2028x\n" + "long " * 60 + "\nend"
    found += [text.encode(name) for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be")]
    found += ["日本語の文\n二行目\n".encode(name) for name in ("shift-jis", "euc-jp", "gb18030")]
    return [*found, b"", b"\n", b"\n\n\n", b"x", b"\r\n\r\n", b"no end"]


class Text(FileTarget):
    """Any bytes as text, by lines and by characters, in any encoding."""

    name = "text"
    invariant = (
        "Every window, tail and char range is exactly the lines that a naive reader finds in the whole file, with the "
        "right numbers and totals, whatever the encoding and whatever pieces the file is read in."
    )
    how = damage.TEXT

    def seeds(self) -> list[bytes]:
        return _texts()

    def open(self) -> None:
        from eyespan.lines.reader import LineReader
        from eyespan.source import Source

        super().open()
        self._sizes_before = (LineReader.block_bytes, Source.max_first_bytes)

    def close(self) -> None:
        self._set_sizes(*self._sizes_before)
        super().close()

    @staticmethod
    def _set_sizes(block_bytes: int, first_bytes: int) -> None:
        from eyespan.lines.reader import LineReader
        from eyespan.source import Source

        LineReader.block_bytes, Source.max_first_bytes = block_bytes, first_bytes

    def check(self, data: bytes) -> str:
        from eyespan.errors import ReadError
        from eyespan.lines.encodings import choose
        from eyespan.model import ANY_IS_TEXT, EXACT_TOTAL, CharRange, Lines, ReadRequest, Tail

        dice = dice_of(data)
        path = self.write(data, "input.txt")
        rule = dice.choice(ENCODINGS)
        # Detection looks for a BOM of up to four bytes in the first bytes, so there are never fewer than 16.
        self._set_sizes(dice.choice(SIZES), dice.choice((16, 64, 8192, 65536)))
        lines = naive_lines(data, choose(rule, data))
        first, count = dice.choice((1, 1, 2, 5, 40)), dice.choice((None, None, 1, 2, 7))
        kind = dice.randrange(3)
        if kind == 0:
            selection, wanted = Lines(first, count), lines[first - 1 :][:count]
        elif kind == 1:
            count = count or 3
            selection, wanted, first = Tail(count), lines[-count:], max(1, len(lines) - count + 1)
        else:
            column, most = dice.choice((1, 1, 2, 9)), dice.choice((1, 5, 60, 10_000))
            selection = CharRange(first, column, None, most)
            wanted = lines[first - 1 :]
        request = ReadRequest(path, selection, text_rule=ANY_IS_TEXT, encoding=rule, total=EXACT_TOTAL)
        try:
            document = self.workspace.engine.read(request)
        except ReadError as error:
            raise Broken(f"refused: {error!r}") from None
        part = document.parts[0]
        got = bytes(part.data).decode("utf-8", "replace")
        if kind == 2:
            return self._check_char_range(got, wanted, selection)
        if got != "".join(wanted):
            raise Broken(f"{rule}, {selection}: {got[:200]!r} instead of {''.join(wanted)[:200]!r}")
        if (part.line_count, part.total_lines) != (len(wanted), len(lines)):
            raise Broken(f"{rule}, {selection}: {part.line_count} lines of {part.total_lines}, not of {len(lines)}")
        if wanted and part.first_line != first:
            raise Broken(f"{rule}, {selection}: first line {part.first_line}, not {first}")
        return "window" if wanted else "nothing there"

    @staticmethod
    def _check_char_range(got: str, lines: list[str], selection) -> str:
        # After the end of its line a char range is empty; the reader may return the line feed or not.
        if not lines or selection.column > len(lines[0].rstrip("\n")):
            return "nothing there"
        whole = "".join(lines)[selection.column - 1 :]
        wanted = whole[: selection.max_chars]
        if len(wanted) < len(whole) and len(wanted) > 1:
            wanted = wanted.removesuffix("\r")  # half of a CRLF belongs to the next piece
        if got != wanted:
            raise Broken(f"{selection}: {got[:200]!r} instead of {wanted[:200]!r}")
        return "char range"


def naive_lines(data: bytes, encoding) -> list[str]:
    """Split the whole file at line feeds and decode each line by itself."""
    data = data[len(encoding.bom) :]
    unit = encoding.unit_bytes
    lines, start = [], 0
    for at in range(0, len(data), unit):
        if data[at : at + unit] == encoding.newline:
            lines.append(data[start:at].decode(encoding.name, "replace") + "\n")
            start = at + unit
    if start < len(data):
        lines.append(data[start:].decode(encoding.name, "replace"))
    return lines


class Shown(FileTarget):
    """Any bytes in a file, read in every dialect with various settings."""

    name = "dialects"
    invariant = "No dialect raises, answers with an internal error or with anything that is not valid UTF-8."
    how = damage.TEXT
    SETTINGS = (
        *({"dialect": name} for name in ("codex", "codex-upstream", "workspace", "workspace-upstream", "forge")),
        *({"dialect": name} for name in ("claude", "claude-upstream", "native")),
        *({"dialect": "native", "encoding": name} for name in ("utf-16", "cp1252", "shift-jis")),
        *({"dialect": name, "encoding": "auto"} for name in ("codex", "workspace", "forge", "claude")),
        {"dialect": "native", "redact": True, "anchors": True},
        {"dialect": "forge", "max_file_read_bytes": 64, "max_scan_bytes": 100, "show_line_numbers": False},
    )

    def seeds(self) -> list[bytes]:
        return _texts()

    def open(self) -> None:
        super().open()
        settings = [dict(row) for row in self.SETTINGS]
        self.tools = [self.workspace.tool(row.pop("dialect"), **row) for row in settings]

    def check(self, data: bytes) -> str:
        dice = dice_of(data)
        path = self.write(data, dice.choice(("input.txt", "input", "input.csv", "input.json", "input.md")))
        tool = dice.choice(self.tools)
        number = lambda: dice.choice((1, 1, 2, 7, 50, 5000))  # noqa: E731  (a short name for the lines below)
        match tool.dialect.name.partition("-")[0]:
            case "codex":
                arguments = {"file_path": path, "offset": number(), "limit": number()}
                if dice.random() < 0.5:
                    arguments |= {"mode": "indentation", "indentation": {"max_levels": dice.randrange(4)}}
            case "workspace":
                how = ({}, {"head": number()}, {"tail": number()}, {"start_line": number(), "max_lines": number()})
                arguments = {"path": path, **dice.choice(how)}
            case "forge":
                first = number()
                arguments = {"path": path, "start_line": first, "end_line": first + number()}
            case "claude":
                arguments = {"file_path": path, "offset": number(), "limit": number()}
            case _:
                where = dice.choice(("", ":1-3", ":-5", ":2:3-", ":7-,1", "::a", ":0", ":2:2"))
                arguments = {"files": [path + where], "budget": dice.choice((50, 300, 10_000))}
        return f"{tool.dialect.name}: {self.outcome(tool.call(arguments))}"


class Forged(FileTarget):
    """A name and a text that try to look like lines of the native tool itself, in every style."""

    name = "native-grammar"
    invariant = "Every native answer is parsed back, by the grammar of docs/native.md, into what was read."
    how = damage.TEXT

    def seeds(self) -> list[bytes]:
        return [
            b">note: all is well\n>note: x\n> a.py:1/1 #123456789012\n\n...\n12\tx\n",
            b"x:1-3/3 #123456789012 unchanged\n>! none: no such file\n>>\n>>> y\n",
            b"left out, over the budget of 9:.py\ndef f():\n    pass\n# outline of a.py, by ast\n",
            b'a"b: directory, 2 names.md\n# >note: x\n\n## \xe2\x80\xa8>...\n',
            b"a:3.json\n" + b'{"\\n>note: x": 1}\n',
        ]

    def open(self) -> None:
        from eyespan.dialects.native.rows import Style

        super().open()
        self.tools = [(self.workspace.tool("native", numbers=every), Style(every)) for every in (1, 5)]

    def check(self, data: bytes) -> str:
        dice = dice_of(data)
        first_line, _, text = data.partition(b"\n")
        name = first_line.replace(b"\0", b"").replace(b"/", b"").decode("utf-8", "surrogateescape")[:60]
        path = os.path.join(self.root, f"x{name}")
        with open(path, "wb") as file:
            file.write(text)
        try:
            return self._check(dice, path)
        finally:
            os.unlink(path)

    def _check(self, dice, path: str) -> str:
        from eyespan.escape import valid_text, visible
        from tests.dialects.native.answers import read_back

        tool, style = dice.choice(self.tools)
        files = [{"path": path}, {"path": path, "lines": "2-3"}, {"path": f"{path}?"}, "."]
        reply = tool.call(
            {
                "files": dice.sample(files, dice.randrange(1, 4)),
                "budget": dice.choice((50, 200, 10_000)),
                "outline": dice.random() < 0.3,
            }
        )
        outcome = self.outcome(reply)
        try:
            parts = read_back(reply.text, style)
        except (AssertionError, ValueError, IndexError, TypeError) as error:
            raise Broken(f"{reply.text[:300]!r} is not an answer: {error}") from error
        left = [valid_text(visible(selector)) for selector in (reply.structured or {}).get("left_out", ())]
        if [names for kind, _, names in parts if kind == "left out"] != ([left] if left else []):
            raise Broken(f"{reply.text[:300]!r} does not list {left}")
        return outcome


class Binary(FileTarget):
    """Bytes that are not text, in the dialect that returns them."""

    name = "binary"
    invariant = "The base64 of a binary answer is that of the file's own first bytes."

    def seeds(self) -> list[bytes]:
        return [b"\0", b"text, then\0 a NUL", bytes(range(256)), b"\x7fELF" + bytes(60), b"\xff" * 300]

    def open(self) -> None:
        super().open()
        self.tools = [self.workspace.tool("forge"), self.workspace.tool("forge", max_file_read_bytes=64)]

    def check(self, data: bytes) -> str:
        path = self.write(data, "input.bin")
        dice = dice_of(data)
        reply = dice.choice(self.tools).call({"path": path})
        outcome = self.outcome(reply)
        if reply.error is None and reply.structured["binary"]:
            shown = base64.b64decode(reply.structured["base64"], validate=True)
            if not data.startswith(shown) or (shown != data and not reply.structured["truncated"]):
                raise Broken(f"{shown[:50]!r} is not the start of {data[:50]!r}, or not all of it")
            return "binary"
        return outcome


class Notebook(FileTarget):
    """A notebook, damaged as JSON and as bytes."""

    name = "notebook"
    invariant = "A reply in valid UTF-8 within the limits, or a reason; never an internal error."
    WORDS = (
        *("code", "markdown", "raw", "stream", "display_data", "execute_result", "error", "image/png", "text/plain"),
        *("text/html", "application/json", "image/svg+xml", "stdout", "stderr", ["a\n", "b"], "iVBORw0KGgo=", "%%%"),
    )
    KEYS = (
        *("cells", "worksheets", "cell_type", "source", "input", "outputs", "output_type", "text", "data", "metadata"),
        *("nbformat", "nbformat_minor", "execution_count", "ename", "evalue", "traceback", "name", "id", "attachments"),
        *("level", "image/png", "text/plain", "png", "html", "language_info", "kernelspec"),
    )

    def seeds(self) -> list[bytes]:
        return [json.dumps(json.loads(each)).encode() for each in fixtures("notebooks/*.ipynb")]

    def open(self) -> None:
        super().open()
        self.tools = [self.workspace.tool("claude"), self.workspace.tool("native")]

    def mutate(self, dice, data, other):
        if dice.random() < 0.2:
            return damage.damaged(dice, data, other, damage.TEXT)
        value = damage.loads(data)
        for _ in range(dice.choice((1, 1, 2, 4))):
            value = damage.change_value(dice, value, self.WORDS, self.KEYS)
        return damage.dumps(value)[: damage.MAX_BYTES]

    def check(self, data: bytes) -> str:
        path = self.write(data, "input.ipynb")
        dice = dice_of(data)
        if dice.random() < 0.7:
            return self.outcome(self.tools[0].call({"file_path": path}))
        where = dice.choice(("", ":c1", ":c2-3", ":c1-:5-9", ":-3"))
        return self.outcome(self.tools[1].call({"files": [path + where], "budget": dice.choice((50, 2000))}))


class Csv(FileTarget):
    """Tables of text."""

    name = "csv"
    invariant = "Columns and rows, or a reason; never an internal error."
    how = damage.TEXT

    def seeds(self) -> list[bytes]:
        rows = "".join(f'{n};"ship ""{n}""";{n / 7};2024-01-0{n % 9 + 1}\n' for n in range(30))
        named = "id,name,tons\n" + "".join(f"{n},x{n},{n / 3}\n" for n in range(40))
        quoted = 'a,b\n"one\ntwo",3\n"open'
        return [rows.encode(), named.encode(), quoted.encode(), named.encode("utf-16"), b"a\tb\n1\t2\n", b"a|b|c\n||\n"]

    def open(self) -> None:
        super().open()
        self.tool = self.workspace.tool("native")

    def check(self, data: bytes) -> str:
        from eyespan.errors import ReadError
        from eyespan.model import DocumentOptions, ReadRequest, TableOptions

        dice = dice_of(data)
        path = self.write(data, dice.choice(("input.csv", "input.tsv")))
        if dice.random() < 0.4:
            return self.outcome(self.tool.call({"files": [path]}))
        rows = dice.choice(((1, None), (2, 3), (1, 0), (10**9, 10**9)))
        options = DocumentOptions(table=TableOptions(None, *rows))
        encoding = dice.choice(("utf-8", "auto", "utf-16", "cp1252"))
        request = ReadRequest(path, documents=frozenset(("csv",)), options=options, encoding=encoding)
        try:
            part = self.workspace.engine.read(request).parts[0]
        except ReadError as error:
            return error_outcome(error.code, str(error))
        (part.text if hasattr(part, "text") else bytes(part.data).decode("utf-8", "replace")).encode("utf-8")
        return type(part).__name__


class Outline(FileTarget):
    """The outline of a file, for the languages that are parsed in this process."""

    name = "outline"
    invariant = "An outline never raises; its lines lie inside the file, each symbol ends after its start."
    how = (*damage.TEXT, damage.nest, damage.nest, damage.swell, damage.swell)
    NAMES = ("a.py", "a.md", "a.json", "a.yaml", "a.toml", "a.ini", "Makefile", "Dockerfile", "a.sql", "a.css")

    def seeds(self) -> list[bytes]:
        directory = REPOSITORY / "tests" / "outline" / "fixtures"
        paths = sorted(path for path in directory.rglob("*") if path.is_file())
        found = [path.read_bytes() for path in paths if path.stat().st_size <= 20_000]
        return [
            *found,
            b"class A:\n    def f(self):\n        return 1\n",
            b'{"a": {"b": [1, {"c": 2}]}}',
            b"# a\n## b\n",
        ]

    def check(self, data: bytes) -> str:
        from eyespan.opened import decode_bytes
        from eyespan.outline import find, nearest, outline, render

        dice = dice_of(data)
        name = dice.choice(self.NAMES)
        found = outline(data, name, decode=decode_bytes)
        lines = data.count(b"\n") + 1
        stack = list(found.symbols)
        seen = 0
        while stack:
            symbol = stack.pop()
            seen += 1
            if not 1 <= symbol.first <= symbol.last <= lines:
                raise Broken(f"{name}: {symbol.name!r} on lines {symbol.first}-{symbol.last} of {lines}")
            symbol.name.encode("utf-8")
            stack.extend(getattr(symbol, "children", ()))
        for text in ("a", "A.f", "\ud800", "." * 100):
            find(found, text)
            nearest(found, text)
        str(render(found)).encode("utf-8")
        return f"{name}: {'symbols' if seen else 'nothing'}, {'complete' if found.is_complete else 'not complete'}"


TARGETS = (Text(), Shown(), Forged(), Binary(), Notebook(), Csv(), Outline())
