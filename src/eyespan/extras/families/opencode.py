"""OpenCode `read`: numbered lines in `<content>`, listings of directories, images and PDFs.

Names, limits, numbering and notices follow the program; docs/dialects/opencode.md lists the differences.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Any

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, as_whole, path_in, refusal, shown
from eyespan.dialects.base import Admit, Dialect
from eyespan.dialects.media import media_block, media_notes
from eyespan.dialects.rows import Rows, line_limits
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import valid_text, written_path
from eyespan.model import (
    NO_TOTAL,
    NUL_IS_BINARY,
    DocumentOptions,
    ImageContent,
    PdfOptions,
    ReadRequest,
    Reply,
    ReplyError,
    TextContent,
    ToolSpec,
)
from eyespan.opened import Opened

DEFAULT_LINES = 2000
MAX_LINE_CHARS = 2000
MAX_BYTES = 50 << 10
MAX_SUGGESTIONS = 3
_CUT = f"... (line truncated to {MAX_LINE_CHARS} chars)"
_LIMITS = line_limits(MAX_LINE_CHARS)
_OPTIONS = DocumentOptions(pdf=PdfOptions(is_whole=True))
_DOCUMENTS = frozenset(("image", "pdf"))


@dataclass(frozen=True, slots=True)
class OpenCodeArgs:
    """The checked arguments of a call."""

    path: str
    offset: int = 1
    limit: int = DEFAULT_LINES


class OpenCode(Dialect):
    """The tool as the program has it."""

    name = "opencode"
    summary = "read of OpenCode: `N: line` in <content>, 50 KB per call, directories, images and PDFs"
    instructions = (
        "Text is returned by lines, at most 2,000 lines and 50 KB per call; offset reads on. Directories are listed; "
        "images and PDFs are returned as such."
    )
    sends_documents = True

    def _spec(self) -> ToolSpec:
        count = {"type": "integer", "minimum": 0}
        schema = {
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "The file or directory to read"},
                "offset": {**count, "description": "The first line or entry to read, counted from 1"},
                "limit": {**count, "description": f"The most lines or entries to read ({DEFAULT_LINES} by default)"},
            },
            "required": ["filePath"],
        }
        text = (
            f"Reads a file or lists a directory. Text comes by lines with numbers, as `<line>: <content>`, at most "
            f"{DEFAULT_LINES} lines and {MAX_BYTES >> 10} KB per call; offset reads on. Lines over {MAX_LINE_CHARS} "
            "characters are cut. Images and PDFs come as attachments; directories end with a slash in listings."
        )
        return ToolSpec("read", text, schema)

    def parse(self, arguments: Any, admit: Admit) -> OpenCodeArgs:
        path = path_in(arguments, "filePath", _bad)
        counts = {}
        for name in ("offset", "limit"):
            value = arguments.get(name)
            if value is None:
                continue
            count = as_whole(value)
            if count is None or count < 0:
                raise _bad(f"{name} must be a whole number from 0 on, not {shown(value)}")
            counts[name] = count
        if not os.path.isabs(path) and "://" not in path and "\0" not in path:
            path = os.path.normpath(path)
        return OpenCodeArgs(path, counts.get("offset") or 1, counts.get("limit", DEFAULT_LINES))

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        args = self.parse(arguments, engine.admit)
        assert context is not None
        path = _absolute(args.path, engine)
        request = ReadRequest(
            args.path,
            limits=_LIMITS,
            text_rule=NUL_IS_BINARY,
            documents=_DOCUMENTS,
            options=_OPTIONS,
            encoding=self.encoding or "utf-8",
            reports_encoding=self.encoding is not None,
            total=NO_TOTAL,
        )
        try:
            with engine.open(request, context) as opened:
                if opened.kind.name in _DOCUMENTS:
                    return _attachment(opened, engine)
                return _lines(args, written_path(path), opened)
        except errors.NotRegular as error:
            if error.what != "directory":
                error.path = path
                raise
        except errors.NotFound as error:
            raise BadArguments(error.code, _missing(args.path, engine, context)) from None
        except errors.ReadError as error:
            error.path = path
            raise
        return _listing(args, written_path(path), engine, context)

    def render_error(self, error: ReadError) -> ReplyError:
        path = written_path(error.path)
        match error:
            case errors.Binary():
                text = f"Cannot read binary file: {path}"
            case errors.NotFound():
                text = f"File not found: {path}"
            case errors.PolicyDenied(rule=""):
                text = "This tool is denied by policy."
            case errors.PolicyDenied():
                text = f"Reading is forbidden by the rule {error.rule}: {path}"
            case errors.OutsideRoot():
                text = f"The path is outside the directories that may be read: {path}"
            case _:
                text = f"{error}: {path}"
        return ReplyError(error.code, text)


def _lines(args: OpenCodeArgs, path: str, opened: Opened) -> Reply:
    """Return the selected lines, as many as fit. Raises: BadArguments, ReadError."""
    rows = Rows(opened, args.offset, args.limit + 1)
    shown_rows: list[str] = []
    size = cut_lines = 0
    has_more = is_capped = False
    for number, line in rows:
        if len(shown_rows) == args.limit:
            has_more = True
            break
        if number == 1:
            line = line.removeprefix("\ufeff")
        is_cut = len(line) > MAX_LINE_CHARS
        if is_cut:
            line = line[:MAX_LINE_CHARS] + _CUT
        size += len(line.encode("utf-8", "replace")) + (1 if shown_rows else 0)
        if size > MAX_BYTES:
            has_more = is_capped = True
            break
        cut_lines += is_cut
        shown_rows.append(f"{number}: {line}")
    last = args.offset + len(shown_rows) - 1
    measures: dict[str, Any] = {"lines": len(shown_rows)}
    if opened.facts.exact:
        measures["file_bytes"] = opened.facts.size_bytes
    if is_capped:
        end = (
            f"Output capped at {MAX_BYTES >> 10} KB. Showing lines {args.offset}-{last}. "
            f"Use offset={last + 1} to continue."
        )
    else:
        total = measures["total_lines"] = rows.total()
        if args.offset > max(total, 1):
            text = f"Offset {args.offset} is out of range for this file ({total} lines)"
            raise BadArguments("out_of_range", text)
        end = f"End of file - total {total} lines"
        if has_more:
            end = f"Showing lines {args.offset}-{last} of {total}. Use offset={last + 1} to continue."
    if cut_lines:
        measures["cut_lines"] = cut_lines
    if has_more:
        measures["left_out"] = [f"{path}:{last + 1}-"]
    body = "\n".join(shown_rows)
    text = f"<path>{path}</path>\n<type>file</type>\n<content>\n{body}\n\n({end})\n</content>"
    return Reply((TextContent(text),), None, None, rows.notes(), measures)


def _attachment(opened: Opened, engine: Engine) -> Reply:
    """Return an image or a PDF. Raises: ReadError."""
    document = opened.read()
    block = media_block(document, engine)
    text = TextContent(f"{'Image' if isinstance(block, ImageContent) else 'PDF'} read successfully")
    return Reply((text, block), None, None, media_notes(document), {"file_bytes": document.facts.size_bytes})


def _listing(args: OpenCodeArgs, path: str, engine: Engine, context: CallContext) -> Reply:
    """Return the selected names of a directory. Raises: ReadError."""
    listing = engine.list(args.path, context)
    names = []
    for entry in listing.entries:
        is_directory = entry.what == "directory" or (
            entry.what == "link" and _is_directory(args, entry.name, engine, context)
        )
        names.append(valid_text(entry.name) + ("/" if is_directory else ""))
    chosen = names[args.offset - 1 : args.offset - 1 + args.limit]
    total = f"more than {len(names)}" if listing.partial else str(len(names))
    end = f"{total} entries"
    has_more = args.offset - 1 + len(chosen) < len(names)
    if has_more or listing.partial:
        following = args.offset + len(chosen)
        end = f"Showing {len(chosen)} of {total} entries."
        if has_more:
            end += f" Use 'offset' parameter to read beyond entry {following}"
    lines = [f"<path>{path}</path>", "<type>directory</type>", "<entries>", "\n".join(chosen)]
    text = "\n".join([*lines, f"\n({end})", "</entries>"])
    return Reply((TextContent(text),), None, None, (), {"lines": len(chosen)})


def _is_directory(args: OpenCodeArgs, name: str, engine: Engine, context: CallContext) -> bool:
    """Return True for a link to a directory."""
    context.check()
    try:
        return stat.S_ISDIR(engine.describe(os.path.join(args.path, name), context).st_mode)
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError:
        return False  # it leads nowhere or outside


def _missing(path: str, engine: Engine, context: CallContext) -> str:
    """Return the text for a missing file, with names in its directory that contain its name or are part of it."""
    directory, base = os.path.split(path)
    wanted = base.lower()
    text = f"File not found: {written_path(_absolute(path, engine))}"
    try:
        names = [entry.name for entry in engine.list(directory or ".", context).entries if entry.name != base]
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError:
        return text
    similar = [name for name in names if wanted in name.lower() or name.lower() in wanted][:MAX_SUGGESTIONS]
    if not similar:
        return text
    paths = [written_path(_absolute(os.path.join(directory, name), engine)) for name in similar]
    return "\n".join([text, "", "Did you mean one of these?", *paths])


def _absolute(path: str, engine: Engine) -> str:
    """Return the absolute path of a file below the first root; an absolute path as it is."""
    root = engine.guard.roots[0].path
    return root if path == "." else os.path.join(root, path)


_bad = refusal(
    "invalid_arguments",
    "The read tool was called with invalid arguments: {}.\n"
    "Please rewrite the input so it satisfies the expected schema.",
)
