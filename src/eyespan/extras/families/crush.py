"""Crush `view`: numbered lines in `<file>`, offset from 0, at most 2,000 lines by default, images.

Names, limits, numbering and notices follow the program; docs/dialects/crush.md lists the differences.
"""

from __future__ import annotations

from typing import Any

from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.table import Gutter, Paths, Window
from eyespan.extras.families.similar_names import SimilarDialect
from eyespan.model import MIB, NUL_OR_BAD_UTF8_IS_BINARY, Limits


class Crush(SimilarDialect):
    """The tool as the program has it."""

    name = "crush"
    summary = "view of Crush: `     1|line` in <file>, offset from 0, 2,000 lines by default"
    instructions = "Text is returned by lines, 2,000 by default; offset counts from 0. Images are returned as such."
    tool = "view"
    description = (
        "Reads a file by lines with numbers, 2000 lines by default; offset, counted from 0, reads on. Lines over 2000 "
        "characters are cut, files over 5MB refused. Images come as such."
    )
    fields = (
        Field("file_path", "string", "The file to read", required=True, messages={"empty": "file_path is required"}),
        Field("offset", "integer", "The number of lines to skip"),
        Field("limit", "integer", "The number of lines to read (2000 by default)"),
    )
    wording = Wording(missing="file_path is required")
    paths = Paths("file_path", shows_absolute=True)
    window = Window(first="offset", count="limit", origin=0, lines=2000)
    gutter = Gutter("|", width=6)
    line_chars = 2000
    line_mark = "..."
    max_size = 8 * MIB
    answers = {
        "more": "<file>\n{body}\n\n(File has more lines. Use 'offset' parameter to read beyond line {last})\n</file>\n",
        "any": "<file>\n{body}\n</file>\n",
    }
    documents = frozenset(("image",))
    text_rule = NUL_OR_BAD_UTF8_IS_BINARY
    read_limits = Limits(max_file_bytes=5 * MIB)
    platform = "go"
    system_call = "stat"
    error_texts = {
        "not_found": "File not found: {path}",
        "directory": "Path is a directory, not a file: {path}",
        "binary": "File content is not valid UTF-8",
        "too_large": f"File is too large ({{size}} bytes). Maximum size is {5 * MIB} bytes",
        "system": "error accessing file: {system}",
        "nul": "error accessing file: {system}",
    }

    def check(self, values: dict[str, Any]) -> None:
        if values["limit"] is not None and values["limit"] <= 0:
            values["limit"] = None
