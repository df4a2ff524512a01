"""The built-in rules, rules as glob patterns that are compiled once, and a quick check for names that none matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

from eyespan.policy.names import (
    CONFLICT,
    COPY_ENDS,
    COPY_FIRST_SIGNS,
    COPY_LAST_SIGNS,
    COPY_SIGNS,
    COPY_STARTS,
    ODD_ENDS,
    fold,
)

_NAMES = (
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/.password-store/**",
    "**/id_rsa*",
    "**/id_dsa*",
    "**/id_ecdsa*",
    "**/id_ed25519*",
    "**/*.pem",
    "**/*.p12",
    "**/*.pfx",
    "**/*.ppk",
    "**/*.jks",
    "**/*.keystore",
    "**/*.kdbx",
    "**/*.kdb",
    "**/*.p8",
    "**/*.pk8",
    "**/*.pkcs12",
    "**/*.bks",
    "**/*.agekey",
    "**/*.ovpn",
    "**/ssh_host_*",
    "**/secring.gpg",
    "**/.netrc",
    "**/_netrc",
    "**/.pgpass",
    "**/pgpass.conf",
    "**/.my.cnf",
    "**/.mylogin.cnf",
    "**/.git-credentials",
    "**/.npmrc",
    "**/.pypirc",
    "**/.htpasswd",
    "**/.vault-token",
    "**/.dockercfg",
    "**/.s3cfg",
    "**/.boto",
    "**/credentials.json",
    "**/.credentials.json",
    "**/application_default_credentials.json",
    "**/credentials.tfrc.json",
    "**/oauth_creds.json",
    "**/rclone.conf",
    "**/.databrickscfg",
    "**/.sentryclirc",
    "**/.config/git/credentials",
    "**/.config/gcloud/credentials.db",
    "**/.config/gcloud/access_tokens.db",
    "**/.azure/accesstokens.json",
    "**/.azure/msal_token_cache.json",
    "**/.azure/msal_token_cache.bin",
    "**/.oci/config",
    "**/.codex/auth.json",
    "**/.composer/auth.json",
    "**/.m2/settings.xml",
    "**/.gradle/gradle.properties",
    "**/.aws/credentials",
    "**/.kube/config",
    "**/.docker/config.json",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.gem/credentials",
    "**/.config/gh/hosts.yml",
)
_ENVIRONMENTS = ("**/.env", "**/.env.*", "**/.env-*", "**/.env_*", "**/.envrc", "**/*.env")
UNLESS_ZIP = ("**/*.key",)
"""Rules that do not apply to zip archives: presentations (Keynote) have the suffix of private keys."""
BUILT_IN_DENY = _NAMES + _ENVIRONMENTS + UNLESS_ZIP
BUILT_IN_ALLOW = tuple(
    [
        f"**/{pattern.format(word)}"
        for word in ("example", "sample", "template", "dist", "defaults", "schema")
        for pattern in (".env.{}", ".env.*.{}", ".env-{}", ".env_{}", "{}.env", "*.{}.env")
    ]
)
"""Exceptions to the rules for environment files. They lift no other rule: `.ssh/.env.example` is denied."""
MAX_MATCHERS = 4096


class Rules:
    """Patterns sorted by shape, so that each of the common shapes costs one look-up."""

    __slots__ = (
        "_all_prefixes",
        "_all_suffixes",
        "directories",
        "globs",
        "last_names",
        "names",
        "others",
        "prefixes",
        "suffixes",
    )

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: dict[str, str] = {}
        self.directories: dict[str, str] = {}
        self.prefixes: list[tuple[str, str]] = []
        self.suffixes: list[tuple[str, str]] = []
        self.globs: list[tuple[str, str, str, str]] = []
        """Patterns for one name: the text before the first sign and after the last one, the piece, the pattern."""
        self.others: list[tuple[list[str], str]] = []
        for pattern in patterns:
            self._add(pattern)
        self._all_prefixes = tuple([prefix for prefix, _ in self.prefixes])
        self._all_suffixes = tuple([suffix for suffix, _ in self.suffixes])
        ends = [glob[-1] for glob, _ in self.others]
        self.last_names = frozenset(ends) if not self.globs and all(map(_is_literal, ends)) else None
        """The last names that the other patterns match, if each matches one alone."""

    def _add(self, pattern: str) -> None:
        written = fold(pattern).replace("\\", "/")
        parts = [part for part in written.split("/") if part not in ("", ".")]
        if not parts:
            raise ValueError(f"an empty pattern matches nothing: {pattern!r}")
        if len(parts) == 1 and "/" not in written.rstrip("/"):
            parts = ["**", *parts]
        if written.endswith("/"):
            parts.append("**")
        for part in parts:
            if "[" in part and _matches_nothing(part):
                raise ValueError(f"a class of characters that matches nothing: {pattern!r}")
        match parts:
            case ["**", name] if _is_literal(name):
                self.names[name] = pattern
            case ["**", name] if name[0] == "*" and len(name) > 1 and _is_literal(name[1:]):
                self.suffixes.append((name[1:], pattern))
            case ["**", name] if name[-1] == "*" and len(name) > 1 and _is_literal(name[:-1]):
                self.prefixes.append((name[:-1], pattern))
            case ["**", directory, "**"] if _is_literal(directory):
                self.directories[directory] = pattern
            case ["**", name] if name != "**":
                self.globs.append((*_literal_ends(name), name, pattern))
            case _:
                self.others.append((parts, pattern))

    def directory_names(self) -> set[str]:
        """Return the names of directories that the patterns contain."""
        return {*self.directories, *[part for glob, _ in self.others for part in glob[:-1] if part != "**"]}

    def match(self, parts: list[str]) -> str | None:
        """Return the pattern that matches these names (at least one), or None."""
        name = parts[-1]
        if name in self.names:
            return self.names[name]
        if name.endswith(self._all_suffixes):
            return next(pattern for suffix, pattern in self.suffixes if name.endswith(suffix))
        if name.startswith(self._all_prefixes):
            return next(pattern for prefix, pattern in self.prefixes if name.startswith(prefix))
        if not self.directories.keys().isdisjoint(parts):
            return next(self.directories[part] for part in parts if part in self.directories)
        for head, tail, piece, pattern in self.globs:
            if name.endswith(tail) and name.startswith(head) and _name_matches(name, piece):
                return pattern
        if self.others and (self.last_names is None or name in self.last_names):
            places = Places(parts)
            for glob, pattern in self.others:
                if (not _is_literal(glob[-1]) or glob[-1] == name) and matches(glob, places):
                    return pattern
        return None


class QuickLook:
    """A quick check that finds nearly all harmless names; `Policy` judges the rest."""

    __slots__ = (
        *("_built_in", "_directories", "_ends", "_has_plain_suffixes", "_heads", "_last_signs", "_name_suffixes"),
        *("_pairs", "_prefixes", "_starts_with_signs", "_stems", "_suffixes", "_suspicious_names"),
    )

    def __init__(self, groups: list[Rules], built_in: list[Rules]) -> None:
        self._built_in = built_in
        self._stems: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        """Texts of which the name of a copy contains one, if a built-in rule matches what it is a copy of: those
        without a dot at their start, and with one. Few names need them, so they are found on first use."""
        last_names = [name for rules in built_in for name in (*rules.names, *(rules.last_names or ()))]
        starts = {name[: name.rindex(".")] for name in last_names if "." in name[1:]}
        self._directories = tuple([name for rules in groups for name in rules.directories])
        self._prefixes = (*[prefix for rules in groups for prefix, _ in rules.prefixes], *COPY_STARTS)
        # A mark may stand before the suffix: `credentials (1).json`.
        self._starts_with_signs = tuple([f"{start}{sign}" for start in starts for sign in f"{COPY_SIGNS}(:#"])
        self._name_suffixes = frozenset([name[name.rindex(".") :] for name in last_names if "." in name[1:]])
        heads = frozenset([prefix[:2] for prefix in (*self._prefixes, *self._starts_with_signs)])
        self._heads = heads if all(len(head) == 2 for head in heads) else None
        """The first two characters of all prefixes; None if one is shorter."""
        self._suffixes = (*[suffix for rules in groups for suffix, _ in rules.suffixes], *ODD_ENDS)
        self._last_signs = COPY_LAST_SIGNS.union([suffix for suffix in self._suffixes if len(suffix) == 1])
        self._pairs = frozenset([suffix for suffix in self._suffixes if len(suffix) == 2])
        self._ends = COPY_ENDS.union([suffix[-3:] for suffix in self._suffixes if len(suffix) > 2])
        self._has_plain_suffixes = all("." not in suffix[1:] for suffix in self._suffixes)
        """Only the last part of a name, from its last dot on, decides if it has one of the suffixes."""
        # More directories are found faster by their names than by a search in the path.
        is_quick = len(self._directories) <= 8 and all(rules.last_names is not None for rules in groups)
        # A path that ends in a slash has another last name.
        last_names = [name for rules in groups for name in (*rules.names, *(rules.last_names or ()))]
        last_names += self._directories
        self._suspicious_names = frozenset(["", *last_names]) if is_quick else None
        """Last names by which some rule may match; None: the last name does not decide."""

    def cannot_match(self, path: str) -> bool:
        """Return True if it is obvious that no rule matches a folded path."""
        if self._suspicious_names is None or "\\" in path or "~" in path or "/ " in path:
            return False
        slash = path.rfind("/")
        name = path[slash + 1 :]
        if name in self._suspicious_names:
            return False
        if self._heads is None or name[:2] in self._heads:
            if name.startswith(self._prefixes):
                return False
            if self._may_have_inner_mark(name):
                return False
        # The last characters decide for nearly all names, in a third of the time of `endswith` with many suffixes.
        may_be_copy = ":" in name or name[0] in COPY_FIRST_SIGNS or CONFLICT in name
        if name[-1] in self._last_signs or name[-3:] in self._ends or (self._pairs and name[-2:] in self._pairs):
            if name.endswith(self._suffixes):
                return False
            may_be_copy = may_be_copy or name[-3:] in COPY_ENDS or name[-1] in COPY_LAST_SIGNS
        if slash > 0:
            for directory in self._directories:
                if directory in path:
                    return False
        return not may_be_copy or not self._has_stem(name)

    def _has_stem(self, name: str) -> bool:
        """Return True if a name contains one of the stems."""
        if self._stems is None:
            self._stems = _stems_of(self._built_in)
        plain, dotted = self._stems
        for stem in plain:
            if stem in name:
                return True
        dot = name.find(".")
        while dot >= 0:
            if name.startswith(dotted, dot):
                return True
            dot = name.find(".", dot + 1)
        return False

    def cannot_match_any(self, paths: Sequence[str]) -> bool:
        """Return True if it is obvious that no rule matches any of these paths. Some others are not obvious here."""
        text = "\n".join(paths)
        if self._suspicious_names is None or not self._has_plain_suffixes or not text.isascii() or "\\" in text:
            return False
        text = text.lower()
        if "~" in text or " " in text or CONFLICT in text or not "".join(paths).isprintable():
            return False
        folded = text.split("\n")
        if len(folded) != len(paths):
            return False
        for directory in self._directories:
            if directory in text:
                return False
        names = [path[path.rfind("/") + 1 :] for path in folded]
        if not self._suspicious_names.isdisjoint(names):
            return False
        may_be_copy = False
        for end in {name[name.rfind(".") :] if "." in name else name for name in names}:
            if end.endswith(self._suffixes):
                return False
            may_be_copy = may_be_copy or end[-3:] in COPY_ENDS or end[-1] in COPY_LAST_SIGNS
        heads = {name[:2] for name in names}
        may_be_copy = may_be_copy or not COPY_FIRST_SIGNS.isdisjoint([head[0] for head in heads])
        if (may_be_copy or ":" in text) and any(map(self._has_stem, names)):
            return False
        if self._heads is not None and self._heads.isdisjoint(heads):
            return True
        return not any(name.startswith(self._prefixes) or self._may_have_inner_mark(name) for name in names)

    def _may_have_inner_mark(self, name: str) -> bool:
        return name.startswith(self._starts_with_signs) and name[name.rfind(".") :] in self._name_suffixes


def _stems_of(groups: list[Rules]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return texts of which every name that the rules match contains one; see `QuickLook`."""
    stems = {prefix for rules in groups for prefix, _ in rules.prefixes}
    stems |= {suffix for rules in groups for suffix, _ in rules.suffixes}
    names = {name for rules in groups for name in (*rules.names, *rules.directories, *(rules.last_names or ()))}
    stems |= {name for name in names if "." not in name[1:]}
    stems |= {name[: name.rindex(".")] for name in names if "." in name[1:]}  # a mark may stand before the suffix
    return tuple([stem for stem in stems if stem[0] != "."]), tuple([stem for stem in stems if stem[0] == "."])


def built_in_groups() -> tuple[tuple[Rules, Rules | None], ...]:
    """Return the built-in rules with their exceptions; the last group does not apply to zip archives."""
    global _groups
    if not _groups:
        _groups = ((Rules(_NAMES), None), (Rules(_ENVIRONMENTS), Rules(BUILT_IN_ALLOW)), (Rules(UNLESS_ZIP), None))
    return _groups


_groups: tuple[tuple[Rules, Rules | None], ...] = ()


def _is_literal(name: str) -> bool:
    return not any(sign in name for sign in "*?[")


class Places:
    """The names of a path and their places, as bit sets. Each pattern piece is compared once with each name."""

    __slots__ = ("_globs", "_names", "count")

    def __init__(self, parts: list[str]) -> None:
        self.count = len(parts)
        self._names: dict[str, int] = {}
        self._globs: dict[str, int] = {}
        for place, name in enumerate(parts):
            self._names[name] = self._names.get(name, 0) | 1 << place

    def of(self, piece: str) -> int:
        """Return the places of the names that match a piece of a pattern."""
        if _is_literal(piece):
            return self._names.get(piece, 0)
        if piece not in self._globs:
            found = 0
            for name, places in self._names.items():
                if _name_matches(name, piece):
                    found |= places
            self._globs[piece] = found
        return self._globs[piece]


def matches(glob: list[str], places: Places) -> bool:
    """Return True if `glob` matches all names; `**` matches any number of names, also none."""
    # Bit n: the pieces so far can match the first n names. One set per piece, so the time is never exponential.
    reachable = 1
    for piece in glob:
        if piece == "**":
            lowest = reachable & -reachable
            reachable = -lowest & (1 << places.count + 1) - 1
        else:
            reachable = (reachable & places.of(piece)) << 1
        if not reachable:
            return False
    return bool(reachable >> places.count)


def _name_matches(name: str, piece: str) -> bool:
    if _is_literal(piece):
        return name == piece
    match = _matchers[piece] if piece in _matchers else _matcher(piece)
    return match(name) is not None


_matchers: dict[str, Callable[[str], object]] = {}


def _matcher(piece: str) -> Callable[[str], object]:
    """Return the matcher of a piece, compiled once: a directory has many names, and each is compared."""
    if len(_matchers) >= MAX_MATCHERS:
        _matchers.clear()
    found = _matchers[piece] = re.compile(translate(piece)).match
    return found


def _literal_ends(piece: str) -> tuple[str, str]:
    """Return the texts with which a name begins and ends if it matches a piece."""
    signs = [at for at, char in enumerate(piece) if char in "*?[]"]
    return piece[: signs[0]], piece[signs[-1] + 1 :]


def _matches_nothing(piece: str) -> bool:
    """Return True for a piece with an empty class of characters, such as `[z-a]`."""
    return "(?!)" in translate(piece)
