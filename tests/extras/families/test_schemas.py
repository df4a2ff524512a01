"""The schemas of all tools: valid as JSON Schema 2020-12, and within what each API accepts."""

from __future__ import annotations

import jsonschema
import pytest

from eyespan import Workspace
from eyespan.dialects import dialect_names
from eyespan.hosts import to_anthropic, to_gemini, to_openai

ANTHROPIC_REFUSES = {"oneOf", "allOf", "anyOf"}
"""Keywords that the Messages API refuses at the top of a schema."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    with Workspace(tmp_path_factory.mktemp("root")) as workspace:
        yield {name: workspace.toolset(name) for name in dialect_names()}


def objects(schema):
    """Yield every schema of an object inside a schema, itself included."""
    if isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "object" or (isinstance(kind, list) and "object" in kind):
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


@pytest.mark.parametrize("name", dialect_names())
def test_every_schema_is_json_schema_2020_12_and_names_an_object(tools, name):
    for tool in tools[name]:
        jsonschema.Draft202012Validator.check_schema(tool.spec.input_schema)
        assert tool.spec.input_schema["type"] == "object"
        assert to_gemini(tool)["parametersJsonSchema"] == tool.spec.input_schema


@pytest.mark.parametrize("name", dialect_names())
def test_a_strict_schema_of_openai_requires_all_properties_and_has_no_others(tools, name):
    for tool in tools[name]:
        schema = to_openai(tool, strict=True)["parameters"]
        jsonschema.Draft202012Validator.check_schema(schema)
        wrong = [
            one
            for one in objects(schema)
            if one.get("additionalProperties") is not False or set(one.get("required", ())) != set(one["properties"])
        ]
        assert wrong == []


@pytest.mark.parametrize("name", [name for name in dialect_names() if name != "text-editor"])  # sent by its type
def test_a_schema_for_anthropic_has_no_alternatives_at_its_top(tools, name):
    for tool in tools[name]:
        assert ANTHROPIC_REFUSES.isdisjoint(to_anthropic(tool)["input_schema"])
