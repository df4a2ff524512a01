"""Cline `read_files`: several files or ranges of lines per call, each with a result of its own.

Names, limits, numbering and notices follow the program; docs/dialects/cline.md lists the differences. The answer is a
JSON list of results; images follow it.
"""

from __future__ import annotations

import json
from sys import getsizeof
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import SAFE, BadArguments, Field, Wording, checked
from eyespan.dialects.base import Admit
from eyespan.dialects.suggestions import suggested
from eyespan.dialects.table import Call, Gutter, Paths, Window
from eyespan.engine import Engine
from eyespan.extras.families.similar_names import LookalikeDialect
from eyespan.model import Content, Reply, ReplyError, TextContent

MAX_LINES = 2000
MAX_CHARS = 48_000
"""The most characters of one file, numbers included."""
MAX_FILES = 100
MAX_ANSWER_CHARS = 2_000_000
RESULT_COPIES = 4
"""The copies of a result: itself, its lines, and in the JSON of the answer, where escapes make it longer."""
_LISTS = ("files", "paths", "file_paths")


def _line(name: str, text: str) -> Field:
    any_of = [{"type": "integer", "minimum": 1}, {"type": "null"}]
    return Field(name, "integer", text, minimum=1, takes=("float", "text"), fits=SAFE, schema={"anyOf": any_of})


class Cline(LookalikeDialect):
    """The tool as the program has it."""

    name = "cline"
    own_paths = r'"(?:query|error)":"(?:[^"\\]|\\.)*"'
    summary = "read_files of Cline: several files and ranges per call, `N | line`, a JSON list of results"
    instructions = (
        "Several files or ranges of lines are read in one call, at most 2,000 lines and 48,000 characters each. Images "
        "are returned as such; other binary files are refused."
    )
    tool = "read_files"
    description = (
        f"Reads text and image files, or ranges of their lines; several at once. Each file comes with at most "
        f"{MAX_LINES} lines and {MAX_CHARS // 1000}k characters; a longer one comes with its number of lines, and "
        "start_line and end_line read on. A file that cannot be read does not stop the others."
    )
    entry = (
        Field("path", "string", "The file to read", required=True, aliases=("file_path", "filePath")),
        _line("start_line", "The first line to read, counted from 1"),
        _line("end_line", "The last line to read, included"),
    )
    fields = (Field("files", "array", "The files to read, each with its range of lines", required=True, fields=entry),)
    wording = Wording("Invalid input: {}", not_object="each file must be an object with a path, not {value}")
    paths = Paths("path", shows_absolute=True, shows_normal=True, shows_slash=True)
    window = Window(first="start_line", last="end_line", max_lines=MAX_LINES)
    gutter = Gutter(" | ", width=-1)
    line_chars = 2000
    line_mark = " [line truncated]"
    max_size = MAX_CHARS
    keeps_first = True
    answers = {
        "full": "{body}\n\n[Showing lines {first}-{last} of {total}. Use start_line/end_line to read other sections.]",
        "any": "{body}",
    }
    refused = {"past_end": "Error reading file: start_line {first} is after the end: the file has {total} lines"}
    documents = frozenset(("image",))
    system_call = "stat"
    error_form = "Error reading file: {}"
    error_texts = {
        "not_regular": "Path is not a file: {path}",
        "outside_root": "Path is outside the directories that may be read: {path}",
        "binary": "Binary files that are not images are not supported: {path}",
        "system": "{system}",
    }

    def parse(self, arguments: Any, admit: Admit) -> Any:
        given = arguments
        if isinstance(arguments, dict) and not any(name in arguments for name in ("path", *self.entry[0].aliases)):
            given = next((arguments[name] for name in _LISTS if name in arguments), None)
            if given is None:
                raise self.wording.bad("files is required: a list of files to read")
        entries = _joined(given if isinstance(given, list) else [given])
        calls = []
        for entry in entries:
            values = checked({"path": entry} if isinstance(entry, str) else entry, self.entry, self.wording)
            calls.append(Call(values["path"], values, self.window.selection(values)))
        return calls

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        context = context or CallContext(engine.deadline_seconds)
        results: list[dict[str, Any]] = []
        images: list[Content] = []
        notes: list[str] = []
        measures: dict[str, Any] = {"lines": 0}
        size = 0
        failures: list[str] = []
        for number, call in enumerate(self.parse(arguments, engine.admit)):
            context.check()
            row: dict[str, Any] = {"query": _query(call), "result": ""}
            results.append(row)
            try:
                if number >= MAX_FILES or size > MAX_ANSWER_CHARS:
                    text = f"not read: the answer is full after {number} files; ask for this one again"
                    raise BadArguments("full", f"Error reading file: {text}")
                reply = self.answer(_checked_range(call), engine, context)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                row["error"] = suggested(self, error, self.render_error(error), engine, context).message
                failures.append(error.code)
            except BadArguments as error:
                row["error"] = error.message
                failures.append(error.code)
            else:
                is_text = isinstance(reply.content[0], TextContent)
                row["result"] = reply.text if is_text else ["Successfully read image"]
                images += [] if is_text else reply.content
                size += len(row["result"])
                context.charge(RESULT_COPIES * getsizeof(row["result"]))
                notes += [f"{row['query']}: {note}" for note in reply.notes]
                measures["lines"] += reply.measures.get("lines", 0)
                for name in ("cut_lines", "left_out"):
                    if name in reply.measures:
                        more = reply.measures[name]
                        measures[name] = measures[name] + more if name in measures else more
            row["success"] = "error" not in row
        text = json.dumps(results, ensure_ascii=False, separators=(",", ":"))
        # A call that read nothing is an error, so that hosts and the audit log see it; the text is the same.
        failure = ReplyError(failures[0], text) if len(failures) == len(results) > 0 else None
        return Reply((TextContent(text), *images), None, failure, tuple(notes), measures)

    def size_of(self, line: str, last: int, *, is_first: bool) -> int:
        return len(line) + len(str(last)) + 4


def _query(call: Call) -> str:
    """Return the file and its lines, as a result names them."""
    first, last = call["start_line"], call["end_line"]
    return call.path if first is None and last is None else f"{call.path}:{first or 1}-{last or 'EOF'}"


def _checked_range(call: Call) -> Call:
    first, last = call["start_line"], call["end_line"]
    if first and last and first > last:
        text = f"start_line must be less than or equal to end_line (received start_line: {first}, end_line: {last})"
        raise BadArguments("range", f"Invalid file range: {text}")
    return call


def _joined(entries: list[Any]) -> list[Any]:
    """Return the entries; one that is only a range belongs to the file before it."""
    found: list[Any] = []
    for entry in entries:
        is_range = isinstance(entry, dict) and bool(entry) and entry.keys() <= {"start_line", "end_line"}
        before = found[-1] if found else None
        if is_range and isinstance(before, str):
            found[-1] = {"path": before, **entry}
        elif is_range and isinstance(before, dict) and "path" in before and not any(key in before for key in entry):
            found[-1] = {**before, **entry}
        else:
            found.append(entry)
    return found
