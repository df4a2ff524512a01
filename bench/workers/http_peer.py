"""The Python peers over HTTP: `python http_peer.py SDK|fastmcp PORT`. Each has one tool that returns a file."""

from __future__ import annotations

import sys
from pathlib import Path

KIND, PORT = sys.argv[1], int(sys.argv[2])


def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text()


if KIND == "fastmcp":
    from fastmcp import FastMCP

    server = FastMCP("peer")
    server.tool(read_file)
    app = server.http_app(path="/mcp", stateless_http=True, json_response=True)
else:
    from mcp.server.mcpserver import MCPServer

    official = MCPServer("peer")
    official.add_tool(read_file)
    app = official.streamable_http_app(stateless_http=True, json_response=True)

import uvicorn  # noqa: E402  (after the check of the kind)

uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error", access_log=False)
