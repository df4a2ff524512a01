"""Forgiving readings keep to the roots and the policy, and a file under the name as written always comes first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from eyespan import Policy, Workspace
from eyespan.cli.main import main

FORMS = [
    *("{}", '"{}"', "`{}`", "@{}", "{}:1", "{}:1:1: error: x", "{}(1,1): error", 'File "{}", line 1, in f'),
    *("[x]({}#L1)", "at f ({}:1:1)", "{}#L1-L3", "{}:0-3", "{} line 1", "cat {}", "see {}:1 there", "a/{}", "+++ b/{}"),
    *("file://{}", "https://github.com/o/r/blob/main/{}#L1", "x\n{}:1:hit\n{}:2:hit\n", "{}::f - failed", "{},"),
]


@pytest.fixture
def tree(tmp_path):
    """A root with a file, a denied file and links that lead out, beside a file outside of it."""
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 21)))
    (root / "src" / "key.pem").write_text("SECRET\n" * 5)
    (root / "config").write_text("plain\n")
    (root / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("SECRET\n" * 5)
    return root


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", ["src/key.pem", "../outside/secret.py", "out/secret.py", "{outside}/secret.py"])
def test_no_form_reaches_what_the_roots_and_the_policy_exclude(tree, form, path, monkeypatch, capfd):
    monkeypatch.chdir(tree)
    text = form.replace("{}", path.replace("{outside}", str(tree.parent / "outside")))
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": [text]})
    status = main(["read", "--root", str(tree), "--", text])

    assert (reply.is_error, status) == (True, 1)
    assert "SECRET" not in reply.text + capfd.readouterr().out


@pytest.mark.parametrize("form", [form for form in FORMS[1:] if "://" not in form])
def test_a_file_under_the_name_as_written_comes_first(tree, form):
    name = form.replace("{}", "x.py").replace("/", "_").replace("\n", "_")
    (tree / "x.py").write_text("another\n")
    (tree / name).write_text("the one\n")
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": [name]})

    assert "the one" in reply.text
    assert "another" not in reply.text
    assert "read as" not in reply.text


def test_the_end_of_a_denied_path_is_not_read_in_its_place(tree):
    with Workspace(tree, policy=Policy(["**/.hidden/**"])) as workspace:
        reply = workspace.tool("native").call({"files": ["C:\\home\\.hidden\\config"]})

    assert reply.error.code == "policy_denied"


def test_a_message_that_ends_in_a_denied_name_is_read_all_the_same(tree):
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": ["src/a.py:3: cannot open server.pem"]})

    assert "read as src/a.py:3" in reply.text


def test_places_that_are_not_found_are_listed(tree):
    trace = 'File "src/a.py", line 3, in f\n  g()\nFile "/usr/lib/json/decoder.py", line 7, in g\n'
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": [trace]})

    assert "read as src/a.py:3; not found: /usr/lib/json/decoder.py:7" in reply.text


@pytest.mark.parametrize("selector", ["src/a.py:1-2-3", "src/a.py:3,+5", "src/a.py:3x"])
def test_a_range_gone_wrong_is_no_symbol(tree, selector):
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": [selector]})

    assert reply.error.code == "invalid_range"
    assert "write 3-9, 3-, 3+5, -50" in reply.text


def test_a_column_that_cannot_exist_is_the_last_line(tree):
    with Workspace(tree) as workspace:
        reply = workspace.tool("native", numbers=1).call({"files": ["src/a.py:3:12"]})

    assert "line 3 has 6 characters; read as lines 3-12" in reply.text
    assert [f"line {n}" in reply.text for n in (3, 12)] == [True, True]


def test_a_path_given_in_an_object_is_respelled(tree):
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": [{"path": "C:\\w\\src\\a.py", "lines": "3"}]})

    assert "read as src/a.py:3" in reply.text


@pytest.mark.parametrize("selector", ["src/a.py", "src/a.py:3", "src/a.py:3-9,12"])
def test_an_exact_selector_loads_no_forgiving_module(tree, selector):
    script = (
        "import sys; from eyespan.cli.main import main; status = main(sys.argv[1:]); "
        "loaded = [name for name in sys.modules if name.startswith('eyespan.extras.pasted.')]; "
        "print(status, sorted(loaded), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script, "read", selector], cwd=tree, capture_output=True, text=True)

    assert ran.stderr == "0 ['eyespan.extras.pasted.plugin']\n"


@pytest.mark.parametrize("pasted", ['"src/a.py?line 7"', "src\\a.py?line 7", "`src/a.py?line 7`"])
def test_the_pattern_of_a_target_is_kept(tree, pasted):
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": [pasted]})

    assert "read as src/a.py?line 7" in reply.text


@pytest.mark.parametrize(
    "pasted", ["make: *** [src/a.py:3: all] Error 1", "src/a.py:3:7: F401 [*] unused", "* src/a.py:3", "**src/a.py:3**"]
)
def test_a_star_in_a_message_is_no_pattern(tree, pasted, monkeypatch):
    with Workspace(tree) as workspace:
        monkeypatch.setattr(type(workspace.engine), "explore", lambda *_: pytest.fail("all files are matched"))
        reply = workspace.tool("native").call({"files": [pasted]})

    assert "read as src/a.py:3" in reply.text


def test_a_wrong_path_is_read_or_named_by_the_command_too(tree, monkeypatch, capfd):
    monkeypatch.chdir(tree)
    statuses = [main(["read", "a.py:3"]), main(["read", "src/aa.py"])]
    printed = capfd.readouterr()

    assert (statuses, printed.out) == ([0, 1], "     3\tline 3\n")
    assert printed.err.split("\n") == [
        "eyespan: a.py:3: read as src/a.py:3",
        "eyespan: src/aa.py: no such file; similar: src/a.py",
        "",
    ]


def test_a_file_that_exists_and_cannot_be_read_is_not_replaced_by_another(tree, monkeypatch, capfd):
    (tree / "a").mkdir()
    os.mkfifo(tree / "a" / "config")
    monkeypatch.chdir(tree)
    with Workspace(tree) as workspace:
        reply = workspace.tool("native").call({"files": ["a/config"]})
    status = main(["read", "a/config"])

    assert (reply.error.code, status) == ("not_regular", 1)
    assert "plain" not in reply.text + capfd.readouterr().out
