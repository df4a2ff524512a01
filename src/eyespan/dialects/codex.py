"""Codex `read_file` (seed 000): an absolute path, `L12: ` lines, a slice or a block grown around an anchor line.

`codex` has the defaults of the document, `codex-upstream` those of the program that shipped. The order of checks and
the texts are the program's: offset, limit, path, anchor_line, max_lines, then the file. Cut answers have no notice and
no total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyespan import errors
from eyespan._native.cuts import cut_bytes
from eyespan.dialects.arguments import BadArguments, is_integer, shown
from eyespan.dialects.base import CHANGED, NO_MEASURES, Admit, FileDialect, encoding_note, only_text, text_reply
from eyespan.dialects.rendering import joined, numbered_counting
from eyespan.errors import ReadError
from eyespan.model import (
    ANY_IS_TEXT,
    NO_TOTAL,
    Block,
    Document,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    ReplyError,
    RowsPart,
    ToolSpec,
)

DEFAULT_LIMIT = 2000
MAX_LINE_BYTES = 500
"""Characters by the document. The program counts bytes of UTF-8 and cuts between characters, and so does this."""
_LIMITS = Limits(max_line_bytes=MAX_LINE_BYTES + 12)
_USIZE_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True)
class CodexArgs:
    """The checked arguments of a call."""

    file_path: str
    offset: int
    limit: int
    block: Block | None = None
    """Read a block around an anchor line instead of a slice."""


class Codex(FileDialect):
    """The tool as the document describes it."""

    name = "codex"
    summary = "absolute file_path, offset/limit, `L12: ` lines, an indentation mode around an anchor line"
    instructions = "Every file is returned as lines of text. For a large file, ask for the range you need."
    max_levels = 4
    include_header = False
    refuses_negatives = False
    """Negative numbers are refused by the parser, as in the program, and not with the texts of the document."""
    max_line_bytes = MAX_LINE_BYTES
    counts_cut_lines = True

    def _spec(self) -> ToolSpec:
        return ToolSpec("read_file", DESCRIPTION, _schema())

    def parse(self, arguments: Any, admit: Admit) -> CodexArgs:
        fields = _object(arguments, "arguments")
        path = _field(fields, "file_path", "string")
        number = "usize" if self.refuses_negatives else "number"
        offset = _field(fields, "offset", number, 1)
        limit = _field(fields, "limit", number, DEFAULT_LIMIT)
        mode = _field(fields, "mode", "string", "slice")
        if mode not in ("slice", "indentation"):
            raise _unparsed(f"mode: unknown variant `{mode}`, expected `slice` or `indentation`")
        options = fields.get("indentation")
        if options is None and mode == "slice":
            return _slice_args(path, offset, limit)
        options = {} if options is None else _object(options, "indentation")
        anchor = _field(options, "indentation.anchor_line", number, None, nullable=True)
        levels = _field(options, "indentation.max_levels", "usize", self.max_levels)
        siblings = _field(options, "indentation.include_siblings", "boolean", False)
        header = _field(options, "indentation.include_header", "boolean", self.include_header)
        max_lines = _field(options, "indentation.max_lines", number, None, nullable=True)
        args = _slice_args(path, offset, limit)
        if mode == "slice":
            return args
        anchor = offset if anchor is None else anchor
        if anchor == 0:
            raise _refused("anchor_line must be a 1-indexed line number")
        if max_lines == 0:
            raise _refused("max_lines must be greater than zero")
        cap = limit if max_lines is None else min(limit, max_lines)
        block = Block(anchor=anchor, cap=cap, max_levels=levels, siblings=siblings, header=header)
        return replace(args, block=block)

    def plan(self, args: CodexArgs) -> ReadRequest:
        return ReadRequest(
            path=args.file_path,
            selection=args.block or Lines(args.offset, args.limit),
            limits=_LIMITS,
            text_rule=ANY_IS_TEXT,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
            total=NO_TOTAL,
        )

    def render(self, args: CodexArgs, document: Document) -> Reply:
        part = document.parts[0]
        notes: tuple[str, ...] = ()
        if document.facts.changed or document.extra:
            notes = tuple([note for note in (document.facts.changed and CHANGED, encoding_note(document)) if note])
        if isinstance(part, RowsPart):
            if part.past_end:
                raise _out_of_range("anchor_line exceeds file length")
            return text_reply(joined(_block_pieces(part)), notes=notes)
        lines = only_text(document)
        if not lines.line_count:
            raise _out_of_range("offset exceeds file length")
        text, cut_lines = numbered_counting(lines, lead="L", mark=": ", max_bytes=MAX_LINE_BYTES)
        return text_reply(text, notes=notes, measures={"cut_lines": cut_lines} if cut_lines else NO_MEASURES)

    def render_error(self, error: ReadError) -> ReplyError:
        if isinstance(error, errors.InvalidPath) and "\0" in error.path:
            reason = "file name contained an unexpected NUL byte"
        elif isinstance(error, errors.NotRegular) and error.what != "directory":
            reason = str(error)
        elif isinstance(error, errors.SystemFailure) and not isinstance(error, errors.Stuck):
            reason = f"{errors.system_text(error.errno)} (os error {error.errno})"
        else:
            reason = str(error)
        return ReplyError(error.code, f"failed to read file: {reason}")


class CodexUpstream(Codex):
    """The tool with the defaults of the program that shipped."""

    name = "codex-upstream"
    summary = "as codex, with the defaults of the program that shipped: max_levels 0, include_header true"
    max_levels = 0
    include_header = True
    refuses_negatives = True


def _slice_args(path: str, offset: int, limit: int) -> CodexArgs:
    if offset == 0:
        raise _refused("offset must be a 1-indexed line number")
    if limit == 0:
        raise _refused("limit must be greater than zero")
    if not path.startswith("/"):
        raise _refused("file_path must be an absolute path")
    return CodexArgs(file_path=path, offset=offset, limit=limit)


def _block_pieces(part: RowsPart) -> Iterator[str]:
    before = "L"
    for number, raw in part.rows:
        yield f"{before}{number}: {cut_bytes(raw.decode('utf-8', 'replace'), MAX_LINE_BYTES)}"
        before = "\nL"


def _refused(text: str) -> BadArguments:
    return BadArguments("invalid_arguments", text)


def _out_of_range(text: str) -> BadArguments:
    return BadArguments("out_of_range", text)


def _unparsed(text: str) -> BadArguments:
    return BadArguments("invalid_arguments", f"failed to parse function arguments: {text}")


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _unparsed(f"{name}: invalid type: {_described(value)}, expected an object")
    return value


_MISSING = object()


def _field(fields: Mapping[str, Any], name: str, kind: str, default: Any = _MISSING, *, nullable: bool = False) -> Any:
    """Return one argument, checked as strictly as by the original's parser: no quoted number, no fraction, no null.

    A "number" may be negative, which the caller refuses like 0.
    """
    value = fields.get(name[name.rfind(".") + 1 :] if "." in name else name, _MISSING)
    if value is _MISSING:
        if default is _MISSING:
            raise _unparsed(f"missing field `{name}`")
        return default
    if value is None and nullable:
        return default
    if kind in ("number", "usize") and is_integer(value):
        if 0 <= value <= _USIZE_MAX:
            return value
        if kind == "number" and value < 0:
            return 0
        raise _unparsed(f"{name}: invalid value: integer `{shown(value)}`, expected usize")
    if (kind == "string" and isinstance(value, str)) or (kind == "boolean" and isinstance(value, bool)):
        return value
    expected = "usize" if kind in ("number", "usize") else f"a {kind}"
    raise _unparsed(f"{name}: invalid type: {_described(value)}, expected {expected}")


def _described(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{shown(value)}`"
    if isinstance(value, int):
        return f"integer `{shown(value)}`"
    if isinstance(value, float):
        return f"floating point `{shown(value)}`"
    if isinstance(value, str):
        return f"string {shown(value)}"
    return "map" if isinstance(value, dict) else "sequence" if isinstance(value, list) else type(value).__name__


DESCRIPTION = (
    "Reads a local file and returns its lines with 1-indexed line numbers, either a plain slice "
    "or the block of code around a line, found by indentation."
)


def _schema() -> dict[str, Any]:
    number, boolean = "number", "boolean"
    return {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "Absolute path to the file."},
            "offset": {"type": number, "description": "The line number to start reading from. Must be 1 or greater."},
            "limit": {"type": number, "description": "The maximum number of lines to return."},
            "mode": {
                "type": "string",
                "description": 'Either "slice" for a plain range of lines (the default) or "indentation" '
                "to expand around an anchor line.",
            },
            "indentation": {
                "type": "object",
                "properties": {
                    "anchor_line": {
                        "type": number,
                        "description": "The line to center the indentation lookup on (defaults to offset).",
                    },
                    "max_levels": {
                        "type": number,
                        "description": "How many parent levels (smaller indentation) to include; 0 is no limit.",
                    },
                    "include_siblings": {
                        "type": boolean,
                        "description": "When true, also include blocks that share the anchor's indentation.",
                    },
                    "include_header": {
                        "type": boolean,
                        "description": "Include comments or attributes directly above the block.",
                    },
                    "max_lines": {
                        "type": number,
                        "description": "Hard cap on the number of lines returned in indentation mode.",
                    },
                },
                "additionalProperties": False,
            },
        },
        "required": ["file_path"],
        "additionalProperties": False,
    }
