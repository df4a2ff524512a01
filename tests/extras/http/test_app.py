"""Start and end of the HTTP server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from eyespan.extras.http.app import listen
from eyespan.extras.http.http_options import HttpOptions
from tests.server.clients import SERVE, TOKEN, HttpServer


def test_the_token_is_made_once_and_only_its_owner_can_read_it(place, tmp_path):
    first = HttpServer(place, token=None, XDG_STATE_HOME=str(tmp_path))
    path = tmp_path / "eyespan" / "token.key"
    token = path.read_text().strip()
    first.token = token
    status = first.rpc("tools/list")[0]
    first.end()
    second = HttpServer(place, token=None, XDG_STATE_HOME=str(tmp_path))
    second.end()

    assert status == 200
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(token) >= 43
    assert path.read_text().strip() == token
    assert str(path) in first.banner
    assert token not in first.banner


def test_the_token_is_not_on_the_command_line(server):
    assert TOKEN.encode() not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()


def test_running_reads_are_finished_before_the_server_ends(place, slow_call):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "1")
    answers = []
    reading = threading.Thread()
    while "eyespan_calls_running 1" not in server.metrics():
        if not reading.is_alive():  # not started yet, or over before it was seen
            reading = threading.Thread(target=lambda: answers.append(server.rpc("tools/call", slow_call)))
            reading.start()
        time.sleep(0.01)
    status = server.end(signal.SIGTERM)
    reading.join()

    assert status == 0
    assert answers[-1][1]["result"]["isError"] is True  # the answer of the tool, not a closed connection


def test_wrong_options_and_tokens_are_reported_at_the_start(place, tmp_path):
    def start(*arguments, **environment):
        argv = [*SERVE, "--root", str(place), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **environment})
        return done.returncode, done.stderr

    (tmp_path / "open.key").write_text("x" * 40)
    (tmp_path / "open.key").chmod(0o644)

    assert start("--http", "0.0.0.0:0")[0] == 2
    assert start("--http", "0.0.0.0:0", "--allow-remote", "--no-token")[0] == 2
    assert start("--http", "127.0.0.1:0", EYESPAN_TOKEN="short")[0] == 2
    code, text = start("--http", "127.0.0.1:0", "--token-file", str(tmp_path / "open.key"))
    assert (code, "chmod 600" in text) == (2, True)


def test_no_answer_waits_for_an_acknowledgement():
    async def accepted():
        found = asyncio.Queue()
        with listen(HttpOptions(http=("127.0.0.1", 0))) as listener:
            async with await asyncio.start_server(lambda _, writer: found.put_nowait(writer), sock=listener):
                _, here = await asyncio.open_connection(*listener.getsockname())
                there = await found.get()
                link = there.get_extra_info("socket")
                nodelay = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                for writer in (here, there):
                    writer.close()
                    await writer.wait_closed()
                return nodelay

    assert asyncio.run(accepted())
