"""Grok CLI `view_file`: numbered lines after a line that names the file, ten lines without a range, directories.

Names, limits and texts follow the program; docs/dialects/grok.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Sequence

from eyespan.context import CallContext
from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.table import Call, Gutter, Page, TableDialect, Window
from eyespan.engine import Engine
from eyespan.escape import valid_text, written_path
from eyespan.model import ANY_IS_TEXT, EXACT_TOTAL, MIB, Reply, TextContent


class Grok(TableDialect):
    """The tool as the program has it."""

    name = "grok"
    own_paths = r"\A(?:Contents|Directory contents) of .*"
    summary = "view_file of Grok CLI: `1: line`, the first ten lines without a range, directories"
    instructions = "Text is returned by lines: ten of them without start_line and end_line. Directories are listed."
    tool = "view_file"
    description = "Views a file, its first ten lines or those from start_line to end_line, or lists a directory."
    fields = (
        Field("path", "string", "The file or directory to view", required=True),
        Field("start_line", "number", "The first line to view; needs end_line"),
        Field("end_line", "number", "The last line to view, included"),
    )
    wording = Wording("Error viewing file: {}")
    window = Window(first="start_line", last="end_line", lines=10)
    gutter = Gutter(": ")
    max_size = 8 * MIB
    total = EXACT_TOTAL
    text_rule = ANY_IS_TEXT
    refuses = frozenset()
    answers = {"more": "Contents of {path}:\n{body}\n... +{left} lines", "any": "Contents of {path}:\n{body}"}
    error_texts = {
        **dict.fromkeys(("not_found", "ELOOP", "ENAMETOOLONG"), "File or directory not found: {path}"),
        "any": "Error viewing {path}: {system}",
    }

    def check(self, values: dict[str, int | None]) -> None:
        first, last = max(0, values["start_line"] or 0), max(0, values["end_line"] or 0)
        values.update(start_line=None, end_line=None, has_end=last)
        if first or last:  # the program ignores one without the other
            values.update(start_line=first or 1, end_line=last or (first or 1) + 9)

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        if call["end_line"] is None:
            return super().texts(call, page, path)
        text = f"Lines {call['start_line']}-{call['end_line']} of {written_path(path)}:\n{page.body}"
        return [text if call["has_end"] or not page.more else f"{text}\n... +{(page.total or 0) - page.last} lines"]

    def list_directory(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        entries = engine.list(self.paths.resolved(call.path, engine.guard.roots), context).entries
        lines = [f"Directory contents of {written_path(call.path)}:", *[valid_text(entry.name) for entry in entries]]
        return Reply((TextContent("\n".join(lines)),), measures={"lines": len(entries)})
