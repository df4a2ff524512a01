"""Each caller has its own roots and dialects."""

from __future__ import annotations

import hashlib
import json

import pytest

from eyespan import Workspace
from eyespan.extras.http.caller_services import CallerServices
from eyespan.extras.http.http_options import HttpOptions
from tests.server.clients import TOKEN, HttpServer


@pytest.mark.parametrize("modern", [False, True])
def test_each_token_has_its_own_directories_and_dialects(place, tmp_path, modern):
    other = tmp_path / "other"
    other.mkdir()
    (other / "own.txt").write_text("own\n")
    (tmp_path / "bob.key").write_text("the-token-of-bob-here\n")
    (tmp_path / "bob.key").chmod(0o600)
    table = tmp_path / "callers.toml"
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    table.write_text(
        f'[ann]\nsha256 = "{digest}"\n'
        f'[bob]\ntoken_file = "{tmp_path}/bob.key"\nroots = ["{other}"]\ndialects = ["workspace"]\n'
    )
    log = tmp_path / "audit.jsonl"
    server = HttpServer(place, "--dialect", "codex", "--tokens", str(table), "--audit", str(log))

    def read(path):
        answer = server.rpc("tools/call", {"name": "read_file", "arguments": path}, modern=modern)[1]
        return answer["result"]["isError"]

    ann = [read({"file_path": str(place / "hello.txt")}), read({"file_path": str(other / "own.txt")})]
    server.token = "the-token-of-bob-here"
    bob = [read({"path": str(place / "hello.txt")}), read({"path": "own.txt"})]
    server.end()
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    assert ann == [False, True]
    assert bob == [True, False]
    assert [line["caller"].split()[0] for line in lines] == ["ann", "ann", "bob", "bob"]
    assert [line["verdict"] for line in lines] == ["read", "refused", "refused", "read"]


def test_a_tool_that_remembers_is_not_served_to_many(tmp_path):
    options = HttpOptions(settings={"native": {"remember": True}})

    with pytest.raises(ValueError, match="for one conversation"):
        CallerServices(lambda roots: Workspace(tmp_path), options, None)
