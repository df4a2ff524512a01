"""Map the paths of a host whose files lie elsewhere: `{"/workspace": "/home/me/project"}`.

A path of an argument that begins with the host's directory is read below the mapped one; the guard judges the result,
so a map opens nothing that the roots do not hold. In answers the host's directory stands again: in fields that are
paths, in errors, and in the parts of a text that a dialect declares to be its own (`Dialect.own_paths`). The contents
of files stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyespan.dialects.forms import PATH_FIELDS
from eyespan.model import Reply, ReplyError, TextContent

_BEFORE = r"""(^|[\s"'`(<>\[=,|:]|(?:^|\s)@|file://)"""
_AFTER = r"""(?=[/\\:!?@#"'`)<>\],;|\s]|\.?$)"""
_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")
_SELECTORS = ("path", "selector", "next", "left_out", "near", "message")
"""The fields of results that are paths, or name them."""


class PathMap:
    """Directories of the host, each with the local directory that it stands for. An empty map changes nothing.

    Raises: ValueError for a directory that is not absolute, or is the root of the file system.
    """

    def __init__(self, directories: Mapping[str, str]) -> None:
        made: dict[str, str] = {}
        for host, local in directories.items():
            whole = os.path.expanduser(local) if isinstance(local, str) else ""
            if not isinstance(host, str) or not (host.startswith("/") or _WINDOWS.match(host)):
                raise ValueError(f"a map is FROM=TO with absolute paths, such as /workspace=/home/me/project: {host!r}")
            if not os.path.isabs(whole):
                raise ValueError(f"the directory that {host!r} is mapped to must be an absolute path, not {local!r}")
            if not host.rstrip("/\\") or not whole.rstrip("/"):
                raise ValueError(f"a map of / is not possible: {host!r} to {local!r}; map a directory below it")
            made[host.rstrip("/\\")] = whole.rstrip("/")
        self.directories = made
        self._inward = _Replacement(list(made.items()))
        self._outward = _Replacement([(local, host) for host, local in made.items()])

    def __reduce__(self) -> tuple[Any, ...]:
        return PathMap, (self.directories,)

    def __bool__(self) -> bool:
        return bool(self.directories)

    def inward(self, text: str) -> str:
        """Return a path, a selector or a text that names paths, with local directories."""
        mapped = self._inward.apply(text)
        if mapped == text or not any(map(_WINDOWS.match, self.directories)):
            return mapped
        path, question, pattern = mapped.partition("?")
        return path.replace("\\", "/") + question + pattern

    def outward(self, text: str) -> str:
        """Return a text of an answer with the directories of the host."""
        return self._outward.apply(text)

    def arguments(self, given: Any) -> Any:
        """Return the arguments of a call with local paths."""
        return in_paths(given, self.inward) if isinstance(given, dict) else given

    def error(self, error: ReplyError) -> ReplyError:
        """Return an error with the paths of the host."""
        return ReplyError(error.code, self.outward(error.message))

    def reply(self, reply: Reply, own_paths: str) -> Reply:
        """Return an answer with the paths of the host. `own_paths` is that of the dialect."""
        changed: dict[str, str] = {}
        for block in reply.content:
            if not isinstance(block, TextContent):
                continue
            if own := ".+" if reply.is_error else own_paths:
                changed[block.text] = re.sub(own, lambda found: self.outward(found[0]), block.text, flags=re.MULTILINE)
        content = [TextContent(changed.get(b.text, b.text)) if isinstance(b, TextContent) else b for b in reply.content]
        return replace(
            reply,
            content=tuple(content),
            structured=self._fields(reply.structured, changed),
            error=reply.error and self.error(reply.error),
            notes=tuple(map(self.outward, reply.notes)),
            measures=self._fields(reply.measures, changed),
        )

    def _fields(self, value: Any, changed: Mapping[str, str]) -> Any:
        """Return a result with the fields that are paths mapped, and texts as they stand in the content."""
        if isinstance(value, Mapping):
            return {
                name: in_paths(one, self.outward) if name in _SELECTORS else self._fields(one, changed)
                for name, one in value.items()
            }
        if isinstance(value, (list, tuple)):
            return type(value)([self._fields(one, changed) for one in value])
        return changed.get(value, value) if isinstance(value, str) else value


class _Replacement:
    """Replaces directories at the beginning of paths, the longest first, in one pass."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        pairs = sorted(pairs, key=lambda pair: -len(pair[0]))
        self._targets = [target for _, target in pairs]
        names = [f"((?i:{re.escape(one)}))" if _WINDOWS.match(one) else f"({re.escape(one)})" for one, _ in pairs]
        self._pattern = re.compile(f"{_BEFORE}(?:{'|'.join(names)}){_AFTER}", re.MULTILINE) if pairs else None

    def apply(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: found[1] + self._targets[(found.lastindex or 2) - 2], text)


def in_paths(value: Any, change: Any) -> Any:
    """Return a value of arguments or of a result with every string in it changed; of an object, its paths alone."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: in_paths(one, change) if name in PATH_FIELDS else one for name, one in value.items()}
    return type(value)([in_paths(one, change) for one in value]) if isinstance(value, (list, tuple)) else value
