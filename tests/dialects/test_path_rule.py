"""One rule for the spellings of a path, in all dialects, and numbers in strings."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.dialects import dialect_names, forms
from eyespan.dialects.path_map import in_paths

SPELLINGS = {
    "absolute": "{root}/a b.txt",
    "trailing slash": "{root}/a b.txt/",
    "two slashes": "{root}//a b.txt",
    "out and in again": "{root}/../project/a b.txt",
    "mention": "@{root}/a b.txt",
    "address": "file://{root}/a%20b.txt",
    "address with a host": "file://localhost{root}/a%20b.txt",
    "home": "~/project/a b.txt",
    "mapped": "/workspace/a b.txt",
    "mapped mention": "@/workspace/a b.txt",
}
TAKES_NUMBERS_IN_STRINGS = ("claude@2.1", "cline", "deepagents", "kimi@1.52")
"""Dialects whose originals do."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    directory = tmp_path_factory.mktemp("home").resolve()
    (directory / "project").mkdir()
    (directory / "project/a b.txt").write_text("alpha\nbeta\ngamma\n")
    (directory / "project/@odd").write_text("odd\n")
    (directory / "project/odd").write_text("plain\n")
    (directory / "secret.txt").write_text("secret\n")
    return directory


def called(workspace, name, path, **settings):
    """Call the first tool of a dialect with a path exactly as it is spelled."""
    tool = workspace.toolset(name, **settings)[0]
    arguments = forms.arguments_of(tool.dialect, "x", workspace.roots[0].path)
    return tool.call(in_paths(arguments, lambda _: path))


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("name", dialect_names())
def test_a_path_is_read_however_it_is_spelled(home, monkeypatch, name, spelling):
    monkeypatch.setenv("HOME", str(home))
    root = home / "project"
    with Workspace(root, map={"/workspace": str(root)}) as workspace:
        reply = called(workspace, name, spelling.format(root=root), suggest=True)

    assert (reply.is_error, "beta" in reply.text) == (False, True), reply.text


@pytest.mark.parametrize("spelling", ["@{root}/../secret.txt", "file://{root}/../secret.txt", "~/secret.txt"])
@pytest.mark.parametrize("name", dialect_names())
def test_no_spelling_leaves_the_root(home, monkeypatch, name, spelling):
    monkeypatch.setenv("HOME", str(home))
    with Workspace(home / "project") as workspace:
        reply = called(workspace, name, spelling.format(root=home / "project"), suggest=True)

    assert "secret\n" not in f"{reply.text}\n"


def test_a_file_with_that_name_comes_first(home):
    with Workspace(home / "project") as workspace:
        assert "odd" in called(workspace, "workspace", "@odd", suggest=True).text


def test_without_the_setting_a_dialect_answers_as_its_document_has_it(home):
    with Workspace(home / "project") as workspace:
        reply = called(workspace, "workspace", f"@{home}/project/a b.txt")

    assert reply.error.code == "NOT_FOUND"


@pytest.mark.parametrize("name", TAKES_NUMBERS_IN_STRINGS)
def test_numbers_in_strings_are_read_where_the_original_does(home, name):
    root = home / "project"
    with Workspace(root) as workspace:
        tool = workspace.tool(name)
        asked = forms.arguments_of(tool.dialect, "a b.txt", str(root), first=2, last=2)

        assert tool.call(_with_text(asked)) == tool.call(asked)
        assert _with_text(asked) != asked


def _with_text(value):
    if isinstance(value, dict):
        return {name: _with_text(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_text(one) for one in value]
    return str(value) if isinstance(value, int) else value
