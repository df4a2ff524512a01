"""A remote root: the guard treats it as a directory whose file system may not answer."""

from __future__ import annotations

import os
from _thread import allocate_lock

from eyespan.errors import InvalidPath, NotFound, NotRegular
from eyespan.guard.listing import Entry, Listing
from eyespan.guard.remote.address import split_address
from eyespan.guard.remote.source import FIRST_BYTES, RemoteFile
from eyespan.guard.roots import Root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.guard.remote.store import Store
    from eyespan.policy import Policy


ENDPOINTS = (
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AZURE_STORAGE_ENDPOINT",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""Variables that hold the address of a store, or of its credentials."""

_SELECTOR_SIGNS = frozenset(":!@")


class RemoteRoot(Root):
    """A prefix of a bucket, or a directory of a web server, under the name of a directory.

    The client is made at the first read, in the process that reads: it has threads, which do not survive a fork.
    """

    __slots__ = ("_lock", "_pid", "_store", "text", "url")

    is_remote = True

    def __init__(self, text: str) -> None:
        """Raises: ValueError."""
        self.fd = self.device = -1
        self.never_hangs = False
        self.text = text
        self.url, self.path = split_address(text)
        self.canonical = self.path
        self.spellings = (tuple([part for part in self.path.split("/") if part]),)
        self.prefix = f"{self.path}/"
        self.is_closed = False
        self._store: Store | None = None
        self._pid = 0
        self._lock = allocate_lock()

    @property
    def address(self) -> str:
        return self.text

    def store(self, asked: str = "") -> Store:
        """Return the client of this process. Raises: Missing, StoreFailure."""
        with self._lock:
            if self._store is None or self._pid != os.getpid():
                if self.url.startswith("http"):
                    from eyespan.guard.remote.web import WebStore

                    self._store = WebStore(self.url, asked)
                else:
                    from eyespan.guard.remote.bucket import BucketStore

                    self._store = BucketStore(self.url, asked)
                self._pid = os.getpid()
            return self._store

    def addresses(self) -> list[str]:
        """Return the URLs of the servers that this root may ask, as far as the host's environment names them."""
        if self.url.startswith("http"):
            return [self.url]
        named = [value for name, value in os.environ.items() if name in ENDPOINTS and "://" in value]
        return [*named, "https://store"]

    def open(self, rest: str, asked: str, context: CallContext) -> RemoteFile:
        """Open the object that a path below the root names. Raises: ReadError."""
        store = self.store(asked)
        key = _key(rest, asked)
        if not key:
            raise NotRegular(asked, what="directory")
        try:
            data, version = store.get(key, 0, FIRST_BYTES, None, context, asked)
        except NotFound:
            if self._is_directory(store, key, context, asked):
                raise NotRegular(asked, what="directory") from None
            raise
        return RemoteFile(store, key, version, data, url=f"{self.url}/{key}", asked=asked, path=key, context=context)

    def _is_directory(self, store: Store, key: str, context: CallContext, asked: str) -> bool:
        if not _SELECTOR_SIGNS.isdisjoint(key):
            return False  # most likely a selector after a name, which is tried next: save a request
        try:
            directories, objects, _ = store.names(key, context, asked)
        except NotRegular:
            return False  # a web server has no listings
        return bool(directories or objects)

    def list(self, rest: str, asked: str, policy: Policy, context: CallContext) -> Listing:
        """List the names below a prefix, without those that a rule forbids.

        Raises: ReadError; NotFound if no object has that prefix.
        """
        key = _key(rest, asked)
        directories, objects, is_cut = self.store(asked).names(key, context, asked)
        if key and not directories and not objects:
            raise NotFound(asked)
        found = [Entry(name, "directory") for name in directories] + [Entry(name, "file") for name in objects if name]
        prefix = f"{key}/" if key else ""
        entries = []
        for entry in sorted(found, key=lambda entry: entry.name):
            name = f"{prefix}{entry.name}"
            is_denied = policy.rule_against(name, self.canonical) is not None
            if entry.what == "directory" and not is_denied:
                is_denied = policy.rule_against(f"{name}/x", self.canonical) is not None
            if not is_denied:
                entries.append(entry)
        return Listing(key or ".", tuple(entries), is_cut)

    def close(self) -> None:
        """Drop the client."""
        self.is_closed = True
        self._store = None

    def __reduce__(self) -> tuple[type[RemoteRoot], tuple[str]]:
        return RemoteRoot, (self.text,)

    def __repr__(self) -> str:
        return f"RemoteRoot({self.text!r})"


def _key(rest: str, asked: str) -> str:
    """Return the key of a path below the root. Raises: InvalidPath for parts that no file system would name."""
    parts = [part for part in rest.rstrip("/").split("/") if part != "."] if rest else []
    if any(part == ".." for part in parts):
        raise InvalidPath(asked, "'..' is not part of a name in a bucket or on a web server")
    if any(not part for part in parts[:-1]) or (len(parts) > 1 and not parts[-1]):
        raise InvalidPath(asked, "an empty name between two slashes is not part of a key here")
    return "/".join(parts)
