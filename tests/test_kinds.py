import gzip
import io
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import binary_types, kinds, signatures
from eyespan.dialects.claude import Claude
from eyespan.extras.documents.images.signature import drawing_type
from eyespan.model import SNIFF_BYTES


def name_of(kind):
    return None if kind is None else kind.name


@pytest.mark.parametrize(
    ("first_bytes", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a\x01\0\x01\0", "image/gif"),
        (b"GIF89a is what such files begin with\n", None),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"BM" + bytes(12) + b"\x28\0\0\0", "image/bmp"),
        (b"BM stands for bitmap\n", None),
        (b"BM", None),
        (b"II*\0\x08\0\0\0", "image/tiff"),
        (b"MM\0*\0\0\0\x08", "image/tiff"),
        (b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x30\0\0\0\x16\0\0\0", "image/x-icon"),
        (b"\0\0\2\0\1\0\x10\x10\0\0\1\0\x20\0\x30\0\0\0\x16\0\0\0", None),
        (b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0" + bytes(8), None),
        (b"\0\0\0\x0cjP  \r\n\x87\n\0\0", "image/jp2"),
        (b"P6\n1 1\n255\nabc", "image/x-portable-anymap"),
        (b"P5\n# by hand\n1 1\n255\na", "image/x-portable-anymap"),
        (b"P4 8 1\n\xff", "image/x-portable-anymap"),
        (b"P6 is a group of wallpaper\n", None),
        (b"P3\n1 1\n255\n1 2 3\n", None),
        (b"DDS \x7c\0\0\0", "image/vnd.ms-dds"),
        (b"8BPS\0\1\0\0\0\0\0\0", "image/vnd.adobe.photoshop"),
        (b"\x01\xda\1\1\0\3\0\1", "image/sgi"),
        (b"\n\5\1\x08\0\0\0\0", "image/vnd.zbrush.pcx"),
        (b"icns\0\0\1\0", "image/icns"),
        (b"icns is a format\n", None),
        (b"\0\1\0\0\x12\xaf\1\0\x40\1\xc8\0\x08\0\3\0", "image/x-fli"),
        (b"\0\0\2" + bytes(9) + b"\4\0\4\0\x18\0ab", "image/x-tga"),
        (b"\0\0\2" + bytes(9) + b"\0\0\4\0\x18\0ab", None),
        (b"\0\0\1\0\0\0", None),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0avifmif1", "image/avif"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isommp42", None),
        (b"", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(first_bytes, media_type):
    assert signatures.image_type(first_bytes) == media_type


@pytest.mark.parametrize(
    ("first_bytes", "name", "kind"),
    [
        (b"%PDF-1.7\n", "a", "pdf"),
        (b"\xef\xbb\xbf%PDF-1.7\n", "a", "pdf"),
        (b"\0\0junk%PDF-1.7\n", "a", "pdf"),
        (b"A PDF begins with %PDF-1.7\n", "notes.md", None),
        (b"A PDF begins with %PDF-1.7\n", "notes.pdf", None),
        (b"\0" * 1024 + b"%PDF-1.7", "a", None),
        (b"text", "a.PDF", None),
        (b"", "a.pdf", None),
        (b"text", "a.png", None),
        (b"\x89PNG\r\n\x1a\n", "a.pdf", "image"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", "image"),
    ],
)
def test_contents_decide_before_the_name(first_bytes, name, kind):
    assert name_of(kinds.detect(first_bytes, name)) == kind


PDF = b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n"


def zipped(*members, compression=zipfile.ZIP_STORED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return made.getvalue()


def tarred(name, data):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return made.getvalue()


DOCX = zipped(("[Content_Types].xml", "<Types/>"), ("word/document.xml", "<w:document/>"))
CONTAINERS = {
    "a zip of a stored PDF": (zipped(("a.pdf", PDF), ("b.txt", "b")), "archive"),
    "a zip of a stored Word document": (zipped(("a.docx", DOCX), ("b.txt", "b")), "archive"),
    "a zip of a zip": (zipped(("a.zip", zipped(("a.pdf", PDF)))), "archive"),
    "a Word document": (DOCX, "docx"),
    "a Word document with a stored PDF": (zipped(("a.pdf", PDF), ("word/document.xml", "<w:document/>")), "docx"),
    "a tar of a PDF": (tarred("a.pdf", PDF), "archive"),
    "a tar of a zip": (tarred("a.zip", zipped(("a.pdf", PDF))), "archive"),
    "a tar of a file with the name of a signature": (tarred("%PDF-1.7", b"x"), "archive"),
    "a tar of an image directory": (tarred("icns", b"x"), "archive"),
    "a tar of a GIF directory": (tarred("GIF89a", b"x"), "archive"),
    "a tar of a Parquet directory": (tarred("PAR1", b"x"), "archive"),
    "a tar of a file named like a database": (tarred("SQLite format 3", b"x"), "archive"),
    "a compressed PDF, stored": (gzip.compress(PDF, 0), "compressed"),
    "a database with a PDF": (b"SQLite format 3\0".ljust(512, b"\0") + PDF, "sqlite"),
    "a Parquet file with a PDF": (b"PAR1\x15\0" + PDF, "parquet"),
    "a property list with a PDF": (b"bplist00\xd1\1\2" + PDF, None),
    "an OLE file with a PDF": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + PDF, None),
}


@pytest.mark.parametrize("suffix", ["", ".pdf"])
@pytest.mark.parametrize("what", CONTAINERS)
def test_containers_are_known_before_their_contents(what, suffix):
    first_bytes, kind = CONTAINERS[what]
    # Of a container that is not opened, the name decides; the reader refuses it.
    expected = "pdf" if kind is None and suffix else kind

    assert name_of(kinds.detect(first_bytes, f"a{suffix}")) == expected
    assert not kinds.is_pdf(first_bytes) or kind in ("sqlite", "parquet")


FIRST_VALUES = [
    (row, value)
    for row, (_, signature) in enumerate(binary_types.TYPES)
    for value in (signature.value if isinstance(signature.value, tuple) else (signature.value,))
]


@pytest.mark.parametrize(("row", "value"), FIRST_VALUES)
def test_no_file_that_is_only_described_is_shown_as_the_pdf_in_it(row, value):
    first_bytes = bytes(binary_types.TYPES[row][1].at) + value + bytes(40) + PDF

    assert kinds.detect(first_bytes, "a") is None
    assert not kinds.is_pdf(first_bytes)


@pytest.mark.parametrize(
    ("first_bytes", "media_type"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a --><!DOCTYPE svg [<!ENTITY a "b">]>\n<s:svg>', "image/svg+xml"),
        (b"<html><svg/></html>", None),
        (b"<svgfile/>", None),
        (b"<!-- never closed <svg>", None),
        (b"<", None),
        (b"P1\n2 2\n1 0 0 1\n", "image/x-portable-anymap"),
        (b"P3 is better than P2\n", None),
        (b"#define a_width 8\n#define a_height 1\nstatic char a_bits[] = {\n", "image/x-xbitmap"),
        (b"#define LINE_width 8\nint main() {}\n", None),
        (b"/* XPM */\nstatic char *a[] = {\n", None),
    ],
)
def test_a_drawing_is_known_by_its_first_bytes(first_bytes, media_type):
    assert drawing_type(first_bytes) == media_type


STARTS = (
    b"",
    b"GIF89a",
    b"BM",
    b"P5 1 1 9\n",
    b"P4\n# x\n1 1\n",
    b"%PDF-1",
    b"icns",
    b"8BPS",
    b"RIFF1234WEBP",
)
STARTS += (b"1234ftypheic", b"{", b"<svg", b"1234\xc2\xaf")


@given(
    st.sampled_from(STARTS),
    st.sampled_from([0, 1, 900, 1010, 1024, 8000, 8180, 8190]),
    st.sampled_from([b"", b"%PDF-1.7", b"\xe2\x82\xac" * 4, b"RIFF", b"}"]),
    st.sampled_from(["a", "a.py", "a.pdf", "a.ipynb", "a.png", "a.tga"]),
)
def test_the_bytes_that_decide_on_text_are_enough_to_find_what_claude_shows(start, gap, later, name):
    """The bytes that decide whether a file is text are enough to find what is shown of it."""
    text = (start + b"x" * gap + later).ljust(SNIFF_BYTES + 9000, b"y")
    shown = {kind.name for kind in kinds.rows() if kind.is_one_of(Claude.documents)}

    whole, part = kinds.detect(text, name), kinds.detect(text[:SNIFF_BYTES], name)

    assert name_of(whole) in shown or name_of(part) not in shown
    assert name_of(whole) not in shown or name_of(part) == name_of(whole)
