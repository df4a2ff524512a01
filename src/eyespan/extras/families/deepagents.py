"""Deep Agents `read_file`: numbered lines, rows such as 5.1 and 5.2 for a long line, a notice on the lines left.

Names, limits, numbering and notices follow the program; docs/dialects/deepagents.md lists the differences.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, as_whole, path_in, refusal, shown
from eyespan.dialects.base import Admit, Dialect, only_text, text_notes
from eyespan.dialects.media import media_block, media_notes
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import written_path
from eyespan.guard.paths import beneath
from eyespan.model import (
    EXACT_TOTAL,
    NO_TOTAL,
    NUL_OR_BAD_UTF8_IS_BINARY,
    CharRange,
    DocumentOptions,
    Lines,
    PdfOptions,
    ReadRequest,
    Reply,
    ReplyError,
    TextContent,
    ToolSpec,
)
from eyespan.opened import Opened

DEFAULT_LINES = 100
MAX_ROW_CHARS = 5000
MAX_CHARS = 80_000
ROW_BYTES = 500
"""The memory of a row that is made of a line, with its number and its piece of the text."""
"""An answer is shorter than this, its notices included."""
_OPTIONS = DocumentOptions(pdf=PdfOptions(is_whole=True))
_DOCUMENTS = frozenset(("image", "pdf"))
EMPTY = "System reminder: File exists but has empty contents"
CUT = (
    "\n\n[Output was truncated due to size limits. The file content is very large. Consider reformatting the file to "
    "make it easier to navigate.]"
)


@dataclass(frozen=True, slots=True)
class DeepAgentsArgs:
    """The checked arguments of a call."""

    path: str
    offset: int
    limit: int


class DeepAgents(Dialect):
    """The tool as the program has it."""

    name = "deepagents"
    first_offset = 0
    summary = "read_file of Deep Agents: 100 lines by default, offset from 0, rows 5.1, 5.2 for a long line 5"
    instructions = (
        "Text is returned by lines, 100 by default and at most 80,000 characters per call; offset counts from 0. "
        "Images and PDFs are returned as such."
    )
    sends_documents = True

    def _spec(self) -> ToolSpec:
        schema = {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The file to read."},
                "offset": {
                    "type": "integer",
                    "default": 0,
                    "description": "The number of lines to skip: 0 starts with the first line.",
                },
                "limit": {
                    "type": "integer",
                    "default": DEFAULT_LINES,
                    "description": "The most lines to read.",
                },
            },
            "required": ["file_path"],
        }
        text = (
            f"Reads a file, by default its first {DEFAULT_LINES} lines; offset and limit read on. Lines have numbers; "
            f"a line over {MAX_ROW_CHARS} characters goes on in rows such as 5.1 and 5.2. Images and PDFs come as such."
        )
        return ToolSpec("read_file", text, schema)

    def parse(self, arguments: Any, admit: Admit) -> DeepAgentsArgs:
        path = path_in(arguments, "file_path", _bad)
        counts = []
        for name, default in (("offset", 0), ("limit", DEFAULT_LINES)):
            value = arguments.get(name)
            count = default if value is None else as_whole(value)
            if count is None:
                raise _bad(f"{name} must be an integer, not {shown(value)}")
            counts.append(count)
        if ".." in path.replace("\\", "/").split("/") or path.startswith("~"):
            raise BadArguments("invalid_path", f"Error: Path traversal not allowed: {path}")
        if path[1:2] == ":" and path[:1].isalpha() and path[:1].isascii() and os.sep == "/":
            text = "Windows absolute paths are not supported"
            raise BadArguments("invalid_path", f"Error: {text}: {path}. Use a path below the workspace")
        return DeepAgentsArgs(path, *counts)

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        args = self.parse(arguments, engine.admit)
        assert context is not None
        request = ReadRequest(
            _below_root(args.path, engine),
            text_rule=NUL_OR_BAD_UTF8_IS_BINARY,
            documents=_DOCUMENTS,
            options=_OPTIONS,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
            total=NO_TOTAL,
        )
        try:
            with engine.open(request, context) as opened:
                if opened.kind.name in _DOCUMENTS:
                    return _media(opened, engine)
                return _lines(args, opened)
        except errors.ReadError as error:
            error.path = args.path
            raise

    def render_error(self, error: ReadError) -> ReplyError:
        path = error.path if "\0" in error.path else os.path.normpath(error.path)
        path = written_path(path if path.startswith("/") else f"/{path}")
        match error:
            case errors.NotFound() | errors.NotRegular():
                text = f"File '{path}' not found"
            case errors.PolicyDenied(rule=""):
                text = "this tool is denied by policy"
            case errors.PolicyDenied():
                text = f"permission denied for read on {path} by the rule {error.rule}"
            case errors.OutsideRoot():
                text = f"'{path}' is outside the directories that may be read"
            case errors.Binary():
                text = f"Error reading file '{path}': the file is binary, or its text is not UTF-8"
            case _:
                text = f"Error reading file '{path}': {error}"
        return ReplyError(error.code, f"Error: {text}")


def _lines(args: DeepAgentsArgs, opened: Opened) -> Reply:
    """Return the selected lines, as many as fit. Raises: BadArguments, ReadError."""
    first = max(args.offset, 0) + 1
    lines: list[tuple[int, str]] = []
    document = opened.read(Lines(1, 1), total=EXACT_TOTAL)
    total = only_text(document).total_lines or 0
    notes = text_notes(document)
    is_cut = False
    if args.limit > 0 and first <= total:
        document = opened.read(CharRange(first, 1, first + args.limit - 1, 2 * MAX_CHARS))  # a line end may take two
        part = only_text(document)
        is_cut = part.cut_short
        opened.context.charge(ROW_BYTES * part.line_count)
        texts = part.data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        lines = list(enumerate(texts if is_cut or texts[-1] else texts[:-1], first))
        notes = text_notes(document)
    measures: dict[str, Any] = {"lines": 0, "total_lines": total}
    if opened.facts.exact:
        measures["file_bytes"] = opened.facts.size_bytes
    if not total:
        return Reply((TextContent(EMPTY),), None, None, notes, measures)
    if args.limit <= 0:
        text = (
            f"System reminder: no lines were read because `limit` was {args.limit}. The file was not inspected and may "
            "have contents; retry with `limit` >= 1 to read it."
        )
        return Reply((TextContent(text),), None, None, notes, measures)
    if first > total:
        raise BadArguments("out_of_range", f"Error: Line offset {first - 1} exceeds file length ({total} lines)")
    text, last = _fitted(
        lines[:-1] if is_cut and len(lines) > 1 else lines, first, min(first + args.limit - 1, total), total
    )
    measures["lines"] = last - first + 1
    if last < total:
        measures["left_out"] = [f"{written_path(args.path)}:{last + 1}-"]
    if args.offset < 0:
        text += f"\n\n[Requested offset {args.offset} is before the start of the file; read from line 1 instead.]"
    return Reply((TextContent(text),), None, None, notes, measures)


def _fitted(lines: list[tuple[int, str]], first: int, last: int, total: int) -> tuple[str, int]:
    """Return the lines with their numbers and notices, and the last of them that is shown; `last` is asked for."""
    markers: list[tuple[int, str, str]] = []
    for number, line in lines:
        pieces = [line[at : at + MAX_ROW_CHARS] for at in range(0, len(line), MAX_ROW_CHARS)] or [""]
        markers += [(number, f"{number}.{at}" if at else str(number), piece) for at, piece in enumerate(pieces)]
    width = max(len(str(last)), max([len(marker) for _, marker, _ in markers]))
    ends: dict[int, int] = {}
    size = -1
    for number, _, piece in markers:
        size += width + 3 + len(piece)
        ends[number] = size
    text = "\n".join([f"{marker:>{width}}  {piece}" for _, marker, piece in markers])
    notice = _rest(first, last, total)
    if lines[-1][0] == last and len(text) + len(notice) < MAX_CHARS:
        return text + notice, last
    for end in reversed(ends):
        notice = _rest(first, end, total)
        if ends[end] + len(CUT) + len(notice) <= MAX_CHARS:
            return text[: ends[end]] + CUT + notice, end
    notice = f"\n\n[Line {first} is shown only in part.{_next(first, total)}]"
    return text[: MAX_CHARS - len(CUT) - len(notice)] + CUT + notice, first


def _rest(first: int, last: int, total: int) -> str:
    """Return the notice on the lines after `last`, if there are any."""
    if last >= total:
        return ""
    count, left = last - first + 1, total - last
    return (
        f"\n\n[Read {count} {_lines_word(count)} (lines {first}-{last} of {total} total). "
        f"{left} {_lines_word(left)} remaining from offset {last}.]"
    )


def _next(line: int, total: int) -> str:
    return f" {total - line} {_lines_word(total - line)} remaining from offset {line}." if line < total else ""


def _lines_word(count: int) -> str:
    return "line" if count == 1 else "lines"


def _media(opened: Opened, engine: Engine) -> Reply:
    """Return an image or a PDF. Raises: ReadError."""
    document = opened.read()
    measures = {"file_bytes": document.facts.size_bytes}
    return Reply((media_block(document, engine),), None, None, media_notes(document), measures)


def _below_root(path: str, engine: Engine) -> str:
    """Return the path to read: an absolute one that is below no root counts from the first root."""
    if "\0" in path:
        return path
    path = os.path.normpath(path)
    if os.path.isabs(path) and beneath(path, engine.guard.roots) is None:
        return path.lstrip("/") or "."
    return path


_bad = refusal("invalid_arguments", "Error: invalid arguments: {}")
