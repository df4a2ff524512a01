"""The `filesystem` toolset in place of the reference server, in real Claude Code: one line of its settings is changed.

The host runs twice with the same script of calls and a fake model on loopback, once with each server. The model must
receive the same results: text, parts of a text, an image, several files, a listing.
"""

from __future__ import annotations

import json
import sys

import pytest

from proof.originals.command import install
from proof.originals.tree import png

from .fakes import Call, FakeAnthropic
from .programs import BIN, anthropic_blocks, run_claude_code

if not BIN:
    pytest.skip("hundreds of megabytes from npm; tools/hosts.sh installs them", allow_module_level=True)

PREFIX = "mcp__files__"
CALLS = [
    ("read_text_file", {"path": "{root}/hello.txt"}),
    ("read_text_file", {"path": "{root}/long.txt", "head": 3}),
    ("read_text_file", {"path": "{root}/open.txt", "tail": 2}),
    ("read_media_file", {"path": "{root}/image.png"}),
    ("read_multiple_files", {"paths": ["{root}/hello.txt", "{root}/long.txt"]}),
    ("list_directory", {"path": "{root}"}),
    ("search_files", {"path": "{root}", "pattern": "**/*.md"}),
    ("read_text_file", {"path": "/etc/hostname"}),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("project").resolve()
    (directory / "docs").mkdir()
    (directory / "docs/guide.md").write_text("# Guide\n")
    (directory / "hello.txt").write_text("hello\nwörld ✓\n")
    (directory / "image.png").write_bytes(png(40, 30))
    (directory / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 301)))
    (directory / "open.txt").write_text("one\ntwo\nthree")
    return directory


@pytest.fixture(scope="module")
def servers(project):
    """Return the command of each server: the original and ours, with the same directory."""
    original = install("server-filesystem") / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    return {
        "original": {"command": "node", "args": [str(original), str(project)]},
        "eyespan": {
            "command": sys.executable,
            "args": ["-m", "eyespan", "serve", "--dialect", "filesystem", str(project)],
        },
    }


@pytest.fixture(scope="module")
def models(servers, project, tmp_path_factory):
    """Return the model that the host talked to, by the server that answered."""
    found = {}
    for name, server in servers.items():
        home = tmp_path_factory.mktemp(name)
        (home / "mcp.json").write_text('{"mcpServers": {\n"files": ' + json.dumps(server) + "\n}}\n")
        script = [
            Call(PREFIX + tool, json.loads(json.dumps(arguments).replace("{root}", str(project))))
            for tool, arguments in CALLS
        ]
        with FakeAnthropic(script) as model:
            run_claude_code(
                ["--allowedTools", PREFIX.removesuffix("__")],
                project,
                home,
                model,
                home / "mcp.json",
                ENABLE_TOOL_SEARCH="false",
            )
        found[name] = model
    return found


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{at}-{tool}" for at, (tool, _) in enumerate(CALLS)])
def test_the_model_receives_the_same_result_from_both_servers(models, number):
    original, own = [models[name].results()[number] for name in ("original", "eyespan")]
    if CALLS[number][0] == "read_media_file":
        del original["content"][1:]  # the image again, as the text of structured content
    contents = [anthropic_blocks(one["content"]) for one in (own, original)]

    assert (contents[0], own.get("is_error", False)) == (contents[1], original.get("is_error", False))


def test_the_image_arrives_as_an_image(models):
    (block,) = anthropic_blocks(models["eyespan"].results()[3]["content"])

    assert (block["type"], block["source"]["media_type"]) == ("image", "image/png")


@pytest.mark.parametrize("tool", sorted({tool for tool, _ in CALLS}))
def test_the_model_is_shown_the_same_schema(models, tool):
    schemas = [models[name].tool(PREFIX + tool)["input_schema"] for name in ("original", "eyespan")]

    assert _arguments(schemas[0]) == _arguments(schemas[1])


def _arguments(schema):
    """Return the types of the arguments and the names of those that are required."""
    properties = {name: value.get("type") for name, value in schema["properties"].items()}
    return properties, sorted(schema.get("required", []))
