"""Two ways to call a tool: in this process and over MCP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from eyespan import Workspace


class Wrong(Exception):
    """Raised for an answer that no rule explains."""


class Answer:
    """The parts of a reply that both ways have in common."""

    def __init__(self, text: str, structured, error: str | None) -> None:
        self.text = text
        self.structured = structured
        self.error = error


def library(workspace: Workspace, dialect: str, **settings):
    """Return a function that calls a tool of the workspace."""
    tool = workspace.tool(dialect, **settings)

    def call(arguments) -> Answer:
        reply = tool.call(arguments)
        text = reply.content[0].text if reply.content else ""
        return Answer(text, reply.structured, reply.error.message if reply.error else None)

    return call


class Server:
    """Call a tool over MCP: one server process, one JSON object a line."""

    def __init__(self, root: Path, dialect: str) -> None:
        command = [sys.executable, "-m", "eyespan", "serve", "--root", str(root), "--dialect", dialect]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._count = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "exact", "version": "1"}}
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._tool = self._ask("tools/list", {})["tools"][0]["name"]

    def _send(self, message) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params):
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise Wrong("the server has ended")
            message = json.loads(line)
            if message.get("id") == self._count:
                if "error" in message:
                    raise Wrong(f"the server refused the call: {message['error']}")
                return message["result"]

    def __call__(self, arguments) -> Answer:
        result = self._ask("tools/call", {"name": self._tool, "arguments": arguments})
        text = result["content"][0].get("text", "") if result["content"] else ""
        facts = result.get("structuredContent") or result.get("_meta", {}).get("eyespan/facts")
        return Answer(text, facts, text if result.get("isError") else None)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
