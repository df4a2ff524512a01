"""Messages to systemd (`Type=notify`). Without systemd nothing is sent."""

from __future__ import annotations

import os
import socket


class Notifier:
    """The socket of systemd, connected before the sandbox is entered, which allows no new connection."""

    def __init__(self, environment: os._Environ[str] | dict[str, str]) -> None:
        """Connect to the socket that the environment names, and remove it from there."""
        self._socket: socket.socket | None = None
        address = environment.pop("NOTIFY_SOCKET", "")
        if not address or not hasattr(socket, "AF_UNIX"):
            return
        if address.startswith("@"):
            address = "\0" + address[1:]
        link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            link.connect(address)
        except OSError:
            link.close()
            return
        self._socket = link

    def send(self, *states: str) -> None:
        """Send states, for example `READY=1`."""
        if self._socket is not None:
            try:
                self._socket.send("\n".join(states).encode())
            except OSError:
                pass  # systemd has ended, or the message was dropped

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
