"""Decisions about connections, as functions of plain values: which one makes place for another, which has expired.

When all places are taken, a connection that does nothing makes place for a new one, so idle connections without a token
keep no client out. Of the candidates, those without a token go first, then those of addresses that hold more than their
share, then the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Phase = Literal["headers", "body", "answering", "sending", "idle", "closing"]

MAX_CONNECTIONS = 1024
"""Connections of one worker. Fewer if the system allows fewer descriptors."""
SPARE_DESCRIPTORS = 192
"""Descriptors that are left for files, pipes and roots."""
MAX_REFUSED = 64
"""Connections that are being answered with 503; more are reset."""

EXPIRY_SECONDS: dict[Phase, float] = {"headers": 5.0, "body": 5.0, "sending": 30.0, "idle": 15.0, "closing": 2.0}
"""The longest time in each phase. `headers`: from the connection, or from the first byte of a later request, to the
blank line. `sending`: a client that does not receive its answer. `idle`: between two requests. `closing`: a client that
has its last answer and does not close. A call has its own deadline."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A connection as it is seen when all places are taken."""

    key: Any
    address: str
    idle_since: float | None
    """The time since which it waits for a request; None while a request is received or answered."""
    has_token: bool
    """A request with a valid token has arrived on it."""


def capacity(max_descriptors: int) -> int:
    """Return the number of connections that a worker with this limit of descriptors may have."""
    return max(16, min(MAX_CONNECTIONS, max_descriptors - SPARE_DESCRIPTORS))


def to_drop(places: Iterable[Candidate], share: int) -> Any | None:
    """Return the key of the connection that makes place for another, or None if all of them are in use.

    Connections of an address with at most `share` of them make place only after those of addresses with more.
    """
    held: dict[str, int] = {}
    listed = list(places)
    for place in listed:
        held[place.address] = held.get(place.address, 0) + 1
    candidates = [
        (place.has_token, held[place.address] <= share, place.idle_since, place.key)
        for place in listed
        if place.idle_since is not None
    ]
    first = min(candidates, key=lambda candidate: candidate[:3], default=None)
    return None if first is None else first[3]


def has_expired(phase: Phase, since: float, now: float) -> bool:
    """Return True if a connection has been in a phase for too long."""
    limit = EXPIRY_SECONDS.get(phase)
    return limit is not None and now - since > limit


def to_abort(unsent: Iterable[tuple[float, int, Any]], limit_bytes: int) -> list[Any]:
    """Return the keys of the connections to close so that the rest has at most this many bytes to send.

    Each is a time since which the client does not receive, the size of its answer, and a key. The oldest go first.
    """
    waiting = sorted(unsent, key=lambda each: each[0])
    total = sum(size for _, size, _ in waiting)
    keys = []
    for _, size, key in waiting:
        if total <= limit_bytes:
            break
        total -= size
        keys.append(key)
    return keys
