"""The built-in rules, and rules as glob patterns that are compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache

from eyespan.policy.spellings import fold


def _anywhere(names: str) -> tuple[str, ...]:
    return tuple([f"**/{name}" for name in names.split()])


_NAMES = _anywhere("""
    .ssh/** .gnupg/** .password-store/** id_rsa* id_dsa* id_ecdsa* id_ed25519* *.key *.pem *.p12 *.pfx *.ppk *.jks
    *.keystore *.kdbx *.kdb *.p8 *.pk8 *.pkcs12 *.bks *.agekey *.ovpn ssh_host_* secring.gpg .netrc _netrc .pgpass
    pgpass.conf .my.cnf .mylogin.cnf .git-credentials .npmrc .pypirc .htpasswd .vault-token .dockercfg .s3cfg .boto
    credentials.json .credentials.json application_default_credentials.json credentials.tfrc.json oauth_creds.json
    rclone.conf .databrickscfg .sentryclirc .config/git/credentials .config/gcloud/credentials.db
    .config/gcloud/access_tokens.db .azure/accesstokens.json .azure/msal_token_cache.json
    .azure/msal_token_cache.bin .oci/config .codex/auth.json .composer/auth.json .m2/settings.xml
    .gradle/gradle.properties .aws/credentials .kube/config .docker/config.json .cargo/credentials
    .cargo/credentials.toml .gem/credentials .config/gh/hosts.yml
""")
_ENVIRONMENTS = _anywhere(".env .env.* .env-* .env_* .envrc *.env")
BUILT_IN_DENY = _NAMES + _ENVIRONMENTS
BUILT_IN_ALLOW = tuple(
    [
        f"**/{pattern.format(word)}"
        for word in ("example", "sample", "template", "dist", "defaults", "schema")
        for pattern in (".env.{}", ".env.*.{}", ".env-{}", ".env_{}", "{}.env", "*.{}.env")
    ]
)
"""Exceptions to the rules for environment files. They lift no other rule: `.ssh/.env.example` is denied."""


class PatternRules:
    """Patterns sorted by shape, so that each of the common shapes costs one look-up."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.names: dict[str, str] = {}
        self.directories: dict[str, str] = {}
        self.prefixes: list[tuple[str, str]] = []
        self.suffixes: list[tuple[str, str]] = []
        self.others: list[tuple[list[str], str, str]] = []
        """The pieces of any other pattern, its last one if it is a plain name, else "", and the pattern."""
        for pattern in patterns:
            self._add(pattern)
        self._all_prefixes = tuple([prefix for prefix, _ in self.prefixes])
        self._all_suffixes = tuple([suffix for suffix, _ in self.suffixes])

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
            case _:
                self.others.append((parts, parts[-1] if _is_literal(parts[-1]) else "", pattern))

    def directory_names(self) -> set[str]:
        """Return the names of directories that the patterns contain."""
        return {*self.directories, *[part for glob, _, _ in self.others for part in glob[:-1] if part != "**"]}

    def last_names(self) -> set[str]:
        """Return the plain names of files that the patterns contain."""
        return {*self.names, *[last for _, last, _ in self.others if last]}

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
        for glob, last, pattern in self.others:
            if last in ("", name) and matches(glob, parts):
                return pattern
        return None


_COMMON = frozenset(("config", "settings", ".properties", ".json", ".xml"))


@lru_cache(maxsize=64)
def word_search(patterns: tuple[str, ...]) -> Callable[..., re.Match[str] | None]:
    """Return the search for words of which a folded path contains one if a pattern matches it, or its original.

    A spelling or an original of a name is what remains of it without marks. Only a dot can come to follow what it did
    not follow before, so what stands in a row, with at most a dot before it, was a row in the name too. What else may
    change a name has a tilde or a backslash.
    """
    rows = [re.findall("\\.?[a-z0-9_-]+", re.sub(r"\[.*\]", "*", fold(pattern))) for pattern in patterns]
    # The longest is the rarest, but for those that many programs use.
    words = {min(row, key=lambda word: (word in _COMMON, -len(word)), default="") for row in rows} | {"~", "\\"}
    if "" in words:
        return re.compile("[^/]").search  # a pattern without a word may match any name
    firsts = [
        f"{re.escape(first)}(?:{'|'.join(sorted([word[1:] for word in words if word[0] == first]))})"
        for first in sorted({word[0] for word in words})
    ]
    return re.compile("|".join(firsts)).search


def matches(glob: list[str], parts: list[str]) -> bool:
    """Return True if the pieces of a pattern match these names; `**` matches any number of them."""
    reached = [0]
    """The numbers of names that the pieces so far can match, in order."""
    for piece in glob:
        if piece == "**":
            reached = list(range(reached[0], len(parts) + 1))
        else:
            reached = [at + 1 for at in reached if at < len(parts) and _name_matches(parts[at], piece)]
        if not reached:
            return False
    return reached[-1] == len(parts)


def _name_matches(name: str, piece: str) -> bool:
    return name == piece if _is_literal(piece) else _matcher(piece)(name) is not None


@lru_cache(maxsize=4096)
def _is_literal(name: str) -> bool:
    return not any(sign in name for sign in "*?[")


@lru_cache(maxsize=4096)
def _matcher(piece: str) -> Callable[[str], object]:
    return re.compile(translate(piece)).match


def _matches_nothing(piece: str) -> bool:
    """Return True for a piece with an empty class of characters, such as `[z-a]`."""
    return "(?!)" in translate(piece)


BUILT_IN = ((PatternRules(_NAMES), None), (PatternRules(_ENVIRONMENTS), PatternRules(BUILT_IN_ALLOW)))
"""The built-in rules, and the exceptions to them."""
