"""Ignore files leave out what git leaves out, everywhere but where a file is named."""

from __future__ import annotations

import os
import random
import shutil
import subprocess

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.context import CallContext

NAMES = ("a", "b", "build", "x.o", "y.py", "é.o", "keep.o", "[z]", "-", " s ", "l\nx.o", "x.o\r")
RULES = (
    *("*.o", "!keep.o", "build", "build/", "/a", "/a/", "a/b", "a/**", "**/b", "a/**/b", "!a/", "*", "!*/", "!*.py"),
    *("b/*", "!b/y.py", "?.py", "[ab]", "[!ab]", "\\[z]", "# comment", "", "\\#", " s ", "y.py ", "é*", "?.o", "a//b"),
    *("**", "/**", "!/", "/", "[", "a/[b", "*/b", "!**/keep.o", "\\", "-\\"),
)


def walked(root, **how):
    with Workspace(root, **how) as workspace:
        return [path for path, error, _ in workspace.engine.walk(".", CallContext()) if error is None]


def make(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def files_of_git(root):
    how = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(root / "none")}
    listed = ("git", "ls-files", "-coz", "--exclude-standard")
    done = subprocess.run(listed, cwd=root, env=how, check=True, capture_output=True)
    return sorted(os.fsdecode(done.stdout).split("\0")[:-1])


@pytest.fixture
def tree(tmp_path):
    make(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n/local.txt\n",
            ".ignore": "!keep.log\ndata/\n",
            "app.py": "needle\n",
            "keep.log": "needle\n",
            "run.log": "needle\n",
            "local.txt": "needle\n",
            "build/out.txt": "needle\n",
            "data/rows.csv": "needle\n",
            "src/.gitignore": "!run.log\ngenerated.py\n",
            "src/run.log": "needle\n",
            "src/generated.py": "needle\n",
            "src/local.txt": "needle\n",
            "node_modules/x/index.js": "needle\n",
        },
    )
    return tmp_path


SHOWN = [".gitignore", ".ignore", "app.py", "keep.log", "src/.gitignore", "src/local.txt", "src/run.log"]


@pytest.mark.parametrize("backend", ["auto", "walk-by-name", "portable"])
def test_nested_ignore_files_are_honoured(tree, backend):
    assert walked(tree, backend=backend) == SHOWN


def test_all_files_are_walked_without_ignore_files(tree):
    assert len(walked(tree, ignore=False)) == 13


def test_a_walk_continues_after_any_path(tree):
    with Workspace(tree) as workspace:
        rest = {path: [one for one, *_ in workspace.engine.walk(".", CallContext(), path)] for path in SHOWN}

    assert rest == {path: SHOWN[at + 1 :] for at, path in enumerate(SHOWN)}


def test_a_directory_that_is_named_shows_its_files(tree):
    with Workspace(tree) as workspace:
        found = list(workspace.engine.walk("build", CallContext()))
        text = workspace.tool("native").call({"files": ["build/out.txt", "build?needle"]}).text

    assert found == [("out.txt", None, None)]
    assert text.count("needle") >= 2


def test_maps_searches_patterns_and_completions_leave_ignored_files_out(tree):
    with Workspace(tree) as workspace:
        tool = workspace.tool("native")
        answers = [tool.call({"files": [one]}).text for one in (".?needle", "**", "**/*.log?needle")]
        answers.append(tool.call({"files": ["."], "outline": True}).text)
        listing = workspace.engine.list(".", CallContext(), hides_ignored=True)

    hidden = ("build/", "data/", "generated.py", "node_modules", "\nrun.log")
    assert [name for text in answers for name in hidden if name in text] == []
    assert [entry.name for entry in listing.entries] == [".gitignore", ".ignore", "app.py", "keep.log", "src"]


def test_suggestions_follow_changed_ignore_files(tree):
    with Workspace(tree) as workspace:
        tool = workspace.tool("native")
        before = tool.call({"files": ["generated.py"]}).text
        (tree / "src/.gitignore").write_text("")
        after = tool.call({"files": ["generated.py"]}).text

    assert ("src/generated.py" in before, "src/generated.py" in after) == (False, True)


def test_an_export_leaves_ignored_files_out(tree, capfd):
    main(["export", ".", "--to", "-", "--root", str(tree)])
    ignoring = capfd.readouterr().out.count('"source"')
    main(["export", ".", "--to", "-", "--root", str(tree), "--no-ignore"])

    assert (ignoring, capfd.readouterr().out.count('"source"')) == (len(SHOWN), 13)


def test_the_configuration_can_turn_ignore_files_off(tree):
    (tree / "eyespan.toml").write_text("[host]\nignore = false\n")

    with Workspace.from_config(roots=[tree]) as workspace:
        assert len(list(workspace.engine.walk(".", CallContext()))) == 14


def test_a_link_is_no_ignore_file(tree, tmp_path):
    (tree / ".gitignore").unlink()
    (tree / ".gitignore").symlink_to(tree / "src" / ".gitignore")

    assert "src/local.txt" in walked(tree)
    assert "run.log" in walked(tree)


def test_many_and_invalid_rules_are_compiled(tmp_path):
    make(
        tmp_path, {".gitignore": "".join([f"d{n}/*.x{n}\n" for n in range(1200)]) + "///\n[\n", "d7/a.x7": "", "b": ""}
    )

    assert walked(tmp_path) == [".gitignore", "b"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(25))
def test_the_files_are_those_of_git(tmp_path, seed):
    chance = random.Random(seed)
    files = {}
    directories = ["", *["/".join(chance.choices(NAMES[:3], k=chance.randint(1, 3))) + "/" for _ in range(4)]]
    for directory in directories:
        for name in chance.sample(NAMES[3:], 4):
            files[directory + name] = ""
        if chance.random() < 0.6:
            files[f"{directory}.gitignore"] = "\n".join(chance.choices(RULES, k=chance.randint(1, 5)))
    make(tmp_path, files)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    (tmp_path / ".git" / "info").mkdir(exist_ok=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("\n".join(chance.choices(RULES, k=2)))

    assert walked(tmp_path) == files_of_git(tmp_path)
