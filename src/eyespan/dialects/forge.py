"""Forge `Read` (seed 002): ranges, head and tail, base64 for binary files, byte and scan limits from TOML.

Bad arguments are reported before anything on disk. `max_file_read_bytes` limits a read of the whole file,
`max_scan_bytes` a read of lines: from the start of the file through the last line read, and for a tail without line
numbers only the lines themselves. Lines keep their terminators.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyespan import errors
from eyespan.dialects.arguments import is_integer, refusal, shown
from eyespan.dialects.base import Admit, FileDialect, encoding_facts, only_text, text_reply
from eyespan.dialects.rendering import numbered, unnumbered
from eyespan.errors import ReadError
from eyespan.escape import written_path
from eyespan.model import (
    NUL_IS_BINARY,
    NUL_OR_BAD_UTF8_IS_BINARY,
    BytesPart,
    Document,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    ReplyError,
    Selection,
    Tail,
    ToolSpec,
)

NUMBERS = ("start_line", "end_line", "limit", "head", "tail")
_FIELDS = frozenset(("path", "show_line_numbers", *NUMBERS))
_WHOLE_FILE = Lines()
"""The whole file, which has other limits than a range."""


@dataclass(frozen=True, slots=True)
class ForgeArgs:
    """The checked arguments of a call."""

    path: str
    selection: Selection
    show_line_numbers: bool


class Forge(FileDialect):
    """The tool as the document describes it, with its settings."""

    name = "forge"
    summary = "Read with aliases, ranges, head/tail, base64 for binary files, byte and scan limits from TOML"
    instructions = "Text is returned by lines, other files as base64. For a large file, ask for the range you need."
    settings = {"max_file_read_bytes": 204_800, "max_scan_bytes": 2_097_152, "show_line_numbers": True}
    limits = ("max_file_read_bytes", "max_scan_bytes")

    def _configure(self, settings: Mapping[str, Any]) -> None:
        self.max_file_read_bytes: int = settings["max_file_read_bytes"]
        self.max_scan_bytes: int = settings["max_scan_bytes"]
        self.show_line_numbers: bool = settings["show_line_numbers"]
        self._whole_limits = Limits(max_whole_bytes=self.max_file_read_bytes)
        self._range_limits = Limits(max_scan_bytes=self.max_scan_bytes)

    def _spec(self) -> ToolSpec:
        return ToolSpec(
            "Read", DESCRIPTION, _schema(self.show_line_numbers), ("read", "read_file", "read-file", "ReadFile")
        )

    def parse(self, arguments: Any, admit: Admit) -> ForgeArgs:
        if not isinstance(arguments, dict):
            raise _bad("arguments must be an object")
        for name in arguments:
            if name not in _FIELDS:
                raise _bad(f"unknown field {shown(name)}; known are path, {', '.join(NUMBERS)}, show_line_numbers")
        path = arguments.get("path")
        if not isinstance(path, str) or not path.strip():
            raise _bad("path must be a non-empty string")
        if not path.isprintable() and any(character < " " or character == "\x7f" for character in path):
            raise _bad("path must not contain control characters")
        given = {name: arguments[name] for name in NUMBERS if arguments.get(name) is not None}
        for name, value in given.items():
            if not is_integer(value):
                raise _bad(f"{name} must be an integer, not {shown(value)}")
            if value < 1:
                raise _bad(f"{name} must be >= 1")
        numbers = arguments.get("show_line_numbers")
        if numbers is not None and not isinstance(numbers, bool):
            raise _bad(f"show_line_numbers must be true or false, not {shown(numbers)}")
        show_numbers: bool = self.show_line_numbers if numbers is None else numbers
        selection = _selection(given)
        if isinstance(selection, Tail) and not show_numbers:
            selection = Tail(selection.count, numbered=False)
        if ".." in path.split("/"):
            admit(path, False)  # raises if the name is denied
            raise errors.OutsideRoot(path)
        return ForgeArgs(path, selection, show_numbers)

    def plan(self, args: ForgeArgs) -> ReadRequest:
        is_whole = args.selection is _WHOLE_FILE
        return ReadRequest(
            path=args.path,
            selection=args.selection,
            limits=self._whole_limits if is_whole else self._range_limits,
            # If the host names the encoding, invalid bytes are replaced and counted.
            text_rule=NUL_OR_BAD_UTF8_IS_BINARY if self.encoding in (None, "auto") else NUL_IS_BINARY,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
            wants_bytes=is_whole,
        )

    def render(self, args: ForgeArgs, document: Document) -> Reply:
        facts = document.facts
        first = document.parts[0]
        if isinstance(first, BytesPart):
            payload = b64encode(first.data).decode("ascii")
            header = "[binary:base64][truncated]" if first.truncated else "[binary:base64]"
            text = f"{header}\n{payload}"
            result: dict[str, Any] = {
                "text": text,
                "binary": True,
                "base64": payload,
                "truncated": first.truncated,
                "path": facts.path,
            }
            if first.media_type != "application/octet-stream":
                result["media_type"] = first.media_type
        else:
            part = only_text(document)
            if not part.line_count and part.total_lines and part.first_line:
                raise _bad(f"start_line {part.first_line} exceeds file line count {part.total_lines}")
            last = part.first_line + part.line_count - 1
            if args.show_line_numbers:
                text = numbered(part, width=len(str(last)), mark="\t", keep_ends=True)
            else:
                text = unnumbered(part)
            result = {"text": text, "binary": False, "path": facts.path}
            if part.line_count and part.first_line:  # the last lines of a large file have no known numbers
                result.update(start_line=part.first_line, end_line=last)
            if part.total_lines is not None:
                result["total_lines"] = part.total_lines
            result.update(encoding_facts(document))
        if facts.changed:
            result["changed_during_read"] = True
        return text_reply(text, result)

    def render_error(self, error: ReadError) -> ReplyError:
        path = written_path(error.path)
        match error:
            case errors.PolicyDenied(rule="") | errors.InvalidPath():
                code = "BadArgs" if isinstance(error, errors.InvalidPath) else "PolicyDenied"
                return ReplyError(code, f"Bad args: {error}" if code == "BadArgs" else str(error))
            case errors.PolicyDenied():
                return ReplyError("SandboxViolation", f"Path '{path}' matched denied pattern '{error.rule}'")
            case errors.OutsideRoot():
                return ReplyError("SandboxViolation", f"Path outside sandbox (attempted: {path})")
            case errors.Binary():
                return ReplyError("BadArgs", "Bad args: Line ranges are not supported for binary files")
            case errors.TooLarge():
                reason = "File too large; use start_line/end_line"
            case errors.ScanLimit(needs_numbers=True):
                reason = (
                    "Scan limit exceeded; narrow the range: the numbers of the last lines need a scan of the whole "
                    "file. With show_line_numbers false the last lines are read without one"
                )
            case errors.ScanLimit():
                reason = "Scan limit exceeded; narrow the range"
            case errors.NotRegular(what="directory"):
                reason = f"path is a directory: {path}"
            case _:
                reason = f"{error}: {path}" if path else str(error)
        return ReplyError("ExecutionFailed", f"Read failed: {reason}")


def _selection(given: Mapping[str, int]) -> Selection:
    head, tail = given.get("head"), given.get("tail")
    start, end, limit = given.get("start_line"), given.get("end_line"), given.get("limit")
    if head is not None or tail is not None:
        if len(given) > 1:
            raise _bad("head and tail exclude each other and start_line, end_line and limit")
        return Lines(1, head) if head is not None else Tail(tail or 0)
    first = start or 1
    if end is not None and first > end:
        raise _bad("start_line must be <= end_line")
    counts = [count for count in (limit, None if end is None else end - first + 1) if count is not None]
    if start is None and not counts:
        return _WHOLE_FILE
    return Lines(first, min(counts, default=_UNLIMITED))


_UNLIMITED = 2**62
"""The count of an open range. Unlike the whole file, the scan limit bounds it."""


_bad = refusal("BadArgs", "Bad args: {}")


DESCRIPTION = "Reads file contents, whole or an optional range of lines."


def _schema(show_line_numbers: bool) -> dict[str, Any]:
    def integer(description: str) -> dict[str, Any]:
        return {"type": "integer", "minimum": 1, "description": description}

    return {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file, relative to the working root."},
            "start_line": integer("First line to read, 1-indexed."),
            "end_line": integer("Last line to read, 1-indexed and included."),
            "limit": integer("Most lines to read, from start_line or the first line."),
            "head": integer("Read the first N lines. Excludes start_line, end_line and limit."),
            "tail": integer("Read the last N lines. Excludes start_line, end_line and limit."),
            "show_line_numbers": {
                "type": "boolean",
                "default": show_line_numbers,
                "description": "Put its number in front of every line.",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    }
