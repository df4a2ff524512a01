"""Add an entry to the text of a host's configuration file, and remove it, without touching anything else.

JSON may have comments and trailing commas, as hosts accept them. The text around the entry keeps its bytes: comments,
order and spacing of other entries. Each function returns the new text. Raises: ValueError for a text that it cannot
edit safely.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Format = Literal["json", "toml", "yaml"]
Entry = Mapping[str, Any]


def with_entry(form: Format, text: str, keys: Sequence[str], name: str, entry: Entry) -> str:
    """Return the text with the entry `name` below `keys`, in place of one that is there."""
    bare = without_entry(form, text, keys, name)
    edited = {"json": _add_json, "toml": _add_toml, "yaml": _add_yaml}[form](bare, keys, name, entry)
    if form != "yaml" and entry_of(form, edited, keys, name) != entry:
        raise ValueError("the file has a form that cannot be edited safely")
    return edited


def without_entry(form: Format, text: str, keys: Sequence[str], name: str) -> str:
    """Return the text without the entry; the same text if it has none."""
    return {"json": _remove_json, "toml": _remove_toml, "yaml": _remove_yaml}[form](text, keys, name)


def entry_of(form: Format, text: str, keys: Sequence[str], name: str) -> Any:
    """Return the entry, True for an entry of YAML, or None."""
    if form == "yaml":
        return True if _remove_yaml(text, keys, name) != text else None
    value = tomllib.loads(text) if form == "toml" else _parse_json(text)
    for key in (*keys, name):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def is_bare(form: Format, text: str, keys: Sequence[str]) -> bool:
    """Return True if the text holds nothing but the empty place of entries."""
    if form != "json":
        return text.strip() in ("", *[f"{key}:" for key in keys])
    empty: Any = {}
    for key in reversed(keys):
        empty = {key: empty}
    return "//" not in text and "/*" not in text and _parse_json(text) in (empty, {})


# --- JSON with comments ----------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"/]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    value: int
    end: int
    """After the value, and after the comma that follows it."""


def _tokens(text: str, start: int = 0) -> Iterator[tuple[str, int, int]]:
    for token in _TOKEN.finditer(text, start):
        if not token[0].startswith(("//", "/*")):
            yield token[0], token.start(), token.end()


def _next_token(text: str, start: int) -> int:
    return next(_tokens(text, start))[1]


def _members(text: str, start: int) -> list[_Member]:
    """Return the members of the object whose brace is at `start`."""
    members: list[_Member] = []
    depth, key, value = 0, ("", 0), -1
    for token, at, end in _tokens(text, start):
        if depth == 1 and value < 0 and token[0] == '"' and not key[0]:
            key = (token, at)
        elif depth == 1 and token == ":":
            value = end
        elif depth == 1 and token in ",}":
            if key[0]:
                stop = end if token == "," else at
                members.append(_Member(_parse_json(key[0]), key[1], value, stop))
            key, value = ("", 0), -1
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
            if not depth:
                return members
    raise ValueError("the file is not valid JSON")


def _parse_json(text: str) -> Any:
    pieces = [token for token, _, _ in _tokens(text)]
    kept = [piece for piece, after in zip(pieces, [*pieces[1:], ""], strict=False) if piece != "," or after not in "}]"]
    try:
        return json.loads(" ".join(kept) or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the file is not valid JSON: {error}") from None


def _object_at(text: str, keys: Sequence[str]) -> tuple[int, int]:
    """Return where the brace of the innermost object below `keys` is, and how many of the keys lead there."""
    value = _parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("the file is not a JSON object")
    at, depth = _next_token(text, 0), 0
    for key in keys:
        member = next((one for one in _members(text, at) if one.key == key), None)
        if member is None:
            break
        value = value[key]
        if not isinstance(value, dict):
            raise ValueError(f"{key} is not an object")
        at, depth = _next_token(text, member.value), depth + 1
    return at, depth


def _add_json(text: str, keys: Sequence[str], name: str, entry: Entry) -> str:
    text = text if text.strip() else "{}\n"
    at, depth = _object_at(text, keys)
    first, *below = [*keys[depth:], name]
    added: Any = entry
    for key in reversed(below):
        added = {key: added}
    step = match[1] if (match := re.search(r"\n([ \t]+)\S", text)) else "  "
    indent = step * (depth + 1)
    shown = json.dumps(added, indent=step, ensure_ascii=False).replace("\n", "\n" + indent)
    rest = text[at + 1 :]
    is_empty = not _members(text, at)
    end = f"\n{step * depth}{rest.lstrip()}" if is_empty and rest.lstrip().startswith("}") else rest
    end = end if is_empty else f",{rest}"
    return f"{text[: at + 1]}\n{indent}{json.dumps(first)}: {shown}{end}"


def _remove_json(text: str, keys: Sequence[str], name: str) -> str:
    if not text.strip():
        return text
    at, depth = _object_at(text, keys)
    if depth < len(keys):
        return text
    members = _members(text, at)
    number = next((number for number, one in enumerate(members) if one.key == name), None)
    if number is None:
        return text
    member = members[number]
    start = len(text[: member.start].rstrip())
    before, rest = text[:start], text[member.end :]
    if number and number == len(members) - 1 and text[member.end - 1] != ",":
        before = before.removesuffix(",")
    return before + rest


# --- TOML ------------------------------------------------------------------------------------------------------------


def _add_toml(text: str, keys: Sequence[str], name: str, entry: Entry) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"{text}{gap}[{'.'.join([*keys, name])}]", *rows, ""])


def _remove_toml(text: str, keys: Sequence[str], name: str) -> str:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the file is not valid TOML: {error}") from None
    header = re.escape(".".join([*keys, name]))
    rows = r"(?:(?!\[)[^\n]+(?:\n|\Z))*"  # to the next table or empty line
    table = re.compile(rf"(?:(?<=\n)\n)?^\[{header}(?:\.[^\]\n]*)?\][^\n]*\n{rows}", re.MULTILINE)
    return table.sub("", text)


# --- YAML ------------------------------------------------------------------------------------------------------------


def _add_yaml(text: str, keys: Sequence[str], name: str, entry: Entry) -> str:
    (key,) = keys
    rows = [f"    {field}: {json.dumps(value, ensure_ascii=False)}\n" for field, value in entry.items()]
    block = "".join([f"  {name}:\n", *rows])
    if match := re.search(rf"^{key}:[ \t]*(?:\{{\}})?[ \t]*(?:#[^\n]*)?\n", text, re.MULTILINE):
        return text[: match.end()].replace(f"{key}: {{}}", f"{key}:") + block + text[match.end() :]
    if re.search(rf"^{key}:", text, re.MULTILINE):
        raise ValueError(f"{key} is not a block of entries")
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{key}:\n{block}"


def _remove_yaml(text: str, keys: Sequence[str], name: str) -> str:
    (key,) = keys
    block = rf"(^{key}:[^\n]*\n(?:[ \t#][^\n]*\n|\n)*?)  {re.escape(name)}:\n(?:    [^\n]*\n)*"
    return re.sub(block, r"\1", text, count=1, flags=re.MULTILINE)
