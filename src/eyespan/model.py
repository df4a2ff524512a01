"""The value types that dialects, engine and readers exchange.

A dialect turns arguments into a `ReadRequest`; the engine turns that into a `Document` of parts; the dialect turns the
document into a `Reply`. Nothing here depends on the way files are opened or on the words of a dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from eyespan import tokens

TextRule = Literal["any", "nul", "utf8"]
TotalRule = Literal["no", "cheap", "exact"]

MIB = 1024 * 1024
SNIFF_BYTES = 8192
"""The first bytes of a file that decide whether it is text: the number of seeds 001, 002 and 003."""
MAX_SYMBOLS = 20_000
"""The outline of a file with more symbols holds the first of them."""


# --- requests --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lines:
    """`count` lines from line `first`; `count=None` goes to the end of the file."""

    first: int = 1
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Tail:
    """The last `count` lines, numbered as in the whole file; with `numbered=False` the rest is not read.

    With `max_bytes`, only the last lines that fit; if none fits, the start of the last line.
    """

    count: int
    numbered: bool = True
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CharRange:
    """Text from character `column` of line `first` to the end of line `last`, or of the file.

    At most `max_chars` characters; None is as much as one answer may hold.
    """

    first: int = 1
    column: int = 1
    last: int | None = None
    max_chars: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The lines around `anchor` that belong to its block by indentation, at most `cap` of them."""

    anchor: int
    cap: int
    max_levels: int = 0
    siblings: bool = False
    header: bool = True


Selection = Lines | Tail | CharRange | Block


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one read. `None` is no limit."""

    max_file_bytes: int | None = None
    """A larger file is refused before a byte of it is read."""
    max_whole_bytes: int | None = None
    """A larger file is refused when all of it is requested."""
    max_scan_bytes: int | None = None
    """Lines are searched in so many bytes from the start of the file."""
    max_line_bytes: int | None = None
    """The dialect shows no more of a line than this, so the reader need not hold more."""
    max_line_chars: int | None = None
    """The same in characters, for a dialect that counts characters."""
    max_window_bytes: int = 12 * MIB
    """The text that one answer may hold; this keeps every request within the promised memory."""


@dataclass(frozen=True, slots=True)
class PdfOptions:
    """Select pages of a PDF, both ends included; `last=None` is the last page."""

    first: int = 1
    last: int | None = None
    max_pages: int = 20
    has_images: bool = True
    """Return an image of each page beside its text."""
    max_px: int | None = None
    """The longer side of a page's image; None: the reader's default."""
    is_whole: bool = False
    """Return the file itself, for hosts whose model reads PDFs."""
    has_layout: bool = False
    """Return Markdown: headings, paragraphs, tables, and bookmarks, attachments, form values, links, annotations."""
    textless_images: int = 0
    """Return an image of so many pages whose text cannot be read, without `has_images`."""
    section: str = ""
    """Select the pages of the bookmark of this name, or of the heading in a file without bookmarks."""
    is_outline: bool = False
    """The bookmarks, or the headings of a file without them, instead of the pages."""


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """Select a region of an image: x, y, width and height in pixels of the upright original."""

    crop: tuple[int, int, int, int] | None = None
    max_px: int | None = None
    """The longer side of a scaled image; None: the reader's default."""
    frame: int | None = None
    """A frame of an animated image, or a page of a TIFF, counted from 1; None: the whole image, or the first frame."""


@dataclass(frozen=True, slots=True)
class NotebookOptions:
    """Select cells of a notebook, both ends included; `last=None` is the last cell."""

    first: int = 1
    last: int | None = None
    has_long_outputs: bool = False
    """Outputs are shown whole, up to the limit of a document, because the cells were selected."""
    has_selectors: bool = False
    """Notes about outputs that are cut name the selector of the cell, not a command."""
    is_outline: bool = False
    """The headings and definitions in the cells, instead of their text."""
    is_markdown: bool = False
    """Cells and outputs as Markdown, without tags."""


@dataclass(frozen=True, slots=True)
class SheetOptions:
    """Select one sheet of a spreadsheet and a range of its cells; "" is all of them."""

    sheet: str = ""
    cells: str = ""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Select rows of a table; in a database, of one table or with None of all. `count=None` is a sample."""

    table: str | None = None
    first: int = 1
    count: int | None = None


@dataclass(frozen=True, slots=True)
class ArchiveOptions:
    """Limit the listing of an archive."""

    max_members: int = 1000


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """Select parts of a document, for each kind that has parts of its own."""

    pdf: PdfOptions = PdfOptions()
    image: ImageOptions = ImageOptions()
    notebook: NotebookOptions = NotebookOptions()
    sheet: SheetOptions = SheetOptions()
    table: TableOptions = TableOptions()
    archive: ArchiveOptions = ArchiveOptions()


ANY_IS_TEXT: Final = "any"
NUL_IS_BINARY: Final = "nul"
NUL_OR_BAD_UTF8_IS_BINARY: Final = "utf8"
"""The rule by which a dialect calls a file binary; it applies to the first `SNIFF_BYTES`."""


NO_TOTAL: Final = "no"
CHEAP_TOTAL: Final = "cheap"
EXACT_TOTAL: Final = "exact"
"""The rule for the total number of lines: never counted, counted where that is cheap, or always counted."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One file, one selection, and the abilities of the dialect."""

    path: str
    selection: Selection = Lines()
    limits: Limits = Limits()
    text_rule: TextRule = NUL_IS_BINARY
    documents: frozenset[str] = frozenset()
    """The kinds that the dialect shows as documents: their names, or surfaces (see `kinds`). It reads all others as
    text or binary."""
    refuses: frozenset[str] = frozenset()
    """The document kinds that are binary to the dialect, whatever their bytes are."""
    options: DocumentOptions = DocumentOptions()
    encoding: str = "utf-8"
    """A rule of `lines.encodings.choose`, or a name returned by `lines.encodings.canonical_name`."""
    reports_encoding: bool = False
    """The dialect reports the encoding and the number of undecodable pieces."""
    wants_bytes: bool = False
    """A binary file is answered with its first bytes instead of an error."""
    total: TotalRule = CHEAP_TOTAL
    counts_cut_chars: bool = False
    """The dialect reports the length of a shortened line in characters."""
    lexical: bool = False
    """`..` and `.` are resolved in the text of the path, before any access to the disk."""
    follows_final_link: bool = True
    member: str = ""
    """A member of the archive; a member of a nested archive after another `!/`."""
    revision: str = ""
    """A revision of the git repository that holds the file; "" is the file on disk."""


# --- documents -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the file itself, taken from the open descriptor."""

    path: str
    """Relative to its root, or absolute below another root than the first, as text that leads back to the file."""
    canonical: str
    """The same for the file that was opened, with links resolved; bytes that are not Unicode are not escaped."""
    size_bytes: int
    mtime_ns: int
    hard_links: int = 1
    changed: bool = False
    """Size or times differ between the start and the end of the read."""
    exact: bool = True
    """False: `size_bytes` is a guess, because the end of a compressed file was not read."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Consecutive lines of a text file in UTF-8, which may hold invalid bytes, each with its terminator.

    Of a line listed in `cuts` there is only a prefix, with the terminator; the value is the length of the whole line in
    characters, or -1 if that was not requested.
    """

    data: bytes | bytearray
    first_line: int
    """0 if the number was not requested."""
    line_count: int
    total_lines: int | None
    more: bool
    """The file has lines after the last one."""
    cuts: Mapping[int, int] = field(default_factory=dict)
    encoding: str = "utf-8"
    ends_open: bool | None = None
    """True if the last line of the file has no line feed; None if the end was not read."""
    column: int = 1
    """The character of the first line that the text starts with."""
    cut_short: bool = False
    """The selection goes on after the text, which may end within a line: its limit ended it."""


@dataclass(frozen=True, slots=True)
class RowsPart:
    """Lines selected one by one: number and bytes of each, without the terminator."""

    rows: tuple[tuple[int, bytes], ...]
    past_end: bool = False
    """The file ends before the requested line."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a format that every model API accepts, with the changes made to it."""

    data: bytes
    media_type: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotePart:
    """Text that eyespan itself wrote or extracted, not lines of the file."""

    text: str
    heading: str = ""
    """A line of eyespan itself before the text, which is not counted as a line of it."""


@dataclass(frozen=True, slots=True)
class BytesPart:
    """The first bytes of a file that is not text."""

    data: bytes
    truncated: bool
    media_type: str = "application/octet-stream"


Part = TextPart | RowsPart | ImagePart | NotePart | BytesPart


@dataclass(frozen=True, slots=True)
class Document:
    """The result of a read: the kind of file, its facts and the requested parts."""

    kind: str
    facts: Facts
    parts: tuple[Part, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Facts that only this kind has: pages, cells, pixels."""


# --- replies ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextContent:
    text: str
    type: str = "text"


@dataclass(frozen=True, slots=True)
class ImageContent:
    data: bytes
    media_type: str
    type: str = "image"


@dataclass(frozen=True, slots=True)
class DocumentContent:
    data: bytes
    media_type: str
    type: str = "document"
    uri: str = ""
    """The address of the file, where the dialect gives it."""


Content = TextContent | ImageContent | DocumentContent


@dataclass(frozen=True, slots=True)
class ReplyError:
    """The dialect's own code and text."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a tool; replies compare by value."""

    content: tuple[Content, ...]
    structured: dict[str, Any] | None = None
    error: ReplyError | None = None
    notes: tuple[str, ...] = ()
    """Notes without a place in the answer of the dialect, for example that the file changed while it was read."""

    measures: Mapping[str, Any] = field(default_factory=dict)
    """Counts of the read that the content does not show: see `facts`."""

    @property
    def is_error(self) -> bool:
        return self.error is not None

    @property
    def facts(self) -> dict[str, Any]:
        """Return counts about the answer and the file, under the same names in every dialect.

        `tokens`: the estimated cost of the answer; `bytes`: its size, images included. Where they apply: `lines` that
        are shown, `cut_lines` (how many of them are shortened), `left_out` (the selectors that read on), `total_lines`
        and `file_bytes` of the whole file, `store_requests` and `store_bytes` of a read from a bucket or web server.
        """
        texts = [block.text for block in self.content if type(block) is TextContent]
        others = [block for block in self.content if not isinstance(block, TextContent)]
        images = sum([tokens.estimate_image(block.data) for block in others if isinstance(block, ImageContent)])
        size = sum([len(text) if text.isascii() else len(text.encode("utf-8", "replace")) for text in texts])
        facts: dict[str, Any] = {
            "tokens": sum(map(tokens.estimate, texts)) + images,
            "bytes": sum([len(block.data) for block in others], size),
        }
        facts.update(self.measures)
        return facts

    @property
    def text(self) -> str:
        """The text blocks joined."""
        return "\n".join([block.text for block in self.content if type(block) is TextContent])


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as its dialect announces it."""

    name: str
    description: str
    input_schema: dict[str, Any]
    aliases: tuple[str, ...] = ()
