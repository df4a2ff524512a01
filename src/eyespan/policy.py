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

    `**` stands for any number of folders, `*`, `?` and `[...]` stay within one name; a pattern without a slash (but at
    its end) applies in every folder; one that ends in a slash is a folder with everything below it. An exception in
    `allow` lifts any rule, also a built-in one; only the host can give exceptions.
    """

    __slots__ = ("_allow", "_deny", "deny")

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), *, built_in: bool = True) -> None:
        if isinstance(deny, str) or isinstance(allow, str):
            raise TypeError("rules are given as a list of patterns, not as one string")
        denied, allowed = tuple(deny), tuple(allow)
        if built_in:
            denied, allowed = BUILT_IN_DENY + denied, BUILT_IN_ALLOW + allowed
        self.deny = denied
        self._deny = _Rules(denied)
        self._allow = _Rules(allowed)

    def rule_against(self, path: str) -> str | None:
        """The rule that forbids this path, or None."""
        folded = path.lower() if path.isascii() else fold(path)
        if self._deny.misses(folded):
            return None
        parts = folded.split("/")
        if "" in parts or "." in parts:
            parts = [part for part in parts if part not in ("", ".")]
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
    """One spelling for all spellings that some file system takes for the same name.

    Folders that ignore case (ext4, f2fs, APFS, HFS+) decompose, drop what has no shape and fold case; so does this.
    """
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    if not _no_shape:
        _no_shape.update(dict.fromkeys([point for low, high in _SHAPELESS for point in range(low, high + 1)]))
    return normalize("NFC", normalize("NFD", path).casefold().translate(_no_shape))


_no_shape: dict[int, None] = {}
"""What `translate` drops; made on first need."""
# Default_Ignorable_Code_Point of Unicode.
_SHAPELESS = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)


class _Rules:
    """Patterns sorted by shape, so that the common shapes cost a look-up each."""

    __slots__ = (
        *("_all_prefixes", "_all_suffixes", "_ends", "_telling"),
        *("folders", "names", "others", "prefixes", "suffixes"),
    )

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: dict[str, str] = {}
        self.folders: dict[str, str] = {}
        self.prefixes: list[tuple[str, str]] = []
        self.suffixes: list[tuple[str, str]] = []
        self.others: list[tuple[list[str], str]] = []
        for pattern in patterns:
            self._add(pattern)
        self._all_prefixes = tuple([prefix for prefix, _ in self.prefixes])
        self._all_suffixes = tuple([suffix for suffix, _ in self.suffixes])
        ends = [glob[-1] for glob, _ in self.others]
        self._ends = frozenset(ends) if all(map(_literal, ends)) else None
        """The last names that the other patterns take, where each takes one alone."""
        # A path that ends in a slash or a dot has another last name; many folders are looked up faster than looked for.
        few = len(self.folders) <= 8
        self._telling = self._ends.union(self.names, ("", ".")) if few and self._ends is not None else None
        """Last names by which some rule may match; None: there is no telling by them."""

    def _add(self, pattern: str) -> None:
        parts = [part for part in fold(pattern).split("/") if part not in ("", ".")]
        if not parts:
            raise ValueError(f"an empty pattern matches nothing: {pattern!r}")
        if len(parts) == 1 and "/" not in pattern.rstrip("/"):
            parts = ["**", *parts]
        if pattern.endswith("/"):
            parts.append("**")
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

    def misses(self, path: str) -> bool:
        """Whether it can be seen at a glance that no rule matches, as for nearly all paths; `match` is the judge."""
        if self._telling is None:
            return False
        name = path[path.rfind("/") + 1 :]
        if name in self._telling or name.endswith(self._all_suffixes) or name.startswith(self._all_prefixes):
            return False
        seen = False
        for folder in self.folders:
            seen = seen or folder in path
        return not seen

    def match(self, parts: list[str]) -> str | None:
        name = parts[-1]
        if name in self.names:
            return self.names[name]
        if name.endswith(self._all_suffixes):
            return next(pattern for suffix, pattern in self.suffixes if name.endswith(suffix))
        if name.startswith(self._all_prefixes):
            return next(pattern for prefix, pattern in self.prefixes if name.startswith(prefix))
        if not self.folders.keys().isdisjoint(parts):
            return next(self.folders[part] for part in parts if part in self.folders)
        if self._ends is None or name in self._ends:
            for glob, pattern in self.others:
                if _matches(glob, parts):
                    return pattern
        return None


def _literal(name: str) -> bool:
    return not any(mark in name for mark in "*?[")


def _matches(glob: list[str], parts: list[str]) -> bool:
    """Whether whole `parts` fit `glob`; `**` takes any number of parts, none included."""
    if len(glob) > 1 and glob[-1] != parts[-1] and _literal(glob[-1]) and glob[-1] != "**":
        return False  # most names are told by their end
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
