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

from eyespan.errors import PolicyDenied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set
    from typing import Any

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

COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lzma")
BACKUP_SUFFIXES = ("~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo")
_SUFFIXES = (*COMPRESSION_SUFFIXES, *BACKUP_SUFFIXES, "::$data")  # the last: another spelling of a file on NTFS
_TRAILING = " .\t\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029\0"
_ODD_ENDS = (*_SUFFIXES, *_TRAILING)
_ARCHIVE_WORDS = ("zip", "zipx", "7z", "rar", "tar", "tgz", "tbz", "tbz2", "txz", "tzst", "taz", "cab", "cpio", "iso")
"""The suffixes of archives. An archive with the name of a denied file holds that file."""
_COPY_WORDS = (
    *("bak", "backup", "back", "bk", "bkp", "old", "orig", "save", "saved", "copy", "tmp", "temp", "new", "lock"),
    *(
        "prev",
        "previous",
        "disabled",
        "off",
        "part",
        "crdownload",
        "br",
        "lz",
        "lz4",
        "lzo",
        "sz",
        "z",
        "b64",
        "base64",
    ),
    *("txt", "local", "remote", "base", "mine", "theirs", "rej", "kopie", "copie", "copia", "kopia"),
    *("dpkg-old", "dpkg-new", "dpkg-dist", "dpkg-bak", "dpkg-tmp", "rpmsave", "rpmnew", "rpmorig"),
    *("ucf-old", "ucf-new", "ucf-dist", "kate-swp", "un~", "swn", "swx", "- copy", "- kopie", "- copie", "- copia"),
    *_ARCHIVE_WORDS,
)
_COPY_SIGNS = ".-_ "
"""The characters before a word or a number that marks a copy."""
_COPY_SUFFIXES = tuple([f"{sign}{word}" for word in _COPY_WORDS for sign in _COPY_SIGNS])
_MARKS_AT_END = (*_COPY_SUFFIXES, *_SUFFIXES)
_COPY_ENDS = frozenset([suffix[-3:] for suffix in _COPY_SUFFIXES])
_COPY_LAST_SIGNS = frozenset("0123456789)#z")
"""The last three characters, or the last one, of a name with the mark of a copy."""
_COPY_STARTS = (
    *(".#", "._", "~$", ".~lock.", "copy of ", "backup of ", "kopie von ", "copie de ", "copia de "),
    *[f"{word}{sign}" for word in ("copy", "backup", "bak", "old") for sign in _COPY_SIGNS],
)
_COPY_FIRST_SIGNS = frozenset("0123456789 ")
"""The first character of a name with a number or a date before it."""
_CONFLICT = "conflict"
_CONFLICTS = (".sync-conflict", *[f"{sign}{_CONFLICT}" for sign in _COPY_SIGNS])
"""The marks of programs that synchronise directories. Anything can follow them."""
_DATE_SIGNS = "0123456789tz:+-_. "
MAX_DATE_CHARS = 40
_ENDS_OF_PRESENTATIONS = tuple([rule.rpartition("*")[2] for rule in UNLESS_ZIP])
_HIDING_SUFFIXES = (".un~", ".swp", ".swo", ".swn", ".swx", ".kate-swp")
"""The suffixes of files that editors hide: they write `.notes.un~` for `notes`."""
MAX_NUMBER_DIGITS = 14
MAX_MATCHERS = 4096
MAX_SHORTER_NAMES = 8
"""Names between the written one and the one without any suffix that are judged too."""
MAX_ORIGINALS = 128
MIN_ORIGINALS = 16
"""Names of which the names of one path may be copies, or copies of copies, that are judged: in all, and of each."""
MAX_COPIED_DIRECTORIES = 64
"""The directories of one path, from its end, that may be copies of others or have short names."""
MAX_RECODED_CHARS = 1 << 14
"""The characters of a path, from its end, that are read by other encodings."""
MAX_VERDICTS = 2048
MAX_CACHED_BYTES = 240
"""The memory of a path whose verdict is cached: 190 letters of ASCII."""
MAX_NAME_CHARS = 255
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

    __slots__ = (
        "_allow",
        "_built_in",
        "_directories",
        "_given",
        "_has_wide_rules",
        "_host",
        "_is_anchored",
        "_quick_look",
        "_roots",
        "_verdicts",
        "_with_keys",
        "allow",
        "deny",
    )

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = (), *, built_in: bool = True) -> None:
        if isinstance(deny, str) or isinstance(allow, str):
            raise TypeError("rules are given as a list of patterns, not as one string")
        self._given = (tuple(deny), tuple(allow), built_in)
        denied, allowed, _ = self._given
        self.deny = BUILT_IN_DENY + denied if built_in else denied
        self.allow = BUILT_IN_ALLOW + allowed if built_in else allowed
        self._allow = _Rules(allowed)
        self._host = _Rules(denied)
        self._is_anchored = any(glob[0] != "**" for glob, _ in self._host.others)
        self._has_wide_rules = not "".join(denied).isascii()
        self._with_keys: Policy | None = None
        """Of the rules for zip archives: those for other files."""
        self._use(_built_in_groups() if built_in else ())

    def _use(self, groups: tuple[tuple[_Rules, _Rules | None], ...]) -> None:
        self._built_in = groups
        """Rules with their own exceptions."""
        self._directories = {name for rules, _ in groups for name in rules.directory_names()}
        built_in = [rules for rules, _ in groups]
        self._quick_look = _QuickLook([self._host, *built_in], built_in)
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

    def unless_zip(self) -> Policy:
        """Return the rules for a file that is a zip archive by its first bytes: `*.key` may be a presentation."""
        other = Policy.__new__(Policy)
        for name in ("_given", "deny", "allow", "_allow", "_host", "_is_anchored", "_has_wide_rules"):
            setattr(other, name, getattr(self, name))
        other._with_keys = self
        other._use(self._built_in[:-1])
        return other

    def rule_against(self, path: str, root: str = "") -> str | None:
        """Return the rule that forbids this path, or None.

        `root` is the path of the root. The built-in rules see its last names too, so that `credentials` is denied in a
        root `~/.aws`. The host's rules are relative to the root.
        """
        try:
            return self._verdicts[root][path]
        except KeyError:
            pass
        if is_too_long(path):
            return TOO_LONG
        above = self._roots[root] if root in self._roots else self._names_of_root(root)
        folded = fold(path)
        if self._with_keys is not None and not folded.rstrip(f"{_TRAILING}/").endswith(_ENDS_OF_PRESENTATIONS):
            verdict = self._with_keys.rule_against(path, root)  # an archive or a copy of a key is no presentation
        elif not above and self._quick_look.cannot_match(folded) and not self._needs_other_codecs(path):
            verdict = None
        else:
            verdict = self._judge(path, above)
        if verdict is None and "\0" in path:
            verdict = self.rule_against(path[: path.index("\0")], root)
        if path.__sizeof__() <= MAX_CACHED_BYTES:
            verdicts = self._verdicts.setdefault(root, {})
            if len(verdicts) >= MAX_VERDICTS:
                self._verdicts[root] = verdicts = {}
            verdicts[path] = verdict
        return verdict

    def admits_all(self, paths: Sequence[str], root: str = "") -> bool:
        """Return True if it is obvious that `rule_against` is None for all of these paths; False: judge each."""
        above = self._roots.get(root)
        if above is None:
            above = self._names_of_root(root)
        return not above and self._quick_look.cannot_match_any(paths)

    def _needs_other_codecs(self, path: str) -> bool:
        """Return True if bytes of this path may be a name of the rules in another encoding."""
        return self._has_wide_rules and not path.isascii()

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

    def _names_of_root(self, root: str) -> tuple[str, ...]:
        """Return the last names of a root; nothing if they play no part in a built-in rule."""
        bare = _bare_parts(fold(root).replace("\\", "/").split("/"))[-ROOT_NAMES:]
        names = tuple(_plain_directories(bare, self._directories, MIN_ORIGINALS))
        if self._directories.isdisjoint(names):
            names = ()
        self._roots[root] = names
        return names

    def _judge(self, path: str, above: tuple[str, ...]) -> str | None:
        if self._is_lifted(path):
            return None
        readings = [path, *_in_other_codecs(path)] if self._needs_other_codecs(path) else [path]
        for parts in [parts for reading in readings for parts in spellings(reading)] or ([[]] if above else []):
            rule = self._rule_against_parts(parts, above)
            if rule is not None:
                return rule
        if self._built_in:
            for parts in _spellings_of_copies(path, self._directories) + _spellings_of_short_names(
                path, self._directories
            ):
                rule = self._rule_against_parts(parts, above, is_copy=True)
                if rule is not None:
                    return rule
        return None

    def _is_lifted(self, path: str) -> bool:
        """Return True if an exception of the host names this path. One for `a.pem.gz` lifts the rule for `a.pem`."""
        parts = _resolved(_bare_parts(fold(path).replace("\\", "/").split("/")))
        return bool(parts) and self._allow.match(parts) is not None

    def _rule_against_parts(self, parts: list[str], above: tuple[str, ...], *, is_copy: bool = False) -> str | None:
        rule = self._host.match(parts) if parts and not is_copy else None
        whole = [*above, *parts]
        for rules, exceptions in self._built_in:
            if rule is None:
                rule = rules.match(whole)
                if rule is not None and exceptions is not None and exceptions.match(whole) is not None:
                    rule = None
        if rule is not None and parts and self._allow.match(_resolved(parts) or parts) is not None:
            return None
        return rule


class NarrowedPolicy(Policy):
    """The rules of a policy for roots below its own: each path is judged from both roots.

    A rule that is relative to the outer root then applies in the inner one. An exception that is relative to the outer
    root may be lost, which refuses more and never less.
    """

    __slots__ = ("_outer", "_places")

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

    def unless_zip(self) -> Policy:
        return NarrowedPolicy(self._outer.unless_zip(), self._places)

    def admits_all(self, paths: Sequence[str], root: str = "") -> bool:
        return False  # each is judged from both roots

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


def spellings(path: str) -> list[list[str]]:
    """Return the names of a path in every spelling that is judged: as written first, then in normal form."""
    folded = fold(path)
    written = [part for part in folded.split("/") if part not in ("", ".")]
    if not written:
        return []
    found = [written]
    bare = _bare_parts(folded.replace("\\", "/").split("/"))
    if bare:
        *directories, last = bare
        shorter = [names_without_suffixes(name)[-1] for name in directories]
        for name in names_without_suffixes(last):
            found += [[*directories, name], [*shorter, name]]
    found += [_resolved(parts) for parts in found if ".." in parts]
    unique = {tuple(parts): parts for parts in found if parts}
    return list(unique.values())


def names_without_suffixes(name: str) -> list[str]:
    """Return a folded name, then what remains as the suffixes of compression and backups are removed one by one."""
    found = [name]
    end = len(name)
    is_swap_file = False
    while True:
        for suffix in _SUFFIXES:
            if name.endswith(suffix, 0, end):
                break
        else:
            break
        shorter = end - len(suffix)
        while shorter and name[shorter - 1] in _TRAILING:
            shorter -= 1
        if not shorter:
            break
        end = shorter
        is_swap_file = is_swap_file or suffix in _HIDING_SUFFIXES
        if len(found) < MAX_SHORTER_NAMES:
            found.append(name[:end])
    if end < len(name):
        found.append(name[:end])
    if is_swap_file:  # vim writes `.notes.swp` for `notes`, and `.env.swp` for `.env`
        found += [shorter_name[1:] for shorter_name in found if shorter_name[0] == "." and len(shorter_name) > 1]
    return found


def _spellings_of_copies(path: str, directories: Set[str]) -> list[list[str]]:
    """Return the paths of which a path may be a copy that some program made: each name without its marks of copies.

    `directories` are the names of directories that the rules contain; a copy of one of them becomes its name.
    """
    parts = _bare_parts(fold(path).replace("\\", "/").split("/"))
    if not parts:
        return []
    *above, last = parts
    copies = sum([any(directory in name for directory in directories) for name in above])
    limit = max(MAX_ORIGINALS // (copies + 1), MIN_ORIGINALS)
    plain = _plain_directories(above, directories, limit)
    found = [[*plain, name] for name in names_of_originals(last, limit)]
    found += [_resolved(one) for one in found if ".." in one]
    return [one for one in found if one and one != parts]


def _plain_directories(names: list[str], directories: Set[str], limit: int) -> list[str]:
    """Return the names of directories; a copy of one of `directories` as that."""
    plain = list(names)
    copies = [place for place, name in enumerate(names) if any(directory in name for directory in directories)]
    for place in copies[-MAX_COPIED_DIRECTORIES:]:
        if names[place] not in directories:
            originals = names_of_originals(names[place], limit)
            plain[place] = next((original for original in originals if original in directories), names[place])
    return plain


def names_of_originals(name: str, limit: int) -> list[str]:
    """Return a folded name, then all that can remain as marks of copies are removed one by one, in every order.

    Emacs writes `#a#`, `.#a` and `a.~1~`, vim `.a.un~`, file managers `a (copy)`, `a (1)` and `Copy of a`, others
    numbers and dates. Browsers and file managers put the mark before the suffix (`a (1).json`). The part before a colon
    is the file on systems where files have named streams, that after it on systems with drives. A copy of a copy
    has several marks, and one may hide another: `.#.env#.un~` is the undo file of `#.env#`. There are about `limit`
    names at most, and few of a name that is longer than those of files.
    """
    if len(name) > MAX_NAME_CHARS:
        limit = MIN_ORIGINALS
    found = dict.fromkeys([name])
    pending = [name]
    while pending and len(found) < limit:
        longer = pending.pop()
        marked = _without_one_mark(longer)
        dot = longer.rfind(".")
        if dot > 0 and longer[dot:] in _suffixes_of_names():
            marked += [one.rstrip(_TRAILING) + longer[dot:] for one in _without_one_mark(longer[:dot])]
        shorter = [one.lstrip(" ").rstrip(_TRAILING) for one in marked]
        new = [one for one in shorter if one and one not in found]
        found.update(dict.fromkeys(new))
        pending += new
    return sorted(found, key=len, reverse=True)


def _without_one_mark(name: str) -> list[str]:
    """Return what remains of a name without each of the marks of copies that it may have."""
    if name in ("..", "."):
        return []
    found = [name[len(start) :] for start in _COPY_STARTS if name.startswith(start)]
    if ":" in name[1:]:
        first, last = name.index(":", 1), name.rindex(":")
        found += [name[:first], name[:last], name[first + 1 :], name[last + 1 :]]
    if name[-1] == "#":
        found += [name[1:-1]] if name[0] == "#" else [name[:-1]]
    for suffix in _MARKS_AT_END if name.endswith(_MARKS_AT_END) else ():
        if name.endswith(suffix):
            found.append(name[: -len(suffix)])
            if name[0] == "." and suffix in _HIDING_SUFFIXES:
                found.append(name[1 : -len(suffix)])
    if name[-1] == ")" and "(" in name:
        found.append(name[: name.rindex("(")])
    if "~" in name[1:]:
        found += [name[: name.index("~", 1)], name[: name.rindex("~")]]
    if _CONFLICT in name:
        marks = [mark for mark in _CONFLICTS if mark in name]
        found += [name[:at] for mark in marks for at in {name.index(mark), name.rindex(mark)}]
    return found + _without_date(name)


def _without_date(name: str) -> list[str]:
    """Return what remains of a name without a number or a date, before or after it."""
    found = []
    if name[0] in _COPY_FIRST_SIGNS:
        rest = name[:MAX_DATE_CHARS].lstrip(_DATE_SIGNS.replace(".", "")) + name[MAX_DATE_CHARS:]
        found += [rest, rest[1:]] if rest[:1] == "." else [rest]
    bare = name.rstrip("0123456789")
    if 0 < len(name) - len(bare) <= MAX_NUMBER_DIGITS:
        if bare.endswith((*_COPY_SUFFIXES, *BACKUP_SUFFIXES)):
            found.append(bare)
        if bare[-1:] in (*_COPY_SIGNS, "~", ";"):
            found.append(bare[:-1])
        elif bare[-1:] == "r" and bare[-2:-1] in (*_COPY_SIGNS,):  # Subversion writes `name.r12`
            found.append(bare[:-2])
    start = len(name.rstrip(_DATE_SIGNS))
    if 0 < len(name) - start <= MAX_DATE_CHARS:
        found += [name[:at] for at in range(start, len(name) - 1) if name[at] in _COPY_SIGNS and name[at + 1].isdigit()]
    return found


def _spellings_of_short_names(path: str, directories: Set[str]) -> list[list[str]]:
    """Return the paths that the short names of Windows in a path may stand for: `ENV~1` for `.env`.

    Other systems accept them too, where they mount a file system of Windows. `directories` are the names of directories
    that the rules contain.
    """
    folded = fold(path)
    if "~" not in folded:
        return []
    *above, last = _bare_parts(folded.replace("\\", "/").split("/")) or [""]
    for place in [place for place, name in enumerate(above) if "~" in name][-MAX_COPIED_DIRECTORIES:]:
        names = _names_of_short_name(above[place])
        above[place] = next((name for name in names if name in directories), above[place])
    return [[*above, name] for name in _names_of_short_name(last) if name]


def _names_of_short_name(name: str) -> list[str]:
    """Return the names of the built-in rules that a short name may stand for, or else the name itself."""
    base, dot, suffix = name.partition(".")
    start, tilde, digits = base.rpartition("~")
    if not (tilde and start and 0 < len(digits) < 6 and digits.isascii() and digits.isdigit()):
        return [name]
    if not _shortened:
        _shortened.extend(_shortened_names())
    found = [f".{start}{dot}{suffix}", name]
    for plain, end, long in _shortened:
        is_short = not plain or plain == start or (len(start) + len(digits) > 5 and plain.startswith(start))
        if is_short and end == suffix:
            found.append(long)
    return found


_shortened: list[tuple[str, str, str]] = []
"""The parts of names that are in their short names, before and after the dot; "" for any. Filled on first use."""


def _shortened_names() -> list[tuple[str, str, str]]:
    rules = [rules for rules, _ in _built_in_groups()]
    found = [("", end[1:4], f"x{end}") for one in rules for end, _ in one.suffixes]
    names = {prefix for one in rules for prefix, _ in one.prefixes}
    for long in names.union(*[{*one.names, *one.directory_names(), *(one.last_names or ())} for one in rules]):
        stem, dot, suffix = long.lstrip(".").rpartition(".")
        found.append((stem.replace(".", ""), suffix[:3], long) if dot else (suffix, "", long))
    return found


def _suffixes_of_names() -> frozenset[str]:
    """Return the suffixes of the last names of built-in rules: `.json` of `credentials.json`."""
    global _name_suffixes
    if not _name_suffixes:
        names = [name for rules, _ in _built_in_groups() for name in (*rules.names, *(rules.last_names or ()))]
        _name_suffixes = frozenset([name[name.rindex(".") :] for name in names if "." in name[1:]])
    return _name_suffixes


_name_suffixes: frozenset[str] = frozenset()


def _in_other_codecs(path: str) -> list[str]:
    """Return the readings of a path whose bytes were decoded by another encoding than the one they were written in."""
    found = []
    path = path[-MAX_RECODED_CHARS:]
    raw = path.encode("utf-8", "surrogateescape" if not any(map(_is_odd_surrogate, path)) else "replace")
    for codec in ("latin-1", "cp437"):
        found.append(raw.decode(codec))
        try:
            found.append(path.encode(codec).decode("utf-8"))
        except UnicodeError:
            pass
    for read, written in (("cp437", "latin-1"), ("latin-1", "cp437")):
        try:
            found.append(path.encode(read).decode(written))
        except UnicodeError:
            pass
    return found


def _is_odd_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff"


def _bare_parts(parts: list[str]) -> list[str]:
    """Return the components without blanks around them and dots at their ends; what has nothing else is left out."""
    bare = [".." if part.strip(" ") == ".." else part.rstrip(_TRAILING).lstrip(" ") for part in parts]
    return [part for part in bare if part]


def _resolved(parts: list[str]) -> list[str]:
    """Return the components with each `..` taken back, as if no component were a link."""
    if ".." not in parts:
        return parts
    kept: list[str] = []
    for part in parts:
        if part != "..":
            kept.append(part)
        elif kept:
            kept.pop()
    return kept


def fold(path: str) -> str:
    """Return one spelling for all spellings that some file system or person takes for the same name.

    Case-insensitive directories (ext4, f2fs, APFS, HFS+) decompose names, drop invisible characters and fold case.
    Letters of another width or style (NFKC) are equal too: a program in between may convert them.
    """
    if path.isascii() and path.isprintable():
        return path.lower()
    if not _dropped:
        _dropped.update(dict.fromkeys([point for low, high in _INVISIBLE for point in range(low, high + 1)]))
        _dropped[0x131] = "i"  # A program that changes the case makes an i of both Turkish ones.
        _dropped.update({0x3002: ".", 0x2044: "/", 0x2215: "/"})  # Others take these for a dot and a slash.
    if path.isascii():
        return path.lower().translate(_dropped)
    from unicodedata import normalize

    folded = ""
    while folded != path:  # a few characters need a second pass
        plain = normalize("NFKD", path).casefold().translate(_dropped).replace("i\u0307", "i")
        folded, path = path, normalize("NFKC", plain)
    return folded


_dropped: dict[int, str | None] = {}
"""The invisible characters, for `str.translate`; filled on first use."""
# Controls, Default_Ignorable_Code_Point of Unicode, and a pattern of Braille without dots.
_INVISIBLE = (
    *((0, 0x1F), (0x7F, 0x9F), (0x2800, 0x2800)),
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)


class _Rules:
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
            places = _Places(parts)
            for glob, pattern in self.others:
                if (not _is_literal(glob[-1]) or glob[-1] == name) and _matches(glob, places):
                    return pattern
        return None


class _QuickLook:
    """A quick check that finds nearly all harmless names; `Policy` judges the rest."""

    __slots__ = (
        *("_built_in", "_directories", "_ends", "_has_plain_suffixes", "_heads", "_last_signs", "_name_suffixes"),
        *("_pairs", "_prefixes", "_starts_with_signs", "_stems", "_suffixes", "_suspicious_names"),
    )

    def __init__(self, groups: list[_Rules], built_in: list[_Rules]) -> None:
        self._built_in = built_in
        self._stems: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        """Texts of which the name of a copy contains one, if a built-in rule matches what it is a copy of: those
        without a dot at their start, and with one. Few names need them, so they are found on first use."""
        last_names = [name for rules in built_in for name in (*rules.names, *(rules.last_names or ()))]
        starts = {name[: name.rindex(".")] for name in last_names if "." in name[1:]}
        self._directories = tuple([name for rules in groups for name in rules.directories])
        self._prefixes = (*[prefix for rules in groups for prefix, _ in rules.prefixes], *_COPY_STARTS)
        # A mark may stand before the suffix: `credentials (1).json`.
        self._starts_with_signs = tuple([f"{start}{sign}" for start in starts for sign in f"{_COPY_SIGNS}(:#"])
        self._name_suffixes = frozenset([name[name.rindex(".") :] for name in last_names if "." in name[1:]])
        heads = frozenset([prefix[:2] for prefix in (*self._prefixes, *self._starts_with_signs)])
        self._heads = heads if all(len(head) == 2 for head in heads) else None
        """The first two characters of all prefixes; None if one is shorter."""
        self._suffixes = (*[suffix for rules in groups for suffix, _ in rules.suffixes], *_ODD_ENDS)
        self._last_signs = _COPY_LAST_SIGNS.union([suffix for suffix in self._suffixes if len(suffix) == 1])
        self._pairs = frozenset([suffix for suffix in self._suffixes if len(suffix) == 2])
        self._ends = _COPY_ENDS.union([suffix[-3:] for suffix in self._suffixes if len(suffix) > 2])
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
        may_be_copy = ":" in name or name[0] in _COPY_FIRST_SIGNS or _CONFLICT in name
        if name[-1] in self._last_signs or name[-3:] in self._ends or (self._pairs and name[-2:] in self._pairs):
            if name.endswith(self._suffixes):
                return False
            may_be_copy = may_be_copy or name[-3:] in _COPY_ENDS or name[-1] in _COPY_LAST_SIGNS
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
        if "~" in text or " " in text or _CONFLICT in text or not "".join(paths).isprintable():
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
            may_be_copy = may_be_copy or end[-3:] in _COPY_ENDS or end[-1] in _COPY_LAST_SIGNS
        heads = {name[:2] for name in names}
        may_be_copy = may_be_copy or not _COPY_FIRST_SIGNS.isdisjoint([head[0] for head in heads])
        if (may_be_copy or ":" in text) and any(map(self._has_stem, names)):
            return False
        if self._heads is not None and self._heads.isdisjoint(heads):
            return True
        return not any(name.startswith(self._prefixes) or self._may_have_inner_mark(name) for name in names)

    def _may_have_inner_mark(self, name: str) -> bool:
        return name.startswith(self._starts_with_signs) and name[name.rfind(".") :] in self._name_suffixes


def _stems_of(groups: list[_Rules]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the shortest texts of which every name that the rules match contains one; see `_QuickLook`."""
    stems = {prefix for rules in groups for prefix, _ in rules.prefixes}
    stems |= {suffix for rules in groups for suffix, _ in rules.suffixes}
    names = {name for rules in groups for name in (*rules.names, *rules.directories, *(rules.last_names or ()))}
    # A mark may stand before the suffix.
    stems |= names.union([name[: name.rindex(".")] for name in names if "." in name[1:]])
    shortest = [stem for stem in stems if not any(one in stem and one != stem for one in stems)]
    return tuple([stem for stem in shortest if stem[0] != "."]), tuple([stem for stem in shortest if stem[0] == "."])


def _built_in_groups() -> tuple[tuple[_Rules, _Rules | None], ...]:
    """Return the built-in rules with their exceptions; the last group does not apply to zip archives."""
    global _groups
    if not _groups:
        _groups = ((_Rules(_NAMES), None), (_Rules(_ENVIRONMENTS), _Rules(BUILT_IN_ALLOW)), (_Rules(UNLESS_ZIP), None))
    return _groups


_groups: tuple[tuple[_Rules, _Rules | None], ...] = ()


def _is_literal(name: str) -> bool:
    return not any(sign in name for sign in "*?[")


class _Places:
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


def _matches(glob: list[str], places: _Places) -> bool:
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
    import re
    from fnmatch import translate

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
    from fnmatch import translate

    return "(?!)" in translate(piece)
