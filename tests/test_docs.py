"""The pages: every path, link and test they name exists."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_layers import LAYERS
from tools import site_hook

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


LINKED = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
NAV = [{"Pages": [{"A page": name} for name in LINKED]}]
"""The pages of the navigation of the site, in one section."""


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


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_the_text_of_a_link_is_words(page):
    text = CODE.sub("", page.read_text("utf-8"))

    assert re.findall(r"\[[^]\s]*\.(?:md|json)\]\([^)]*\)", text) == []


def test_the_extras_that_are_deprecated_install_nothing():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    listed = re.findall(r"^\| the extra `(\w+)` \|", (ROOT / "docs/versioning.md").read_text("utf-8"), re.MULTILINE)

    assert [name for name, needs in extras.items() if not needs] == listed


def test_llms_txt_has_a_sentence_for_every_page():
    text = site_hook.llms_text(NAV, ROOT / "docs")

    assert re.findall(r"^- \[.*\]\((.*)\): .{20,}$", text, re.MULTILINE) == LINKED
    assert text.startswith("# eyespan\n\n> The read tool for AI agents")


def test_a_version_of_the_site_is_added_to_those_before(tmp_path):
    (tmp_path / "site" / "0.1.0").mkdir(parents=True)
    (tmp_path / "site" / "0.1.0" / "llms.txt").touch()
    config = site_hook.on_config({"docs_dir": str(ROOT / "docs"), "site_dir": str(tmp_path / "site"), "nav": NAV})
    for page in sorted((ROOT / "docs").rglob("*.md")):
        (Path(config["site_dir"]) / page.relative_to(ROOT / "docs")).parent.mkdir(parents=True, exist_ok=True)

    site_hook.on_post_build(config)
    versions = json.loads((tmp_path / "site" / "versions.json").read_text())

    assert [one["version"] for one in versions] == [site_hook.VERSION, "0.1.0"]
    assert f"url={site_hook.VERSION}/index.html" in (tmp_path / "site" / "index.html").read_text()
    assert (tmp_path / "site" / site_hook.VERSION / "start.md").is_file()
