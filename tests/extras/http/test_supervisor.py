"""Several workers: one that is killed is replaced, and all end with their supervisor."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.server.clients import TOKEN, HttpServer

from .sdk import connect


@pytest.mark.parametrize("calls", [pytest.param(100, id="100"), pytest.param(1000, id="1000", marks=pytest.mark.soak)])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_killing_a_worker_causes_no_wrong_answer(place, mode, calls):
    server = HttpServer(place, "--dialect", "codex", "--workers", "2", "--rate", "1000000")
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    killed = []
    wrong = []
    lost = []

    async def talk(numbers):
        """Make calls over one connection, and connect again when its worker dies."""
        left = list(numbers)
        for _ in range(20):
            try:
                async with connect(server, mode) as client:
                    while left:
                        line = left[0] % 1000 + 1
                        arguments = {"file_path": str(place / "app.py"), "offset": line, "limit": 1}
                        reply = await client.call_tool("read_file", arguments)
                        if reply.content[0].text != f"L{line}: line {line}":
                            wrong.append((line, reply))
                        if left.pop(0) == calls // 2:
                            killed.append(int(children.read_text().split()[0]))
                            os.kill(killed[0], signal.SIGKILL)
            except (BaseExceptionGroup, Exception) as error:
                lost.append(error)
            if not left:
                return
        wrong.append((left, "no answer"))

    async def all_of_them():
        await asyncio.gather(*(talk(range(start, calls, 4)) for start in range(4)))

    asyncio.run(all_of_them())
    alive = children.read_text().split()
    metrics = server.metrics()
    status = server.end()

    assert wrong == []
    assert len(killed) == 1
    assert str(killed[0]) not in alive
    assert len(alive) == 2
    assert "eyespan_workers 2" in metrics
    assert status == 0


LATE_SIGNAL = """
import os, signal, sys, threading
from eyespan.cli import run

wait = signal.sigwait

def interrupted_wait(numbers):
    is_held = set(numbers) <= signal.pthread_sigmask(signal.SIG_BLOCK, [])
    print(is_held, threading.active_count(), flush=True)
    signal.sigwait = wait
    os.kill(os.getpid(), signal.SIGTERM)
    return wait(numbers)

signal.sigwait = interrupted_wait
sys.argv = ["eyespan", "serve", "--root", sys.argv[1], "--http", "127.0.0.1:0", "--workers", "2"]
run()
"""


def test_a_signal_right_before_a_wait_of_the_supervisor_ends_it(place):
    """Python would handle it after the wait, and the wait ends with a worker, which may be never."""
    command = [sys.executable, "-c", LATE_SIGNAL, str(place)]
    made = subprocess.run(command, env={**os.environ, "EYESPAN_TOKEN": TOKEN}, capture_output=True, timeout=60)

    # Signals are held until they are waited for, and there is no other thread that would take them.
    assert made.stdout == b"True 1\n"
    assert made.returncode == 0


def test_workers_end_with_their_supervisor(place):
    server = HttpServer(place, "--workers", "2")
    listed = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    children = [int(pid) for pid in listed.split()]
    while "eyespan_workers 2" not in server.metrics():
        time.sleep(0.05)
    server.end(signal.SIGKILL)
    for _ in range(1200):
        left = [pid for pid in children if os.path.exists(f"/proc/{pid}") and not _is_zombie(pid)]
        if not left:
            break
        time.sleep(0.1)

    assert left == []


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_rate_holds_across_workers_on_kept_and_on_new_connections(place):
    server = HttpServer(place, "--workers", "2", "--rate", "40")
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    header = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
    header += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    kept = []
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        for _ in range(20):
            link.sendall(header.encode() + body)
            kept.append(int(link.recv(4096).split()[1]))
    statuses = kept + [server.request(body)[0] for _ in range(30)]
    server.end()

    # A token bucket refills while the calls are made, so the first refusal may come a little later.
    assert kept == [200] * 20
    assert 40 <= statuses.count(200) <= 44
    assert statuses[-1] == 429
