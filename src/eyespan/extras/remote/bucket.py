"""Buckets of S3, Google and Azure: signed requests over the client of web servers.

Requests go to the host of the store and nowhere else, no redirect is followed, and no answer takes more memory or time
than was asked for. Credentials come from the host (`extras.remote.credentials`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eyespan.context import CallContext
from eyespan.errors import PermissionRefused, StoreFailure
from eyespan.extras.remote.credentials import CredentialSource
from eyespan.extras.remote.endpoints import endpoint_of, region_of
from eyespan.extras.remote.name_pages import MAX_PAGE_BYTES, NamePage, parse_page
from eyespan.extras.remote.signing import AZURE_HEADERS, StoreRequest, quoted_key, signed
from eyespan.extras.remote.store import LEFT_OUT, MAX_NAMES, ObjectNames, ObjectVersion, Store
from eyespan.extras.remote.web import Prepare, Server

if TYPE_CHECKING:
    from socket import socket


PAGE_NAMES = 1000
"""The number of names that are requested in one answer."""
MAX_EMPTY_PAGES = 1000
"""The pages without a name, one after another, that a listing may have."""


class BucketStore(Store):
    """A bucket and a prefix. The prefix is part of every key, so no key can name anything above it."""

    def __init__(self, url: str, asked: str = "", connector: socket | None = None) -> None:
        """`connector` leads to a process that connects for this one. Raises: StoreFailure."""
        scheme, _, rest = url.partition("://")
        bucket, _, prefix = rest.partition("/")
        self.name = f"{scheme}://{bucket}"
        self._prefix = f"{prefix}/" if prefix else ""
        self._is_azure = scheme == "az"
        self._region = region_of(os.environ)
        self.credentials = CredentialSource(scheme, os.environ, connector)
        try:
            endpoint = endpoint_of(url, os.environ)
        except ValueError:
            raise StoreFailure(asked, f"{scheme}:// cannot be used: its address is invalid") from None
        self._path = quoted_key(urlsplit(endpoint).path)
        self.server = Server(endpoint, self.name, asked, connector=connector)

    def get(
        self, key: str, start: int, size_bytes: int, version: ObjectVersion | None, context: CallContext, asked: str
    ) -> tuple[bytes, ObjectVersion]:
        path = f"{self._path}/{quoted_key(self._prefix + key)}"
        return self.server.get(self._signer(path, {}, asked), start, size_bytes, version, context, asked)

    def _signer(self, path: str, query: dict[str, str], asked: str) -> Prepare:
        def prepare(headers: dict[str, str]) -> tuple[str, dict[str, str]]:
            credentials = self.credentials.current()
            if credentials is None:
                raise PermissionRefused(asked, errno.EACCES, f"{self.name}: this host has no credentials for it")
            more = AZURE_HEADERS if self._is_azure else {}
            request = StoreRequest(self.server.authority, path, query, {**headers, **more})
            try:
                return signed(request, credentials, self._region)
            except ValueError:
                raise PermissionRefused(
                    asked, errno.EACCES, f"{self.name}: the key or region of this host is invalid"
                ) from None

        return prepare

    def close(self) -> None:
        self.server.close()

    def names(self, prefix: str, context: CallContext, asked: str) -> ObjectNames:
        return self._names(prefix, MAX_NAMES, context, asked)

    def has_names(self, prefix: str, context: CallContext, asked: str) -> bool:
        return bool(self._names(prefix, 1, context, asked))

    def _names(self, prefix: str, max_names: int, context: CallContext, asked: str) -> ObjectNames:
        start = self._start(prefix)
        directories: list[str] = []
        objects: dict[str, int] = {}
        left_out = 0
        for page in self._pages(start, "/", min(PAGE_NAMES, max_names), context, asked):
            left_out += page.left_out
            directories += [path[len(start) :].rstrip("/") for path in page.directories]
            # An object with the name of the directory itself marks an empty one.
            objects |= {key[len(start) :].rstrip("/"): version.size_bytes for key, version in page.objects}
            if len(directories) + len(objects) >= max_names:
                kept = list(objects.items())[: max(0, max_names - len(directories))]
                is_cut = bool(page.token) or len(directories) + len(objects) > max_names
                return ObjectNames(directories[:max_names], dict(kept), is_cut=is_cut, left_out=left_out)
        return ObjectNames(directories, objects, is_cut=False, left_out=left_out)

    def below(self, prefix: str, context: CallContext, asked: str) -> Iterator[tuple[str, ObjectVersion]]:
        start = self._start(prefix)
        for page in self._pages(start, "", PAGE_NAMES, context, asked):
            odd = f"{start}{LEFT_OUT}"[len(self._prefix) :]
            yield from [(odd, ObjectVersion(0, "", 0))] * page.left_out
            for key, version in page.objects:
                if not key.endswith("/"):  # the marker of a directory
                    yield key[len(self._prefix) :], version

    def _start(self, prefix: str) -> str:
        return f"{self._prefix}{prefix}/" if prefix else self._prefix

    def _pages(self, start: str, delimiter: str, size: int, context: CallContext, asked: str) -> Iterator[NamePage]:
        """Yield the pages of a listing. Raises: ReadError."""
        token, empty_pages = "", 0
        while True:
            names = ("maxresults", "marker") if self._is_azure else ("max-keys", "continuation-token")
            fixed = {"restype": "container", "comp": "list"} if self._is_azure else {"list-type": "2"}
            asks = {**fixed, "prefix": start, "delimiter": delimiter, names[0]: str(size), names[1]: token}
            query = {name: value for name, value in asks.items() if value}
            data = self.server.whole(self._signer(self._path, query, asked), MAX_PAGE_BYTES, context, asked)
            try:
                page = parse_page(data)
                if any(not key.startswith(start) for key in [*page.directories, *[key for key, _ in page.objects]]):
                    raise ValueError("other keys")
            except ValueError:
                raise StoreFailure(asked, f"{self.name} sent an invalid listing") from None
            yield page
            empty_pages = 0 if page.objects or page.directories else empty_pages + 1
            if not page.token:
                return
            if page.token == token or empty_pages >= MAX_EMPTY_PAGES:
                raise StoreFailure(asked, f"{self.name} sends a listing that does not end")
            token = page.token
