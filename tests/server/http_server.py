"""A server process over HTTP for the tests: on a free port, with a token of its own."""

from __future__ import annotations

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

TOKEN = "a-token-for-the-tests-0123456789"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "judge", "version": "1"},
}


class HttpServer:
    def __init__(self, root: Path, *arguments: str, token: str | None = TOKEN, **environment: str) -> None:
        argv = [sys.executable, "-m", "eyespan.server", "--root", str(root), "--http", "127.0.0.1:0", *arguments]
        env = {**os.environ, **environment}
        if token is not None:
            env["EYESPAN_TOKEN"] = token
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, env=env, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        assert found, line + self.process.stderr.read()
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
        """One request over a socket of its own, every header as given: status, headers, body.

        With `hang_up_when` the answer is not waited for: the socket is closed as soon as that is true.
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
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        raw = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + (body or b"")
        with socket.create_connection(("127.0.0.1", self.port), 30) as link:
            try:
                link.sendall(raw)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of it was sent
            if hang_up_when is not None:
                while not hang_up_when():
                    time.sleep(0.05)
                return 0, {}, b""
            return read_answer(link)

    def rpc(self, method: str, params: dict[str, Any] | None = None, *, modern: bool = False, **headers: Any) -> Any:
        """One JSON-RPC request in either era; the answer, out of its event stream if it came in one."""
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

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(60)
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()
        self.process.stderr.close()
        return status


def read_answer(link: socket.socket) -> tuple[int, dict[str, str], bytes]:
    data = b""
    while True:
        try:
            block = link.recv(65536)
        except ConnectionResetError:
            break
        if not block:
            break
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
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
