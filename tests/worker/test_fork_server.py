from __future__ import annotations

import errno
import os
import socket

import pytest

from eyespan.errors import Internal
from eyespan.worker import protocol
from eyespan.worker.protocol import ENDED, STARTED
from tests.bad_worker import DECODERS

fork_server = pytest.importorskip("eyespan.worker.fork_server", reason="needs fork")


def test_a_fork_that_fails_is_reported_as_a_process_that_cannot_be_started(monkeypatch):
    def no_fork():
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", no_fork)
    control, _other = socket.socketpair()
    channel, client = socket.socketpair()
    with control, _other, channel, client, open(DECODERS, "rb") as file:
        server = fork_server.ForkServer(control, {"memory_bytes": 1 << 30, "seconds": 1})
        server._fork(None, {"decoder": "echo", "params": {}}, file.fileno(), channel)
        data = client.recv(4096)

    assert (data[:1], data[-8:]) == (STARTED, ENDED + bytes(4))
    header, _ = protocol.parse(bytearray(data[1:-8]), "asked", "echo")
    error = protocol.error_from(header, "asked", "echo")
    assert type(error) is Internal
    assert str(error) == f"the decoding process cannot be started: {os.strerror(errno.EAGAIN)}"
