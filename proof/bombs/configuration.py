"""Bombs of configuration: an `eyespan.toml` that a read of the workspace meets first."""

from __future__ import annotations

import time
from pathlib import Path

from eyespan import Workspace

FILES = {
    "rules": '[policy]\ndeny = ["' + '", "'.join(["*a*b*c*d*"] * 80_000) + '"]\n',
    "digits": "a = " + "9" * 5000 + "\n",
    "key": ".".join(["a"] * 30_000) + " = 1\n",
    "nested": "a = " + "[" * 30_000 + "\n",
    "stars": '[policy]\ndeny = ["' + "*a" * 120 + '"]\n',
    "size": "#" * 10_000_000 + "\n",
    "limits": "[tools.read_file]\nmax_file_read_bytes = 99999999999\n",
    "binary": "\0" * 60_000,
}


def read_below(directory: Path) -> list[tuple[str, float, str]]:
    """Read a plain file below each configuration; return name, seconds, and the answer or the error."""
    rows = []
    for name, text in FILES.items():
        root = directory / f"config-{name}"
        root.mkdir()
        (root / "eyespan.toml").write_text(text)
        (root / "plain.txt").write_text("plain\n")
        start = time.monotonic()
        try:
            with Workspace.from_config(roots=[root]) as workspace:
                answer = workspace.tool("codex").call({"file_path": f"{root}/plain.txt"}).text
        except (ValueError, OSError) as error:
            answer = f"refused: {error}"
        rows.append((name, time.monotonic() - start, answer))
    return rows
