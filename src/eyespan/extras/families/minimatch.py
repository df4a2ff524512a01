"""Match paths against glob patterns as `minimatch` does, in time bounded by the product of their lengths.

`*` and `?` match within a name, `[...]` one character, `**` any number of directories, `{a,b}` either text. Names that
start with a dot match like all others. Not supported: extended patterns such as `+(a|b)`.
"""

from __future__ import annotations

from re import Pattern

from eyespan.selectors.globs import GlobLimits, expand, match_names, parts_of

__all__ = ["Glob", "GlobLimits", "literal_directory"]

MAX_PATTERN_CHARS = 4096


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
            [] if is_comment else [parts_of(one, compiled, self._limits) for one in expand(pattern, self._limits.check)]
        )

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a relative path."""
        names = path.split("/")
        is_match = False
        for parts in self._alternatives:
            self._limits.check()
            if match_names(parts, names):
                is_match = True
                break
        return is_match is not self._is_negated


def literal_directory(pattern: str) -> str:
    """Return the directory that holds everything a pattern can match: its names before the first with a wildcard."""
    names = pattern.split("/")[:-1]
    for at, name in enumerate(names):
        if any(sign in name for sign in "*?[]{}()!+@\\"):
            return "/".join(names[:at])
    return "/".join(names)
