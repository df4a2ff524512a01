"""Mailboxes as documents, and sources that are documents on request."""

from __future__ import annotations

import io

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.errors import Unreadable
from eyespan.extras.documents.mail import mbox


def text_of(data: str) -> str:
    return mbox.decode(io.BytesIO(data.encode()), {})[1][0].decode()


def test_each_mail_of_a_mailbox_has_a_number():
    mail = "From x@y Mon Jun 01 10:00:00 2009\nFrom: {0}@a.example\nSubject: {0}\n\n>From the start\n\n"

    assert text_of(mail.format("one") + mail.format("two")) == (
        "## Mail 1\n\nFrom: one@a.example\nSubject: one\n\nFrom the start\n\n"
        "## Mail 2\n\nFrom: two@a.example\nSubject: two\n\nFrom the start\n"
    )


def test_a_long_mailbox_is_cut_and_the_rest_counted(monkeypatch):
    monkeypatch.setattr(mbox, "MAX_MAILS", 1)

    assert text_of("From x\nbody\n\nFrom y\nbody\n") == (
        "## Mail 1\n\n[without the usual headers]\n\n[1 more mails are left out]\n"
    )


def test_other_text_is_refused():
    with pytest.raises(Unreadable, match="not a mailbox"):
        text_of("plain text\n")


PAGE = "<html><body><h1>Tides</h1><p>High at <b>noon</b>.</p></body></html>\n"


@pytest.mark.parametrize(
    ("name", "source", "shown"),
    [
        ("a.html", PAGE, "# Tides\n\nHigh at noon."),
        ("a.mbox", "From x\nSubject: a\n\nbody\n", "## Mail 1\n\nSubject: a\n\nbody"),
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
