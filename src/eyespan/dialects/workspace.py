"""Workspace `read_file` (seed 001): a root-relative path, a window of lines, a result object, error codes.

Order of checks: policy, sandbox, arguments, kind, size, binary, text. `workspace` counts lines like `wc -l`.
`workspace-upstream` follows the shipped program: the empty piece after a final line feed is one more line, and a link
as the last component is not a file.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import Field, Wording, checked
from eyespan.dialects.base import Admit, encoding_facts, only_text
from eyespan.dialects.rendering import FEW_BYTES, text_width
from eyespan.dialects.table import Call, Paths, TableDialect, Window
from eyespan.errors import ReadError
from eyespan.escape import named_path, quoted_bytes, quoted_pieces, written_path
from eyespan.model import EXACT_TOTAL, MIB, Limits, ReadRequest, Reply, ReplyError, TextContent, TextPart
from eyespan.opened import Opened

_RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "truncated": {"type": "boolean"},
        "next_start_line": {"type": ["integer", "null"]},
        "meta": {
            "type": "object",
            "properties": {
                "byte_length": {"type": "integer"},
                "line_count": {"type": "integer"},
                "returned_line_count": {"type": "integer"},
                "mtime_ms": {"type": "number"},
            },
            "required": ["byte_length", "line_count", "returned_line_count", "mtime_ms"],
        },
    },
    "required": ["path", "content", "truncated", "next_start_line", "meta"],
}


class WorkspaceDialect(TableDialect):
    """The tool as the document describes it."""

    name = "workspace"
    own_paths = r'\A\{"path": "[^"]*"'
    summary = "root-relative path, start_line/max_lines, a result object with meta and next_start_line, error codes"
    instructions = (
        "Text files of at most 1 MiB are returned by lines: for a long file, ask for the range you need. Binary files "
        "are refused."
    )
    tool = "read_file"
    description = "Reads a UTF-8 text file in the workspace and returns a line-limited content window."
    fields = (
        Field(
            "path",
            "string",
            'Workspace-root-relative file path to read (e.g., "src/main.ts").',
            required=True,
            messages={"any": "path must be a non-empty string"},
        ),
        Field(
            "start_line",
            "number",
            "1-based start line of the returned window (default: 1).",
            default=1,
            minimum=1,
            hides_bounds=True,
            messages={"any": "start_line must be an integer >= 1"},
        ),
        Field(
            "max_lines",
            "number",
            "Maximum number of lines to return (default: 200).",
            default=200,
            minimum=1,
            maximum=500,
            hides_bounds=True,
            messages={"any": "max_lines must be an integer between 1 and 500"},
        ),
    )
    wording = Wording("INVALID_ARGUMENT: {}", code="INVALID_ARGUMENT", not_object="arguments must be an object")
    paths = Paths(is_lexical=False)
    window = Window(first="start_line", count="max_lines")
    output_schema = _RESULT
    text_encoding = "utf-8-sig"
    refuses = frozenset()
    total = EXACT_TOTAL
    read_limits = Limits(max_file_bytes=MIB)
    follows_final_link = True
    counts_last_piece = False
    """The empty piece after a final line feed is one more line."""
    error_texts = {
        "outside_root": '[Sandbox Violation] Attempted to access path outside of workspace: "{path}"',
        "tool_denied": "{reason}",
        "policy_denied": "{reason} (path: {path})",
        "not_found": "path not found: {path}",
        "not_regular": "path is not a file: {path}",
        "too_large": "file size exceeds 1 MiB limit: {path}",
        "binary": "binary file is not supported: {path}",
    }
    error_codes = {
        "tool_denied": "POLICY_DENIED",
        "policy_denied": "POLICY_DENIED",
        "outside_root": "SANDBOX_VIOLATION",
        "invalid_path": "INVALID_ARGUMENT",
        "not_found": "NOT_FOUND",
        "not_regular": "NOT_FILE",
        "too_large": "SIZE_LIMIT_EXCEEDED",
        "binary": "BINARY_NOT_SUPPORTED",
        "timeout": "TIMEOUT",
        "busy": "BUSY",
    }

    def parse(self, arguments: Any, admit: Admit) -> Call:
        path = _with_slashes(checked(arguments, self.fields[:1], self.wording)["path"])
        admit(path, True)
        return replace(super().parse(arguments, admit), path=path)

    def plan(self, call: Call, path: str) -> ReadRequest:
        return replace(super().plan(call, path), lexical=True, follows_final_link=self.follows_final_link)

    def show_text(self, call: Call, opened: Opened, path: str) -> Reply:
        """Return the result object of a window of text, and the same as JSON."""
        page, document = self.window_of(call, opened)
        part, facts, first = only_text(document), document.facts, call["start_line"]
        total = part.total_lines or 0
        if self.counts_last_piece and total and not part.ends_open:
            total += 1
        returned = max(0, min(call["max_lines"], total - first + 1))
        is_cut = first + returned <= total and returned > 0
        content = page.body.replace("\r\n", "\n")
        milliseconds, rest = divmod(facts.mtime_ns, 1_000_000)
        meta = {
            "byte_length": facts.size_bytes,
            "line_count": total,
            "returned_line_count": returned,
            "mtime_ms": milliseconds if rest == 0 else facts.mtime_ns / 1_000_000,
            **encoding_facts(document),
            **({"changed_during_read": True} if facts.changed else {}),
        }
        result: dict[str, Any] = {
            "path": _without_backslashes(facts.path) or ".",
            "content": content.removesuffix("\n") if is_cut else content,
            "truncated": is_cut,
            "next_start_line": first + returned if is_cut else None,
            "meta": meta,
        }
        return Reply((TextContent(_as_json(result)),), result, measures=self.measures(call, page, opened))

    def charge(self, part: TextPart, context: CallContext, *, has_numbers: bool) -> None:
        data, width = part.data, text_width(part.data)
        if len(data) > FEW_BYTES:
            starts = range(0, len(data), FEW_BYTES)
            quoted = sum([quoted_bytes(data[at : at + FEW_BYTES].decode("utf-8", "replace")) for at in starts])
            context.charge(width * (len(data) + quoted))  # the content and its JSON, as text

    def render_error(self, error: ReadError) -> ReplyError:
        if isinstance(error, errors.OutsideRoot):
            return super().render_error(error)
        # A path below the root, with backslashes as the caller may have written them; the root itself is `.`.
        is_root = isinstance(error, errors.NotRegular) and error.path.startswith("/")
        error.path = error.relative or ("." if is_root else error.path)
        reply = super().render_error(error)
        code = reply.code if reply.code.isupper() else "INTERNAL"
        text = reply.message if error.path else str(error)
        return ReplyError(code, f"{code}: {text}")


class WorkspaceUpstream(WorkspaceDialect):
    """The tool as the shipped program behaves."""

    name = "workspace-upstream"
    summary = "as workspace, as the shipped program does: a final newline opens one more line, a final link is refused"
    follows_final_link = False
    counts_last_piece = True


def _with_slashes(path: str) -> str:
    """Return the path with `/` for every `\\`, except in escapes of bytes that are not Unicode."""
    if "\\" not in path or named_path(path) == path:
        return path.replace("\\", "/")
    return "\\udc".join([piece.replace("\\", "/") for piece in path.split("\\udc")])


def _without_backslashes(path: str) -> str:
    """Return a written path in which escapes stand for the backslashes of names: this tool reads those as `/`."""
    return written_path(named_path(path), escapes_backslashes=True) if "\\" in path else path


def _as_json(result: dict[str, Any]) -> str:
    before, after = {"path": result["path"]}, {name: result[name] for name in _AFTER_CONTENT}
    text = f'{_encode(before)[:-1]}, "content": '
    for piece in quoted_pieces(result["content"]):
        text += piece.decode()  # CPython appends in place, so the escapes of a long text are never held twice
    text += f", {_encode(after)[1:]}"
    return text


_AFTER_CONTENT = ("truncated", "next_start_line", "meta")


_encode = json.JSONEncoder(ensure_ascii=False).encode
"""`json.dumps` makes an encoder for every call."""
