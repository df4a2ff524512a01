"""Gemini CLI: `read_file` with a range of lines, and `read_many_files` with globs.

Names, arguments, limits and notices follow the program; docs/dialects/gemini.md lists the differences. Lines have no
numbers, so a cut answer begins with a notice that names its lines.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import Field, Wording, checked
from eyespan.dialects.base import BYTES_PER_TOKEN, Admit, ToolsetDialect, host_tokens
from eyespan.dialects.table import Call, Paths, TableDialect, Window, media_block
from eyespan.engine import Engine
from eyespan.escape import valid_text, written_path
from eyespan.extras.families.minimatch import Glob, GlobLimits
from eyespan.extras.families.tree_listing import entries_below, keep
from eyespan.guard.listing import Entry
from eyespan.model import EXACT_TOTAL, MIB, BytesPart, Content, Limits, Lines, Reply, TextContent

MAX_LINES = 2000
MAX_FILE_BYTES = 20 * MIB
MAX_FILES = 500
"""The most files of one `read_many_files`."""
MAX_TEXT_BYTES = 8 * MIB
"""The most text of one answer."""
_MEDIA_TYPES = {
    ".mp3": "audio/mpeg",
    **{f".{name}": f"audio/{name}" for name in ("wav", "aiff", "aac", "ogg", "flac")},
    **{f".{name}": f"video/{name}" for name in ("mp4", "webm")},
}
_EXCLUDED_DIRECTORIES = re.compile(
    r"node_modules|\.git|bower_components|\.svn|\.hg|\.vscode|\.idea|dist|build|coverage|__pycache__"
)
_EXCLUDED_FILES = re.compile(
    r"\.ds_store|\.env|gemini\.md|.*\.(bin|exe|dll|so|dylib|class|jar|war|zip|tar|gz|bz2|rar|7z|pak|rpa|docx?|xlsx?|pptx?|"
    r"od[tsp]|py[co])"
)
_GLOB = {"type": "string", "minLength": 1}
_GLOBS = {"items": _GLOB, "minItems": 1}
MISSING = "Could not read file because no file was found at the specified path."
_NOTICE = (
    "\nIMPORTANT: The file content has been truncated.\n"
    "Status: Showing lines {first}-{last} of {total} total lines.\n"
    "Action: To read more of the file, you can use the 'start_line' and 'end_line' parameters in a subsequent "
    "'read_file' call.%s\n\n--- FILE CONTENT (truncated) ---\n{body}"
)
NEXT = _NOTICE % " For example, to read the next section of the file, use start_line: {next}."
_WARNING = (
    "[WARNING: This file was truncated. To view the full content, use the 'read_file' tool on this specific file.]"
    "\n\n{body}"
)
END = "\n--- End of content ---"
NO_FILES = "No files matching the criteria were found or all were skipped."


class GeminiReadFile(TableDialect):
    """`read_file`: one file, or a range of its lines."""

    name = "gemini"
    summary = "read_file with start_line/end_line and read_many_files with globs, as in Gemini CLI"
    sends_documents = True
    tool = "read_file"
    description = (
        "Reads a file. Text comes by lines; a long file is cut, with a notice that explains how to read on with "
        "start_line and end_line. Images, audio and PDFs come as such."
    )
    fields: tuple[Field, ...] = (
        Field("file_path", "string", "The path to the file to read.", required=True),
        Field("start_line", "integer", "The first line to read, counted from 1.", minimum=1),
        Field("end_line", "integer", "The last line to read, counted from 1 and included.", minimum=1),
    )
    wording = Wording(
        code="invalid_tool_params",
        not_object="params must be object",
        missing="params must have required property '{name}'",
        type="params/{name} must be {type}",
        below="params/{name} must be >= {bound}",
        empty="The '{name}' parameter must be non-empty.",
    )
    paths = Paths("file_path", has_mentions=True)
    window = Window(first="start_line", last="end_line", lines=MAX_LINES, max_lines=200_000)
    line_chars = 2000
    line_mark = "... [truncated]"
    max_size = MAX_TEXT_BYTES
    keeps_first = keeps_last_end = hides_bom = True
    read_limits = Limits(max_file_bytes=MAX_FILE_BYTES)
    documents = frozenset(("image", "pdf"))
    text_encoding = "bom"
    total = EXACT_TOTAL
    answers = {"full": NEXT, "more": NEXT, "part": _NOTICE % "", "cut": _NOTICE % "", "any": "{body}"}
    refused = {"past_end": "start_line {first} is after the end: the file has {total} lines"}
    error_texts = {
        **dict.fromkeys(("not_found", "ENAMETOOLONG"), MISSING),
        "directory": "Could not read file because the provided path is a directory, not a file.",
        "too_large": f"File size exceeds the {MAX_FILE_BYTES // MIB}MB limit.",
        "outside_root": 'Path not in workspace: Attempted path "{path}" resolves outside the allowed workspace '
        "directories",
        "policy_denied": "File path '{path}' is ignored by the rule {rule}.",
        "any": "Error reading file {path}: {system}",
    }

    def check(self, values: dict[str, Any]) -> None:
        if values["start_line"] and values["end_line"] and values["start_line"] > values["end_line"]:
            raise self.wording.bad("start_line cannot be greater than end_line")

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        """Read one file; audio and video come as such, any other binary file as a note. Raises: ReadError."""
        try:
            return super().answer(call, engine, context)
        except errors.Binary:
            request = self.plan(call, self.paths.resolved(call.path, engine.guard.roots))
            document = engine.read(replace(request, wants_bytes=True), context)
        media_type = _MEDIA_TYPES.get(os.path.splitext(call.path)[1].lower())
        block: Content = TextContent(f"Cannot display content of binary file: {document.facts.path}")
        if media_type and isinstance(document.parts[0], BytesPart) and not document.parts[0].truncated:
            block = media_block(document, engine, media_type)
        return Reply((block,), measures={"file_bytes": document.facts.size_bytes})


class ReadManyFiles(GeminiReadFile):
    """`read_many_files`: the files that globs match, one after the other."""

    tool = "read_many_files"
    own_paths = r"\A--- .* ---$"
    description = (
        "Reads the files that globs match and returns them one after the other, each after a line with its path. "
        "Images, audio and PDFs come only if a glob names them or their suffix."
    )
    fields = (
        Field("include", "array", 'Globs or paths, as in ["src/**/*.ts"].', required=True, schema=_GLOBS),
        Field("exclude", "array", "Globs of files to leave out.", default=[], schema={"items": _GLOB}),
        Field("recursive", "boolean", "** in a glob decides; kept for hosts.", default=True),
        Field("useDefaultExcludes", "boolean", "Leave out node_modules, .git, builds and binary files.", default=True),
        Field(
            "file_filtering_options",
            "object",
            "Kept for hosts: the rules of the host decide which files are ignored.",
            fields=(Field("respect_git_ignore", "boolean"), Field("respect_gemini_ignore", "boolean")),
        ),
    )
    paths = Paths("include")
    window = Window(lines=MAX_LINES)
    answers = {"full": _WARNING, "more": _WARNING, "cut": _WARNING, "any": "{body}"}
    max_skipped = 20

    def parse(self, arguments: Any, admit: Admit) -> Call:
        values = checked(arguments, self.fields, self.wording)
        for name in ("include", "exclude"):
            if "" in values[name]:
                raise self.wording.bad(f"params/{name}/{values[name].index('')} must NOT have fewer than 1 characters")
        if not values["include"]:
            raise self.wording.bad("params/include must NOT have fewer than 1 items")
        return Call("", values, Lines(1, MAX_LINES))

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        context = context or CallContext(engine.deadline_seconds)
        call = self.parse(arguments, engine.admit)
        content: list[Content] = []
        skipped: list[str] = []
        lines = 0
        # Of several patterns, the settings of the host leave out the last ones and name the call for them.
        tokens = (len(call["include"]) == 1 and 0.9 * self.host.max_answer_tokens) or MAX_TEXT_BYTES / BYTES_PER_TOKEN
        for count, path in enumerate(self._found(call, engine, context)):
            context.check()
            shown = written_path(path)
            try:
                reply = self.answer(replace(call, path=path), engine, context)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                skipped.append(f"{shown} ({self.render_error(error).message})")
                continue
            block = reply.content[0]
            if isinstance(block, TextContent):
                block = TextContent(f"--- {shown} ---\n\n{block.text}\n\n")
            elif not _names_asset(path, call["include"]):
                skipped.append(f"{shown} (asset file, not requested by name or suffix)")
                continue
            tokens -= host_tokens(Reply((block,)))
            if count >= MAX_FILES or (content and tokens < 0):
                skipped.append(f"{shown} (and those after it: the answer is full)")
                break
            lines += reply.measures.get("lines", 0)
            content.append(block)
        content.append(TextContent(END if content else NO_FILES))
        if skipped:
            more = [f"and {len(skipped) - self.max_skipped} more"] if len(skipped) > self.max_skipped else []
            content.append(TextContent("\n".join(["Skipped:", *skipped[: self.max_skipped], *more])))
        return Reply(tuple(content), measures={"lines": lines, **({"left_out": skipped} if skipped else {})})

    def _found(self, call: Call, engine: Engine, context: CallContext) -> list[str]:
        """Return the absolute paths of the files that are wanted, sorted. Raises: BadArguments, ReadError."""
        found: list[str] = []
        for root in engine.guard.roots:
            try:
                wanted = _Wanted(call, f"{root.path}/", GlobLimits(context.check))
            except ValueError as error:
                raise self.wording.bad(str(error)) from None
            entries = entries_below(root.path, engine, context, wanted.enters)
            paths = (os.path.join(root.path, relative) for relative, entry in entries if wanted.has(relative, entry))
            found += [keep(path, context) for path in paths]
        return sorted(set(found))


class _Wanted:
    """The files of one root that patterns name, in any case. Raises: ValueError for a pattern that is too long."""

    def __init__(self, call: Call, lead: str, limits: GlobLimits) -> None:
        def globs(patterns: list[str]) -> dict[str, Glob]:
            normal = [os.path.normpath(one.replace("\\", "/").removeprefix(lead)).lower() for one in patterns]
            return {one: Glob(one, limits, has_negation=False) for one in normal}

        self._included = globs(call["include"])
        self._excluded = globs(call["exclude"])
        self._has_defaults = call["useDefaultExcludes"]
        self._links: dict[str, tuple[int, ...]] = {"": ()}
        """The places of links in the paths of directories: a `**` at the start of a pattern stands for none of them."""

    def enters(self, relative: str, entry: Entry) -> bool | None:
        """Return whether a walk enters an entry; None leaves it out."""
        path, is_directory = valid_text(relative).lower(), entry.what == "directory"
        excluded = _EXCLUDED_DIRECTORIES if is_directory else _EXCLUDED_FILES
        if self._has_defaults and excluded.fullmatch(os.path.basename(path)):
            return None
        if not is_directory and entry.what != "link":
            return False
        above = self._links[os.path.dirname(relative)]
        links = self._links[relative] = above if is_directory else (*above, path.count("/"))
        return any(
            name.startswith(f"{path}/") or glob.may_match_below(path, links) for name, glob in self._included.items()
        )

    def has(self, relative: str, entry: Entry) -> bool:
        """Return True for a file that is wanted."""
        path, links = valid_text(relative).lower(), self._links[os.path.dirname(relative)]
        if entry.what == "directory" or any(glob.matches(path) for glob in self._excluded.values()):
            return False
        return path in self._included or any(glob.matches(path, links) for glob in self._included.values())


class Gemini(ToolsetDialect):
    """Both tools."""

    name = "gemini"
    summary = GeminiReadFile.summary
    tools = (GeminiReadFile, ReadManyFiles)


def _names_asset(path: str, include: list[str]) -> bool:
    stem, suffix = os.path.splitext(os.path.basename(path))
    return any((suffix and suffix.lower() in one.lower()) or stem in one for one in include)
