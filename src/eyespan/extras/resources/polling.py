"""Notifications about files that change, for the one client of a server over standard input and output.

A client subscribes by `resources/subscribe`, or from revision 2026-07-28 on by `subscriptions/listen`. The files are
described again every second, because network file systems report nothing to watches, and the sandbox permits none.
"""

from __future__ import annotations

import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Mapping
from typing import Any

from eyespan.context import CallContext
from eyespan.engine import Engine
from eyespan.errors import Busy, ReadError, TimedOut
from eyespan.escape import valid_text
from eyespan.extras.resources import resource
from eyespan.server.mcp_names import INVALID_PARAMS, LISTEN, RESOURCE_NOT_FOUND, SUBSCRIBE, UNSUBSCRIBE, RpcError
from eyespan.server.service import Service
from eyespan.server.session import Session

SECONDS = 1.0
"""The time between two looks at the files."""
MAX_SUBSCRIPTIONS = 100
STREAM_KEY = "io.modelcontextprotocol/subscriptionId"

Version = tuple[int, ...] | None
"""What differs between two states of a file; None for one that cannot be read."""


class Subscriptions:
    """The files whose changes a client wants to know, with the version of each at the last look.

    A key is the id of a `subscriptions/listen` request, or None for `resources/subscribe`, and the URI of a file.
    """

    def __init__(
        self,
        session: Session,
        send: Callable[[dict[str, Any]], None],
        seconds: float,
        start: Callable[..., object] = start_new_thread,
    ) -> None:
        """`seconds` is the deadline of one look at a file, `start` runs a function in a thread."""
        self._session = session
        session.capabilities = {**session.capabilities, "resources": {"subscribe": True}}
        session.lasting = {SUBSCRIBE: self._subscribe, UNSUBSCRIBE: self._unsubscribe, LISTEN: self._listen}
        self._send = send
        self._seconds = seconds
        self._start = start
        self._lock = allocate_lock()
        self._versions: dict[tuple[str | int | None, str], Version] = {}
        self._is_watching = False

    def _subscribe(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Answer `resources/subscribe`. Raises: RpcError, WouldBlock."""
        self._add(None, self._readable([params.get("uri")], caller, context))
        return {}

    def _unsubscribe(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Answer `resources/unsubscribe`."""
        with self._lock:
            self._versions.pop((None, str(params.get("uri"))), None)
        return {}

    def _listen(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Return the files of a `subscriptions/listen` request that can be read. Raises: RpcError, WouldBlock."""
        wanted = params.get("notifications")
        uris = wanted.get("resourceSubscriptions", []) if isinstance(wanted, dict) else None
        if not isinstance(uris, list):
            raise RpcError(INVALID_PARAMS, "notifications must be an object, resourceSubscriptions a list of URIs")
        return {"versions": self._readable(uris, caller, context, leaves_out=True)}

    def begin(self, request_id: str | int, versions: Mapping[str, Version], context: CallContext) -> None:
        """Acknowledge a `subscriptions/listen` request with its files, and watch them."""
        agreed = {"resourceSubscriptions": list(versions)} if versions else {}
        self._notify("subscriptions/acknowledged", request_id, {"notifications": agreed})
        self._add(request_id, versions)
        if context.cancelled:
            self.end(request_id)

    def end(self, request_id: str | int) -> None:
        """End the subscriptions of a `subscriptions/listen` request, if there is one."""
        with self._lock:
            self._versions = {key: version for key, version in self._versions.items() if key[0] != request_id}

    def look(self) -> None:
        """Describe each file again, and send a notification if it differs."""
        for key, before in list(self._versions.items()):
            version = self._version(key[1], before)
            if version != before and self._replace(key, version):
                self._notify("resources/updated", key[0], {"uri": key[1]})

    def _readable(
        self, uris: list[Any], caller: str, context: CallContext, *, leaves_out: bool = False
    ) -> dict[str, Version]:
        """Return the version of each file, with or without those that cannot be read. Raises: RpcError, WouldBlock."""
        if len(self._versions) + len(uris) > MAX_SUBSCRIPTIONS:
            raise RpcError(INVALID_PARAMS, f"a client has at most {MAX_SUBSCRIPTIONS} subscriptions")
        versions: dict[str, Version] = {}
        for uri in uris:
            try:
                versions[uri] = self._first_version(uri, caller, context)
            except RpcError:
                if not leaves_out:
                    raise
        return versions

    def _first_version(self, uri: Any, caller: str, context: CallContext) -> Version:
        """Return the version of a file that a client subscribes to. Raises: RpcError, WouldBlock."""
        service = self._session.service
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "uri must be a string")
        engine = service.workspace.engine
        with service.trail.noting(engine, context, caller=caller, dialect="subscription", path=uri) as noted:
            try:
                return _version_of(service, noted.recorder, uri, context)
            except ReadError as error:
                noted.code = error.code
                raise RpcError(RESOURCE_NOT_FOUND, valid_text(str(error)), {"uri": uri}) from None

    def _version(self, uri: str, before: Version) -> Version:
        """Return the version of a file; the one before, if its file system does not answer."""
        service, context = self._session.service, CallContext(self._seconds)
        try:
            return _version_of(service, service.workspace.engine, uri, context)
        except (Busy, TimedOut):
            return before
        except ReadError:
            return None
        finally:
            context.finish()

    def _add(self, stream: str | int | None, versions: Mapping[str, Version]) -> None:
        with self._lock:
            self._versions |= {(stream, uri): version for uri, version in versions.items()}
            starts = bool(versions) and not self._is_watching
            self._is_watching |= starts
        if starts:
            self._start(self._watch, ())

    def _replace(self, key: tuple[str | int | None, str], version: Version) -> bool:
        """Take the version of a file, unless its subscription has ended."""
        with self._lock:
            is_wanted = key in self._versions
            if is_wanted:
                self._versions[key] = version
        return is_wanted

    def _watch(self) -> None:
        while True:
            time.sleep(SECONDS)
            self.look()
            with self._lock:
                self._is_watching = bool(self._versions)
                if not self._is_watching:
                    return

    def _notify(self, name: str, stream: str | int | None, params: dict[str, Any]) -> None:
        meta = {} if stream is None else {"_meta": {STREAM_KEY: stream}}
        self._send({"jsonrpc": "2.0", "method": f"notifications/{name}", "params": {**meta, **params}})


def _version_of(service: Service, engine: Engine, uri: str, context: CallContext) -> Version:
    status = engine.describe(resource.path_of(uri, service.workspace.roots)[0], context)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
