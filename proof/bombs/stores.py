"""Servers that deliver the corpus over the network, each in a process of its own.

`s3` is moto, a server of S3 (`make remote` installs it). `https` is a web server with TLS that sends parts of files;
`https-whole` sends whole files only. Run as a program, this module is that web server:

    python -m proof.bombs.stores DIRECTORY CERTIFICATE KEY [whole]
"""

from __future__ import annotations

import http.client
import http.server
import importlib.util
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, unquote

from proof import REPOSITORY

NAMES = ("s3", "https", "https-whole")
LOCAL_NAME = "/bombs"
"""The name of the root for callers."""
BUCKET = "data"
PIECE_BYTES = 1 << 18


class Store:
    """A running server with all files of a directory. `address` is its root; `environment` leads there."""

    def __init__(self, name: str, directory: Path, scratch: Path) -> None:
        """Raises: SystemExit, if a program that it needs is not installed."""
        self.environment: dict[str, str] = {}
        if name == "s3":
            self._start_bucket(directory)
        else:
            self._start_web(directory, scratch, *(["whole"] if name == "https-whole" else []))

    def _start_bucket(self, directory: Path) -> None:
        if importlib.util.find_spec("moto") is None:
            raise SystemExit("s3 needs moto: pip install 'moto[server]'")
        port = _free_port()
        argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if self.process.poll() is not None:
                raise SystemExit("moto did not start")
            time.sleep(0.05)
        _put(port, f"/{BUCKET}", b"")
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                _put(port, f"/{BUCKET}/{quote(path.relative_to(directory).as_posix())}", path.read_bytes())
        self.address = f"{LOCAL_NAME}=s3://{BUCKET}"
        self.environment = {
            "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def _start_web(self, directory: Path, scratch: Path, *options: str) -> None:
        if shutil.which("openssl") is None:
            raise SystemExit("https needs the program openssl, which makes its certificate")
        certificate, key = scratch / "certificate.pem", scratch / "key.pem"
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
        names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(["openssl", *words.split(), *names], check=True, capture_output=True)
        argv = [sys.executable, "-m", "proof.bombs.stores", str(directory), str(certificate), str(key), *options]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
        assert self.process.stdout is not None
        self.address = f"{LOCAL_NAME}=https://localhost:{int(self.process.stdout.readline())}"
        self.environment = {"SSL_CERT_FILE": str(certificate)}

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _put(port: int, path: str, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("PUT", path, body)
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != 200:
        raise SystemExit(f"moto answered {status} for {path}")


class Handler(http.server.BaseHTTPRequestHandler):
    """Sends files, or parts of them, from the directory of the server."""

    protocol_version = "HTTP/1.1"
    directory: Path
    has_ranges = True

    def do_GET(self) -> None:
        path = self.directory / unquote(self.path).lstrip("/")
        if ".." in path.parts or not path.is_file():
            self._start(404, 0)
            return
        size_bytes = path.stat().st_size
        first, last = 0, size_bytes - 1
        if self.has_ranges and (found := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))):
            first, last = int(found[1]), min(int(found[2]), last)
            if first >= size_bytes:
                self._start(416, 0, **{"Content-Range": f"bytes */{size_bytes}"})
                return
            self._start(206, last - first + 1, **{"Content-Range": f"bytes {first}-{last}/{size_bytes}"})
        else:
            self._start(200, size_bytes)
        with path.open("rb") as file:
            file.seek(first)
            left = last - first + 1
            while left > 0 and (data := file.read(min(left, PIECE_BYTES))):
                self.wfile.write(data)
                left -= len(data)

    def _start(self, status: int, size_bytes: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "ETag": '"one"', "Content-Length": str(size_bytes)}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class TlsServer(http.server.ThreadingHTTPServer):
    """A web server whose handshakes are made in the threads of its connections."""

    daemon_threads = True
    tls: ssl.SSLContext

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that went away


def main(arguments: list[str]) -> None:
    directory, certificate, key, *options = arguments
    Handler.directory = Path(directory)
    Handler.has_ranges = "whole" not in options
    TlsServer.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    TlsServer.tls.load_cert_chain(certificate, key)
    with TlsServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
