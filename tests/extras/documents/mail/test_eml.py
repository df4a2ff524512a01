"""Mails as Markdown."""

from __future__ import annotations

import email
import io

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.mail import eml
from tests.extras.documents.office_files import FIXTURES, text


def shown(data):
    return eml.decode(io.BytesIO(data), {"seconds": 10})[1][0].decode()


def test_a_mail_has_its_headers_text_and_attachments():
    source = FIXTURES / "source"

    assert text(FIXTURES / "mail.eml") == (
        "From: Ada <ada@example.org>\nTo: pilot@example.org\nDate: Tue, 14 Nov 2023 22:13:20 +0000\n"
        f"Subject: Tide table\n\n{(source / 'mail.txt').read_text()}\n"
        f"Attachments:\n\n- tides.csv (text/csv, {(source / 'tides.csv').stat().st_size} bytes)\n"
    )


def test_invalid_headers_become_valid_text(tmp_path):
    path = tmp_path / "a.eml"
    path.write_bytes(
        b"From: \xff\xfe <a@b>\nSubject: =?nope?q?=ff?= \xe9\nContent-Type: text/plain; charset=nope\n\n\xe9t\xe9\n"
    )

    assert "été" in text(path)


TEXT, A = b"Content-Type: text/plain\n\n%b", "Subject: a\n\n"
IMAGE = "\nAttachments:\n\n- unnamed (image/png, 1 bytes)\n"


def parts(kind, *several):
    """Return a mail with these parts, which may be mails."""
    sign = b"b%d" % sum(map(len, several))
    lines = [line for one in several for line in (b"--" + sign, one)]
    return b"\n".join([b"Subject: a", b"Content-Type: multipart/%b; boundary=%b" % (kind.encode(), sign), b"", *lines])


@pytest.mark.parametrize(
    ("data", "markdown"),
    [
        (b"Subject: a\n\n", "Subject: a\n"),
        (b"Subject: two\n lines\nContent-Type: multipart/mixed; boundary=x\n\n--x--\n", "Subject: two lines\n"),
        (
            b"Subject: a\nContent-Type: application/octet-stream\nContent-Disposition: attachment\n\nxyz\n",
            "Subject: a\n\nAttachments:\n\n- unnamed (application/octet-stream, 4 bytes)\n",
        ),
        (b"Subject: a\nContent-Type: text/html\n\n<p>b</p>", "Subject: a\n\nb\n"),
        (parts("mixed", TEXT % b"one", b"Content-Type: image/png\n\nx", TEXT % b"two"), f"{A}one\n\ntwo\n{IMAGE}"),
        (parts("alternative", TEXT % b" ", b"Content-Type: text/html\n\n<p>b</p>"), f"{A}b\n"),
        (parts("alternative", TEXT % b"b", b"Content-Type: text/html\n\n<p>c</p>"), f"{A}b\n"),
        (
            parts("alternative", TEXT % b"b", parts("mixed", b"Content-Type: image/png\n\nx")),
            f"{A}b\n{IMAGE}",
        ),
        (
            parts("mixed", TEXT % b"one", b"Content-Type: message/rfc822\n\nSubject: c\n\ntwo"),
            f"{A}one\n\n---\n\nAttached message:\n\nSubject: c\n\ntwo\n",
        ),
        (
            parts("report", TEXT % b"late", b"Content-Type: message/delivery-status\n\nMTA: x\n\nStatus: 5"),
            f"{A}late\n\nMTA: x\n\nStatus: 5\n",
        ),
    ],
)
def test_mails_of_every_shape(data, markdown):
    assert shown(data) == markdown


def test_a_file_without_headers_is_text_and_a_mail_in_utf_16_a_mail():
    assert shown(b"nothing: here\n\n") == "[not a mail: it has none of the usual headers]\n\nnothing: here\n"
    assert shown("\ufeffSubject: wide\n\nbody\n".encode("utf-16-le")) == "Subject: wide\n\nbody\n"


def test_messages_in_messages_end_with_a_note():
    data = b"Subject: a\nContent-Type: message/rfc822\n\n" * (eml.MAX_DEPTH + 5) + b"Subject: b\n\nend"

    assert shown(data).endswith("\n\n[parts that are nested more than 50 times are left out]\n")


def test_binary_data_and_a_large_mail_are_refused(monkeypatch):
    with pytest.raises(Unreadable, match="none of the usual headers"):
        shown(b"\0\1\2")
    monkeypatch.setattr(eml, "MAX_BYTES", 10)
    with pytest.raises(Unreadable, match="more than 10 bytes"):
        shown(b"Subject: long enough\n\n")


def test_a_header_that_the_standard_parser_fails_on_is_left_out(monkeypatch):
    def raises(self, name, failobj=None):
        raise IndexError("inside the parser")

    message = email.message_from_bytes(b"Subject: a\n\n", policy=email.policy.default)
    monkeypatch.setattr(type(message), "get_all", raises)

    assert eml._header(message, "Subject") == ""


def test_a_long_header_is_parsed_only_at_its_start():
    """The standard parser would make an object for every character of this one, many times."""
    markdown = shown(b"Subject: a\nTo: " + b"<" * 100_000 + b"\n\ntext\n")

    assert markdown.endswith("text\n")
    assert len(markdown) < 3 * eml.MAX_HEADER_CHARS


def test_the_rest_of_a_long_header_is_counted():
    made = shown(b"From: a@b.c\nSubject: " + b"word " * 2000 + b"\n\nbody\n")

    assert made.count("word ") * 5 + len("wo") + 1808 == 10_000
    assert made.endswith("wo [1808 characters left out]\n\nbody\n")
