"""A process beside the server, which connects to the stores of its roots and to nothing else.

Landlock knows ports and no hosts, so a server that connects by itself could reach any host on the port of a store. A
server therefore starts this process for each remote root, enters its sandbox and asks it for connections: it receives
them as open descriptors. Names are looked up here as well, each time again, and addresses of cloud metadata refused, so
the server needs no DNS. It asks for the credentials of a bucket in the same way, so it needs neither the files that
hold them nor the services that give them.

The process is in a sandbox of its own: the port of the store, DNS, the services of credentials, the files that looking
up a name and finding credentials needs. It ends with the server.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from _thread import start_new_thread
from dataclasses import asdict

from eyespan.errors import StoreFailure
from eyespan.extras.remote.credentials import ASK_CREDENTIALS, CredentialSource
from eyespan.extras.remote.web import MAX_PLACE_BYTES, METADATA_ANSWER, Server
from eyespan.sandbox import process
from eyespan.sandbox.server import Needs, enter


def start(server: Server, source: CredentialSource | None) -> socket.socket:
    """Fork the process, and return the socket by which it is asked for connections and credentials.

    Call it before the process has a second thread, and before the sandbox. Raises: OSError.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        return ours
    try:
        ours.close()
        _run(theirs, server, source)
    finally:
        os._exit(0)


def _run(asked: socket.socket, server: Server, source: CredentialSource | None) -> None:
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # sent to the whole group of processes by a terminal
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    process.die_with_parent(signal.SIGKILL)
    _close_all_but([asked.fileno()])
    ports = {53, server.place[1], *(source.ports if source else ())}
    enter(Needs(ports=tuple(sorted(ports)), files=tuple(source.directories if source else ())))
    while True:
        data, fds, _, _ = socket.recv_fds(asked, MAX_PLACE_BYTES, 1)
        if not data:
            return  # the server has ended
        for fd in fds:
            reply = socket.socket(fileno=fd)
            if data == ASK_CREDENTIALS:
                start_new_thread(_send_credentials, (reply, source))
            else:
                start_new_thread(_connect, (reply, data, server))


def _close_all_but(kept: list[int]) -> None:
    """Close what the server has open, so that this process holds no file, no client and no port of it."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _send_credentials(reply: socket.socket, source: CredentialSource | None) -> None:
    with reply:
        found = source.current() if source is not None else None
        reply.sendall(json.dumps(None if found is None else asdict(found)).encode())


def _connect(reply: socket.socket, data: bytes, server: Server) -> None:
    """Answer one request with a connection, or with the reason why there is none."""
    host, _, port = data.decode("utf-8", "replace").partition("\n")
    with reply:
        try:
            if (host, int(port)) != server.place:
                reply.send(b"no store of a root")
                return
            with server.connect_plain() as connected:
                socket.send_fds(reply, [b"connected"], [connected.fileno()])
        except StoreFailure:
            reply.send(METADATA_ANSWER)
        except (OSError, ValueError):
            reply.send(b"cannot be reached")
