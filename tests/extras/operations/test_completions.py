"""`eyespan completions` and `eyespan manual`."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from eyespan.cli.main import COMMANDS, command_parser
from eyespan.extras.operations.completions import completed
from eyespan.extras.operations.manual import page


def complete(script, *words):
    """Return what bash offers for the last word."""
    line = (
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _eyespan; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    own = f'eyespan() {{ {sys.executable} -m eyespan "$@"; }}'
    run = subprocess.run(["bash", "-c", f"{own}\n{script}\n{line}"], capture_output=True, text=True)
    assert run.stderr == ""
    return set(run.stdout.split())


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes(eyespan):
    _, script, _ = eyespan("completions", "bash")

    assert complete(script, "eyespan", "re") == {"read"}
    assert complete(script, "eyespan", "read", "po") == set()  # bash completes files


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {*COMMANDS, "help"}),
        (["re"], {"read"}),
        (["--root", "re"], set()),
        (["--root", "x", "re"], {"read"}),
        (["--time"], {"--timeout"}),
        (["read", "--no"], {"--no-ignore", "--no-numbers", "--no-plugins"}),
        (["read", "--color", "al"], {"always"}),
        (["schema", "claude-"], {"claude-upstream"}),
        (["serve", "--dialect", "nat"], {"native"}),
        (["completions", "z"], {"zsh"}),
    ],
)
def test_words_are_completed(words, expected):
    assert set(completed(words)) == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_offered(command):
    sections = command_parser(command).sections().values()

    assert set(completed([command, "-"])) == {
        name for section in sections for option in section for name in option.option_strings
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_valid(shell, eyespan):
    code, script, error = eyespan("completions", shell)

    assert (code, error) == (0, "")
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, capture_output=True).stderr == ""


def test_another_shell_is_refused(eyespan):
    assert eyespan("completions", "tcsh")[0] == 2


def test_the_manual_holds_every_option():
    for command in COMMANDS:
        for section in command_parser(command).sections().values():
            for option in section:
                assert option.option_strings[-1].replace("-", r"\-") in page()


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_the_manual_is_valid_roff():
    run = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=page(), capture_output=True, text=True)

    assert run.stderr == ""
