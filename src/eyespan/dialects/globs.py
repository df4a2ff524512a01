"""Match paths against glob patterns as `minimatch` does, in time bounded by the product of their lengths.

`*` and `?` match within a name, `[...]` one character, `**` any number of directories, `{a,b}` either text. Names that
start with a dot match like all others. Not supported: extended patterns such as `+(a|b)`.
"""

from __future__ import annotations

from fnmatch import translate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

MAX_ALTERNATIVES = 1000
MAX_PATTERN_CHARS = 4096


class Glob:
    """One pattern, compiled. Raises: ValueError for a pattern that is too long or has too many alternatives."""

    __slots__ = ("_alternatives", "_is_negated")

    def __init__(self, pattern: str, *, has_negation: bool = True) -> None:
        """Compile a pattern. With `has_negation`, one after `!` matches all others, and one after `#` none."""
        if len(pattern) > MAX_PATTERN_CHARS:
            raise ValueError(f"a pattern has at most {MAX_PATTERN_CHARS} characters")
        self._is_negated = False
        while has_negation and pattern.startswith("!"):
            self._is_negated = not self._is_negated
            pattern = pattern[1:]
        is_comment = has_negation and pattern.startswith("#")
        self._alternatives = [] if is_comment else [_parts(one) for one in _expand(pattern)]

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a relative path."""
        names = path.split("/")
        return any(_match(parts, names) for parts in self._alternatives) is not self._is_negated


def _expand(pattern: str) -> list[str]:
    """Return the pattern once for every choice of its braces."""
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
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
    """Return the first pair of braces that contains a comma: its places and its choices."""
    start = pattern.find("{")
    while start >= 0:
        depth, choices, last = 0, [], start + 1
        for at in range(start, len(pattern)):
            character = pattern[at]
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    choices.append(pattern[last:at])
                    if len(choices) > 1:
                        return start, at, choices
                    break
            elif character == "," and depth == 1:
                choices.append(pattern[last:at])
                last = at + 1
        start = pattern.find("{", start + 1)
    return None


def _parts(pattern: str) -> list[Pattern[str] | None]:
    """Return a compiled expression for each name of a pattern; None is `**`."""
    import re

    return [None if part == "**" else re.compile(translate(part.replace("[^", "[!"))) for part in pattern.split("/")]


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
