"""Read files as MCP resources, `file:///{+path}{?start,limit}`, through the same engine and guard as the tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from mimetypes import guess_type
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from eyespan.context import CallContext
from eyespan.dialects.rendering import charge_text, rendered
from eyespan.engine import Engine
from eyespan.errors import InvalidPath, ReadError
from eyespan.escape import valid_text
from eyespan.guard import Root, paths
from eyespan.model import MIB, NUL_IS_BINARY, BytesPart, Limits, Lines, ReadRequest, TextPart
from eyespan.signatures import api_image_type

MAX_RESOURCE_BYTES = 8 * MIB
MAX_COMPLETIONS = 100
"""The limit of the protocol."""


def path_of(uri: str, roots: Sequence[Root]) -> tuple[str, dict[str, int]]:
    """Return the path of a URI and its range. A path in a root is absolute; others are relative to the first root.

    Raises: InvalidPath.
    """
    scheme, colon, rest = uri.partition("://")
    host, slash, rest = rest.partition("/")
    if scheme.lower() != "file" or not colon or not slash or host.lower() not in ("", "localhost"):
        raise InvalidPath(uri, "a resource here is file:///PATH?start=LINE&limit=LINES")
    path, _, query = rest.partition("?")
    name = os.fsdecode(unquote_to_bytes(path.partition("#")[0]))
    absolute = "/" + name.lstrip("/")
    chosen = absolute if paths.beneath(absolute, roots) is not None else name
    lines: dict[str, int] = {}
    for key, value in parse_qsl(query.partition("#")[0], keep_blank_values=True):
        if key not in ("start", "limit") or not value.isascii() or not value.isdigit() or not 0 < len(value) < 16:
            raise InvalidPath(uri, "the only parameters are start and limit, whole numbers from 1 on")
        lines[key] = int(value)
    if 0 in lines.values():
        raise InvalidPath(uri, "start and limit count from 1")
    return chosen, lines


def read(
    engine: Engine, roots: Sequence[Root], uri: str, context: CallContext, limit_bytes: int | None = None
) -> dict[str, Any]:
    """Return the contents of one resource: text by lines, or bytes.

    Raises: ReadError.
    """
    path, lines = path_of(uri, roots)
    limit = min(MAX_RESOURCE_BYTES, limit_bytes or MAX_RESOURCE_BYTES)
    limits = Limits(max_window_bytes=limit)
    request = ReadRequest(
        path=path,
        selection=Lines(lines.get("start", 1), lines.get("limit")),
        limits=limits,
        text_rule=NUL_IS_BINARY,
        encoding="bom",
        wants_bytes=True,
    )
    document = engine.read(request, context)
    part = document.parts[0]
    guessed = guess_type(document.facts.canonical)[0]
    if isinstance(part, TextPart):
        charge_text(part, context)
        media = guessed if guessed is not None and guessed.startswith("text/") else "text/plain"
        facts = {"first_line": part.first_line, "lines_returned": part.line_count, "truncated": part.more}
        if part.total_lines is not None:
            facts["total_lines"] = part.total_lines
        text = valid_text(rendered(part, None)[0])
        return {"uri": uri, "mimeType": media, "text": text, "_meta": {"eyespan/facts": facts}}
    assert isinstance(part, BytesPart)
    media = api_image_type(part.data) or guessed or part.media_type
    contents: dict[str, Any] = {"uri": uri, "mimeType": media, "blob": part.data}
    if part.truncated:
        contents["_meta"] = {"eyespan/facts": {"truncated": True, "size_bytes": document.facts.size_bytes}}
    return contents


def complete(engine: Engine, value: str, context: CallContext) -> dict[str, Any]:
    """Return the paths that begin with `value`, directories with a slash; hidden names only after a dot."""
    directory, slash, start = value.rpartition("/")
    try:
        listed = engine.list(directory + slash or ".", context, hides_ignored=True).entries
    except ReadError:
        listed = ()
    matches = sorted(
        f"{directory}{slash}{entry.name}{'/' if entry.what == 'directory' else ''}"
        for entry in listed
        if entry.name.startswith(start) and (start.startswith(".") or not entry.name.startswith("."))
    )
    values = [path for path in matches if valid_text(path) == path]
    return {"values": values[:MAX_COMPLETIONS], "total": len(values), "hasMore": len(values) > MAX_COMPLETIONS}
