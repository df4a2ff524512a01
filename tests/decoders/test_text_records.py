"""Mailboxes, calendars, contacts and subtitles as documents."""

from __future__ import annotations

import io

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.decoders import mbox, subtitles, vobject
from eyespan.errors import Unreadable


def text_of(decoder, data: str) -> str:
    return decoder.decode(io.BytesIO(data.encode()), {})[1][0].decode()


def test_each_mail_of_a_mailbox_has_a_number():
    mail = "From x@y Mon Jun 01 10:00:00 2009\nFrom: {0}@a.example\nSubject: {0}\n\n>From the start\n\n"

    assert text_of(mbox, mail.format("one") + mail.format("two")) == (
        "## Mail 1\n\nFrom: one@a.example\nSubject: one\n\nFrom the start\n\n"
        "## Mail 2\n\nFrom: two@a.example\nSubject: two\n\nFrom the start\n"
    )


def test_a_long_mailbox_is_cut_and_the_rest_counted(monkeypatch):
    monkeypatch.setattr(mbox, "MAX_MAILS", 1)

    assert text_of(mbox, "From x\nbody\n\nFrom y\nbody\n") == (
        "## Mail 1\n\n[without the usual headers]\n\n[1 more mails are left out]\n"
    )


def test_the_events_of_a_calendar_are_listed_with_their_fields():
    event = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY:Launch\\, at\r\n  last\r\n"
        "DTSTART;TZID=Europe/Rome:20240102T030405\r\nDTEND:20240102T040000Z\r\nDESCRIPTION:one\\ntwo\r\n"
        "BEGIN:VALARM\r\nTRIGGER:-PT15M\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )

    assert text_of(vobject, event) == (
        "## Event: Launch, at last\n\n- start (Europe/Rome): 2024-01-02 03:04:05\n- end: 2024-01-02 04:00:00 UTC\n"
        "- description: one two\n"
    )


def test_contacts_are_decoded_and_their_photos_left_out():
    card = (
        "BEGIN:VCARD\nFN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:M=C3=B6nch\nitem1.TEL;TYPE=home:123\n"
        'PHOTO;ENCODING=b;TYPE=JPEG:AAAA\n BBBB\nNOTE;X="a:b":text\nEND:VCARD\n'
    )

    assert text_of(vobject, card) == (
        "## Contact: Mönch\n\n- tel (home): 123\n- photo (JPEG): [data of 8 characters is left out]\n- note: text\n"
    )


def test_subtitles_have_the_time_and_the_speaker():
    vtt = "WEBVTT\n\nNOTE x\n\n1\n00:11.000 --> 00:13.000 align:start\n<v Ada>We are <i>here</i>\n"
    srt = "1\r\n00:01:14,440 --> 00:01:15,760\r\n{\\an8}one\r\ntwo\r\n\r\n2\r\n00:01:16,0 --> 00:01:17,0\r\n\r\n"

    assert text_of(subtitles, vtt) == "[00:11] Ada: We are here\n"
    assert text_of(subtitles, srt) == "[00:01:14] one two\n"


@pytest.mark.parametrize("decoder", [mbox, vobject, subtitles])
def test_other_text_is_refused(decoder):
    with pytest.raises(Unreadable, match="no"):
        text_of(decoder, "plain text\n")


PAGE = "<html><body><h1>Tides</h1><p>High at <b>noon</b>.</p></body></html>\n"


@pytest.mark.parametrize(
    ("name", "source", "shown"),
    [
        ("a.html", PAGE, "# Tides\n\nHigh at noon."),
        ("a.vtt", "WEBVTT\n\n00:11.000 --> 00:13.000\nhere\n", "[00:11] here"),
        ("a.ics", "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\n", "## Event: x"),
    ],
)
def test_a_readable_source_is_shown_as_such_unless_the_document_is_requested(
    tmp_path, monkeypatch, capfd, name, source, shown
):
    (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)
    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        answers = [native.call({"files": name, "document": given}).text for given in (False, True)]

    assert main(["read", "-N", name]) == 0
    assert capfd.readouterr().out == source
    assert main(["read", "-N", "--document", name]) == 0
    assert capfd.readouterr().out == shown + "\n"
    bodies = ["\n".join([line.partition("\t")[2] for line in answer.split("\n")[1:]]) for answer in answers]
    assert bodies == [source.rstrip("\n"), shown]


def test_the_switch_must_be_a_boolean(tmp_path):
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": "a", "document": [1]})

    assert "document must be true or false" in reply.text
