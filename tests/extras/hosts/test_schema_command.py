"""`eyespan schema`: the definition for each host."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("host", "key"), [("mcp", "inputSchema"), ("openai", "parameters"), ("anthropic", "input_schema")]
)
def test_the_definition_has_the_form_of_the_host(eyespan, host, key):
    shown = json.loads(eyespan("schema", "claude", "--for", host)[1])

    assert shown["name"] == "Read"
    assert shown[key]["required"] == ["file_path"]


def test_without_a_host_the_definition_has_aliases(eyespan):
    shown = json.loads(eyespan("schema", "forge")[1])

    assert list(shown) == ["name", "description", "input_schema", "aliases"]
