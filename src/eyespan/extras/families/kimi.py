"""Kimi CLI `ReadFile`: numbered lines, negative offsets that count from the end, a note with the total before the text.

Names, limits, numbering and notes follow the program; docs/dialects/kimi.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eyespan import errors
from eyespan.dialects.arguments import is_integer, path_in, refusal, shown
from eyespan.dialects.base import Admit, FileDialect, only_text, text_notes
from eyespan.dialects.rows import raw_lines
from eyespan.errors import ReadError
from eyespan.escape import written_path
from eyespan.model import (
    EXACT_TOTAL,
    NUL_IS_BINARY,
    Document,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    ReplyError,
    Tail,
    TextContent,
    ToolSpec,
)

MAX_LINES = 1000
MAX_LINE_CHARS = 2000
MAX_BYTES = 100 << 10
_LIMITS = Limits(max_line_bytes=4 * (MAX_LINE_CHARS + 2), max_line_chars=MAX_LINE_CHARS)
_MEDIA = frozenset(("image",))


@dataclass(frozen=True, slots=True)
class KimiArgs:
    """The checked arguments of a call."""

    path: str
    line_offset: int
    n_lines: int


class Kimi(FileDialect):
    """The tool as the program has it."""

    name = "kimi"
    summary = "ReadFile of Kimi CLI: cat -n lines, negative line_offset, a note with the total number of lines"
    instructions = "Text is returned by lines, at most 1,000 per call. Images and other binary files are refused."

    def _spec(self) -> ToolSpec:
        schema = {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file to read."},
                "line_offset": {
                    "type": "integer",
                    "default": 1,
                    "description": f"The first line to read. A negative one, to -{MAX_LINES}, counts from the end.",
                },
                "n_lines": {
                    "type": "integer",
                    "default": MAX_LINES,
                    "minimum": 1,
                    "description": f"The number of lines to read, at most {MAX_LINES}.",
                },
            },
            "required": ["path"],
        }
        text = (
            f"Reads a text file by lines, at most {MAX_LINES} lines and {MAX_BYTES >> 10} KB per call, with numbers; "
            f"lines over {MAX_LINE_CHARS} characters are cut. A note gives the total number of lines."
        )
        return ToolSpec("ReadFile", text, schema)

    def parse(self, arguments: Any, admit: Admit) -> KimiArgs:
        path = path_in(arguments, "path", _bad)
        offset, count = arguments.get("line_offset"), arguments.get("n_lines")
        offset, count = 1 if offset is None else offset, MAX_LINES if count is None else count
        for name, value in (("line_offset", offset), ("n_lines", count)):
            if not is_integer(value):
                raise _bad(f"{name} must be an integer, not {shown(value)}")
        if count < 1:
            raise _bad("n_lines must be 1 or more")
        if offset == 0:
            raise _bad("line_offset cannot be 0; use 1 for the first line or -1 for the last line")
        if offset < -MAX_LINES:
            raise _bad(
                f"line_offset cannot be less than -{MAX_LINES}. Use a positive line_offset with the total line count "
                "to read from a specific position."
            )
        if not path:
            raise _refused("File path cannot be empty.")
        return KimiArgs(path, offset, count)

    def plan(self, args: KimiArgs) -> ReadRequest:
        is_tail = args.line_offset < 0
        return ReadRequest(
            path=args.path,
            selection=Tail(-args.line_offset) if is_tail else Lines(args.line_offset, min(args.n_lines, MAX_LINES)),
            limits=_LIMITS,
            text_rule=NUL_IS_BINARY,
            refuses=_MEDIA,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
            total=EXACT_TOTAL,
        )

    def render(self, args: KimiArgs, document: Document) -> Reply:
        part = only_text(document)
        total = part.total_lines or 0
        rows = [(number, *_cut(line)) for number, line in enumerate(_lines(part.data), part.first_line)]
        has_all_lines = True
        if args.line_offset < 0:
            rows = rows[: args.n_lines]
            kept = _fitting(rows)
            has_all_lines = kept == len(rows)
            rows = rows[len(rows) - kept :]
        else:
            size = 0
            for at, (_, line, _) in enumerate(rows):
                size += len(line.encode())
                if size >= MAX_BYTES and at + 1 < min(args.n_lines, MAX_LINES):
                    has_all_lines = False
                    rows = rows[: at + 1]
                    break
        start = rows[0][0] if rows else args.line_offset
        note = f"{len(rows)} lines read from file starting from line {start}." if rows else "No lines read from file."
        note += f" Total lines in file: {total}."
        if args.line_offset > 0 and len(rows) == MAX_LINES < args.n_lines:
            note += f" Max {MAX_LINES} lines reached."
        elif not has_all_lines:
            note += f" Max {MAX_BYTES} bytes reached."
        elif len(rows) < args.n_lines:
            note += " End of file reached."
        cut = [number for number, _, is_cut in rows if is_cut]
        if cut:
            note += f" Lines {cut} were truncated."
        notes = text_notes(document)
        body = "".join([f"{number:6d}\t{line}" for number, line, _ in rows])
        content = (TextContent(f"<system>{note}</system>"), *([TextContent(body)] if body else []))
        measures: dict[str, Any] = {"lines": len(rows), "cut_lines": len(cut)}
        if rows and rows[-1][0] < total:
            measures["left_out"] = [f"{written_path(args.path)}:{rows[-1][0] + 1}-"]
        return Reply(content, None, None, notes, measures)

    def render_error(self, error: ReadError) -> ReplyError:
        path = written_path(error.path)
        match error:
            case errors.NotFound():
                text = f"`{path}` does not exist."
            case errors.NotRegular():
                text = f"`{path}` is not a file."
            case errors.Binary(kind="image"):
                text = f"`{path}` is a image file. Use other appropriate tools to read image or video files."
            case errors.Binary():
                text = f"`{path}` seems not readable: it is a binary file."
            case errors.PolicyDenied(rule=""):
                text = "This tool is denied by policy."
            case errors.PolicyDenied():
                text = (
                    f"`{path}` appears to contain secrets (matched sensitive file pattern). Reading this file is "
                    "blocked to protect credentials."
                )
            case errors.OutsideRoot():
                text = f"`{path}` is outside the directories that may be read."
            case _:
                text = f"Failed to read {path}. Error: {error}"
        return ReplyError(error.code, f"<system>ERROR: {text}</system>")


def _lines(data: bytes | bytearray) -> Iterator[str]:
    for line in raw_lines(data):
        text = line.decode("utf-8", "replace")
        yield f"{text[:-2]}\n" if text.endswith("\r\n") else text


def _cut(line: str) -> tuple[str, bool]:
    """Return a line of at most `MAX_LINE_CHARS` characters, its line feed included, and whether it was cut."""
    if len(line) <= MAX_LINE_CHARS:
        return line, False
    end = "...\n" if line.endswith("\n") else "..."
    return line[: MAX_LINE_CHARS - len(end)] + end, True


def _fitting(rows: list[tuple[int, str, bool]]) -> int:
    """Return how many of the last rows have at most `MAX_BYTES` bytes."""
    size = 0
    for kept, (_, line, _) in enumerate(reversed(rows)):
        size += len(line.encode())
        if size > MAX_BYTES:
            return kept
    return len(rows)


_refused = refusal("invalid_arguments", "<system>ERROR: {}</system>")
_bad = refusal("invalid_arguments", "<system>ERROR: Invalid arguments: {}</system>")
