"""Kinds of files, detected by their first bytes or, for kinds without a signature, by their names.

A row of `KINDS` holds everything about a kind. A new kind is one row and one reader module, imported on first use, and
one decoder module if its files are decoded in the worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from eyespan.model import SNIFF_BYTES

Layout = Literal["text", "notes", "image", "drawing", "pages", "cells"]
Parts = Literal["", "frames", "pages", "cells", "sheets", "tables", "table"]
Surface = Literal["native", "terminal", "claude"]
Signature = tuple[int, bytes, bytes]
"""A place (-1: after blanks and line ends), the bytes there, and others among the first 2,048 of the file."""
Pass = tuple[list[tuple["Kind", Callable[[bytes], bool], bytes | None]], dict[str, "Kind"]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file: its detection, its reader and decoder, and how it is shown."""

    name: str
    reader: str
    """The module whose `read(opened, selection, context)` returns the document."""
    noun: str = "a document"
    """The kind in messages, with its article."""
    matches: Callable[[bytes], bool] | None = None
    """A function that returns True if the first bytes are of this kind."""
    starts: bytes | None = None
    """All bytes that a file of this kind can begin with, so that `matches` is not called for others; None: any."""
    text_signatures: tuple[Signature, ...] | None = None
    """All ways in which a file of this kind can begin that is plain text: UTF-8 without control characters other than
    tabs and line feeds; `archive` may also have the checksum of a tar archive. None: with any byte of `starts`."""
    suffixes: tuple[str, ...] = ()
    """Names that make a file of this kind when no row matches its bytes."""
    signature: bytes = b""
    """The first bytes that a file with one of the suffixes must have; other files of these names are no such files."""
    decoder: str = ""
    """The function that decodes it in the worker, as `module:function`."""
    needs: str = ""
    """The module that the decoder imports, if it does not come with Python."""
    extra: str = ""
    """The extra of this package that installs `needs`; "": a dependency of the package itself."""
    layout: Layout = "notes"
    """The form of what the reader returns: lines of text, notes, one image, an image beside its text, or pages or cells
    with images."""
    is_text: bool = False
    """Its bytes are readable text as well, so people may want to see them as they are."""
    shown_in: tuple[Surface, ...] = ("native", "terminal")
    """The surfaces that show it as a document unless they are asked for its source; elsewhere it is text or binary."""
    parts: Parts = ""
    """The parts that a selector can name: frames, pages, cells, sheets, tables of a database, or its only table."""
    source_bytes: int = 0
    """A file of at most this size is shown as its source, if it is text."""
    log_suffix: str = ""
    """The suffix of a file beside it that may hold its latest changes."""
    is_fallback: bool = False
    """A file is of this kind only if no other row claims it: many documents are zip archives, too."""
    container: str = ""
    """The format of `container` that its files have, for a document that is an archive or compressed. Rows of other
    formats are not compared with such files, because an archive begins with the bytes of its first member."""


def api_image_type(first_bytes: bytes) -> str | None:
    """Return the media type of an image that model APIs accept unchanged, by its first bytes; None for others."""
    if first_bytes.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if first_bytes.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if first_bytes.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if first_bytes[:4] == b"RIFF" and first_bytes[8:12] == b"WEBP":
        return "image/webp"
    return None


# The sizes of the header after the first 14 bytes of a BMP. The two letters "BM" alone also begin texts.
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1")
_PDF_SIGNATURE = b"%PDF-"


def image_type(first_bytes: bytes) -> str | None:
    """Return the media type of an image that can be shown, perhaps converted, by its first bytes; None for others."""
    known = api_image_type(first_bytes)
    if known is not None:
        # A text can begin with these six letters; the header of a GIF is not text.
        return None if known == "image/gif" and _is_plain_text(first_bytes) else known
    if first_bytes[:2] == b"BM":
        return "image/bmp" if int.from_bytes(first_bytes[14:18], "little") in _BMP_HEADERS else None
    if first_bytes[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return "image/tiff"
    if first_bytes[:4] == b"\0\0\1\0" and _has_icons(first_bytes):
        return "image/x-icon"
    if first_bytes[4:8] == b"ftyp":
        size = min(int.from_bytes(first_bytes[:4], "big"), 256)
        brands = (first_bytes[8:12], *[first_bytes[at : at + 4] for at in range(16, size, 4)])
        if b"avif" in brands or b"avis" in brands:
            return "image/avif"
        if any(brand in _HEIF_BRANDS for brand in brands):
            return "image/heic"
    return _rarer_image_type(first_bytes)


_SIGNATURES = (
    (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"\xff\x4f\xff\x51", "image/jp2"),
    (b"DDS \x7c\0\0\0", "image/vnd.ms-dds"),
    (b"8BPS\0\1\0\0\0\0\0\0", "image/vnd.adobe.photoshop"),
    (b"\xb1\x68\xde\x3a", "image/x-dcx"),
    (b"\x59\xa6\x6a\x95", "image/x-sun-raster"),
    (b"\xd7\xcd\xc6\x9a\0\0", "image/wmf"),
    (b"\1\0\x09\0\0\3", "image/wmf"),
    (b"\2\0\x09\0\0\3", "image/wmf"),
)


def _rarer_image_type(first_bytes: bytes) -> str | None:
    if len(first_bytes) < 8:
        return None
    for signature, media_type in _SIGNATURES:
        if first_bytes.startswith(signature):
            return media_type
    start = first_bytes[:4]
    if start[:1] == b"P" and start[1:2] in b"456":
        return "image/x-portable-anymap" if _is_anymap(first_bytes) else None
    if start[:2] == b"\x01\xda" and start[2] in (0, 1) and start[3] in (1, 2):
        return "image/sgi"
    if start[:1] == b"\n" and start[1] in (0, 2, 3, 4, 5) and start[2:] in (b"\1\1", b"\1\2", b"\1\4", b"\1\x08"):
        return "image/vnd.zbrush.pcx"
    if start == b"icns" and not _is_plain_text(first_bytes):
        return "image/icns"
    if start == b"qoif" and first_bytes[12:13] in (b"\3", b"\4"):
        return "image/x-qoi"
    if start in (b"BLP1", b"BLP2") and not _is_plain_text(first_bytes):
        return "image/x-blp"
    if first_bytes[4:6] in (b"\x11\xaf", b"\x12\xaf") and first_bytes[14:16] in (b"\0\0", b"\3\0"):
        return "image/x-fli"
    if start == b"\0\0\2\0" and _has_icons(first_bytes):
        return "image/x-cursor"
    if start == b"\1\0\0\0" and first_bytes[40:44] == b" EMF":
        return "image/emf"
    if start == b"\xc5\xd0\xd3\xc6":
        return "image/x-eps"
    return "image/x-tga" if _is_tga(first_bytes) else None


def _has_icons(first_bytes: bytes) -> bool:
    """Return True if an entry of an icon follows the signature: its data lies after the list of entries."""
    count, offset = int.from_bytes(first_bytes[4:6], "little"), int.from_bytes(first_bytes[18:22], "little")
    return len(first_bytes) >= 22 and 0 < count <= 256 and first_bytes[9] == 0 and offset >= 6 + 16 * count


def _is_anymap(first_bytes: bytes) -> bool:
    """Return True for the header of a PBM, PGM or PPM image: the signature, then two or three numbers."""
    if first_bytes[2:3] not in b" \t\r\n" or len(first_bytes) < 7:
        return False
    lines = first_bytes[2:1024].split(b"\n", 16)
    header = b" ".join([line.split(b"#", 1)[0] for line in lines]).split(None, 3)
    count = 2 if first_bytes[1:2] in b"14" else 3
    return len(header) >= count and all(word.isdigit() and len(word) < 7 for word in header[:count])


def drawing_type(first_bytes: bytes) -> str | None:
    """Return the media type of an image that is text, by its first bytes; None for others."""
    if first_bytes[:1] == b"P":
        return "image/x-portable-anymap" if first_bytes[1:2] in b"123" and _is_anymap(first_bytes) else None
    start = first_bytes[:2048].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"#define ") and b"_width " in start[:80] and b"_bits[]" in start.replace(b" []", b"[]"):
        return "image/x-xbitmap"
    if start.startswith(b"/* XPM */"):
        return "image/x-xpixmap"
    if start.startswith(b"%!PS"):
        return "application/postscript" if _is_eps(start) else None
    return "image/svg+xml" if start[:1] == b"<" and _is_svg(start) else None


def _is_eps(start: bytes) -> bool:
    """Return True if the comments of a PostScript program are those of a drawing, not of a document of pages."""
    first_line = start.partition(b"\n")[0].partition(b"\r")[0]
    pages = start.partition(b"%%Pages:")[2].split(None, 1)
    is_one_page = not pages or pages[0] in (b"0", b"1")
    return b"%%BoundingBox:" in start and (b"EPSF" in first_line or is_one_page)


def _is_svg(start: bytes) -> bool:
    """Return True if the root element of an XML text is one of SVG."""
    at = 0
    for _ in range(16):
        if start.startswith((b"<?", b"<!--", b"<!"), at):
            end = b"?>" if start.startswith(b"<?", at) else b"-->" if start.startswith(b"<!--", at) else b">"
            if end == b">" and b"[" in start[at : start.find(b">", at)]:
                end = b"]>"
            closing = start.find(end, at)
            if closing < 0:
                return False
            at = start.find(b"<", closing + len(end))
            if at < 0:
                return False
            continue
        name = start[at + 1 : at + 80].split(None, 1)[0].split(b">", 1)[0] if start[at + 1 : at + 80].strip() else b""
        return name.rpartition(b":")[2] == b"svg"
    return False


def _is_drawing(first_bytes: bytes) -> bool:
    return drawing_type(first_bytes) is not None


def _is_tga(first_bytes: bytes) -> bool:
    """Return True for the header of a Targa image, which has no signature but few possible values."""
    if len(first_bytes) < 19 or first_bytes[1] > 1 or first_bytes[17] & 0xC0:
        return False
    has_map, kind, bits = first_bytes[1], first_bytes[2], first_bytes[16]
    if has_map:
        if kind not in (1, 9) or bits != 8 or first_bytes[7] not in (15, 16, 24, 32):
            return False
    elif kind not in (2, 3, 10, 11) or first_bytes[3:8] != b"\0" * 5 or bits not in (8, 15, 16, 24, 32):
        return False
    width, height = (int.from_bytes(first_bytes[at : at + 2], "little") for at in (12, 14))
    return 0 < width <= 16384 and 0 < height <= 16384 and (first_bytes[0] == 0 or kind not in (3, 11))


_IMAGE_STARTS = frozenset(b"\x89\xffGRBIM\0D8\xb1YP\x01\x02\xd7\xc5\niq")


def _is_image(first_bytes: bytes) -> bool:
    # Two formats can begin with any byte, but then have others that no text has.
    is_possible = first_bytes[0] in _IMAGE_STARTS or first_bytes[1:2] <= b"\1" or first_bytes[5:6] == b"\xaf"
    return is_possible and image_type(first_bytes) is not None


# Containers that are described, not opened. They begin with headers, and soon with the bytes of a stored member.
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CLOSED_CONTAINERS = (
    *(_OLE_SIGNATURE, b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"MSCF\0\0\0\0", b"!<arch>\n"),
    *(b"070701", b"070702", b"070707", b"\xc7\x71", b"\x71\xc7"),
)


def is_pdf(first_bytes: bytes) -> bool:
    """Return True if the signature of a PDF is near the start, where PDF readers search for it, but in no archive."""
    is_near = _PDF_SIGNATURE in first_bytes[:1024]
    return is_near and not container(first_bytes) and not first_bytes.startswith(_CLOSED_CONTAINERS)


def _is_pdf_file(first_bytes: bytes) -> bool:
    # A signature after other bytes counts only if they are not text: a text may mention it.
    if first_bytes.startswith((_PDF_SIGNATURE, b"\xef\xbb\xbf" + _PDF_SIGNATURE)):
        return True
    return is_pdf(first_bytes) and not _is_plain_text(first_bytes)


def _is_plain_text(first_bytes: bytes) -> bool:
    sample = first_bytes[:SNIFF_BYTES]
    if b"\0" in sample:
        return False
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.end == len(sample)
    return True


def _is_sqlite(first_bytes: bytes) -> bool:
    return first_bytes.startswith(b"SQLite format 3\0")


def _is_parquet(first_bytes: bytes) -> bool:
    # A page header follows the signature, and is never text: its first field is a number of one byte.
    return first_bytes.startswith(b"PAR1") and not _is_plain_text(first_bytes)


def _is_npy(first_bytes: bytes) -> bool:
    return first_bytes.startswith(b"\x93NUMPY")


def _is_avro(first_bytes: bytes) -> bool:
    return first_bytes.startswith(b"Obj\x01")


def _is_arrow(first_bytes: bytes) -> bool:
    """Return True for an Arrow or Feather file, and for an Arrow stream, whose first message is the schema."""
    if first_bytes.startswith((b"ARROW1\0\0", b"FEA1")):
        return not _is_plain_text(first_bytes)
    if first_bytes[:4] != b"\xff\xff\xff\xff" or len(first_bytes) < 16:
        return False
    size, root = (int.from_bytes(first_bytes[at : at + 4], "little") for at in (4, 8))
    return size % 8 == 0 and 0 < size < 1 << 24 and 8 <= root < 64 and root % 4 == 0


def _is_binary_plist(first_bytes: bytes) -> bool:
    return first_bytes.startswith(b"bplist0") and not _is_plain_text(first_bytes)


_TAR_BLOCK = 512


def compression(first_bytes: bytes) -> str | None:
    """Return the compression format of a file by its first bytes, or None."""
    if first_bytes[:3] == b"\x1f\x8b\x08":
        return "gzip"
    # The three letters are followed by a digit, the block size, and by the signature of a block or of the end.
    is_bzip2 = first_bytes[:3] == b"BZh" and first_bytes[3:4] in b"123456789"
    if is_bzip2 and first_bytes[4:10] in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        return "bzip2"
    if first_bytes[:6] == b"\xfd7zXZ\0":
        return "xz"
    return "zstd" if first_bytes[:4] == b"\x28\xb5\x2f\xfd" else None


_ZIP_HEADER = b"PK\3\4"


def archive(first_bytes: bytes) -> str | None:
    """Return the archive format of a file by its first bytes: "zip", "tar" or None."""
    if first_bytes[:4] in (_ZIP_HEADER, b"PK\5\6"):
        return "zip"
    return "tar" if first_bytes[:1] != b"\0" and tar_checksum_fits(first_bytes[:_TAR_BLOCK]) else None


def container(first_bytes: bytes) -> str:
    """Return the archive or compression format of a file by its first bytes; "" if it has none."""
    return archive(first_bytes) or compression(first_bytes) or ""


def tar_checksum_fits(block: bytes) -> bool:
    """Return True if this is the header of a tar member. Old archives have no other signature."""
    field = block[148:156].split(b"\0", 1)[0].strip(b" ")
    if not field.isdigit() or len(block) < _TAR_BLOCK:
        return False
    try:
        checksum = int(field, 8)
    except ValueError:
        return False
    unsigned = sum(block) - sum(block[148:156]) + 8 * 32
    # Some old archivers added signed bytes.
    signed = unsigned - 256 * sum([byte > 127 for byte in block[:148] + block[156:]])
    return checksum in (unsigned, signed)


def _is_archive(first_bytes: bytes) -> bool:
    return archive(first_bytes) is not None


def _is_compressed(first_bytes: bytes) -> bool:
    return compression(first_bytes) is not None


def _in_zip(first_bytes: bytes, directory: bytes) -> bool:
    """Return True if one of the first members of a zip file lies in this directory, by the names in their headers."""
    at = 0
    for _ in range(64):
        if not first_bytes.startswith(_ZIP_HEADER, at):
            return False
        header = first_bytes[at : at + 30]
        name = at + 30
        if first_bytes.startswith(directory, name):
            return True
        size, name_size, extra_size = (
            int.from_bytes(header[start:end], "little") for start, end in ((18, 22), (26, 28), (28, 30))
        )
        # A member that was written as a stream has its size after its data. A stored member has it here, and its data
        # may be another zip file, with headers of its own.
        is_known = 0 < size < 0xFFFFFFFF
        at = name + name_size + extra_size + size if is_known else first_bytes.find(_ZIP_HEADER, name)
        if at < 0:
            return False
    return False


def _is_sheet(first_bytes: bytes) -> bool:
    opendocument = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
    return first_bytes[30:84] == opendocument or _in_zip(first_bytes, b"xl/")


def _is_odf(first_bytes: bytes) -> bool:
    start = b"mimetypeapplication/vnd.oasis.opendocument."
    return first_bytes[30 : 30 + len(start)] == start and first_bytes[30 + len(start) :].startswith(
        (b"text", b"presentation", b"graphics")
    )


def _is_rtf(first_bytes: bytes) -> bool:
    return first_bytes.startswith(b"{\\rtf1")


def _is_docx(first_bytes: bytes) -> bool:
    return _in_zip(first_bytes, b"word/")


def _is_pptx(first_bytes: bytes) -> bool:
    return _in_zip(first_bytes, b"ppt/")


def _is_epub(first_bytes: bytes) -> bool:
    return first_bytes[30:58] == b"mimetypeapplication/epub+zip"


KINDS: tuple[Kind, ...] = (
    Kind(
        "image",
        "eyespan.readers.image",
        "an image",
        matches=_is_image,
        text_signatures=((0, b"RIFF", b""), (4, b"ftyp", b""), (0, b"P4", b""), (0, b"P5", b""), (0, b"P6", b"")),
        decoder="eyespan.decoders.image:decode",
        needs="PIL",
        layout="image",
        parts="frames",
        shown_in=("native", "terminal", "claude"),
    ),
    Kind(
        "drawing",
        "eyespan.readers.drawing",
        "a drawing",
        matches=_is_drawing,
        text_signatures=(
            *((0, b"P1", b""), (0, b"P2", b""), (0, b"P3", b""), (-1, b"#define ", b"_bits")),
            *((-1, b"/* XPM */", b""), (-1, b"%!PS", b""), (-1, b"<", b"svg")),
        ),
        starts=b"<P#/%\xef \t\r\n",
        decoder="eyespan.decoders.drawing:decode",
        layout="drawing",
        is_text=True,
        shown_in=("native",),
    ),
    Kind(
        "notebook",
        "eyespan.readers.notebook",
        "a notebook",
        suffixes=(".ipynb",),
        decoder="eyespan.decoders.notebook:decode",
        layout="cells",
        parts="cells",
        shown_in=("native", "terminal", "claude"),
    ),
    Kind(
        "docx",
        "eyespan.readers.converted",
        "a text document",
        matches=_is_docx,
        text_signatures=(),
        starts=b"P",
        suffixes=(".docx", ".docm", ".dotx"),
        container="zip",
        decoder="eyespan.decoders.docx:decode",
        layout="text",
    ),
    Kind(
        "pptx",
        "eyespan.readers.converted",
        "a presentation",
        matches=_is_pptx,
        text_signatures=(),
        starts=b"P",
        suffixes=(".pptx", ".pptm", ".ppsx"),
        container="zip",
        decoder="eyespan.decoders.pptx:decode",
        layout="text",
    ),
    Kind(
        "sheet",
        "eyespan.readers.converted",
        "a spreadsheet",
        matches=_is_sheet,
        text_signatures=((30, b"mimetypeapplication", b""),),
        starts=b"P",
        suffixes=(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        container="zip",
        decoder="eyespan.decoders.sheet:decode",
        needs="python_calamine",
        extra="docs",
        layout="text",
        parts="sheets",
    ),
    Kind(
        "odf",
        "eyespan.readers.converted",
        "an OpenDocument file",
        matches=_is_odf,
        text_signatures=((30, b"mimetypeapplication", b""),),
        starts=b"P",
        suffixes=(".odt", ".ott", ".odp", ".otp", ".odg", ".otg"),
        container="zip",
        decoder="eyespan.decoders.odf:decode",
        layout="text",
    ),
    Kind(
        "rtf",
        "eyespan.readers.converted",
        "a rich text",
        matches=_is_rtf,
        text_signatures=((0, b"{\\rtf", b""),),
        starts=b"{",
        decoder="eyespan.decoders.rtf:decode",
        layout="text",
        is_text=True,
    ),
    Kind(
        "doc",
        "eyespan.readers.converted",
        "a Word document",
        suffixes=(".doc", ".dot"),
        signature=_OLE_SIGNATURE,
        decoder="eyespan.decoders.doc:decode",
        needs="olefile",
        extra="docs",
        layout="text",
    ),
    Kind(
        "ppt",
        "eyespan.readers.converted",
        "a presentation",
        suffixes=(".ppt", ".pps", ".pot"),
        signature=_OLE_SIGNATURE,
        decoder="eyespan.decoders.ppt:decode",
        needs="olefile",
        extra="docs",
        layout="text",
    ),
    Kind(
        "msg",
        "eyespan.readers.converted",
        "a message",
        suffixes=(".msg", ".oft"),
        signature=_OLE_SIGNATURE,
        decoder="eyespan.decoders.msg:decode",
        needs="olefile",
        extra="docs",
        layout="text",
    ),
    Kind(
        "epub",
        "eyespan.readers.converted",
        "a book",
        matches=_is_epub,
        text_signatures=((30, b"mimetypeapplication", b""),),
        starts=b"P",
        suffixes=(".epub",),
        container="zip",
        decoder="eyespan.decoders.epub:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
    ),
    Kind(
        "html",
        "eyespan.readers.converted",
        "a web page",
        suffixes=(".html", ".htm", ".xhtml"),
        decoder="eyespan.decoders.html:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "mbox",
        "eyespan.readers.converted",
        "a mailbox",
        suffixes=(".mbox", ".mbx"),
        signature=b"From ",
        decoder="eyespan.decoders.mbox:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "calendar",
        "eyespan.readers.converted",
        "a calendar",
        suffixes=(".ics", ".ical", ".ifb"),
        decoder="eyespan.decoders.vobject:decode",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "contacts",
        "eyespan.readers.converted",
        "a list of contacts",
        suffixes=(".vcf", ".vcard"),
        decoder="eyespan.decoders.vobject:decode",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "subtitles",
        "eyespan.readers.converted",
        "a list of subtitles",
        suffixes=(".srt", ".vtt"),
        decoder="eyespan.decoders.subtitles:decode",
        layout="text",
        is_text=True,
        shown_in=(),
    ),
    Kind(
        "eml",
        "eyespan.readers.converted",
        "a mail",
        suffixes=(".eml",),
        decoder="eyespan.decoders.eml:decode",
        needs="selectolax",
        extra="docs",
        layout="text",
        is_text=True,
        shown_in=("native",),
    ),
    Kind(
        "sqlite",
        "eyespan.readers.tables",
        "a database",
        matches=_is_sqlite,
        text_signatures=(),
        starts=b"S",
        decoder="eyespan.decoders.sqlite:decode",
        parts="tables",
        log_suffix="-wal",
    ),
    Kind(
        "npy",
        "eyespan.readers.tables",
        "an array",
        matches=_is_npy,
        text_signatures=(),
        starts=b"\x93",
        decoder="eyespan.decoders.numpy_arrays:decode",
        parts="table",
    ),
    Kind(
        "npz",
        "eyespan.readers.tables",
        "a list of arrays",
        suffixes=(".npz",),
        signature=b"PK",
        container="zip",
        decoder="eyespan.decoders.numpy_arrays:decode_archive",
        parts="tables",
    ),
    Kind(
        "avro",
        "eyespan.readers.tables",
        "a table",
        matches=_is_avro,
        text_signatures=(),
        starts=b"O",
        decoder="eyespan.decoders.avro:decode",
        parts="table",
    ),
    Kind(
        "arrow",
        "eyespan.readers.tables",
        "a table",
        matches=_is_arrow,
        text_signatures=(),
        starts=b"AF\xff",
        decoder="eyespan.decoders.arrow:decode",
        parts="table",
    ),
    Kind(
        "plist",
        "eyespan.readers.converted",
        "a property list",
        matches=_is_binary_plist,
        text_signatures=(),
        starts=b"b",
        decoder="eyespan.decoders.plist:decode",
        layout="text",
    ),
    Kind(
        "parquet",
        "eyespan.readers.tables",
        "a table",
        matches=_is_parquet,
        text_signatures=(),
        starts=b"P",
        parts="table",
        decoder="eyespan.decoders.parquet:decode",
        needs="duckdb",
        extra="tables",
    ),
    Kind(  # after those whose files may hold one in their first bytes
        "pdf",
        "eyespan.readers.pdf",
        "a PDF",
        matches=_is_pdf_file,
        text_signatures=((0, b"%PDF-", b""),),
        suffixes=(".pdf",),
        decoder="eyespan.decoders.pdf:decode",
        needs="pypdfium2",
        layout="pages",
        parts="pages",
        shown_in=("native", "terminal", "claude"),
    ),
    Kind("archive", "eyespan.readers.archive", "an archive", matches=_is_archive, text_signatures=(), is_fallback=True),
    Kind(
        "compressed",
        "eyespan.readers.binary",
        "a compressed file",
        matches=_is_compressed,
        text_signatures=((0, b"BZh", b""),),
        starts=b"\x1fB\xfd\x28",
        is_fallback=True,
    ),
    Kind("data", "eyespan.readers.data", "a binary file", decoder="eyespan.decoders.describe:decode", is_fallback=True),
    Kind(
        "csv",
        "eyespan.readers.tables",
        "a table",
        suffixes=(".csv", ".tsv", ".tab"),
        is_text=True,
        shown_in=("native",),
        parts="table",
        source_bytes=2048,
        is_fallback=True,
    ),
)
TEXT = Kind("text", "eyespan.readers.text", "a text", layout="text", is_text=True)
BINARY = Kind("binary", "eyespan.readers.binary", "a binary file")


def shown_in(surface: Surface) -> frozenset[str]:
    """Return the names of the kinds that a surface shows as documents."""
    return frozenset([kind.name for kind in KINDS if surface in kind.shown_in])


def sources() -> frozenset[str]:
    """Return the names of the kinds whose files are readable text as well: source or document, as the caller asks."""
    return frozenset([kind.name for kind in KINDS if kind.is_text])


def by_name(name: str) -> Kind:
    """Return the row of a kind. Raises: KeyError."""
    return _tables().names[name]


def detect(first_bytes: bytes, name: str, wanted: frozenset[str] | None = None) -> Kind | None:
    """Return the document kind of a file, or None if it is plain text, empty or unknown.

    With `wanted`, kinds that are not in it may be returned as None.
    """
    if not first_bytes:
        return None
    start = first_bytes[0]
    dot = name.rfind(".")
    suffix = "" if dot < 0 else name[dot:].lower()
    tables = _tables()
    for signatures, suffixes in tables.passes(container(first_bytes)):
        for kind, matches, starts in signatures:
            if (starts is None or start in starts) and matches(first_bytes):
                return kind
        if suffix in suffixes and first_bytes.startswith(suffixes[suffix].signature):
            return suffixes[suffix]
        if wanted is not None and tables.fallbacks.isdisjoint(wanted):
            break
    return None


def text_rules(wanted: frozenset[str]) -> tuple[tuple[Signature, ...], tuple[str, ...]]:
    """Return how plain text begins that may be of another kind, and the suffixes of the wanted kinds.

    `detect` returns none of the wanted kinds for plain text that has neither, nor the checksum of a tar archive.
    """
    tables = _tables()
    if wanted not in tables.text_rules:
        signatures: dict[Signature, None] = {}
        for kind in tables.rows:
            if kind.text_signatures is not None:
                signatures.update(dict.fromkeys(kind.text_signatures))
            elif kind.matches is not None:
                starts = (b"",) if kind.starts is None else [bytes([byte]) for byte in kind.starts]
                signatures.update(dict.fromkeys([(0, start, b"") for start in starts]))
        suffixes = [suffix for kind in tables.rows if kind.name in wanted for suffix in kind.suffixes]
        tables.text_rules[wanted] = tuple(signatures), tuple(suffixes)
    return tables.text_rules[wanted]


def is_document(first_bytes: bytes, name: str) -> bool:
    """Return True if a file is of a kind that `eyespan read` shows as a document."""
    kind = detect(first_bytes, name)
    return kind is not None and "terminal" in kind.shown_in


class _Tables:
    """The rows of `KINDS` arranged for detection: ordinary kinds first, then the fallbacks."""

    def __init__(self, rows: tuple[Kind, ...]) -> None:
        self.rows = rows
        self.names = {kind.name: kind for kind in (*rows, TEXT, BINARY)}
        self.fallbacks = frozenset([kind.name for kind in rows if kind.is_fallback])
        self.text_rules: dict[frozenset[str], tuple[tuple[Signature, ...], tuple[str, ...]]] = {}
        self._passes: dict[str, list[Pass]] = {}

    def passes(self, container: str) -> list[Pass]:
        """Return the rows that files of a container format are compared with, in two passes; "" is no container."""
        if container not in self._passes:
            documents = [kind for kind in self.rows if not kind.is_fallback and container in ("", kind.container)]
            fallbacks = [kind for kind in self.rows if kind.is_fallback]
            self._passes[container] = [_as_pass(documents), _as_pass(fallbacks)]
        return self._passes[container]


def _as_pass(rows: list[Kind]) -> Pass:
    """Return the rows with a signature, and the rows of suffixes."""
    signatures = [(kind, kind.matches, kind.starts) for kind in rows if kind.matches is not None]
    return signatures, {suffix: kind for kind in reversed(rows) for suffix in kind.suffixes}


_made: _Tables | None = None


def _tables() -> _Tables:
    """Return the tables of `KINDS`, built again if a row was added."""
    global _made
    if _made is None or _made.rows is not KINDS:
        _made = _Tables(KINDS)
    return _made
