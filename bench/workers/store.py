"""A web server of ranges for remote roots, and of bare bodies for floors: `python store.py DIRECTORY`.

It prints its port, and ends when standard input closes.
"""

from __future__ import annotations

import http.server
import os
import sys
import threading
from pathlib import Path

DIRECTORY = Path(sys.argv[1])


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET with a file of the directory, or the range of it that is asked for."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        path = DIRECTORY / self.path.lstrip("/")
        data = path.read_bytes() if path.is_file() else None
        if data is None:
            self.send_error(404)
            return
        first, last, total = 0, len(data) - 1, len(data)
        span = self.headers.get("Range", "").removeprefix("bytes=")
        if span:
            start, _, end = span.partition("-")
            first = int(start) if start else max(0, total - int(end))
            last = min(last, int(end)) if start and end else last
        self.send_response(206 if span else 200)
        if span:
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        self.send_header("ETag", f'"{total}"')
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.write(data[first : last + 1])

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
