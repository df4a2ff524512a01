"""The configuration file `eyespan.toml`: roots, rules and limits.

A file inside the workspace may have been written by anyone, a model included. It can only narrow access: add deny
rules, choose roots inside the given roots, lower limits and choose formats. It sets no text that a model reads. It is
small (`WORKSPACE_LIMITS`), because rules and roots cost time in every call. A file outside the roots, named with
`--config`, belongs to the host and may do more.

A file that cannot be used is one error of one line, found in bounded time: its size and its keys are checked before the
parser sees them, because its time grows with the square of their length.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eyespan.dialects import dialect_class, dialect_names
from eyespan.dialects.base import HOST_DEFAULTS, Dialect
from eyespan.dialects.path_map import PathMap
from eyespan.errors import NotFound
from eyespan.escape import visible
from eyespan.guard import Guard, Root
from eyespan.policy import Policy

FILE_NAME = "eyespan.toml"
MAX_KEY_PARTS = 16
"""The most parts of a dotted key, and the deepest nesting of tables. The parser needs the square of it in time."""
MAX_SHOWN_CHARS = 80
"""The length to which keys and values of the file are cut in messages."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The size of a configuration file: bytes, rules, characters and components of one rule, roots."""

    max_bytes: int
    max_rules: int
    max_rule_chars: int
    max_rule_parts: int
    max_roots: int


HOST_LIMITS = FileLimits(max_bytes=1 << 20, max_rules=100_000, max_rule_chars=4096, max_rule_parts=256, max_roots=1000)
WORKSPACE_LIMITS = FileLimits(max_bytes=1 << 16, max_rules=500, max_rule_chars=256, max_rule_parts=16, max_roots=64)

_SCHEMA: dict[str, Any] = {
    "roots": list,
    "policy": {"deny": list, "allow": list},
    "tools": {"read_file": {"max_file_read_bytes": int, "max_scan_bytes": int, "show_line_numbers": bool}},
    "dialects": dict,
    "map": dict,
    "host": {
        "encoding": str,
        "suggest": bool,
        "redact": bool,
        "neutralise": list,
        "max_answer_tokens": int,
        "ignore": bool,
    },
}
"""The known keys: the type of a value, or a table of further keys."""


class BadConfig(ValueError):
    """A configuration file that cannot be used. The message is one line that names the file and the key."""


@dataclass(frozen=True, slots=True)
class Config:
    """The contents of a configuration file."""

    roots: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings of each dialect: `[dialects.NAME]`, of all dialects: `[host]`, and `[tools.read_file]` for `forge`
    (section 5 of seed 002)."""
    map: Mapping[str, str] = field(default_factory=dict)
    """The directories of the host that stand for local ones."""
    name: str = ""
    """The path of the file, for messages."""
    ignore: bool = True
    """Walks leave out what ignore files name: `[host]`."""
    is_inside: bool = False
    """The file lies in the workspace, so it can only narrow access."""

    def check_roots(self, opened: Iterable[str], outer: Iterable[str]) -> None:
        """Check the directories that were opened for `roots`, by their canonical paths. Raises: BadConfig.

        Their names were checked when the file was read, and a name may have become a link since.
        """
        outer = list(outer)
        for root in opened if self.is_inside else ():
            if not any(os.path.commonpath([root, one]) == one for one in outer):
                raise BadConfig(f"{self.name}: roots: a directory became a link out of the workspace")


def load(roots: Sequence[str], path: str | None = None) -> Config:
    """Load the file `path`, else `eyespan.toml` in the first root; without either, return the defaults.

    Raises: BadConfig, ReadError.
    """
    if path is None:
        try:
            # The guard found it beneath the root. Its name is not asked again: it may have become a link out since.
            data = _read(roots[0], FILE_NAME, WORKSPACE_LIMITS)
            return _parse(data, os.path.join(roots[0], FILE_NAME), roots, is_inside=True)
        except NotFound:
            return Config()
    whole = os.path.abspath(path)
    directory, name = os.path.split(whole)
    is_inside = _is_named_within(whole, roots)
    try:
        data = _read(directory, name, HOST_LIMITS)
        return _parse(data, path, roots, is_inside=is_inside or _is_named_within(whole, roots))
    except NotADirectoryError:
        raise NotFound(path) from None


def _read(directory: str, name: str, limits: FileLimits) -> bytes:
    """Return the contents of the file, and one byte more than the limit if it is larger."""
    root = Root(directory)
    try:
        guard = Guard((root,), Policy(built_in=False))
        with guard.open(name) as source:
            return source.read_fully(0, limits.max_bytes + 1)
    finally:
        root.close()


def _is_named_within(path: str, roots: Sequence[str]) -> bool:
    """Return True if a path is within one of the roots, by its name or by where its links lead."""
    named = [os.path.abspath(root) for root in roots]
    return any(os.path.commonpath([path, root]) == root or _is_within(path, root) for root in named)


def _parse(data: bytes, name: str, roots: Sequence[str], *, is_inside: bool) -> Config:
    limits = WORKSPACE_LIMITS if is_inside else HOST_LIMITS
    if len(data) > limits.max_bytes:
        raise BadConfig(f"{name}: larger than {limits.max_bytes} bytes{_where(is_inside)}")
    table = _parse_toml(data, name)
    _check(table, _SCHEMA, "", name)
    base = os.path.dirname(os.path.abspath(name))
    given = _string_list(table.get("roots", []), "roots", name)
    policy = table.get("policy", {})
    deny = _string_list(policy.get("deny", []), "policy.deny", name)
    allow = _string_list(policy.get("allow", []), "policy.allow", name)
    forge = table.get("tools", {}).get("read_file", {})
    if len(given) > limits.max_roots:
        raise BadConfig(f"{name}: roots: more than {limits.max_roots} roots{_where(is_inside)}")
    _check_rules("policy.deny", deny, limits, name)
    _check_rules("policy.allow", allow, limits, name)
    chosen = tuple([os.path.join(base, root) for root in given])
    if any("\0" in root for root in chosen):
        raise BadConfig(f"{name}: roots: a path cannot contain NUL")
    if is_inside:
        if allow:
            raise BadConfig(f"{name}: policy.allow works only in a file outside the roots, given with --config")
        for root in chosen:
            if not any(_is_within(root, outer) for outer in roots):
                raise BadConfig(f"{name}: roots: {_shown(root)} is not inside the workspace; give --root for it")
    directories = _mapped_directories(table.get("map", {}), name, is_inside)
    settings = _dialect_settings(table.get("dialects", {}), name, is_inside)
    host = dict(table.get("host", {}))
    ignore = host.pop("ignore", True)
    if host:
        _check_settings("codex", host, "host", name, is_inside)  # every dialect has them
        settings["host"] = host
    if forge:
        _check_settings("forge", forge, "tools.read_file", name, is_inside)
        settings["forge"] = {**forge, **settings.get("forge", {})}
    return Config(
        roots=chosen,
        deny=deny,
        allow=allow,
        settings=settings,
        map=directories,
        name=name,
        ignore=ignore,
        is_inside=is_inside,
    )


def _mapped_directories(table: Mapping[str, Any], name: str, is_inside: bool) -> dict[str, str]:
    """Return the table `[map]`, with local directories relative to the file. Raises: BadConfig."""
    if table and is_inside:
        raise BadConfig(f"{name}: map works only in a file outside the roots, given with --config")
    base = os.path.dirname(os.path.abspath(name))
    try:
        whole = {host: os.path.join(base, os.path.expanduser(local)) for host, local in table.items()}
        return PathMap(whole).directories
    except (TypeError, ValueError) as error:
        raise BadConfig(f"{name}: map: {_shown(str(error), is_quoted=False)}") from None


def _dialect_settings(table: Mapping[str, Any], name: str, is_inside: bool) -> dict[str, Mapping[str, Any]]:
    """Return the settings of `[dialects.NAME]` by dialect, checked by the dialects themselves. Raises: BadConfig."""
    for dialect, settings in table.items():
        key = f"dialects.{_shown(dialect, is_quoted=False)}"
        if dialect not in dialect_names():
            raise BadConfig(f"{name}: unknown key {key}; the dialects are {', '.join(dialect_names())}")
        if not isinstance(settings, dict):
            raise BadConfig(f"{name}: {key} must be a table")
        _check_settings(dialect, settings, key, name, is_inside)
    return dict(table)


def _check_settings(dialect: str, settings: Mapping[str, Any], key: str, name: str, is_inside: bool) -> None:
    """Check the settings of a dialect, which stand in the table `key`. Raises: BadConfig."""
    made = dialect_class(dialect)
    try:
        made(**settings)
    except (TypeError, ValueError, LookupError) as error:
        raise BadConfig(f"{name}: {key}: {_shown(str(error), is_quoted=False)}") from None
    if is_inside:
        for setting, value in settings.items():
            _check_narrowing(made, setting, value, f"{name}: {key}.{setting}")


def _check_narrowing(dialect: type[Dialect], setting: str, value: Any, place: str) -> None:
    """Refuse a setting that a file in the workspace must not change, or not to this value. Raises: BadConfig."""
    if setting in ("allowed", "encoding", *HOST_DEFAULTS) or setting in dialect.choices or isinstance(value, bool):
        return
    outside = "a file outside the roots, given with --config, can"
    if setting not in dialect.limits:
        raise BadConfig(f"{place} cannot be set by a file in the workspace; {outside} set it")
    default = dialect.settings[setting]
    if default is not None and value > default:
        raise BadConfig(f"{place} can only be lowered from {default} by a file in the workspace; {outside} raise it")


def _parse_toml(data: bytes, name: str) -> dict[str, Any]:
    """Return the table of a file. Raises: BadConfig, in a time that grows no faster than the size of the file."""
    try:
        text = data.decode("utf-8-sig")
        for line in text.split("\n"):
            *keys, last = line.split("=")
            for key in (*keys, last) if line.lstrip().startswith("[") else keys:
                if key.count(".") >= MAX_KEY_PARTS:
                    shown = _shown(key.strip(), is_quoted=False)
                    raise BadConfig(f"{name}: {shown} has more than {MAX_KEY_PARTS} parts")
        return tomllib.loads(text)
    except UnicodeDecodeError:
        raise BadConfig(f"{name}: not UTF-8 text") from None
    except RecursionError:
        raise BadConfig(f"{name}: nested too deeply") from None
    except BadConfig:
        raise
    except ValueError as error:  # of the parser, or of a date that does not exist
        raise BadConfig(f"{name}: {_shown(str(error), is_quoted=False)}") from None


def _check_rules(key: str, rules: tuple[str, ...], limits: FileLimits, name: str) -> None:
    """Check the number, the length and the syntax of rules. Raises: BadConfig."""
    if len(rules) > limits.max_rules:
        raise BadConfig(f"{name}: {key} has {len(rules)} rules; at most {limits.max_rules} are accepted")
    for rule in rules:
        if len(rule) > limits.max_rule_chars:
            raise BadConfig(f"{name}: {key}: {_shown(rule)} is longer than {limits.max_rule_chars} characters")
        if rule.count("/") >= limits.max_rule_parts:
            raise BadConfig(f"{name}: {key}: {_shown(rule)} has more than {limits.max_rule_parts} components")
    try:
        Policy(rules, built_in=False)
    except ValueError as error:
        raise BadConfig(f"{name}: {key}: {error}") from None


def _where(is_inside: bool) -> str:
    return ", which is too much for a file in the workspace" if is_inside else ""


def _shown(value: object, *, is_quoted: bool = True) -> str:
    """Return a value of the file for a message: on one line, cut if it is long."""
    if isinstance(value, str):
        value = value[: MAX_SHOWN_CHARS + 1]
    text = repr(value) if is_quoted else visible(str(value))
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def _is_within(path: str, root: str) -> bool:
    real, outer = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath([real, outer]) == outer


def _check(table: Mapping[str, Any], schema: Mapping[str, Any], prefix: str, name: str) -> None:
    for key, value in table.items():
        wanted = schema.get(key)
        if wanted is None:
            known = ", ".join(prefix + known for known in schema)
            raise BadConfig(f"{name}: unknown key {prefix}{_shown(key, is_quoted=False)}; the known keys are {known}")
        if isinstance(wanted, dict):
            if not isinstance(value, dict):
                raise BadConfig(f"{name}: {prefix}{key} must be a table")
            _check(value, wanted, f"{prefix}{key}.", name)
        elif type(value) is not wanted:
            raise BadConfig(f"{name}: {prefix}{key} must be of type {wanted.__name__}")


def _string_list(values: Any, key: str, name: str) -> tuple[str, ...]:
    if not all(isinstance(value, str) and value for value in values):
        raise BadConfig(f"{name}: {key} must be a list of non-empty strings")
    return tuple(values)
