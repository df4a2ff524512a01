"""The `view` command of Anthropic's built-in text editor tool: numbered lines of a file, or the names in a directory.

Models know this tool by its type, `text_editor_20250728`; `hosts.to_anthropic` sends that type instead of a schema. The
commands that edit are refused. docs/dialects/text-editor.md lists the decisions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, is_integer, refusal, shown
from eyespan.dialects.base import Admit, FileDialect, only_text, text_notes, text_reply
from eyespan.dialects.rendering import numbered
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import valid_text
from eyespan.model import NUL_IS_BINARY, Document, Lines, ReadRequest, Reply, ReplyError, ToolSpec

EDITS = ("create", "str_replace", "insert", "undo_edit")
SKIPPED = frozenset(("node_modules",))
"""Directories that a listing names but does not enter."""
MAX_NAMES = 1000


@dataclass(frozen=True, slots=True)
class EditorArgs:
    """The checked arguments of a call."""

    path: str
    first: int = 1
    last: int | None = None
    """None: to the end of the file."""
    has_range: bool = False


class TextEditor(FileDialect):
    """The tool, of which only `view` is available."""

    name = "text-editor"
    summary = "the view command of Anthropic's built-in text editor tool: `1: ` lines, view_range, directories"
    instructions = (
        "Only the command view is available: text files by lines, with view_range for a part of one, and the names in "
        "a directory."
    )
    settings = {"max_characters": None}
    limits = ("max_characters",)
    can_be_off = ("max_characters",)

    def _configure(self, settings: Mapping[str, Any]) -> None:
        if settings["max_characters"] == 0:
            raise ValueError("max_characters must be 1 or more")
        self.max_characters: int | None = settings["max_characters"]

    @property
    def anthropic_type(self) -> dict[str, Any]:
        """Return the definition of the built-in tool, for the Messages API."""
        built_in: dict[str, Any] = {"type": "text_editor_20250728", "name": self.spec.name}
        if self.max_characters is not None:
            built_in["max_characters"] = self.max_characters
        return built_in

    def _spec(self) -> ToolSpec:
        return ToolSpec("str_replace_based_edit_tool", DESCRIPTION, _schema())

    def parse(self, arguments: Any, admit: Admit) -> EditorArgs:
        if not isinstance(arguments, dict):
            raise _bad("the arguments must be an object")
        command = arguments.get("command")
        if command in EDITS:
            raise BadArguments(
                "read_only", f"Error: the command {command} is not available: this tool only views files"
            )
        if command != "view":
            raise _bad(f"command must be view, not {shown(command)}")
        path = arguments.get("path")
        if not isinstance(path, str) or not path:
            raise _bad("path must be a non-empty string")
        given = arguments.get("view_range")
        if given is None:
            return EditorArgs(path)
        if not isinstance(given, list) or len(given) != 2 or not all(map(is_integer, given)):
            raise _bad(f"view_range must be two integers, as in [1, 50], not {shown(given)}")
        first, last = given
        if first < 1:
            raise _bad(f"invalid view_range {shown(given)}: lines count from 1")
        if last != -1 and last < first:
            raise _bad(f"invalid view_range {shown(given)}: the last line comes before the first; -1 is the end")
        return EditorArgs(path=path, first=first, last=None if last == -1 else last, has_range=True)

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        try:
            return super().run(arguments, engine, context)
        except errors.NotRegular as error:
            if error.what != "directory":
                raise
        args = self.parse(arguments, engine.admit)
        if args.has_range:
            raise _bad("view_range is not allowed for a directory")
        return _listing(args.path, engine, context)

    def plan(self, args: EditorArgs) -> ReadRequest:
        return ReadRequest(
            path=args.path,
            selection=Lines(args.first, None if args.last is None else args.last - args.first + 1),
            text_rule=NUL_IS_BINARY,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
        )

    def render(self, args: EditorArgs, document: Document) -> Reply:
        part = only_text(document)
        notes = text_notes(document)
        if not part.line_count:
            total = part.total_lines or 0
            if total == 0:
                return text_reply(EMPTY, notes=notes)
            raise _bad(f"invalid view_range: line {args.first} is after the end; the file has {total} lines")
        first, most = part.first_line, self.max_characters
        text = numbered(part, mark=": ")
        if most is None or len(text) <= most:
            return text_reply(text, notes=notes)
        end = text.rfind("\n", 0, most + 1)
        if end < 0:
            left = f"the rest of line {first} cannot be shown"
            if "\n" in text:
                left += f"; to read on after it, use view_range [{first + 1}, {-1 if args.last is None else args.last}]"
            reply = text_reply(f"{text[:most]}\n[cut at {most} characters; {left}]", notes=notes)
            return replace(reply, measures={"lines": 1, "cut_lines": 1})
        following = first + text.count("\n", 0, end) + 1
        last = -1 if args.last is None else args.last
        notice = f"[cut at {most} characters; to read on, use view_range [{following}, {last}]]"
        reply = text_reply(f"{text[:end]}\n{notice}", notes=notes)
        left_out = f"{valid_text(args.path)}:{following}-{'' if args.last is None else args.last}"
        return replace(reply, measures={"lines": following - first, "left_out": [left_out]})

    def render_error(self, error: ReadError) -> ReplyError:
        match error:
            case errors.NotFound():
                text = "File not found"
            case errors.PermissionRefused():
                text = "Permission denied. Cannot read file."
            case errors.OutsideRoot():
                text = "the path is outside the directories that may be read"
            case errors.PolicyDenied(rule=""):
                text = "this tool is denied by policy"
            case errors.PolicyDenied():
                text = f"reading this file is forbidden by the rule {error.rule}"
            case errors.Binary():
                text = "the file is binary; this tool shows only text"
            case _:
                text = str(error)
        return ReplyError(error.code, f"Error: {text}")


def _listing(path: str, engine: Engine, context: CallContext | None) -> Reply:
    """Return the names in a directory, two levels deep, without hidden ones. Raises: ReadError."""
    names: list[str] = []
    is_partial = False
    for entry in _visible(path, engine, context):
        names.append(_line(path, entry.name, entry.what))
        if entry.what != "directory" or entry.name in SKIPPED:
            continue
        below = os.path.join(path, entry.name)
        try:
            names += [_line(below, inner.name, inner.what) for inner in _visible(below, engine, context)]
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadError:
            continue  # removed since it was listed, or not readable
        if len(names) > MAX_NAMES:
            is_partial = True
            break
    lines = [f"{valid_text(path)}: files and directories, two levels deep, without hidden ones", *names[:MAX_NAMES]]
    if is_partial or len(names) > MAX_NAMES:
        lines.append(f"[cut at {MAX_NAMES} names; view a directory below]")
    reply = text_reply("\n".join(lines))
    return replace(reply, measures={"lines": len(lines)})


def _visible(path: str, engine: Engine, context: CallContext | None) -> list[Any]:
    return [entry for entry in engine.list(path, context).entries if not entry.name.startswith(".")]


def _line(directory: str, name: str, what: str) -> str:
    return valid_text(os.path.join(directory, name)) + ("/" if what == "directory" else "")


_bad = refusal("invalid_arguments", "Error: {}")


EMPTY = "[the file exists and is empty]"
DESCRIPTION = (
    "Views text files with line numbers, and lists directories. The only command is view; view_range selects lines, "
    "counted from 1, and -1 as its end is the end of the file."
)


def _schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view"], "description": "The command to run"},
            "path": {"type": "string", "description": "The file or directory to view"},
            "view_range": {
                "type": "array",
                "items": {"type": "integer"},
                "description": "The first and the last line to show, as in [11, 20]; [11, -1] shows all from line 11",
            },
        },
        "required": ["command", "path"],
    }
