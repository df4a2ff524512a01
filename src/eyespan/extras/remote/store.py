"""What a store of objects answers: ranges of one version of an object, and names. Errors are those of a read."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import Changed, NotFound, NotRegular, PermissionRefused, ReadError, StoreFailure

REQUEST_SECONDS = 0.3 * DEADLINE_SECONDS
"""The longest wait for a byte of an answer; the request is then repeated."""
MAX_TRIES = 4
FIRST_PAUSE_SECONDS = 0.1
"""The pause before the first repetition; each is three times as long as the one before."""
MAX_NAMES = 10_000
MAX_ETAG_CHARS = 1024
MAX_DATE_CHARS = 100
LEFT_OUT = "[a key that no path can name]"
"""The name, in listings, of keys with control characters, empty names or dots."""


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One version of an object. `etag` is "" where the store gives none; `modified_ns` is 0 likewise."""

    size_bytes: int
    etag: str
    modified_ns: int


def make_version(size_bytes: int, etag: str, modified_ns: int) -> ObjectVersion:
    """Return the version that a store describes. A time that no file has is unknown. Raises: ValueError."""
    if not 0 <= size_bytes < 1 << 63 or len(etag) > MAX_ETAG_CHARS:
        raise ValueError("invalid version")
    if any(char < " " or char == "\x7f" for char in etag):  # it goes back to its server in a header
        raise ValueError("invalid version")
    return ObjectVersion(size_bytes, etag, modified_ns if 0 <= modified_ns < 1 << 63 else 0)


_NUMBER = re.compile("[0-9]{1,18}")


def number(text: str) -> int:
    """Return the number that a store states. Raises: ValueError; `int` takes signs, blanks and any length."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    return int(text)


def modified_ns(text: str) -> int:
    """Return the second that a store states, as headers have no parts of one; 0 if it is not a time."""
    try:
        text = text[:MAX_DATE_CHARS]
        moment = datetime.fromisoformat(text) if text[:1].isdigit() else parsedate_to_datetime(text)
        return int(moment.timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """The names directly below a prefix. It is false if there are none."""

    directories: list[str]
    objects: dict[str, int]
    """Sizes in bytes by name. The name "" marks an empty directory."""
    is_cut: bool
    """There are more."""
    left_out: int = 0
    """The number of keys that no path can name."""

    def __bool__(self) -> bool:
        return bool(self.directories or self.objects or self.left_out)


class Store:
    """The objects below one prefix. A subclass provides `get`, and `names` and `below` if it has listings."""

    name = "the store"

    def get(
        self, key: str, start: int, size_bytes: int, version: ObjectVersion | None, context: CallContext, asked: str
    ) -> tuple[bytes, ObjectVersion]:
        """Return a range of an object and the version it belongs to; less than `size_bytes` at its end.

        With a `version`, any other version is the error `Changed`. Raises: ReadError.
        """
        raise NotImplementedError  # abstract

    def close(self) -> None:
        """Close the connections that are idle."""

    def names(self, prefix: str, context: CallContext, asked: str) -> ObjectNames:
        """Return the names directly below a prefix. Raises: ReadError; NotRegular, if the store has no listings."""
        raise NotRegular(asked, what="directory without a listing")

    def has_names(self, prefix: str, context: CallContext, asked: str) -> bool:
        """Return True if there is an object below a prefix. Raises: ReadError."""
        return bool(self.names(prefix, context, asked))

    def below(self, prefix: str, context: CallContext, asked: str) -> Iterator[tuple[str, ObjectVersion]]:
        """Yield the keys of all objects below a prefix, with their versions, a page per request.

        Raises: ReadError; NotRegular, if the store has no listings.
        """
        raise NotRegular(asked, what="directory without a listing")


def refused(status: int, asked: str, store: str, code: str = "") -> ReadError:
    """Return the error for the status of an answer; `code` is the store's own name for it."""
    if status in (404, 410):
        return NotFound(asked)
    if status in (401, 403):
        reason = f"{store} refused access ({code or status}): the credentials of this host do not allow it"
        return PermissionRefused(asked, errno.EACCES, reason)
    if status == 412:
        return Changed(asked)
    if status in (301, 302, 303, 307, 308):
        return StoreFailure(asked, f"{store} redirects to another place, which is not followed: check region and host")
    if status in (429, 503):
        return StoreFailure(asked, f"{store} is busy ({status}); try again later")
    return StoreFailure(asked, f"{store} answered with status {status}{f' ({code})' if code else ''}")
