"""The policy of a workspace: the names that may be read.

Pure: it judges names, never files. Every way to bytes asks it: the guard for the requested name and for the canonical
name of the opened file, listings, completions and suggestions for each name they show, archives and compressed files
for each member, git for the path inside the repository.

A name has many spellings, and each is judged: as it is written, and in a normal form. The normal form folds case and
Unicode (NFKC, without characters that show nothing), takes a backslash for a slash, drops blanks around each component
and dots at its end, resolves `..`, and removes the suffixes of compressed files and of backups (`server.key.gz`,
`.env~`). What follows a NUL is judged with and without it, because many programs end a name there. A name is denied if
one of its spellings is.

The built-in rules also see the names of copies that programs make: numbers, dates, archives of one file, the marks of
editors, file managers and package managers (`server.key.1`, `.env.zip`, `#.netrc#`, `credentials (1).json`), and the
short names of Windows (`ENV~1`). Limits: the same file under another name (a hard link, a copy) is another name, and
rules do not see contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from eyespan.errors import PolicyDenied
from eyespan.policy import copies
from eyespan.policy.rules import BUILT_IN, BUILT_IN_ALLOW, BUILT_IN_DENY, PatternRules, word_search
from eyespan.policy.spellings import bare_parts, fold, in_other_codecs, resolved, spellings

MAX_VERDICTS = 2048
MAX_CACHED_BYTES = 240
"""The memory of a path whose verdict is cached: 190 letters of ASCII."""
MAX_PATH_CHARS = 1 << 19
MAX_PATH_NAMES = 1 << 12
"""No file system has a longer path, or one of more names. A member of an archive can, and to judge it takes long."""
TOO_LONG = "against paths that are too long"
ROOT_NAMES = 3
"""The last components of a root's own path that the built-in rules see."""


class Policy:
    """Deny rules and exceptions to them, as glob patterns over paths relative to a root.

    `**` matches any number of directories; `*`, `?` and `[...]` match within one name. A pattern without a slash, or
    with one at its end only, applies in every directory; a slash at the end means a directory with everything below it.
    An exception in `allow` lifts any rule, also a built-in one; only the host can give exceptions. The built-in
    exceptions lift built-in rules only.
    """

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), *, built_in: bool = True) -> None:
        if isinstance(deny, str) or isinstance(allow, str):
            raise TypeError("rules are given as a list of patterns, not as one string")
        self._given = (tuple(deny), tuple(allow), built_in)
        denied, allowed, _ = self._given
        self.deny = BUILT_IN_DENY + denied if built_in else denied
        self.allow = BUILT_IN_ALLOW + allowed if built_in else allowed
        self._allow = PatternRules(allowed)
        self._host = PatternRules(denied)
        self._is_anchored = any(glob[0] != "**" for glob, _, _ in self._host.others)
        self._has_wide_rules = not "".join(denied).isascii()
        """Bytes of a path may be a name of the rules in another encoding."""
        self._search_word = word_search(self.deny)
        self._built_in = BUILT_IN if built_in else ()
        """Rules with their own exceptions."""
        self._directories = frozenset([name for rules, _ in self._built_in for name in rules.directory_names()])
        self._roots: dict[str, tuple[str, ...]] = {}
        self._verdicts: dict[str, dict[str, str | None]] = {}
        """The latest verdicts, by root and path."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_rules, self._given

    def with_rules(self, deny: Iterable[str] = (), allow: Iterable[str] = ()) -> Policy:
        """Return a policy with further rules and exceptions."""
        denied, allowed, built_in = self._given
        more = [rule for rule in deny if rule not in denied]
        exceptions = [rule for rule in allow if rule not in allowed]
        if not more and not exceptions:
            return self
        return Policy((*denied, *more), (*allowed, *exceptions), built_in=built_in)

    def rule_against(self, path: str, root: str = "") -> str | None:
        """Return the rule that forbids this path, or None.

        `root` is the path of the root. The built-in rules see its last names too, so that `credentials` is denied in a
        root `~/.aws`. The host's rules are relative to the root.
        """
        try:
            return self._verdicts[root][path]
        except KeyError:
            pass
        if len(path) > MAX_PATH_NAMES and is_too_long(path):
            return TOO_LONG
        above = self._above(root)
        verdict = self._judge(path, above) if above or self._has_word(path) else None
        if verdict is None and "\0" in path:
            verdict = self.rule_against(path[: path.index("\0")], root)
        if path.__sizeof__() <= MAX_CACHED_BYTES:
            verdicts = self._verdicts.setdefault(root, {})
            if len(verdicts) >= MAX_VERDICTS:
                self._verdicts[root] = verdicts = {}
            verdicts[path] = verdict
        return verdict

    def suspects(self, directory: str, names: Sequence[str], root: str = "") -> Set[str]:
        """Return those of the names in a directory that a rule may forbid, to be judged one by one.

        Each rule has a word that all spellings of what it forbids contain, so most names need no more than one search
        for the words of all rules.
        """
        if self._has_word(directory) or self._above(root):
            return frozenset(names)
        suspects: set[str] = set()
        text = "/".join(names)
        if not (text.isascii() and text.isprintable()):
            suspects = {name for name in names if not (name.isascii() and name.isprintable())}
            text = "/".join([name for name in names if name not in suspects])
        folded, end = text.lower(), 0
        while found := self._search_word(folded, end):
            start = folded.rfind("/", 0, found.start()) + 1
            end = folded.find("/", found.end())
            if end < 0:
                end = len(text)
            suspects.add(text[start:end])
        return suspects

    def _has_word(self, path: str) -> bool:
        return not (path.isascii() and path.isprintable()) or self._search_word(path.lower()) is not None

    def rule_against_member(self, container: str, member: str) -> str | None:
        """Return the rule that forbids a member of an archive, or None.

        A member is judged below the path of its archive and by itself; that archive may be a member too
        (`a.zip!/b.tar`).
        """
        first, mark, rest = container.partition("!/")
        if "@" in first:  # a file of a revision is judged as the file of that name, too
            rule = self._rule_against_member(first[: first.rindex("@")] + mark + rest, member)
            if rule is not None:
                return rule
        return self._rule_against_member(container, member)

    def _rule_against_member(self, container: str, member: str) -> str | None:
        whole = f"{container}/{member}".replace("!/", "/")
        rule = self.rule_against(whole)
        # A rule that begins with `**` and matches the member alone also matches the whole path.
        if rule is not None or not self._is_anchored or self._is_lifted(whole):
            return rule
        archives = container.split("!/")
        for depth in range(1, len(archives) + 1):
            rule = rule or self.rule_against("/".join([*archives[depth:], member]))
        return rule

    def admit(self, path: str, asked: str, root: str = "") -> None:
        """Check that no rule forbids `path`. Raises: PolicyDenied, with the path as requested."""
        rule = self.rule_against(path, root)
        if rule is not None:
            raise PolicyDenied(asked, rule=rule)

    def admit_member(self, container: str, member: str, asked: str) -> None:
        """Check that no rule forbids a member. Raises: PolicyDenied, with the path as requested."""
        rule = self.rule_against_member(container, member)
        if rule is not None:
            raise PolicyDenied(asked, rule=rule)

    def _above(self, root: str) -> tuple[str, ...]:
        """Return the last names of a root; nothing if they play no part in a built-in rule."""
        if root in self._roots:
            return self._roots[root]
        names = bare_parts(fold(root).replace("\\", "/").split("/"))[-ROOT_NAMES:]
        if any(directory in name for name in names for directory in self._directories):
            names = copies.plain_directories(names, self._directories, copies.MIN_ORIGINALS)
        judged = () if self._directories.isdisjoint(names) else tuple(names)
        self._roots[root] = judged
        return judged

    def _judge(self, path: str, above: tuple[str, ...]) -> str | None:
        if self._is_lifted(path):
            return None
        for parts in spellings(path) or ([[]] if above else []):
            if (rule := self._rule_against_parts(parts, above)) is not None:
                return rule
        # The built-in rules are ASCII, whose bytes are the same in the other encodings.
        for reading in in_other_codecs(path) if self._has_wide_rules and not path.isascii() else ():
            for parts in spellings(reading):
                if (rule := self._host.match(parts)) and not self._allow.match(resolved(parts) or parts):
                    return rule
        if self._built_in:
            for parts in copies.paths_of_originals(path, self._directories):
                if (rule := self._rule_against_parts(parts, above, is_copy=True)) is not None:
                    return rule
        return None

    def _is_lifted(self, path: str) -> bool:
        """Return True if an exception of the host names this path. One for `a.pem.gz` lifts the rule for `a.pem`."""
        parts = resolved(bare_parts(fold(path).replace("\\", "/").split("/")))
        return bool(parts) and self._allow.match(parts) is not None

    def _rule_against_parts(self, parts: list[str], above: tuple[str, ...], *, is_copy: bool = False) -> str | None:
        rule = self._host.match(parts) if parts and not is_copy else None
        whole = [*above, *parts]
        for rules, exceptions in self._built_in:
            if rule is None:
                rule = rules.match(whole)
                if rule is not None and exceptions is not None and exceptions.match(whole) is not None:
                    rule = None
        if rule is not None and parts and self._allow.match(resolved(parts) or parts) is not None:
            return None
        return rule


class NarrowedPolicy(Policy):
    """The rules of a policy for roots below its own: each path is judged from both roots.

    A rule that is relative to the outer root then applies in the inner one. An exception that is relative to the outer
    root may be lost, which refuses more and never less.
    """

    def __init__(self, outer: Policy, places: Mapping[str, tuple[str, str]]) -> None:
        """`places` are the inner roots by their canonical paths: the outer root, and the path below it."""
        denied, allowed, built_in = outer._given
        super().__init__(denied, allowed, built_in=built_in)
        self._outer = outer
        self._places = dict(places)

    def __reduce__(self) -> tuple[Any, ...]:
        return NarrowedPolicy, (self._outer, self._places)

    def with_rules(self, deny: Iterable[str] = (), allow: Iterable[str] = ()) -> Policy:
        return NarrowedPolicy(self._outer.with_rules(deny, allow), self._places)

    def suspects(self, directory: str, names: Sequence[str], root: str = "") -> Set[str]:
        return frozenset(names)  # each is judged from both roots

    def rule_against(self, path: str, root: str = "") -> str | None:
        rule = self._outer.rule_against(path, root)
        # Members of archives are judged without a root, so they are judged from all.
        places = [self._places[root]] if root in self._places else self._places.values()
        for outer, below in places:
            if rule is None and below:
                rule = self._outer.rule_against(f"{below}/{path}", outer)
        return rule


def is_too_long(path: str) -> bool:
    """Return True if no rule judges a path, because it is longer than that of any file."""
    return len(path) > MAX_PATH_CHARS or path.count("/") + path.count("\\") > MAX_PATH_NAMES


def _with_rules(deny: tuple[str, ...], allow: tuple[str, ...], built_in: bool) -> Policy:
    return Policy(deny, allow, built_in=built_in)
