"""The hosts that `eyespan setup` knows: where each keeps its MCP servers, and how it starts them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from eyespan.extras.hosts.config_text import Format

NAME = "eyespan"
"""The name of the entry."""
SETTINGS = ("encoding=auto", "suggest=true", "redact=true", 'neutralise=["system-reminder"]')
"""The settings of the entry: what serves the users of a host, and no document of a dialect has."""
Shape = Literal["stdio", "typed", "list", "custom", "goose"]
"""How an entry is written: command and arguments; with a type; as one list; as Zed and Goose have it."""
Start = Literal["project", "variable", "elsewhere"]
"""Where the host starts its servers: in the project; anywhere, but its settings can name the project by a variable; or
anywhere, so that the entry has to name the directories."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host."""

    title: str
    file: str
    """Its configuration, relative to the home directory (`~/`) or to the project."""
    key: str = "mcpServers"
    """The object of its entries there."""
    form: Format = "json"
    shape: Shape = "stdio"
    start: Start = "project"
    program: str = ""
    """The name of its program."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the entry."""

    @property
    def path(self) -> Path:
        """Return the path of its configuration file."""
        home = Path(os.path.expanduser("~"))
        return home / self.file[2:] if self.file.startswith("~/") else Path.cwd() / self.file

    def is_found(self) -> bool:
        """Return True if the host seems to be installed here: its program, its file, or its own directory."""
        if (self.program and shutil.which(self.program)) or self.path.exists():
            return True
        own = self.path.parent
        return own.is_dir() and own not in (Path(os.path.expanduser("~")), Path.cwd())

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """Return the entry that starts this command."""
        program, *arguments = command
        entries: dict[Shape, dict[str, Any]] = {
            "stdio": {"command": program, "args": arguments},
            "typed": {"type": "stdio", "command": program, "args": arguments},
            "list": {"type": "local", "command": list(command), "enabled": True},
            "custom": {"source": "custom", "command": program, "args": arguments, "env": {}},
            "goose": {"name": NAME, "type": "stdio", "cmd": program, "args": arguments, "enabled": True, "timeout": 60},
        }
        return {**entries[self.shape], **self.more}


NOT_DEFERRED = {"omit_tools_from": ["deferred"]}, {"tools": ["*"], "deferTools": "never"}
"""Fields that keep the tool in the list that the model sees: Codex and Copilot CLI else hide it behind a search. For
Claude Code the definition of the tool has such a field; Gemini CLI lists all tools."""
HOSTS = {
    "claude-code": Host("Claude Code", ".mcp.json", program="claude"),
    "codex": Host("Codex", "~/.codex/config.toml", "mcp_servers", "toml", program="codex", more=NOT_DEFERRED[0]),
    "copilot": Host(
        "Copilot CLI", "~/.copilot/mcp-config.json", shape="typed", program="copilot", more=NOT_DEFERRED[1]
    ),
    "gemini": Host("Gemini CLI", "~/.gemini/settings.json", program="gemini"),
    "cursor": Host("Cursor", "~/.cursor/mcp.json", start="variable", program="cursor"),
    "vscode": Host("VS Code", ".vscode/mcp.json", "servers", shape="typed", start="variable", program="code"),
    "zed": Host("Zed", ".zed/settings.json", "context_servers", shape="custom", program="zed"),
    "opencode": Host("opencode", "~/.config/opencode/opencode.json", "mcp", shape="list", program="opencode"),
    "cline": Host("Cline", "~/.cline/data/settings/cline_mcp_settings.json", start="elsewhere", program="cline"),
    "kimi": Host("Kimi Code", "~/.kimi-code/mcp.json", program="kimi"),
    "goose": Host("Goose", "~/.config/goose/config.yaml", "extensions", "yaml", "goose", program="goose"),
    "windsurf": Host("Windsurf", "~/.codeium/windsurf/mcp_config.json", start="elsewhere", program="windsurf"),
}


def server_command(host: Host, dialect: str, roots: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the command that the host starts: this installation, with the settings that serve users best.

    `-P`: else Python would run an `eyespan.py` of the project, where many hosts start their servers.
    """
    if not roots and host.start != "project":
        roots = ["${workspaceFolder}" if host.start == "variable" else os.getcwd()]
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return [sys.executable, "-P", "-m", "eyespan", "serve", *roots, "--dialect", dialect, *settings, *options]
