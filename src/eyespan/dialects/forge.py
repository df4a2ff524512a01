"""Forge `Read` (seed 002): ranges, head and tail, base64 for binary files, byte and scan limits from TOML.

Bad arguments are reported before anything on disk. `max_file_read_bytes` limits a read of the whole file,
`max_scan_bytes` a read of lines: from the start of the file through the last line read, and for a tail without line
numbers only the lines themselves. Lines keep their terminators.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyespan import errors
from eyespan.dialects.arguments import Field, Wording
from eyespan.dialects.base import Admit, encoding_facts, only_text
from eyespan.dialects.rendering import rendered
from eyespan.dialects.table import Call, Page, Paths, TableDialect
from eyespan.model import (
    CHEAP_TOTAL,
    NUL_IS_BINARY,
    NUL_OR_BAD_UTF8_IS_BINARY,
    BytesPart,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    Selection,
    Tail,
    TextContent,
)
from eyespan.opened import Opened

NUMBERS = {
    "start_line": "First line to read, 1-indexed.",
    "end_line": "Last line to read, 1-indexed and included.",
    "limit": "Most lines to read, from start_line or the first line.",
    "head": "Read the first N lines. Excludes start_line, end_line and limit.",
    "tail": "Read the last N lines. Excludes start_line, end_line and limit.",
}
_WHOLE_FILE = Lines()
"""The whole file, which has other limits than a range."""
_UNLIMITED = 2**62
"""The count of an open range. Unlike the whole file, the scan limit bounds it."""


class Forge(TableDialect):
    """The tool as the document describes it, with its settings."""

    name = "forge"
    summary = "Read with aliases, ranges, head/tail, base64 for binary files, byte and scan limits from TOML"
    instructions = "Text is returned by lines, other files as base64. For a large file, ask for the range you need."
    settings = {"max_file_read_bytes": 204_800, "max_scan_bytes": 2_097_152, "show_line_numbers": True}
    limits = ("max_file_read_bytes", "max_scan_bytes")
    tool = "Read"
    aliases = ("read", "read_file", "read-file", "ReadFile")
    description = "Reads file contents, whole or an optional range of lines."
    is_closed = True
    wording = Wording(
        "Bad args: {}",
        code="BadArgs",
        not_object="arguments must be an object",
        below="{name} must be >= {bound}",
        unknown=f"unknown field {{name}}; known are path, {', '.join(NUMBERS)}, show_line_numbers",
    )
    paths = Paths(is_lexical=False)
    refuses = frozenset()
    total = CHEAP_TOTAL
    error_texts = {
        "tool_denied": "{reason}",
        "invalid_path": "Bad args: {reason}",
        "policy_denied": "Path '{path}' matched denied pattern '{rule}'",
        "outside_root": "Path outside sandbox (attempted: {path})",
        "binary": "Bad args: Line ranges are not supported for binary files",
        "too_large": "Read failed: File too large; use start_line/end_line",
        "numbers_scan_limit": "Read failed: Scan limit exceeded; narrow the range: the numbers of the last lines need "
        "a scan of the whole file. With show_line_numbers false the last lines are read without one",
        "scan_limit": "Read failed: Scan limit exceeded; narrow the range",
        "directory": "Read failed: path is a directory: {path}",
        "any": "Read failed: {reason}: {path}",
    }
    error_codes = {
        "tool_denied": "PolicyDenied",
        "invalid_path": "BadArgs",
        "policy_denied": "SandboxViolation",
        "outside_root": "SandboxViolation",
        "binary": "BadArgs",
        **dict.fromkeys(("too_large", "numbers_scan_limit", "scan_limit", "directory", "any"), "ExecutionFailed"),
    }

    def _configure(self, settings: Mapping[str, Any]) -> None:
        self.max_file_read_bytes: int = settings["max_file_read_bytes"]
        self.max_scan_bytes: int = settings["max_scan_bytes"]
        self.show_line_numbers: bool = settings["show_line_numbers"]
        self.fields = (
            Field(
                "path",
                "string",
                "Path of the file, relative to the working root.",
                required=True,
                messages={"any": "path must be a non-empty string"},
            ),
            *[Field(name, "integer", text, minimum=1, takes=()) for name, text in NUMBERS.items()],
            Field(
                "show_line_numbers", "boolean", "Put its number in front of every line.", default=self.show_line_numbers
            ),
        )

    def parse(self, arguments: Any, admit: Admit) -> Call:
        call = super().parse(arguments, admit)
        path = call.path
        if not path.isprintable() and any(character < " " or character == "\x7f" for character in path):
            raise self.wording.bad("path must not contain control characters")
        selection = self._selection({name: call[name] for name in NUMBERS if call[name] is not None})
        if isinstance(selection, Tail) and not call["show_line_numbers"]:
            selection = Tail(selection.count, numbered=False)
        if ".." in path.split("/"):
            admit(path, False)  # raises if the name is denied
            raise errors.OutsideRoot(path)
        return replace(call, selection=selection)

    def _selection(self, given: Mapping[str, int]) -> Selection:
        head, tail = given.get("head"), given.get("tail")
        start, end, limit = given.get("start_line"), given.get("end_line"), given.get("limit")
        if head is not None or tail is not None:
            if len(given) > 1:
                raise self.wording.bad("head and tail exclude each other and start_line, end_line and limit")
            return Lines(1, head) if head is not None else Tail(tail or 0)
        first = start or 1
        if end is not None and first > end:
            raise self.wording.bad("start_line must be <= end_line")
        counts = [count for count in (limit, None if end is None else end - first + 1) if count is not None]
        if start is None and not counts:
            return _WHOLE_FILE
        return Lines(first, min(counts, default=_UNLIMITED))

    def plan(self, call: Call, path: str) -> ReadRequest:
        is_whole = call.selection is _WHOLE_FILE
        whole_limits = Limits(max_whole_bytes=self.max_file_read_bytes)
        return replace(
            super().plan(call, path),
            limits=whole_limits if is_whole else Limits(max_scan_bytes=self.max_scan_bytes),
            # If the host names the encoding, invalid bytes are replaced and counted.
            text_rule=NUL_OR_BAD_UTF8_IS_BINARY if self.encoding in (None, "auto") else NUL_IS_BINARY,
            wants_bytes=is_whole,
        )

    def show_text(self, call: Call, opened: Opened, path: str) -> Reply:
        document = opened.read(call.selection)
        facts, part = document.facts, document.parts[0]
        if isinstance(part, BytesPart):
            payload = b64encode(part.data).decode("ascii")
            text = f"{'[binary:base64][truncated]' if part.truncated else '[binary:base64]'}\n{payload}"
            result: dict[str, Any] = {
                "text": text,
                "binary": True,
                "base64": payload,
                "truncated": part.truncated,
                "path": facts.path,
            }
            if part.media_type != "application/octet-stream":
                result["media_type"] = part.media_type
            page = Page(text, 1, 0)
        else:
            page, result = self._text_result(call, only_text(document), opened)
            result.update(path=facts.path, **encoding_facts(document))
        if facts.changed:
            result["changed_during_read"] = True
        return Reply((TextContent(page.body),), result, measures=self.measures(call, page, opened))

    def _text_result(self, call: Call, part: Any, opened: Opened) -> tuple[Page, dict[str, Any]]:
        """Return the lines and the result object of a text. Raises: BadArguments."""
        first, last, total = part.first_line, part.first_line + part.line_count - 1, part.total_lines
        if not part.line_count and total and first:
            raise self.wording.bad(f"start_line {first} exceeds file line count {total}")
        has_numbers = call["show_line_numbers"]
        self.charge(part, opened.context, has_numbers=has_numbers)
        text, _ = rendered(part, {"width": len(str(last)), "keep_ends": True} if has_numbers else None)
        result: dict[str, Any] = {"text": text, "binary": False}
        if part.line_count and first:  # the last lines of a large file have no known numbers
            result.update(start_line=first, end_line=last)
        if total is not None:
            result["total_lines"] = total
        return Page(text, first, part.line_count, more=part.more, total=total), result
