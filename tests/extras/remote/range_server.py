"""A web server of ranges that counts requests and can misbehave."""

from __future__ import annotations

import http.server
import threading
import time


class RangeServer:
    """Serves `files` (bytes by path). `faults` are functions that answer the next requests instead, one each."""

    def __init__(self, tls=None) -> None:
        self.files: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self.requests: list[tuple[str, str]] = []
        """Path and Range of each request."""
        self.sent_bytes = 0
        self.connections = 0
        self.faults: list = []
        self.has_ranges = True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                outer.connections += 1
                super().setup()

            def do_GET(self):
                outer.requests.append((self.path, self.headers.get("Range", "")))
                if outer.faults:
                    fault = outer.faults.pop(0)
                    if fault is not None:
                        fault(self)
                        return
                outer.answer(self)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # a client that went away
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        host = "https://localhost" if tls is not None else "http://127.0.0.1"
        self.url = f"{host}:{self._server.server_port}/files"

    def answer(self, handler) -> None:
        """Answer as a server of static files does."""
        data = self.files.get(handler.path.removeprefix("/files/"))
        if data is None:
            self.refuse(handler, 404)
            return
        etag = self.etags.get(handler.path.removeprefix("/files/"), '"one"')
        if handler.headers.get("If-Match", etag) != etag:
            self.refuse(handler, 412)
            return
        status, body, extra = 200, data, []
        wanted = handler.headers.get("Range")
        if wanted and self.has_ranges:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            if int(first) >= len(data):
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{len(data)}")
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            body = data[int(first) : int(last) + 1]
            status = 206
            extra = [("Content-Range", f"bytes {first}-{int(first) + len(body) - 1}/{len(data)}")]
        handler.send_response(status)
        for name, value in [("ETag", etag), ("Last-Modified", "Mon, 02 Nov 2026 00:00:00 GMT"), *extra]:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        self.sent_bytes += len(body)
        handler.wfile.write(body)

    @staticmethod
    def refuse(handler, status: int, **headers: str) -> None:
        """Answer with a status and no body."""
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def status(number: int, **headers: str):
    """Return a fault: an answer with this status."""
    return lambda handler: RangeServer.refuse(handler, number, **headers)


def hangs(seconds: float):
    """Return a fault: no answer for some time, then the end of the connection."""

    def answer(handler):
        time.sleep(seconds)
        handler.close_connection = True

    return answer


def breaks_off(sent: bytes):
    """Return a fault: a body that is shorter than announced."""

    def answer(handler):
        handler.send_response(206)
        handler.send_header("Content-Range", "bytes 0-9/10")
        handler.send_header("ETag", '"one"')
        handler.send_header("Last-Modified", "Mon, 02 Nov 2026 00:00:00 GMT")
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        handler.wfile.write(sent)
        handler.close_connection = True

    return answer
