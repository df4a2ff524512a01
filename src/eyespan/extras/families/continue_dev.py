"""Continue: `read_file`, a whole file as it is, and `read_file_range`, some of its lines.

Names and texts follow the program; docs/dialects/continue.md lists the differences.
"""

from __future__ import annotations

from typing import Any

from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.base import ToolsetDialect
from eyespan.dialects.table import Paths, TableDialect, Window
from eyespan.model import CHEAP_TOTAL

_PATH = Field("filepath", "string", "The file to read, relative to the root of the workspace.", required=True)


def _line(name: str, text: str) -> Field:
    return Field(
        name,
        "number",
        text,
        required=True,
        minimum=1,
        takes=("float", "text"),
        hides_bounds=True,
        messages={"below": f"{name} must be 1 or greater. Negative line numbers are not supported"},
    )


class ContinueReadFile(TableDialect):
    """`read_file`: a whole file."""

    name = "continue"
    summary = "read_file and read_file_range of Continue: lines as they are, without numbers"
    instructions = "read_file returns a whole text, read_file_range the lines from startLine to endLine."
    tool = "read_file"
    description = "Reads an existing file."
    fields: tuple[Field, ...] = (_PATH,)
    wording = Wording(missing="Missing {name} argument in tool call", empty="Missing {name} argument in tool call")
    paths = Paths("filepath")
    total = CHEAP_TOTAL
    error_texts = {
        "not_found": 'File "{path}" does not exist. You might want to check the path and try again.',
        "any": "{reason}: {path}",
    }


class ContinueReadRange(ContinueReadFile):
    """`read_file_range`: a range of lines, both ends included."""

    tool = "read_file_range"
    description = "Reads a range of lines of an existing file, counted from 1."
    fields = (
        _PATH,
        _line("startLine", "The first line to read, counted from 1."),
        _line("endLine", "The last line to read, included."),
    )
    window = Window(first="startLine", last="endLine")

    def check(self, values: dict[str, Any]) -> None:
        first, last = values["startLine"], values["endLine"]
        if last < first:
            text = f"endLine ({last}) must be greater than or equal to startLine ({first})"
            raise self.wording.bad(text)


class Continue(ToolsetDialect):
    """Both tools."""

    name = "continue"
    summary = ContinueReadFile.summary
    tools = (ContinueReadFile, ContinueReadRange)
