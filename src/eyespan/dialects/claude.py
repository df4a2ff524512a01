"""Claude Code `Read` (seed 003): `cat -n` lines, reminders for empty files, images, PDFs and notebooks as blocks.

`claude` follows the document (`offset` from 0, a tab after the number); `claude-upstream` follows the shipped product
(`offset` from 1, an arrow, no `pages` in the schema, refusals of whole files over 256 KB and of answers over 25,000
tokens). The variables of the document's prompt are settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyespan import errors
from eyespan.dialects.arguments import BadArguments, as_whole, refusal, shown
from eyespan.dialects.base import (
    CHANGED,
    CHANGED_DOCUMENT,
    NO_MEASURES,
    Admit,
    FileDialect,
    encoding_facts,
    encoding_note,
    only_text,
)
from eyespan.dialects.rendering import numbered_counting
from eyespan.errors import ReadError
from eyespan.escape import visible
from eyespan.model import (
    NUL_IS_BINARY,
    BytesPart,
    Content,
    Document,
    DocumentContent,
    DocumentOptions,
    ImageContent,
    ImagePart,
    Limits,
    Lines,
    NotePart,
    PdfOptions,
    ReadRequest,
    Reply,
    ReplyError,
    TextContent,
    ToolSpec,
)
from eyespan.tokens import estimate

DEFAULT_READ_LINES = 2000
MAX_LINE_LENGTH = 2000
BASH_TOOL_NAME = "Bash"
MAX_PAGES = 20
SEPARATORS = {"tab": "\t", "arrow": "→"}
_SHOWN_KINDS = frozenset({"claude"})
_PDF_ONLY = frozenset(("pdf",))
_NO_KINDS: frozenset[str] = frozenset()


KIND_NAMES = {"pdf": "PDF"}
"""The names of kinds in error messages, if they differ."""

EMPTY = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"


@dataclass(frozen=True, slots=True)
class ClaudeArgs:
    """The checked arguments of a call."""

    file_path: str
    offset: int
    """The given value, for messages."""
    first: int
    """The first line."""
    limit: int | None
    """None: not given. A reminder follows lines that are cut by the default, but not those cut by a given limit."""
    pages: tuple[int, int] | None = None
    """The first and the last page, for PDFs."""
    is_whole: bool = False
    """Neither `offset` nor `limit` is given."""


class Claude(FileDialect):
    """The tool as the document describes it, with its settings."""

    name = "claude"
    summary = "cat -n, images, PDFs page by page, notebooks, reminders for empty files; offset from 0"
    counts_cut_lines = True
    notice_tags: tuple[str, ...] = ("<system-reminder>",)
    settings = {
        "can_read_pdf": True,
        "pdf": "pages",
        "line_number_format": "tab",
        "default_read_lines": DEFAULT_READ_LINES,
        "max_line_length": MAX_LINE_LENGTH,
        "bash_tool_name": BASH_TOOL_NAME,
        "describes_roots": False,
        "has_pages": True,
        "max_tokens": None,
        "max_bytes": None,
    }
    choices = {"pdf": ("pages", "document"), "line_number_format": tuple(SEPARATORS)}
    limits = ("default_read_lines", "max_line_length", "max_tokens", "max_bytes")
    can_be_off = ("max_tokens", "max_bytes")
    first_offset = 0
    trusts_pdf_names = True
    """A text that is named .pdf is refused as a PDF."""
    number_width = 6
    more_notice = (
        "<system-reminder>Lines {first}-{last}{of} are shown. To read on, use offset {next}.</system-reminder>"
    )
    binary_advice = "Please use appropriate tools for binary file analysis."
    size_advice = (
        "Please use offset and limit parameters to read specific portions of the file, or use the GrepTool to search "
        "for specific content."
    )

    def _configure(self, settings: Mapping[str, Any]) -> None:
        for name in ("default_read_lines", "max_line_length"):
            if settings[name] < 1:
                raise ValueError(f"{name} must be 1 or more, not {settings[name]!r}")
        if not isinstance(settings["bash_tool_name"], str) or not settings["bash_tool_name"]:
            raise ValueError(f"bash_tool_name must be the name of a tool, not {settings['bash_tool_name']!r}")
        self.can_read_pdf: bool = settings["can_read_pdf"]
        self.pdf: str = settings["pdf"]
        self.separator = SEPARATORS[settings["line_number_format"]]
        self.default_read_lines: int = settings["default_read_lines"]
        self.max_line_chars: int = settings["max_line_length"]
        self.bash_tool_name: str = settings["bash_tool_name"]
        self.describes_roots: bool = settings["describes_roots"]
        self.has_pages: bool = settings["has_pages"]
        self.max_tokens: int | None = settings["max_tokens"]
        self.max_bytes: int | None = settings["max_bytes"]
        self._roots: tuple[str, ...] = ()
        """The directories that the definition names; none if it claims the whole machine."""
        self._limits = Limits(max_line_bytes=4 * (self.max_line_chars + 2), max_line_chars=self.max_line_chars)
        self._options = DocumentOptions(pdf=PdfOptions(max_pages=MAX_PAGES, is_whole=self.pdf == "document"))

    def set_roots(self, roots: Sequence[str]) -> None:
        if self.describes_roots and "/" not in roots:
            self._roots = tuple(map(visible, roots))
            self.spec = self._spec()

    def _spec(self) -> ToolSpec:
        lines = _description(self.default_read_lines, self.max_line_chars, self.bash_tool_name, self._roots)
        description = "\n".join([line for line in lines if self.can_read_pdf or not line.startswith(PDF_LINE)])
        has_pages = self.has_pages and self.can_read_pdf
        return ToolSpec("Read", description, _schema(self.first_offset, has_pages, self.default_read_lines))

    def parse(self, arguments: Any, admit: Admit) -> ClaudeArgs:
        if not isinstance(arguments, dict):
            raise _bad("the arguments must be an object with file_path")
        path = arguments.get("file_path")
        if not isinstance(path, str) or not path:
            raise _bad("file_path is required and must be a string")
        if not path.startswith("/"):
            raise _bad("file_path must be an absolute path, not a relative path")
        offset = _integer(arguments.get("offset"), "offset", self.first_offset)
        limit = None if arguments.get("limit") is None else _integer(arguments["limit"], "limit", 0)
        if offset < 0:
            raise _bad("Offset must be non-negative")
        if limit is not None and limit <= 0:
            raise _bad("Limit must be greater than 0")
        pages = _pages(arguments.get("pages")) if self.can_read_pdf else None
        first = max(1, offset - self.first_offset + 1)
        is_whole = limit is None and arguments.get("offset") is None
        return ClaudeArgs(file_path=path, offset=offset, first=first, limit=limit, pages=pages, is_whole=is_whole)

    def plan(self, args: ClaudeArgs) -> ReadRequest:
        return ReadRequest(
            path=args.file_path,
            selection=Lines(args.first, args.limit or self.default_read_lines),
            limits=self._limits,
            text_rule=NUL_IS_BINARY,
            documents=_SHOWN_KINDS,
            refuses=_NO_KINDS if self.can_read_pdf else _PDF_ONLY,
            options=self._options if args.pages is None else _page_options(*args.pages),
            encoding=self.encoding or "bom",
            reports_encoding=self.encoding is not None,
            counts_cut_chars=True,
        )

    def render(self, args: ClaudeArgs, document: Document) -> Reply:
        if document.kind == "pdf" and not document.parts and args.pages is not None:
            raise _bad(
                f"pages starts at {args.pages[0]}, but the PDF has only {_page_count(document.extra['total_pages'])}"
            )
        if document.kind != "text":
            return _document_reply(document)
        if self.trusts_pdf_names and args.file_path.lower().endswith(".pdf") and document.facts.size_bytes:
            raise errors.Unreadable(args.file_path, kind="pdf", reason="not a PDF, despite its name")
        part = only_text(document)
        total, returned = part.total_lines, part.line_count
        if total == 0:
            return _reminder(EMPTY, {"total_lines": 0, "lines_returned": 0, "truncated": False})
        if not returned:
            text = (
                f"<system-reminder>Warning: the file exists but is shorter than the provided offset ({args.offset}). "
                f"The file has {total} lines.</system-reminder>"
            )
            return _reminder(text, {"total_lines": total, "lines_returned": 0, "truncated": False})
        size = document.facts.size_bytes
        if self.max_bytes is not None and args.is_whole and size > self.max_bytes:
            raise self._too_large(f"{_kilobytes(size)}) exceeds maximum allowed size ({_kilobytes(self.max_bytes)}")
        view, cut_lines = numbered_counting(
            part, width=self.number_width, mark=self.separator, max_chars=self.max_line_chars
        )
        if self.max_tokens is not None and (cost := estimate(view)) > self.max_tokens:
            raise self._too_large(f"{cost} tokens) exceeds maximum allowed tokens ({self.max_tokens}")
        content: list[Content] = [TextContent(view)]
        facts: dict[str, Any] = {"lines_returned": returned, "truncated": part.more}
        if total is not None:
            facts["total_lines"] = total
        if part.more and args.limit is None:
            content.append(TextContent(self._more_reminder(part.first_line, returned, total)))
        facts.update(encoding_facts(document))
        note = encoding_note(document)
        if note:
            content.append(TextContent(f"<system-reminder>{note}</system-reminder>"))
        if document.facts.changed:
            facts["changed_during_read"] = True
            content.append(TextContent(f"<system-reminder>{CHANGED}</system-reminder>"))
        return Reply(tuple(content), facts, measures={"cut_lines": cut_lines} if cut_lines else NO_MEASURES)

    def _more_reminder(self, first: int, count: int, total: int | None) -> str:
        last = first + count - 1
        of = "" if total is None else f" of {total}"
        following = last + self.first_offset  # the offset of line `last + 1`
        return self.more_notice.format(first=first, last=last, of=of, next=following)

    def _too_large(self, fact: str) -> BadArguments:
        """Return the refusal of the shipped product, in its words."""
        return BadArguments("too_large", f"File content ({fact}). {self.size_advice}")

    def render_error(self, error: ReadError) -> ReplyError:
        match error:
            case errors.NotFound():
                text = "File does not exist."
            case errors.NotRegular(what="directory"):
                text = (
                    "EISDIR: illegal operation on a directory, read. "
                    f"To list a directory, use an ls command via the {self.bash_tool_name} tool."
                )
            case errors.Binary():
                name = error.path.rpartition("/")[2]
                suffix = f".{name.rpartition('.')[2]} " if "." in name.strip(".") else ""
                text = (
                    f"This tool cannot read binary files. The file appears to be a binary {suffix}file. "
                    f"{self.binary_advice}"
                )
            case errors.Unreadable():
                text = f"This {KIND_NAMES.get(error.kind, error.kind)} cannot be read: {error}"
            case errors.WindowTooLarge():
                text = f"File content exceeds maximum allowed size: {error}. Use offset and limit to read a part of it."
            case errors.OutsideRoot() if self._roots:
                text = f"Access denied: the file is outside the directories that may be read: {', '.join(self._roots)}."
            case errors.OutsideRoot():
                text = "Access denied: the file is outside the folders that may be read."
            case errors.PolicyDenied(rule=""):
                text = "Access denied: this tool is denied by policy."
            case errors.PolicyDenied():
                text = f"Access denied: reading this file is forbidden by the rule {error.rule}."
            case errors.PermissionRefused():
                reason = "" if error.reason == errors.system_text(error.errno) else f" {error}"
                text = f"EACCES: permission denied, read.{reason}"
            case _:
                text = f"Error reading file: {error}"
        return ReplyError(error.code, text)


class ClaudeUpstream(Claude):
    """The tool as the shipped product behaves."""

    name = "claude-upstream"
    summary = (
        "as claude, with the behaviour of the shipped product 2.0.14: offset from 1, an arrow, its refusals of size"
    )
    settings = {
        **Claude.settings,
        "line_number_format": "arrow",
        "has_pages": False,
        "max_tokens": 25_000,
        "max_bytes": 256 * 1024,
    }
    first_offset = 1
    trusts_pdf_names = False


class Claude21(ClaudeUpstream):
    """The tool as the product behaves since 2.1: `N<TAB>` flush left, `pages`, other advice."""

    name = "claude@2.1"
    summary = "as claude-upstream, with the behaviour of Claude Code 2.1.325: `N<TAB>` flush left, pages"
    settings = {**ClaudeUpstream.settings, "line_number_format": "tab", "has_pages": True}
    number_width = 0
    more_notice = "[Truncated: PARTIAL view \u2014 lines {first}-{last}{of} are shown; to read on, use offset {next}]"
    notice_tags = (*Claude.notice_tags, "[Truncated: PARTIAL view")
    binary_advice = (
        "Use a skill for this file type if one is available, or a shell command or script that can read the format."
    )
    size_advice = (
        "Use offset and limit parameters to read specific portions of the file, or search for specific content instead "
        "of reading the whole file."
    )


def _kilobytes(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.1f}".removesuffix(".0") + "KB"


def _page_options(first: int, last: int) -> DocumentOptions:
    return DocumentOptions(pdf=PdfOptions(first=first, last=last, max_pages=MAX_PAGES))


def _integer(value: Any, name: str, default: int) -> int:
    if value is None:
        return default
    number = as_whole(value)
    if number is None:
        raise _bad(f"{name} must be a whole number, not {shown(value)}")
    return number


def _pages(value: Any) -> tuple[int, int] | None:
    """Return the first and the last page of "3" or "1-5"; None if no pages are given."""
    if value is None or value == "":
        return None
    whole = as_whole(value)
    text = value if isinstance(value, str) else "" if whole is None else str(whole)
    first, dash, last = text.strip().partition("-")
    if not dash:
        last = first
    first, last = first.strip(), last.strip()
    if not (_is_page(first) and _is_page(last)) or int(first) > int(last):
        raise _bad(f'pages must be a page or a range of pages, as in "3" or "1-5", not {shown(value)}')
    return int(first), int(last)


def _is_page(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1


def _page_count(pages: int) -> str:
    return "1 page" if pages == 1 else f"{pages} pages"


def _document_reply(document: Document) -> Reply:
    """Return an image, PDF or notebook: its parts in order as blocks, adjacent notes as one, and its facts.

    A document without parts (a notebook without cells) is answered like an empty file.
    """
    content: list[Content] = []
    notes: list[str] = []
    for part in (*document.parts, None):
        if isinstance(part, NotePart):
            notes.append(part.text)
            continue
        if notes:
            content.append(TextContent("\n".join(notes)))
            notes = []
        if isinstance(part, ImagePart):
            content.append(ImageContent(part.data, part.media_type))
        elif isinstance(part, BytesPart):
            content.append(DocumentContent(part.data, part.media_type))
    facts = dict(document.extra)
    if not content:
        return _reminder(EMPTY, facts)
    if "left_out" in facts:
        content.append(TextContent(_left_out_reminder(facts)))
    if document.facts.changed:
        facts["changed_during_read"] = True
        content.append(TextContent(f"<system-reminder>{CHANGED_DOCUMENT}</system-reminder>"))
    return Reply(tuple(content), facts)


def _left_out_reminder(facts: dict[str, Any]) -> str:
    """Return the reminder that names the pages left out and the argument that reads them."""
    shown_pages, (start, end), total = facts["pages_returned"], facts["left_out"], facts["total_pages"]
    first, last = shown_pages[0], shown_pages[-1]
    is_shown = f"Page {first} of {total} is" if first == last else f"Pages {first}-{last} of {total} are"
    is_left = f"page {start} is" if start == end else f"pages {start}-{end} are"
    why = {"bytes": " (the answer would become too large)", "seconds": " (they take long to draw)"}
    until = min(end, start + MAX_PAGES - 1)
    following = f"{start}-{until}" if until > start else f"{start}"
    return (
        f"<system-reminder>{is_shown} shown; {is_left} left out{why.get(facts.get('stopped', ''), '')}. "
        f'To read on, use pages "{following}".</system-reminder>'
    )


def _reminder(text: str, facts: dict[str, Any]) -> Reply:
    return Reply((TextContent(text),), facts)


_bad = refusal("invalid_input")


PDF_LINE = "- This tool can read PDF files"


def _description(read_lines: int, line_chars: int, bash_tool: str, roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the text of the seed with its variables filled in, line by line.

    With `roots`, the three places where it claims the whole machine name those directories instead.
    """
    any_file, all_files, that_path, temporary = (
        "any file directly",
        "all files on the machine",
        "a path to a file",
        "with all temporary file paths",
    )
    if roots:
        places = ", ".join(roots)
        any_file = f"any file below {places} directly"
        all_files = "all files below these directories, and no others"
        that_path = "a path to a file below them"
        temporary = f"with temporary file paths only below {places}"
    return (
        f"Reads a file from the local filesystem. You can access {any_file} by using this tool.",
        f"Assume this tool is able to read {all_files}. If the User provides {that_path} assume that path "
        "is valid. It is okay to read a file that does not exist; an error will be returned.",
        "",
        "Usage:",
        "- The file_path parameter must be an absolute path, not a relative path",
        f"- By default, it reads up to {read_lines} lines starting from the beginning of the file",
        "- You can optionally specify a line offset and limit (especially handy for long files), but it's recommended "
        "to read the whole file by not providing these parameters",
        f"- Any lines longer than {line_chars} characters will be truncated",
        "- Results are returned using cat -n format, with line numbers starting at 1",
        "- This tool allows Claude Code to read images (eg PNG, JPG, etc). When reading an image file the contents are "
        "presented visually as Claude Code is a multimodal LLM.",
        f"{PDF_LINE} (.pdf). PDFs are processed page by page, extracting both text and visual content for analysis.",
        "- This tool can read Jupyter notebooks (.ipynb files) and returns all cells with their outputs, combining "
        "code, text, and visualizations.",
        "- This tool can only read files, not directories. To read a directory, use an ls command via the "
        f"{bash_tool} tool.",
        "- You can call multiple tools in a single response. It is always better to speculatively read multiple "
        "potentially useful files in parallel.",
        "- You will regularly be asked to read screenshots. If the user provides a path to a screenshot, ALWAYS use "
        f"this tool to view the file at the path. This tool will work {temporary}.",
        "- If you read a file that exists but has empty contents you will receive a system reminder warning in place "
        "of file contents.",
    )


PAGES_SCHEMA = {
    "type": "string",
    "description": f'The pages of a PDF to read, as in "3" or "1-5" (at most {MAX_PAGES} a call). '
    "Only applies to PDF files",
}


def _schema(first_offset: int, pages: bool, read_lines: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "description": "The absolute path to the file to read"},
            "offset": {
                "type": "number",
                "description": f"The line number to start reading from ({first_offset}-indexed). "
                "Only provide if the file is too large to read at once",
            },
            "limit": {
                "type": "number",
                "description": f"The number of lines to read (default: {read_lines}). "
                "Only provide if the file is too large to read at once",
            },
            **({"pages": PAGES_SCHEMA} if pages else {}),
        },
        "required": ["file_path"],
    }
