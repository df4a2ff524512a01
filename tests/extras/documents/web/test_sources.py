"""Sources that are documents on request."""

from __future__ import annotations

from eyespan import Workspace
from eyespan.cli.main import main

PAGE = "<html><body><h1>Tides</h1><p>High at <b>noon</b>.</p></body></html>\n"


def test_a_readable_source_is_shown_as_such_unless_the_document_is_requested(tmp_path, monkeypatch, capfd):
    name, source, shown = "a.html", PAGE, "# Tides\n\nHigh at noon."
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
