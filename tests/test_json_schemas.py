"""The JSON Schemas of docs/schemas describe what the commands write and what the configuration takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from PIL import Image

from eyespan import config
from tests.snippets import PAGES, blocks

SCHEMAS = Path(__file__).resolve().parent.parent / "docs" / "schemas"


def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "words",
    [
        ["native", '{"files": ["poem.txt:2-", "none.txt", "dot.png"]}'],
        ["claude", '{"file_path": "DIRECTORY/dot.png"}'],
        ["forge", '{"path": "poem.txt", "head": 1}'],
        ["workspace", '{"path": "none.txt"}'],
        ["codex", "{}"],
    ],
)
def test_replies_fit_their_schema(directory, eyespan, words):
    Image.new("RGB", (3, 3)).save(directory / "dot.png")
    _, out, _ = eyespan("call", words[0], words[1].replace("DIRECTORY", str(directory)))

    assert [error.message for error in validator("reply").iter_errors(json.loads(out))] == []


def test_records_fit_their_schema(directory, eyespan):
    Image.new("RGB", (3, 3)).save(directory / "dot.png")
    (directory / "broken.pdf").write_bytes(b"%PDF-1.4\n\0broken")
    eyespan("export", ".", "--to", "out.jsonl")
    records = [json.loads(line) for line in (directory / "out.jsonl").read_text("utf-8").splitlines()]

    assert {bool(record["error_code"]) for record in records} == {True, False}
    assert [error.message for record in records for error in validator("record").iter_errors(record)] == []


def test_configuration_of_the_pages_fits_its_schema():
    tables = [tomllib.loads(block.text) for page in PAGES for block in blocks(page) if block.language == "toml"]
    configs = [table for table in tables if {"roots", "policy", "dialects", "host"} & set(table)]

    assert configs
    assert [error.message for table in configs for error in validator("config").iter_errors(table)] == []


def test_the_schema_of_the_configuration_has_the_keys_that_are_known():
    def keys(schema):
        return {name: keys(one) if one.get("properties") else None for name, one in schema["properties"].items()}

    def known(table):
        return {name: known(one) if isinstance(one, dict) else None for name, one in table.items()}

    assert keys(json.loads((SCHEMAS / "config.json").read_text("utf-8"))) == known(config._SCHEMA)


def test_audit_lines_fit_their_schema(directory):
    messages = [
        {"method": "initialize", "id": 1, "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
        {"method": "tools/call", "id": 2, "params": {"name": "read", "arguments": {"files": ["poem.txt:1-2"]}}},
        {"method": "tools/call", "id": 3, "params": {"name": "read", "arguments": {"files": ["server.pem"]}}},
    ]
    (directory / "server.pem").write_text("key\n")
    sent = "".join([json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages])

    command = [sys.executable, "-m", "eyespan", "serve", "--audit", "log.jsonl"]
    subprocess.run(command, input=sent.encode(), capture_output=True, check=True, cwd=directory)
    lines = [json.loads(line) for line in (directory / "log.jsonl").read_text("utf-8").splitlines()]

    assert len([line for line in lines if line.get("dialect") == "native"]) == 2
    assert [
        error.message for line in lines if "dialect" in line for error in validator("audit").iter_errors(line)
    ] == []
