"""One version in every file that has one."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import eyespan

ROOT = Path(__file__).parents[1]


def _versions(path: str) -> set[str]:
    text = (ROOT / path).read_text()
    data = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    return set(re.findall(r"'(?:version': '|eyespan[^']*==)([0-9][^']*)'", str(data)))


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "packaging/eyespan-mcp/pyproject.toml",
        "packaging/mcpb/pyproject.toml",
        "packaging/mcpb/manifest.json",
        "packaging/claude-plugin/.claude-plugin/plugin.json",
        ".claude-plugin/marketplace.json",
        "server.json",
    ],
)
def test_every_manifest_has_the_version_of_the_package(path):
    assert _versions(path) == {eyespan.__version__}


def test_the_changelog_knows_the_version():
    assert f"## {eyespan.__version__}" in (ROOT / "CHANGELOG.md").read_text()
