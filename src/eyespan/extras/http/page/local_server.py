"""HTTP for the page: a loopback address only, no data without a cookie, and headers that admit nothing else.

The page itself holds no data and needs no token. It passes a token with its first request for data; a token is valid
once, and the answer sets the cookie. Browsers send the cookies of 127.0.0.1 to every port of it. The cookie is
therefore bound to a path that only this server and the browser know.
"""

from __future__ import annotations

import hmac
import http.server
import json
import secrets
import socket
import sys
from collections import OrderedDict
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from eyespan.context import CallContext
from eyespan.extras.http.page import api
from eyespan.extras.http.page.api import Api
from eyespan.extras.http.page.static_files import FILES, HEADERS, load
from eyespan.server import messages
from eyespan.server.mcp_names import RpcError

MAX_BODY_BYTES = 64 * 1024
MAX_STRANGERS = 64
"""The open connections without cookie or token. Every user of the machine can make them."""


class ViewServer(http.server.ThreadingHTTPServer):
    """The server of the page at `url`, which is no secret."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: Api, port: int = 0, *, deadline_seconds: float | None = None) -> None:
        """Raises: OSError, if the port is in use."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api
        self.deadline_seconds = deadline_seconds
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.path = f"/{secrets.token_urlsafe(12)}/"
        self.url = f"http://127.0.0.1:{self.server_port}{self.path}"
        self.cookie = f"eyespan={secrets.token_urlsafe(24)}"
        self._tokens: set[str] = set()
        self.strangers: OrderedDict[Any, None] = OrderedDict()
        """The connections that have shown neither cookie nor token, the oldest first."""

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own; the oldest stranger makes place for it."""
        self.strangers[request] = None
        if len(self.strangers) > MAX_STRANGERS:
            with suppress(OSError):  # it has ended
                self.strangers.popitem(last=False)[0].shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.admit(request)
        super().shutdown_request(request)

    def admit(self, request: Any) -> None:
        """Let a connection make place for no other."""
        self.strangers.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report the error of a request, unless the browser has closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def new_token(self) -> str:
        """Return a token that is valid once."""
        token = secrets.token_urlsafe(24)
        self._tokens.add(token)
        return token

    def redeem(self, token: str) -> bool:
        """Return whether a token is valid; afterwards it is not."""
        try:
            self._tokens.remove(token)
        except KeyError:
            return False
        return True


class _Handler(http.server.BaseHTTPRequestHandler):
    server: ViewServer
    server_version = "eyespan"
    sys_version = ""
    timeout = 10
    sets_cookie = False

    def do_GET(self) -> None:
        if not self._is_from_page():
            return
        end = urlsplit(self.path).path.removeprefix(self.server.path)
        if end in FILES:
            name, media_type = FILES[end]
            self._send(200, load(name), media_type)
        elif self._is_admitted():
            self._answer(b"")

    def do_POST(self) -> None:
        if not self._is_from_page() or not self._is_admitted():
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self._refuse(415, "a JSON object for /api/call is expected")
        elif not length.isdecimal() or len(length) > 12 or int(length) > MAX_BODY_BYTES:
            self._refuse(413, f"at most {MAX_BODY_BYTES} bytes")
        else:
            self._answer(self.rfile.read(int(length)))

    def _is_from_page(self) -> bool:
        """Refuse another path, and a Host or an Origin of another page: a name may have been bound to this address."""
        origin = self.headers.get("Origin")
        is_own = self.headers.get_all("Host", []) and self.headers.get_all("Host", [])[0] in self.server.hosts
        if not is_own or len(self.headers.get_all("Host", [])) != 1:
            self._refuse(421, "this address is only for the page on this machine")
            return False
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            self._refuse(403, "requests of other pages are refused")
            return False
        if not self.path.startswith(self.server.path):
            self._refuse(404, "open the address that `eyespan view` printed")
            return False
        return True

    def _is_admitted(self) -> bool:
        """Refuse a request without the cookie, unless it has a valid token."""
        given = [one.encode("utf-8", "surrogateescape") for one in self.headers.get("Cookie", "").split("; ")]
        is_known = any(hmac.compare_digest(one, self.server.cookie.encode()) for one in given)
        word = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.sets_cookie = not is_known and self.server.redeem(word)
        if not is_known and not self.sets_cookie:
            self._refuse(401, "the token is missing or wrong")
            return False
        self.server.admit(self.connection)
        return True

    def _answer(self, body: bytes) -> None:
        """Answer a request for data."""
        address = self.path.removeprefix(f"{self.server.path}api/")
        if (address.partition("?")[0] == "call") != (self.command == "POST"):
            self._refuse(404, "no such page")
            return
        try:
            message = api.message_of(address, body)
        except RpcError as error:
            self._refuse(400, error.message)
            return
        answer = messages.answer(self.server.api, message, CallContext(self.server.deadline_seconds))
        self._send(api.status_of(answer), b"".join(api.body_of(answer)), "application/json")

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True
        self._send(status, json.dumps({"message": message}).encode("ascii"), "application/json")

    def _send(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if self.sets_cookie:
            self.send_header("Set-Cookie", f"{self.server.cookie}; Path={self.server.path}; HttpOnly; SameSite=Strict")
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
