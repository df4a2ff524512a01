"""Find the last line of each block: the bracket that closes it, its `end`, or the lines that are indented deeper.

A definition whose block is never closed gets a line of doubt, because its end is then a guess. In a text whose braces
do not match, a block ends at the next closing brace in its column, and is doubtful unless the braces agree.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from eyespan.outline.block_rules import Rules
from eyespan.outline.text import LineNumbers

Start = tuple[re.Match[str], str]
"""The start of a definition, and its kind."""

HEADER_CHARS = 3000
"""The text after the name of a definition that is searched for its body."""


_CLOSING = re.compile(r"[ \t]*(?:(?:end|with|in|then|else|done)\b|[|)}\]]|=|;;)")
"""A line in the column of a definition that still belongs to it."""


class BlockText:
    """A text, and the same text with blanks for its strings and comments."""

    __slots__ = ("flags", "language", "lines", "masked", "numbers", "rules", "text")

    def __init__(self, text: str, language: str, rules: Rules) -> None:
        self.text = text
        self.language = language
        self.rules = rules
        self.masked = re.compile(rules.skipped, re.DOTALL | re.MULTILINE).sub(_blanked, text)
        self.lines = text.split("\n")
        self.numbers = LineNumbers(text)
        self.flags = re.MULTILINE | (0 if rules.is_case_sensitive else re.IGNORECASE)


def first_char(match: re.Match[str]) -> int:
    """Return the first character of a definition that is not a blank."""
    return match.start() + len(match[0]) - len(match[0].lstrip())


class BlockEnds:
    """The ends of the blocks of one text."""

    def __init__(self, source: BlockText) -> None:
        self._text = source.text
        self._language = source.language
        self._rules = source.rules
        self._masked = source.masked
        self._lines = source.lines
        self._numbers = source.numbers
        self._flags = source.flags
        self.is_balanced = True
        """False if a block was never closed, or a closing bracket closes none."""
        self._closing: dict[int, list[int]] | None = None
        """The lines that start with a closing brace, by column."""

    def of(self, found: list[Start]) -> list[tuple[int, int]]:
        """Return the last line of each definition, and the line of doubt, 0 if there is none."""
        ways: dict[str, Callable[[list[Start]], list[tuple[int, int]]]] = {
            "braces": self._by_braces,
            "parentheses": self._by_parentheses,
            "words": self._by_words,
            "indentation": self._by_indentation,
            "next": self._by_indentation,
            "dot": self._by_dots,
        }
        return ways[self._rules.ends](found)

    def _pairs(self, pattern: str, closing: str) -> dict[int, int]:
        """Return the offset that closes each opening one."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        for piece in re.finditer(pattern, self._masked):
            if piece[0] in closing:
                if stack:
                    pairs[stack.pop()] = piece.start()
                else:
                    self.is_balanced = False
            else:
                stack.append(piece.start())
        if stack:
            self.is_balanced = False
        return pairs

    def _by_braces(self, found: list[Start]) -> list[tuple[int, int]]:
        pairs = self._pairs(r"[{}]", "}")
        ends = []
        for index, (match, kind) in enumerate(found):
            line = self._numbers.at(match.end())
            if kind == "section":
                ends.append((self._before_next(found, index), 0))
                continue
            if self._language == "objc" and kind == "macro":
                while line < len(self._lines) and self._lines[line - 1].endswith("\\"):
                    line += 1
                ends.append((line, 0))
                continue
            if self._language == "objc" and kind in ("class", "impl", "interface"):
                end = self._masked.find("\n@end", match.end())
                ends.append((self._numbers.at(end + 1) if end >= 0 else line, 0 if end >= 0 else line))
                continue
            body = self._body(match, pairs)
            if body is None:
                ends.append((line, 0))
            elif self._masked[body] != "{":
                ends.append((self._numbers.at(body), 0))
            elif self.is_balanced:
                ends.append((self._numbers.at(pairs[body]), 0))
            else:
                ends.append(self._aligned_end(line, self._numbers.at(pairs[body]) if body in pairs else 0))
        return ends

    def _aligned_end(self, line: int, paired: int) -> tuple[int, int]:
        """Return the end of a block in a text whose braces do not match: the next closing brace in the same column.

        It is doubtful unless the braces themselves give the same line.
        """
        if self._closing is None:
            self._closing = {}
            for number, text in enumerate(self._lines, 1):
                if text.lstrip().startswith("}"):
                    self._closing.setdefault(len(text) - len(text.lstrip()), []).append(number)
        start = self._lines[line - 1]
        aligned = next(_offsets_from(self._closing.get(len(start) - len(start.lstrip()), []), line + 1), 0)
        if paired == line or aligned == paired:
            return paired or line, 0 if paired else line
        return aligned or paired or line, line

    def _body(self, match: re.Match[str], pairs: dict[int, int]) -> int | None:
        """Return the offset of the brace that opens the body of a definition, or of what ends one without a body."""
        text, rules = self._masked, self._rules
        at = match.end()
        if text[at - 1] == "{":
            return at - 1
        depth = text.count("(", match.start(), at) - text.count(")", match.start(), at)
        stop = min(len(text), at + HEADER_CHARS)
        while at < stop:
            char = text[at]
            if char in "([":
                depth += 1
            elif char in ")]":
                depth -= 1
                if depth < 0:
                    return None
            elif char == "{":
                if self._language == "tcl":
                    # The parameters are a group of their own before the body.
                    following = re.compile(r"[ \t]*\{").match(text, pairs.get(at, len(text)) + 1)
                    return following.end() - 1 if following is not None else at
                if depth == 0 or self._language in ("r", "groovy", "dart"):
                    return at if depth == 0 or self._language == "r" else None if self._language == "dart" else at
            elif char == ";" and depth <= 0 and rules.has_semicolons:
                return at
            elif char == "\n" and depth <= 0 and not rules.has_semicolons:
                after = re.compile(r"\s*").match(text, at)
                following_at = after.end() if after else at
                if text[following_at : following_at + 1] != "{":
                    return at if text[match.end() : at].strip() else None
            at += 1
        return None

    def _by_parentheses(self, found: list[Start]) -> list[tuple[int, int]]:
        pattern = r"[()\[\]{}]" if self._language == "clojure" else r"[()]"
        pairs = self._pairs(pattern, ")]}")
        blocks = self._word_pairs() if self._rules.openers else {}
        ends = []
        for match, _ in found:
            opening = self._masked.find("(", match.start())
            line = self._numbers.at(match.end())
            if opening in blocks:
                ends.append((self._numbers.at(blocks[opening]), 0))
            elif opening in pairs:
                ends.append((self._numbers.at(pairs[opening]), 0))
            else:
                ends.append((line, line))
        return ends

    def _word_pairs(self) -> dict[int, int]:
        """Return the offset of the word that closes each block, by the offset at which the match of its opener ends."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        pattern = re.compile(
            f"(?P<close>{_without_flags(self._rules.closers)})|{_without_flags(self._rules.openers)}", self._flags
        )
        for piece in pattern.finditer(self._masked):
            if piece["close"] is None:
                stack.append(piece.end() - 1)
            elif stack:
                pairs[stack.pop()] = piece.start()
        return pairs

    def _by_words(self, found: list[Start]) -> list[tuple[int, int]]:
        masked, rules = self._masked, self._rules
        pattern = re.compile(f"(?P<close>{rules.closers})|(?P<open>{rules.openers})|[\\[\\]()]", self._flags)
        closing: dict[int, int] = {}  # the start of an opener, and the offset of its end
        opens: list[int] = []
        stack: list[int] = []
        depth = 0
        is_balanced = True
        for piece in pattern.finditer(masked):
            if piece[0] in "[(":
                depth += 1
            elif piece[0] in "])":
                depth = max(0, depth - 1)
            elif piece["close"] is not None:
                if depth and self._language in ("julia", "matlab"):
                    continue  # the last index of an array
                if stack:
                    closing[stack.pop()] = piece.start()
                else:
                    is_balanced = False
            elif not depth or self._language == "elixir":
                stack.append(piece.start())
                opens.append(piece.start())
        is_balanced = is_balanced and not stack
        has_bare_functions = self._language == "matlab" and bool(stack)
        self.is_balanced = is_balanced or has_bare_functions
        ends = []
        for index, (match, kind) in enumerate(found):
            line = self._numbers.at(match.end())
            start = first_char(match)
            if kind == "section" or (has_bare_functions and kind == "function"):
                ends.append((self._before_next(found, index), 0))
                continue
            if self._language == "elixir":
                opener = self._do_after(match, opens)
            else:
                opener = next((at for at in _offsets_from(opens, start) if at < match.end()), None)
            if opener is None:
                ends.append((self._statement_end(match), 0))
            elif opener in closing:
                ends.append((self._numbers.at(closing[opener]), 0 if is_balanced else line))
            else:
                ends.append((line, line))
        return ends

    def _do_after(self, match: re.Match[str], opens: list[int]) -> int | None:
        """Return the `do` of a definition, which may follow on another line; None for one with `do:` or without."""
        for at in _offsets_from(opens, match.end()):
            if at - match.end() > HEADER_CHARS or not self._masked.startswith("do", at):
                return None
            between = self._masked[match.end() : at]
            if re.search(r"\bdo:|\n[ \t]*(?:def|@|end\b)|\n[ \t]*\n", between):
                return None
            return at
        return None

    def _statement_end(self, match: re.Match[str]) -> int:
        """Return the last line of a definition without a block: brackets and deeper indentation continue it."""
        line = self._numbers.at(match.end())
        start = self._lines[line - 1]
        indent = len(start) - len(start.lstrip())
        last = line
        while last < len(self._lines):
            following = self._lines[last]
            if not following.strip() or len(following) - len(following.lstrip()) <= indent:
                break
            last += 1
        return last

    def _by_indentation(self, found: list[Start]) -> list[tuple[int, int]]:
        """Return the last line before the next one that is not indented deeper, without blank lines and comments."""
        masked = self._masked.split("\n")
        columns = [len(line) - len(line.lstrip()) if line.strip() else -1 for line in masked]
        following = _next_not_deeper(columns)
        starts = {self._numbers.at(first_char(match)) for match, _ in found}
        ends = []
        for index, (match, kind) in enumerate(found):
            line = self._numbers.at(first_char(match))
            if kind == "section":
                ends.append((self._before_next(found, index), 0))
                continue
            at = line - 1
            while True:
                at = following[at]
                if at >= len(masked) or self._rules.ends != "next" or at + 1 in starts:
                    is_closing = at < len(masked) and _CLOSING.match(masked[at]) is not None
                    if not is_closing or columns[at] < columns[line - 1]:
                        break
                elif columns[at] <= 0 and not self._continues(masked[at], match):
                    break
            last = at
            while last > line and columns[last - 1] < 0:
                last -= 1
            ends.append((last, 0))
        return ends

    def _continues(self, line: str, match: re.Match[str]) -> bool:
        """Return True if a line at the margin belongs to a definition of Haskell: an equation of the same name."""
        name = match.groupdict().get("name") or ""
        return line.startswith((name + " ", name + "(", "|", "=", "where"))

    def _by_dots(self, found: list[Start]) -> list[tuple[int, int]]:
        stops = [piece.start() for piece in re.finditer(r"\.(?=\s|\Z)", self._masked)]
        ends = []
        for match, _ in found:
            stop = next(iter(_offsets_from(stops, match.end())), None)
            line = self._numbers.at(match.end())
            ends.append((self._numbers.at(stop), 0) if stop is not None else (line, line))
        return ends

    def _before_next(self, found: list[Start], index: int) -> int:
        """Return the last line with text before the next definition of the same kind, or of the file."""
        kind = found[index][1]
        following = next((match.start() for match, other in found[index + 1 :] if other == kind), len(self._text))
        last = self._numbers.at(max(0, following - 1)) if following < len(self._text) else self._numbers.last
        while last > 1 and not self._lines[last - 1].strip():
            last -= 1
        return last


def _offsets_from(offsets: list[int], start: int) -> Iterator[int]:
    """Yield the offsets from `start` on."""
    for index in range(bisect_left(offsets, start), len(offsets)):
        yield offsets[index]


def _next_not_deeper(columns: list[int]) -> list[int]:
    """Return for each line the index of the next one that is indented as much or less."""
    following = [len(columns)] * len(columns)
    stack: list[int] = []
    for at, column in enumerate(columns):
        if column < 0:
            continue
        while stack and columns[stack[-1]] >= column:
            following[stack.pop()] = at
        stack.append(at)
    for at in range(len(columns) - 2, -1, -1):
        if columns[at] < 0:
            following[at] = following[at + 1]
    return following


def _without_flags(pattern: str) -> str:
    return pattern.removeprefix("(?im)")


def _blanked(found: re.Match[str]) -> str:
    """Return blanks for a comment or a string; its first and last characters stay if they are quotes."""
    text = found[0]
    blanks = re.sub(r"[^\n]", " ", text)
    return f'"{blanks[1:-1]}"' if text[0] in "\"'" and len(text) > 1 and "\n" not in (text[0], text[-1]) else blanks
