"""`eyespan.toml`: roots, rules and limits, as the host wants them.

A file inside the workspace may have been written by anyone, a model included: it can only narrow (add deny rules, name
roots inside the roots). A file outside, named with `--config`, is the host's word.
"""

from __future__ import annotations

import os

from eyespan.errors import NotFound, ReadError
from eyespan.guard import Guard, Root
from eyespan.policy import Policy
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

FILE_NAME = "eyespan.toml"
MAX_CONFIG_BYTES = 1 << 20

_KNOWN: dict[str, Any] = {
    "roots": list,
    "policy": {"deny": list, "allow": list},
    "tools": {"read_file": {"max_file_read_bytes": int, "max_scan_bytes": int, "show_line_numbers": bool}},
}


class BadConfig(ValueError):
    """A configuration that cannot be meant; the text says which key of which file, and what is known."""


@record
class Config:
    """What a configuration file says."""

    roots: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    forge: Mapping[str, Any] = {}
    """The settings of `[tools.read_file]`, section 5 of seed 002."""

    def policy(self) -> Policy:
        return Policy(self.deny, self.allow)


def load(roots: Sequence[str], path: str | None = None) -> Config:
    """The configuration of a workspace: the file named, else `eyespan.toml` in the first root, else defaults.

    Raises: BadConfig, ReadError.
    """
    if path is None:
        try:
            text = _read(roots[0], FILE_NAME)
        except NotFound:
            return Config()
        return _parse(text, os.path.join(roots[0], FILE_NAME), roots)
    folder, name = os.path.split(os.path.abspath(path))
    try:
        return _parse(_read(folder, name), path, roots)
    except NotADirectoryError:
        raise NotFound(path) from None


def _read(folder: str, name: str) -> bytes:
    root = Root(folder)
    try:
        guard = Guard((root,), Policy(built_in=False))
        with guard.open(name) as source:
            return source.read_at(0, MAX_CONFIG_BYTES)
    finally:
        root.close()


def _parse(data: bytes, name: str, roots: Sequence[str]) -> Config:
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfig(f"{name}: {error}") from None
    except RecursionError:
        raise BadConfig(f"{name}: it is nested too deeply") from None
    _check(table, _KNOWN, "", name)
    base = os.path.dirname(os.path.abspath(name))
    named = tuple([os.path.join(base, root) for root in _strings(table.get("roots", []), "roots", name)])
    if any("\0" in root for root in named):
        raise BadConfig(f"{name}: roots: a path has no NUL in it")
    policy = table.get("policy", {})
    deny = _strings(policy.get("deny", []), "policy.deny", name)
    allow = _strings(policy.get("allow", []), "policy.allow", name)
    if any(_inside(os.path.abspath(name), root) for root in roots):
        if allow:
            raise BadConfig(f"{name}: policy.allow works only in a file outside the roots, given with --config")
        for root in named:
            if not any(_inside(root, outer) for outer in roots):
                raise BadConfig(f"{name}: roots: {root!r} is not inside the workspace; give --root for it")
    return Config(named, deny, allow, table.get("tools", {}).get("read_file", {}))


def _inside(path: str, root: str) -> bool:
    real, outer = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath([real, outer]) == outer


def _check(table: Mapping[str, Any], known: Mapping[str, Any], prefix: str, name: str) -> None:
    for key, value in table.items():
        wanted = known.get(key)
        if wanted is None:
            raise BadConfig(f"{name}: unknown key {prefix}{key}; known are {', '.join(prefix + k for k in known)}")
        if isinstance(wanted, dict):
            if not isinstance(value, dict):
                raise BadConfig(f"{name}: {prefix}{key} must be a table")
            _check(value, wanted, f"{prefix}{key}.", name)
        elif type(value) is not wanted:
            raise BadConfig(f"{name}: {prefix}{key} must be of type {wanted.__name__}, not {value!r}")


def _strings(values: Any, key: str, name: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) and value for value in values):
        raise BadConfig(f"{name}: {key} must be a list of non-empty strings")
    return tuple(values)


__all__ = ["BadConfig", "Config", "ReadError", "load"]
