"""Servers as processes, with clients that show exactly what goes over the wire."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SERVE = [sys.executable, "-m", "eyespan", "serve"]
TOKEN = "a-token-for-the-tests-0123456789"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "judge", "version": "1"},
}
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
TEMPLATE = "file:///{+path}{?start,limit}"


class StdioServer:
    """One server process over stdio, and a client that sends and reads raw lines."""

    def __init__(self, *arguments: str, root: Path, version: str | None = "2025-11-25") -> None:
        argv = [*SERVE, "--root", str(root), *arguments]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.modern = version == "2026-07-28"
        self._next = 0
        self.notices: list[dict[str, Any]] = []
        if version is not None and not self.modern:
            hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "judge", "version": "1"}}
            try:
                self.hello = self.ask("initialize", hello)["result"]
                self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            except BaseException:
                self.close()  # pipes that stay open would fail another test
                raise

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line.decode("utf-8", "strict"))

    def start(self, method: str, params: dict[str, Any] | None = None, request_id: Any = None) -> Any:
        """Send a request without waiting for its answer. Returns its id."""
        self._next += 1
        params = dict(params or {})
        if self.modern and method != "initialize":
            params["_meta"] = {**ENVELOPE, **params.get("_meta", {})}
        request_id = self._next if request_id is None else request_id
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def wait(self, request_id: Any) -> Any:
        """Return the answer to a request. Collect notifications; fail on any other answer."""
        while True:
            message = self.read()
            if "method" in message:
                self.notices.append(message)
                continue
            assert message["id"] == request_id, message
            return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return self.wait(self.start(method, params))

    def cancel(self, *request_ids: Any) -> None:
        for request_id in request_ids:
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        with contextlib.suppress(BrokenPipeError):  # the server has ended before it read everything
            self.process.stdin.close()
        status = self.process.wait(120)
        self.errors = self.process.stderr.read().decode()
        if not self.process.stdout.closed:
            self.process.stdout.close()
        self.process.stderr.close()
        return status


class HttpServer:
    """One server process over HTTP, on a free port, with a token of its own."""

    def __init__(
        self,
        root: Path,
        *arguments: str,
        token: str | None = TOKEN,
        max_descriptors: int | None = None,
        **environment: str,
    ) -> None:
        self.lines: list[str] = []
        argv = [*SERVE, "--root", str(root), "--http", "127.0.0.1:0", *arguments]
        env = {**os.environ, **environment}
        if token is not None:
            env["EYESPAN_TOKEN"] = token
        if max_descriptors is not None:
            argv = ["sh", "-c", f'ulimit -n {max_descriptors}; exec "$@"', "sh", *argv]
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, env=env, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        if not found:
            self.end()
        assert found, line + self.errors
        self.banner = line
        self.port = int(found[1])
        self.token = token
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def request(
        self,
        body: bytes | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
        drop: tuple[str, ...] = (),
        hang_up_when: Callable[[], bool] | None = None,
        **headers: str,
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request over a socket of its own, with these headers. Returns status, headers and body.

        With `hang_up_when` do not wait for the answer, but close the socket as soon as it returns True.
        """
        lines = {
            "Host": f"127.0.0.1:{self.port}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Connection": "close",
        }
        if self.token is not None:
            lines["Authorization"] = f"Bearer {self.token}"
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        for name in drop:
            lines.pop(name)
        if body is not None:
            lines.setdefault("Content-Length", str(len(body)))
        header = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        raw = f"{method} {path} HTTP/1.1\r\n{header}\r\n".encode() + (body or b"")
        with socket.create_connection(("127.0.0.1", self.port), 30) as link:
            try:
                link.sendall(raw)
            except (BrokenPipeError, ConnectionResetError):
                pass  # rejected before all of it was sent
            if hang_up_when is not None:
                while not hang_up_when():
                    time.sleep(0.05)
                return 0, {}, b""
            return read_response(link)

    def rpc(self, method: str, params: dict[str, Any] | None = None, *, modern: bool = False, **headers: Any) -> Any:
        """Send one JSON-RPC request. Returns the status and the answer, taken from its event stream if it has one."""
        params = dict(params or {})
        if modern:
            params["_meta"] = {**ENVELOPE, **params.get("_meta", {})}
            headers |= {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
            if "name" in params or "uri" in params:
                headers["Mcp_Name"] = params.get("name", params.get("uri"))
        else:
            headers.setdefault("MCP_Protocol_Version", "2025-11-25")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        status, _, data = self.request(body, **headers)
        for line in data.decode().splitlines():
            if line.startswith("data: ") and '"id"' in line:
                return status, json.loads(line[6:])
        return status, json.loads(data) if data.startswith(b"{") else data

    def metrics(self) -> str:
        return self.request(method="GET", path="/metrics")[2].decode()

    def wait_for_line(self, text: str) -> None:
        """Read messages of the server up to one with this text."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if text in line:
                return

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(180)
        assert self.process.stderr is not None
        self.errors = "".join(self.lines) + self.process.stderr.read()
        self.process.stderr.close()
        return status


def read_response(link: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one response to its end. Returns status, headers and body; status 0 if the connection was reset."""
    data = b""
    while True:
        try:
            block = link.recv(65536)
        except ConnectionResetError:
            break
        if not block:
            break
        data += block
    header, _, body = data.partition(b"\r\n\r\n")
    lines = header.decode("latin-1").split("\r\n")
    if not lines[0]:
        return 0, {}, b""
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        whole = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            length = int(size, 16)
            whole, body = whole + body[:length], body[length + 2 :]
        body = whole
    return int(lines[0].split()[1]), headers, body
