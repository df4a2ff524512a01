"""The plugin, the bundle and the second distribution: validated with their own tools, and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile

import pytest

from .fakes import Call, FakeAnthropic
from .programs import BIN, UV, run
from .test_packaging import ROOT

needs_npm = pytest.mark.skipif(not BIN, reason="their validators come from npm; tools/hosts.sh installs them")
needs_uv = pytest.mark.skipif(not UV, reason="builds and installs with uv; tools/hosts.sh installs it")


def claude(tmp_path):
    return {"CLAUDE_CONFIG_DIR": f"{tmp_path}/config", "IS_SANDBOX": "1"}


@needs_npm
@pytest.mark.parametrize("directory", [".", "packaging/claude-plugin"])
def test_the_plugin_and_its_marketplace_are_valid(tmp_path, directory):
    out = run(
        ["claude", "plugin", "validate", "--strict", str(ROOT / directory)], tmp_path, tmp_path, **claude(tmp_path)
    )

    assert "Validation passed" in out


@needs_npm
def test_the_plugin_offers_the_tool_for_the_current_directory(tmp_path):
    """Use a `uvx` of the test, since the package is not published."""
    project, tools = tmp_path / "project", tmp_path / "tools"
    project.mkdir()
    tools.mkdir()
    (project / "hello.txt").write_text("hello\n")
    (tools / "uvx").write_text(
        f'#!/bin/sh\n[ "$*" = eyespan-mcp ] && exec {sys.executable} -m eyespan serve --dialect claude\n'
    )
    (tools / "uvx").chmod(0o755)
    name = "mcp__plugin_eyespan_eyespan__Read"
    with FakeAnthropic([Call(name, {"file_path": f"{project}/hello.txt"})]) as model:
        out = run(
            ["claude", "-p", "read it", "--plugin-dir", f"{ROOT}/packaging/claude-plugin", "--allowedTools", name],
            project,
            tmp_path,
            **claude(tmp_path),
            PATH=os.pathsep.join([str(tools), BIN, os.environ["PATH"]]),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            ANTHROPIC_BASE_URL=model.url,
            ANTHROPIC_API_KEY="dummy",
        )

    assert out.strip() == "done"
    assert [result["content"] for result in model.results()] == [[{"type": "text", "text": "     1\thello"}]]


@needs_npm
def test_the_bundle_is_valid_and_complete(tmp_path):
    directory = ROOT / "packaging/mcpb"
    run(["mcpb", "validate", str(directory / "manifest.json")], tmp_path, tmp_path)
    run(["mcpb", "pack", str(directory), f"{tmp_path}/eyespan.mcpb"], tmp_path, tmp_path)

    with zipfile.ZipFile(tmp_path / "eyespan.mcpb") as bundle:
        assert sorted(bundle.namelist()) == ["manifest.json", "pyproject.toml", "server.py"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Both distributions, built as they would be published."""
    out = tmp_path_factory.mktemp("wheels")
    for directory in (ROOT, ROOT / "packaging/eyespan-mcp"):
        built = subprocess.run([UV, "build", "--quiet", "--out-dir", out, directory], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
    return out


def listed(command, directory):
    """The names of the tools that a server over standard input and output lists, and what `Read` answers there."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    requests = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "Read", "arguments": {"file_path": f"{directory}/hello.txt"}},
        },
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}
    return answers[2]["result"]["content"]


@needs_uv
def test_uvx_runs_the_second_distribution(wheels, tmp_path):
    (tmp_path / "hello.txt").write_text("hello\n")
    command = [UV, "tool", "run", "--quiet", "--isolated", "--find-links", str(wheels), "eyespan-mcp", str(tmp_path)]

    assert listed([*command, "--dialect", "claude"], tmp_path) == [{"type": "text", "text": "     1\thello"}]


@needs_uv
def test_the_bundle_runs_by_its_manifest(wheels, tmp_path):
    (tmp_path / "hello.txt").write_text("hello\n")
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    for name in ("manifest.json", "pyproject.toml", "server.py"):
        (bundle / name).write_bytes((ROOT / "packaging/mcpb" / name).read_bytes())
    config = json.loads((bundle / "manifest.json").read_text())["server"]["mcp_config"]
    values = {"${__dirname}": str(bundle), "${user_config.folders}": str(tmp_path)}
    command = [values.get(word, word) for word in config["args"]]
    command[1:1] = ["--quiet", "--find-links", str(wheels)]

    assert config["command"] == "uv"
    assert listed([UV, *command, "--dialect", "claude"], tmp_path) == [{"type": "text", "text": "     1\thello"}]
