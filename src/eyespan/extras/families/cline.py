"""Cline `read_files`: several files or ranges of lines per call, each with a result of its own.

Names, limits, numbering and notices follow the program; docs/dialects/cline.md lists the differences. The answer is a
JSON list of results; images follow it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from errno import ENOTDIR
from sys import getsizeof
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, as_whole, refusal, shown
from eyespan.dialects.base import Admit, Dialect
from eyespan.dialects.media import image_blocks, media_notes
from eyespan.dialects.rows import Rows, line_limits
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import written_path
from eyespan.model import (
    NO_TOTAL,
    NUL_IS_BINARY,
    Content,
    ReadRequest,
    Reply,
    ReplyError,
    TextContent,
    ToolSpec,
)
from eyespan.opened import Opened

MAX_LINES = 2000
MAX_LINE_CHARS = 2000
MAX_CHARS = 48_000
"""The most characters of one file, numbers included."""
MAX_FILES = 100
MAX_ANSWER_CHARS = 2_000_000
RESULT_COPIES = 4
"""The copies of a result: itself, its lines, and in the JSON of the answer, where escapes make it longer."""
_CUT = " [line truncated]"
_LIMITS = line_limits(MAX_LINE_CHARS)
_IMAGES = frozenset(("image",))
_PATHS = ("path", "file_path", "filePath")
_LISTS = ("files", "paths", "file_paths")
_RANGE = ("start_line", "end_line")


@dataclass(frozen=True, slots=True)
class FileRange:
    """One file of a call, and the lines that are wanted of it."""

    path: str
    first: int | None = None
    last: int | None = None

    @property
    def query(self) -> str:
        """The file and its lines, as a result names them."""
        if self.first is None and self.last is None:
            return self.path
        return f"{self.path}:{self.first or 1}-{self.last or 'EOF'}"


class Cline(Dialect):
    """The tool as the program has it."""

    name = "cline"
    summary = "read_files of Cline: several files and ranges per call, `N | line`, a JSON list of results"
    instructions = (
        "Several files or ranges of lines are read in one call, at most 2,000 lines and 48,000 characters each. Images "
        "are returned as such; other binary files are refused."
    )

    def _spec(self) -> ToolSpec:
        line = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
        entry = {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file to read"},
                "start_line": {**line, "description": "The first line to read, counted from 1"},
                "end_line": {**line, "description": "The last line to read, included"},
            },
            "required": ["path"],
        }
        schema = {
            "type": "object",
            "properties": {
                "files": {
                    "type": "array",
                    "items": entry,
                    "description": "The files to read, each with a range of lines of its own if it is not read whole",
                }
            },
            "required": ["files"],
        }
        text = (
            f"Reads text and image files, or ranges of their lines; several at once. Each file comes with at most "
            f"{MAX_LINES} lines and {MAX_CHARS // 1000}k characters; a longer one comes with its number of lines, and "
            "start_line and end_line read on. A file that cannot be read does not stop the others."
        )
        return ToolSpec("read_files", text, schema)

    def parse(self, arguments: Any, admit: Admit) -> tuple[FileRange, ...]:
        given = arguments
        if isinstance(arguments, dict) and not any(name in arguments for name in _PATHS):
            given = next((arguments[name] for name in _LISTS if name in arguments), None)
            if given is None:
                raise _bad("files is required: a list of files to read")
        entries = given if isinstance(given, list) else [given]
        return tuple([_file_range(entry) for entry in _joined(entries)])

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        wanted = self.parse(arguments, engine.admit)
        assert context is not None
        results: list[dict[str, Any]] = []
        images: list[Content] = []
        notes: list[str] = []
        measures: dict[str, Any] = {"lines": 0}
        size = 0
        failures: list[str] = []
        for number, one in enumerate(wanted):
            context.check()
            row: dict[str, Any] = {"query": one.query, "result": ""}
            results.append(row)
            try:
                if number >= MAX_FILES or size > MAX_ANSWER_CHARS:
                    text = f"not read: the answer is full after {number} files; ask for this one again"
                    raise BadArguments("full", f"Error reading file: {text}")
                if one.first and one.last and one.first > one.last:
                    text = (
                        "start_line must be less than or equal to end_line "
                        f"(received start_line: {one.first}, end_line: {one.last})"
                    )
                    raise BadArguments("range", f"Invalid file range: {text}")
                row["result"], image, more_notes = self._read(one, engine, context, measures)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                row["error"] = f"Error reading file: {_described(error, one.path, engine)}"
                failures.append(error.code)
            except BadArguments as error:
                row["error"] = error.message
                failures.append(error.code)
            else:
                size += len(row["result"])
                context.charge(RESULT_COPIES * getsizeof(row["result"]))
                images += image
                notes += [f"{one.query}: {note}" for note in more_notes]
            row["success"] = "error" not in row
        text = json.dumps(results, ensure_ascii=False, separators=(",", ":"))
        # A call that read nothing is an error, so that hosts and the audit log see it; the text is the same.
        failure = ReplyError(failures[0], text) if len(failures) == len(results) > 0 else None
        return Reply((TextContent(text), *images), None, failure, tuple(notes), measures)

    def _read(
        self, one: FileRange, engine: Engine, context: CallContext, measures: dict[str, Any]
    ) -> tuple[Any, list[Content], tuple[str, ...]]:
        """Return the result of one file, its image if it is one, and notes. Raises: BadArguments, ReadError."""
        request = ReadRequest(
            one.path if os.path.isabs(one.path) or "\0" in one.path else os.path.normpath(one.path),
            limits=_LIMITS,
            text_rule=NUL_IS_BINARY,
            documents=_IMAGES,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
            total=NO_TOTAL,
        )
        with _opened(request, engine, context) as opened:
            if opened.kind.name not in _IMAGES:
                first = one.first or 1
                last = first + MAX_LINES if one.last is None else min(one.last, first + MAX_LINES)
                rows = Rows(opened, first, last - first + 1)  # one more than is shown
                return _lines(one, rows, measures), [], rows.notes()
            document = opened.read()
            return ["Successfully read image"], list(image_blocks(document)), media_notes(document)

    def render_error(self, error: ReadError) -> ReplyError:
        if isinstance(error, errors.PolicyDenied) and not error.rule:
            return ReplyError(error.code, "This tool is denied by policy.")
        return ReplyError(error.code, f"Error reading file: {error}")


def _lines(one: FileRange, rows: Rows, measures: dict[str, Any]) -> str:
    """Return the numbered lines of a file, as many as fit. Raises: BadArguments, ReadError."""
    first = one.first or 1
    most = min(one.last or first + MAX_LINES, first + MAX_LINES - 1)
    weight = len(str(most)) + 4
    shown_rows: list[tuple[int, str]] = []
    chars = cut_lines = 0
    is_full = False
    for number, line in rows:
        is_cut = len(line) > MAX_LINE_CHARS
        if is_cut:
            line = line[:MAX_LINE_CHARS] + _CUT
        chars += len(line) + weight
        is_full = len(shown_rows) == MAX_LINES or (chars > MAX_CHARS and bool(shown_rows))
        if is_full:
            break
        shown_rows.append((number, line))
        cut_lines += is_cut
    if not shown_rows:
        total = rows.total()
        if first > max(1, total):
            text = f"start_line {first} is after the end: the file has {total} lines"
            raise BadArguments("out_of_range", f"Error reading file: {text}")
        return ""
    last = shown_rows[-1][0]
    width = len(str(last))
    body = "\n".join([f"{number:>{width}} | {line}" for number, line in shown_rows])
    notice = ""
    if is_full:  # the total may be a read that fails, and then nothing was shown
        notice = (
            f"\n\n[Showing lines {first}-{last} of {rows.total()}. Use start_line/end_line to read other sections.]"
        )
    measures["lines"] += len(shown_rows)
    if cut_lines:
        measures["cut_lines"] = measures.get("cut_lines", 0) + cut_lines
    if is_full:
        left = f"{written_path(one.path)}:{last + 1}-{'' if one.last is None else one.last}"
        measures.setdefault("left_out", []).append(left)
    return body + notice


def _opened(request: ReadRequest, engine: Engine, context: CallContext) -> Opened:
    """Open a file; one that is missing by the only name that looks the same. Raises: ReadError."""
    try:
        return engine.open(request, context)
    except errors.NotFound:
        from eyespan.suggest import lookalikes

        directory, name = os.path.split(request.path)
        if name.isascii() and " " not in name and "'" not in name:
            raise
        try:
            names = [entry.name for entry in engine.list(directory or ".", context).entries]
        except errors.NotFound:
            names = []
        similar = lookalikes(name, names)
        if len(similar) != 1:
            raise
        return engine.open(replace(request, path=os.path.join(directory, similar[0])), context)


def _described(error: ReadError, path: str, engine: Engine) -> str:
    """Return the text of a file that cannot be read, in the form of the original's platform."""
    name = path if "\0" in path else os.path.normpath(os.path.join(engine.guard.roots[0].path, path))
    name = written_path(name + "/" if os.path.isabs(path) and path.endswith("/") and name != "/" else name)
    match error:
        case errors.NotFound():
            if error.errno == ENOTDIR:
                return f"ENOTDIR: not a directory, stat '{name}'"
            return f"ENOENT: no such file or directory, stat '{name}'"
        case errors.NotRegular():
            return f"Path is not a file: {name}"
        case errors.OutsideRoot():
            return f"Path is outside the directories that may be read: {name}"
        case errors.PolicyDenied():
            return f"Reading is forbidden by the rule {error.rule}: {name}"
        case errors.Binary():
            return f"Binary files that are not images are not supported: {name}"
    return f"{error}: {name}"


def _joined(entries: list[Any]) -> list[Any]:
    """Return the entries; one that is only a range belongs to the file before it."""
    found: list[Any] = []
    for entry in entries:
        is_range = isinstance(entry, dict) and bool(entry) and all(key in _RANGE for key in entry)
        before = found[-1] if found else None
        if is_range and isinstance(before, str):
            found[-1] = {"path": before, **entry}
        elif is_range and isinstance(before, dict) and "path" in before and not any(key in before for key in entry):
            found[-1] = {**before, **entry}
        else:
            found.append(entry)
    return found


def _file_range(entry: Any) -> FileRange:
    if isinstance(entry, str):
        return FileRange(entry)
    if not isinstance(entry, dict):
        raise _bad(f"each file must be an object with a path, not {shown(entry)}")
    path = next((entry[name] for name in _PATHS if isinstance(entry.get(name), str)), None)
    if path is None:
        raise _bad(f"each file must have a path, unlike {shown(entry)}")
    return FileRange(path=path, first=_line(entry, "start_line"), last=_line(entry, "end_line"))


def _line(entry: dict[str, Any], name: str) -> int | None:
    value = entry.get(name)
    if value is None:
        return None
    number = as_whole(int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value)
    if number is None or number < 1:
        raise _bad(f"{name} must be a whole number from 1 on, not {shown(value)}")
    return number


_bad = refusal("invalid_arguments", "Invalid input: {}")
