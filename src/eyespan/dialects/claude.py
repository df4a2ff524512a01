"""Claude Code `Read` (seed 003): `cat -n` lines, reminders for empty files, images, PDFs and notebooks as blocks.

The variables of the document's prompt are settings. The dialects of the shipped product are those of
`eyespan.extras.families.claude_code`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from eyespan import errors
from eyespan.dialects.arguments import BadArguments, Field, Wording, shown
from eyespan.dialects.base import CHANGED, CHANGED_DOCUMENT, Admit, encoding_facts, encoding_note
from eyespan.dialects.table import Call, Gutter, Page, Paths, TableDialect, Window, as_asked
from eyespan.engine import Engine
from eyespan.escape import visible
from eyespan.model import (
    CHEAP_TOTAL,
    BytesPart,
    Content,
    Document,
    DocumentContent,
    DocumentOptions,
    ImageContent,
    ImagePart,
    NotePart,
    PdfOptions,
    ReadRequest,
    Reply,
    TextContent,
)
from eyespan.opened import Opened
from eyespan.tokens import estimate

MAX_PAGES = 20
LARGE_TOKENS = 140_000
"""The tokens of an answer to `allow_large`: 0.7 of a conversation of 200,000."""
GUTTERS = {"tab": Gutter("\t", width=6), "arrow": Gutter("→", width=6), "flush": Gutter("\t")}
EMPTY = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
PAST_END = (
    "<system-reminder>Warning: the file exists but is shorter than the provided offset ({offset}). "
    "The file has {total} lines.</system-reminder>"
)
_PATH_MESSAGE = {"any": "file_path is required and must be a string"}
_PAGES_MESSAGE = {"any": 'pages must be a page or a range of pages, as in "3" or "1-5", not {value}'}


class Claude(TableDialect):
    """The tool as the document describes it, with its settings."""

    name = "claude"
    summary = "cat -n, images, PDFs page by page, notebooks, reminders for empty files; offset from 0"
    notice_tags: tuple[str, ...] = ("<system-reminder>",)
    settings = {
        "can_read_pdf": True,
        "pdf": "pages",
        "line_number_format": "tab",
        "default_read_lines": 2000,
        "max_line_length": 2000,
        "bash_tool_name": "Bash",
        "describes_roots": False,
        "max_tokens": None,
        "max_bytes": None,
    }
    choices = {"pdf": ("pages", "document"), "line_number_format": tuple(GUTTERS)}
    limits = ("default_read_lines", "max_line_length", "max_tokens", "max_bytes")
    can_be_off = ("default_read_lines", "max_line_length", "max_tokens", "max_bytes")
    tool = "Read"
    wording = Wording(code="invalid_input", not_object="the arguments must be an object with file_path")
    paths = Paths("file_path", absolute="file_path must be an absolute path, not a relative path", is_lexical=False)
    documents = frozenset(("claude",))
    text_encoding = "bom"
    total = CHEAP_TOTAL
    counts_cut_chars = True
    origin = 0
    trusts_pdf_names = True
    """A text that is named .pdf is refused as a PDF."""
    more_notice = (
        "<system-reminder>Lines {first}-{last}{of} are shown. To read on, use offset {next}.</system-reminder>"
    )
    own_texts: Mapping[str, str] = {}
    """The texts of errors in which a dialect differs from the document."""

    def _configure(self, settings: Mapping[str, Any]) -> None:
        for name in ("default_read_lines", "max_line_length"):
            if settings[name] is not None and settings[name] < 1:
                raise ValueError(f"{name} must be 1 or more, not {settings[name]!r}")
        bash_tool = settings["bash_tool_name"]
        if not isinstance(bash_tool, str) or not bash_tool:
            raise ValueError(f"bash_tool_name must be the name of a tool, not {bash_tool!r}")
        self._settings = settings
        read_lines, self.line_chars = settings["default_read_lines"], settings["max_line_length"]
        self.description = self._description(())
        self.gutter = GUTTERS[settings["line_number_format"]]
        self.window = Window("offset", "limit", origin=self.origin, lines=read_lines)
        self.refuses = frozenset() if settings["can_read_pdf"] else frozenset(("pdf",))
        self.options = DocumentOptions(pdf=PdfOptions(max_pages=MAX_PAGES, is_whole=settings["pdf"] == "document"))
        self.fields = (
            Field(
                "file_path", "string", "The absolute path to the file to read", required=True, messages=_PATH_MESSAGE
            ),
            self._number("offset", f"line number to start reading from ({self.origin}-indexed)", 0, "be non-negative"),
            self._number("limit", f"number of lines to read (default: {read_lines or 'all'})", 1, "be greater than 0"),
        )
        if settings["can_read_pdf"]:
            text = f'The pages of a PDF to read, as in "3" or "1-5" (at most {MAX_PAGES} a call). '
            pages = Field(
                "pages",
                "string",
                f"{text}Only applies to PDF files",
                takes=("number",),
                messages=_PAGES_MESSAGE,
            )
            self.fields += (pages,)
        self.error_texts = {
            "not_found": "File does not exist.",
            "directory": "EISDIR: illegal operation on a directory, read. To list a directory, use an ls command via "
            f"the {bash_tool} tool.",
            "binary": "This tool cannot read binary files. The file appears to be a binary {suffix_}file. Please use "
            "appropriate tools for binary file analysis.",
            "unreadable_pdf": "This PDF cannot be read: {reason}",
            "unreadable": "This {kind} cannot be read: {reason}",
            "window_too_large": "File content exceeds maximum allowed size: {reason}. Use offset and limit to read a "
            "part of it.",
            "outside_root": "Access denied: the file is outside the folders that may be read.",
            "tool_denied": "Access denied: this tool is denied by policy.",
            "policy_denied": "Access denied: reading this file is forbidden by the rule {rule}.",
            "permission": "EACCES: permission denied, read. {reason}",
            **dict.fromkeys(("EACCES", "EPERM"), "EACCES: permission denied, read."),
            "any": "Error reading file: {reason}",
            **self.own_texts,
        }

    def set_roots(self, roots: Sequence[str]) -> None:
        if self._settings["describes_roots"] and "/" not in roots:
            places = tuple(map(visible, roots))
            named = ", ".join(places).replace("{", "{{").replace("}", "}}")
            denied = f"Access denied: the file is outside the directories that may be read: {named}."
            self.error_texts = {**self.error_texts, "outside_root": denied}
            self.description = self._description(places)
            self.spec = self._spec()

    def _description(self, roots: tuple[str, ...]) -> str:
        settings = self._settings
        text = "\n".join([line for line in _PROMPT if settings["can_read_pdf"] or not line.startswith(PDF_LINE)])
        for claim, fact in _CLAIMS.items() if roots else ():
            text = text.replace(claim, fact)
        names = {"lines": settings["default_read_lines"], "chars": settings["max_line_length"]}
        return text.format(**names, bash=settings["bash_tool_name"], roots=", ".join(roots))

    def parse(self, arguments: Any, admit: Admit) -> Call:
        call = super().parse(arguments, admit)
        pages = call.values.get("pages")
        return replace(call, values={**call.values, "pages": self._pages(pages) if pages else None})

    def _pages(self, text: str) -> tuple[int, int]:
        """Return the first and the last page of "3" or "1-5"."""
        first, dash, last = [part.strip() for part in text.strip().partition("-")]
        if not dash:
            last = first
        if not (_is_page(first) and _is_page(last)) or int(first) > int(last):
            raise self.wording.bad(_PAGES_MESSAGE["any"].format(value=shown(text)))
        return int(first), int(last)

    def plan(self, call: Call, path: str) -> ReadRequest:
        request = super().plan(call, path)
        if call["pages"] is None:
            return request
        first, last = call["pages"]
        return replace(request, options=DocumentOptions(pdf=PdfOptions(first=first, last=last, max_pages=MAX_PAGES)))

    def show_text(self, call: Call, opened: Opened, path: str) -> Reply:
        size = opened.facts.size_bytes
        if self.trusts_pdf_names and path.lower().endswith(".pdf") and size:
            raise errors.Unreadable(path, kind="pdf", reason="not a PDF, despite its name")
        most = None if call.values.get("allow_large") else self._settings["max_bytes"]
        is_whole = call["limit"] is None and getattr(call.selection, "first", 0) == 1
        if most is not None and is_whole and size > most:
            raise too_large(f"({_size(size)}) exceeds maximum allowed size ({_size(most)})")
        page, document = self.window_of(call, opened)
        measures = self.measures(call, page, opened)
        facts: dict[str, Any] = {"lines_returned": page.count, "truncated": page.more}
        if page.total is not None:
            facts["total_lines"] = page.total
        if not page.count:
            text = EMPTY if page.total == 0 else PAST_END.format(**self.facts(call, page, path))
            return Reply((TextContent(text),), facts, measures=measures)
        page = self._limited(call, page)
        measures = self.measures(call, page, opened)
        facts.update(lines_returned=page.count, truncated=page.more)
        texts = [page.body]
        if page.more and call["limit"] is None:
            of = "" if page.total is None else f" of {page.total}"
            texts.append(self.more_notice.format(**self.facts(call, page, path), of=of))
        facts.update(encoding_facts(document))
        if document.facts.changed:
            facts["changed_during_read"] = True
        notes = (encoding_note(document), document.facts.changed and CHANGED)
        texts += [f"<system-reminder>{note}</system-reminder>" for note in notes if note]
        return Reply(tuple(map(TextContent, texts)), facts, measures=measures)

    def _limited(self, call: Call, page: Page) -> Page:
        """Return a page within the limits on size: without `limit`, the first lines. Raises: BadArguments."""
        most_tokens = self._settings["max_tokens"]
        if call.values.get("allow_large") and most_tokens is not None:
            most_tokens = max(LARGE_TOKENS, most_tokens)
        if most_tokens is None or len(page.body) < most_tokens // 2:
            return page
        assert self.gutter is not None
        rows = page.body.split("\n")
        lines = [row.partition(self.gutter.mark)[2] for row in rows]
        chars, cost = sum(map(len, lines)) + len(lines), estimate("\n".join(lines))
        if cost <= most_tokens:
            return page
        count = 0 if call["limit"] else len(rows) * most_tokens * 85 // (cost * 100)
        while (sum(map(len, lines[:count])) + count) * cost > chars * most_tokens:
            count = count * 7 // 10
        if not count:  # a range, or one line that is too long
            raise too_large(f"({cost} tokens) exceeds maximum allowed tokens ({most_tokens})")
        body = "\n".join(rows[:count])
        return replace(page, body=body, count=count, more=True, is_full=True, total=page.total or page.last)

    def show_document(self, call: Call, document: Document, engine: Engine) -> Reply:
        """Return an image, PDF or notebook: its parts in order as blocks, adjacent notes as one, and its facts.

        A document without parts (a notebook without cells) is answered like an empty file.
        """
        facts = dict(document.extra)
        if document.kind == "pdf" and not document.parts and call["pages"] is not None:
            count = facts["total_pages"]
            has_only = "1 page" if count == 1 else f"{count} pages"
            raise self.wording.bad(f"pages starts at {call['pages'][0]}, but the PDF has only {has_only}")
        measures: dict[str, Any] = {"file_bytes": document.facts.size_bytes} if document.facts.exact else {}
        if "left_out" in facts:
            first, last = facts["left_out"]
            measures["left_out"] = [f"{as_asked(call.path)}:p{first}-{last}"]
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
        if not content:
            return Reply((TextContent(EMPTY),), facts, measures=measures)
        if "left_out" in facts:
            content.append(TextContent(_left_out_reminder(facts)))
        if document.facts.changed:
            facts["changed_during_read"] = True
            content.append(TextContent(f"<system-reminder>{CHANGED_DOCUMENT}</system-reminder>"))
        return Reply(tuple(content), facts, measures=measures)

    def _number(self, name: str, what: str, minimum: int, rule: str) -> Field:
        return Field(
            name,
            "number",
            f"The {what}. Only provide if the file is too large to read at once",
            minimum=minimum,
            hides_bounds=True,
            messages={"below": f"{name.capitalize()} must {rule}"},
        )


def too_large(fact: str) -> BadArguments:
    """Return the refusal of a file or an answer that is too large."""
    return BadArguments(
        "too_large",
        f"File content {fact}. Use offset and limit parameters to read specific portions of the file, or search for "
        "specific content instead of reading the whole file.",
    )


def _size(size_bytes: int) -> str:
    unit, name = (1 << 20, "MB") if size_bytes >= 1 << 20 else (1 << 10, "KB")
    return f"{size_bytes / unit:.1f}".removesuffix(".0") + name


def _is_page(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1


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


PDF_LINE = "- This tool can read PDF files"
_CLAIMS = {
    "any file directly": "any file below {roots} directly",
    "all files on the machine": "all files below these directories, and no others",
    "a path to a file": "a path to a file below them",
    "with all temporary file paths": "with temporary file paths only below {roots}",
}
"""Where the prompt claims the whole machine, and what it says for narrower roots."""
_PROMPT = (
    "Reads a file from the local filesystem. You can access any file directly by using this tool.",
    "Assume this tool is able to read all files on the machine. If the User provides a path to a file assume that path "
    "is valid. It is okay to read a file that does not exist; an error will be returned.",
    "",
    "Usage:",
    "- The file_path parameter must be an absolute path, not a relative path",
    "- By default, it reads up to {lines} lines starting from the beginning of the file",
    "- You can optionally specify a line offset and limit (especially handy for long files), but it's recommended to "
    "read the whole file by not providing these parameters",
    "- Any lines longer than {chars} characters will be truncated",
    "- Results are returned using cat -n format, with line numbers starting at 1",
    "- This tool allows Claude Code to read images (eg PNG, JPG, etc). When reading an image file the contents are "
    "presented visually as Claude Code is a multimodal LLM.",
    f"{PDF_LINE} (.pdf). PDFs are processed page by page, extracting both text and visual content for analysis.",
    "- This tool can read Jupyter notebooks (.ipynb files) and returns all cells with their outputs, combining code, "
    "text, and visualizations.",
    "- This tool can only read files, not directories. To read a directory, use an ls command via the {bash} tool.",
    "- You can call multiple tools in a single response. It is always better to speculatively read multiple "
    "potentially useful files in parallel.",
    "- You will regularly be asked to read screenshots. If the user provides a path to a screenshot, ALWAYS use this "
    "tool to view the file at the path. This tool will work with all temporary file paths.",
    "- If you read a file that exists but has empty contents you will receive a system reminder warning in place of "
    "file contents.",
)
"""The prompt of the seed, line by line."""
