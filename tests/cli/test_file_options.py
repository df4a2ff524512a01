"""Every option and operand that names a file: a file that cannot be used is one plain line, never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from eyespan.cli.main import COMMANDS, command_parser
from eyespan.cli.options import COMMON

WORDS = {
    ("read", "--config"): ["read", "a.txt"],
    ("read", "--root"): ["read", "a.txt"],
    ("read", "PATH"): ["read"],
    ("export", "--to"): ["export", "a.txt"],
    ("view", "--audit"): ["view", "--no-open"],
    ("serve", "DIR"): ["serve"],
    ("serve", "--audit"): ["serve"],
    ("serve", "--tokens"): ["serve", "--http", "127.0.0.1:0"],
    ("serve", "--token-file"): ["serve", "--http", "127.0.0.1:0"],
    ("serve", "--tls-cert"): ["serve", "--http", "127.0.0.1:0", "--no-token", "--tls-key", "a.txt"],
    ("serve", "--tls-key"): ["serve", "--http", "127.0.0.1:0", "--no-token", "--tls-cert", "a.txt"],
    ("serve", "unix:"): ["serve", "--no-token", "--http"],
}
"""A command line for each option that names a file; operands are in capitals."""
UGLY = re.compile(r"Errno|Traceback|raised |codec|0x[0-9a-f]+|_ssl\.c|<class|\bNone\b|\x00")
STATES = ("missing/name", "directory", "unreadable", "not-utf-8", "empty", "a.txt/below", "loop", "n" * 300, "nul\0")
RUN = """
import json, os, sys

from eyespan.cli.main import main
from eyespan.server import serve_options, sandboxing
import eyespan.config
import eyespan.extras.http.page.local_server
try:
    import eyespan.extras.http.app
except serve_options.InvalidOptions:
    pass


def stop(*_):
    os.write(2, b"started\\n")
    os._exit(0)


sandboxing.confine = stop
eyespan.extras.http.page.local_server.ViewServer.serve_forever = stop
for directory, words in json.loads(sys.argv[1]):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir(directory)
        os.dup2(writer, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        os.closerange(3, 64)
        try:
            status = main(words)
        except BaseException as error:
            os.write(2, f"raised {error!r}".encode())
            status = 99
        os._exit(status)
    os.close(writer)
    with open(reader, errors="replace") as file:
        text = file.read()
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text]), flush=True)
"""


def test_every_option_that_names_a_file_is_tried():
    named = {
        (command, option.option_strings[-1])
        for command in COMMANDS
        for title, section in command_parser(command).sections().items()
        for option in section
        if option.metavar in ("FILE", "DIR") and (command == "read" or title != COMMON)
    }

    assert named <= set(WORDS)


def make_files(directory):
    """Make a file for each of `STATES` that is one."""
    (directory / "a.txt").write_text("text\n")
    (directory / "directory").mkdir()
    (directory / "directory.jsonl").mkdir()
    (directory / "not-utf-8.jsonl").write_bytes(b"\xff\n")
    (directory / "loop.jsonl").symlink_to("loop.jsonl")
    (directory / "not-utf-8").write_bytes(b"\xff\xfe\x80 = \xe9\n")
    (directory / "empty").touch()
    (directory / "loop").symlink_to("loop")
    (directory / "unreadable").write_text("text\n")
    for name in ("unreadable", "not-utf-8", "empty"):
        (directory / name).chmod(0o000 if name == "unreadable" else 0o600)


def command_lines(option):
    """Return the command line for each of `STATES`."""
    name = option[1]
    suffix = ".jsonl" if name == "--to" else ""
    prefix = "unix:" if name == "unix:" else ""
    given = [[name, state + suffix] if name.startswith("--") else [prefix + state] for state in STATES]
    return [[*WORDS[option], *more] for more in given]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The status and the messages for each option and state, all from one process, in a directory for each option."""
    if not hasattr(os, "fork"):
        pytest.skip("runs the commands in forked processes")
    jobs = []
    for option in WORDS:
        directory = tmp_path_factory.mktemp("option")
        make_files(directory)
        jobs += [(str(directory), words) for words in command_lines(option)]
    environment = {name: value for name, value in os.environ.items() if name != "EYESPAN_TOKEN"}
    command = [sys.executable, "-c", RUN, json.dumps(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return dict(zip([(option, state) for option in WORDS for state in STATES], lines, strict=True))


@pytest.mark.parametrize("option", WORDS, ids=" ".join)
def test_a_file_that_cannot_be_used_is_one_plain_line(option, results):
    found = {state: results[option, state] for state in STATES}

    assert {state: text for state, (_, text) in found.items() if ugly(text)} == {}
    assert {status for status, _ in found.values()} <= {0, 1, 2}
    silent = {state for state, (status, text) in found.items() if status and not text.startswith("eyespan")}
    assert silent == set()


def ugly(text: str) -> bool:
    """Return whether a text shows a number of an error, a traceback, the words of a library, or too many lines."""
    lines = [line for line in text.splitlines() if line.startswith("eyespan")]
    return len(lines) > 2 or bool(UGLY.search(text))
