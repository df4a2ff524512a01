"""Schemas for the strict modes of model APIs, and the arguments of strict calls.

Without strict mode, a schema is sent as the dialect has it, byte for byte. In strict mode an API enforces the schema,
but supports only a part of JSON Schema, and each API another part.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")


def openai_strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema for OpenAI: all properties required, the optional ones nullable, no other properties.

    OpenAI does not allow `default`. The description states the default instead.
    """
    strict = {key: value for key, value in _map_subschemas(schema, openai_strict).items() if key != "default"}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if "default" in schema and "default" not in schema.get("description", "").lower():
        _append_description(strict, "Default", schema["default"])
    if schema.get("type") == "object":
        required = schema.get("required", ())
        strict["properties"] = {
            name: value if name in required else _nullable(value)
            for name, value in strict.get("properties", {}).items()
        }
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def anthropic_strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema for Anthropic: no other properties; descriptions state the bounds of numbers and lengths."""
    strict = {key: value for key, value in _map_subschemas(schema, anthropic_strict).items() if key not in _BOUNDS}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    for key in _BOUNDS:
        if key in schema:
            _append_description(strict, key, schema[key])
    if schema.get("type") == "object":
        strict["additionalProperties"] = False
    if "enum" in strict or "anyOf" in strict:
        strict.pop("type", None)  # the values or alternatives have it; the API's own helper drops it too
    return strict


def without_nulls(arguments: Any, schema: dict[str, Any]) -> Any:
    """Return the arguments of a strict call without the optional properties that are null."""
    if isinstance(arguments, list):
        return [without_nulls(item, schema.get("items", {})) for item in arguments]
    if not isinstance(arguments, dict):
        return arguments
    known, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: without_nulls(value, known.get(name, {}))
        for name, value in arguments.items()
        if value is not None or name in required or name not in known
    }


def _map_subschemas(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of a schema in which every schema directly below is changed."""
    if isinstance(node, list):
        return [change(item) if isinstance(item, dict) else deepcopy(item) for item in node]
    changed: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            changed[key] = {name: change(below) for name, below in value.items()}
        elif key in ("items", "anyOf", "oneOf", "allOf") and isinstance(value, (dict, list)):
            changed[key] = change(value) if isinstance(value, dict) else _map_subschemas(value, change)
        else:
            changed[key] = deepcopy(value)
    return changed


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if "anyOf" in schema:
        if {"type": "null"} not in schema["anyOf"]:
            schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    elif kind is None or kind in ("object", "array") or "const" in schema:
        description = {"description": schema.pop("description")} if "description" in schema else {}
        return {**description, "anyOf": [schema, {"type": "null"}]}
    else:
        kinds = kind if isinstance(kind, list) else [kind]
        schema["type"] = kinds if "null" in kinds else [*kinds, "null"]
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    return schema


def _append_description(schema: dict[str, Any], label: str, value: Any) -> None:
    sentence = f"{label}: {json.dumps(value, ensure_ascii=False)}."
    schema["description"] = f"{schema['description']} {sentence}" if schema.get("description") else sentence
