"""A workspace to serve, and a client that speaks raw lines, so that a test sees exactly what goes over the wire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "judge", "version": "1"},
}
ERAS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


class Lines:
    """One server process over stdio."""

    def __init__(self, *arguments: str, root: Path, version: str | None = "2025-11-25") -> None:
        argv = [sys.executable, "-m", "eyespan.server", "--root", str(root), *arguments]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.modern = version == "2026-07-28"
        self._next = 0
        self.notices: list[dict[str, Any]] = []
        if version is not None and not self.modern:
            hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "judge", "version": "1"}}
            self.hello = self.ask("initialize", hello)["result"]
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has gone"
        return json.loads(line.decode("utf-8", "strict"))

    def start(self, method: str, params: dict[str, Any] | None = None, request_id: Any = None) -> Any:
        """Sends a request and does not wait for its answer."""
        self._next += 1
        params = dict(params or {})
        if self.modern and method != "initialize":
            params["_meta"] = {**ENVELOPE, **params.get("_meta", {})}
        request_id = self._next if request_id is None else request_id
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def wait(self, request_id: Any) -> Any:
        """The answer to a request; notices on the way are kept, any other answer is a mistake."""
        while True:
            message = self.read()
            if "method" in message:
                self.notices.append(message)
                continue
            assert message["id"] == request_id, message
            return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return self.wait(self.start(method, params))

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        status = self.process.wait(30)
        self.errors = self.process.stderr.read().decode()
        if not self.process.stdout.closed:
            self.process.stdout.close()
        self.process.stderr.close()
        return status


@pytest.fixture
def lines(tree: Path):
    """Makes servers, and ends them."""
    made: list[Lines] = []

    def make(*arguments: str, version: str | None = "2025-11-25", root: Path = tree) -> Lines:
        made.append(Lines(*arguments, root=root, version=version))
        return made[-1]

    yield make
    for server in made:
        assert server.process.stdin is not None
        if not server.process.stdin.closed:
            server.close()
        assert server.process.returncode == 0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small workspace with one of everything that has ever hurt a server."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    (root / "hello.txt").write_text("hello\nworld\n")
    (root / "umlaut.txt").write_text("grün → €\n")
    (root / "blob.bin").write_bytes(bytes(range(256)))
    (root / ".env").write_text("SECRET=1\n")
    (root / "latin.txt").write_bytes(b"caf\xe9\n")
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to("/etc/passwd")
    return root


@pytest.fixture
def huge(tree: Path) -> Path:
    """100 MB in which the line asked for comes last; sparse, so it costs nothing to make."""
    path = tree / "huge.txt"
    with path.open("wb") as file:
        file.write(b"first\n")
        file.truncate(100 * 1024 * 1024)
        file.seek(0, 2)
        file.write(b"\nlast\n")
    return path
