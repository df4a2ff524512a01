"""The read side of the MCP reference server for file systems: ten tools with its names, arguments and result shapes.

Tools: `read_text_file`, `read_file`, `read_media_file`, `read_multiple_files`, `list_directory`,
`list_directory_with_sizes`, `directory_tree`, `search_files`, `get_file_info`, `list_allowed_directories`. The tools
that write are absent. docs/dialects/filesystem.md lists every difference from the original.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from errno import ENOENT
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, Field, Wording, checked, shown
from eyespan.dialects.base import CHANGED, Admit, ToolsetDialect
from eyespan.dialects.error_texts import error_text
from eyespan.dialects.rendering import charge_text, joined, rendered
from eyespan.dialects.suggestions import suggested
from eyespan.dialects.table import Call, Paths, TableDialect, uri_of
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import valid_text, written_path
from eyespan.extras.families.minimatch import Glob, GlobLimits
from eyespan.extras.families.tree_listing import Enters, entries_below, keep, status_of
from eyespan.guard.listing import Entry
from eyespan.guard.paths import beneath
from eyespan.model import (
    ANY_IS_TEXT,
    MIB,
    NO_TOTAL,
    Content,
    DocumentContent,
    ImageContent,
    ImagePart,
    Limits,
    Lines,
    ReadRequest,
    Reply,
    ReplyError,
    Selection,
    Tail,
    TextContent,
    ToolSpec,
)

MAX_FILES = 1000
"""The most files of one `read_multiple_files`."""
MEDIA_BYTES = 8 * MIB
"""The largest file that `read_media_file` returns as it is."""
_IMAGES = frozenset(("image",))
_SVG = "image/svg+xml"
_MEDIA_TYPES = {
    ".svg": _SVG,
    ".mp3": "audio/mpeg",
    **{f".{name}": f"audio/{name}" for name in ("wav", "ogg", "flac")},
    ".pdf": "application/pdf",
}
"""Types by suffix, for files that are not images."""
_TEXTS = {
    "outside_root": "Access denied - path outside allowed directories: {path}",
    "tool_denied": "Access denied - this tool is denied by policy",
    "policy_denied": "Access denied - reading is forbidden by the rule {rule}: {path}",
    "invalid_path": "Access denied - {reason}: {path}",
    "file": "ENOTDIR: not a directory, scandir '{path}'",
    "too_large": "File too large to return: {reason}: {path}",
    "system": "{system}",
}
_PATH = Field("path", "string", required=True)
_EXCLUDES = Field("excludePatterns", "array", default=[])


class _FilesystemTool(TableDialect):
    """One tool of the set."""

    name = "filesystem"
    summary = "the read tools of the MCP reference server for file systems"
    instructions = (
        "read_text_file returns text, with head or tail for a part of it; read_media_file returns images, audio and "
        "other files; the other tools list, search and describe files."
    )
    output_schema: Mapping[str, Any] | None = {
        "type": "object",
        "properties": {"content": {"type": "string"}},
        "required": ["content"],
    }
    fields: tuple[Field, ...] = (_PATH,)
    is_closed = True
    wording = Wording(
        "Invalid arguments: {}",
        missing="{name} is required",
        kinds={"number": "a number", "array": "a list of strings"},
    )

    def _spec(self) -> ToolSpec:
        spec = super()._spec()
        within = " Works within the allowed directories only." if self.fields else ""
        return replace(spec, description=spec.description + within)

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        call = self.parse(arguments, engine.admit)
        assert context is not None
        try:
            return self.answer(call, engine, context)
        except errors.ReadError as error:
            system_call = "stat" if call.values.get("tail") else self.system_call
            wording = ReplyError(error.code, _described(error, engine, system_call))
            raise BadArguments(error.code, suggested(self, error, wording, engine, context).message) from None

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        """Answer a call. Raises: BadArguments, ReadError."""
        raise NotImplementedError  # abstract

    def _read(
        self, path: str, selection: Selection, engine: Engine, context: CallContext
    ) -> tuple[str, dict[str, Any]]:
        """Return lines of a file as they are, and the facts of the read. Raises: ReadError."""
        request = ReadRequest(
            _expanded(path, engine),
            selection=selection,
            text_rule=ANY_IS_TEXT,
            encoding=self.encoding or "utf-8",
            total=NO_TOTAL,
        )
        document = engine.read(request, context)
        part: Any = document.parts[0]
        charge_text(part, context)
        measures: dict[str, Any] = {"lines": part.line_count, "file_bytes": document.facts.size_bytes}
        if document.facts.changed:
            measures["changed_during_read"] = True
        if part.more and part.first_line:
            measures["left_out"] = [f"{written_path(request.path)}:{part.first_line + part.line_count}-"]
        return rendered(part, None)[0], measures

    def parse(self, arguments: Any, admit: Admit) -> Call:
        values = checked(arguments, self.fields, self.wording)
        for name in ("head", "tail"):
            if values.get(name) is not None:
                values[name] = _line_count(values[name], name)
        if "paths" in values and not 0 < len(values["paths"]) <= MAX_FILES:
            raise _invalid(f"paths must name 1 to {MAX_FILES} files")
        return Call(values.get("path", ""), values, Lines())

    def render_error(self, error: ReadError) -> ReplyError:
        return ReplyError(error.code, str(error))


def _line_count(value: float, name: str) -> int:
    if value != value or not -(2**53) < value < 2**53:
        raise _invalid(f"{name} must be a number of lines, not {shown(value)}")
    whole = int(value)
    return whole + (whole < value) if name == "head" else whole


# --- reading ---------------------------------------------------------------------------------------------------------


class ReadTextFile(_FilesystemTool):
    """`read_text_file`: a whole file, or its first or last lines."""

    tool = "read_text_file"
    description = "Reads a file as text. head returns only its first lines, tail only its last ones."
    fields = (
        _PATH,
        Field("tail", "number", "Return only the last N lines of the file", is_fraction=True),
        Field("head", "number", "Return only the first N lines of the file", is_fraction=True),
    )

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        if call["head"] and call["tail"]:
            try:
                engine.describe(_expanded(call.path, engine), context)  # a path that is refused is the error to report
            except errors.NotFound as error:
                if error.errno != ENOENT:
                    raise
            raise BadArguments("invalid", "Cannot specify both head and tail parameters simultaneously")
        if (call["head"] or 0) < 0 or (call["tail"] or 0) < 0:
            self._read(call.path, Lines(1, 1), engine, context)  # a file that cannot be read is the error to report
            return _text_reply("")
        if call["tail"]:
            text, measures = self._read(call.path, Tail(call["tail"], numbered=False), engine, context)
            return _text_reply(text.replace("\r\n", "\n"), measures)
        if call["head"]:
            text, measures = self._read(call.path, Lines(1, call["head"]), engine, context)
            return _text_reply(text.removesuffix("\n"), measures)
        return _text_reply(*self._read(call.path, Lines(), engine, context))


class FilesystemReadFile(ReadTextFile):
    """`read_file`: the same under its older name."""

    tool = "read_file"
    description = "Reads a file as text. Deprecated: use read_text_file instead."


class ReadMultipleFiles(_FilesystemTool):
    """`read_multiple_files`: several whole files; a file that cannot be read does not stop the others."""

    tool = "read_multiple_files"
    own_paths = r"(?:\A|^---\n).*:(?:$| Error - .*)"
    description = "Reads several files as text, each after its path. One that cannot be read is returned as an error."
    fields = (Field("paths", "array", "The files to read", required=True, schema={"minItems": 1}),)
    paths = Paths("paths")

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        counts: dict[str, Any] = {"lines": 0, "file_bytes": 0}

        def pieces() -> Iterator[str]:
            for number, path in enumerate(call["paths"]):
                context.check()
                between = "\n---\n" if number else ""
                try:
                    text, measures = self._read(path, Lines(), engine, context)
                except (errors.Cancelled, errors.TimedOut):
                    raise
                except errors.ReadError as error:
                    yield f"{between}{path}: Error - {_described(error, engine, self.system_call)}"
                    continue
                for name in ("lines", "file_bytes"):
                    counts[name] += measures.get(name, 0)
                if "changed_during_read" in measures:
                    counts["changed_during_read"] = True
                yield f"{between}{path}:\n"
                yield text
                yield "\n"
                del text

        return _text_reply(joined(pieces()), counts)


class ReadMediaFile(_FilesystemTool):
    """`read_media_file`: an image, audio, or any other file as a resource."""

    tool = "read_media_file"
    description = "Reads a file with its media type: images and audio as such, any other file as a resource."
    output_schema = None
    sends_documents = True

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        path = _expanded(call.path, engine)
        suffix = os.path.splitext(path)[1].lower()
        request = ReadRequest(
            path,
            limits=Limits(max_whole_bytes=MEDIA_BYTES, max_window_bytes=MEDIA_BYTES),
            text_rule=ANY_IS_TEXT,  # the bytes of any file that is not an image
            documents=frozenset() if _MEDIA_TYPES.get(suffix) == _SVG else _IMAGES,
            total=NO_TOTAL,
        )
        document = engine.read(request, context)
        image = next((part for part in document.parts if isinstance(part, ImagePart)), None)
        content: Content
        if image is not None:
            content = ImageContent(image.data, image.media_type)
        else:
            part: Any = document.parts[0]
            uri = uri_of(os.path.join(engine.guard.roots[0].canonical, document.facts.canonical))
            media_type = _MEDIA_TYPES.get(suffix, "application/octet-stream")
            content = DocumentContent(bytes(part.data), media_type, uri=uri)
        return Reply((content,), None, None, (), {"file_bytes": document.facts.size_bytes})


# --- directories -----------------------------------------------------------------------------------------------------


class ListDirectory(_FilesystemTool):
    """`list_directory`: the names in a directory."""

    tool = "list_directory"
    system_call = "scandir"
    description = "Lists the files and directories in a directory, each after [FILE] or [DIR]."

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        listing = engine.list(_expanded(call.path, engine), context)
        lines = [f"{_mark(entry)} {valid_text(entry.name)}" for entry in listing.entries]
        if listing.partial:
            lines.append(_PARTIAL)
        return _text_reply("\n".join(lines), {"lines": len(lines)})


class ListDirectoryWithSizes(_FilesystemTool):
    """`list_directory_with_sizes`: the names in a directory, with the sizes of files."""

    tool = "list_directory_with_sizes"
    system_call = "scandir"
    description = "Lists the files and directories in a directory, each after [FILE] or [DIR], with sizes of files."
    fields = (
        _PATH,
        Field("sortBy", "string", "Sort the entries by name or size", default="name", choices=("name", "size")),
    )

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        path = _expanded(call.path, engine)
        listing = engine.list(path, context)
        rows: list[tuple[Entry, int]] = []
        for entry in listing.entries:
            size = entry.size_bytes
            if size is None:
                status = status_of(os.path.join(path, entry.name), engine, context)
                size = status.st_size if status else 0
            rows.append((entry, size))
        if call["sortBy"] == "size":
            rows.sort(key=lambda row: -row[1])
        lines = []
        for entry, size in rows:
            tail = "" if entry.what == "directory" else size_text(size).rjust(10)
            lines.append(f"{_mark(entry)} {valid_text(entry.name).ljust(30)} {tail}")
        files = [size for entry, size in rows if entry.what != "directory"]
        if listing.partial:
            lines.append(_PARTIAL)
        lines += ["", f"Total: {len(files)} files, {len(rows) - len(files)} directories"]
        lines.append(f"Combined size: {size_text(sum(files))}")
        return _text_reply("\n".join(lines), {"lines": len(rows)})


class DirectoryTree(_FilesystemTool):
    """`directory_tree`: everything below a directory, as JSON."""

    tool = "directory_tree"
    system_call = "scandir"
    description = "Returns all below a directory as JSON: name, type, and children. excludePatterns are globs."
    fields = (_PATH, _EXCLUDES)

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        limits = GlobLimits(context.check)
        excludes = [glob for pattern in call["excludePatterns"] for glob in _tree_globs(pattern, limits)]
        top: list[dict[str, Any]] = []
        directories = {"": top}
        count = 0
        for relative, entry in entries_below(_expanded(call.path, engine), engine, context, _enters(excludes)):
            count += 1
            row: dict[str, Any] = {"name": valid_text(keep(entry.name, context)), "type": "file"}
            if entry.what == "directory":
                row["type"] = "directory"
                row["children"] = directories[relative] = []
            directories[relative.rpartition("/")[0]].append(row)
        return _text_reply(json.dumps(top, indent=2, ensure_ascii=False), {"lines": count})


class SearchFiles(_FilesystemTool):
    """`search_files`: the paths below a directory that match a glob."""

    tool = "search_files"
    own_paths = ".+"
    system_call = "scandir"
    description = "Returns the full paths below a directory that match a glob: *.ext in it, **/*.ext at any depth."
    fields = (_PATH, Field("pattern", "string", required=True), _EXCLUDES)

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        limits = GlobLimits(context.check)
        wanted = _glob(call["pattern"], limits)
        excludes = [_glob(pattern, limits) for pattern in call["excludePatterns"]]
        path = _expanded(call.path, engine)
        base = _canonical(path, engine, context)
        found = []
        for relative, entry in entries_below(path, engine, context, _enters(excludes)):
            if not wanted.matches(valid_text(relative)):
                continue
            if entry.what != "link" or status_of(os.path.join(path, relative), engine, context):
                found.append(keep(written_path(os.path.join(base, relative)), context))
        return _text_reply("\n".join(found) or "No matches found", {"lines": len(found)})


class GetFileInfo(_FilesystemTool):
    """`get_file_info`: size, times, type and permissions."""

    tool = "get_file_info"
    system_call = "stat"
    description = "Describes a file or directory without reading it: size, times, type and permissions."

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        status = engine.describe(_expanded(call.path, engine), context)
        born = getattr(status, "st_birthtime", None)
        rows = {
            "size": status.st_size,
            "created": "unknown" if born is None else _date(born),
            "modified": _date(status.st_mtime),
            "accessed": _date(status.st_atime),
            "isDirectory": str(stat.S_ISDIR(status.st_mode)).lower(),
            "isFile": str(stat.S_ISREG(status.st_mode)).lower(),
            "permissions": f"{status.st_mode:o}"[-3:],
        }
        return _text_reply("\n".join([f"{name}: {value}" for name, value in rows.items()]))


class ListAllowedDirectories(_FilesystemTool):
    """`list_allowed_directories`: the roots."""

    tool = "list_allowed_directories"
    own_paths = ".+"
    description = "Lists the directories that this server may read; everything below them may be read too."
    fields = ()
    paths = Paths("")

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        return _text_reply("\n".join(["Allowed directories:", *_roots(engine)]))


class Filesystem(ToolsetDialect):
    """All tools of the set."""

    name = "filesystem"
    summary = _FilesystemTool.summary
    tools = (
        FilesystemReadFile,
        ReadTextFile,
        ReadMediaFile,
        ReadMultipleFiles,
        ListDirectory,
        ListDirectoryWithSizes,
        DirectoryTree,
        SearchFiles,
        GetFileInfo,
        ListAllowedDirectories,
    )


# --- shared by the tools ---------------------------------------------------------------------------------------------

_PARTIAL = "[more entries exist; the directory is too large to list]"


def _enters(excludes: Sequence[Glob]) -> Enters:
    """Return the choice of a walk that leaves out what is excluded and follows no links."""

    def enters(relative: str, entry: Entry) -> bool | None:
        is_excluded = any(glob.matches(valid_text(relative)) for glob in excludes)
        return None if is_excluded else entry.what == "directory"

    return enters


def _expanded(path: str, engine: Engine) -> str:
    """Return the path with the home directory in place of `~`, and `.` and `..` resolved in its text.

    Raises: InvalidPath; OutsideRoot with `~` as it is, because an error must not name a directory outside the roots.
    """
    if path == "~" or path.startswith("~/"):
        asked, path = path, os.path.expanduser(path)
        if beneath(os.path.normpath(path), engine.guard.roots) is None:
            engine.admit(asked)
            raise errors.OutsideRoot(asked)
    if path[1:2] == ":" and path[:1].isalpha() and path[:1].isascii() and path[2:3] in ("", "/", "\\"):
        raise errors.InvalidPath(path, "Windows-style path received on a POSIX host")
    if not path.startswith("/"):
        path = os.path.join(engine.guard.roots[0].path, path)
    return path if "\0" in path else os.path.normpath(path)


def _canonical(path: str, engine: Engine, context: CallContext) -> str:
    """Return the absolute path of a directory with links resolved. Raises: ReadError."""
    root = engine.guard.admit(path)[0]
    return os.path.normpath(os.path.join(root.canonical, engine.list(path, context).path))


def _mark(entry: Entry) -> str:
    return "[DIR]" if entry.what == "directory" else "[FILE]"


def _roots(engine: Engine) -> list[str]:
    """Return the roots as they were given, each followed by the directory that a link leads to."""
    found = []
    for root in engine.guard.roots:
        found += [root.path] if root.path == root.canonical else [root.path, root.canonical]
    return list(map(written_path, found))


def _glob(pattern: str, limits: GlobLimits) -> Glob:
    try:
        return Glob(pattern, limits)
    except ValueError as error:
        raise _invalid(str(error)) from None


def _tree_globs(pattern: str, limits: GlobLimits) -> list[Glob]:
    """Return the globs of one exclusion: a pattern without `*` also matches names at any depth."""
    if "*" in pattern:
        return [_glob(pattern, limits)]
    return [_glob(spelling, limits) for spelling in (pattern, f"**/{pattern}", f"**/{pattern}/**")]


def size_text(size_bytes: int) -> str:
    if size_bytes < 1024:
        return f"{max(0, size_bytes)} B"
    unit = min(4, (size_bytes.bit_length() - 1) // 10)
    return f"{size_bytes / 1024**unit:.2f} {('B', 'KB', 'MB', 'GB', 'TB')[unit]}"


def _date(seconds: float) -> str:
    """Return a time as the original's platform prints it, in the zone of this machine."""
    local = time.localtime(int(seconds))
    day = time.asctime(local).split()  # of no locale: Mon Jan 2 15:04:05 2006
    clock = time.strftime("%H:%M:%S GMT%z (%Z)", local)
    return f"{day[0]} {day[1]} {local.tm_mday:02} {local.tm_year} {clock}"


def _text_reply(text: str, measures: dict[str, Any] | None = None) -> Reply:
    measures = measures or {}
    notes = (CHANGED,) if "changed_during_read" in measures else ()
    return Reply((TextContent(text),), {"content": text}, None, notes, measures)


def _described(error: ReadError, engine: Engine, system_call: str) -> str:
    """Return the text of a failed read, in the form of the original's platform; links are resolved first."""
    is_missing = getattr(error, "errno", ENOENT) == ENOENT
    name, text = error_text(error, _TEXTS, "node", system_call if is_missing else "realpath")
    return f"{text} not in {', '.join(_roots(engine))}" if name == "outside_root" else text


def _invalid(text: str) -> BadArguments:
    return BadArguments("invalid_arguments", f"Invalid arguments: {text}")
