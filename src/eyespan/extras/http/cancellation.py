"""Cancellation by a notification, up to revision 2025-11-25: a request that names the one to stop.

The answer to `initialize` names a session, which clients repeat in every request. The name is random, no worker stores
it, and it serves only here: a notification stops the request with its id of the same caller and the same session, and
nothing else. From 2026-07-28 on, and for clients without a session, closing the connection cancels a request.

A notification may reach another worker than its request. Workers therefore write the notifications that they cannot
match to shared memory, each to its own row, and look at the rows of the others every half second.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from eyespan.context import CallContext
from eyespan.server import json_messages, mcp_names

Key = tuple[str, str, str | int]
"""The caller, the session and the id of a request."""

SESSION = b"mcp-session-id"
MAX_SESSION_BYTES = 128
SLOTS = 256
"""Notifications of one worker that the others can still read."""
_DIGEST_BYTES = 16
_COUNT = struct.Struct("=Q")
_ROW_BYTES = _COUNT.size + SLOTS * _DIGEST_BYTES


def new_session() -> bytes:
    """Return the name of a session, which cannot be guessed."""
    return os.urandom(16).hex().encode()


def key_of(caller: str, headers: Mapping[bytes, Sequence[bytes]], request_id: Any) -> Key | None:
    """Return the key of a request, or None if it belongs to no session."""
    names = headers.get(SESSION, ())
    if len(names) != 1 or not 0 < len(names[0]) <= MAX_SESSION_BYTES or not mcp_names.is_request_id(request_id):
        return None
    return caller, names[0].decode("latin-1"), request_id


class Mailbox:
    """Notifications in memory that is shared with workers forked later: one row for each."""

    def __init__(self, workers: int = 1) -> None:
        self._memory = mmap.mmap(-1, _ROW_BYTES * workers)
        self._workers = workers
        self._row = 0
        self._seen = [0] * workers

    def take_row(self, number: int) -> None:
        """Use the row `number`; notifications that are in the rows already are old."""
        self._row = number
        self._seen = [self._count(row) for row in range(self._workers)]

    def put(self, digest: bytes) -> None:
        """Write a notification for the other workers."""
        if self._workers == 1:
            return
        count = self._count(self._row)
        start = self._row * _ROW_BYTES
        offset = start + _COUNT.size + count % SLOTS * _DIGEST_BYTES
        self._memory[offset : offset + _DIGEST_BYTES] = digest
        _COUNT.pack_into(self._memory, start, count + 1)

    def take(self) -> set[bytes]:
        """Return the notifications of the other workers that are new."""
        digests: set[bytes] = set()
        for row in range(self._workers):
            count = self._count(row)
            if row != self._row:
                for number in range(max(self._seen[row], count - SLOTS), count):
                    offset = row * _ROW_BYTES + _COUNT.size + number % SLOTS * _DIGEST_BYTES
                    digests.add(self._memory[offset : offset + _DIGEST_BYTES])
            self._seen[row] = count
        return digests

    def _count(self, row: int) -> int:
        return int(_COUNT.unpack_from(self._memory, row * _ROW_BYTES)[0])


class Cancellations:
    """The running requests of one worker that a notification can stop."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._running: dict[Key, CallContext] = {}

    def add(self, key: Key, context: CallContext) -> None:
        """Note a request that runs. A second one with the same key replaces the first."""
        self._running[key] = context

    def remove(self, key: Key, context: CallContext) -> None:
        """Forget a request that has ended."""
        if self._running.get(key) is context:
            del self._running[key]

    def cancel(self, key: Key) -> None:
        """Stop the request with this key, in whichever worker it runs."""
        context = self._running.get(key)
        if context is None:
            self._mailbox.put(_digest(key))
        else:
            context.cancelled = True

    def look(self) -> None:
        """Stop the requests that notifications of other workers name."""
        digests = self._mailbox.take()
        if digests:
            for key, context in self._running.items():
                if _digest(key) in digests:
                    context.cancelled = True


def _digest(key: Key) -> bytes:
    return blake2b(b"".join(json_messages.dumps(list(key))), digest_size=_DIGEST_BYTES).digest()
