"""The configuration file `eyespan.toml`: roots, rules and limits.

A file inside the workspace may have been written by anyone, a model included. It can only narrow access: add deny rules
and choose roots inside the given roots. A file outside, named with `--config`, may do more.
"""

from __future__ import annotations

import os

from eyespan.errors import NotFound
from eyespan.guard import Guard, Root
from eyespan.policy import Policy
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

FILE_NAME = "eyespan.toml"
MAX_CONFIG_BYTES = 1 << 20

_SCHEMA: dict[str, Any] = {
    "roots": list,
    "policy": {"deny": list, "allow": list},
    "tools": {"read_file": {"max_file_read_bytes": int, "max_scan_bytes": int, "show_line_numbers": bool}},
}
"""The known keys: the type of a value, or a table of further keys."""


class BadConfig(ValueError):
    """A configuration file that cannot be used. The message names the file, the key and the known keys."""


@record
class Config:
    """The contents of a configuration file."""

    roots: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    forge: Mapping[str, Any] = {}
    """The settings of `[tools.read_file]`, section 5 of seed 002."""

    def policy(self) -> Policy:
        """Return the rules of the file, on top of the built-in ones."""
        return Policy(self.deny, self.allow)


def load(roots: Sequence[str], path: str | None = None) -> Config:
    """Load the file `path`, else `eyespan.toml` in the first root; without either, return the defaults.

    Raises: BadConfig, ReadError.
    """
    if path is None:
        try:
            data = _read(roots[0], FILE_NAME)
        except NotFound:
            return Config()
        return _parse(data, os.path.join(roots[0], FILE_NAME), roots)
    directory, name = os.path.split(os.path.abspath(path))
    try:
        return _parse(_read(directory, name), path, roots)
    except NotADirectoryError:
        raise NotFound(path) from None


def _read(directory: str, name: str) -> bytes:
    root = Root(directory)
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
        raise BadConfig(f"{name}: nested too deeply") from None
    _check(table, _SCHEMA, "", name)
    base = os.path.dirname(os.path.abspath(name))
    chosen = tuple([os.path.join(base, root) for root in _string_list(table.get("roots", []), "roots", name)])
    if any("\0" in root for root in chosen):
        raise BadConfig(f"{name}: roots: a path cannot contain NUL")
    policy = table.get("policy", {})
    deny = _string_list(policy.get("deny", []), "policy.deny", name)
    allow = _string_list(policy.get("allow", []), "policy.allow", name)
    if any(_is_within(os.path.abspath(name), root) for root in roots):
        if allow:
            raise BadConfig(f"{name}: policy.allow works only in a file outside the roots, given with --config")
        for root in chosen:
            if not any(_is_within(root, outer) for outer in roots):
                raise BadConfig(f"{name}: roots: {root!r} is not inside the workspace; give --root for it")
    return Config(roots=chosen, deny=deny, allow=allow, forge=table.get("tools", {}).get("read_file", {}))


def _is_within(path: str, root: str) -> bool:
    real, outer = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath([real, outer]) == outer


def _check(table: Mapping[str, Any], schema: Mapping[str, Any], prefix: str, name: str) -> None:
    for key, value in table.items():
        wanted = schema.get(key)
        if wanted is None:
            known = ", ".join(prefix + known for known in schema)
            raise BadConfig(f"{name}: unknown key {prefix}{key}; the known keys are {known}")
        if isinstance(wanted, dict):
            if not isinstance(value, dict):
                raise BadConfig(f"{name}: {prefix}{key} must be a table")
            _check(value, wanted, f"{prefix}{key}.", name)
        elif type(value) is not wanted:
            raise BadConfig(f"{name}: {prefix}{key} must be of type {wanted.__name__}, not {value!r}")


def _string_list(values: Any, key: str, name: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) and value for value in values):
        raise BadConfig(f"{name}: {key} must be a list of non-empty strings")
    return tuple(values)
