"""Kimi CLI 1.52 `ReadFile`: numbered lines, negative offsets from the end, a note with the total before the text.

Names, limits, numbering and notes follow the program; docs/dialects/kimi.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eyespan.dialects.arguments import LAX, Field, Wording
from eyespan.dialects.base import only_text, text_notes
from eyespan.dialects.opened_lines import raw_lines
from eyespan.dialects.table import Call, Page, TableDialect, Window
from eyespan.model import EXACT_TOTAL
from eyespan.opened import Opened

MAX_LINES = 1000
MAX_LINE_CHARS = 2000
MAX_BYTES = 100 << 10


class KimiCli(TableDialect):
    """The tool as Kimi CLI 1.52 has it."""

    name = "kimi@1.52"
    summary = "ReadFile of Kimi CLI: cat -n lines, negative line_offset, a note with the total number of lines"
    instructions = "Text is returned by lines, at most 1,000 per call. Images and other binary files are refused."
    tool = "ReadFile"
    description = (
        f"Reads a text file by lines, at most {MAX_LINES} lines and {MAX_BYTES >> 10} KB per call, with numbers; "
        f"lines over {MAX_LINE_CHARS} characters are cut. A note gives the total number of lines."
    )
    fields = (
        Field("path", "string", "The file to read.", required=True),
        Field(
            "line_offset",
            "integer",
            f"The first line to read. A negative one, to -{MAX_LINES}, counts from the end.",
            default=1,
            takes=LAX,
        ),
        Field(
            "n_lines",
            "integer",
            f"The number of lines to read, at most {MAX_LINES}.",
            default=MAX_LINES,
            minimum=1,
            takes=LAX,
        ),
    )
    wording = Wording("<system>ERROR: Invalid arguments: {}</system>")
    window = Window(first="line_offset", count="n_lines", max_lines=MAX_LINES, has_tails=True)
    line_chars = MAX_LINE_CHARS
    total = EXACT_TOTAL
    platform = "python"
    error_form = "<system>ERROR: {}</system>"
    error_texts = {
        **dict.fromkeys(("not_found", "ELOOP", "ENAMETOOLONG"), "`{path}` does not exist."),
        "not_regular": "`{path}` is not a file.",
        "binary_image": "`{path}` is a image file. Use other appropriate tools to read image or video files.",
        "binary_video": "`{path}` is a video file. Use other appropriate tools to read image or video files.",
        "binary": "`{path}` seems not readable: it is a binary file.",
        "policy_denied": "`{path}` appears to contain secrets (matched sensitive file pattern). Reading this file is "
        "blocked to protect credentials.",
        "outside_root": "`{path}` is outside the directories that may be read.",
        "any": "Failed to read {path}. Error: {reason}",
    }

    def check(self, values: dict[str, Any]) -> None:
        offset = values["line_offset"]
        if offset == 0:
            raise self.wording.bad("line_offset cannot be 0; use 1 for the first line or -1 for the last line")
        if offset < -MAX_LINES:
            raise self.wording.bad(
                f"line_offset cannot be less than -{MAX_LINES}. Use a positive line_offset with the total line count "
                "to read from a specific position."
            )
        if not values["path"]:
            raise Wording(self.error_form).bad("File path cannot be empty.")

    def page(self, call: Call, opened: Opened) -> Page:
        document = opened.read()
        part = only_text(document)
        rows = [(number, *_cut(line)) for number, line in enumerate(_lines(part.data), part.first_line)]
        asked = len(rows)
        if call["line_offset"] < 0:
            rows = rows[: call["n_lines"]]
            asked = len(rows)
            rows = rows[asked - _fitting(rows) :]
        else:
            size = 0
            for at, (_, line, _) in enumerate(rows):
                size += len(line.encode())
                if size >= MAX_BYTES and at + 1 < min(call["n_lines"], MAX_LINES):
                    rows, asked = rows[: at + 1], asked + 1
                    break
        total = part.total_lines or 0
        first = rows[0][0] if rows else part.first_line
        return Page(
            body="".join([f"{number:6d}\t{line}" for number, line, _ in rows]),
            first=first,
            count=len(rows),
            more=first + len(rows) - 1 < total,
            is_full=len(rows) < asked,
            cut=[number for number, _, is_cut in rows if is_cut],
            total=total,
            notes=text_notes(document),
        )

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        note = f"{page.count} lines read from file starting from line {page.first}."
        note = f"{note if page.count else 'No lines read from file.'} Total lines in file: {page.total}."
        if call["line_offset"] > 0 and page.count == MAX_LINES < call["n_lines"]:
            note += f" Max {MAX_LINES} lines reached."
        elif page.is_full:
            note += f" Max {MAX_BYTES} bytes reached."
        elif page.count < call["n_lines"]:
            note += " End of file reached."
        if page.cut:
            note += f" Lines {page.cut} were truncated."
        return [text for text in (f"<system>{note}</system>", page.body) if text]


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
