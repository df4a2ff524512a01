"""Regular expressions that match in time linear in the text, whatever the expression.

Python's own `re` backtracks: an expression such as `(a+)+b` takes exponential time on a line of `a`. Here an expression
becomes a nondeterministic automaton, whose sets of states are the states of a deterministic one, made as the text needs
them and bounded in number. The syntax is that of `re` without back-references and lookaround, which no automaton can
match. Only whether a line contains a match is computed, not where.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

Accepts = Callable[[str], bool]

MAX_PATTERN_CHARS = 1000
MAX_NODES = 1000
MAX_REPEAT = 1000
MAX_DEPTH = 50
MAX_STATES = 1000
"""States that are kept; with more of them the table is started again."""
MAX_TABLE_BYTES = 2 << 20
"""The memory of the states and of their tables; with more of it they are started again."""
STATE_BYTES = 500
"""The memory of a state, beside its set of nodes."""
STEP_BYTES = 200
"""The memory of a character in the table of a state."""
CHARGED_BYTES = 64 << 10
"""The memory that is charged at a time."""
CHECK_STEPS = 256

_START, _WORD, _OTHER, _END = range(4)
"""What precedes a position: the start of the line, a character of a word, another one. `_END` follows the last."""


class PatternError(ValueError):
    """The text is no expression that this module can match."""


class Pattern:
    """A compiled expression."""

    def __init__(self, text: str) -> None:
        """Raises: PatternError."""
        if len(text) > MAX_PATTERN_CHARS:
            raise PatternError(f"longer than {MAX_PATTERN_CHARS} characters")
        parser = _Parser(text)
        tree = parser.parse()
        self.literal = "" if parser.ignores_case else _longest_literal(tree)
        """A text that every match contains, or ""."""
        self._program = _Program(tree)
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._table_bytes = 0
        self._charged_bytes = 0
        self._steps = 0
        self.check: Callable[[], None] | None = None
        """Called now and then during long work, to interrupt it by an exception."""
        self.charge: Callable[[int], None] | None = None
        """Called with the memory of states before they are made, up to `MAX_TABLE_BYTES`."""
        self._first = self._state(frozenset(), _START)

    def matches(self, line: str) -> bool:
        """Return True if the line contains a match. A line has no line feed."""
        if self.literal and self.literal not in line:
            return False
        state = self._first
        for character in line:
            following = state.table.get(character)
            if following is None:
                following = self._step(state, character)
            if following is _MATCH:
                return True
            state = following
        if state.at_end is None:
            state.at_end = self._program.reach(state.nodes, state.before, _END)[1]
        return state.at_end

    def _step(self, state: _State, character: str) -> _State:
        self._steps += 1
        if self.check is not None and not self._steps % CHECK_STEPS:
            self.check()
        kind = _WORD if _is_word(character) else _OTHER
        nodes, is_match = self._program.reach(state.nodes, state.before, kind)
        if is_match:
            following = _MATCH
        else:
            following = self._state(self._program.move(nodes, character), kind)
        self._take(STEP_BYTES)
        state.table[character] = following
        return following

    def _state(self, nodes: frozenset[int], before: int) -> _State:
        key = (nodes, before)
        found = self._states.get(key)
        if found is None:
            if len(self._states) >= MAX_STATES:
                self._clear()
            self._take(STATE_BYTES + sys.getsizeof(nodes))
            found = self._states[key] = _State(nodes, before)
        return found

    def _take(self, size_bytes: int) -> None:
        """Count memory for states or tables, and start them again if it is too much."""
        if self._table_bytes + size_bytes > MAX_TABLE_BYTES:
            self._clear()
        self._table_bytes += size_bytes
        if self.charge is not None and self._table_bytes > self._charged_bytes:
            self._charged_bytes += CHARGED_BYTES
            self.charge(CHARGED_BYTES)

    def _clear(self) -> None:
        for one in (self._first, *self._states.values()):
            one.table.clear()
        self._states.clear()
        self._table_bytes = 0


class _State:
    __slots__ = ("at_end", "before", "nodes", "table")

    def __init__(self, nodes: frozenset[int], before: int) -> None:
        self.nodes = nodes
        self.before = before
        self.table: dict[str, _State] = {}
        self.at_end: bool | None = None


_MATCH = _State(frozenset(), _OTHER)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


# --- trees -----------------------------------------------------------------------------------------------------------


class _Tree:
    """A part of an expression: `kind` is char, assert, sequence, choice or repeat."""

    __slots__ = ("accepts", "at", "kind", "least", "literal", "most", "parts")

    def __init__(self, kind: str, parts: tuple[_Tree, ...] = ()) -> None:
        self.kind = kind
        self.parts = parts
        self.accepts: Accepts | None = None
        self.literal = ""
        self.at = ""
        self.least = 0
        self.most: int | None = None


def _char(accepts: Accepts, literal: str = "") -> _Tree:
    tree = _Tree("char")
    tree.accepts, tree.literal = accepts, literal
    return tree


def _assertion(at: str) -> _Tree:
    tree = _Tree("assert")
    tree.at = at
    return tree


def _longest_literal(tree: _Tree) -> str:
    """Return the longest text of which every match is known to contain all characters in a row."""
    if tree.kind == "char":
        return tree.literal
    if tree.kind != "sequence":
        return ""
    best = run = ""
    for part in tree.parts:
        run = run + part.literal if part.kind == "char" and part.literal else ""
        best = max(best, run, _longest_literal(part) if part.kind == "sequence" else "", key=len)
    return best


class _Parser:
    """Parses the text of an expression."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self.ignores_case = False

    def parse(self) -> _Tree:
        """Raises: PatternError."""
        if self._text.startswith("(?") and (end := self._text.find(")")) > 2:
            flags = self._text[2:end]
            if flags and all(flag in "imsu" for flag in flags):
                self.ignores_case = "i" in flags
                self._at = end + 1
        tree = self._choice()
        if self._at < len(self._text):
            raise PatternError("unbalanced )")
        return tree

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise PatternError("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _choice(self) -> _Tree:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise PatternError("nested too deep")
        branches = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            branches.append(self._sequence())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else _Tree("choice", tuple(branches))

    def _sequence(self) -> _Tree:
        parts: list[_Tree] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else _Tree("sequence", tuple(parts))

    def _repeated(self, tree: _Tree) -> _Tree:
        while (sign := self._peek()) in ("*", "+", "?", "{") and sign:
            bounds = self._bounds(sign)
            if bounds is None:
                return tree
            if self._peek() in ("?", "+") and self._peek():
                if self._peek() == "+":
                    raise PatternError("possessive repeats are not supported")
                self._at += 1  # a lazy repeat finds the same lines
            repeat = _Tree("repeat", (tree,))
            repeat.least, repeat.most = bounds
            tree = repeat
        return tree

    def _bounds(self, sign: str) -> tuple[int, int | None] | None:
        """Return how often the repeat at this place repeats; None if a brace is only a brace."""
        if sign != "{":
            self._at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",") if end > 0 else ("x", "", "")
        if not all(part.isascii() and part.isdigit() for part in (low, high) if part) or not (low or high):
            return None
        self._at = end + 1
        least = int(low or 0)
        most = least if not comma else int(high) if high else None
        if least > MAX_REPEAT or (most is not None and (most > MAX_REPEAT or most < least)):
            raise PatternError(f"repeats are at most {MAX_REPEAT} and in order")
        return least, most

    def _atom(self) -> _Tree:
        character = self._next()
        match character:
            case "(":
                return self._group()
            case "[":
                return _char(self._class())
            case ".":
                return _char(lambda _: True)
            case "^":
                return _assertion("start")
            case "$":
                return _assertion("end")
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise PatternError(f"nothing to repeat before {character}")
        return self._literal(character)

    def _literal(self, character: str) -> _Tree:
        if self.ignores_case and character.lower() != character.upper():
            either = {character, character.lower(), character.upper()}
            return _char(lambda one: one in either)
        return _char(character.__eq__, character)

    def _group(self) -> _Tree:
        if self._peek() == "?":
            self._at += 1
            sign = self._next()
            if sign == "P" and self._peek() == "<":
                self._at += 1
                sign = "<"
            elif sign == "<" and self._peek() in ("=", "!"):
                sign = "="
            if sign == "<":
                end = self._text.find(">", self._at)
                if end < 0:
                    raise PatternError("the name of a group has no end")
                self._at = end + 1
            elif sign != ":":
                raise PatternError("lookaround, back-references and flags within are not supported")
        tree = self._choice()
        if self._peek() != ")":
            raise PatternError("unbalanced (")
        self._at += 1
        return tree

    def _escape(self) -> _Tree:
        character = self._next()
        if character in "bB":
            return _assertion("word" if character == "b" else "no word")
        if character in "AZz":
            return _assertion("start" if character == "A" else "end")
        accepts = _CLASSES.get(character)
        if accepts is not None:
            return _char(accepts)
        return self._literal(self._escaped(character))

    def _escaped(self, character: str) -> str:
        """Return the character that an escape stands for."""
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in "xuU":
            digits = self._text[self._at : self._at + {"x": 2, "u": 4, "U": 8}[character]]
            self._at += len(digits)
            try:
                return chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise PatternError(f"wrong escape \\{character}{digits}") from None
        if character.isdigit():
            raise PatternError("back-references are not supported")
        if character.isascii() and character.isalpha():
            raise PatternError(f"unknown escape \\{character}")
        return character

    def _class(self) -> Accepts:
        is_negated = self._peek() == "^"
        self._at += is_negated
        singles: set[str] = set()
        spans: list[tuple[str, str]] = []
        classes: list[Accepts] = []
        is_first = True
        while True:
            character = self._next()
            if character == "]" and not is_first:
                break
            is_first = False
            if character == "\\":
                character = self._next()
                if character in _CLASSES:
                    classes.append(_CLASSES[character])
                    continue
                character = "\b" if character == "b" else self._escaped(character)
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._next()
                if last == "\\":
                    last = self._escaped(self._next())
                if last < character:
                    raise PatternError(f"wrong range {character}-{last}")
                spans.append((character, last))
            else:
                singles.add(character)

        def is_listed(one: str) -> bool:
            return (
                one in singles
                or any(first <= one <= last for first, last in spans)
                or any(is_in(one) for is_in in classes)
            )

        if self.ignores_case:
            return lambda one: any(map(is_listed, (one, one.lower(), one.upper()))) != is_negated
        return lambda one: is_listed(one) != is_negated


_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
_CLASSES: dict[str, Accepts] = {
    "d": str.isdecimal,
    "D": lambda one: not one.isdecimal(),
    "w": _is_word,
    "W": lambda one: not _is_word(one),
    "s": str.isspace,
    "S": lambda one: not one.isspace(),
}


# --- automata --------------------------------------------------------------------------------------------------------


class _Program:
    """The nondeterministic automaton: a node reads a character, checks a position, or continues with others."""

    def __init__(self, tree: _Tree) -> None:
        self._accepts: list[Accepts | None] = []
        self._checks: list[str] = []
        self._next: list[tuple[int, ...]] = []
        self._match = self._add()
        self._start = self._build(tree, self._match)

    def _add(self, following: tuple[int, ...] = (), accepts: Accepts | None = None, check: str = "") -> int:
        if len(self._next) >= MAX_NODES:
            raise PatternError("too large")
        self._next.append(following)
        self._accepts.append(accepts)
        self._checks.append(check)
        return len(self._next) - 1

    def _build(self, tree: _Tree, following: int) -> int:
        """Add the nodes of a tree that continues with the node `following`; return its first node."""
        match tree.kind:
            case "char":
                return self._add((following,), accepts=tree.accepts)
            case "assert":
                return self._add((following,), check=tree.at)
            case "sequence":
                for part in reversed(tree.parts):
                    following = self._build(part, following)
                return following
            case "choice":
                return self._add(tuple([self._build(part, following) for part in tree.parts]))
        (part,) = tree.parts
        if tree.most is None:
            loop = self._add()
            self._next[loop] = (self._build(part, loop), following)
            following = loop
        else:
            for _ in range(tree.most - tree.least):
                following = self._add((self._build(part, following), following))
        for _ in range(tree.least):
            following = self._build(part, following)
        return following

    def reach(self, nodes: frozenset[int], before: int, after: int) -> tuple[list[int], bool]:
        """Return the reading nodes that are reached without a character, also from the start; True with a match."""
        reading: list[int] = []
        seen: set[int] = set()
        waiting = [self._start, *nodes]
        is_match = False
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node == self._match:
                is_match = True
            elif self._accepts[node] is not None:
                reading.append(node)
            elif not self._checks[node] or _holds(self._checks[node], before, after):
                waiting += self._next[node]
        return reading, is_match

    def move(self, nodes: list[int], character: str) -> frozenset[int]:
        """Return the nodes after those that read this character."""
        found: list[int] = []
        for node in nodes:
            accepts = self._accepts[node]
            if accepts is not None and accepts(character):
                found += self._next[node]
        return frozenset(found)


def _holds(check: str, before: int, after: int) -> bool:
    match check:
        case "start":
            return before == _START
        case "end":
            return after == _END
    return ((before == _WORD) != (after == _WORD)) == (check == "word")
