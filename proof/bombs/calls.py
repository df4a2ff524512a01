"""The calls that read a bomb, by dialect. Imports nothing that takes memory: it runs in the measured process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

TOOLS = {
    "native": "native_read",
    "codex": "codex_read_file",
    "workspace": "workspace_read_file",
    "forge": "forge_read_file",
    "claude": "claude_Read",
    "filesystem": "filesystem_read_text_file",
    "text-editor": "text_editor_str_replace_based_edit_tool",
    "gemini": "gemini_read_file",
    "kimi": "kimi_Read",
    "opencode": "opencode_read",
    "cline": "cline_read_files",
    "deepagents": "deepagents_read_file",
}
"""The dialects of the server, each with the name of its tool there. The others differ from these in their answers."""
DIALECTS = (*TOOLS, "codex-upstream", "workspace-upstream", "claude-upstream")


def calls(name: str, selectors: Sequence[str], dialect: str, root: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of the calls that read a bomb in one dialect."""
    path = f"{root}/{name}"
    if dialect == "native":
        for selector in ("", *selectors):
            yield {"files": name + selector}
        yield {"files": name, "outline": True}
        yield {"files": name, "budget": 200_000}
        return
    yield plain_call(name, dialect, root)
    if dialect == "codex":
        yield {"file_path": path, "mode": "indentation", "offset": 2, "limit": 2000}
    if dialect == "claude":
        yield {"file_path": path, "offset": 1_000_000, "limit": 2000}
    if dialect == "filesystem":
        yield {"path": path, "tail": 1_000_000}
    if dialect == "text-editor":
        yield {"command": "view", "path": path, "view_range": [2, -1]}
    if dialect == "kimi":
        yield {"path": path, "line_offset": -1000}
    if dialect == "cline":
        yield {"files": [{"path": path, "start_line": number} for number in (1, 2, 1000, 100_000)]}


def plain_call(name: str, dialect: str, root: str) -> dict[str, Any]:
    """Return the arguments that read a file from its start."""
    path = f"{root}/{name}"
    if dialect == "native":
        return {"files": name}
    if dialect.startswith("workspace"):
        return {"path": name}
    if dialect == "text-editor":
        return {"command": "view", "path": path}
    if dialect == "cline":
        return {"files": [{"path": path}]}
    if dialect == "opencode":
        return {"filePath": path}
    return {"path" if dialect in ("forge", "filesystem", "kimi") else "file_path": path}
