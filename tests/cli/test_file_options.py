"""Every option and operand that names a file: a file that cannot be used is one plain line, never a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from eyespan.cli.main import COMMANDS, load_command

WORDS = {
    ("read", "--config"): ["read", "a.txt"],
    ("read", "--root"): ["read", "a.txt"],
    ("read", "PATH"): ["read"],
    ("export", "--to"): ["export", "a.txt"],
    ("audit", "FILE"): ["audit"],
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
from eyespan.server import options, sandboxing
import eyespan.config
import eyespan.view.server
try:
    import eyespan.server.http.app
except options.InvalidOptions:
    pass


def stop(*_):
    os.write(2, b"started\\n")
    os._exit(0)


sandboxing.confine = stop
eyespan.view.server.ViewServer.serve_forever = stop
for words in json.loads(sys.argv[1]):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
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
        (command, option.names[-1])
        for command in COMMANDS
        for section in load_command(command).OPTIONS.values()
        for option in section
        if option.value in ("FILE", "DIR") and (command == "read" or option.names[-1] not in ("--root", "--config"))
    }

    assert named <= set(WORDS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs the commands in forked processes")
@pytest.mark.parametrize("option", WORDS, ids=" ".join)
def test_a_file_that_cannot_be_used_is_one_plain_line(option, tmp_path):
    (tmp_path / "a.txt").write_text("text\n")
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory.jsonl").mkdir()
    (tmp_path / "not-utf-8.jsonl").write_bytes(b"\xff\n")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "not-utf-8").write_bytes(b"\xff\xfe\x80 = \xe9\n")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "unreadable").write_text("text\n")
    for name in ("unreadable", "not-utf-8", "empty"):
        (tmp_path / name).chmod(0o000 if name == "unreadable" else 0o600)
    name = option[1]
    suffix = ".jsonl" if name == "--to" else ""
    prefix = "unix:" if name == "unix:" else ""
    given = [[name, state + suffix] if name.startswith("--") else [prefix + state] for state in STATES]
    lines = [[*WORDS[option], *more] for more in given]
    environment = {name: value for name, value in os.environ.items() if name != "EYESPAN_TOKEN"}

    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(lines)], cwd=tmp_path, capture_output=True, text=True, env=environment
    )

    assert done.stderr == ""
    found = dict(zip(STATES, [json.loads(line) for line in done.stdout.splitlines()], strict=True))
    assert {state: text for state, (_, text) in found.items() if ugly(text)} == {}
    assert {status for status, _ in found.values()} <= {0, 1, 2}
    silent = {state for state, (status, text) in found.items() if status and not text.startswith("eyespan")}
    assert silent == set()


def ugly(text: str) -> bool:
    """Return whether a text shows a number of an error, a traceback, the words of a library, or too many lines."""
    lines = [line for line in text.splitlines() if line.startswith("eyespan")]
    return len(lines) > 2 or bool(UGLY.search(text))
