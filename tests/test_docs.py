"""The pages: every path, link and test they name exists, and the examples of the architecture page work."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from eyespan import Workspace, dialects, kinds
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


# --- the examples of the architecture page -------------------------------------------------------------------------


def module_of_example(monkeypatch, name, first_line):
    """Make a module of the example that begins with this line."""
    found = re.findall(r"^( *)```python\n(.*?)^ *```", ARCHITECTURE.read_text(), re.MULTILINE | re.DOTALL)
    [(indent, text)] = [(indent, text) for indent, text in found if text.lstrip().startswith(first_line)]
    module = ModuleType(name)
    exec(compile(re.sub(f"^{indent}", "", text, flags=re.MULTILINE), str(ARCHITECTURE), "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def test_the_kind_of_the_architecture_page_works(tmp_path, monkeypatch):
    module_of_example(monkeypatch, "eyespan.readers.calendar", "from eyespan.model import NotePart")
    row = re.search(r'^ *(Kind\("agenda".*\))$', ARCHITECTURE.read_text(), re.MULTILINE)
    rows = (*kinds.rows(), eval(row[1], {"Kind": kinds.Kind}))
    monkeypatch.setattr(kinds, "rows", lambda: rows)
    (tmp_path / "team.agenda").write_bytes(b"BEGIN:VEVENT\r\nSUMMARY:launch\r\nEND:VEVENT\r\n")

    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": "team.agenda"})

    assert "\tlaunch" in reply.text


def test_the_dialect_of_the_architecture_page_works(tmp_path, monkeypatch):
    module_of_example(monkeypatch, "eyespan.dialects.first", "from eyespan.dialects.base import FileDialect")
    monkeypatch.setitem(dialects.CORE, "first", "eyespan.dialects.first:First")
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 21)))

    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("first")
        replies = [tool.call({"path": name}) for name in ("a.txt", "b.txt")] + [tool.call({})]

    assert replies[0].text == "".join(f"line {n}\n" for n in range(1, 11))
    assert [reply.error.code for reply in replies[1:]] == ["not_found", "invalid"]
