"""The command line: dispatch, common options, help and exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan import cli
from eyespan.cli.main import COMMANDS


@pytest.mark.parametrize(
    "argv",
    [
        ("nonsense",),
        ("--nonsense", "read", "x"),
        ("--root",),
        ("read",),
        ("read", "--nonsense", "x"),
        ("read", "--root"),
        ("read", "--root", "nowhere", "x"),
        ("read", "--config", "nowhere.toml", "x"),
        ("read", "poem.txt", "--timeout", "0"),
        ("read", "poem.txt", "--timeout=soon"),
        ("read", "poem.txt", "--timeout", "4000"),
        ("read", "poem.txt", "--color", "sometimes"),
        ("call",),
        ("call", "latin"),
        ("call", "forge", "not json"),
        ("call", "forge", "{}", "{}"),
        ("call", "forge", "--jsonl", "{}"),
        ("call", "forge", "--set", "nonsense=1", "{}"),
        ("call", "forge", "--set", "nonsense", "{}"),
        ("schema",),
        ("schema", "latin"),
        ("schema", "forge", "--for", "other"),
        ("dialects", "x"),
        ("doctor", "x"),
        ("doctor", "--nonsense"),
        ("serve", "x"),
        ("serve", "--root", "nowhere"),
        ("audit",),
    ],
)
def test_wrong_usage_is_2_and_one_line_that_helps(directory, eyespan, argv):
    code, out, err = eyespan(*argv)

    assert (code, out) == (2, "")
    assert err.startswith("eyespan: ")
    assert err.count("\n") == 1


def test_without_a_command_the_help_is_shown_and_the_status_is_2(eyespan):
    assert eyespan() == (2, eyespan("--help")[1], "")


def test_the_help_lists_every_command(eyespan):
    code, out, err = eyespan("--help")

    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.split("commands\n")[1].split("\n\n")[0].splitlines()] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits_120_columns(eyespan, command):
    code, out, err = eyespan(command, "--help")

    assert (code, err) == (0, "")
    assert out.startswith(f"usage: eyespan {command}")
    assert [line for line in out.splitlines() if len(line) > 120] == []


def test_the_version_is_printed(eyespan):
    import eyespan as package

    assert eyespan("--version") == (0, f"eyespan {package.__version__}\n", "")


def test_common_options_stand_before_or_after_the_command(directory, tmp_path_factory, eyespan):
    other = tmp_path_factory.mktemp("other")
    (other / "a.txt").write_text("hello\n")

    assert eyespan("--root", str(other), "read", "a.txt")[1] == "     1\thello\n"
    assert eyespan("read", "a.txt", f"--root={other}")[1] == "     1\thello\n"


def test_a_configuration_in_the_workspace_is_applied(directory, eyespan):
    (directory / "eyespan.toml").write_text(
        '[policy]\ndeny = ["poem*"]\n[tools.read_file]\nshow_line_numbers = false\n'
    )

    assert eyespan("read", "poem.txt")[2].startswith("eyespan: poem.txt: denied by the rule 'poem*'")
    assert json.loads(eyespan("call", "forge", '{"path": "open.txt"}')[1])["structured"]["text"] == "alpha\nomega"


def test_a_wrong_configuration_is_wrong_usage(directory, eyespan):
    (directory / "eyespan.toml").write_text("nonsense = 1")

    code, _, err = eyespan("read", "poem.txt")

    assert code == 2
    assert "unknown key nonsense" in err


def test_a_configuration_outside_the_workspace_can_allow_names(directory, tmp_path_factory, eyespan):
    (directory / "key.pem").write_text("not so secret\n")
    config = tmp_path_factory.mktemp("host") / "host.toml"
    config.write_text('[policy]\nallow = ["**/*.pem"]\n')

    assert eyespan("--config", str(config), "read", "key.pem")[1] == "     1\tnot so secret\n"


@pytest.mark.parametrize("module", ["json", "re", "stat", "struct", "zlib", "tomllib", "logging", "PIL", "mcp"])
def test_modules_planted_in_the_current_directory_are_not_imported(module, tmp_path):
    (tmp_path / f"{module}.py").write_text("import os; os.write(1, b'planted')\n")
    (tmp_path / "a.json").write_text('{"a": 1}\n')

    for words in (["read", "a.json"], ["call", "native", '{"files": "a.json"}'], ["dialects"]):
        done = subprocess.run(
            [sys.executable, "-m", "eyespan", *words], cwd=tmp_path, capture_output=True, check=True, timeout=60
        )
        assert b"planted" not in done.stdout


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (["/work", "/lib"], ["/lib"]),
        (["/src", "/lib"], ["/lib", "/src"]),
    ],
)
def test_the_current_directory_is_used_last_and_only_for_eyespan_itself(path, expected):
    source = (Path(cli.__file__).parents[1] / "__main__.py").read_text()
    scope = {"__name__": "other", "__spec__": None}
    exec(source.partition("from eyespan.cli")[0], scope)

    scope["remove_current_directory"](path, "/src")

    assert path == expected
