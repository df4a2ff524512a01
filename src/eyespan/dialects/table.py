"""The declarative form of a dialect: tables, from which everything that its tool does is made.

A dialect that reads one file per call names its arguments (`fields`), which of them select lines (`window`), how it
takes paths (`paths`), how a line is shown (`gutter`, `line_chars`, `line_mark`), where an answer ends (`max_size`),
what surrounds the lines (`answers`), which kinds of files it shows (`documents`), and its texts for errors
(`error_texts`). Schema, argument checks, facts and the arguments that read on follow from these. A method can replace
any step.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal
from urllib.parse import quote_from_bytes

from eyespan import errors, kinds
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, Field, Wording, checked, schema_of
from eyespan.dialects.base import CHANGED_DOCUMENT, Admit, Dialect, text_notes
from eyespan.dialects.error_texts import Platform, error_text
from eyespan.dialects.opened_lines import OpenedLines
from eyespan.dialects.rendering import charge_text, rendered
from eyespan.engine import Engine
from eyespan.errors import ReadError
from eyespan.escape import is_valid, written_path
from eyespan.guard.roots import Root
from eyespan.model import (
    EXACT_TOTAL,
    NO_TOTAL,
    NUL_IS_BINARY,
    BytesPart,
    Document,
    DocumentContent,
    DocumentOptions,
    ImageContent,
    ImagePart,
    Limits,
    Lines,
    PdfOptions,
    ReadRequest,
    Reply,
    ReplyError,
    Selection,
    Tail,
    TextContent,
    TextPart,
    TextRule,
    ToolSpec,
    TotalRule,
)
from eyespan.opened import Opened

WHOLE_PDF = DocumentOptions(pdf=PdfOptions(is_whole=True))


@dataclass(frozen=True, slots=True)
class Paths:
    """How a dialect takes a path."""

    field: str = "path"
    absolute: str = ""
    """The message for a relative path; "" takes it."""
    is_lexical: bool = True
    """`.` and `..` are resolved in the text and a slash at the end is dropped, as most programs do. Otherwise the file
    system resolves them, and the text only if that leads out of the root and back."""
    has_mentions: bool = False
    """A missing file whose name begins with `@` is tried without it, from a root on."""
    shows_absolute: bool = False
    """Answers and errors name the absolute path, not the path as it was asked for."""
    shows_normal: bool = False
    """They name absolute paths without `.` and `..`."""
    shows_slash: bool = False
    """A slash at the end of such a path is named."""

    def resolved(self, asked: str, roots: Sequence[Root]) -> str:
        """Return the path to read."""
        return normal_path(asked, roots) if self.is_lexical else asked

    def shown(self, asked: str, roots: Sequence[Root]) -> str:
        """Return the path that answers and errors name."""
        if not self.shows_absolute or (os.path.isabs(asked) and not self.shows_normal):
            return asked
        path = os.path.join(roots[0].path, self.resolved(asked, roots))
        normal = path if "\0" in path else os.path.normpath(path)
        return f"{normal}/" if self.shows_slash and os.path.isabs(asked) and asked.endswith("/") else normal


def normal_path(path: str, roots: Sequence[Root]) -> str:
    """Return a path without `.`, `..`, doubled slashes and a slash at the end; absolute if it leaves the first root."""
    if "\0" in path or "://" in path or (path and not path.startswith(("/", ".")) and not _is_odd(path)):
        return path
    normal = os.path.normpath(path)
    if normal.startswith("..") and normal[2:3] in ("", "/"):
        normal = os.path.normpath(os.path.join(roots[0].path, normal))
    return "/" + normal.lstrip("/") if normal.startswith("//") else normal


def as_asked(path: str) -> str:
    """Return a path for a selector: as it was asked for, or with escapes if it is not Unicode."""
    return path if is_valid(path) else written_path(path)


def uri_of(path: str) -> str:
    """Return the URI of a path."""
    return "file:///" + quote_from_bytes(os.fsencode(path.lstrip("/")))


def media_block(document: Document, engine: Engine, media_type: str | None = None) -> ImageContent | DocumentContent:
    """Return the image of a document, or the file itself as a document with its address and type."""
    for part in document.parts:
        if isinstance(part, ImagePart):
            return ImageContent(part.data, part.media_type)
    part = document.parts[0]
    assert isinstance(part, BytesPart)
    uri = uri_of(os.path.join(engine.guard.roots[0].path, document.facts.canonical))
    return DocumentContent(part.data, media_type or part.media_type, uri=uri)


def _is_odd(path: str) -> bool:
    return "/." in path or "//" in path or path.endswith("/")


@dataclass(frozen=True, slots=True)
class Window:
    """Which arguments select lines, by the names of their fields."""

    first: str = ""
    count: str = ""
    last: str = ""
    origin: int = 1
    """The value of `first` that stands for the first line."""
    lines: int | None = None
    """The lines of a call that names no end."""
    max_lines: int | None = None
    """The most lines of an answer."""
    has_tails: bool = False
    """A negative first line counts from the end."""

    def selection(self, values: Mapping[str, Any]) -> Lines | Tail:
        """Return the lines that arguments select."""
        first = values.get(self.first)
        if self.has_tails and first is not None and first < 0:
            return Tail(-first)
        first = 1 if first is None else max(1, first - self.origin + 1)
        count = values.get(self.count)
        last = values.get(self.last)
        if last is not None:
            count = last - first + 1 if count is None else min(count, last - first + 1)
        elif count is None:
            count = self.lines
        if self.max_lines is not None:
            count = self.max_lines if count is None else min(count, self.max_lines)
        return Lines(first, None if count is None else max(0, count))

    def is_capped(self, values: Mapping[str, Any]) -> bool:
        """Return True if arguments ask for more lines than an answer has."""
        if self.max_lines is None:
            return False
        last, count = values.get(self.last), values.get(self.count)
        if last is not None:
            count = last - (values.get(self.first) or self.origin) + 1
        return count is None or count > self.max_lines


@dataclass(frozen=True, slots=True)
class Gutter:
    """What stands before a line: `lead`, its number right-aligned in `width`, `mark`.

    A width of -1 is that of the last number shown.
    """

    mark: str = "\t"
    width: int = 0
    lead: str = ""

    def rows(self, first: int, lines: Sequence[str]) -> str:
        """Return lines with their numbers."""
        width = len(str(first + len(lines) - 1)) if self.width < 0 else self.width
        return "\n".join([f"{self.lead}{first + at:>{width}}{self.mark}{line}" for at, line in enumerate(lines)])


@dataclass(frozen=True, slots=True)
class Call:
    """The checked arguments of a call."""

    path: str
    """As the caller wrote it."""
    values: Mapping[str, Any]
    selection: Selection

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


State = Literal["empty", "past_end", "long_line", "full", "capped", "more", "part", "cut", "end"]
_WIDER = {"part": "end", "cut": "end", "long_line": "full", "capped": "full"}
"""The state that stands for another where a table lacks that one."""


@dataclass(frozen=True, slots=True)
class Page:
    """The lines that an answer shows, and what is known about the others."""

    body: str
    first: int
    count: int
    more: bool = False
    """The file has lines after the last one."""
    is_full: bool = False
    """The size of the answer ended it, not the window."""
    is_capped: bool = False
    """The most lines of an answer ended it."""
    cut: Sequence[int] = ()
    """The numbers of the lines that are shortened, or as many zeros."""
    total: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @property
    def state(self) -> State:
        """Return why the page ends where it ends."""
        if not self.count and not self.more:
            return "past_end" if self.first > 1 else "empty"
        if self.is_full:
            return "full" if self.count else "long_line"
        if self.is_capped or self.more:
            return "capped" if self.is_capped else "more"
        return "part" if self.first > 1 else "cut" if self.cut else "end"


class TableDialect(Dialect):
    """A dialect made of tables, with one tool that reads one file per call."""

    tool = ""
    aliases: tuple[str, ...] = ()
    description = ""
    fields: tuple[Field, ...] = ()
    is_closed = False
    """The schema forbids fields that are not declared."""
    wording = Wording()
    paths = Paths()
    window = Window()
    gutter: Gutter | None = None
    """None: lines have no numbers."""
    line_chars: int | None = None
    """The characters that are shown of a longer line; `line_mark` follows them."""
    line_mark = ""
    line_bytes: int | None = None
    """The same in bytes of UTF-8, cut between characters."""
    max_size: int | None = None
    """The most that the lines of an answer may take, as counted by `size_of`; None: any window is shown whole."""
    keeps_first = False
    """The first line is shown whether or not it fits."""
    answers: Mapping[str, str] = {"any": "{body}"}
    """The text around the lines, by the state of the page: "empty", "past_end", "long_line" (the first line does not
    fit), "full", "capped" (by the most lines of an answer), "more", "part" (the end of the file, but not its start),
    "cut" (the whole file, with shortened lines), "end", "any". Filled in are `body`, `path`, `first`, `last`, `count`,
    `total`, `left`, `next` (the value of the argument that reads on) and the arguments."""
    refused: Mapping[str, str] = {}
    """The states that are errors, in the same form: "past_end", "empty"."""
    documents: frozenset[str] = frozenset()
    """The kinds that come as images or files."""
    document_texts: Mapping[str, str] = {}
    """A text before such a block, by its kind; `type` and `path` are filled in."""
    refuses: frozenset[str] = frozenset((kinds.BINARIES,))
    """The kinds that are binary to the dialect, whatever their bytes are: all that are never text."""
    options = WHOLE_PDF
    text_rule: TextRule = NUL_IS_BINARY
    text_encoding = "utf-8"
    keeps_ends = False
    """Lines keep their line ends; otherwise LF stands between them."""
    keeps_last_end = False
    """The line end of the last line of the file is shown."""
    hides_bom = False
    """A BOM at the start of a file is not shown."""
    total: TotalRule = NO_TOTAL
    counts_cut_chars = False
    """The length of a line that is not held whole is counted."""
    read_limits = Limits()
    platform: Platform = "node"
    system_call = "open"
    error_texts: Mapping[str, str] = {}
    error_form = "{}"
    """What surrounds the text of every failed read."""
    error_codes: Mapping[str, str] = {}
    """The dialect's own codes, by the names of `error_texts`."""

    def _spec(self) -> ToolSpec:
        names = {one.name for field in self.fields for one in (field, *field.fields)}
        window = self.window
        for name in (self.paths.field, window.first, window.count, window.last):
            if name and name not in names:
                raise ValueError(f"{self.name}: paths or window name the field {name!r}, which is not in fields")
        return ToolSpec(self.tool, self.description, schema_of(self.fields, is_closed=self.is_closed), self.aliases)

    @property
    def first_offset(self) -> int:  # type: ignore[override]  # follows from the table
        return self.window.origin

    # --- a call, step by step ----------------------------------------------------------------------------------------

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        context = context or CallContext(engine.deadline_seconds)
        return self.answer(self.parse(arguments, engine.admit), engine, context)

    def answer(self, call: Call, engine: Engine, context: CallContext) -> Reply:
        """Read one file. Raises: BadArguments, ReadError."""
        roots = engine.guard.roots
        try:
            with self.opened(self.plan(call, self.paths.resolved(call.path, roots)), engine, context) as opened:
                if opened.kind.is_one_of(self.documents):
                    return self.show_document(call, opened.read(), engine)
                return self.show_text(call, opened, self.paths.shown(call.path, roots))
        except errors.NotRegular as error:
            listed = self.list_directory(call, engine, context) if error.what == "directory" else None
            if listed is not None:
                return listed
            error.path = self.paths.shown(call.path, roots)
            raise
        except ReadError as error:
            error.path = self.paths.shown(call.path, roots)
            raise

    def parse(self, arguments: Any, admit: Admit) -> Call:
        values = checked(arguments, self.fields, self.wording)
        self.check(values)
        path = values[self.paths.field]
        if self.paths.absolute and not path.startswith("/"):
            raise self.wording.bad(self.paths.absolute.format(path=path))
        return Call(path, values, self.window.selection(values))

    def check(self, values: dict[str, Any]) -> None:
        """Refuse values that do not go together. Raises: BadArguments."""

    def plan(self, call: Call, path: str) -> ReadRequest:
        """Return what to read for these arguments."""
        return ReadRequest(
            path,
            selection=call.selection,
            limits=self._limits,
            text_rule=self.text_rule,
            documents=self.documents,
            refuses=self.refuses,
            options=self.options,
            encoding=self.encoding or self.text_encoding,
            reports_encoding=self.encoding is not None,
            total=self.total,
            counts_cut_chars=self.counts_cut_chars,
        )

    @cached_property
    def _limits(self) -> Limits:
        if (chars := self.line_chars) is None:
            return self.read_limits
        return replace(self.read_limits, max_line_bytes=4 * (chars + 2), max_line_chars=chars)

    def opened(self, request: ReadRequest, engine: Engine, context: CallContext) -> Opened:
        """Open the file. Raises: ReadError."""
        try:
            return engine.open(request, context)
        except errors.NotFound:
            if not (self.paths.has_mentions and request.path.startswith("@")):
                raise
            other = normal_path(request.path[1:], engine.guard.roots) or "."
            if not f"{other}/".startswith(tuple([f"{root.path}/" for root in engine.guard.roots])):
                other = other.lstrip("/") or "."
        except errors.OutsideRoot:
            other = normal_path(request.path, engine.guard.roots)
            if other == request.path:
                raise
        return engine.open(replace(request, path=other), context)

    def list_directory(self, call: Call, engine: Engine, context: CallContext) -> Reply | None:
        """Return the names in a directory; None: it is an error. Raises: BadArguments, ReadError."""
        return None

    def show_document(self, call: Call, document: Document, engine: Engine) -> Reply:
        """Return an image or a file."""
        block = media_block(document, engine)
        text = self.document_texts.get("image" if isinstance(block, ImageContent) else document.kind)
        path = written_path(self.paths.shown(call.path, engine.guard.roots))
        lead = () if text is None else (TextContent(text.format(type=block.media_type, path=path)),)
        notes = (CHANGED_DOCUMENT,) if document.facts.changed else ()
        return Reply((*lead, block), None, None, notes, {"file_bytes": document.facts.size_bytes})

    def show_text(self, call: Call, opened: Opened, path: str) -> Reply:
        """Return lines of a text. Raises: BadArguments, ReadError."""
        page = self.page(call, opened)
        refusal = self.chosen(self.refused, page) if self.refused else ""
        template = refusal or self.chosen(self.answers, page)
        if page.total is None and ("{total}" in template or "{left}" in template):
            page = replace(page, total=OpenedLines(opened, 1).total())
        if refusal:
            raise BadArguments("out_of_range", refusal.format(**self.facts(call, page, path)))
        content = tuple([TextContent(text) for text in self.texts(call, page, path)])
        return Reply(content, None, None, page.notes, self.measures(call, page, opened))

    def texts(self, call: Call, page: Page, path: str) -> Sequence[str]:
        """Return the texts of an answer, one for each block."""
        template = self.chosen(self.answers, page)
        return [page.body if template == "{body}" else template.format(body=page.body, **self.facts(call, page, path))]

    def facts(self, call: Call, page: Page, path: str) -> dict[str, Any]:
        """Return what templates can fill in."""
        total = page.total or 0
        return {
            **call.values,
            "path": written_path(path),
            "first": page.first,
            "last": page.last,
            "count": page.count,
            "total": total,
            "left": total - page.last,
            "next": page.last + self.window.origin,
        }

    @staticmethod
    def chosen(table: Mapping[str, str], page: Page) -> str:
        """Return the row of a table for the state of a page; "" if it has none."""
        state = page.state
        return table.get(state) or table.get(_WIDER.get(state, "")) or table.get("any", "")

    def measures(self, call: Call, page: Page, opened: Opened) -> dict[str, Any]:
        """Return the facts of an answer."""
        counts: dict[str, Any] = {"lines": page.count}
        if opened.facts.exact:
            counts["file_bytes"] = opened.facts.size_bytes
        if page.total is not None:
            counts["total_lines"] = page.total
        if page.cut:
            counts["cut_lines"] = len(page.cut)
        if page.more and page.count and page.first:
            last = call.values.get(self.window.last) if page.is_full or page.is_capped else None
            counts["left_out"] = [f"{as_asked(call.path)}:{page.last + 1}-{last or ''}"]
        return counts

    # --- lines -------------------------------------------------------------------------------------------------------

    def page(self, call: Call, opened: Opened) -> Page:
        """Return the lines that the answer shows. Raises: ReadError."""
        return self.window_of(call, opened)[0] if self.max_size is None else self.fitting_rows(call, opened)

    def window_of(self, call: Call, opened: Opened) -> tuple[Page, Document]:
        """Return all lines of the window, and the document they are of."""
        document = opened.read(call.selection)
        part: Any = document.parts[0]
        if self.hides_bom and part.first_line == 1:
            part = replace(part, data=part.data.removeprefix(codecs.BOM_UTF8))
        self.charge(part, opened.context, has_numbers=self.gutter is not None)
        gutter, style = self.gutter, None
        if gutter is not None:
            style = {
                "lead": gutter.lead,
                "width": len(str(part.first_line + part.line_count - 1)) if gutter.width < 0 else gutter.width,
                "mark": gutter.mark,
                "keep_ends": self.keeps_ends,
                "max_chars": self.line_chars or 0,
                "max_bytes": self.line_bytes or 0,
            }
        body, cut = rendered(part, style)
        page = Page(
            body=body,
            first=part.first_line,
            count=part.line_count,
            more=part.more,
            cut=(0,) * cut,
            total=part.total_lines,
            notes=text_notes(document),
        )
        return page, document

    def charge(self, part: TextPart, context: CallContext, *, has_numbers: bool) -> None:
        """Pay for the memory of the answer for a large text, beside what the reader paid. Raises: ReadError."""
        charge_text(part, context, has_numbers=has_numbers)

    def fitting_rows(self, call: Call, opened: Opened) -> Page:
        """Return as many lines of the window as fit into `max_size`."""
        window: Any = call.selection
        assert self.max_size is not None
        rows = OpenedLines(opened, window.first, None if window.count is None else window.count + 1)
        shown: list[str] = []
        cut: list[int] = []
        size = 0
        more = is_full = is_capped = False
        last = window.first + (window.count or self.max_size) - 1
        for number, line in rows:
            if len(shown) == window.count:
                more, is_capped = True, self.window.is_capped(call.values)
                break
            line, is_cut = self.shortened(number, line)
            size += self.size_of(line, last, is_first=not shown)
            if size > self.max_size and (shown or not self.keeps_first):
                more = is_full = True
                break
            if is_cut:
                cut.append(number)
            shown.append(line)
        body = "\n".join(shown) if self.gutter is None else self.gutter.rows(window.first, shown)
        return Page(
            body=f"{body}\n" if self.keeps_last_end and shown and not more and rows.has_last_end else body,
            first=window.first,
            count=len(shown),
            more=more,
            is_full=is_full,
            is_capped=is_capped,
            cut=cut,
            total=rows.total() if self.total == EXACT_TOTAL else None,
            notes=rows.notes(),
        )

    def shortened(self, number: int, line: str) -> tuple[str, bool]:
        """Return a line as it is shown, without its number, and whether it was shortened."""
        if number == 1 and self.hides_bom:
            line = line.removeprefix("\ufeff")
        if self.line_chars is None or len(line) <= self.line_chars:
            return line, False
        return line[: self.line_chars] + self.line_mark, True

    def size_of(self, line: str, last: int, *, is_first: bool) -> int:
        """Return what a line counts for in `max_size`: its bytes and a line feed. `last` is the last line asked for."""
        return len(line.encode("utf-8", "replace")) + (not is_first)

    # --- errors ------------------------------------------------------------------------------------------------------

    def render_error(self, error: ReadError) -> ReplyError:
        name, text = error_text(error, self.error_texts, self.platform, self.system_call)
        code = self.error_codes.get(name) or self.error_codes.get(error.code, error.code)
        return ReplyError(code, self.error_form.replace("{}", text))
