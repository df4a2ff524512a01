"""Qwen Code `read_file`: lines without numbers, offset from 0, a line that names the range before a cut text.

Names, limits and notices follow the program; docs/dialects/qwen.md lists the differences.
"""

from __future__ import annotations

from typing import Any

from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.table import Paths, TableDialect, Window
from eyespan.model import EXACT_TOTAL

MAX_LINES = 1000
MAX_CHARS = 25_000
_TYPE = {"type": "params/{name} must be integer,null"}
_OFFSET = {"below": "Offset must be a non-negative integer", **_TYPE}
_LIMIT = {"below": "Limit must be a positive integer", **_TYPE}
_LINES: dict[str, Any] = {"type": "integer", "takes": ("float", "text"), "hides_bounds": True}
_CUT = "Showing lines {first}-{last} of {total} total lines.\n\n---\n\n{body}"


class Qwen(TableDialect):
    """The tool as the program has it."""

    name = "qwen"
    summary = "read_file of Qwen Code: absolute file_path, offset from 0, 1,000 lines or 25,000 characters"
    instructions = (
        "Text is returned by lines, 1,000 by default and at most 25,000 characters per call; offset counts from 0. "
        "Images and PDFs are returned as such."
    )
    sends_documents = True
    tool = "read_file"
    description = (
        "Reads a file by its absolute path. Long texts are cut, after a line that names the lines shown; offset, "
        "counted from 0, and limit read on. Images and PDFs come as such."
    )
    fields = (
        Field("file_path", "string", "The absolute path of the file to read.", required=True),
        Field("offset", text="The line to start at, counted from 0.", minimum=0, messages=_OFFSET, **_LINES),
        Field("limit", text="The most lines to read.", minimum=1, messages=_LIMIT, **_LINES),
    )
    wording = Wording(
        code="invalid_tool_params",
        not_object="params must be object",
        missing="params must have required property '{name}'",
        type="params/{name} must be {type}",
        empty="The '{name}' parameter must be non-empty.",
    )
    paths = Paths(
        "file_path", absolute="File path must be absolute, but was relative: {path}. You must provide an absolute path."
    )
    window = Window(first="offset", count="limit", origin=0, lines=MAX_LINES)
    line_chars = MAX_CHARS
    line_mark = "... [truncated]"
    max_size = MAX_CHARS
    keeps_first = keeps_last_end = hides_bom = True
    text_encoding = "bom"
    total = EXACT_TOTAL
    answers = {"full": _CUT, "more": _CUT, "part": _CUT, "any": "{body}"}
    refused = {"past_end": "Offset {offset} is after the end: the file has {total} lines"}
    documents = frozenset(("image", "pdf"))
    system_call = "stat"
    error_texts = {
        "not_found": "Could not read file because no file was found at the specified path.",
        "directory": "Could not read file because the provided path is a directory, not a file.",
        "binary": "Cannot display content of binary file: {path}",
        "any": "Error reading file {path}: {system}",
    }

    def size_of(self, line: str, last: int, *, is_first: bool) -> int:
        return len(line) + (not is_first)
