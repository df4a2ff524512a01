"""Targets for the input of models and hosts: arguments, tool calls, selectors."""

from __future__ import annotations

import json
import os
import zipfile

from proof.fuzz import damage
from proof.fuzz.target import CONFORMANCE, SECRET, Broken, FileTarget, Target

PATHS = (
    *("a.py", "long.txt", "wide.txt", "empty", "binary.bin", "directory", "link", "out", "book.ipynb", "table.csv"),
    *("a.zip", "utf16.txt", ".env", "missing", "directory/deep.md", "loop", "pipe", "{root}/a.py", "{root}"),
    *("{root}/../secret", "a.zip!/x.txt", "a.py:1-2", "long.txt:-5", "directory/deep.md::Head", "a.py@HEAD"),
    *("wide.txt:1:100-", "a.py:p1"),
)
KEYS = (
    *("path", "file_path", "files", "file", "paths", "offset", "limit", "head", "tail", "start_line", "end_line"),
    *("max_lines", "mode", "indentation", "anchor_line", "max_levels", "include_siblings", "include_header", "pages"),
    *("budget", "known", "outline", "lines", "symbol", "cells", "sheet", "range", "table", "member", "revision"),
    *("line", "show_line_numbers", "encoding", "max_bytes", "name", "arguments", "id", "type", "input", "function"),
    "call_id",
)


def make_tree(root: str) -> None:
    """Make a small workspace with a file of each kind that needs no worker."""

    def write(name, data):
        with open(os.path.join(root, name), "wb") as file:
            file.write(data)

    os.mkdir(os.path.join(root, "directory"))
    write("a.py", b"import os\n\n\nclass A:\n    def f(self):\n        return 1\n\n\ndef g():\n    pass\n")
    write("long.txt", b"".join(b"line %d\n" % n for n in range(3000)))
    write("wide.txt", b"x" * 30_000 + "é".encode() * 500 + b"\nsecond")
    write("empty", b"")
    write("binary.bin", bytes(range(256)))
    write("directory/deep.md", b"# Head\n\ntext\n\n## Two\n\nmore\n")
    write("table.csv", b"id,name\n1,x\n2,y\n")
    write("utf16.txt", "\ufeffwide β\nlines\n".encode("utf-16-le"))
    write(".env", b"KEY=" + SECRET.encode())
    cell = {"cell_type": "code", "source": ["1 + 1\n", "2"], "outputs": [{"output_type": "stream", "text": "3\n"}]}
    write("book.ipynb", json.dumps({"nbformat": 4, "metadata": {}, "cells": [cell] * 3}).encode())
    with zipfile.ZipFile(os.path.join(root, "a.zip"), "w") as archive:
        archive.writestr("x.txt", "one\ntwo\n")
    os.symlink("a.py", os.path.join(root, "link"))
    os.symlink("../secret", os.path.join(root, "out"))
    os.symlink("loop", os.path.join(root, "loop"))
    os.mkfifo(os.path.join(root, "pipe"))


def placed(value, root: str):
    """Replace `{root}` by the root's real path in all strings of a value."""
    if isinstance(value, str):
        return value.replace("{root}", root)
    if isinstance(value, list):
        return [placed(item, root) for item in value]
    if isinstance(value, dict):
        return {placed(key, root): placed(item, root) for key, item in value.items()}
    return value


class JsonTarget(FileTarget):
    """A target whose input is a JSON value."""

    words: tuple = PATHS
    keys: tuple = KEYS

    def open(self) -> None:
        super().open()
        make_tree(self.root)

    def mutate(self, dice, data, other):
        if dice.random() < 0.05:
            return damage.damaged(dice, data, other, damage.TEXT)
        value = damage.loads(data)
        for _ in range(dice.choice((1, 1, 2, 3, 5))):
            value = damage.change_value(dice, value, self.words, self.keys)
        return damage.dumps(value)[: damage.MAX_BYTES]

    def value(self, data: bytes):
        return placed(damage.loads(data), self.root)


class Arguments(JsonTarget):
    """The arguments of one dialect."""

    invariant = (
        "tool.call never raises and never answers with an internal error; every string of the answer is valid UTF-8, "
        "its size is within the limits, and it contains nothing from outside the root or that a rule denies."
    )
    CONFORMANCE_OF = ("claude", "codex", "forge", "workspace")

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.name = f"arguments-{dialect}"

    def seeds(self) -> list[bytes]:
        found = [{"path": "a.py"}, {"file_path": "{root}/a.py", "offset": 2, "limit": 3}]
        if self.dialect == "native":
            found = [
                {"files": ["a.py:1-2", "long.txt:-5", "directory", "missing"], "budget": 500},
                {"files": [{"path": "a.py", "symbol": "A.f"}], "known": ["482913758201"], "outline": False},
                {"files": "directory/deep.md::Head", "outline": True},
                {"files": [{"path": "a.zip", "member": "x.txt"}, {"path": "book.ipynb", "cells": [1, 2]}]},
                {"files": [{"path": "table.csv", "table": "x"}, {"path": "wide.txt", "lines": "1:100-"}]},
            ]
        base = self.dialect.partition("-")[0]
        cases = CONFORMANCE / self.dialect / "cases.jsonl"
        if base not in self.CONFORMANCE_OF and cases.exists():
            found += [{"command": "view", "path": "a.py"}, {"paths": ["a.py", "missing"]}, {"include": ["**/*.py"]}]
            lines = cases.read_text(encoding="utf-8").rstrip("\n").split("\n")
            found += [json.loads(line)["args"] for line in lines[:: max(1, len(lines) // 40)]]
            found.append({"command": "view", "path": "a.py", "file_path": "{root}/a.py"})
        if base in self.CONFORMANCE_OF:
            lines = (CONFORMANCE / base / "cases.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
            for line in lines[:: max(1, len(lines) // 40)]:
                arguments = json.loads(line).get("args", {})
                key = "file_path" if base in ("claude", "codex") else "path"
                arguments[key] = "{root}/long.txt" if key == "file_path" else "long.txt"
                found.append(arguments)
        return [damage.dumps(value) for value in found]

    def open(self) -> None:
        super().open()
        self.tools = self.workspace.toolset(self.dialect)

    def check(self, data: bytes) -> str:
        tool = self.tools[len(data) % len(self.tools)]
        return self.outcome(tool.call(self.value(data)))


class Calls(JsonTarget):
    """Tool calls as the model APIs return them."""

    name = "calls"
    invariant = (
        "A result in the shape of the calling API, as JSON in valid UTF-8; TypeError for an input that is no tool call."
    )
    words = (*PATHS, '{"path": "a.py"}', '{"path": ', "read_file", "read", "Read", "function_call", "tool_use")

    def seeds(self) -> list[bytes]:
        arguments = json.dumps({"path": "a.py"})
        function = {"name": "read_file", "arguments": arguments}
        return [
            damage.dumps({"type": "function_call", "call_id": "1", "name": "read_file", "arguments": arguments}),
            damage.dumps({"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "long.txt"}}),
            damage.dumps({"type": "function", "id": "1", "function": function}),
        ]

    def open(self) -> None:
        super().open()
        self.tools = [self.workspace.tool("forge"), self.workspace.tool("native")]

    def check(self, data: bytes) -> str:
        from eyespan.hosts import from_tool_call

        value = self.value(data)
        try:
            item = from_tool_call(self.tools, value)
        except TypeError as error:
            if "not a tool call" in str(error):
                return "no tool call"
            raise
        self.complaints.raise_any()
        ids = [value[key] for key in ("call_id", "id") if key in value]
        # The id of a call comes from the host and is returned unchanged.
        json.dumps({k: v for k, v in item.items() if v not in ids}, ensure_ascii=False).encode("utf-8")
        return str(item.get("type") or item.get("role"))


class Selectors(Target):
    """The selector after a path."""

    name = "selectors"
    invariant = (
        "`readings` returns at most 64 targets, the plain name first; a piece that is written and read again is "
        "unchanged, and a target that is written and read again is among the readings."
    )
    how = damage.TEXT

    def seeds(self) -> list[bytes]:
        return [
            *(b"app.py:10-20", b"a.py:10+5", b"a.log:-50", b"a.c:120:8", b"lib.py::Class.method", b"doc.pdf:p3-5:1-4"),
            *(b"nb.ipynb:c2-4", b"book.xlsx:Sheet1!A1:D20", b"app.sqlite:table", b"logs.zip!/app/a.log:-100"),
            *(b"src/a.py@HEAD~2:1-5,40-45", b"a:12:2001-", b"a.zip@v1!/x!/y:c1:-5", b"C:\\x:1", b"a:b:c:d:1", b"@:@!/"),
        ]

    def check(self, data: bytes) -> str:
        from eyespan import selectors

        text = data[:5000].decode("utf-8", "surrogateescape")
        found = selectors.readings(text)
        if not 1 <= len(found) <= selectors.MAX_READINGS or found[0] != selectors.Target(text):
            raise Broken(f"{len(found)} readings, the first {found[0]!r}")
        for target in found:
            if target.piece is not None:
                written = selectors.write_piece(target.piece)
                again = selectors.parse_piece(written)
                if again != target.piece:
                    raise Broken(f"{target.piece!r} is written as {written!r} and read as {again!r}")
            written = selectors.write_target(target)
            again = selectors.readings(written)
            if target not in again and len(again) < selectors.MAX_READINGS:
                raise Broken(f"{target!r} is written as {written!r} and read as {again!r}")
        for selection in selectors.parse_ranges(text) or ():
            if selectors.parse_ranges(selectors.write_range(selection)) != (selection,):
                raise Broken(f"{selection!r} does not come back")
        return str(len({type(target.piece) for target in found}))


def targets() -> tuple[Target, ...]:
    """Return the targets of this module: one for each dialect, and the others."""
    from eyespan.dialects import dialect_names

    return (Selectors(), Calls(), *(Arguments(name) for name in dialect_names()))
