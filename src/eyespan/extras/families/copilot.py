"""VS Code Copilot `read_file`: a range of lines without numbers in a fenced block, after a line that names the range.

Names, limits and notices follow the program; docs/dialects/copilot.md lists the differences.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.table import Call, Page, Paths, TableDialect, Window
from eyespan.model import EXACT_TOTAL, MIB

MAX_LINES = 2000
_HEADER = "File: `{path}`. Lines {first} to {last} ({total} lines total): \n"
_BLOCK = "{fence}{language}\n{body}\n{fence}"
_NAMES = (
    ".c:c .cpp:cpp .cs:csharp .css:css .go:go .h:c .html:html .java:java .js:javascript .json:json .md:markdown "
    ".php:php .py:python .rb:ruby .rs:rust .sh:shellscript .sql:sql .ts:typescript .tsx:typescriptreact .xml:xml "
    ".yaml:yaml .yml:yaml"
)
_LANGUAGES = dict([pair.split(":") for pair in _NAMES.split()])
"""The names of languages in VS Code, by suffix."""


class Copilot(TableDialect):
    """The tool as the program has it, with `offset` and `limit`."""

    name = "copilot"
    own_paths = r"\AFile: `.*"
    summary = "read_file of VS Code Copilot: lines in a fenced block, offset and limit, 2,000 lines per call"
    instructions = "Text is returned by lines, at most 2,000 per call; offset and limit read on."
    tool = "read_file"
    description = (
        "Reads a file. Lines count from 1. At most 2000 lines are returned; call it again with offset and limit to "
        "read larger files in parts."
    )
    fields = (
        Field("filePath", "string", "The absolute path of the file to read.", required=True),
        Field("offset", "number", "The line to start at, counted from 1."),
        Field("limit", "number", "The most lines to read."),
    )
    wording = Wording("ERROR: Your input to the tool was invalid ({})", type="{name} must be {type}")
    paths = Paths("filePath")
    window = Window(first="offset", count="limit", max_lines=MAX_LINES)
    max_size = 8 * MIB
    total = EXACT_TOTAL
    answers = {
        "empty": "(The file `{path}` exists, but is empty)",
        "full": _HEADER
        + "{fence}{language}\n{body}\n[File content truncated at line {last}. Use read_file with offset/limit "
        "parameters to view more.]\n\n{fence}",
        "more": _HEADER + _BLOCK,
        "any": _BLOCK,
    }
    refused = {"past_end": "Invalid offset {offset}: file only has {total} line{plural}. Line numbers are 1-indexed."}

    def check(self, values: dict[str, Any]) -> None:
        if values["limit"] is not None:  # the program reads to the line `offset + limit`, and that line too
            values["limit"] = max(1, values["limit"]) + 1 if values["limit"] else None

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        if page.count and page.count == page.total and not page.body.strip():
            return [f"(The file `{call.path}` exists, but contains only whitespace)"]
        return super().texts(call, page, path)

    def facts(self, call: Call, page: Page, path: str) -> dict[str, Any]:
        runs = [len(run) for run in re.findall("`{3,}", page.body)]
        language = _LANGUAGES.get(os.path.splitext(call.path)[1].lower(), "plaintext")
        more = {"fence": "`" * max([3, *[run + 1 for run in runs]]), "language": language}
        return {**super().facts(call, page, path), **more, "plural": "" if page.total == 1 else "s"}
