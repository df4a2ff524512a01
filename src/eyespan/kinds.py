"""What a file is: decided by its first bytes, then, for kinds that have no mark of their own, by its name.

A new kind is one row in `KINDS` and one reader module, which is imported on first use.
"""

from __future__ import annotations

from eyespan.lines.encodings import by_mark, choose, plain_wide
from eyespan.model import ANY_IS_TEXT, NUL_OR_BAD_UTF8_IS_BINARY, SNIFF_BYTES
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@record
class Kind:
    """One kind of file: how it is known and which module reads it."""

    name: str
    reader: str
    says: Callable[[bytes], bool] | None = None
    """Whether the first bytes are of this kind."""
    starts: bytes | None = None
    """The bytes that one of this kind can begin with, which spares the question for all others; None: any."""
    suffixes: tuple[str, ...] = ()
    """Names that make a file of this kind when no row claims its bytes."""


def api_image_type(head: bytes) -> str | None:
    """The media type of a picture that model APIs take as it is, by its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


# Header sizes that a BMP can have behind its first 14 bytes: the two letters "BM" alone begin many a text.
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1")
_PDF_MARK = b"%PDF-"


def image_type(head: bytes) -> str | None:
    """The media type of a picture that can be shown, if need be as another type, by its first bytes."""
    known = api_image_type(head)
    if known is not None:
        # These six letters can begin a text, and then no byte of the header behind them is out of the ordinary.
        return None if known == "image/gif" and _is_plain_text(head) else known
    if head[:2] == b"BM":
        return "image/bmp" if int.from_bytes(head[14:18], "little") in _BMP_HEADERS else None
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return "image/tiff"
    if head[:4] == b"\0\0\1\0" and len(head) >= 22 and head[4:6] != b"\0\0" and head[9] == 0:
        return "image/x-icon"
    if head[4:8] == b"ftyp":
        size = min(int.from_bytes(head[:4], "big"), 256)
        brands = (head[8:12], *[head[at : at + 4] for at in range(16, size, 4)])
        if b"avif" in brands or b"avis" in brands:
            return "image/avif"
        if any(brand in _HEIF_BRANDS for brand in brands):
            return "image/heic"
    return None


def _is_image(head: bytes) -> bool:
    return image_type(head) is not None


def is_pdf(head: bytes) -> bool:
    """Whether a PDF's mark is near the start, where its readers look for it."""
    return _PDF_MARK in head[:1024]


def _says_pdf(head: bytes) -> bool:
    # Behind other bytes the mark counts only where these are no text: a text may well speak of it.
    return head.startswith((_PDF_MARK, b"\xef\xbb\xbf" + _PDF_MARK)) or (is_pdf(head) and not _is_plain_text(head))


def _is_plain_text(head: bytes) -> bool:
    sample = head[:SNIFF_BYTES]
    if b"\0" in sample:
        return False
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.end == len(sample)
    return True


def _is_sqlite(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\0")


def _is_parquet(head: bytes) -> bool:
    # Behind the mark comes a page header, which no text can be: its first field is a number of one byte.
    return head.startswith(b"PAR1") and not _is_plain_text(head)


_TAR_BLOCK = 512


def compression(head: bytes) -> str | None:
    """What a file is compressed with, by its first bytes."""
    if head[:3] == b"\x1f\x8b\x08":
        return "gzip"
    # Behind the three letters a digit for the block size, then the mark of a block or of the end.
    if head[:3] == b"BZh" and head[3:4] in b"123456789" and head[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bzip2"
    if head[:6] == b"\xfd7zXZ\0":
        return "xz"
    return "zstd" if head[:4] == b"\x28\xb5\x2f\xfd" else None


def archive(head: bytes) -> str | None:
    """Which archive a file is, by its first bytes: "zip" or "tar"."""
    if head[:4] in (b"PK\3\4", b"PK\5\6"):
        return "zip"
    return "tar" if head[:1] != b"\0" and tar_checksum_fits(head[:_TAR_BLOCK]) else None


def tar_checksum_fits(block: bytes) -> bool:
    """Whether this is the header of a member of a tar archive; old ones have no other mark."""
    field = block[148:156].split(b"\0", 1)[0].strip(b" ")
    if not field.isdigit() or len(block) < _TAR_BLOCK:
        return False
    try:
        told = int(field, 8)
    except ValueError:
        return False
    unsigned = sum(block) - sum(block[148:156]) + 8 * 32
    # Some old archivers added up signed bytes.
    return told == unsigned or told == unsigned - 256 * sum([byte > 127 for byte in block[:148] + block[156:]])


def _is_archive(head: bytes) -> bool:
    return archive(head) is not None


def _is_compressed(head: bytes) -> bool:
    return compression(head) is not None


_OFFICE = "eyespan.readers.converted"


def _in_zip(head: bytes, folder: bytes) -> bool:
    """Whether a zip package starts with parts in this folder: by the names in front of its parts, not by chance."""
    if not head.startswith(b"PK\x03\x04"):
        return False
    at = 0
    for _ in range(64):
        name = at + 30
        if head[name : name + len(folder)] == folder:
            return True
        at = head.find(b"PK\x03\x04", name)
        if at < 0:
            return False
    return False


def _is_sheet(head: bytes) -> bool:
    return head[30:84] == b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet" or _in_zip(head, b"xl/")


KINDS = (
    Kind("image", "eyespan.readers.image", _is_image, b"\x89\xffGRBIM\0"),
    Kind("pdf", "eyespan.readers.pdf", _says_pdf, None, (".pdf",)),
    Kind("notebook", "eyespan.readers.notebook", None, None, (".ipynb",)),
    Kind("docx", _OFFICE, lambda head: _in_zip(head, b"word/"), b"P", (".docx", ".docm", ".dotx")),
    Kind("pptx", _OFFICE, lambda head: _in_zip(head, b"ppt/"), b"P", (".pptx", ".pptm", ".ppsx")),
    Kind("sheet", _OFFICE, _is_sheet, b"P", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")),
    Kind("epub", _OFFICE, lambda head: head[30:58] == b"mimetypeapplication/epub+zip", b"P", (".epub",)),
    Kind("html", _OFFICE, None, None, (".html", ".htm", ".xhtml")),
    Kind("eml", _OFFICE, None, None, (".eml",)),
    Kind("sqlite", "eyespan.readers.tables", _is_sqlite, b"S"),
    Kind("parquet", "eyespan.readers.tables", _is_parquet, b"P"),
)
LATER = (
    Kind("archive", "eyespan.readers.archive", _is_archive),
    Kind("compressed", "eyespan.readers.binary", _is_compressed, b"\x1fB\xfd\x28"),
    Kind("csv", "eyespan.readers.tables", None, None, (".csv", ".tsv", ".tab")),
)
"""What a file is if it is nothing more special: many kinds of documents are zip archives, too."""
OFFICE = frozenset(kind.name for kind in KINDS if kind.reader == _OFFICE)
"""The kinds that are shown as text they were converted to. HTML and mails are plain text to a dialect without them."""
PACKED = OFFICE - {"html", "eml"}
"""Those of them that are no text themselves, so that nobody can want to see them as they are."""
TEXT = Kind("text", "eyespan.readers.text")
BINARY = Kind("binary", "eyespan.readers.binary")


def detect(head: bytes, name: str, wanted: frozenset[str] | None = None) -> Kind | None:
    """The document kind of a file, or None if it is plain text or unknown. An empty file is of no kind.

    Whoever needs to know of the `wanted` kinds alone may get None for others.
    """
    if not head:
        return None
    start = head[0]
    dot = name.rfind(".")
    suffix = "" if dot < 0 else name[dot:].lower()
    for rows, by_suffix in _TABLES:
        for kind, says, starts in rows:
            if (starts is None or start in starts) and says(head):
                return kind
        if suffix in by_suffix:
            return by_suffix[suffix]
        if wanted is not None and _LATER_NAMES.isdisjoint(wanted):
            break
    return None


_TABLES = [
    (
        [(kind, kind.says, kind.starts) for kind in rows if kind.says is not None],
        {suffix: kind for kind in reversed(rows) for suffix in kind.suffixes},
    )
    for rows in (KINDS, LATER)
]
_LATER_NAMES = frozenset([kind.name for kind in LATER])


def is_binary(head: bytes, rule: str, encoding_rule: str, whole: bool) -> bool:
    """Whether a dialect's rule takes these first bytes for binary; `whole`: they are all there is."""
    if rule == ANY_IS_TEXT:
        return False
    if encoding_rule not in ("utf-8", "utf-8-sig"):
        wide = _reads_wide(head, encoding_rule)
        if wide is not None:
            return not wide
    sample = head[:SNIFF_BYTES]
    if b"\0" in sample:
        return True
    if rule == NUL_OR_BAD_UTF8_IS_BINARY:
        try:
            sample.decode("utf-8")
        except UnicodeDecodeError as error:
            # A character that only the end of the sample cut in two is no mistake; one that the file itself cut is.
            cut_by_us = error.reason == "unexpected end of data" and error.end == len(sample)
            if cut_by_us and not (whole and len(head) <= SNIFF_BYTES):
                return False
            return encoding_rule != "auto" or not _is_guessable(head)
    return False


def _reads_wide(head: bytes, encoding_rule: str) -> bool | None:
    """Whether a wide encoding makes text of these bytes; None if the rule gives no wide encoding."""
    if by_mark(head) is not None and encoding_rule in ("bom", "auto", "utf-16", "utf-32"):
        return True
    if encoding_rule == "auto":
        return True if plain_wide(head[:SNIFF_BYTES]) is not None else None
    if not encoding_rule.startswith(("utf-16", "utf-32")):
        return None
    # A named encoding is the host's word, but a file of it holds no NUL characters either.
    encoding = choose(encoding_rule, head)
    sample = head[: SNIFF_BYTES * encoding.unit_bytes]
    return "\0" not in sample.decode(encoding.name, "replace")


def _is_guessable(head: bytes) -> bool:
    from eyespan.lines.detect import detect

    return detect(head) is not None
