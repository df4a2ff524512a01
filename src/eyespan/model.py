"""The nouns that travel between the rooms.

A dialect turns arguments into a `ReadRequest`; the engine turns that into a `Document` of parts; the dialect turns the
document into a `Reply`. Nothing here knows how files are opened or how any dialect words its answers.
"""

from __future__ import annotations

from eyespan.record import public_record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal

    TextRule = Literal["any", "nul", "utf8"]
    TotalRule = Literal["no", "cheap", "exact"]

MIB = 1024 * 1024
SNIFF_BYTES = 8192
"""How much of a file's start decides whether it is text: the figure of seeds 001, 002 and 003."""
MAX_SYMBOLS = 20_000
"""The outline of a file with more symbols holds the first of them."""


# --- what is asked -------------------------------------------------------------------------------------------------


@record
class Lines:
    """`count` lines from line `first`; `count=None` goes to the end of the file."""

    first: int = 1
    count: int | None = None


@record
class Tail:
    """The last `count` lines, numbered as in the whole file; without their numbers the rest need not be read.

    With `max_bytes` those of them nearest to the end that fit, or else the start of the last one.
    """

    count: int
    numbered: bool = True
    max_bytes: int | None = None


@record
class CharRange:
    """Text from character `column` of line `first` to the end of line `last`, or of the file.

    At most `max_chars` characters; None is as much as one answer may hold.
    """

    first: int = 1
    column: int = 1
    last: int | None = None
    max_chars: int | None = None


@record
class Block:
    """The lines around `anchor` that belong to its block by indentation, at most `cap` of them."""

    anchor: int
    cap: int
    max_levels: int = 0
    siblings: bool = False
    header: bool = True


Selection = Lines | Tail | CharRange | Block


@record
class Limits:
    """How much one read may touch. `None` is no limit."""

    max_file_bytes: int | None = None
    """A larger file is refused before a byte of it is read."""
    max_whole_bytes: int | None = None
    """A larger file is refused when all of it is asked for."""
    max_scan_bytes: int | None = None
    """How far into the file lines are looked for."""
    max_line_bytes: int | None = None
    """The dialect shows no more of a line than this, so the reader need not hold more."""
    max_line_chars: int | None = None
    """The same in characters, for a dialect that counts those."""
    max_window_bytes: int = 16 * MIB
    """How much text one answer may hold; what keeps any request within the memory promised."""


@record
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


@record
class ImageOptions:
    """Select a region of an image: x, y, width and height in pixels of the upright original."""

    crop: tuple[int, int, int, int] | None = None
    max_px: int | None = None
    """The longer side of a scaled image; None: the reader's default."""


@record
class NotebookOptions:
    """Select cells of a notebook, both ends included; `last=None` is the last cell."""

    first: int = 1
    last: int | None = None


@record
class SheetOptions:
    """Select one sheet of a spreadsheet and a range of its cells; "" is all of them."""

    sheet: str = ""
    cells: str = ""


@record
class TableOptions:
    """Select rows of a table; in a database, of one table or with None of all. `count=None` is a sample."""

    table: str | None = None
    first: int = 1
    count: int | None = None


@record
class ArchiveOptions:
    """Limit the listing of an archive."""

    max_members: int = 1000


@record
class DocumentOptions:
    """What to read of a document, for each kind that has parts of its own."""

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


@record
class ReadRequest:
    """One file, one selection, and what the dialect can do with it."""

    path: str
    selection: Selection = Lines()
    limits: Limits = Limits()
    text_rule: TextRule = NUL_IS_BINARY
    documents: frozenset[str] = frozenset()
    """The document kinds this dialect shows as what they are; all others are text or binary to it."""
    refuses: frozenset[str] = frozenset()
    """The document kinds that are binary to this dialect, whatever their bytes look like."""
    options: DocumentOptions = DocumentOptions()
    encoding: str = "utf-8"
    """What `lines.encodings.choose` understands: a rule, or a name that `checked` let pass."""
    tells_encoding: bool = False
    """The dialect has room to say how the bytes were decoded, and how many could not be."""
    wants_bytes: bool = False
    """A binary file is answered with its first bytes rather than refused."""
    total: TotalRule = CHEAP_TOTAL
    counts_cut_chars: bool = False
    """The dialect tells how many characters a shortened line has."""
    lexical: bool = False
    """`..` and `.` are resolved in the text of the path, before anything on disk is looked at."""
    follows_final_link: bool = True
    member: str = ""
    """What is meant inside the file: a member of an archive; of an archive inside it behind another `!/`."""
    revision: str = ""
    """The version of the file that is meant, of the git repository it lies in."""


# --- what is found -------------------------------------------------------------------------------------------------


@record
class Facts:
    """What is known about the file itself, taken from the opened descriptor."""

    path: str
    """Relative to its root, as asked for."""
    canonical: str
    """Relative to its root, links resolved: what was really opened."""
    size_bytes: int
    mtime_ns: int
    hard_links: int = 1
    changed: bool = False
    """Size or times differ between the start and the end of the read."""
    exact: bool = True
    """False: `size_bytes` is a guess, since the end of a compressed file was not seen."""


@record
class TextPart:
    """Consecutive lines of a text file, in UTF-8 (or what was meant to be), each with its terminator.

    A line listed in `cuts` is held only up to the limit's prefix (its terminator kept); the value is its whole length
    in characters, or -1 where that was not asked for.
    """

    data: bytes | bytearray
    first_line: int
    """0 where the number was not asked for."""
    line_count: int
    total_lines: int | None
    more: bool
    """Lines follow the last one given."""
    cuts: Mapping[int, int] = {}
    encoding: str = "utf-8"
    ends_open: bool | None = None
    """Whether the file's last line has no line feed; None where the end was not seen."""
    column: int = 1
    """The character of the first line that the text starts with."""
    cut_short: bool = False
    """The selection goes on behind the text, which may end inside a line: its limit ended it."""


def drained(data: bytearray) -> list[bytes]:
    """The bytes in pieces of at most 2 MiB, the first piece last, taken out of `data`, which is empty afterwards.

    Cut off at the end, where that costs no copy of the rest: at no time is more than half of it held twice. So large
    that the C library gives each a place of its own, and back to the system when it is used up: of small ones side by
    side, all would stay as long as anything lies behind them.
    """
    pieces = []
    while data:
        with memoryview(data) as view, view[-2 * MIB :] as last:
            pieces.append(bytes(last))
        del data[-2 * MIB :]
    return pieces


@record
class RowsPart:
    """Lines that were picked one by one: numbers and the bytes of each, terminator removed."""

    rows: tuple[tuple[int, bytes], ...]
    past_end: bool = False
    """The file ends before the line that was asked for."""


@record
class ImagePart:
    """A picture that every model API takes, with what was done to it."""

    data: bytes
    media_type: str
    facts: Mapping[str, Any] = {}


@record
class NotePart:
    """Text that eyespan itself has to say or has extracted, not lines of the file."""

    text: str


@record
class BytesPart:
    """The first bytes of a file that is not text."""

    data: bytes
    truncated: bool
    media_type: str = "application/octet-stream"


Part = TextPart | RowsPart | ImagePart | NotePart | BytesPart


@record
class Document:
    """What a read found: the kind of file, its facts and the parts asked for."""

    kind: str
    facts: Facts
    parts: tuple[Part, ...]
    extra: Mapping[str, Any] = {}
    """Facts that only this kind has: pages, cells, pixels."""


# --- what is answered ----------------------------------------------------------------------------------------------


@public_record
class TextContent:
    text: str
    type: str = "text"


@public_record
class ImageContent:
    data: bytes
    media_type: str
    type: str = "image"


@public_record
class DocumentContent:
    data: bytes
    media_type: str
    type: str = "document"


Content = TextContent | ImageContent | DocumentContent


@public_record
class ReplyError:
    """The dialect's own code and text."""

    code: str
    message: str


@public_record
class Reply:
    """One answer of a tool; replies compare by value."""

    content: tuple[Content, ...]
    structured: dict[str, Any] | None = None
    error: ReplyError | None = None
    notes: tuple[str, ...] = ()
    """What is worth telling and has no place in the dialect's answer (a file that changed while it was read)."""

    @property
    def is_error(self) -> bool:
        return self.error is not None

    @property
    def text(self) -> str:
        """The text blocks joined."""
        return "\n".join([block.text for block in self.content if type(block) is TextContent])


@public_record
class ToolSpec:
    """A tool as its dialect announces it, byte for byte."""

    name: str
    description: str
    input_schema: dict[str, Any]
    aliases: tuple[str, ...] = ()
