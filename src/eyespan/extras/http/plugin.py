"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.plugins import Command

COMMANDS = {
    "view": Command(
        "[DIR...]", "open a page that shows what a model receives", "eyespan.extras.http.page.view_command"
    ),
}
ATTACKS = "eyespan.extras.http.listener_attack:attacks"
SERVE_OPTIONS = "eyespan.extras.http.http_options"
DEPENDENCIES = {"httptools": "http", "jwt": "oauth", "opentelemetry.sdk": "otel"}
