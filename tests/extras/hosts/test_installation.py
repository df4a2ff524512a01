"""The plugin, the bundle and the second distribution: validated with their own tools, and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import eyespan

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
def test_the_bundle_is_valid_and_complete(tmp_path):
    directory = ROOT / "packaging/mcpb"
    run(["mcpb", "validate", str(directory / "manifest.json")], tmp_path, tmp_path)
    run(["mcpb", "pack", str(directory), f"{tmp_path}/eyespan.mcpb"], tmp_path, tmp_path)

    with zipfile.ZipFile(tmp_path / "eyespan.mcpb") as bundle:
        assert sorted(bundle.namelist()) == ["manifest.json", "pyproject.toml", "server.py"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Both distributions, as they would be published: those of `make dist`, or built here."""
    if built := os.environ.get("EYESPAN_WHEELS"):
        return Path(built)
    out = tmp_path_factory.mktemp("wheels")
    for directory in (ROOT, ROOT / "packaging/eyespan-mcp"):
        built = subprocess.run([UV, "build", "--quiet", "--out-dir", out, directory], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
    return out


def answer(command, wheels, directory):
    """Return what `Read` answers in a server that uv starts, with the wheels in place of an index of packages."""
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
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300, env=with_uv(wheels))
    assert done.returncode == 0, done.stderr
    answers = {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}
    return answers[2]["result"]["content"]


def with_uv(wheels):
    """Return an environment in which hosts find uv, and uv finds the wheels."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(UV).parent), os.environ["PATH"]]),
        "UV_FIND_LINKS": str(wheels),
    }


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "hello.txt").write_text("hello\n")
    return directory


HELLO = [{"type": "text", "text": "     1\thello"}]


@needs_uv
def test_server_json_leads_to_a_server(wheels, project):
    """Run the command that a host makes of the entry in the registry."""
    (package,) = json.loads((ROOT / "server.json").read_text())["packages"]
    command = [package["runtimeHint"], "--isolated", f"{package['identifier']}=={package['version']}", str(project)]

    assert answer([*command, "--dialect", "claude"], wheels, project) == HELLO


@needs_uv
def test_the_bundle_runs_by_its_manifest(wheels, project, tmp_path):
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    for name in ("manifest.json", "pyproject.toml", "server.py"):
        (bundle / name).write_bytes((ROOT / "packaging/mcpb" / name).read_bytes())
    config = json.loads((bundle / "manifest.json").read_text())["server"]["mcp_config"]
    values = {"${__dirname}": str(bundle), "${user_config.folders}": str(project)}
    command = [config["command"], *[values.get(word, word) for word in config["args"]]]

    assert answer([*command, "--dialect", "claude"], wheels, project) == HELLO


@needs_npm
@needs_uv
def test_the_plugin_offers_the_tool_for_the_current_directory(wheels, project, tmp_path):
    environment = with_uv(wheels)
    subprocess.run(
        ["uvx", "eyespan-mcp", "--help"], env=environment, capture_output=True, check=True
    )  # fills its cache
    name = "mcp__plugin_eyespan_eyespan__read"
    with FakeAnthropic([Call(name, {"files": "hello.txt"})]) as model:
        out = run(
            ["claude", "-p", "read it", "--plugin-dir", f"{ROOT}/packaging/claude-plugin", "--allowedTools", name],
            project,
            tmp_path,
            **claude(tmp_path),
            **{key: value for key, value in environment.items() if key.startswith("UV_")},
            UV_OFFLINE="1",
            PATH=os.pathsep.join([BIN, environment["PATH"]]),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            ANTHROPIC_BASE_URL=model.url,
            ANTHROPIC_API_KEY="dummy",
        )

    assert out.strip() == "done"
    assert [result["content"][0]["text"].splitlines()[1] for result in model.results()] == ["1\thello"]


@needs_uv
def test_the_container_has_all_kinds_of_documents(wheels, tmp_path):
    """Install what the Containerfile installs; building the image needs a base image from a registry."""
    (extras,) = re.findall(r"'/src(\[[a-z,]+\])'", (ROOT / "packaging/Containerfile").read_text())
    for words in (["venv", "--quiet"], ["pip", "install", "--quiet", f"eyespan{extras}=={eyespan.__version__}"]):
        done = subprocess.run(
            [UV, *words, *(["venv"] if "venv" in words else ["--python", "venv"])],
            cwd=tmp_path,
            env=with_uv(wheels),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    here, there = [
        {one["name"]: one["what"].startswith("on: ") for one in json.loads(out) if one["name"].startswith("kind ")}
        for out in [
            subprocess.run([*program, "doctor", "--json"], capture_output=True, cwd=tmp_path).stdout
            for program in ([sys.executable, "-m", "eyespan"], [tmp_path / "venv/bin/eyespan"])
        ]
    ]
    assert there == dict.fromkeys(here, True)
    assert "kind pdf" in there
