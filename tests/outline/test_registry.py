"""The registry of outliners: rows of the tree, and rows of installed distributions."""

from __future__ import annotations

import sys

import pytest

from eyespan import Workspace, plugins, worker
from eyespan.outline import installed, language_of, languages
from eyespan.worker.client import Worker

ENTRY = "[eyespan.outliners]\nchant = acme_chant:ROW\n"
ROW = """from eyespan.outline import Outliner
ROW = Outliner('chant', 'acme_chant:scan', ('.chant',), file_names=('chantfile',))
"""
SCAN = """
from eyespan.outline import Definition, build_outline

def scan(data, language):
    lines = data.decode().split("\\n")
    starts = [number for number, line in enumerate(lines, 1) if line.startswith("verse ")]
    return build_outline([
        Definition(name=lines[n - 1][6:], kind="verse", line=n, first=n, last=n, signature=lines[n - 1]) for n in starts
    ], "shape")
"""


@pytest.fixture
def outline_of(tmp_path, monkeypatch):
    """Return a function that outlines a text through a worker that has looked up no plugin before."""
    fresh = Worker()
    monkeypatch.setattr(worker, "_worker", fresh)

    def outline(name, text):
        (tmp_path / name).write_text(text)
        with Workspace(tmp_path) as workspace:
            return workspace.tool("native").call({"files": name, "outline": True}).text

    yield outline
    fresh.stop()


def test_an_installed_outliner_runs_in_the_worker(install, outline_of):
    install("acme-chant", ENTRY, ROW + SCAN)

    assert [plugin.row.name for plugin in installed()] == ["chant"]
    assert (language_of("a.chant"), language_of("Chantfile"), language_of("a.py")) == ("chant", "chant", "python")
    assert outline_of("a.chant", "verse one\nla\nverse two\n").split("\n")[1:] == [
        "1 verse one",
        "3 verse two",
    ]
    assert plugins.problems() == ()


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("raise OSError('/etc/passwd')", "the file"),
        ("return 7", "acme_chant:scan returned int, not an Outline"),
        pytest.param(
            *("open(__file__)", "[Errno 1] Operation not permitted: the file"),
            marks=pytest.mark.skipif(sys.platform != "linux", reason="the sandbox forbids files on Linux only"),
        ),
    ],
)
def test_an_outliner_that_fails_costs_only_its_outline(install, outline_of, act, reason):
    install("acme-chant", ENTRY, (ROW + SCAN).replace("language):", f"language):\n    {act}"))

    assert (
        outline_of("a.chant", "verse one\n")
        == f">! a.chant: the decoder failed: {reason} (plugin acme-chant 1.2 (acme_chant:ROW))"
    )


def test_no_plugin_is_looked_up_for_a_file_of_the_tree(install):
    install("acme-chant", ENTRY, "raise RuntimeError")

    assert (language_of("a.rs"), language_of("tool", b"#!/bin/sh\n"), plugins.problems()) == ("rust", "bash", ())
    assert (language_of("a.chant"), len(plugins.problems())) == ("", 1)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("ROW = 'chant'", "an outliner is an eyespan.outline.Outliner, not str"),
        (ROW.replace("'chant',", "'rust',"), "eyespan itself outlines rust"),
        (ROW.replace("'.chant'", "'.rs'"), "eyespan itself outlines .rs as rust"),
        (ROW.replace("chantfile", "makefile"), "eyespan itself outlines makefile as make"),
        (
            ROW.replace("('.chant',), file_names=('chantfile',)", "()"),
            "the outliner of chant needs suffixes, file_names or interpreters",
        ),
        (ROW.replace("acme_chant:scan", "acme_chant"), "the function acme_chant is not module:function"),
        (ROW.replace("acme_chant:", "no_such:"), "the module of no_such:scan does not exist"),
        (
            ROW.replace("'.chant'", "'.Chant'"),
            "the suffixes of chant must start with a dot, and all names be lower case",
        ),
        (ROW.replace("'chant',", "'a/b',"), "the language 'a/b' is not a word in lower case"),
        (
            ROW.replace("file_names=", "by_text=len, file_names="),
            "by_text reads files outside of the sandbox, so only eyespan's own rows have it",
        ),
    ],
)
def test_a_broken_outliner_is_one_line(install, source, reason):
    install("acme-chant", ENTRY, source)

    assert installed() == ()
    assert list(map(str, plugins.problems())) == [f"plugin chant of acme-chant 1.2 (acme_chant:ROW): {reason}"]


def test_the_tree_has_a_row_for_each_language():
    assert len(languages()) == len(set(languages())) == 51
    assert languages()[:4] == ("python", "markdown", "json", "yaml")
