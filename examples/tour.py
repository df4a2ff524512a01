"""Show the same lines of one file in every dialect, and some refusals. `make run` runs this."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from eyespan import Workspace

HERE = Path(__file__).resolve().parent / "sample"
FILE = HERE / "harbor.py"
BOLD, DIM, PLAIN = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if sys.stdout.isatty() else ("", "", "")


def show(dialect: str, arguments: dict[str, object], **settings: object) -> None:
    workspace = Workspace(HERE)
    reply = workspace.tool(dialect, **settings).call(arguments)
    shown = json.dumps(arguments, ensure_ascii=False).replace(f"{HERE}/", ".../")
    print(f"{BOLD}{dialect}{PLAIN} {DIM}{shown}{PLAIN}")
    text = as_object(reply.structured) if dialect == "workspace" else reply.text
    if reply.error:
        text = f"{reply.error.code}: {reply.error.message}"
    print("\n".join("    " + line for line in text.split("\n")).rstrip() + "\n")


def as_object(fields: Mapping[str, object]) -> str:
    """Write a result object, one field on a line."""
    rows = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "{\n" + ",\n".join(rows) + "\n}"


def main() -> None:
    print("native, eyespan's own: many files, ranges and symbols in one call, within one budget:\n")
    show("native", {"files": ["harbor.py:1-3", "harbor.py::Harbour.moor", "harbour.py"], "budget": 500})

    print("The same file in the dialects that models already know:\n")
    show("codex", {"file_path": str(FILE), "offset": 20, "limit": 3})
    show("workspace", {"path": "harbor.py", "start_line": 20, "max_lines": 3})
    show("forge", {"path": "harbor.py", "start_line": 20, "end_line": 22})
    show("claude", {"file_path": str(FILE), "offset": 19, "limit": 3})

    print("The indentation mode of codex finds the block around a line, here the body of a method:\n")
    block = {"anchor_line": 23, "max_levels": 1, "include_siblings": True}
    show("codex", {"file_path": str(FILE), "mode": "indentation", "indentation": block})

    print("A pipe, a link out of the root and a path outside it are refused:\n")
    with tempfile.TemporaryDirectory() as directory:
        os.mkfifo(f"{directory}/pipe")
        os.symlink("/etc/passwd", f"{directory}/escape")
        tool = Workspace(directory).tool("workspace")
        for path in ("pipe", "escape", "../outside", "missing.txt"):
            error = tool.call({"path": path}).error
            print(f"    {path:<12} {error.code if error else ''}")

    print(
        """
Next:
    .venv/bin/eyespan read examples/sample/harbor.py:8-12
    .venv/bin/eyespan call forge '{"path": "README.md", "tail": 3}'
    .venv/bin/eyespan --help
    make test"""
    )


if __name__ == "__main__":
    main()
