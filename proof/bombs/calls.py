"""The calls that read a bomb, by dialect. Imports nothing that takes memory: it runs in the measured process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

DIALECTS = (
    *("native", "codex", "workspace", "forge", "claude"),
    *("codex-upstream", "workspace-upstream", "claude-upstream"),
)
TOOLS = {
    "native": "native_read",
    "codex": "codex_read_file",
    "workspace": "workspace_read_file",
    "forge": "forge_read_file",
    "claude": "claude_Read",
}
"""The dialects of the server, each with the name of its tool. The others differ from these in their answers only."""


def calls(name: str, selectors: Sequence[str], dialect: str, root: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of the calls that read a bomb in one dialect."""
    if dialect == "native":
        for selector in ("", *selectors):
            yield {"files": name + selector}
        yield {"files": name, "outline": True}
        yield {"files": name, "budget": 200_000}
        return
    yield plain_call(name, dialect, root)
    if dialect == "codex":
        yield {"file_path": f"{root}/{name}", "mode": "indentation", "offset": 2, "limit": 2000}
    if dialect == "claude":
        yield {"file_path": f"{root}/{name}", "offset": 1_000_000, "limit": 2000}


def plain_call(name: str, dialect: str, root: str) -> dict[str, Any]:
    """Return the arguments that read a file from its start."""
    if dialect == "native":
        return {"files": name}
    if dialect.startswith(("workspace", "forge")):
        return {"path": name if dialect.startswith("workspace") else f"{root}/{name}"}
    return {"file_path": f"{root}/{name}"}
