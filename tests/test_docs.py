"""The pages: every path, link and test they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_layers import LAYERS

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *[ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "proof/README.md")],
    *sorted((ROOT / "docs").rglob("*.md")),
]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
NAMED = re.compile(
    r"(?<![\w./-])(?:(?:src/eyespan|tests|docs|proof|bench|examples|packaging)/[\w./-]*[\w/]|tools/[\w./-]*\.\w+)"
)
"""Paths from the top directory. `tools/list` is a method of MCP, so a path in tools/ has a suffix."""
NAMED_BELOW_PACKAGE = re.compile(r"`((?:dialects|guard|sandbox|worker|server|cli|lines|sources)/[\w/]*(?:\.py)?)`")
CODE = re.compile(r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def named_paths(page):
    text = page.read_text("utf-8")
    below_package = [f"src/eyespan/{name}" for name in NAMED_BELOW_PACKAGE.findall(text)]
    return sorted({*NAMED.findall(text), *below_package})


def by_name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_every_path_that_a_page_names_exists(page):
    assert [name for name in named_paths(page) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_every_link_of_a_page_leads_to_a_file(page):
    links = LINK.findall(CODE.sub("", page.read_text("utf-8")))

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_every_command_of_a_page_is_a_target_of_the_makefile(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"(?:`|^    )make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)) <= targets


def test_every_decision_is_listed():
    records = sorted(path.name for path in (ROOT / "docs/decisions").glob("[0-9]*.md"))

    assert LINK.findall((ROOT / "docs/decisions/README.md").read_text()) == records


def test_the_layout_of_the_architecture_page_shows_the_layers_from_top_to_bottom():
    block = ARCHITECTURE.read_text().split("```\nsrc/eyespan/\n", 1)[1].split("```", 1)[0]
    groups = [re.findall(r"^  (\w+)(?:\.py|/) ", group, re.MULTILINE) for group in block.split("\n\n")]
    layers = [layer.split() for layer in reversed(LAYERS) if layer != "__main__"]

    assert [sorted(group) for group in groups] == [sorted(layer) for layer in layers]
