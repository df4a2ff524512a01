"""Strict schemas: what they must look like, and that the dialects understand what comes back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.dialects import dialect_class, dialect_names
from eyespan.extras.hosts.schemas import anthropic_strict, openai_strict, without_nulls

SCHEMAS = {name: dialect_class(name)().spec.input_schema for name in dialect_names()}


def objects(schema):
    """Every object schema within a schema."""
    if isinstance(schema, list):
        for item in schema:
            yield from objects(item)
    elif isinstance(schema, dict):
        if "object" in (schema.get("type"), *(schema["type"] if isinstance(schema.get("type"), list) else ())):
            yield schema
        for value in schema.values():
            yield from objects(value)


@pytest.mark.parametrize("name", dialect_names())
def test_openai_strict_requires_every_property_and_allows_no_other(name):
    found = list(objects(openai_strict(SCHEMAS[name])))

    assert found
    for schema in found:
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", dialect_names())
def test_openai_strict_has_no_default_anywhere(name):
    assert '"default":' not in json.dumps(openai_strict(SCHEMAS[name]))


@pytest.mark.parametrize("name", dialect_names())
def test_strict_schemas_leave_the_dialects_own_alone(name):
    before = json.dumps(SCHEMAS[name])

    openai_strict(SCHEMAS[name])["properties"].clear()
    anthropic_strict(SCHEMAS[name])["properties"].clear()

    assert json.dumps(SCHEMAS[name]) == before


def test_openai_strict_of_each_way_to_be_optional():
    schema = {
        "type": "object",
        "properties": {
            "must": {"type": "string"},
            "number": {"type": "integer", "minimum": 1, "default": 1, "description": "From here."},
            "told": {"type": "boolean", "default": True, "description": "On by default."},
            "choice": {"type": "string", "enum": ["a", "b"]},
            "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "null"}}}},
            "fixed": {"type": "string", "const": "a", "description": "Only a."},
            "free": {"type": ["string", "null"]},
            "default": {"type": "string"},
        },
        "required": ["must"],
    }

    assert openai_strict(schema) == {
        "type": "object",
        "properties": {
            "must": {"type": "string"},
            "number": {"type": ["integer", "null"], "minimum": 1, "description": "From here. Default: 1."},
            "told": {"type": ["boolean", "null"], "description": "On by default."},
            "choice": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "list": {
                "anyOf": [
                    {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"x": {"type": ["null"]}},
                            "required": ["x"],
                            "additionalProperties": False,
                        },
                    },
                    {"type": "null"},
                ]
            },
            "fixed": {"description": "Only a.", "anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]},
            "free": {"type": ["string", "null"]},
            "default": {"type": ["string", "null"]},
        },
        "required": ["must", "number", "told", "choice", "either", "list", "fixed", "free", "default"],
        "additionalProperties": False,
    }


def test_anthropic_strict_closes_objects_and_turns_bounds_into_words():
    schema = {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": 9, "description": "Lines."},
            "name": {"type": "string", "minLength": 1},
            "more": {"type": "object", "properties": {}},
        },
    }

    assert anthropic_strict(schema) == {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "description": "Lines. minimum: 1. maximum: 9."},
            "name": {"type": "string", "description": "minLength: 1."},
            "more": {"type": "object", "properties": {}, "additionalProperties": False},
        },
        "additionalProperties": False,
    }


def strict_arguments(schema):
    """Arguments as a model held to the strict schema sends them: every property, null for what it does not need."""
    return {name: None if name not in schema.get("required", ()) else "/x" for name in schema["properties"]}


@pytest.mark.parametrize("name", dialect_names())
def test_null_for_an_optional_property_is_its_absence(name):
    schema = SCHEMAS[name]

    assert without_nulls(strict_arguments(schema), schema) == dict.fromkeys(schema["required"], "/x")


def test_nulls_of_nested_objects_are_dropped_and_those_of_required_or_unknown_properties_kept():
    inner = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}
    schema = {"type": "object", "properties": {"one": inner, "many": {"type": "array", "items": inner}}}
    arguments = {"one": {"a": None, "b": None, "c": None}, "many": [{"a": None, "b": 1}, None], "other": None}

    assert without_nulls(arguments, schema) == {"one": {"b": None, "c": None}, "many": [{"b": 1}, None], "other": None}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)


@given(arguments=JSON, name=st.sampled_from(sorted(SCHEMAS)))
def test_arguments_of_any_shape_pass(arguments, name):
    once = without_nulls(arguments, SCHEMAS[name])

    assert without_nulls(once, SCHEMAS[name]) == once
