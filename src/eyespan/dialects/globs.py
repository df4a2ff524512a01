"""Match paths against glob patterns as `minimatch` does, in time bounded by the product of their lengths.

`*` and `?` match within a name, `[...]` one character, `**` any number of directories, `{a,b}` either text. Names that
start with a dot match like all others. Not supported: extended patterns such as `+(a|b)`.
"""

from __future__ import annotations

from fnmatch import translate
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Pattern

MAX_ALTERNATIVES = 1000
MAX_PATTERN_CHARS = 4096
MAX_PARTS = 50_000
"""The names of all alternatives of all patterns of a call."""


class GlobLimits:
    """The limits of all patterns of one call. `check` raises when the time of the call is over."""

    __slots__ = ("check", "left_parts")

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.left_parts = MAX_PARTS

    def take(self, parts: int) -> None:
        """Count the names of an alternative. Raises: ValueError, if there are too many; and what `check` raises."""
        self.check()
        self.left_parts -= parts
        if self.left_parts < 0:
            raise ValueError(f"the patterns of a call have at most {MAX_PARTS} names")


class Glob:
    """One pattern, compiled. Raises: ValueError for a pattern that is too long or has too many alternatives."""

    __slots__ = ("_alternatives", "_is_negated", "_limits")

    def __init__(self, pattern: str, limits: GlobLimits | None = None, *, has_negation: bool = True) -> None:
        """Compile a pattern. With `has_negation`, one after `!` matches all others, and one after `#` none."""
        if len(pattern) > MAX_PATTERN_CHARS:
            raise ValueError(f"a pattern has at most {MAX_PATTERN_CHARS} characters")
        self._is_negated = False
        while has_negation and pattern.startswith("!"):
            self._is_negated = not self._is_negated
            pattern = pattern[1:]
        is_comment = has_negation and pattern.startswith("#")
        self._limits = limits or GlobLimits(lambda: None)
        compiled: dict[str, Pattern[str] | None] = {}
        self._alternatives = (
            [] if is_comment else [_parts(one, compiled, self._limits) for one in _expand(pattern, self._limits.check)]
        )

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a relative path."""
        names = path.split("/")
        is_match = False
        for parts in self._alternatives:
            self._limits.check()
            if _match(parts, names):
                is_match = True
                break
        return is_match is not self._is_negated


def _expand(pattern: str, check: Callable[[], None]) -> list[str]:
    """Return the pattern once for every choice of its braces."""
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        check()
        if len(open_ones) + len(done) > MAX_ALTERNATIVES:
            raise ValueError(f"a pattern stands for at most {MAX_ALTERNATIVES} others")
        one = open_ones.pop()
        found = _first_braces(one)
        if found is None:
            done.append(one)
            continue
        start, end, choices = found
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


def _parts(pattern: str, compiled: dict[str, Pattern[str] | None], limits: GlobLimits) -> list[Pattern[str] | None]:
    """Return a compiled expression for each name of a pattern; None is `**`, and several of them are one.

    Alternatives have most of their names in common: `compiled` holds the expression of each.
    """
    import re

    limits.take(pattern.count("/") + 1)
    found: list[Pattern[str] | None] = []
    for part in pattern.split("/"):
        if part not in compiled:
            compiled[part] = None if part == "**" else re.compile(translate(part.replace("[^", "[!")))
        if part != "**" or not found or found[-1] is not None:
            found.append(compiled[part])
    return found


def _match(parts: list[Pattern[str] | None], names: list[str]) -> bool:
    """Compare name by name. `reached` holds the numbers of parts that the names so far can have used up."""
    last = len(parts) - 1
    reached = {0}
    for name in names:
        # A `**` may stand for no name, except at the end of a pattern.
        for at in sorted(reached):
            while at < last and parts[at] is None:
                at += 1
                reached.add(at)
        following = set()
        for at in reached:
            if at > last:
                continue
            part = parts[at]
            if part is None:
                following.add(at)
                if at == last:
                    following.add(at + 1)
            elif part.match(name):
                following.add(at + 1)
        reached = following
    return last + 1 in reached


def literal_directory(pattern: str) -> str:
    """Return the directory that holds everything a pattern can match: its names before the first with a wildcard."""
    names = pattern.split("/")[:-1]
    for at, name in enumerate(names):
        if any(sign in name for sign in "*?[]{}()!+@\\"):
            return "/".join(names[:at])
    return "/".join(names)
