"""Buckets, by obstore. It takes credentials from the environment, a profile or the instance.

obstore follows redirects to any host and has no option against that, so all its requests go through a relay of this
process (`extras.remote.relay`), which sends them to the store and to the services of its credentials only, and passes
no redirect back. Objects of S3 are read by addresses that obstore signs, through the client of web servers, which
saves the way over the relay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eyespan.context import CallContext
from eyespan.errors import Changed, Missing, NotFound, PermissionRefused, ReadError, StoreFailure
from eyespan.extras.remote.endpoints import endpoints_of
from eyespan.extras.remote.relay import UNREACHED, UNTRUSTED, UNUSED, StoreRelay
from eyespan.extras.remote.store import (
    FIRST_PAUSE_SECONDS,
    LEFT_OUT,
    MAX_NAMES,
    MAX_TRIES,
    REQUEST_SECONDS,
    ObjectNames,
    ObjectVersion,
    Store,
    make_version,
    refused,
)
from eyespan.extras.remote.web import MAX_ANSWER_SECONDS, Server, untrusted

if TYPE_CHECKING:
    from socket import socket

    from eyespan.extras.remote.endpoints import Endpoints


SIGNED_FOR = timedelta(minutes=10)
"""The time for which an address of an object is signed; a read with its repetitions takes seconds."""
_TRUE = ("1", "true", "yes", "on")
_STATUS = re.compile(r"status code: ([0-9]{3})")
PAGE_NAMES = 1000
"""The number of names that stores send in one answer."""


class BucketStore(Store):
    """A bucket and a prefix. The prefix is part of the store, so no key can name anything above it."""

    def __init__(
        self,
        url: str,
        asked: str = "",
        running: tuple[str, Endpoints] | None = None,
        connector: socket | None = None,
    ) -> None:
        """`running` is the address of a relay in another process. Raises: Missing, StoreFailure."""
        self._connector = connector
        self._requests = self._received_bytes = 0
        self._servers: dict[str, Server] = {}
        self._is_signed = url.startswith("s3:") and os.environ.get("AWS_SKIP_SIGNATURE", "").lower() not in _TRUE
        """Objects are read by signed addresses."""
        try:
            from obstore.store import from_url
        except ImportError:
            raise Missing(asked, what="a bucket", install="pip install 'eyespan[remote]'") from None
        self.name = url.partition("://")[0] + "://" + url.partition("://")[2].partition("/")[0]
        self._relay: StoreRelay | None = None
        if running is None:
            self._relay, endpoints = open_relay(url, asked)
            address = self._relay.start()
        else:
            address, endpoints = running
        self._is_secure = endpoints.store.startswith("https:")
        limits = {
            **endpoints.options,
            "client_options": {
                "timeout": timedelta(seconds=MAX_ANSWER_SECONDS),  # the relay waits for a byte as long as it may
                "connect_timeout": timedelta(seconds=REQUEST_SECONDS),
                "allow_http": True,  # the way to the relay
                "proxy_url": address,
                "user_agent": "eyespan",
            },
            "retry_config": {
                "max_retries": MAX_TRIES - 1,
                "retry_timeout": timedelta(seconds=4 * REQUEST_SECONDS),
                "backoff": {
                    "init_backoff": timedelta(seconds=FIRST_PAUSE_SECONDS),
                    "max_backoff": timedelta(seconds=1),
                    "base": 3,
                },
            },
        }
        try:
            self._store: Any = from_url(url, **limits)
        except Exception as error:
            raise StoreFailure(asked, f"{self.name} cannot be used: {_words(error)}") from None

    @property
    def requests(self) -> int:
        return self._requests + sum([server.requests for server in self._servers.values()])

    @property
    def received_bytes(self) -> int:
        return self._received_bytes + sum([server.received_bytes for server in self._servers.values()])

    def get(
        self, key: str, start: int, size_bytes: int, version: ObjectVersion | None, context: CallContext, asked: str
    ) -> tuple[bytes, ObjectVersion]:
        if self._is_signed:
            context.check()
            server, path = self._signed(key, asked)
            return server.get(path, start, size_bytes, version, context, asked)
        options: dict[str, Any] = {"range": (start, start + size_bytes)}
        if version is not None and version.etag:
            options["if_match"] = version.etag
        for _ in range(MAX_TRIES):
            context.check()
            context.count_store(1, 0)
            try:
                try:
                    current, data = self._request(key, options)
                except Exception as error:
                    if version is not None or start or "416" not in str(error):
                        raise
                    current, data = self._request(key, {})  # an empty object has no range
            except Exception as error:
                raise self._failure(error, asked) from None
            if version is not None and current != version:
                raise Changed(asked)
            if len(data) == min(size_bytes, current.size_bytes - start):
                self._received_bytes += len(data)
                context.count_store(0, len(data))
                return data, current
        raise StoreFailure(asked, f"{self.name} answers with other lengths than it announces")

    def _signed(self, key: str, asked: str) -> tuple[Server, str]:
        """Return the server of an object, and a path that is valid for some minutes. Raises: ReadError."""
        import obstore

        try:
            url = obstore.sign(self._store, "GET", key, SIGNED_FOR)
        except Exception as error:
            raise self._failure(error, asked) from None
        parts = urlsplit(url)
        if parts.netloc not in self._servers:
            # The relay adds TLS, so the signed address has none.
            real = url.replace("http:", "https:", 1) if self._is_secure else url
            self._servers[parts.netloc] = Server(real, self.name, asked, connector=self._connector)
        return self._servers[parts.netloc], f"{parts.path}?{parts.query}"

    def _request(self, key: str, options: dict[str, Any]) -> tuple[ObjectVersion, bytes]:
        import obstore

        self._requests += 1
        answer = obstore.get(self._store, key, options=options)  # type: ignore[arg-type]  # a dictionary, not its type
        return _version(answer.meta), bytes(answer.bytes())

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
        if self._relay is not None:
            self._relay.close()

    def names(self, prefix: str, context: CallContext, asked: str) -> ObjectNames:
        import obstore

        context.check()
        context.count_store(1, 0)
        self._requests += 1
        try:
            answer = obstore.list_with_delimiter(self._store, prefix or None)
        except Exception as error:
            raise self._failure(error, asked) from None
        named = [path.rstrip("/").rpartition("/")[2] for path in answer["common_prefixes"]]
        directories = [name for name in named if name != LEFT_OUT]
        left_out = len(named) - len(directories)
        objects = {}
        for meta in answer["objects"]:
            path = meta["path"].rstrip("/")
            if path.rpartition("/")[2] == LEFT_OUT:
                left_out += 1
                continue
            # An object with the name of the directory itself marks an empty one.
            objects["" if path == prefix else path.rpartition("/")[2]] = meta["size"]
        if len(directories) + len(objects) <= MAX_NAMES:
            return ObjectNames(directories, objects, is_cut=False, left_out=left_out)
        kept = list(objects.items())[: max(0, MAX_NAMES - len(directories))]
        return ObjectNames(directories[:MAX_NAMES], dict(kept), is_cut=True, left_out=left_out)

    def below(self, prefix: str, context: CallContext, asked: str) -> Iterator[tuple[str, ObjectVersion]]:
        import obstore

        try:
            for page in obstore.list(self._store, prefix or None, chunk_size=PAGE_NAMES):
                self._requests += 1
                context.count_store(1, 0)
                context.check()
                yield from [(meta["path"], _version(meta)) for meta in page]
        except ReadError:
            raise
        except Exception as error:
            raise self._failure(error, asked) from None

    def _failure(self, error: Exception, asked: str) -> ReadError:
        from obstore import exceptions

        match error:
            case FileNotFoundError():
                return NotFound(asked)
            case exceptions.PermissionDeniedError() | exceptions.UnauthenticatedError():
                return refused(403, asked, self.name)
            case exceptions.PreconditionError():
                return Changed(asked)
            case _:
                text = str(error)
                if "redirect" in text.lower():
                    return refused(301, asked, self.name)
                if match := _STATUS.search(text):
                    status = int(match[1])
                    if status == UNREACHED:
                        return StoreFailure(asked, f"{self.name} cannot be reached, or its answers break off")
                    if status == UNTRUSTED:
                        return StoreFailure(asked, untrusted(self.name, "it cannot be verified"))
                    if status == UNUSED:
                        return StoreFailure(
                            asked, f"{self.name} sent an answer that is invalid, too large, too slow or endless"
                        )
                    return refused(status, asked, self.name)
                if "timed out" in text:
                    return StoreFailure(asked, f"{self.name} did not answer in time, several times")
                if "credential" in text.lower():
                    reason = f"{self.name}: this host has no credentials for it"
                    return PermissionRefused(asked, 13, reason)
                return StoreFailure(asked, f"{self.name} cannot be read: {_words(error)}")


def open_relay(url: str, asked: str = "") -> tuple[StoreRelay, Endpoints]:
    """Return a relay for a bucket, whose port is open, and the addresses that it serves. Raises: StoreFailure."""
    name = url.partition("://")[0] + "://" + url.partition("://")[2].partition("/")[0]
    try:
        endpoints = endpoints_of(url, os.environ)
    except ValueError:
        raise StoreFailure(asked, f"{name} cannot be used: its address is invalid") from None
    store = Server(endpoints.store, name, asked)
    services = {each: Server(f"http://{each}", each, asked, may_be_metadata=True) for each in endpoints.services}
    tunnels = {each: Server(f"http://{each}", each, asked) for each in endpoints.tunnels}
    relay = StoreRelay(store, endpoints.authority, services, tunnels)
    try:
        relay.open()
    except OSError as error:
        raise StoreFailure(asked, f"{name} cannot be used: no port can be opened ({error.strerror})") from None
    return relay, endpoints


def _version(meta: Any) -> ObjectVersion:
    return make_version(meta["size"], meta["e_tag"] or "", int(meta["last_modified"].timestamp() * 1e9))


def _words(error: Exception) -> str:
    """Return the kind of an error. Its text may hold the addresses and headers of requests, so it is not shown."""
    return "the request is not supported" if type(error).__name__ == "NotSupportedError" else "the request failed"
