"""The `view` command of Anthropic's built-in text editor tool: numbered lines of a file, or the names in a directory.

Models know this tool by its type, `text_editor_20250728`; `hosts.to_anthropic` sends that type instead of a schema. The
commands that edit are refused. docs/dialects/text-editor.md lists the decisions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, Field, Wording, shown
from eyespan.dialects.base import Admit
from eyespan.dialects.table import Call, Gutter, Page, TableDialect
from eyespan.engine import Engine
from eyespan.escape import valid_text
from eyespan.extras.families.tree_listing import is_directory
from eyespan.guard.listing import Entry
from eyespan.model import CHEAP_TOTAL, Lines, Reply, TextContent
from eyespan.opened import Opened

EDITS = ("create", "str_replace", "insert", "undo_edit")
SKIPPED = frozenset(("node_modules",))
"""Directories that a listing names but does not enter."""
MAX_NAMES = 1000


class TextEditor(TableDialect):
    """The tool, of which only `view` is available."""

    name = "text-editor"
    own_paths = "^/.*"  # of a listing: the lines of a file begin with their numbers
    summary = "the view command of Anthropic's built-in text editor tool: `1: ` lines, view_range, directories"
    instructions = (
        "Only the command view is available: text files by lines, with view_range for a part of one, and the names in "
        "a directory."
    )
    settings = {"max_characters": None}
    limits = ("max_characters",)
    can_be_off = ("max_characters",)
    tool = "str_replace_based_edit_tool"
    description = (
        "Views text files with line numbers, and lists directories. The only command is view; view_range selects "
        "lines, counted from 1, and -1 as its end is the end of the file."
    )
    fields = (
        Field(
            "command",
            "string",
            "The command to run",
            required=True,
            choices=("view",),
            messages={"any": "command must be view, not {value}"},
        ),
        Field(
            "path",
            "string",
            "The file or directory to view",
            required=True,
            messages={"any": "path must be a non-empty string"},
        ),
        Field(
            "view_range",
            "array",
            "The first and the last line to show, as in [11, 20]; [11, -1] shows all from line 11",
            item="integer",
            messages={"any": "view_range must be two integers, as in [1, 50], not {value}"},
        ),
    )
    wording = Wording("Error: {}")
    gutter = Gutter(": ")
    total = CHEAP_TOTAL
    answers = {"empty": "[the file exists and is empty]", "any": "{body}"}
    refused = {"past_end": "Error: invalid view_range: line {first} is after the end; the file has {total} lines"}
    error_form = "Error: {}"
    error_texts = {
        "not_found": "File not found",
        "permission": "Permission denied. Cannot read file.",
        "outside_root": "the path is outside the directories that may be read",
        "tool_denied": "this tool is denied by policy",
        "policy_denied": "reading this file is forbidden by the rule {rule}",
        "binary": "the file is binary; this tool shows only text",
        "any": "{reason}",
    }

    def _configure(self, settings: Mapping[str, Any]) -> None:
        if settings["max_characters"] == 0:
            raise ValueError("max_characters must be 1 or more")
        self.max_characters: int | None = settings["max_characters"]

    @property
    def anthropic_type(self) -> dict[str, Any] | None:
        """Return the definition of the built-in tool, for the Messages API."""
        built_in: dict[str, Any] = {"type": "text_editor_20250728", "name": self.spec.name}
        if self.max_characters is not None:
            built_in["max_characters"] = self.max_characters
        return built_in

    def parse(self, arguments: Any, admit: Admit) -> Call:
        command = arguments.get("command") if isinstance(arguments, dict) else None
        if command in EDITS:
            raise BadArguments(
                "read_only", f"Error: the command {command} is not available: this tool only views files"
            )
        call = super().parse(arguments, admit)
        return call if call["view_range"] is None else self.in_range(call, call["view_range"])

    def in_range(self, call: Call, given: list[int]) -> Call:
        """Return the call with the lines of its range. Raises: BadArguments."""
        if len(given) != 2:
            raise self.wording.bad(f"view_range must be two integers, as in [1, 50], not {shown(given)}")
        first, last = given
        if first < 1:
            raise self.wording.bad(f"invalid view_range {shown(given)}: lines count from 1")
        if last != -1 and last < first:
            end = "the last line comes before the first; -1 is the end"
            raise self.wording.bad(f"invalid view_range {shown(given)}: {end}")
        return replace(call, selection=Lines(first, None if last == -1 else last - first + 1))

    def page(self, call: Call, opened: Opened) -> Page:
        page, most = super().page(call, opened), self.max_characters
        if most is None or len(page.body) <= most:
            return page
        body, first, last = page.body, page.first, -1 if call["view_range"] is None else call["view_range"][1]
        end = body.rfind("\n", 0, most + 1)
        if end < 0:
            left = f"the rest of line {first} cannot be shown"
            if "\n" in body:
                left += f"; to read on after it, use view_range [{first + 1}, {last}]"
            return replace(page, body=f"{body[:most]}\n[cut at {most} characters; {left}]", count=1, cut=[first])
        count = body.count("\n", 0, end) + 1
        notice = f"[cut at {most} characters; to read on, use view_range [{first + count}, {last}]]"
        return replace(page, body=f"{body[:end]}\n{notice}", count=count, more=True)

    def list_directory(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        """Return the names in a directory, two levels deep, without hidden ones. Raises: ReadError."""
        if call["view_range"] is not None:
            raise self.wording.bad("view_range is not allowed for a directory")
        names, is_partial = two_levels(self.paths.resolved(call.path, engine.guard.roots), engine, context)
        lines = [f"{valid_text(call.path)}: files and directories, two levels deep, without hidden ones", *names]
        if is_partial:
            lines.append(f"[cut at {MAX_NAMES} names; view a directory below]")
        return Reply((TextContent("\n".join(lines)),), measures={"lines": len(lines)})


def two_levels(
    path: str, engine: Engine, context: CallContext, *, follows_links: bool = False
) -> tuple[list[str], bool]:
    """Return the paths in a directory and in those below it, without hidden ones, and whether they are cut.

    Raises: ReadError.
    """
    names: list[str] = []

    def add(directory: str, entry: Entry) -> bool:
        """Add an entry; return True for a directory."""
        enters = entry.what == "directory" or (follows_links and is_directory(directory, entry, engine, context))
        names.append(valid_text(os.path.join(directory, entry.name)) + "/" * enters)
        return enters

    for entry in _visible(path, engine, context):
        if add(path, entry) and entry.name not in SKIPPED:
            below = os.path.join(path, entry.name)
            try:
                for one in _visible(below, engine, context):
                    add(below, one)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:  # removed since it was listed, or not readable
                pass
        if len(names) > MAX_NAMES:
            break
    return names[:MAX_NAMES], len(names) > MAX_NAMES


def _visible(path: str, engine: Engine, context: CallContext) -> list[Entry]:
    return [entry for entry in engine.list(path, context).entries if not entry.name.startswith(".")]
