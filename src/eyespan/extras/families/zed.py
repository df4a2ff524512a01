"""Zed `read_file`: `cat -n` lines, paths that begin with the name of a root, an outline in place of a large file.

Names, numbering and texts follow the program; docs/dialects/zed.md lists the differences.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.table import Call, Gutter, Page, Paths, TableDialect, Window
from eyespan.guard.roots import Root
from eyespan.model import CHEAP_TOTAL
from eyespan.opened import Opened

OUTLINE_BYTES = 16_384
"""A larger file is answered with its outline, unless lines are asked for."""
U32 = (0, 2**32 - 1)
_OUTLINE = (
    "SUCCESS: File outline retrieved. This file is too large to read all at once, so the outline below shows the "
    "file's structure with line numbers.\n\nUse start_line and end_line to read the lines that you need; without "
    "them the answer is the same outline.\n\n"
)


class ZedPaths(Paths):
    """Paths whose first component is the name of a root."""

    def resolved(self, asked: str, roots: Sequence[Root]) -> str:
        name, _, rest = asked.partition("/")
        for root in roots:
            if name and name == os.path.basename(root.path):
                return super().resolved(os.path.join(root.path, rest), roots)
        return super().resolved(asked, roots)


class Zed(TableDialect):
    """The tool as the program has it."""

    name = "zed"
    summary = "read_file of Zed: cat -n, paths from the name of a root, an outline for files over 16 KB"
    instructions = (
        "Text is returned by lines; a file over 16 KB is answered with its outline, whose line numbers start_line and "
        "end_line read. Images are returned as such."
    )
    tool = "read_file"
    description = (
        "Reads a file in the project, with line numbers. A large file is answered with its outline; start_line and "
        "end_line then read a part of it."
    )
    fields = (
        Field("path", "string", "The file: the name of a root, then the path below it.", required=True),
        Field("start_line", "integer", "The first line to read, counted from 1.", takes=(), fits=U32),
        Field("end_line", "integer", "The last line to read, counted from 1 and included.", takes=(), fits=U32),
    )
    wording = Wording(
        missing="missing field `{name}`",
        type="invalid type: {found}, expected {kind}",
        unfit="invalid value: integer `{value}`, expected u32",
        kinds={"integer": "u32"},
    )
    paths = ZedPaths()
    window = Window(first="start_line", last="end_line")
    gutter = Gutter("\t", width=6)
    keeps_ends = True
    total = CHEAP_TOTAL
    documents = frozenset(("image",))
    platform = "rust"
    error_texts = {
        "not_found": "{path} not found",
        "directory": "{path} is a directory, not a file. Use the list_directory tool to explore directory contents.",
        "policy_denied": "Cannot read file because its path matches the global `private_files` setting: {path}",
        "system": "{system}",
    }

    def check(self, values: dict[str, Any]) -> None:
        if values["end_line"] is not None:
            values["end_line"] = max(values["end_line"], values["start_line"] or 1, 1)

    def page(self, call: Call, opened: Opened) -> Page:
        is_whole = call["start_line"] is None and call["end_line"] is None
        if not is_whole or opened.facts.size_bytes <= OUTLINE_BYTES:
            return super().page(call, opened)
        outline = opened.outline()
        rows = []
        for symbol in outline.symbols:
            lines = f"L{symbol.first}" if symbol.first == symbol.last else f"L{symbol.first}-{symbol.last}"
            rows.append(f"{' ' * symbol.depth}{symbol.signature or symbol.name} [{lines}]")
        if not rows:
            return super().page(call, opened)
        page = Page(_OUTLINE + "\n".join(rows), first=1, count=0, more=True)
        return replace(page, notes=(outline.hint,) if outline.hint else ())
