"""A process beside the server, which connects to the stores of its roots and to nothing else.

Landlock knows ports and no hosts, so a server that connects by itself could reach any host on the port of a store. A
server therefore starts this process for each remote root, enters its sandbox and asks it for connections: it receives
them as open descriptors. Names are looked up here as well, each time again, and addresses of cloud metadata refused, so
the server needs no DNS. The relay of a bucket runs here too.

The process is in a sandbox of its own: the ports of the stores, DNS, the files that looking up a name needs. It ends
with the server.
"""

from __future__ import annotations

import os
import signal
import socket
from _thread import start_new_thread
from collections.abc import Sequence

from eyespan.errors import StoreFailure
from eyespan.extras.remote.relay import StoreRelay
from eyespan.extras.remote.web import MAX_PLACE_BYTES, METADATA_ANSWER, Server
from eyespan.sandbox import process
from eyespan.sandbox.server import Needs, enter

DNS_PORT = 53


def start(servers: Sequence[Server], relay: StoreRelay | None) -> socket.socket:
    """Fork the process, and return the socket by which it is asked for connections.

    Call it before the process has a second thread, and before the sandbox. Raises: OSError.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        if relay is not None:
            relay.leave()
        return ours
    try:
        ours.close()
        _run(theirs, servers, relay)
    finally:
        os._exit(0)


def _run(asked: socket.socket, servers: Sequence[Server], relay: StoreRelay | None) -> None:
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # sent to the whole group of processes by a terminal
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    process.die_with_parent(signal.SIGKILL)
    _close_all_but([asked.fileno(), *(relay.filenos() if relay is not None else [])])
    allowed = {server.place: server for server in servers}
    enter(Needs(ports=tuple(sorted({DNS_PORT, *[port for _, port in allowed]}))))
    if relay is not None:
        relay.start()
    while True:
        data, fds, _, _ = socket.recv_fds(asked, MAX_PLACE_BYTES, 1)
        if not data:
            return  # the server has ended
        for fd in fds:
            start_new_thread(_connect, (socket.socket(fileno=fd), data, allowed))


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


def _connect(reply: socket.socket, data: bytes, allowed: dict[tuple[str, int], Server]) -> None:
    """Answer one request with a connection, or with the reason why there is none."""
    host, _, port = data.decode("utf-8", "replace").partition("\n")
    with reply:
        try:
            server = allowed.get((host, int(port)))
            if server is None:
                reply.send(b"no store of a root")
                return
            with server.connect_plain() as connected:
                socket.send_fds(reply, [b"connected"], [connected.fileno()])
        except StoreFailure:
            reply.send(METADATA_ANSWER)
        except (OSError, ValueError):
            reply.send(b"cannot be reached")
