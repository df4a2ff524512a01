"""Dialects: the read tools of one agent each, by name. A new dialect is one module and one row of `DIALECTS`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyespan.dialects.base import Dialect


DIALECTS = {
    "native": "eyespan.dialects.native:Native",
    "codex": "eyespan.dialects.codex:Codex",
    "codex-upstream": "eyespan.dialects.codex:CodexUpstream",
    "workspace": "eyespan.dialects.workspace:Workspace",
    "workspace-upstream": "eyespan.dialects.workspace:WorkspaceUpstream",
    "forge": "eyespan.dialects.forge:Forge",
    "claude": "eyespan.dialects.claude:Claude",
    "claude-upstream": "eyespan.dialects.claude:ClaudeUpstream",
    "filesystem": "eyespan.dialects.filesystem:Filesystem",
    "text-editor": "eyespan.dialects.text_editor:TextEditor",
    "gemini": "eyespan.dialects.gemini:Gemini",
    "kimi": "eyespan.dialects.kimi:Kimi",
    "opencode": "eyespan.dialects.opencode:OpenCode",
    "cline": "eyespan.dialects.cline:Cline",
    "deepagents": "eyespan.dialects.deepagents:DeepAgents",
}


def dialect_class(name: str) -> type[Dialect]:
    """Return the class of a dialect, imported on first use.

    Raises: ValueError, which names the known dialects.
    """
    row = DIALECTS.get(name)
    if row is None:
        raise ValueError(f"no dialect {name!r}; there are {', '.join(DIALECTS)}")
    module, _, cls = row.partition(":")
    __import__(module)
    found: type[Dialect] = getattr(sys.modules[module], cls)
    return found
