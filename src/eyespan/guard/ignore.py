"""Which names ignore files leave out of maps, searches, patterns, completions, suggestions and exports.

The rules are those of git: `.gitignore` in every directory from the root of the workspace down, and the `info/exclude`
of a repository; the nearest rule counts, and a repository in another starts without the rules around it. Rules of
`.ignore` files have the same form and count before those of git. Directories of version control, of installed packages
and of caches are left out too. Ignore files above the root, and the user's own of git, are not read. They are no access
rules: a file or directory that is named is read.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from typing import TYPE_CHECKING

from eyespan.regex import Pattern, PatternError
from eyespan.source import close_fd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pathspec import PathSpec
    from pathspec.pattern import RegexPattern

SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", "__pycache__", "node_modules", ".venv", ".tox", ".nox", ".mypy_cache"),
        *(".ruff_cache", ".pytest_cache", ".gradle", ".terraform", ".idea", ".cache"),
    )
)
"""Directories whose files programs made."""
MAX_AT_ONCE = 500
"""The most rules that are compiled together."""
MAX_BYTES = 1 << 16
"""The most that is read of an ignore file."""
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = _READ | getattr(os, "O_DIRECTORY", 0)
_MAY_BE_DIRECTORY, _IS_DIRECTORY = "(?:(?P<ps_d>/)|$)", "(?P<ps_d>/)"
"""The ends of pathspec's expressions, which match whatever is below a directory too."""

_ANYWHERE = "^(?:.+/)?"
MAX_NAME_BYTES = 255
Rules = tuple[tuple[int, "PathSpec[RegexPattern]", Pattern], ...]
"""Compiled files, the nearest first: the length of the path of its directory, its rules, and an expression that
matches what any of them matches."""


class IgnoreRules:
    """The rules that hold in one directory of a root. The paths that it judges are relative to the root."""

    __slots__ = ("_git", "_own", "version")

    def __init__(self, own: Rules = (), git: Rules = (), version: int = 0) -> None:
        self._own = own
        self._git = git
        self.version = version
        """A number that changes with the rules."""

    def enter(self, here: int | str, path: str) -> IgnoreRules:
        """Return the rules in the directory `path`, "" or with a slash at its end, that is open as `here`."""
        own, git = _contents(here, ".ignore"), _contents(here, ".gitignore")
        has_repository = _is_present(here, ".git")
        if not own and not git and not has_repository:
            return self
        size = len(_bytewise(path))
        exclude = _contents(here, ".git", "info", "exclude") if has_repository else b""
        outer_git = _rules(size, exclude) if has_repository else self._git
        version = hash((self.version, path, own, git, exclude, has_repository))
        return IgnoreRules(_rules(size, own) + self._own, _rules(size, git) + outer_git, version)

    def suspects(self, directory: str, names: Sequence[str]) -> set[str]:
        """Return those of the names in a directory that a rule names, to be judged one by one.

        `directory` is empty or ends with a slash, as the name of a directory does, which is returned without it.
        """
        suspects: set[str] = set()
        for size, _, pattern in (*self._own, *self._git):
            before = "\n" + os.fsdecode(os.fsencode(directory)[size:])
            step = max(1, pattern.max_chars // (len(before) + MAX_NAME_BYTES))
            for at in range(0, len(names), step):
                page = names[at : at + step]
                text = before.join(["", *page])
                if "\r" in text or text.count("\n") != len(page):
                    suspects.update([name.rstrip("/") for name in page])
                    continue
                matching = pattern.matching_lines(_bytewise(text).encode())
                suspects.update([page[line - 1].rstrip("/") for line, _ in matching])
        return suspects

    def is_ignored(self, path: str, name: str, *, is_directory: bool) -> bool:
        """Return True if a rule leaves out the name at the end of a path, whose directory no rule leaves out."""
        if is_directory and name in SKIPPED:
            return True
        if not self._own and not self._git:
            return False
        judged = path if path.isascii() else _bytewise(path)
        if is_directory:
            judged += "/"
        for rules in (self._own, self._git):
            for size, spec, _ in rules:
                is_left_out = spec.check_file(judged[size:]).include
                if is_left_out is not None:
                    return bool(is_left_out)
        return False


def rules_at(top: int | str, path: str) -> IgnoreRules:
    """Return the rules in a directory below a root, which is open as `top`; "." is the root itself.

    Inside a directory that the rules leave out, only its own files count: who names it wants to see its contents.
    """
    rules = IgnoreRules().enter(top, "")
    here, walked = top, ""
    try:
        for name in () if path == "." else path.split("/"):
            if rules.is_ignored(walked + name, name, is_directory=True):
                rules = IgnoreRules()
            below = _open(here, name, _DIRECTORY)
            _close(here, top)
            here, walked = below, f"{walked}{name}/"
            rules = rules.enter(here, walked)
    except OSError:
        pass  # replaced in the meantime
    finally:
        _close(here, top)
    return rules


def _rules(size: int, data: bytes) -> Rules:
    return tuple([(size, *compiled) for compiled in _compiled(data)]) if data else ()


@lru_cache(maxsize=64)
def _compiled(data: bytes) -> tuple[tuple[PathSpec[RegexPattern], Pattern], ...]:
    """Compile the lines of a file, the last first. A character stands for a byte, as in git; invalid lines are passed.

    RE2 does the matching, in linear time. It takes some hundred rules at once.
    """
    import re2
    from pathspec import PathSpec
    from pathspec.pattern import RegexPattern
    from pathspec.patterns.gitignore.base import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    rules = []
    for line in data.decode("latin-1").removeprefix("\xef\xbb\xbf").split("\n"):
        try:
            found, is_left_out = GitIgnoreSpecPattern.pattern_to_regex(line.removesuffix("\r"))
            if found is None or line.strip() == "!/":
                continue
            # The walk judges each directory before it enters it, so a rule has to match the path itself.
            found = found.replace(_MAY_BE_DIRECTORY, "/?$").replace(_IS_DIRECTORY, "/$")
            rules.append(RegexPattern(re.compile(f"{found}." if found.endswith("/") else found), is_left_out))
        except (GitIgnorePatternError, ValueError, re.error):
            continue

    def compiled(first: int, last: int) -> list[tuple[PathSpec[RegexPattern], Pattern]]:
        if last - first <= MAX_AT_ONCE:
            try:
                return [(PathSpec(rules[first:last], backend="re2"), _any_of(rules[first:last]))]
            except (re2.error, PatternError):
                if last - first <= 1:
                    return []
        middle = (first + last) // 2
        return compiled(middle, last) + compiled(first, middle)

    return tuple(compiled(0, len(rules)) if rules else ())


def _any_of(rules: Sequence[RegexPattern]) -> Pattern:
    """Return an expression that matches what a rule matches. Raises: PatternError."""
    written = [rule.regex.pattern for rule in rules if rule.regex is not None]
    anywhere = "|".join([one.removeprefix(_ANYWHERE) for one in written if one.startswith(_ANYWHERE)])
    others = [one for one in written if not one.startswith(_ANYWHERE)]
    return Pattern("|".join([f"{_ANYWHERE}(?:{anywhere})", *others] if anywhere else others))


def _bytewise(path: str) -> str:
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def _contents(here: int | str, *names: str) -> bytes:
    """Return the contents of a regular file, without following links; b"" without one, and the lines that fit."""
    top = here
    try:
        for name in names[:-1]:
            below = _open(here, name, _DIRECTORY)
            _close(here, top)
            here = below
        file = _open(here, names[-1], _READ, is_file=True)
        assert isinstance(file, int)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return b""
            data = os.read(file, MAX_BYTES + 1)
        finally:
            close_fd(file)
    except OSError:
        return b""
    finally:
        _close(here, top)
    return data if len(data) <= MAX_BYTES else data[: data.rfind(b"\n") + 1]


def _is_present(here: int | str, name: str) -> bool:
    try:
        if isinstance(here, int):
            os.stat(name, dir_fd=here, follow_symlinks=False)
        else:
            os.lstat(os.path.join(here, name))
    except OSError:
        return False
    return True


def _open(here: int | str, name: str, flags: int, *, is_file: bool = False) -> int | str:
    """Open a name in a directory; where directories have no descriptors, join their names. Raises: OSError."""
    if isinstance(here, int):
        return os.open(name, flags, dir_fd=here)
    path = os.path.join(here, name)
    if os.path.islink(path):
        raise FileNotFoundError
    return os.open(path, flags | getattr(os, "O_BINARY", 0)) if is_file else path


def _close(here: int | str, top: int | str) -> None:
    if isinstance(here, int) and here != top:
        close_fd(here)
