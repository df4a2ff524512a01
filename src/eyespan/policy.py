"""What the host allows: which names may be read at all.

Pure: it looks at names, never at files. The guard asks twice, for the name asked for and for the canonical name of what
was opened, so a link cannot launder a name. Names are compared without regard to case or Unicode form, since some file
systems do not regard them either. A rule cannot see through a hard link: the same file under another name is another
name (docs/security.md says so).
"""

from __future__ import annotations

from eyespan.errors import PolicyDenied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """Deny rules and the exceptions to them, as glob patterns over paths relative to a root.

    `**` stands for any number of folders, `*`, `?` and `[...]` stay within one name; a pattern without a slash applies
    in every folder. An exception in `allow` lifts any rule, also a built-in one; only the host can give exceptions.
    """

    __slots__ = ("_allow", "_deny", "deny")

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), *, built_in: bool = True) -> None:
        denied, allowed = tuple(deny), tuple(allow)
        if built_in:
            denied, allowed = BUILT_IN_DENY + denied, BUILT_IN_ALLOW + allowed
        self.deny = denied
        self._deny = _Rules(denied)
        self._allow = _Rules(allowed)

    def rule_against(self, path: str) -> str | None:
        """The rule that forbids this path, or None."""
        parts = [part for part in fold(path).split("/") if part not in ("", ".")]
        if not parts:
            return None
        rule = self._deny.match(parts)
        return None if rule is None or self._allow.match(parts) is not None else rule

    def admit(self, path: str, asked: str) -> None:
        """Raises: PolicyDenied, worded for the path as asked."""
        rule = self.rule_against(path)
        if rule is not None:
            raise PolicyDenied(asked, rule=rule)


def fold(path: str) -> str:
    """One spelling for all spellings that some file system takes for the same name."""
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", path).casefold())


class _Rules:
    """Patterns sorted by shape, so that the common shapes cost a look-up each."""

    __slots__ = ("folders", "names", "others", "prefixes", "suffixes")

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.prefixes: list[tuple[str, str]] = []
        self.suffixes: list[tuple[str, str]] = []
        self.others: list[tuple[list[str], str]] = []
        for pattern in patterns:
            self._add(pattern)

    def _add(self, pattern: str) -> None:
        parts = [part for part in fold(pattern).split("/") if part not in ("", ".")]
        if not parts:
            raise ValueError(f"an empty pattern matches nothing: {pattern!r}")
        if len(parts) == 1 and "/" not in pattern.rstrip("/"):
            parts = ["**", *parts]
        match parts:
            case ["**", name] if _literal(name):
                self.names[name] = pattern
            case ["**", name] if name[0] == "*" and len(name) > 1 and _literal(name[1:]):
                self.suffixes.append((name[1:], pattern))
            case ["**", name] if name[-1] == "*" and len(name) > 1 and _literal(name[:-1]):
                self.prefixes.append((name[:-1], pattern))
            case ["**", folder, "**"] if _literal(folder):
                self.folders[folder] = pattern
            case _:
                self.others.append((parts, pattern))

    def match(self, parts: list[str]) -> str | None:
        name = parts[-1]
        if name in self.names:
            return self.names[name]
        for suffix, pattern in self.suffixes:
            if name.endswith(suffix):
                return pattern
        for prefix, pattern in self.prefixes:
            if name.startswith(prefix):
                return pattern
        if self.folders:
            for part in parts:
                if part in self.folders:
                    return self.folders[part]
        for glob, pattern in self.others:
            if _matches(glob, parts):
                return pattern
        return None


def _literal(name: str) -> bool:
    return not any(mark in name for mark in "*?[")


def _matches(glob: list[str], parts: list[str]) -> bool:
    """Whether whole `parts` fit `glob`; `**` takes any number of parts, none included."""
    # reachable: how many parts may be used up so far; grows by one pattern piece at a time, so no case is exponential.
    reachable = {0}
    for piece in glob:
        if piece == "**":
            reachable = set(range(min(reachable), len(parts) + 1))
        else:
            reachable = {at + 1 for at in reachable if at < len(parts) and _fits(parts[at], piece)}
        if not reachable:
            return False
    return len(parts) in reachable


def _fits(name: str, piece: str) -> bool:
    if _literal(piece):
        return name == piece
    from fnmatch import fnmatchcase

    return fnmatchcase(name, piece)
