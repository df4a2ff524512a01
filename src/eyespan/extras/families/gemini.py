"""Gemini CLI: `read_file` with a range of lines, and `read_many_files` with globs.

Names, arguments, limits and notices follow the program; docs/dialects/gemini.md lists the differences. Lines have no
numbers, so a cut answer begins with a notice that names its lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyespan import _native, errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import Field, Wording, checked
from eyespan.dialects.base import Admit, ToolsetDialect, text_notes
from eyespan.dialects.measures import measure
from eyespan.dialects.media import image_blocks, media_block
from eyespan.dialects.rendering import charge_text
from eyespan.dialects.rows import raw_lines
from eyespan.dialects.table import Call, Paths, TableDialect, Window
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import valid_text, written_path
from eyespan.model import (
    EXACT_TOTAL,
    MIB,
    BytesPart,
    Content,
    Document,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    TextContent,
    TextPart,
)

if TYPE_CHECKING:
    from eyespan.extras.families.minimatch import Glob, GlobLimits
    from eyespan.guard.listing import Entry


DEFAULT_LINES = 2000
MAX_LINE_CHARS = 2000
MAX_FILE_BYTES = 20 * MIB
MAX_FILES = 500
"""The most files of one `read_many_files`."""
MAX_TEXT_BYTES = 8 * MIB
"""The most text of one `read_many_files`."""
MAX_ENTRIES = 50_000
_MEDIA_TYPES = {
    ".mp3": "audio/mpeg",
    **{f".{name}": f"audio/{name}" for name in ("wav", "aiff", "aac", "ogg", "flac")},
    **{f".{name}": f"video/{name}" for name in ("mp4", "webm")},
}
_EXCLUDED_DIRECTORIES = frozenset(
    (
        *("node_modules", ".git", "bower_components", ".svn", ".hg", ".vscode", ".idea", "dist", "build", "coverage"),
        "__pycache__",
    )
)
_EXCLUDED_SUFFIXES = frozenset(
    (
        *(".bin", ".exe", ".dll", ".so", ".dylib", ".class", ".jar", ".war", ".zip", ".tar", ".gz", ".bz2", ".rar"),
        *(".7z", ".pak", ".rpa", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".odp", ".pyc"),
        ".pyo",
    )
)
_EXCLUDED_NAMES = frozenset((".ds_store", ".env", "gemini.md"))
_GLOB = {"type": "string", "minLength": 1}
END = "\n--- End of content ---"


class _GeminiTool(TableDialect):
    """One of the two tools."""

    name = "gemini"
    summary = "read_file with start_line/end_line and read_many_files with globs, as in Gemini CLI"
    sends_documents = True
    wording = Wording(
        code="invalid_tool_params",
        not_object="params must be object",
        missing="params must have required property '{name}'",
        type="params/{name} must be {type}",
        below="params/{name} must be >= {bound}",
        empty="The '{name}' parameter must be non-empty.",
    )
    window = Window(lines=DEFAULT_LINES)
    line_chars = MAX_LINE_CHARS
    read_limits = Limits(max_file_bytes=MAX_FILE_BYTES)
    documents = frozenset(("image", "pdf"))
    text_encoding = "bom"
    total = EXACT_TOTAL
    error_texts = {
        "not_found": "Could not read file because no file was found at the specified path.",
        "directory": "Could not read file because the provided path is a directory, not a file.",
        "too_large": f"File size exceeds the {MAX_FILE_BYTES // MIB}MB limit.",
        "outside_root": 'Path not in workspace: Attempted path "{path}" resolves outside the allowed workspace '
        "directories",
        "policy_denied": "File path '{path}' is ignored by the rule {rule}.",
        "any": "Error reading file {path}: {system}",
    }

    def plan(self, call: Call, path: str) -> ReadRequest:
        return replace(super().plan(call, path), wants_bytes=True)

    def _read(self, call: Call, path: str, engine: Engine, context: CallContext) -> tuple[Document, dict[str, Any]]:
        """Read one file, and measure it. Raises: ReadError."""
        request = self.plan(call, path)
        with self.opened(request, engine, context) as opened:
            document = opened.read()
        for part in document.parts:
            if isinstance(part, TextPart):
                charge_text(part, context)
        return document, measure(request, document, max_line_bytes=None, max_line_chars=MAX_LINE_CHARS)


def _line(name: str, text: str) -> Field:
    return Field(name, "integer", text, minimum=1)


class GeminiReadFile(_GeminiTool):
    """`read_file`: one file, or a range of its lines."""

    tool = "read_file"
    description = (
        "Reads a file. Text comes by lines; a long file is cut, with a notice that explains how to read on with "
        "start_line and end_line. Images, audio and PDFs come as such."
    )
    fields = (
        Field("file_path", "string", "The path to the file to read.", required=True),
        _line("start_line", "The first line to read, counted from 1."),
        _line("end_line", "The last line to read, counted from 1 and included."),
    )
    paths = Paths("file_path", has_mentions=True)
    window = Window(first="start_line", last="end_line", lines=DEFAULT_LINES)

    def check(self, values: dict[str, Any]) -> None:
        if values["start_line"] and values["end_line"] and values["start_line"] > values["end_line"]:
            raise self.wording.bad("start_line cannot be greater than end_line")

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        try:
            path = self.paths.resolved(call.path, engine.guard.roots)
            document, measures = self._read(call, path, engine, context)
        except ReadError as error:
            error.path = call.path
            raise
        notes = text_notes(document)
        block = _content(document, engine)
        if block is not None:
            return Reply((block,), None, None, notes, measures)
        part: Any = document.parts[0]
        if not part.line_count and part.total_lines:
            text = f"start_line {part.first_line} is after the end: the file has {part.total_lines} lines"
            raise self.wording.bad(text)
        is_cut = part.first_line > 1 or part.more or "cut_lines" in measures
        text = _text(part, _notice(part) if is_cut else "")
        return Reply((TextContent(text),), None, None, notes, measures)


class ReadManyFiles(_GeminiTool):
    """`read_many_files`: the files that globs match, one after the other."""

    tool = "read_many_files"
    own_paths = r"\A--- .* ---$"
    description = (
        "Reads the files that globs match and returns them one after the other, each after a line with its path. "
        "Images, audio and PDFs come only if a glob names them or their suffix."
    )
    fields = (
        Field(
            "include",
            "array",
            'Globs or paths, as in ["src/**/*.ts", "README.md"].',
            required=True,
            schema={"items": _GLOB, "minItems": 1},
        ),
        Field("exclude", "array", "Globs of files to leave out.", default=[], schema={"items": _GLOB}),
        Field("recursive", "boolean", "** in a glob decides; kept for hosts.", default=True),
        Field(
            "useDefaultExcludes",
            "boolean",
            "Leave out node_modules, .git, build results and binary files.",
            default=True,
        ),
        Field(
            "file_filtering_options",
            "object",
            "Kept for hosts: the rules of the host decide which files are ignored.",
            fields=(Field("respect_git_ignore", "boolean"), Field("respect_gemini_ignore", "boolean")),
        ),
    )
    paths = Paths("include")

    def parse(self, arguments: Any, admit: Admit) -> Call:
        values = checked(arguments, self.fields, self.wording)
        for name in ("include", "exclude"):
            if "" in values[name]:
                raise self.wording.bad(f"params/{name}/{values[name].index('')} must NOT have fewer than 1 characters")
            values[name] = [one.replace("\\", "/") for one in values[name]]
        if not values["include"]:
            raise self.wording.bad("params/include must NOT have fewer than 1 items")
        return Call("", values, Lines(1, DEFAULT_LINES))

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        content: list[Content] = []
        skipped: list[str] = []
        size = lines = count = 0
        for path in self._found(call, engine, context):
            context.check()
            count += 1
            if count > MAX_FILES or size > MAX_TEXT_BYTES:
                skipped.append(f"{written_path(path)} (and those after it: the answer is full)")
                break
            try:
                document, measures = self._read(call, path, engine, context)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                skipped.append(f"{written_path(path)} ({self.render_error(error).message})")
                continue
            block = _content(document, engine)
            if block is None:
                part: Any = document.parts[0]
                text = _text(part)
                if part.more or "cut_lines" in measures:
                    text = f"{_WARNING}\n\n{text}"
                lines += part.line_count
                block = TextContent(text)
            if isinstance(block, TextContent):
                block = TextContent(f"--- {written_path(path)} ---\n\n{block.text}\n\n")
                size += len(block.text)
            elif not _names_asset(path, call["include"]):
                skipped.append(f"{written_path(path)} (asset file, not requested by name or suffix)")
                continue
            content.append(block)
        content.append(
            TextContent(END if content else "No files matching the criteria were found or all were skipped.")
        )
        if skipped:
            content.append(TextContent("\n".join(["Skipped:", *skipped[:20]])))
        return Reply(tuple(content), None, None, (), {"lines": lines, **({"left_out": skipped} if skipped else {})})

    def _found(self, call: Call, engine: Engine, context: CallContext) -> list[str]:
        """Return the absolute paths of the files that are wanted, sorted. Raises: BadArguments, ReadError."""
        from eyespan.extras.families.minimatch import GlobLimits

        found: set[str] = set()
        for root in engine.guard.roots:
            limits = GlobLimits(context.check)
            lead = f"{root.path}/"
            excluded = [_glob(_without_dots(one.removeprefix(lead)), limits) for one in call["exclude"]]
            patterns = [one.removeprefix(lead) for one in call["include"]]
            wanted = [(_glob(one, limits), os.path.normpath(one).lower()) for one in patterns]
            files = _Files(root.path, engine, context, uses_defaults=call["useDefaultExcludes"])
            for relative, those in files.below(patterns):
                name = valid_text(relative).lower()
                if any(glob.matches(name) for glob in excluded):
                    continue
                if any(name == own_name or glob.matches(name) for glob, own_name in [wanted[at] for at in those]):
                    found.add(os.path.join(root.path, relative))
        return sorted(found)


class Gemini(ToolsetDialect):
    """Both tools."""

    name = "gemini"
    summary = _GeminiTool.summary
    tools = (GeminiReadFile, ReadManyFiles)


_WARNING = (
    "[WARNING: This file was truncated. To view the full content, use the 'read_file' tool on this specific file.]"
)


def _content(document: Document, engine: Engine) -> Content | None:
    """Return a file that is not text: an image, a PDF, audio, or a note on a binary file; None for text."""
    first = document.parts[0] if document.parts else None
    if isinstance(first, TextPart):
        return None
    suffix = os.path.splitext(document.facts.canonical)[1].lower()
    is_file = isinstance(first, BytesPart) and not first.truncated
    if image_blocks(document) or (is_file and (document.kind == "pdf" or suffix in _MEDIA_TYPES)):
        return media_block(document, engine, _MEDIA_TYPES.get(suffix))
    return TextContent(f"Cannot display content of binary file: {document.facts.path}")


def _text(part: TextPart, lead: str = "") -> str:
    """Return the lines of a part with LF between them, long ones shortened, after `lead`. May empty the part."""
    data = part.data
    if _native.longer(data, MAX_LINE_CHARS, True):
        data = _shortened(data, part.first_line == 1)
        if isinstance(part.data, bytearray):
            part.data.clear()  # nothing is held twice
    if part.first_line == 1 and data.startswith(_BOM):
        data = data[len(_BOM) :]
    if part.more and data.endswith(b"\n"):
        data = data[: -2 if data.endswith(b"\r\n") else -1]
    if lead:
        data = lead.encode() + data
    # What is done with bytes is not done with the text, which takes four bytes for each character at worst.
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


_BOM = b"\xef\xbb\xbf"


def _shortened(data: bytes | bytearray, has_bom: bool) -> bytearray:
    """Return lines of which long ones are shortened. With `has_bom`, a BOM counts for no length.

    One line at a time: the text of all, with four bytes for each character, and its lines would be there at once.
    """
    found = bytearray()
    for line in raw_lines(data):
        if len(line) > MAX_LINE_CHARS:
            text = line.decode("utf-8", "replace")
            end = "\r\n" if text.endswith("\r\n") else "\n" if text.endswith("\n") else ""
            most = MAX_LINE_CHARS + (has_bom and not found and text.startswith("\ufeff"))
            if len(text) - len(end) > most:
                line = f"{text[:most]}... [truncated]{end}".encode()
        found += line
    return found


def _notice(part: TextPart) -> str:
    last = part.first_line + part.line_count - 1
    following = f" For example, to read the next section of the file, use start_line: {last + 1}." if part.more else ""
    return (
        "\nIMPORTANT: The file content has been truncated.\n"
        f"Status: Showing lines {part.first_line}-{last} of {part.total_lines} total lines.\n"
        "Action: To read more of the file, you can use the 'start_line' and 'end_line' parameters in a subsequent "
        f"'read_file' call.{following}\n\n--- FILE CONTENT (truncated) ---\n"
    )


class _Files:
    """The files below a root that patterns can match, found by walks with a bound. Links are followed where named."""

    def __init__(self, top: str, engine: Engine, context: CallContext, *, uses_defaults: bool) -> None:
        self._top = top
        self._engine = engine
        self._context = context
        self._uses_defaults = uses_defaults
        self._count = 0

    def below(self, patterns: list[str]) -> Iterator[tuple[str, list[int]]]:
        """Yield the relative paths of files, some of them twice, each with the numbers of patterns it may match.

        Raises: BadArguments, ReadError.
        """
        from eyespan.extras.families.minimatch import literal_directory

        starts: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            normal = os.path.normpath(pattern)
            directories = {os.path.normpath(literal_directory(one)) for one in (pattern, normal)}
            for start in {spelling for directory in directories for spelling in self._spellings(directory)}:
                starts.setdefault(start, []).append(number)
        every = list(range(len(patterns)))
        for start in sorted(starts):
            if self._is_linked(start):
                yield from [(file, starts[start]) for file in self._walk(start)]
            elif not any(other != start and (other == "." or start.startswith(f"{other}/")) for other in starts):
                yield from [(file, every) for file in self._walk("" if start == "." else start)]

    def _spellings(self, directory: str) -> list[str]:
        """Return the directories of this path, in any case. Raises: BadArguments, ReadError."""
        if directory.startswith(("..", "/")):
            return []
        found = ["."]
        for name in [] if directory == "." else directory.split("/"):
            following = []
            for above in found:
                for entry in self._entries(above):
                    if entry.what in ("directory", "link") and entry.name.lower() == name.lower():
                        following.append(os.path.normpath(os.path.join(above, entry.name)))
            found = following
        return found

    def _is_linked(self, directory: str) -> bool:
        """Return True for a directory that a walk from the top does not reach, because a link leads to it."""
        names = directory.split("/")
        for at, name in enumerate(names):
            above = "/".join(names[:at]) or "."
            if any(entry.name == name and entry.what == "link" for entry in self._entries(above)):
                return True
        return False

    def _walk(self, start: str) -> Iterator[str]:
        pending = [start]
        while pending:
            below = pending.pop()
            for entry in self._entries(below or "."):
                self._count += 1
                if self._count > MAX_ENTRIES:
                    raise _GeminiTool.wording.bad(
                        f"more than {MAX_ENTRIES} files and directories below {valid_text(self._top)}"
                    )
                relative = os.path.join(below, entry.name)
                if entry.what == "directory":
                    pending.append(relative)
                elif not (self._uses_defaults and _is_excluded(relative)):
                    yield relative

    def _entries(self, directory: str) -> tuple[Entry, ...]:
        self._context.check()
        if self._uses_defaults and not _EXCLUDED_DIRECTORIES.isdisjoint(directory.lower().split("/")):
            return ()
        try:
            return self._engine.list(os.path.join(self._top, directory), self._context).entries
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadError:
            return ()  # removed since it was listed, or not readable


def _without_dots(pattern: str) -> str:
    """Return a pattern without `.` and `..`, as the original reads exclusions: `src/../a` leaves out `a`."""
    if "/." not in pattern and not pattern.startswith("."):
        return pattern
    kept: list[str] = []
    for name in pattern.split("/"):
        if name == ".." and kept and kept[-1] not in ("", "**", ".."):
            kept.pop()
        elif name != ".":
            kept.append(name)
    return "/".join(kept)


def _is_excluded(path: str) -> bool:
    name = os.path.basename(path).lower()
    return name in _EXCLUDED_NAMES or os.path.splitext(name)[1] in _EXCLUDED_SUFFIXES


def _names_asset(path: str, include: list[str]) -> bool:
    stem, suffix = os.path.splitext(os.path.basename(path))
    return any((suffix and suffix.lower() in one.lower()) or stem in one for one in include)


def _glob(pattern: str, limits: GlobLimits) -> Glob:
    from eyespan.extras.families.minimatch import Glob

    try:
        return Glob(pattern.lower().removeprefix("./"), limits, has_negation=False)
    except ValueError as error:
        raise _GeminiTool.wording.bad(str(error)) from None
