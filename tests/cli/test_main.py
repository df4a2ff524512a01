"""The command line: dispatch, common options, help and exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan import __version__, cli
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
    assert [line.split()[0] for line in out.split("commands:\n")[1].split("\n\n")[0].splitlines()] == list(COMMANDS)


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


def test_the_environment_sets_the_default_deadline():
    code = "from eyespan import Workspace; print(Workspace('.').engine.deadline_seconds)"
    found = {}
    for seconds in ("45", "soon"):
        environment = {**os.environ, "EYESPAN_TIMEOUT": seconds}
        done = [
            subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment)
            for words in (("-c", code), ("-m", "eyespan", "dialects"))
        ]
        found[seconds] = [done[0].stdout, done[1].returncode, done[1].stderr]

    message = "eyespan: EYESPAN_TIMEOUT wants seconds, more than 0 and at most 3600, not 'soon'\n"
    assert found == {"45": ["45.0\n", 0, ""], "soon": ["", 2, message]}


@pytest.mark.parametrize("words", [("read", "a.json"), ("call", "native", '{"files": "a.json"}'), ("dialects",)])
def test_modules_planted_in_the_current_directory_are_not_imported(words, tmp_path):
    for module in ("json", "re", "stat", "struct", "zlib", "tomllib", "logging", "PIL", "mcp"):
        (tmp_path / f"{module}.py").write_text(f"import os; os.write(1, b'planted {module}')\n")
    (tmp_path / "a.json").write_text('{"a": 1}\n')

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


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns(command, eyespan):
    words = [command, "--help"] if command else ["--help"]
    text = eyespan(*words)[1]

    assert [line for line in text.splitlines() if len(line) > 80] == []
    if command:
        assert eyespan("help", command)[1] == text


@pytest.mark.parametrize("word", ["-V", "--version", "version"])
def test_the_version_has_three_spellings(word, eyespan):
    code, out, _ = eyespan(word)

    assert (code, out.split()[0]) == (0, "eyespan")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reed", "x"], "no command 'reed'; did you mean read? Try: eyespan --help"),
        (["read", "--no-numbrs", "x"], "read has no option --no-numbrs; did you mean --no-numbers?"),
        (["serve", "--http", "--timeout=3"], "--http needs a value: --http HOST:PORT"),
        (["manual", "extra"], "manual takes no argument 'extra'"),
        (["read", "--lines", "1-3", "x"], "read has no option --lines. Try: eyespan read --help"),
        (["--set", "a=1", "call", "forge"], "--set stands after the command: eyespan call ... --set ..."),
        (["call", "forge", ""], "call needs the arguments of the tool as one JSON object. Try: eyespan call --help"),
        (["view", "nowhere"], "eyespan: a root must be an existing directory: "),
        (["export", "x", "--to", "nowhere/x.jsonl"], "--to nowhere/x.jsonl: there is no directory nowhere"),
    ],
)
def test_a_wrong_command_line_is_refused_by_name_with_the_way_out(words, message, eyespan):
    code, out, error = eyespan(*words)

    assert (code, out) == (2, "")
    assert message in error


EVERY_OUTPUT = [["--help"], ["dialects"], ["doctor"], ["schema", "native"], ["read", "poem.txt"], ["manual"]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", EVERY_OUTPUT, ids=lambda words: words[0])
def test_a_full_disk_is_reported_in_one_line(words, directory):
    try:
        full = open("/dev/full", "wb")  # noqa: SIM115 - closed below
    except PermissionError:
        pytest.skip("/dev/full belongs to another user")
    with full:
        run = subprocess.run(
            [sys.executable, "-m", "eyespan", *words], stdout=full, stderr=subprocess.PIPE, cwd=directory, text=True
        )

    assert (run.returncode, run.stderr) == (1, "eyespan: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("words", EVERY_OUTPUT, ids=lambda words: words[0])
def test_a_closed_standard_output_is_no_traceback(words, directory):
    command = " ".join([f"'{word}'" for word in [sys.executable, "-m", "eyespan", *words]])
    run = subprocess.run(["sh", "-c", f"{command} >&-"], stderr=subprocess.PIPE, cwd=directory, text=True)

    assert (run.returncode, run.stderr) == (0, "")


def test_a_legacy_code_page_gets_escapes():
    run = subprocess.run(
        [sys.executable, "-c", "from eyespan.cli import detach; detach.prepare_streams(); print('a\\u2588')"],
        env={"PYTHONIOENCODING": "cp1252"}, capture_output=True, text=True, encoding="cp1252",
    )  # fmt: skip

    assert (run.returncode, run.stdout, run.stderr) == (0, "a\\u2588\n", "")


@pytest.mark.parametrize("words", [("-V",), ("--version",), ("version",), ("serve", "--version"), ("read", "-V")])
def test_every_command_prints_the_version(words, eyespan):
    assert eyespan(*words) == (0, f"eyespan {__version__}\n", "")


def test_a_file_named_like_the_option_is_read(directory, eyespan):
    (directory / "-V").write_text("text\n")

    assert eyespan("read", "-N", "--", "-V")[1] == "text\n"


def test_a_file_in_place_of_a_command_is_read(directory, eyespan):
    assert eyespan("poem.txt:2-3") == eyespan("read", "poem.txt:2-3")
    assert eyespan("poem.txt", "-N") == eyespan("-N", "poem.txt") == eyespan("read", "-N", "poem.txt")


@pytest.mark.parametrize("selector", ["", ":2", "?two", "::main", "@HEAD", "!/member"])
def test_a_file_without_a_suffix_is_read_with_any_selector(directory, eyespan, selector):
    (directory / "Makefile").write_text("one\ntwo\n")

    assert eyespan(f"Makefile{selector}") == eyespan("read", f"Makefile{selector}")
