"""The listening socket: a TCP address, a local socket (`unix:PATH`), or one that systemd passes (`systemd`)."""

from __future__ import annotations

import errno
import os
import socket
import stat
from dataclasses import replace

from eyespan.extras.http.http_options import LOCAL_PREFIX, SYSTEMD, HttpOptions
from eyespan.server.serve_options import InvalidOptions

BACKLOG = 1024
FIRST_PASSED_FD = 3
"""The descriptor of the first socket that systemd passes."""
SOCKET_MODE = 0o600
"""The mode of a local socket. A socket unit of systemd can give it to others."""


def listen(options: HttpOptions) -> socket.socket:
    """Return the listening socket. Raises: InvalidOptions, OSError, with a message that names the address."""
    host, port = options.http
    if host == SYSTEMD:
        listener = passed_socket(os.environ, os.getpid())
    else:
        try:
            listener = _local_socket(host[len(LOCAL_PREFIX) :]) if host.startswith(LOCAL_PREFIX) else _tcp(host, port)
        except OSError as error:
            name = host if host.startswith(LOCAL_PREFIX) else f"{host}:{port}"
            raise OSError(error.errno, f"cannot listen on {name}: {error.strerror or error}") from None
    listener.setblocking(False)
    return listener


def with_address(options: HttpOptions, listener: socket.socket) -> HttpOptions:
    """Return the options with the address of a socket that systemd passed. Raises: InvalidOptions."""
    if options.http[0] != SYSTEMD or listener.family == socket.AF_UNIX:
        return options
    host, port = listener.getsockname()[:2]
    known = replace(options, http=(host, port))
    known.validate()
    return known


def port_of(listener: socket.socket) -> int | None:
    """Return the port of a socket; None for a local one."""
    return None if listener.family == getattr(socket, "AF_UNIX", None) else int(listener.getsockname()[1])


def url_of(options: HttpOptions, listener: socket.socket) -> str:
    """Return the address of the server for its start message."""
    port = port_of(listener)
    if port is None:
        return f"{LOCAL_PREFIX}{listener.getsockname()} (http://localhost/mcp)"
    host = options.http[0]
    scheme = "http" if options.tls_cert is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def passed_socket(environment: os._Environ[str] | dict[str, str], pid: int) -> socket.socket:
    """Return the socket that systemd passes by its protocol. Raises: InvalidOptions.

    The variables are removed, so that no child takes the socket for its own.
    """
    count, owner = environment.pop("LISTEN_FDS", ""), environment.pop("LISTEN_PID", "")
    environment.pop("LISTEN_FDNAMES", None)
    if not count or owner != str(pid):
        raise InvalidOptions("--http systemd: no socket was passed; start the server by a socket unit")
    if count != "1":
        raise InvalidOptions(f"--http systemd: {count} sockets were passed; the socket unit must have one")
    try:
        listener = socket.socket(fileno=FIRST_PASSED_FD)
    except OSError as error:
        raise InvalidOptions(f"--http systemd: descriptor {FIRST_PASSED_FD} is no socket: {error}") from None
    if listener.type != socket.SOCK_STREAM or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise InvalidOptions("--http systemd: the passed socket does not listen; use ListenStream and Accept=no")
    os.set_inheritable(FIRST_PASSED_FD, False)
    return listener


def _tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Name the protocol: asyncio sets TCP_NODELAY only on sockets that are known to be TCP. An answer takes two writes,
    # and without that option the second one waits 40 ms for the client to acknowledge the first.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _local_socket(path: str) -> socket.socket:
    if not hasattr(socket, "AF_UNIX"):
        raise InvalidOptions("this system has no local sockets")
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~SOCKET_MODE)
    try:
        listener.bind(path)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def _remove_stale(path: str) -> None:
    """Remove the socket of a server that has ended. Raises: OSError if it is in use or no socket."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise OSError(errno.EEXIST, "the file exists and is no socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise OSError(errno.EADDRINUSE, "another server uses this socket")
