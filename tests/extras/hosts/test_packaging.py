"""The manifests for hosts and registries agree with each other and with the documentation."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from eyespan.cli.serve import parse_words
from eyespan.extras.hosts.host_table import HOSTS, SETTINGS

ROOT = Path(__file__).resolve().parents[3]
MCP_NAME = "io.github.eyespan/eyespan"
SET = [word for setting in SETTINGS for word in ("--set", setting)]
DOCUMENTATION = (ROOT / "docs/hosts.md").read_text()


def data(path):
    text = (ROOT / path).read_text()
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


def test_server_json_keeps_the_rules_of_the_registry():
    """Check the rules that matter to a publisher; no package contains the whole schema."""
    server = data("server.json")
    (package,) = server["packages"]

    assert server["$schema"].endswith("/2025-12-11/server.schema.json")
    assert server["name"] == MCP_NAME
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    assert 1 <= len(server["title"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", package["version"])  # a version, not a range
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    for argument in package["packageArguments"]:
        assert argument["type"] == "positional"
        assert "valueHint" in argument
        assert argument["format"] in ("string", "number", "boolean", "filepath")


def test_the_published_readme_proves_the_name_to_the_registry():
    """Check the line by which the registry recognizes the package of server.json."""
    second = data("packaging/eyespan-mcp/pyproject.toml")["project"]
    readme = (ROOT / "packaging/eyespan-mcp" / second["readme"]).read_text()

    assert second["name"] == data("server.json")["packages"][0]["identifier"]
    assert f"\nmcp-name: {MCP_NAME}\n" in readme


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], ["serve", *SET]),
        (["/a", "/b"], ["serve", "--root", "/a", "--root", "/b", *SET]),
        (["~/a", "--dialect", "codex"], ["serve", "--root", "/home/me/a", *SET, "--dialect", "codex"]),
        (["--http", "127.0.0.1:1"], ["serve", *SET, "--http", "127.0.0.1:1"]),
    ],
)
def test_leading_words_are_the_roots_and_the_settings_for_hosts_are_on(monkeypatch, given, words):
    monkeypatch.setenv("HOME", "/home/me")
    module = runpy.run_path(str(ROOT / "packaging/eyespan-mcp/src/eyespan_mcp/__init__.py"))

    assert module["words"](given) == words


def test_the_bundle_passes_each_chosen_directory_as_one_word():
    manifest = data("packaging/mcpb/manifest.json")

    assert manifest["server"]["mcp_config"]["args"][-1] == "${user_config.folders}"
    assert manifest["user_config"]["folders"]["multiple"] is True
    assert (ROOT / "packaging/mcpb" / manifest["server"]["entry_point"]).is_file()


def snippets(language):
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENTATION, re.MULTILINE | re.DOTALL)


def commands():
    """Return every command in the documentation that starts the server, as words."""
    found = []
    for text in snippets("json"):
        for servers in (value for key, value in json.loads(text).items() if key in ("mcpServers", "servers")):
            found += [server["args"] for server in servers.values()]
    for text in snippets("toml"):
        found += [server["args"] for server in tomllib.loads(text)["mcp_servers"].values()]
    found += [line.split()[6:] for line in re.findall(r"^    \w+ mcp add .*$", DOCUMENTATION, re.MULTILINE)]
    return found


def test_the_documentation_lists_the_hosts_of_setup():
    rows = re.findall(r"^\| (.*) \| `eyespan setup (.*)` \| `(.*)` \|$", DOCUMENTATION, re.MULTILINE)

    assert rows == [(host.title, name, host.file) for name, host in HOSTS.items()]
    assert len(commands()) == 3


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_server_accepts_the_options_in_the_documentation(words):
    module = runpy.run_path(str(ROOT / "packaging/eyespan-mcp/src/eyespan_mcp/__init__.py"))

    assert words[0] == "eyespan-mcp"
    serve, *rest = module["words"](words[1:])
    while rest[:1] == ["--root"]:
        rest = rest[2:]
    assert serve == "serve"
    parse_words(rest)


def test_tools_and_actions_are_pinned_by_hashes():
    tools = (ROOT / "packaging/tools.txt").read_text()
    pinned = re.findall(r"^\S+==\S.*\\\n(?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", tools, re.MULTILINE)
    workflows = "".join(each.read_text() for each in (ROOT / ".github/workflows").iterdir())
    actions = re.findall(r"uses: *(\S+)", workflows)

    assert "".join(pinned) == "".join(line for line in tools.splitlines(keepends=True) if line[0] != "#")
    assert [each for each in actions if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
    assert len(pinned) > 30
    assert len(actions) > 5
