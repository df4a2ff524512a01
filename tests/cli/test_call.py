"""`eyespan call`: arguments and replies in JSON."""

from __future__ import annotations

import json
import subprocess
import sys


def test_the_reply_is_one_json_object(directory, eyespan):
    code, out, _ = eyespan("call", "forge", '{"path": "poem.txt", "head": 1}')

    assert code == 0
    assert json.loads(out) == {
        "is_error": False,
        "content": [{"type": "text", "text": "1\tone\n"}],
        "structured": {
            "text": "1\tone\n",
            "binary": False,
            "path": "poem.txt",
            "start_line": 1,
            "end_line": 1,
        },
        "error": None,
        "facts": {
            "tokens": 4,
            "bytes": 6,
            "file_bytes": 19,
            "lines": 1,
            "left_out": ["poem.txt:2-"],
        },
    }


def test_settings_are_applied_and_an_error_reply_is_exit_status_1(directory, eyespan):
    code, out, _ = eyespan("call", "forge", "--set", "max_file_read_bytes=5", '{"path": "poem.txt"}')

    assert code == 1
    assert json.loads(out)["error"]["code"] == "ExecutionFailed"


def test_every_line_of_standard_input_is_answered_in_order(directory):
    calls = [
        {"id": 1, "args": {"path": "poem.txt", "head": 1}},
        {"id": "two", "args": {"path": "missing"}},
        {"args": {"path": "open.txt", "tail": 1}},
    ]
    lines = [*map(json.dumps, calls), "not json", '{"id": 9}', "", "[" * 100_000]
    done = subprocess.run(
        [sys.executable, "-m", "eyespan", "call", "forge", "--jsonl"],
        input="\n".join(lines).encode(), stdout=subprocess.PIPE, cwd=directory,
    )  # fmt: skip
    replies = [json.loads(line) for line in done.stdout.decode().split("\n") if line]

    assert [reply.get("id") for reply in replies] == [1, "two", None, None, None, None]
    assert [reply["is_error"] for reply in replies] == [False, True, False, True, True, True]
    assert replies[2]["structured"]["text"] == "2\tomega"
