"""The dialect's schema as the strict modes want it, and the arguments that come back from them.

Without strict mode a schema goes out as the dialect has it, byte for byte. With it an API holds the model to the
schema, but knows only a part of JSON Schema; each API has another part.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")


def copied(schema: Any) -> Any:
    """A copy of plain JSON data; whoever gets a definition may change it without changing the tool."""
    return _each(schema, copied) if isinstance(schema, (dict, list)) else schema


def openai_strict(schema: dict[str, Any]) -> dict[str, Any]:
    """For OpenAI: every property required, those that were optional nullable, no property beyond them.

    `default` is not allowed there; where the description does not tell the default, it is put into it.
    """
    strict = {key: value for key, value in _each(schema, openai_strict).items() if key != "default"}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if "default" in schema and "default" not in schema.get("description", "").lower():
        _tell(strict, "Default", schema["default"])
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
    """For Anthropic: no property beyond those named; bounds of numbers and lengths become words of the description."""
    strict = {key: value for key, value in _each(schema, anthropic_strict).items() if key not in _BOUNDS}
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    for key in _BOUNDS:
        if key in schema:
            _tell(strict, key, schema[key])
    if schema.get("type") == "object":
        strict["additionalProperties"] = False
    return strict


def without_nulls(arguments: Any, schema: dict[str, Any]) -> Any:
    """The arguments of a strict call as the dialect knows them: null for an optional property is its absence."""
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


def _each(node: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a schema in which every schema directly below has been changed."""
    if isinstance(node, list):
        return [change(item) if isinstance(item, dict) else copied(item) for item in node]
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            out[key] = {name: change(below) for name, below in value.items()}
        elif key in ("items", "anyOf", "oneOf", "allOf") and isinstance(value, (dict, list)):
            out[key] = change(value) if isinstance(value, dict) else _each(value, change)
        else:
            out[key] = copied(value)
    return out


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if "anyOf" in schema:
        if {"type": "null"} not in schema["anyOf"]:
            schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    elif kind is None or kind in ("object", "array") or "const" in schema:
        words = {"description": schema.pop("description")} if "description" in schema else {}
        return {**words, "anyOf": [schema, {"type": "null"}]}
    else:
        kinds = kind if isinstance(kind, list) else [kind]
        schema["type"] = kinds if "null" in kinds else [*kinds, "null"]
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    return schema


def _tell(schema: dict[str, Any], what: str, value: Any) -> None:
    import json

    told = f"{what}: {json.dumps(value, ensure_ascii=False)}."
    schema["description"] = f"{schema['description']} {told}" if schema.get("description") else told
