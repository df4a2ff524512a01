"""The roots of this extra: a prefix of a bucket, or a directory of a web server."""

from __future__ import annotations

import os
from _thread import allocate_lock
from typing import TYPE_CHECKING
from urllib.parse import unquote

from eyespan.errors import OutsideRoot, StoreFailure
from eyespan.extras.remote.bucket import BucketStore
from eyespan.extras.remote.root import StoreRoot
from eyespan.extras.remote.store import Store
from eyespan.extras.remote.web import WebStore

if TYPE_CHECKING:
    from socket import socket


MAX_DECODED = 4
"""The spellings of a key, each decoded from the one before it, that a server may take it for."""


class NetworkRoot(StoreRoot):
    """A root whose store is in the network.

    The client is made at the first read, in the process that reads: two processes must not share a connection.
    """

    def __init__(self, text: str) -> None:
        """Raises: ValueError."""
        super().__init__(text)
        self._store: Store | None = None
        self._connector: socket | None = None
        """The socket of the process that connects for this one, in a sandbox without a network."""
        self._pid = 0
        self._lock = allocate_lock()

    def store(self, asked: str = "") -> Store:
        """Return the client of this process. Raises: Missing, StoreFailure."""
        with self._lock:
            if self._store is None or self._pid != os.getpid():
                self._store, self._pid = self._client(asked), os.getpid()
            return self._store

    def _client(self, asked: str) -> WebStore | BucketStore:
        kind = WebStore if self.url.startswith("http") else BucketStore
        return kind(self.url, asked, self._connector)

    def confine(self) -> None:
        """Start a process that connects to the store and finds the credentials of a bucket."""
        from eyespan.extras.remote import connector

        try:
            client = self._client("")
        except StoreFailure:
            return  # an address that is invalid: reported when it is read
        self._connector = connector.start(client.server, client.credentials)

    def _other_keys(self, key: str, asked: str) -> list[str]:
        """Return the keys that a web server may take a key for: decoded further, without parameters."""
        if not self.url.startswith("http"):
            return []
        spellings = [key]
        while (decoded := unquote(spellings[-1], errors="surrogateescape")) != spellings[-1]:
            spellings.append(decoded)
        names = [[_without_parameters(name) for name in one.replace("\\", "/").split("/")] for one in spellings]
        if len(spellings) > MAX_DECODED or any(".." in parts for parts in names):
            raise OutsideRoot(asked)
        return [*spellings[1:], *["/".join(parts) for parts in names]]

    def close(self) -> None:
        """Drop the client."""
        self.is_closed = True
        store, self._store = self._store, None
        if store is not None:
            store.close()


def _without_parameters(name: str) -> str:
    """Return a name up to the first sign after which a server looks for no name: `.env;v=1`."""
    return min([name.partition(sign)[0] for sign in ";?#\0"], key=len).strip()
