"""Mistral Vibe `read_file`: numbered lines in a list of fields, at most 2,000 by default and 50 KB.

Names, limits and notices follow the program; docs/dialects/vibe.md lists the differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eyespan.dialects.arguments import LAX, Field, Wording
from eyespan.dialects.table import Call, Gutter, Page, Paths, TableDialect, Window
from eyespan.opened import Opened

MAX_LINES = 2000
MAX_BYTES = 50 << 10
_WARNING = "<vibe_warning>Warning: the file exists but %s</vibe_warning>"
_FAILED = "<tool_error>read_file failed: {}</tool_error>"
TOO_LARGE = _FAILED.replace(
    "{}", "Output exceeds maximum allowed size (50.0 KiB). Use offset and limit to read a smaller portion of the file."
)
_FIELDS = (
    "file_path: {path}\ncontent: %s\nnum_lines: {count}\nstart_line: {start}\nrequested_offset: {offset}\n"
    "requested_limit: {limit}\ntotal_lines: {known}\nwas_truncated: {is_cut}"
)


class Vibe(TableDialect):
    """The tool as the program has it."""

    name = "vibe"
    own_paths = r"\Afile_path: .*"
    summary = "read_file of Mistral Vibe: `        1\u2192line` in a list of fields, 2,000 lines by default"
    instructions = "Text is returned by lines, 2,000 by default and at most 50 KB per call; offset reads on."
    tool = "read_file"
    description = f"Reads a text file with line numbers, {MAX_LINES} lines by default, at most 50 KB; offset reads on."
    fields = (
        Field("file_path", "string", "The absolute path of the file to read", required=True),
        Field("offset", "integer", "The line to start at, counted from 1", minimum=1, takes=LAX),
        Field("limit", "integer", "The most lines to read", default=MAX_LINES, minimum=1, takes=LAX, takes_null=False),
    )
    wording = Wording(_FAILED, empty="{name} cannot be empty")
    paths = Paths("file_path", shows_absolute=True, shows_normal=True)
    window = Window(first="offset", count="limit")
    gutter = Gutter("\u2192", width=9)
    max_size = MAX_BYTES
    hides_bom = True
    text_encoding = "bom"
    answers = {
        "empty": _FIELDS % (_WARNING % "the contents are empty."),
        "past_end": _FIELDS % (_WARNING % "is shorter than the provided offset ({first}). The file has {total} lines."),
        "any": _FIELDS % "{body}",
    }
    refused = {"long_line": TOO_LARGE}
    platform = "python"
    error_form = _FAILED
    error_texts = {
        "not_found": "File not found at: {path}",
        "directory": "Path is a directory, not a file: {path}",
        **dict.fromkeys(("ENAMETOOLONG", "nul"), "{system}"),
        "ELOOP": "Symlink loop from '{path}'",
        "any": "Error reading {path}: {system}",
    }

    def facts(self, call: Call, page: Page, path: str) -> dict[str, Any]:
        total = page.last if page.count else page.total
        more = {"start": call["offset"] or 1, "known": None if page.more else total or 0, "is_cut": page.more}
        return {**super().facts(call, page, path), **more}

    def page(self, call: Call, opened: Opened) -> Page:
        page = super().page(call, opened)
        return page if opened.facts.size_bytes else replace(page, first=1)  # an empty file has no end to be after

    def size_of(self, line: str, last: int, *, is_first: bool) -> int:
        return 12 + super().size_of(line, last, is_first=is_first)  # the number and the arrow
