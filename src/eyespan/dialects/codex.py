"""Codex `read_file` (seed 000): an absolute path, `L12: ` lines, a slice or a block grown around an anchor line.

`codex` has the defaults of the document, `codex-upstream` those of the program that shipped. The order of checks and
the texts are the program's: types, offset, limit, path, anchor_line, max_lines, then the file. Cut answers have no
notice and no total.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eyespan._native.cuts import cut_bytes
from eyespan.dialects.arguments import BadArguments, Field, Wording
from eyespan.dialects.base import Admit, text_notes
from eyespan.dialects.rendering import joined
from eyespan.dialects.table import Call, Gutter, Page, Paths, TableDialect, Window
from eyespan.model import ANY_IS_TEXT, Block, Limits, RowsPart
from eyespan.opened import Opened

MAX_LINE_BYTES = 500
"""Characters by the document. The program counts bytes of UTF-8 and cuts between characters, and so does this."""
USIZE = (0, 2**64 - 1)


def _fields(max_levels: int, include_header: bool, *, takes_negatives: bool) -> tuple[Field, ...]:
    """Return the fields. Negative numbers are refused like 0, or by the parser, as in the program."""

    def number(name: str, text: str, **more: Any) -> Field:
        low = -(2**1024) if takes_negatives and name != "max_levels" else 0
        return Field(name, "number", text, takes=(), fits=(low, USIZE[1]), hides_default=True, **more)

    def flag(name: str, text: str, default: bool) -> Field:
        return Field(name, "boolean", text, default=default, hides_default=True, takes_null=False)

    indentation = (
        number("anchor_line", "The line to center the indentation lookup on (defaults to offset)."),
        number(
            "max_levels",
            "How many parent levels (smaller indentation) to include; 0 is no limit.",
            default=max_levels,
            takes_null=False,
        ),
        flag("include_siblings", "When true, also include blocks that share the anchor's indentation.", False),
        flag("include_header", "Include comments or attributes directly above the block.", include_header),
        number("max_lines", "Hard cap on the number of lines returned in indentation mode."),
    )
    return (
        Field("file_path", "string", "Absolute path to the file.", required=True, takes_null=False),
        number("offset", "The line number to start reading from. Must be 1 or greater.", default=1, takes_null=False),
        number("limit", "The maximum number of lines to return.", default=2000, takes_null=False),
        Field(
            "mode",
            "string",
            'Either "slice" for a plain range of lines (the default) or "indentation" to expand around an anchor line.',
            default="slice",
            hides_default=True,
            takes_null=False,
            choices=("slice", "indentation"),
            hides_choices=True,
        ),
        Field("indentation", "object", fields=indentation, schema={"additionalProperties": False}),
    )


class Codex(TableDialect):
    """The tool as the document describes it."""

    name = "codex"
    summary = "absolute file_path, offset/limit, `L12: ` lines, an indentation mode around an anchor line"
    instructions = "Every file is returned as lines of text. For a large file, ask for the range you need."
    tool = "read_file"
    description = (
        "Reads a local file and returns its lines with 1-indexed line numbers, either a plain slice or the block of "
        "code around a line, found by indentation."
    )
    fields = _fields(4, False, takes_negatives=True)
    is_closed = True
    wording = Wording(
        "failed to parse function arguments: {}",
        not_object="arguments: invalid type: {found}, expected an object",
        missing="missing field `{name}`",
        type="{name}: invalid type: {found}, expected {kind}",
        unfit="{name}: invalid value: integer `{value}`, expected usize",
        choice="{name}: unknown variant `{raw}`, expected `slice` or `indentation`",
        kinds={"number": "usize", "boolean": "a boolean"},
    )
    paths = Paths("file_path", is_lexical=False)
    window = Window(first="offset", count="limit")
    gutter = Gutter(": ", lead="L")
    line_bytes: int = MAX_LINE_BYTES
    read_limits = Limits(max_line_bytes=MAX_LINE_BYTES + 12)
    text_rule = ANY_IS_TEXT
    refuses = frozenset()
    refused = {"past_end": "offset exceeds file length", "empty": "offset exceeds file length"}
    platform = "rust"
    error_form = "failed to read file: {}"
    error_texts = {
        "tool_denied": "{reason}",
        "policy_denied": "{reason}",
        "outside_root": "{reason}",
        "any": "{system}",
    }

    def parse(self, arguments: Any, admit: Admit) -> Call:
        call = super().parse(arguments, admit)
        options = call["indentation"]
        if call["mode"] == "slice":
            return call
        anchor = call["offset"] if options["anchor_line"] is None else options["anchor_line"]
        if anchor < 1:
            raise _refused("anchor_line must be a 1-indexed line number")
        cap = call["limit"] if options["max_lines"] is None else min(call["limit"], options["max_lines"])
        if cap < 1:
            raise _refused("max_lines must be greater than zero")
        block = Block(
            anchor=anchor,
            cap=cap,
            max_levels=options["max_levels"],
            siblings=options["include_siblings"],
            header=options["include_header"],
        )
        return Call(call.path, call.values, block)

    def check(self, values: dict[str, Any]) -> None:
        if values["offset"] < 1:
            raise _refused("offset must be a 1-indexed line number")
        if values["limit"] < 1:
            raise _refused("limit must be greater than zero")
        if not values["file_path"].startswith("/"):
            raise _refused("file_path must be an absolute path")

    def page(self, call: Call, opened: Opened) -> Page:
        if not isinstance(call.selection, Block):
            return super().page(call, opened)
        document = opened.read()
        part: Any = document.parts[0]
        if part.past_end:
            raise BadArguments("out_of_range", "anchor_line exceeds file length")
        most = self.line_bytes
        cut = [number for number, row in part.rows if len(row.decode("utf-8", "replace").encode()) > most]
        rows = part.rows
        first = rows[0][0] if rows else 1
        body = joined(_block_pieces(part, most))
        # A block of blank lines is shown as nothing; it is not the end of the file.
        return Page(body, first, len(rows), more=not rows, cut=cut, notes=text_notes(document))


class CodexUpstream(Codex):
    """The tool with the defaults of the program that shipped."""

    name = "codex-upstream"
    summary = "as codex, with the defaults of the program that shipped: max_levels 0, include_header true"
    fields = _fields(0, True, takes_negatives=False)


def _block_pieces(part: RowsPart, most: int) -> Iterator[str]:
    before = "L"
    for number, raw in part.rows:
        yield f"{before}{number}: {cut_bytes(raw.decode('utf-8', 'replace'), most)}"
        before = "\nL"


def _refused(text: str) -> BadArguments:
    return BadArguments("invalid_arguments", text)
