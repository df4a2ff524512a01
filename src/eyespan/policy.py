"""The policy of a workspace: the names that may be read.

A policy looks at names, never at files. The guard asks twice, for the requested name and for the canonical name of the
file that was opened, so a link cannot hide a name. Names are compared without regard to case and Unicode form, because
some file systems ignore both. A rule cannot see through a hard link: the same file under another name has another name
(docs/security.md).
"""

from __future__ import annotations

from eyespan.errors import PolicyDenied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

BUILT_IN_DENY = (
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/id_rsa*",
    "**/id_dsa*",
    "**/id_ecdsa*",
    "**/id_ed25519*",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/.env",
    "**/.env.*",
    "**/.netrc",
    "**/.pgpass",
    "**/.git-credentials",
    "**/.aws/credentials",
)
BUILT_IN_ALLOW = (
    "**/.env.example",
    "**/.env.sample",
    "**/.env.template",
    "**/.env.dist",
    "**/.env.defaults",
    "**/.env.schema",
)


class Policy:
    """Deny rules and exceptions to them, as glob patterns over paths relative to a root.

    `**` matches any number of directories; `*`, `?` and `[...]` match within one name. A pattern without a slash, or
    with one at its end only, applies in every directory; a slash at the end means a directory with everything below it.
    An exception in `allow` lifts any rule, also a built-in one; only the host can give exceptions.
    """

    __slots__ = ("_allow_rules", "_deny_rules", "allow", "deny")

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), *, built_in: bool = True) -> None:
        if isinstance(deny, str) or isinstance(allow, str):
            raise TypeError("rules are given as a list of patterns, not as one string")
        self.deny = (*BUILT_IN_DENY, *deny) if built_in else tuple(deny)
        self.allow = (*BUILT_IN_ALLOW, *allow) if built_in else tuple(allow)
        self._deny_rules = _Rules(self.deny)
        self._allow_rules = _Rules(self.allow)

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_rules, (self.deny, self.allow)

    def rule_against(self, path: str) -> str | None:
        """Return the rule that forbids this path, or None."""
        folded = path.lower() if path.isascii() else fold(path)
        if self._deny_rules.cannot_match(folded):
            return None
        parts = folded.split("/")
        if "" in parts or "." in parts:
            parts = [part for part in parts if part not in ("", ".")]
            if not parts:
                return None
        rule = self._deny_rules.match(parts)
        return None if rule is None or self._allow_rules.match(parts) is not None else rule

    def admit(self, path: str, asked: str) -> None:
        """Check that no rule forbids `path`. Raises: PolicyDenied, with the path as requested."""
        rule = self.rule_against(path)
        if rule is not None:
            raise PolicyDenied(asked, rule=rule)


def _with_rules(deny: tuple[str, ...], allow: tuple[str, ...]) -> Policy:
    return Policy(deny, allow, built_in=False)


def fold(path: str) -> str:
    """Return one spelling for all spellings that some file system treats as the same name.

    Case-insensitive directories (ext4, f2fs, APFS, HFS+) decompose names, drop invisible characters and fold case.
    """
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    if not _dropped:
        _dropped.update(dict.fromkeys([point for low, high in _INVISIBLE for point in range(low, high + 1)]))
    return normalize("NFC", normalize("NFD", path).casefold().translate(_dropped))


_dropped: dict[int, None] = {}
"""The invisible characters, for `str.translate`; filled on first use."""
# Default_Ignorable_Code_Point of Unicode.
_INVISIBLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)


class _Rules:
    """Patterns sorted by shape, so that each of the common shapes costs one look-up."""

    __slots__ = (
        *("_all_prefixes", "_all_suffixes", "_last_names", "_suspicious_names"),
        *("directories", "names", "others", "prefixes", "suffixes"),
    )

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: dict[str, str] = {}
        self.directories: dict[str, str] = {}
        self.prefixes: list[tuple[str, str]] = []
        self.suffixes: list[tuple[str, str]] = []
        self.others: list[tuple[list[str], str]] = []
        for pattern in patterns:
            self._add(pattern)
        self._all_prefixes = tuple([prefix for prefix, _ in self.prefixes])
        self._all_suffixes = tuple([suffix for suffix, _ in self.suffixes])
        last_names = [glob[-1] for glob, _ in self.others]
        self._last_names = frozenset(last_names) if all(map(_is_literal, last_names)) else None
        """The last names that the other patterns match; None if one of them matches more than one name."""
        self._suspicious_names: frozenset[str] | None = None
        """The last names that may match a rule; None if the last name decides nothing."""
        # `cannot_match` tries every directory, so with many of them the look-up in `match` is faster.
        if self._last_names is not None and len(self.directories) <= 8:
            # A path that ends in a slash or a dot has another last name.
            self._suspicious_names = self._last_names.union(self.names, ("", "."))

    def _add(self, pattern: str) -> None:
        parts = [part for part in fold(pattern).split("/") if part not in ("", ".")]
        if not parts:
            raise ValueError(f"an empty pattern matches nothing: {pattern!r}")
        if len(parts) == 1 and "/" not in pattern.rstrip("/"):
            parts = ["**", *parts]
        if pattern.endswith("/"):
            parts.append("**")
        match parts:
            case ["**", name] if _is_literal(name):
                self.names[name] = pattern
            case ["**", name] if name[0] == "*" and len(name) > 1 and _is_literal(name[1:]):
                self.suffixes.append((name[1:], pattern))
            case ["**", name] if name[-1] == "*" and len(name) > 1 and _is_literal(name[:-1]):
                self.prefixes.append((name[:-1], pattern))
            case ["**", name, "**"] if _is_literal(name):
                self.directories[name] = pattern
            case _:
                self.others.append((parts, pattern))

    def cannot_match(self, path: str) -> bool:
        """Return True if a quick look shows that no rule matches, as for nearly all paths; `match` decides the rest."""
        if self._suspicious_names is None:
            return False
        name = path[path.rfind("/") + 1 :]
        if name in self._suspicious_names or name.endswith(self._all_suffixes) or name.startswith(self._all_prefixes):
            return False
        found = False
        for directory in self.directories:
            found = found or directory in path
        return not found

    def match(self, parts: list[str]) -> str | None:
        name = parts[-1]
        if name in self.names:
            return self.names[name]
        if name.endswith(self._all_suffixes):
            return next(pattern for suffix, pattern in self.suffixes if name.endswith(suffix))
        if name.startswith(self._all_prefixes):
            return next(pattern for prefix, pattern in self.prefixes if name.startswith(prefix))
        if not self.directories.keys().isdisjoint(parts):
            return next(self.directories[part] for part in parts if part in self.directories)
        if self._last_names is None or name in self._last_names:
            for glob, pattern in self.others:
                if _matches(glob, parts):
                    return pattern
        return None


def _is_literal(name: str) -> bool:
    return not any(sign in name for sign in "*?[")


def _matches(glob: list[str], parts: list[str]) -> bool:
    """Return True if all of `parts` match `glob`; `**` matches any number of parts, also none."""
    if len(glob) > 1 and glob[-1] != parts[-1] and _is_literal(glob[-1]) and glob[-1] != "**":
        return False  # the last name alone rules out most paths
    # The numbers of parts that the pieces so far can match: one set per piece, so the time is never exponential.
    reachable = {0}
    for piece in glob:
        if piece == "**":
            reachable = set(range(min(reachable), len(parts) + 1))
        else:
            reachable = {at + 1 for at in reachable if at < len(parts) and _name_matches(parts[at], piece)}
        if not reachable:
            return False
    return len(parts) in reachable


def _name_matches(name: str, piece: str) -> bool:
    if _is_literal(piece):
        return name == piece
    from fnmatch import fnmatchcase

    return fnmatchcase(name, piece)
