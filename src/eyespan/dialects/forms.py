"""Make the arguments of a dialect from a path and a range of lines, for callers that know no dialect.

Every dialect names its arguments differently. The tables below list the names that the schemas of the dialects have.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from eyespan.dialects.base import Dialect
from eyespan.model import Reply

PATH_FIELDS = ("path", "file_path", "filePath", "filepath", "absolute_path", "files", "paths", "include")
ABSOLUTE_FIELDS = ("file_path", "filePath", "absolute_path")
"""Paths that some dialects accept only if they are absolute."""
FIRST_FIELDS = ("start_line", "startLine", "line_offset", "offset")
COUNT_FIELDS = ("limit", "max_lines", "n_lines")
LAST_FIELDS = ("end_line", "endLine")
END_FIELDS = ("head", "tail")
"""Counts of lines from either end, which exclude a first line."""
RANGE_FIELD = "view_range"
"""Two integers; the last is -1 for the end of the file."""
PAGES_FIELD = "pages"


def path_field(schema: Mapping[str, Any]) -> str | None:
    """Return the name of the argument that takes the path."""
    fields = schema.get("properties", {})
    return next((name for name in PATH_FIELDS if name in fields), None)


def arguments_of(
    dialect: Dialect, path: str, root: str, *, first: int | None = None, last: int | None = None
) -> dict[str, Any]:
    """Return the arguments that read a file, or those of its lines that the tool can name.

    `path` is absolute, or relative to `root`.
    """
    schema, origin = dialect.spec.input_schema, dialect.first_offset
    fields: Mapping[str, Any] = schema.get("properties", {})
    arguments: dict[str, Any] = {
        name: fields[name]["enum"][0] for name in schema.get("required", ()) if fields.get(name, {}).get("enum")
    }
    name = path_field(schema)
    if name is None:
        return arguments
    needs_absolute = name in ABSOLUTE_FIELDS or dialect.needs_absolute_paths
    if needs_absolute and "://" not in path:
        path = os.path.join(root, path)
    if takes_selectors(fields[name]):
        selected = "" if first is None else f":{first}-{'' if last is None else last}"
        return {**arguments, name: path + selected}
    if fields[name].get("type") != "array":
        return {**arguments, name: path, **_range(fields, first, last, origin)}
    entry = _entry_fields(fields[name])
    return {**arguments, name: [{"path": path, **_range(entry, first, last, origin)} if entry else path]}


def takes_selectors(field: Mapping[str, Any]) -> bool:
    """Return True for an argument that is one target or a list of them, as `files` of `native`."""
    return "anyOf" in field


def _entry_fields(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of the objects in a list, as `files` of `cline`; {} for other arguments."""
    found: Mapping[str, Any] = field.get("items", {}).get("properties", {})
    return found


def _range(fields: Mapping[str, Any], first: int | None, last: int | None, origin: int) -> dict[str, Any]:
    if first is None:
        return {}
    if RANGE_FIELD in fields:
        return {RANGE_FIELD: [first, -1 if last is None else last]}
    named: dict[str, Any] = {}
    for name in FIRST_FIELDS:
        if name in fields:
            named[name] = first - 1 + origin if name == "offset" else first
            break
    if last is not None:
        end = next((name for name in LAST_FIELDS if name in fields), None)
        count = next((name for name in COUNT_FIELDS if name in fields), None)
        if end is not None:
            named[end] = last
        elif count is not None:
            named[count] = last - first + 1
    return named


def lines_of(dialect: Dialect, arguments: Any) -> tuple[int | None, int | None]:
    """Return the first and the last line that arguments ask for; None where they name none."""
    fields: Mapping[str, Any] = dialect.spec.input_schema.get("properties", {})
    if not isinstance(arguments, dict):
        return None, None
    name = path_field(dialect.spec.input_schema)
    if name is not None and (entry := _entry_fields(fields[name])):
        fields = entry
        entries = arguments.get(name)
        arguments = entries[0] if isinstance(entries, list) and entries and isinstance(entries[0], dict) else {}
    given = arguments.get(RANGE_FIELD)
    if RANGE_FIELD in fields and isinstance(given, list) and len(given) == 2 and all(map(is_line, given[:1])):
        return given[0], given[1] if is_line(given[1]) else None
    first = next((arguments.get(name) for name in FIRST_FIELDS if name in fields), None)
    if "offset" in fields and isinstance(first, int) and not isinstance(first, bool):
        first += 1 - dialect.first_offset
    first = first if is_line(first) else None
    last = next((arguments[name] for name in LAST_FIELDS if is_line(arguments.get(name))), None)
    count = next((arguments[name] for name in COUNT_FIELDS if is_line(arguments.get(name))), None)
    if last is None and count is not None and any(name in fields for name in FIRST_FIELDS):
        last = (first or 1) + count - 1
    return (1 if first is None and last is not None else first), last


def is_line(value: Any) -> bool:
    """Return True for a number that a line can have."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def following(dialect: Dialect, arguments: Any, selector: Any) -> dict[str, Any] | None:
    """Return the arguments that read on at a selector that was left out; None if the tool cannot name it."""
    schema, origin = dialect.spec.input_schema, dialect.first_offset
    fields: Mapping[str, Any] = schema.get("properties", {})
    name = path_field(schema)
    if not isinstance(arguments, dict) or not isinstance(selector, str) or name is None:
        return None
    if takes_selectors(fields[name]):
        return {**arguments, name: [selector]}
    path, colon, part = selector.rpartition(":")
    if not colon:
        return None
    if part.startswith("p") and part[1:].replace("-", "").isdecimal():
        return {**arguments, PAGES_FIELD: part[1:]} if PAGES_FIELD in fields else None
    first, dash, last = part.partition("-")
    if not dash or not first.isdecimal() or not (last.isdecimal() or not last):
        return None
    entry = _entry_fields(fields[name])
    lines = _range(entry or fields, int(first), int(last) if last else None, origin)
    if entry:
        return {**arguments, name: [{"path": path, **lines}]}
    kept = {name: value for name, value in arguments.items() if name not in (*LAST_FIELDS, *END_FIELDS)}
    return {**kept, **lines} if lines else None


def read_on(
    dialect: Dialect, arguments: Any, call: Callable[[Any], Reply], last_line: int | None = None
) -> Iterator[Reply | None]:
    """Make a call, and then the calls for what its answers leave out of the lines up to the last. Yield each reply;
    None for a part that the tool cannot name.
    """
    calls = [arguments]
    for each in calls:  # it grows
        reply = None if each is None else call(each)
        yield reply
        if reply is not None:
            parts = [_up_to(last_line, part) for part in reply.facts.get("left_out", ())]
            calls += [following(dialect, each, part) for part in parts if part]


def _up_to(last_line: int | None, part: str) -> str:
    """Return a selector of lines up to a line, empty if it begins after it."""
    path, _, lines = part.rpartition(":")
    first, _, end = lines.partition("-")
    if last_line is None or not first.isdecimal():
        return part
    last_line = min(last_line, int(end)) if end.isdecimal() else last_line
    return f"{path}:{first}-{last_line}" if int(first) <= last_line else ""
