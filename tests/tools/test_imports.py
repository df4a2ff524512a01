"""Programs beside the package import only names that it has."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = [path for name in ("bench", "examples", "proof", "tools") for path in sorted((ROOT / name).rglob("*.py"))]


OPTIONAL = ("eyespan._native", "_fast")
"""The accelerator, which only a machine with a C compiler has."""


def exists(module: str, name: str) -> bool:
    return (
        (module, name) == OPTIONAL or hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_imports_names_that_exist(path):
    imported = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "eyespan"
        for alias in node.names
    ]

    assert [pair for pair in imported if not exists(*pair)] == []
