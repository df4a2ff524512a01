"""Tokens that change while the server runs."""

from __future__ import annotations

import hashlib
import os
import signal
import time

import pytest

from eyespan.extras.http.auth import Caller
from eyespan.extras.http.http_options import HttpOptions
from eyespan.extras.http.log import Log
from eyespan.extras.http.reload import Keeper, Secrets, SharedSecrets, has_token_files, watched_files
from tests.server.clients import HttpServer

ANN, BOB = "the-token-of-ann-here", "the-token-of-bob-here"


def row(name, token, **more):
    lines = [f"[{name}]", f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"']
    return "\n".join([*lines, *(f"{key} = {value}" for key, value in more.items())]) + "\n"


def test_secrets_reach_other_processes_whole():
    shared = SharedSecrets()
    secrets = Secrets(tokens={b"\x01" * 32: Caller("ann", roots=("/a",), rate=5)}, chain=b"chain", key=b"key")
    read_end, write_end = os.pipe()
    assert shared.read() is None
    pid = os.fork()
    if pid == 0:
        shared.publish(secrets)
        os._exit(0)
    os.waitpid(pid, 0)
    for fd in (read_end, write_end):
        os.close(fd)

    assert shared.read() == (2, secrets)


@pytest.mark.parametrize(
    ("options", "environment", "has_files"),
    [
        ({}, {}, True),
        ({}, {"EYESPAN_TOKEN": "x"}, False),
        ({"tokens": "t.toml"}, {"EYESPAN_TOKEN": "x"}, True),
        ({"no_token": True}, {}, False),
        ({"oauth_issuer": "https://x"}, {}, False),
    ],
)
def test_the_servers_whose_tokens_are_in_files(options, environment, has_files):
    assert has_token_files(HttpOptions(**options), environment) is has_files


def test_the_files_of_the_table_are_watched_too(tmp_path):
    table = tmp_path / "tokens.toml"
    table.write_text('[a]\ntoken_file = "/x/a.key"\n')
    options = HttpOptions(tokens=str(table), tls_cert="/x/cert", tls_key="/x/key")

    assert watched_files(options, has_tokens=True) == [str(table), "/x/a.key", "/x/cert", "/x/key"]


def test_a_table_that_changed_before_the_keeper_started_is_read(tmp_path):
    table = tmp_path / "tokens.toml"
    table.write_text(row("bob", BOB))

    keeper = Keeper(HttpOptions(tokens=str(table)), Log(), has_tokens=True, closes=())
    keeper.close()
    os.waitpid(keeper.pid, 0)

    assert keeper.secrets.read()[1].tokens == {hashlib.sha256(BOB.encode()).digest(): Caller("bob")}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_token_is_added_and_revoked_while_the_server_runs(place, tmp_path, workers):
    table = tmp_path / "tokens.toml"
    table.write_text(row("ann", ANN))
    server = HttpServer(place, "--tokens", str(table), "--workers", workers, "--rate", "1000000", token=ANN)

    def statuses():
        found = []
        for server.token in (ANN, BOB):
            found.append(server.rpc("tools/list")[0])
        return tuple(200 if status == 200 else 401 for status in found)

    def wait_for(expected):
        for _ in range(2000):
            # Several workers take turns, so one right answer is not enough.
            if {statuses() for _ in range(int(workers) * 3)} == {expected}:
                return expected
            time.sleep(0.05)
        return statuses()

    before = statuses()
    table.write_text(row("ann", ANN) + row("bob", BOB))
    added = wait_for((200, 200))
    table.write_text("[ann")
    server.process.send_signal(signal.SIGHUP)
    server.wait_for_line("not reloaded, the old tokens and certificates stay in force")
    broken = wait_for((200, 200))
    replacement = tmp_path / "new.toml"
    replacement.write_text(row("bob", BOB))
    replacement.rename(table)
    server.process.send_signal(signal.SIGHUP)
    revoked = wait_for((401, 200))
    status = server.end()

    assert [before, added, broken, revoked] == [(200, 401), (200, 200), (200, 200), (401, 200)]
    assert status == 0
    assert "not reloaded, the old tokens and certificates stay in force" in server.errors


def test_a_new_caller_gets_directories_below_those_of_the_server_only(place, tmp_path):
    table = tmp_path / "tokens.toml"
    table.write_text(row("ann", ANN))
    (place / "part").mkdir(exist_ok=True)
    server = HttpServer(place, "--tokens", str(table), "--dialect", "codex", token=ANN)
    table.write_text(
        row("ann", ANN) + row("bob", BOB, roots=f'["{place}/part"]') + row("eve", "of-eve" * 5, roots='["/etc"]')
    )
    found = []
    for _ in range(2000):
        server.token = BOB
        found = [server.rpc("tools/list")[0]]
        if found == [200]:
            break
        time.sleep(0.05)
    server.token = "of-eve" * 5
    found.append(server.rpc("tools/list")[0])
    server.end()

    assert found[0] == 200
    assert found[1] in (401, 429)
    assert "[eve] needs a restart" in server.errors
