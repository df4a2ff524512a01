"""Match paths against glob patterns as `minimatch` does, in time bounded by the product of their lengths.

`*` and `?` match within a name, `[...]` one character, `**` any number of directories, `{a,b}` either text. Names that
start with a dot match like all others. Not supported: extended patterns such as `+(a|b)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from re import Pattern

from eyespan.selectors.globs import GlobLimits, Parts, expand, parts_of, reached_parts

__all__ = ["Glob", "GlobLimits"]

MAX_PATTERN_CHARS = 4096


class Glob:
    """One pattern, compiled. Raises: ValueError for a pattern that is too long or has too many alternatives."""

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

    def matches(self, path: str, links: Collection[int] = ()) -> bool:
        """Return True if the pattern matches a relative path, whose names at `links` are links to directories."""
        found = any(len(parts) in reached for parts, reached in self._reached(path, links))
        return found is not self._is_negated

    def may_match_below(self, path: str, links: Collection[int] = ()) -> bool:
        """Return True if the pattern can match a path below a directory."""
        return any(reached and min(reached) < len(parts) for parts, reached in self._reached(path, links))

    def _reached(self, path: str, links: Collection[int]) -> Iterator[tuple[Parts, set[int]]]:
        names = path.split("/")
        for parts in self._alternatives:
            self._limits.check()
            yield parts, reached_parts(parts, names, links)
