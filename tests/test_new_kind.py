"""A new kind is one reader and one row: a toy kind of an installed distribution is found everywhere."""

from __future__ import annotations

import pytest

from eyespan import Workspace, kinds
from eyespan.cli.main import main

CALENDAR = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:launch\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
SOURCE = """
from eyespan.kinds import Kind
from eyespan.model import NotePart

def read(opened, selection, context):
    lines = opened.source.read_fully(0, 1 << 20).decode().split("\\r\\n")
    events = [line.removeprefix("SUMMARY:") for line in lines if line.startswith("SUMMARY:")]
    return opened.document((NotePart("\\n".join([f"event: {event}" for event in events])),), {"events": len(events)})

ROW = Kind("agenda", "acme_agenda", "an agenda", suffixes=(".agenda",))
"""


@pytest.fixture
def calendar(tmp_path, install):
    install("acme-agenda", "[eyespan.kinds]\nagenda = acme_agenda:ROW\n", SOURCE)
    (tmp_path / "team.agenda").write_bytes(CALENDAR)
    return tmp_path


def test_native_shows_it(calendar):
    with Workspace(calendar) as workspace:
        reply = workspace.tool("native").call({"files": ["team.agenda"]})

    assert "event: launch" in reply.text
    assert not reply.is_error


def test_a_part_it_does_not_have_is_refused_by_its_noun(calendar):
    with Workspace(calendar) as workspace:
        reply = workspace.tool("native").call({"files": ["team.agenda:p1"]})

    assert reply.text == ">! team.agenda:p1: an agenda has no pages"


def test_eyespan_read_shows_it(calendar, monkeypatch, capfd):
    monkeypatch.chdir(calendar)

    assert main(["read", "team.agenda"]) == 0
    assert capfd.readouterr().out == "event: launch\n"


def test_eyespan_read_shows_its_source_on_request(calendar, monkeypatch, capfd):
    monkeypatch.chdir(calendar)

    assert main(["read", "--raw", "-N", "team.agenda"]) == 0
    assert capfd.readouterr().out.encode() == CALENDAR


def test_doctor_lists_it(calendar, monkeypatch, capfd):
    monkeypatch.chdir(calendar)

    assert main(["doctor"]) == 0
    assert "on: an agenda (.agenda), shown by native, terminal" in capfd.readouterr().out


@pytest.mark.parametrize("name", [kind.name for kind in kinds.rows()])
def test_every_row_names_modules_that_exist(name):
    from importlib.util import find_spec

    kind = kinds.by_name(name)
    modules = [kind.reader, *([kind.decoder.partition(":")[0]] if kind.decoder else [])]

    assert [module for module in modules if find_spec(module) is None] == []
