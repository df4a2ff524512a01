"""Deep Agents `read_file`: a header such as `@@ lines 1-100 of 300 | next offset 100 @@`, then lines without numbers.

Names, limits and notices follow the program; docs/dialects/deepagents.md lists the differences.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eyespan.dialects.arguments import LAX, BadArguments, Field, Wording
from eyespan.dialects.base import only_text, text_notes
from eyespan.dialects.opened_lines import line_length
from eyespan.dialects.table import Call, Page, Paths, TableDialect, Window
from eyespan.guard.paths import beneath
from eyespan.guard.roots import Root
from eyespan.model import EXACT_TOTAL, NUL_OR_BAD_UTF8_IS_BINARY, CharRange, Limits, Lines
from eyespan.opened import Opened

DEFAULT_LINES = 100
MAX_CHARS = 80_000
"""An answer is shorter than this, its header and notices included."""
EMPTY = "System reminder: File exists but has empty contents"
CUT = (
    "[Output was truncated due to size limits. The file content is very large. Consider reformatting the file to make "
    "it easier to navigate.]"
)


class VirtualPaths(Paths):
    """Paths of a tree that starts at `/`: an absolute path that is below no root counts from the first root."""

    def resolved(self, asked: str, roots: Sequence[Root]) -> str:
        path = asked if "\0" in asked else os.path.normpath(asked)
        is_elsewhere = os.path.isabs(path) and beneath(path, roots) is None
        return (path.lstrip("/") or ".") if is_elsewhere else path

    def shown(self, asked: str, roots: Sequence[Root]) -> str:
        path = asked if "\0" in asked else os.path.normpath(asked)
        return path if path.startswith("/") else f"/{path}"


class DeepAgents(TableDialect):
    """The tool as the program has it."""

    name = "deepagents"
    summary = "read_file of Deep Agents: 100 lines by default, offset from 0, a header with the lines and the total"
    instructions = (
        "Text is returned by lines, 100 by default and at most 80,000 characters per call; offset counts from 0. "
        "Images and PDFs are returned as such."
    )
    sends_documents = True
    tool = "read_file"
    description = (
        f"Reads a file, by default its first {DEFAULT_LINES} lines; offset and limit read on. A header, `@@ field | "
        "field @@`, stands before the lines; it is not part of the file. Images and PDFs come as such."
    )
    fields = (
        Field("file_path", "string", "The file to read.", required=True),
        Field("offset", "integer", "The number of lines to skip: 0 starts with the first line.", default=0, takes=LAX),
        Field("limit", "integer", "The most lines to read.", default=DEFAULT_LINES, takes=LAX),
    )
    wording = Wording("Error: invalid arguments: {}")
    paths = VirtualPaths("file_path")
    window = Window(first="offset", count="limit", origin=0)
    documents = frozenset(("image", "pdf"))
    text_rule = NUL_OR_BAD_UTF8_IS_BINARY
    read_limits = Limits(max_line_bytes=4 * MAX_CHARS, max_line_chars=MAX_CHARS)
    counts_cut_chars = True
    refused = {"past_end": "Error: Line offset {offset} exceeds file length ({total} lines)"}
    platform = "python"
    error_form = "Error: {}"
    error_texts = {
        "not_found": "File '{path}' not found",
        "not_regular": "File '{path}' not found",
        "tool_denied": "this tool is denied by policy",
        "policy_denied": "permission denied for read on {path} by the rule {rule}",
        "outside_root": "'{path}' is outside the directories that may be read",
        "binary": "Error reading file '{path}': the file is binary, or its text is not UTF-8",
        "any": "Error reading file '{path}': {reason}",
    }

    def check(self, values: dict[str, Any]) -> None:
        path = values["file_path"]
        if ".." in path.replace("\\", "/").split("/") or path.startswith("~"):
            raise BadArguments("invalid_path", f"Error: Path traversal not allowed: {path}")
        if path[1:2] == ":" and path[:1].isalpha() and path[:1].isascii():
            text = f"Error: Windows absolute paths are not supported: {path}. Use a path below the workspace"
            raise BadArguments("invalid_path", text)

    def page(self, call: Call, opened: Opened) -> Page:
        first = max(call["offset"], 0) + 1
        document = opened.read(Lines(1, 1), total=EXACT_TOTAL)
        total = only_text(document).total_lines or 0
        empty = Page("", first=1, count=0, total=total, notes=text_notes(document))
        if not total or call["limit"] <= 0:
            return empty
        if first > total:
            return replace(empty, first=first)
        last = min(first + call["limit"] - 1, total)
        document = opened.read(CharRange(first, 1, last, 2 * MAX_CHARS))  # a line end may take two
        part = only_text(document)
        body = part.data.decode("utf-8", "replace").replace("\r\n", "\n")
        count = last - first + 1
        if not part.cut_short:
            body = body.removesuffix("\n")
        page = Page(body, first, count, more=last < total, total=total, notes=text_notes(document))
        if not part.cut_short and len(_assembled(call, page)) < MAX_CHARS:
            return page
        room = MAX_CHARS - len(_assembled(call, replace(page, body="", is_full=True, count=total, more=True)))
        end = body.rfind("\n", 0, room + 1) if len(body) > room else len(body)
        if end >= 0:
            count = body.count("\n", 0, end) + 1
            return replace(page, body=body[:end], count=count, more=first + count - 1 < total, is_full=True)
        # No line fits: the header counts the characters of the first one, and those that are shown.
        whole = line_length(opened, first)
        page = replace(page, count=1, more=first < total, is_full=True, cut=[whole])
        return replace(
            page, body=body[: MAX_CHARS - len(_assembled(call, replace(page, body=""))) - len(str(whole)) + 1]
        )

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        if page.count:
            return [_assembled(call, page)]
        if not page.total:
            return [EMPTY]
        return [
            f"System reminder: no lines were read because `limit` was {call['limit']}. The file was not inspected and "
            "may have contents; retry with `limit` >= 1 to read it."
        ]


def _assembled(call: Call, page: Page) -> str:
    """Return the notices, the header and the lines."""
    lines = []
    if call["offset"] < 0:
        lines.append(f"[Requested offset {call['offset']} is before the start of the file; read from line 1 instead.]")
    fields = [f"lines {page.first}-{page.last} of {page.total}"]
    if page.cut:
        fields += ["truncated mid-line", f"{len(page.body)} of {page.cut[0]} chars"]
    elif page.more:
        fields.append(f"next offset {page.last}")
    if page.is_full:
        lines.append(CUT)
        if not page.cut:
            fields.append("truncated due to size")
    return "\n".join([*lines, f"@@ {' | '.join(fields)} @@", page.body])
