"""Add an entry to the text of a host's configuration file, and remove it, without touching anything else.

JSON may have comments and trailing commas, as hosts accept them. The text around the entry keeps its bytes: comments,
order and spacing of other entries. Each function returns the new text. Raises: ValueError for a text that it cannot
edit safely.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Literal

Format = Literal["json", "toml", "yaml"]
Entry = Mapping[str, Any]


def with_entry(form: Format, text: str, key: str, name: str, entry: Entry) -> str:
    """Return the text with the entry `name` below `key`, in place of one that is there."""
    bare = without_entry(form, text, key, name)
    add = {"json": _add_json, "toml": _add_toml, "yaml": _add_yaml}[form]
    edited = _edited(bare, lambda text: add(text, key, name, entry))
    if form != "yaml" and entry_of(form, edited, key, name) != entry:
        raise ValueError("the file has a form that cannot be edited safely")
    return edited


def without_entry(form: Format, text: str, key: str, name: str) -> str:
    """Return the text without the entry; the same text if it has none."""
    remove = {"json": _remove_json, "toml": _remove_toml, "yaml": _remove_yaml}[form]
    return _edited(text, lambda text: remove(text, key, name))


def _edited(text: str, edit: Callable[[str], str]) -> str:
    """Edit a text; if all of its lines end at CRLF, those of the result do."""
    lf_text = text.replace("\r\n", "\n")
    is_crlf = "\r" in text and lf_text.replace("\n", "\r\n") == text
    return edit(lf_text).replace("\n", "\r\n") if is_crlf else edit(text)


def entry_of(form: Format, text: str, key: str, name: str) -> Any:
    """Return the entry, True for an entry of YAML, or None."""
    if form == "yaml":
        return True if without_entry(form, text, key, name) != text else None
    value = tomllib.loads(text) if form == "toml" else _parse_json(text)
    for step in (key, name):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def is_bare(form: Format, text: str, key: str) -> bool:
    """Return True if the text holds nothing but the empty place of entries."""
    if form != "json":
        return text.strip() in ("", f"{key}:")
    return "//" not in text and "/*" not in text and _parse_json(text) in ({key: {}}, {})


# --- JSON with comments ----------------------------------------------------------------------------------------------

_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Put spaces in place of what a pattern finds outside of strings, so that all positions stay."""
    return pattern.sub(lambda match: match[1] or " " * len(match[0]), text)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(_blank(_LAST_COMMA, _blank(_COMMENT, text)).strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the file is not valid JSON: {error}") from None


def _members(text: str, at: int) -> dict[str, tuple[int, int, int]]:
    """Return the members of the object whose brace is at a position: where each begins, has its value, and ends."""
    members = {}
    at = _after_space(text, at + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value = _after_space(text, text.index(":", end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        members[key] = (at, value, end)
        at = _after_space(text, end)
        at = _after_space(text, at + 1) if text[at] == "," else at
    return members


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _entries(text: str, key: str) -> tuple[int, bool, dict[str, tuple[int, int, int]]]:
    """Return where the brace of the object of entries is, True, and its members; without one, those of the file."""
    value = _parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("the file is not a JSON object")
    text = _blank(_LAST_COMMA, _blank(_COMMENT, text))
    at = _after_space(text, 0)
    members = _members(text, at)
    if key not in members:
        return at, False, members
    if not isinstance(value[key], dict):
        raise ValueError(f"{key} is not an object")
    at = members[key][1]
    return at, True, _members(text, at)


def _add_json(text: str, key: str, name: str, entry: Entry) -> str:
    text = text if text.strip() else "{}\n"
    at, is_below, members = _entries(text, key)
    first, added = (name, entry) if is_below else (key, {name: entry})
    step = match[1] if (match := re.search(r"\n([ \t]+)\S", text)) else "  "
    indent = 2 * step if is_below else step
    shown = json.dumps(added, indent=step, ensure_ascii=False).replace("\n", "\n" + indent)
    rest = text[at + 1 :]
    end = f"\n{indent.removesuffix(step)}{rest.lstrip()}" if not members and rest.lstrip().startswith("}") else rest
    return f"{text[: at + 1]}\n{indent}{json.dumps(first)}: {shown}{',' if members else ''}{end}"


def _remove_json(text: str, key: str, name: str) -> str:
    _, is_below, members = _entries(text, key) if text.strip() else (0, False, {})
    if not is_below or name not in members:
        return text
    start, _, end = members[name]
    before = text[:start].rstrip()
    comma = re.compile(r"\s*,").match(_blank(_COMMENT, text), end)
    if comma is None and next(iter(members)) != name:
        before = before.removesuffix(",")
    return before + text[comma.end() if comma else end :]


# --- TOML ------------------------------------------------------------------------------------------------------------


def _add_toml(text: str, key: str, name: str, entry: Entry) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"{text}{gap}[{key}.{name}]", *rows, ""])


def _remove_toml(text: str, key: str, name: str) -> str:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the file is not valid TOML: {error}") from None
    header = re.escape(f"{key}.{name}")
    rows = r"(?:(?!\[)[^\n]+(?:\n|\Z))*"  # to the next table or empty line
    table = re.compile(rf"(?:(?<=\n)\n)?^\[{header}(?:\.[^\]\n]*)?\][^\n]*\n{rows}", re.MULTILINE)
    return table.sub("", text)


# --- YAML ------------------------------------------------------------------------------------------------------------


def _add_yaml(text: str, key: str, name: str, entry: Entry) -> str:
    indent = _yaml_indent(text, key)
    rows = [f"{2 * indent}{field}: {json.dumps(value, ensure_ascii=False)}\n" for field, value in entry.items()]
    block = "".join([f"{indent}{name}:\n", *rows])
    if match := re.search(rf"^{key}:[ \t]*(?:\{{\}})?[ \t]*(?:#[^\n]*)?\n", text, re.MULTILINE):
        return text[: match.end()].replace(f"{key}: {{}}", f"{key}:") + block + text[match.end() :]
    if re.search(rf"^{key}:", text, re.MULTILINE):
        raise ValueError(f"{key} is not a block of entries")
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{key}:\n{block}"


def _remove_yaml(text: str, key: str, name: str) -> str:
    indent = _yaml_indent(text, key)
    block = rf"(^{key}:[^\n]*\n(?:[ \t#][^\n]*\n|\n)*?){indent}{re.escape(name)}:\n(?:{indent} [^\n]*\n)*"
    return re.sub(block, r"\1", text, count=1, flags=re.MULTILINE)


def _yaml_indent(text: str, key: str) -> str:
    """Return the spaces before the entries below a key: those of the first, since all have the same."""
    match = re.search(rf"^{key}:[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\n)*( +)[^\s#]", text, re.MULTILINE)
    return match[1] if match else "  "
