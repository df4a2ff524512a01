"""Check the values that a model sends, by the fields that a dialect declares. Each dialect words its own errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from eyespan.errors import BadArguments

__all__ = ["BadArguments", "Field", "Wording", "as_whole", "checked", "is_integer", "refusal", "schema_of", "shown"]

MAX_BITS = 1024
"""No line number is longer, and Python formats no number of more than 4,300 digits."""

Type = Literal["string", "integer", "number", "boolean", "array", "object"]
Takes = Literal["float", "text", "bool", "number"]
"""What is taken for an integer beside one: 2.0, "2", true; and for a string: 2."""
LAX: tuple[Takes, ...] = ("float", "text", "bool")
"""The coercion of pydantic, and of programs that convert whatever they get."""

_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
SAFE = (1 - 2**53, 2**53 - 1)
"""The integers of JavaScript that are exact."""
_DIGITS = re.compile(r"\s*[+-]?\d{1,300}(\.0{1,300})?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of a tool: its place in the schema, the values that are taken for it, and those that are refused.

    A field of type "number" takes a fraction only if `is_fraction`.
    """

    name: str
    type: Type
    text: str = ""
    """Its description in the schema."""
    required: bool = False
    default: Any = None
    """The value of an absent field. It stands in the schema, unless `hides_default`."""
    hides_default: bool = False
    minimum: int | None = None
    maximum: int | None = None
    """The bounds of a number; `minimum` stands in the schema, unless `hides_bounds`."""
    hides_bounds: bool = False
    choices: tuple[str, ...] = ()
    hides_choices: bool = False
    takes: tuple[Takes, ...] = ("float",)
    fits: tuple[int, int] | None = None
    """The numbers that its type holds, such as `SAFE`; others have the wrong type."""
    takes_null: bool = True
    """null is an absent value; False: it has the wrong type."""
    is_fraction: bool = False
    aliases: tuple[str, ...] = ()
    """Other names that are taken but not announced."""
    fields: tuple[Field, ...] = ()
    """The fields of an object, or of the objects of an array."""
    item: Type = "string"
    """The type of the items of an array without `fields`."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """Other keywords of its schema."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Messages of its own, by the names of those in `Wording`; "any" is all of them."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a dialect refuses arguments.

    `{name}`, `{type}`, `{kind}` (the type in words), `{value}`, `{raw}` (a string without quotes), `{found}` (type and
    value as serde writes them) and `{bound}` are filled in.
    """

    form: str = "{}"
    """What surrounds every message."""
    code: str = "invalid_arguments"
    not_object: str = "the arguments must be an object"
    missing: str = ""
    """For a required field that is absent; "" is the message for a wrong type."""
    type: str = "{name} must be {kind}, not {value}"
    below: str = "{name} must be {bound} or more"
    above: str = "{name} must be {bound} or less"
    unfit: str = ""
    """For a number that the type does not hold; "" is the message for a wrong type."""
    choice: str = "{name} must be {bound}, not {value}"
    empty: str = ""
    """For an empty string in a required field; "" takes it."""
    unknown: str = ""
    """For a field that is not declared; "" ignores it."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    """Other words for types."""

    def bad(self, text: str) -> BadArguments:
        """Return the error of wrong arguments."""
        return BadArguments(self.code, self.form.replace("{}", text))


def refusal(code: str, form: str = "{}") -> Callable[[str], BadArguments]:
    """Return the function that makes the error of wrong arguments, with the code and the form of text of a dialect."""
    return Wording(form=form, code=code).bad


_MISSING = object()


def checked(arguments: Any, fields: Sequence[Field], wording: Wording, prefix: str = "") -> dict[str, Any]:
    """Return the values of the fields: types first, in order, then bounds. Raises: BadArguments."""
    if not isinstance(arguments, dict):
        raise wording.bad(wording.not_object.format(found=found(arguments), value=shown(arguments)))
    if wording.unknown:
        known = {name for one in fields for name in (one.name, *one.aliases)}
        for name in arguments:
            if name not in known:
                raw = name if isinstance(name, str) else shown(name)
                raise wording.bad(wording.unknown.format(name=shown(name), raw=raw))
    values: dict[str, Any] = {}
    given: list[Field] = []
    for one in fields:
        name = one.name
        if name not in arguments and one.aliases:
            name = next((alias for alias in one.aliases if alias in arguments), name)
        value = arguments.get(name, _MISSING)
        if value is not _MISSING and (value is not None or not one.takes_null):
            values[one.name] = _typed(value, one, wording, prefix)
            given.append(one)
        elif one.required:
            raise _refused("missing", one, wording, None, prefix)
        else:
            values[one.name] = (
                {inner.name: inner.default for inner in one.fields} if one.type == "object" else one.default
            )
    for one in given:
        _check_bounds(values[one.name], one, wording, prefix)
    return values


def _typed(value: Any, one: Field, wording: Wording, prefix: str) -> Any:
    """Return a value of the field's type. Raises: BadArguments."""
    is_right = False
    match one.type:
        case "string":
            if "number" in one.takes and as_whole(value) is not None:
                value = str(as_whole(value))
            is_right = isinstance(value, str)
            if is_right and one.choices and value not in one.choices:
                raise _refused("choice", one, wording, value, prefix, bound=" or ".join(one.choices))
        case "boolean":
            is_right = isinstance(value, bool)
        case "integer" | "number":
            if one.is_fraction and type(value) is float:
                return value
            number = as_number(value, one.takes)
            if number is not None and one.fits and not one.fits[0] <= number <= one.fits[1]:
                raise _refused("unfit", one, wording, value, prefix)
            is_right, value = number is not None, value if number is None else number
        case "array":
            if isinstance(value, list) and one.fields:
                return [checked(item, one.fields, wording) for item in value]
            types = {"string": str, "integer": int}
            is_right = isinstance(value, list) and all(type(item) is types[one.item] for item in value)
        case "object":
            if isinstance(value, dict):
                return checked(value, one.fields, wording, f"{one.name}.")
    if not is_right:
        raise _refused("type", one, wording, value, prefix)
    return value


def _check_bounds(value: Any, one: Field, wording: Wording, prefix: str) -> None:
    if isinstance(value, str):
        if (
            one.required
            and not value.strip()
            and (wording.empty or not one.messages.keys().isdisjoint(("empty", "any")))
        ):
            raise _refused("empty", one, wording, value, prefix)
    elif type(value) in (int, float):
        if one.minimum is not None and value < one.minimum:
            raise _refused("below", one, wording, value, prefix, bound=one.minimum)
        if one.maximum is not None and value > one.maximum:
            raise _refused("above", one, wording, value, prefix, bound=one.maximum)


def _refused(what: str, one: Field, wording: Wording, value: Any, prefix: str, bound: Any = None) -> BadArguments:
    form = one.messages.get(what) or one.messages.get("any") or getattr(wording, what) or wording.type
    return wording.bad(
        form.format(
            name=prefix + one.name,
            type=one.type,
            kind=wording.kinds.get(one.type) or _KINDS[one.type],
            value=shown(value),
            raw=value,
            found=found(value),
            bound=bound,
        )
    )


def schema_of(fields: Sequence[Field], *, is_closed: bool = False) -> dict[str, Any]:
    """Return the JSON schema of an object with these fields; a closed one has no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: _schema(one) for one in fields},
    }
    required = [one.name for one in fields if one.required]
    if required:
        schema["required"] = required
    if is_closed:
        schema["additionalProperties"] = False
    return schema


def _schema(one: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": one.type}
    if one.type == "object":
        schema = schema_of(one.fields)
    elif one.type == "array":
        schema["items"] = schema_of(one.fields) if one.fields else {"type": one.item}
    if one.choices and not one.hides_choices:
        schema["enum"] = list(one.choices)
    if not one.hides_bounds:
        schema.update({k: v for k, v in (("minimum", one.minimum), ("maximum", one.maximum)) if v is not None})
    if one.default is not None and not one.hides_default:
        schema["default"] = one.default
    if one.text:
        schema["description"] = one.text
    return {**schema, **one.schema}


def is_integer(value: Any) -> bool:
    """Return True for a JSON integer; `true` is not one."""
    return type(value) is int and value.bit_length() <= MAX_BITS


def as_number(value: Any, takes: Sequence[Takes]) -> int | None:
    """Return the integer that a value stands for: itself, or one of the forms in `takes`; else None."""
    if is_integer(value):
        number: int = value
        return number
    if type(value) is float and "float" in takes and value.is_integer():
        return int(value)
    if isinstance(value, str) and "text" in takes and _DIGITS.fullmatch(value):
        return int(value.partition(".")[0])
    return int(value) if isinstance(value, bool) and "bool" in takes else None


def as_whole(value: Any) -> int | None:
    """Return a JSON number without a fraction as an integer: 2 and 2.0, but not 2.5, "2" or true; else None."""
    return as_number(value, ("float",))


def found(value: Any) -> str:
    """Return the type and value of an argument as serde, the parser of programs in Rust, writes them."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{shown(value)}`"
    if isinstance(value, int):
        return f"integer `{shown(value)}`"
    if isinstance(value, float):
        return f"floating point `{shown(value)}`"
    if isinstance(value, str):
        return f"string {shown(value)}"
    return "map" if isinstance(value, dict) else "sequence" if isinstance(value, list) else type(value).__name__


def shown(value: Any) -> str:
    """Return a value for an error message: its JSON form, shortened, or its type if it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # not JSON, too many digits, too deep
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."
