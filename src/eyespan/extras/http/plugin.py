"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.plugins import Command

_HERE = "eyespan.extras.http"

COMMANDS = {"view": Command("[DIR...]", "open a page that shows what a model receives", f"{_HERE}.page.view_command")}
ATTACKS = f"{_HERE}.listener_attack:attacks"
SERVE_OPTIONS = f"{_HERE}.http_options"
DEPENDENCIES = {
    "httptools": ("http", "MCP over HTTP"),
    "jwt": ("oauth", "access tokens of an OAuth issuer, over HTTP"),
}
