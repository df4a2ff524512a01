"""Patterns of paths: `src/**/*.py`, `*.{ts,tsx}`.

A path is compared name by name, in time bounded by the product of the lengths. One regular expression for a pattern
such as `*a*a*a*a*b` takes exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import translate
from itertools import pairwise

Parts = list[re.Pattern[str] | None]
"""An expression for each name of a pattern; None is `**`."""

MAX_ALTERNATIVES = 1000
MAX_PARTS = 50_000
"""The names of all alternatives of all patterns of a call."""


def split_glob(path: str, signs: str = "*[{") -> tuple[str, str]:
    """Return the directory before the first wildcard, "" for the present one, and the pattern below it."""
    names = path.split("/")
    count = next((at for at, name in enumerate(names) if any(sign in name for sign in signs)), len(names))
    base = "/".join(names[:count])
    return "/" if path.startswith("/") and not base else base, "/".join(names[count:])


class GlobLimits:
    """The limits of all patterns of one call. `check` raises when the time of the call is over."""

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.left_parts = MAX_PARTS

    def take(self, parts: int) -> None:
        """Count the names of an alternative. Raises: ValueError, if there are too many; and what `check` raises."""
        self.check()
        self.left_parts -= parts
        if self.left_parts < 0:
            raise ValueError(f"the patterns of a call have at most {MAX_PARTS} names")


class PathGlob:
    """One pattern, compiled: `*` and `?` stay within one name, `**` does not, `{a,b}` is either text.

    Raises: ValueError for a pattern with too many names or alternatives.
    """

    def __init__(self, pattern: str, check: Callable[[], None] = lambda: None) -> None:
        limits = GlobLimits(check)
        self._check = check
        compiled: dict[str, re.Pattern[str] | None] = {}
        self._alternatives = [
            parts_of(one, compiled, limits) for whole in expand(pattern, check) for one in _with_stars_at_end(whole)
        ]

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a relative path."""
        names = path.split("/")
        for parts in self._alternatives:
            self._check()
            if match_names(parts, names):
                return True
        return False


def _with_stars_at_end(pattern: str) -> Iterator[str]:
    """Yield a pattern in which `**` stands alone. `a**` at the end is `a*` and everything below it."""
    names = pattern.split("/")
    last = names.pop()
    lead = "".join([f"{re.sub('[*]{2,}', '*', name) if name != '**' else name}/" for name in names])
    start = last.rstrip("*")
    if len(last) - len(start) < 2:
        yield lead + re.sub("[*]{2,}", "*", last)
    elif not start:
        yield f"{lead}**"
    else:
        start = re.sub("[*]{2,}", "*", start)
        yield f"{lead}{start}*"
        yield f"{lead}{start}*/**"


def expand(pattern: str, check: Callable[[], None]) -> list[str]:
    """Return the pattern once for every choice of its braces. Raises: ValueError, for too many."""
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        check()
        if len(open_ones) + len(done) > MAX_ALTERNATIVES:
            raise ValueError(f"a pattern stands for at most {MAX_ALTERNATIVES} others")
        one = open_ones.pop()
        braces = _first_braces(one)
        if braces is None:
            done.append(one)
            continue
        start, end, choices = braces
        open_ones += [one[:start] + choice + one[end + 1 :] for choice in reversed(choices)]
    return done


def _first_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return the first pair of braces that contains a comma: its places and its choices. Looks at each sign once."""
    first: list[int] = []
    around: list[list[int]] = []
    """The places of each brace that is open, and of its commas."""
    for at, character in enumerate(pattern):
        if character == "{":
            around.append([at])
        elif character == "," and around:
            around[-1].append(at)
        elif character == "}" and around:
            places = around.pop()
            if len(places) > 1 and (not first or places[0] < first[0]):
                first = [*places, at]
    if not first:
        return None
    return first[0], first[-1], [pattern[last + 1 : at] for last, at in pairwise(first)]


def parts_of(pattern: str, compiled: dict[str, re.Pattern[str] | None], limits: GlobLimits) -> Parts:
    """Return a compiled expression for each name of a pattern; None is `**`, and several of them are one.

    Alternatives have most of their names in common: `compiled` holds the expression of each.
    """
    limits.take(pattern.count("/") + 1)
    parts: Parts = []
    for part in pattern.split("/"):
        if part not in compiled:
            compiled[part] = None if part == "**" else re.compile(translate(part.replace("[^", "[!")))
        if part != "**" or not parts or parts[-1] is not None:
            parts.append(compiled[part])
    return parts


def match_names(parts: Parts, names: list[str]) -> bool:
    """Return True if the parts of a pattern match all names of a path."""
    return len(parts) in reached_parts(parts, names)


def reached_parts(parts: Parts, names: list[str], fixed: Collection[int] = ()) -> set[int]:
    """Return the numbers of parts that the names so far can have used up, compared name by name.

    `fixed` are the places of names for which no `**` stands at the start of a pattern, and which end any other.
    """
    last = len(parts) - 1
    reached = {0}
    for place, name in enumerate(names):
        # A `**` may stand for no name, except at the end of a pattern.
        for at in sorted(reached):
            while at < last and parts[at] is None:
                at += 1
                reached.add(at)
        following = set[int]()
        for at in reached:
            if at > last:
                continue
            part = parts[at]
            if part is None:
                if place not in fixed:
                    following.update((at, at + 1) if at == last else (at,))
                elif 0 < at < last:
                    following.add(at + 1)
            elif part.match(name):
                following.add(at + 1)
        reached = following
    return reached
