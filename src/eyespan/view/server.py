"""HTTP for the page: a loopback address only, a token for every answer, and headers that admit nothing else.

The page itself holds no data and needs no token. It takes the token from the fragment of its address, which a browser
does not send, and passes it with every request for data.
"""

from __future__ import annotations

import hmac
import http.server
import json
import secrets
from urllib.parse import parse_qs, urlsplit

from eyespan.view.api import BadRequest
from eyespan.view.files import FILES, HEADERS, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.view.api import Api

MAX_BODY_BYTES = 64 * 1024


class ViewServer(http.server.ThreadingHTTPServer):
    """The server of the page. `url` contains the token."""

    daemon_threads = True

    def __init__(self, api: Api, port: int = 0) -> None:
        """Raises: OSError, if the port is in use."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api
        self.token = secrets.token_urlsafe(24)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.url = f"http://127.0.0.1:{self.server_port}/#{self.token}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: ViewServer
    server_version = "eyespan"
    sys_version = ""
    timeout = 10

    def do_GET(self) -> None:
        if not self._is_from_page():
            return
        parts = urlsplit(self.path)
        if parts.path[1:] in FILES:
            name, media_type = FILES[parts.path[1:]]
            self._send(200, load(name), media_type)
            return
        if not self._has_token():
            return
        values = {name: found[-1] for name, found in parse_qs(parts.query).items()}
        if parts.path == "/api/state":
            self._answer(self.server.api.state())
        elif parts.path == "/api/names":
            self._answer(self.server.api.names(values.get("path", "")))
        elif parts.path == "/api/activity":
            after = values.get("after", "0")
            self._answer(self.server.api.activity(after))
        else:
            self._refuse(404, "no such page")

    def do_POST(self) -> None:
        if not self._is_from_page() or not self._has_token():
            return
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get_content_type() == "application/json"
        if self.path != "/api/call" or not is_json:
            self._refuse(404 if is_json else 415, "a JSON object for /api/call is expected")
            return
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self._refuse(413, f"at most {MAX_BODY_BYTES} bytes")
            return
        try:
            request = json.loads(self.rfile.read(int(length)))
            if not isinstance(request, dict):
                raise BadRequest("a JSON object is expected")
            self._answer(self.server.api.call(request))
        except (ValueError, RecursionError):
            self._refuse(400, "the request is not JSON")
        except BadRequest as error:
            self._refuse(400, str(error))

    def _is_from_page(self) -> bool:
        """Refuse a Host or an Origin of another page: a name may have been bound to this address."""
        origin = self.headers.get("Origin")
        is_own = self.headers.get_all("Host", []) and self.headers.get_all("Host", [])[0] in self.server.hosts
        if not is_own or len(self.headers.get_all("Host", [])) != 1:
            self._refuse(421, "this address is only for the page on this machine")
            return False
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            self._refuse(403, "requests of other pages are refused")
            return False
        return True

    def _has_token(self) -> bool:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self.server.token.encode()):
            return True
        self._refuse(401, "open the address that `eyespan view` printed")
        return False

    def _answer(self, value: Any) -> None:
        body = json.dumps(value, ensure_ascii=True, default=str).encode("ascii")
        self._send(200, body, "application/json")

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True
        self._send(status, json.dumps({"message": message}).encode("ascii"), "application/json")

    def _send(self, status: int, body: bytes, media_type: str) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
