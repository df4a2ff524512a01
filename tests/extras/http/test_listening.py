"""The listening socket, and a restart that refuses no connection."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from eyespan.extras.http.http_options import HttpOptions
from eyespan.extras.http.listening import listen, passed_socket
from eyespan.server.serve_options import InvalidOptions
from tests.server.clients import SERVE, TOKEN, read_response

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def ask(link, host):
    header = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
    header += f"Content-Type: application/json\r\nContent-Length: {len(PING)}\r\n\r\n"
    link.sendall(header.encode() + PING)
    return read_response(link)


def start(place, *arguments, sockets=(), **environment):
    command = [*SERVE, "--root", str(place), *arguments]
    if sockets:
        # systemd names the process that the sockets are for, and passes them from descriptor 3 on.
        script = (
            f"import os, sys; os.dup2({sockets[0].fileno()}, 3); "
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); os.execv(sys.argv[1], sys.argv[1:])"
        )
        command = [sys.executable, "-c", script, *command]
    process = subprocess.Popen(
        command,
        env={**os.environ, "EYESPAN_TOKEN": TOKEN, **environment},
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[each.fileno() for each in sockets],
    )
    return process, process.stderr.readline()


def end(process):
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    process.stderr.close()
    return process.returncode


def test_a_local_socket_is_for_its_owner_and_replaces_a_stale_one(place, tmp_path):
    path = tmp_path / "eyespan.sock"
    answers = []
    for _ in range(2):
        process, banner = start(place, "--http", f"unix:{path}")
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(path))
            answers.append(ask(link, "localhost")[0])
        mode = path.stat().st_mode & 0o777
        answers.append(end(process))

    assert answers == [200, 0, 200, 0]
    assert mode == 0o600
    assert f"unix:{path}" in banner


@pytest.mark.parametrize("what", ["a file", "a server"])
def test_a_local_socket_takes_no_place_of_another(tmp_path, what):
    path = tmp_path / "x.sock"
    other = None
    if what == "a file":
        path.write_text("")
    else:
        other = listen(HttpOptions(http=(f"unix:{path}", 0)))

    with pytest.raises(OSError, match="cannot listen on unix:"):
        listen(HttpOptions(http=(f"unix:{path}", 0)))

    assert path.exists()
    if other is not None:
        other.close()


@pytest.mark.parametrize(
    "environment", [{}, {"LISTEN_FDS": "1", "LISTEN_PID": "1"}, {"LISTEN_FDS": "2", "LISTEN_PID": "7"}]
)
def test_without_a_socket_of_systemd_the_options_are_wrong(environment):
    with pytest.raises(InvalidOptions, match="--http systemd"):
        passed_socket(environment, 7)

    assert environment == {}


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is for Linux")
def test_a_restart_by_systemd_refuses_no_connection(place):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.bind(("127.0.0.1", 0))
        held.listen(100)
        port = held.getsockname()[1]
        process, banner = start(place, "--http", "systemd", sockets=[held])
        statuses = []
        is_over = threading.Event()

        def client():
            while not is_over.is_set():
                with socket.create_connection(("127.0.0.1", port), 30) as link:
                    statuses.append(ask(link, f"127.0.0.1:{port}")[0])

        thread = threading.Thread(target=client)
        thread.start()
        ended = []
        for _ in range(3):
            count = len(statuses)
            while len(statuses) < count + 5:
                time.sleep(0.01)
            ended.append(end(process))
            process, _ = start(place, "--http", "systemd", sockets=[held])
        is_over.set()
        thread.join()
        ended.append(end(process))

    assert f"http://127.0.0.1:{port}/mcp" in banner
    assert ended == [0] * 4
    assert set(statuses) == {200}


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is for Linux")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_systemd_is_notified_of_start_and_stop(place, tmp_path, workers):
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(30)
        process, _ = start(place, "--http", "127.0.0.1:0", "--workers", workers, NOTIFY_SOCKET=str(path))
        ready = manager.recv(1000)
        end(process)
        stopping = manager.recv(1000)

    assert ready.startswith(b"READY=1\nSTATUS=http://127.0.0.1:")
    assert stopping == b"STOPPING=1"


def test_messages_are_json_on_request(place):
    process, first = start(place, "--http", "127.0.0.1:0", "--log", "json")
    port = int(json.loads(first)["url"].rpartition(":")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port), 30) as link:
        status = ask(link, "reader.example")[0]
    second = json.loads(process.stderr.readline())
    end(process)

    assert json.loads(first)["event"] == "start"
    assert (status, second["event"], second["status"], second["reason"]) == (421, "refused", 421, "host")
