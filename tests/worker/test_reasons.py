"""Messages of libraries: what they reveal of the machine is removed, the rest stays."""

from __future__ import annotations

import pytest

from eyespan.errors import ReadError, Unreadable
from eyespan.worker import protocol
from eyespan.worker.reasons import MAX_REASON_CHARS, clean_reason

PLANTED = [
    ("cannot identify image file <_io.BytesIO object at 0x7f3a5c0d1e90>", "cannot identify image file"),
    ("cannot identify image file '/home/ana/My Pictures/a b.png'", "cannot identify image file the file"),
    (
        "[Errno 2] No such file or directory: '/usr/lib/python3/dist-packages/PIL/x.so'",
        "[Errno 2] No such file or directory: the file",
    ),
    ("unable to open database file /srv/data/main.db", "unable to open database file the file"),
    ('IO Error: Cannot open file "/tmp/x/a.parquet": gone', "IO Error: Cannot open file the file: gone"),
    ("duckdb.duckdb.InvalidInputException: no magic bytes", "no magic bytes"),
    ("ZeroDivisionError: division by zero", "division by zero"),
    ("PIL.UnidentifiedImageError", ""),
    ("PdfiumError: Failed to load page (at 0x55d0c0ffee00)", "Failed to load page"),
    ("bad object 0x7ffc12345678 in stream", "bad object in stream"),
    ("expected <class 'int'>, got <class 'str'>", "expected , got"),
    ("calamine: file:///home/ana/b.xlsx is broken", "calamine: the file is broken"),
    ("broken: C:\\\\Users\\\\ana\\\\c.docx here", "broken: the file here"),
    ("see '/home/ana/never closed", "see the file"),
    ("one\ntwo\tthree", "one two three"),
]


@pytest.mark.parametrize(("text", "expected"), PLANTED)
def test_paths_addresses_and_classes_are_removed(text, expected):
    assert clean_reason(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "not well-formed (invalid token): line 1, column 5",
        "unsupported TIFF/EP tag 0x8769, 3/4 of the strips are missing",
        "the XML of its part word/document.xml cannot be decoded: no element found",
        'no such column: a.b; near "select": syntax error',
        "it is encrypted and/or damaged; 100 % of 1:2",
    ],
)
def test_the_rest_of_a_message_stays(text):
    assert clean_reason(text) == text


def test_a_message_has_a_limit_and_takes_no_time():
    for text in ("/" * 100_000, "<" * 100_000, "a." * 50_000, "'/" * 50_000, "Error" * 20_000, "x " * 50_000):
        assert len(clean_reason(text)) <= MAX_REASON_CHARS


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError("cannot read /home/ana/x.png"), "the decoder failed: cannot read the file"),
        (ZeroDivisionError(), "the decoder failed: no details"),
        (Unprintable(), "the decoder failed: no details"),
        (Unreadable("", kind="image", reason="broken: /home/ana/x.png"), "broken: the file"),
        (ReadError("", "broken: /home/ana/x.png"), "broken: the file"),
    ],
)
def test_every_reason_of_a_response_is_clean(error, reason):
    header = protocol.error_header(error)

    assert header["reason"] == reason
    assert protocol.error_from(header, "a", "image").reason == reason


def test_a_response_that_an_attacker_wrote_is_cleaned_too():
    header = {"error": "unreadable", "kind": "image", "reason": "see /home/ana/x.png"}

    assert protocol.error_from(header, "a", "image").reason == "see the file"
