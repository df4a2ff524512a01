"""Roo Code `read_file`: numbered lines after the path, 2,000 by default, or the block of code around a line.

Names, limits and notices follow the program; docs/dialects/roo.md lists the differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eyespan.dialects.arguments import BadArguments, Field, Wording
from eyespan.dialects.base import Admit, text_notes
from eyespan.dialects.opened_lines import OpenedLines
from eyespan.dialects.table import Call, Gutter, Page, TableDialect, Window
from eyespan.model import MIB, Block
from eyespan.opened import Opened

MAX_LINES = 2000
_NOTICE = (
    "File: {path}\nIMPORTANT: File content truncated.\n\tStatus: Showing lines {first}-{last} of {total} total lines.\n"
    "\tTo read more: Use the read_file tool with offset={next} and limit={limit}.\n\t\n\t{body}"
)


def _line(name: str, text: str, *, least: int = 1) -> Field:
    below = f"{name} must be a 1-indexed line number (got {{value}}). Line numbers start at 1."
    return Field(name, "integer", text, minimum=least, hides_bounds=True, messages={"below": below} if least else {})


class Roo(TableDialect):
    """The tool as the program has it."""

    name = "roo"
    own_paths = r"\AFile: .*"
    summary = "read_file of Roo Code: `12 | line`, offset and limit, an indentation mode around an anchor line"
    instructions = (
        "Text is returned by lines, 2,000 by default; offset reads on, and the mode indentation returns the block of "
        "code around a line. Images are returned as such."
    )
    tool = "read_file"
    description = (
        "Reads a file by lines with numbers, from offset on, or with mode indentation the block of code around "
        f"anchor_line. At most {MAX_LINES} lines per call by default. Images come as such."
    )
    fields = (
        Field("path", "string", "The file to read, relative to the workspace.", required=True),
        Field("mode", "string", "slice by default.", choices=("slice", "indentation")),
        _line("offset", "The first line to read, counted from 1."),
        Field("limit", "integer", "The most lines to read.", default=MAX_LINES, hides_default=True),
        Field(
            "indentation",
            "object",
            "Options of the mode indentation.",
            fields=(
                _line("anchor_line", "The line whose block is read."),
                _line("max_levels", "The levels above the line to include; 0 is all.", least=0),
                Field(
                    "include_siblings", "boolean", "Include the blocks beside it.", default=False, hides_default=True
                ),
                Field("include_header", "boolean", "Include comments above it.", default=True, hides_default=True),
                _line("max_lines", "The most lines of the block."),
            ),
            schema={"additionalProperties": False},
        ),
    )
    is_closed = True
    wording = Wording("Error: {}", missing="Missing value for required parameter '{name}'.")
    window = Window(first="offset", count="limit")
    gutter = Gutter(" | ", width=-1)
    line_chars = MAX_LINES
    max_size = 8 * MIB
    keeps_first = True
    answers = {
        "full": _NOTICE,
        "more": _NOTICE,
        "empty": "File: {path}\nNote: File is empty",
        "any": "File: {path}\n{body}",
    }
    refused = {"past_end": "File: {path}\nError: offset {first} is beyond file end ({total} lines)"}
    documents = frozenset(("image",))
    system_call = "stat"
    error_texts = {
        "directory": "File: {path}\nError: Cannot read '{path}' because it is a directory. Use list_files tool "
        "instead.",
        "binary": "File: {path}\nBinary file - content not displayed",
        "any": "File: {path}\nError: {system}",
    }

    def parse(self, arguments: Any, admit: Admit) -> Call:
        call = super().parse(arguments, admit)
        options = call["indentation"] or {}
        if call["mode"] != "indentation":
            return call
        cap = max(1, min(call["limit"], options.get("max_lines") or call["limit"]))
        block = Block(
            anchor=options.get("anchor_line") or call["offset"] or 1,
            cap=cap,
            max_levels=options.get("max_levels") or 0,
            siblings=options.get("include_siblings", False),
            header=options.get("include_header", True),
        )
        return replace(call, selection=block)

    def page(self, call: Call, opened: Opened) -> Page:
        if not isinstance(call.selection, Block):
            return super().page(call, opened)
        document = opened.read()
        part: Any = document.parts[0]
        total = OpenedLines(opened, 1).total()
        if part.past_end:
            text = f"Error: anchor_line {call.selection.anchor} is out of range (1-{total})"
            raise BadArguments("out_of_range", f"File: {call.path}\n{text}")
        assert self.gutter is not None
        lines = [self.shortened(number, row.decode("utf-8", "replace")) for number, row in part.rows]
        first, count = part.rows[0][0] if lines else 1, len(lines)
        body = self.gutter.rows(first, [line for line, _ in lines])
        page = Page(
            body, first, count, cut=[0 for _, is_cut in lines if is_cut], total=total, notes=text_notes(document)
        )
        if call.selection.cap <= count < total:
            return replace(page, more=True)
        return replace(page, body=f"{body}\n\nIncluded ranges: {first}-{page.last} (total: {total} lines)")

    def shortened(self, number: int, line: str) -> tuple[str, bool]:
        return (line, False) if len(line) <= MAX_LINES else (f"{line[: MAX_LINES - 3]}...", True)
