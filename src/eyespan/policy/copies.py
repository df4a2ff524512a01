"""The names of which a name may be a copy that some program made, or the short name on Windows."""

from __future__ import annotations

from functools import cache, lru_cache

from eyespan.policy.rules import BUILT_IN
from eyespan.policy.spellings import (
    BACKUP_SUFFIXES,
    CONFLICT,
    CONFLICTS,
    COPY_FIRST_SIGNS,
    COPY_SIGNS,
    COPY_STARTS,
    COPY_WORDS,
    DATE_SIGNS,
    HIDING_SUFFIXES,
    MAX_DATE_CHARS,
    SUFFIXES,
    TRAILING,
    bare_parts,
    fold,
    resolved,
)

_COPY_SUFFIXES = tuple([f"{sign}{word}" for word in COPY_WORDS for sign in COPY_SIGNS])
_MARKS_AT_END = (*_COPY_SUFFIXES, *SUFFIXES, ",v")  # the last: RCS
MAX_ORIGINALS = 128
MIN_ORIGINALS = 16
"""Names of which the names of one path may be copies, or copies of copies, that are judged: in all, and of each."""
MAX_COPIED_DIRECTORIES = 64
"""The directories of one path, from its end, that may be copies of others or have short names."""
MAX_NAME_CHARS = 255


def paths_of_originals(path: str, directories: frozenset[str]) -> list[list[str]]:
    """Return the paths of which a path may be a copy, or a short name. `directories` are those of the rules."""
    return [*_spellings_of_copies(path, directories), *_spellings_of_short_names(path, directories)]


def _spellings_of_copies(path: str, directories: frozenset[str]) -> list[list[str]]:
    """Return the paths of which a path may be a copy that some program made: each name without its marks of copies.

    `directories` are the names of directories that the rules contain; a copy of one of them becomes its name.
    """
    parts = bare_parts(fold(path).replace("\\", "/").split("/"))
    if not parts:
        return []
    *above, last = parts
    copies = sum([_contains_any(name, directories) for name in above])
    limit = max(MAX_ORIGINALS // (copies + 1), MIN_ORIGINALS)
    plain = plain_directories(above, directories, limit)
    originals = [[*plain, name] for name in names_of_originals(last, limit)]
    originals += [resolved(one) for one in originals if ".." in one]
    return [one for one in originals if one and one != parts]


def plain_directories(names: list[str], directories: frozenset[str], limit: int) -> list[str]:
    """Return the names of directories; a copy of one of `directories` as that."""
    plain = list(names)
    copies = [place for place, name in enumerate(names) if _contains_any(name, directories)]
    for place in copies[-MAX_COPIED_DIRECTORIES:]:
        if names[place] not in directories:
            originals = names_of_originals(names[place], limit)
            plain[place] = next((original for original in originals if original in directories), names[place])
    return plain


@lru_cache(maxsize=4096)  # most files share their directories with others
def _contains_any(name: str, directories: frozenset[str]) -> bool:
    return any(directory in name for directory in directories)


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
    originals = dict.fromkeys([name])
    pending = [name]
    while pending and len(originals) < limit:
        longer = pending.pop()
        marked = _without_one_mark(longer)
        dot = longer.rfind(".")
        if dot > 0 and longer[dot:] in _NAME_SUFFIXES:
            marked += [one.rstrip(TRAILING) + longer[dot:] for one in _without_one_mark(longer[:dot])]
        shorter = [one.lstrip(" ").rstrip(TRAILING) for one in marked]
        new = [one for one in shorter if one and one not in originals]
        originals.update(dict.fromkeys(new))
        pending += new
    return sorted(originals, key=len, reverse=True)


def _without_one_mark(name: str) -> list[str]:
    """Return what remains of a name without each of the marks of copies that it may have."""
    if name in ("..", "."):
        return []
    shorter = [name[len(start) :] for start in COPY_STARTS if name.startswith(start)]
    if ":" in name[1:]:
        first, last = name.index(":", 1), name.rindex(":")
        shorter += [name[:first], name[:last], name[first + 1 :], name[last + 1 :]]
    if name[-1] == "#":
        shorter += [name[1:-1]] if name[0] == "#" else [name[:-1]]
    for suffix in _MARKS_AT_END if name.endswith(_MARKS_AT_END) else ():
        if name.endswith(suffix):
            shorter.append(name[: -len(suffix)])
            if name[0] == "." and suffix in HIDING_SUFFIXES:
                shorter.append(name[1 : -len(suffix)])
    if name[-1] == ")" and "(" in name:
        shorter.append(name[: name.rindex("(")])
    if "~" in name[1:]:
        shorter += [name[: name.index("~", 1)], name[: name.rindex("~")]]
    if CONFLICT in name:
        marks = [mark for mark in CONFLICTS if mark in name]
        shorter += [name[:at] for mark in marks for at in {name.index(mark), name.rindex(mark)}]
    return shorter + _without_date(name)


def _without_date(name: str) -> list[str]:
    """Return what remains of a name without a number or a date, before or after it."""
    shorter = []
    if name[0] in COPY_FIRST_SIGNS:
        rest = name[:MAX_DATE_CHARS].lstrip(DATE_SIGNS.replace(".", "")) + name[MAX_DATE_CHARS:]
        shorter += [rest, rest[1:]] if rest[:1] == "." else [rest]
    bare = name.rstrip("0123456789")
    if 0 < len(name) - len(bare) <= 14:
        if bare.endswith((*_COPY_SUFFIXES, *BACKUP_SUFFIXES)):
            shorter.append(bare)
        if bare[-1:] in (*COPY_SIGNS, "~", ";"):
            shorter.append(bare[:-1])
        elif bare[-1:] == "r" and bare[-2:-1] in (*COPY_SIGNS,):  # Subversion writes `name.r12`
            shorter.append(bare[:-2])
    start = len(name.rstrip(DATE_SIGNS))
    if 0 < len(name) - start <= MAX_DATE_CHARS:
        shorter += [
            name[:at] for at in range(start, len(name) - 1) if name[at] in COPY_SIGNS and name[at + 1].isdigit()
        ]
    return shorter


def _spellings_of_short_names(path: str, directories: frozenset[str]) -> list[list[str]]:
    """Return the paths that the short names of Windows in a path may stand for: `ENV~1` for `.env`.

    Other systems accept them too, where they mount a file system of Windows. `directories` are the names of directories
    that the rules contain.
    """
    folded = fold(path)
    if "~" not in folded:
        return []
    *above, last = bare_parts(folded.replace("\\", "/").split("/")) or [""]
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
    long_names = [f".{start}{dot}{suffix}", name]
    for plain, end, long in _shortened_names():
        is_short = not plain or plain == start or (len(start) + len(digits) > 5 and plain.startswith(start))
        if is_short and end == suffix:
            long_names.append(long)
    return long_names


@cache
def _shortened_names() -> list[tuple[str, str, str]]:
    """Return the parts of names that are in their short names, before and after the dot, "" for any, and the name."""
    rules = [rules for rules, _ in BUILT_IN]
    shortened = [("", end[1:4], f"x{end}") for one in rules for end, _ in one.suffixes]
    names = {prefix for one in rules for prefix, _ in one.prefixes}
    for long in names.union(*[{*one.last_names(), *one.directory_names()} for one in rules]):
        stem, dot, suffix = long.lstrip(".").rpartition(".")
        shortened.append((stem.replace(".", ""), suffix[:3], long) if dot else (suffix, "", long))
    return shortened


_NAME_SUFFIXES = frozenset(
    [name[name.rindex(".") :] for rules, _ in BUILT_IN for name in rules.last_names() if "." in name[1:]]
)
"""The suffixes of the last names of built-in rules: `.json` of `credentials.json`."""
