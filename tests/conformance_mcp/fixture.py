"""What the official conformance suite calls, answered by the real doors.

    python fixture.py http PORT      the HTTP door
    python fixture.py stdio          the stdio door
    python fixture.py bridge PORT    the stdio door behind a thin HTTP front, since the suite speaks HTTP only

The suite asks for tools and resources by names of its own (`test_simple_text`, `test://static-text`). Here each name
stands for a reply that a tool of ours could give, or for a file; how it is sent is the doors' own work.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

from eyespan.model import DocumentContent, ImageContent, Reply, ReplyError, TextContent, ToolSpec
from eyespan.server import main, parse, protocol, stdio
from eyespan.server.protocol import Service
from eyespan.workspace import Workspace

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)
TEXT, IMAGE = TextContent("This is a simple text response for testing."), ImageContent(PNG, "image/png")
DOCUMENT = DocumentContent(b"%PDF-1.4", "application/pdf")
FAILED = ReplyError("test", "This tool intentionally returns an error for testing")

REPLIES = {
    "test_simple_text": Reply((TEXT,)),
    "test_image_content": Reply((IMAGE,)),
    "test_embedded_resource": Reply((DOCUMENT,)),
    "test_multiple_content_types": Reply((TEXT, IMAGE, DOCUMENT)),
    "test_error_handling": Reply((TextContent(FAILED.message),), None, FAILED),
    "test_tool_with_progress": Reply((TEXT,)),
    "test_logging_tool": Reply((TEXT,)),  # a tool that could log and, as all of ours, does not
}
FILES = {
    "test://static-text": "file:///static.txt",
    "test://static-binary": "file:///static.png",
    "test://template/123/data": "file:///123.txt",
}


class CannedTool:
    """Answers as a tool does, with a reply that is known beforehand."""

    class dialect:  # noqa: N801  (stands for an object)
        name = "fixture"

    def __init__(self, name: str) -> None:
        self.spec = ToolSpec(name, "Of the conformance suite.", {"type": "object", "properties": {}})
        self.engine: Any = None

    def call(self, arguments: Any, *, context: Any) -> Reply:
        if self.spec.name == "test_tool_with_progress":
            for done in (1, 50, 100, 100):
                time.sleep(0.25)  # the doors tell progress at most five times a second
                context.advance(done, 100)
        return REPLIES[self.spec.name]


class FixtureService(Service):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in REPLIES:
            tool: Any = CannedTool(name)
            self._tools[name] = tool
            self._listed.append((name, tool))

    def _call_tool(self, params: Any, caller: str, context: Any) -> dict[str, Any]:
        tool = self._tools.get(params.get("name"))
        if isinstance(tool, CannedTool):
            return self._result(tool, tool.call({}, context=context), None)
        return super()._call_tool(params, caller, context)

    def handler(self, method: str) -> Any:
        if method == "resources/read":
            return self._read_by_name
        if method == "resources/list":
            return lambda *_: {"resources": [{"uri": "test://static-text", "name": "static-text"}]}
        if method == "completion/complete":
            return self._complete_any
        return super().handler(method)

    def _read_by_name(self, params: Any, caller: str, context: Any) -> dict[str, Any]:
        asked = params.get("uri")
        try:
            result = super()._read_resource({"uri": FILES.get(asked, asked)}, caller, context)
        except protocol.Refused as refused:
            refused.data = {"uri": asked}
            raise
        result["contents"][0]["uri"] = asked
        return result

    def _complete_any(self, params: Any, caller: str, context: Any) -> dict[str, Any]:
        """The suite completes an argument of a prompt; here it gets paths, as any other."""
        ref = {"type": "ref/resource", "uri": protocol.TEMPLATE}
        return super()._complete({"ref": ref, "argument": {"name": "path", "value": "s"}}, caller, context)


class Bridge(BaseHTTPRequestHandler):
    """HTTP to lines and back, with the statuses that the 2026-07-28 revision asks for. No more than that."""

    STATUS = {-32700: 400, -32600: 400, -32602: 400, -32022: 400, -32601: 404}
    protocol_version = "HTTP/1.1"
    child: subprocess.Popen[bytes]
    waiting: dict[int, Queue[dict[str, Any]]] = {}
    tokens: dict[Any, int] = {}
    lock = threading.Lock()
    last = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        message = json.loads(body)
        if "id" not in message:
            assert self.child.stdin is not None
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()
            self._send(202, b"")
            return
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        with self.lock:
            Bridge.last += 1
            number, asked = self.last, message["id"]
            answers: Queue[dict[str, Any]] = Queue()
            self.waiting[number] = answers
            if "progressToken" in meta:
                self.tokens[meta["progressToken"]] = number
            assert self.child.stdin is not None
            self.child.stdin.write(json.dumps({**message, "id": number}).encode() + b"\n")
            self.child.stdin.flush()
        told = []
        while "id" not in (answer := answers.get(timeout=60)):
            told.append(answer)
        answer["id"] = asked
        modern = self.headers.get("MCP-Protocol-Version") not in (None, *protocol.HANDSHAKE_VERSIONS)
        status = self.STATUS.get(answer.get("error", {}).get("code"), 200) if modern else 200
        if told:
            events = "".join(f"event: message\ndata: {json.dumps(item)}\n\n" for item in [*told, answer])
            self._send(status, events.encode(), "text/event-stream")
        else:
            self._send(status, json.dumps(answer).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: the suite tells what it asks."""

    @classmethod
    def pump(cls) -> None:
        """Hands each line of the stdio door to the request it belongs to."""
        assert cls.child.stdout is not None
        for line in cls.child.stdout:
            message = json.loads(line)
            number = message.get("id")
            if number is None:
                number = cls.tokens.get(message.get("params", {}).get("progressToken"))
            if number in cls.waiting:
                cls.waiting[number].put(message)


def run(argv: list[str]) -> int:
    door, port = argv[0], argv[1] if len(argv) > 1 else ""
    if door == "bridge":
        Bridge.child = subprocess.Popen(
            [sys.executable, __file__, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        threading.Thread(target=Bridge.pump, daemon=True).start()
        ThreadingHTTPServer(("127.0.0.1", int(port)), Bridge).serve_forever()
    folder = Path(tempfile.mkdtemp(prefix="eyespan-conformance-"))
    (folder / "static.txt").write_text("This is the content of the static text resource.\n")
    (folder / "static.png").write_bytes(PNG)
    (folder / "123.txt").write_text("Data for ID: 123\n")
    arguments = ["--dialect", "workspace", "--rich"]
    if door == "http":
        from eyespan.server.http import app as http

        http.Service = FixtureService  # type: ignore[misc]  # what the doors take for a service is the point here
        arguments += ["--http", f"127.0.0.1:{port}", "--no-token", "--rate", "100000"]
    stdio.Service = FixtureService  # type: ignore[misc]
    return main(lambda roots: Workspace(folder), parse(arguments))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
