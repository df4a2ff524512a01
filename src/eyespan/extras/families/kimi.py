"""Kimi Code `Read`: lines with numbers within `max_chars`, then a status with the arguments that read on.

Names, limits and texts follow the program; docs/dialects/kimi.md lists the differences.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from eyespan.dialects.arguments import SAFE, BadArguments, Field, Wording
from eyespan.dialects.base import only_text, text_notes
from eyespan.dialects.opened_lines import line_length
from eyespan.dialects.table import Call, Page, TableDialect, Window
from eyespan.model import EXACT_TOTAL, NUL_OR_BAD_UTF8_IS_BINARY, CharRange, Limits, Lines
from eyespan.opened import Opened

DEFAULT_CHARS = 100_000
MAX_CHARS = 500_000
_ANY_OF = "/line_offset must match a schema in anyOf"
_ABOVE_0 = {"below": "/{name} must be > 0"}
_FAILED = "<system>ERROR: Tool execution failed.</system>\n{}"


class Kimi(TableDialect):
    """The tool as the program has it."""

    name = "kimi"
    summary = "Read of Kimi Code: numbered lines within max_chars, a status that names the next call, column_offset"
    instructions = "Text is returned by lines, within max_chars; a status names the next call. Images are refused."
    tool = "Read"
    description = (
        "Reads a text file by lines with numbers, at most max_chars characters. A status in <system> gives the total "
        "and the arguments of the next call; column_offset reads on in a long line."
    )
    fields = (
        Field("path", "string", "The file to read.", required=True),
        Field(
            "line_offset",
            "integer",
            "The first line to read, 1 by default. A negative one counts from the end.",
            fits=SAFE,
            messages={
                "type": f"/line_offset must be integer; /line_offset must be integer; {_ANY_OF}",
                "unfit": f"/line_offset must be <= {SAFE[1]}; /line_offset must be < 0; {_ANY_OF}",
            },
            schema={"anyOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": -1}]},
        ),
        Field("column_offset", "integer", "Characters of the first line to skip.", minimum=0, fits=SAFE),
        Field("n_lines", "integer", "The most lines; all by default.", minimum=1, fits=SAFE, messages=_ABOVE_0),
        Field("max_chars", "integer", "The most characters.", minimum=1, fits=SAFE, messages=_ABOVE_0),
    )
    is_closed = True
    wording = Wording(
        _FAILED.replace("{}", 'Invalid args for tool "Read": {}'),
        missing="must have required property '{name}'",
        type="/{name} must be {type}",
        below="/{name} must be >= {bound}",
        unfit=f"/{{name}} must be <= {SAFE[1]}",
        unknown="must NOT have additional property '{raw}'",
    )
    window = Window(first="line_offset", count="n_lines", has_tails=True)
    read_limits = Limits(max_line_bytes=4 * MAX_CHARS, max_line_chars=MAX_CHARS)
    counts_cut_chars = True
    text_encoding = "bom"
    text_rule = NUL_OR_BAD_UTF8_IS_BINARY
    error_form = _FAILED
    error_texts = {
        "not_found": '"{path}" does not exist.',
        **dict.fromkeys(("ELOOP", "ENAMETOOLONG"), "realpath failed: unrecognized filesystem error"),
        "not_regular": '"{path}" is not a file.',
        "binary_image": '"{path}" is an image file. Only text files can be read.',
        "binary_video": '"{path}" is a video file. Only text files can be read.',
        "binary": '"{path}" is not readable as UTF-8 text. Only text files can be read.',
        "policy_denied": '"{path}" matches a sensitive-file pattern (env / credential / SSH key). Access is blocked '
        "to protect secrets.",
        "any": "{system}",
    }

    def check(self, values: dict[str, Any]) -> None:
        if not values["path"]:
            raise _failed("Path cannot be empty")
        if values["line_offset"] == 0:
            raise self.wording.bad(f"/line_offset must be >= 1; /line_offset must be < 0; {_ANY_OF}")
        if values["column_offset"] is not None and (values["line_offset"] or 1) < 0:
            raise _failed(
                "column_offset is only supported for forward reads. Use a positive line_offset or the forward Next "
                "Read arguments."
            )

    def page(self, call: Call, opened: Opened) -> Page:
        document = opened.read(Lines(1, 1), total=EXACT_TOTAL)
        total = only_text(document).total_lines or 0
        most = min(call["max_chars"] or DEFAULT_CHARS, MAX_CHARS)
        offset, count, column = call["line_offset"] or 1, call["n_lines"], call["column_offset"] or 0
        first = offset if offset > 0 else max(1, total + offset + 1)
        last = total if count is None else min(total, first + count - 1)
        status = _Status(call, first, last, total, most, is_tail=offset < 0)
        bom = int(first == 1 and only_text(document).data.startswith(b"\xef\xbb\xbf"))
        if column and (first > total or column > line_length(opened, first) - bom):
            raise _failed(
                f"column_offset={column} is past the end of the starting line {first}. Read the line from column 0 to "
                "inspect its current contents."
            )
        page = _forward(opened, status, column, bom) if offset > 0 else _backward(opened, status)
        return replace(page, total=total, notes=text_notes(document))

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        return [page.body]


@dataclass(frozen=True, slots=True)
class _Status:
    """The range that is asked for, from which the status of an answer is made."""

    call: Call
    first: int
    last: int
    total: int
    most: int
    is_tail: bool

    def note(self, first: int, count: int, piece: tuple[int, int, int] | None = None, *, is_mixed: bool) -> str:
        """Return the status of an answer with these lines; `piece` is the part of the first one: start, end, of."""
        last = first + count - 1
        is_open = piece is not None and piece[1] < piece[2]
        has_all = self.first > self.last or (count > 0 and (first, last) == (self.first, self.last) and not is_open)
        parts = [
            f"{count} {'line' if count == 1 else 'lines'} read from file starting from line {first}."
            if count
            else "No lines read from file.",
            f"Total lines in file: {self.total}.",
            "Requested range complete." if has_all else "Character limit reached.",
            f"Effective max_chars: {self.most}.",
        ]
        if not is_open and ((count and last == self.total) or self.first > self.total):
            parts.append("End of file reached.")
        if piece is not None:
            parts.append(f"Line {first} fragment: columns [{piece[0]}, {piece[1]}) of {piece[2]}.")
            parts.append("Line continues." if is_open else "Line complete.")
        asked = self.call["max_chars"]
        if asked is not None and asked > MAX_CHARS:
            parts.append(f"Requested max_chars={asked} was capped at the configured maximum {MAX_CHARS}.")
        if not has_all:
            start = self.first if self.is_tail else first if is_open else last + 1
            end = first - 1 if self.is_tail and count else self.last
            following: dict[str, Any] = {"path": self.call.path, "line_offset": start}
            if is_open and piece is not None:
                following["column_offset"] = piece[1]
            if self.is_tail or self.call["n_lines"] is not None:
                following["n_lines"] = end - start + 1
            following["max_chars"] = self.most
            parts.append(f"Next Read: {json.dumps(following, ensure_ascii=False, separators=(',', ':'))}")
        if is_mixed:
            parts.append(
                "Mixed or lone carriage-return line endings are shown as \\r. Use exact \\r\\n or \\r escapes in "
                "Edit.old_string for those lines."
            )
        return f"<system>{' '.join(parts)}</system>"


def _forward(opened: Opened, status: _Status, column: int, bom: int) -> Page:
    """Return the first lines of the range that fit, or a piece of the first one. Raises: BadArguments, ReadError.

    `bom` is the number of characters that stand before the first line, and are not shown.
    """
    if status.first > status.last:
        note = status.note(status.first, 0, is_mixed=False)
        return Page(f"<system>Tool output is empty.</system>\n{note}", status.first, 0)
    lines, is_mixed = _shown_lines(opened, CharRange(status.first, 1 + bom + column, status.last, 2 * status.most))
    whole = column + len(lines[0])
    if len(lines) == 1 and len(lines[0]) >= status.most:
        whole = line_length(opened, status.first) - bom
    piece = (column, whole, whole) if column else None
    rows, size = list[str](), -1
    while size <= status.most and len(rows) < len(lines):
        rows.append(f"{status.first + len(rows)}\t{lines[len(rows)]}")
        size += 1 + len(rows[-1])
    while True:
        note = status.note(status.first, len(rows), piece, is_mixed=is_mixed)
        if size + 1 + len(note) <= status.most:
            break
        if len(rows) > 1:
            size -= len(rows.pop()) + 1
            continue
        end = (column + len(rows[0]) - len(f"{status.first}\t")) - max(1, size + 1 + len(note) - status.most)
        if end <= column:
            raise _failed(
                f"max_chars={status.most} is too small for file text and the Read status. Increase max_chars."
            )
        piece = (column, end, whole)
        rows = [f"{status.first}\t{lines[0][: end - column]}"]
        size = len(rows[0])
    last = status.first + len(rows) - 1
    is_full = last < status.last or (piece is not None and piece[1] < piece[2])
    cut = [status.first] if piece is not None and piece[1] < piece[2] else ()
    body = "\n".join([*rows, note])
    return Page(body, status.first, len(rows), more=last < status.total, is_full=is_full, cut=cut)


def _backward(opened: Opened, status: _Status) -> Page:
    """Return the last lines of the range that fit. Raises: BadArguments, ReadError."""
    if status.first > status.last:
        return _forward(opened, status, 0, 0)
    fits, over = 0, min(status.last - status.first + 1, status.most) + 1
    text, note = "", status.note(status.first, 0, is_mixed=False)
    count = over - 1  # the whole range first: its status is the shortest
    while over - fits > 1:
        first = status.last - count + 1
        lines, is_mixed = _shown_lines(opened, CharRange(first, 1, status.last, status.most))
        tried = status.note(first, count, is_mixed=is_mixed)
        rows = "\n".join([f"{number}\t{line}" for number, line in enumerate(lines, first)])
        if len(lines) == count and len(rows) + 1 + len(tried) <= status.most:
            fits, text, note = count, rows, tried
        else:
            over = count
        count = (fits + over) // 2
    if not fits:
        raise _failed(f"No complete line fits. Continue with the forward Next Read.\n{note}")
    first = status.last - fits + 1
    is_full = first > status.first
    return Page(f"{text}\n{note}", first, fits, more=status.last < status.total, is_full=is_full)


def _shown_lines(opened: Opened, selection: CharRange) -> tuple[list[str], bool]:
    """Return lines as they are shown, and whether their line ends are mixed; a line that is cut short is the last."""
    part = only_text(opened.read(selection))
    text = part.data.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff") if (selection.first, selection.column) == (1, 1) else text
    pairs, feeds, returns = text.count("\r\n"), text.count("\n"), text.count("\r")
    is_mixed = returns > pairs or 0 < pairs < feeds
    text = text.replace("\r", "\\r") if is_mixed else text.replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if not part.cut_short else text.split("\n"), is_mixed


def _failed(text: str) -> BadArguments:
    return BadArguments("invalid_arguments", _FAILED.replace("{}", text))
