"""Workspace `read_file` (seed 001): a root-relative path, a window of lines, a result object, error codes.

Order of checks: policy, sandbox, arguments, kind, size, binary, text. `workspace` counts lines like `wc -l`.
`workspace-upstream` follows the shipped program: the empty piece after a final line feed is one more line, and a link
as the last component is not a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyespan import errors
from eyespan.dialects.arguments import BadArguments, as_whole
from eyespan.dialects.base import NO_MEASURES, Admit, FileDialect, encoding_facts, only_text, text_reply
from eyespan.dialects.rendering import FEW_BYTES, text_width
from eyespan.errors import ReadError
from eyespan.escape import named_path, quoted_bytes, quoted_pieces, written_path
from eyespan.model import (
    EXACT_TOTAL,
    MIB,
    NUL_IS_BINARY,
    Document,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    ReplyError,
    TextPart,
    ToolSpec,
)

DEFAULT_MAX_LINES = 200
HIGHEST_MAX_LINES = 500
SIZE_LIMIT_BYTES = 1 * MIB


@dataclass(frozen=True, slots=True)
class WorkspaceArgs:
    """The checked arguments of a call."""

    path: str
    """The path with `/` for every `\\`."""
    start_line: int
    max_lines: int


class WorkspaceDialect(FileDialect):
    """The tool as the document describes it."""

    name = "workspace"
    summary = "root-relative path, start_line/max_lines, a result object with meta and next_start_line, error codes"
    instructions = (
        "Text files of at most 1 MiB are returned by lines: for a long file, ask for the range you need. Binary files "
        "are refused."
    )
    follows_final_link = True

    def _spec(self) -> ToolSpec:
        return ToolSpec("read_file", DESCRIPTION, _schema())

    def parse(self, arguments: Any, admit: Admit) -> WorkspaceArgs:
        if not isinstance(arguments, dict):
            raise _invalid("arguments must be an object")
        path = arguments.get("path")
        if not isinstance(path, str) or not path.strip():
            raise _invalid("path must be a non-empty string")
        path = _with_slashes(path)
        admit(path, True)
        start = _integer(arguments.get("start_line"), 1)
        if start is None or start < 1:
            raise _invalid("start_line must be an integer >= 1")
        count = _integer(arguments.get("max_lines"), DEFAULT_MAX_LINES)
        if count is None or not 1 <= count <= HIGHEST_MAX_LINES:
            raise _invalid(f"max_lines must be an integer between 1 and {HIGHEST_MAX_LINES}")
        return WorkspaceArgs(path, start, count)

    def plan(self, args: WorkspaceArgs) -> ReadRequest:
        return ReadRequest(
            path=args.path,
            selection=Lines(args.start_line, args.max_lines),
            limits=Limits(max_file_bytes=SIZE_LIMIT_BYTES),
            text_rule=NUL_IS_BINARY,
            encoding=self.encoding or "utf-8-sig",
            reports_encoding=self.encoding is not None,
            total=EXACT_TOTAL,
            lexical=True,
            follows_final_link=self.follows_final_link,
        )

    def render(self, args: WorkspaceArgs, document: Document) -> Reply:
        part, facts = only_text(document), document.facts
        total = self._line_count(part.total_lines or 0, bool(part.ends_open))
        more = encoding_facts(document)
        if facts.changed:
            more["changed_during_read"] = True
        return _reply(
            _without_backslashes(facts.path) or ".",
            part.data.decode("utf-8", "replace"),
            {"byte_length": facts.size_bytes, "line_count": total},
            facts.mtime_ns,
            first=args.start_line,
            max_lines=args.max_lines,
            more=more,
        )

    def answer_bytes(self, part: TextPart) -> int:
        data, width = part.data, text_width(part.data)
        quoted = 0
        for at in range(0, len(data), FEW_BYTES):
            quoted += quoted_bytes(data[at : at + FEW_BYTES].decode("utf-8", "replace"))
        return width * (len(data) + quoted)  # the content and its JSON, as text

    def _line_count(self, lines: int, ends_open: bool) -> int:
        return lines

    def render_error(self, error: ReadError) -> ReplyError:
        path = written_path(error.relative or error.path)  # with backslashes as the caller may have written them
        match error:
            case errors.PolicyDenied():
                return _error("POLICY_DENIED", f"{error} (path: {path})" if path else str(error))
            case errors.OutsideRoot():
                text = f'[Sandbox Violation] Attempted to access path outside of workspace: "{error.path}"'
                return ReplyError("SANDBOX_VIOLATION", text)
            case errors.InvalidPath():
                return _error("INVALID_ARGUMENT", f"{error}: {path}")
            case errors.NotFound():
                return _error("NOT_FOUND", f"path not found: {path}")
            case errors.NotRegular():
                return _error("NOT_FILE", f"path is not a file: {path}")
            case errors.TooLarge():
                return _error("SIZE_LIMIT_EXCEEDED", f"file size exceeds 1 MiB limit: {path}")
            case errors.Binary():
                return _error("BINARY_NOT_SUPPORTED", f"binary file is not supported: {path}")
            case errors.TimedOut():
                return _error("TIMEOUT", f"{error}: {path}")
            case errors.Busy():
                return _error("BUSY", f"{error}: {path}")
        return _error("INTERNAL", f"{error}: {path}" if path else str(error))


class WorkspaceUpstream(WorkspaceDialect):
    """The tool as the shipped program behaves."""

    name = "workspace-upstream"
    summary = "as workspace, as the shipped program does: a final newline opens one more line, a final link is refused"
    follows_final_link = False

    def _line_count(self, lines: int, ends_open: bool) -> int:
        return lines + 1 if lines and not ends_open else lines


def _reply(
    path: str,
    text: str,
    meta: dict[str, Any],
    mtime_ns: int,
    *,
    first: int,
    max_lines: int,
    more: Mapping[str, Any] = NO_MEASURES,
) -> Reply:
    """Return the result object of a window of text, and the same as JSON; `meta` has the counts of the whole file."""
    total = meta["line_count"]
    returned = max(0, min(max_lines, total - first + 1))
    truncated = first + returned <= total and returned > 0
    content = text.replace("\r\n", "\n")
    if truncated and content.endswith("\n"):
        content = content[:-1]
    milliseconds, rest = divmod(mtime_ns, 1_000_000)
    meta["returned_line_count"] = returned
    meta["mtime_ms"] = milliseconds if rest == 0 else mtime_ns / 1_000_000
    meta.update(more)
    result: dict[str, Any] = {
        "path": path,
        "content": content,
        "truncated": truncated,
        "next_start_line": first + returned if truncated else None,
        "meta": meta,
    }
    return text_reply(_as_json(result), result)


def _with_slashes(path: str) -> str:
    """Return the path with `/` for every `\\`, except in escapes of bytes that are not Unicode."""
    if "\\" not in path or named_path(path) == path:
        return path.replace("\\", "/")
    return "\\udc".join([piece.replace("\\", "/") for piece in path.split("\\udc")])


def _without_backslashes(path: str) -> str:
    """Return a written path in which escapes stand for the backslashes of names: this tool reads those as `/`."""
    return written_path(named_path(path), escapes_backslashes=True) if "\\" in path else path


def _integer(value: Any, default: int) -> int | None:
    return default if value is None else as_whole(value)


def _error(code: str, text: str) -> ReplyError:
    return ReplyError(code, f"{code}: {text}")


def _invalid(text: str) -> BadArguments:
    return BadArguments("INVALID_ARGUMENT", f"INVALID_ARGUMENT: {text}")


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


DESCRIPTION = "Reads a UTF-8 text file in the workspace and returns a line-limited content window."


def _schema() -> dict[str, Any]:
    """Return the schema of section 4.4 of the seed, word for word."""
    return {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": 'Workspace-root-relative file path to read (e.g., "src/main.ts").',
            },
            "start_line": {
                "type": "number",
                "default": 1,
                "description": "1-based start line of the returned window (default: 1).",
            },
            "max_lines": {
                "type": "number",
                "default": 200,
                "description": "Maximum number of lines to return (default: 200).",
            },
        },
        "required": ["path"],
    }
