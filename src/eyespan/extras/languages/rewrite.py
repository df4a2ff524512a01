"""Blank out what no grammar of C and C++ can parse: export and attribute macros, unbalanced preprocessor branches.

A rewritten source has the length and the line ends of the original, so every position in it is one of the original.
Only the structure is of interest: a macro that is blanked out by mistake costs a word of a type, not a symbol.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ARGUMENTS = rb"\((?:[^()]|\((?:[^()]|\([^()]*\))*\)){0,400}\)"
_UPPER = rb"[A-Z_][A-Z0-9_]{2,}+(?!\w)"
_SKIPPED = re.compile(
    rb"""//(?:\\.|[^\n\\])*|/\*.*?(?:\*/|\Z)|\bR"([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*"?|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'?"""
    rb"""|^[ \t]*\#(?:\\.|/\*.*?\*/|[^\n\\])*""",
    re.DOTALL | re.MULTILINE,
)
_TYPE_MACRO = re.compile(
    rb"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+((?:" + _UPPER + rb"(?:\s*" + _ARGUMENTS + rb")?\s+)+)"
    rb"(?=[A-Za-z_][\w:]*\s*(?:<[^{};]{0,200}>\s*)?(?:final\b\s*)?(?:\{|:(?!:)))"
)
_AFTER_PARAMETERS = re.compile(
    rb"(?:(?<=\))|(?<=\bconst)|(?<=override)|(?<=noexcept))\s*\b((?:"
    + _UPPER
    + rb"(?:\s*"
    + _ARGUMENTS
    + rb")?\s*)+)(?=[;{=]|override\b|final\b)"
)
_LEADING = re.compile(
    rb"^[ \t]*(?:(?:static|extern|inline|virtual|friend|constexpr)\s+)*((?:"
    + _UPPER
    + rb"(?:\s*"
    + _ARGUMENTS
    + rb")?\s+)+)"
    rb"(?=(?:[A-Za-z_][\w:]*+(?:<[^;{}()]{0,200}>)?[\s*&]+)+(?:[A-Za-z_~]|\(\s*\**\s*\w+\s*\)\s*\())",
    re.MULTILINE,
)
_ATTRIBUTE_WORDS = re.compile(
    rb"\b(absl_nonnull|absl_nullable|absl_nullability_unknown|_Nonnull|_Nullable|__restrict|__cdecl|__stdcall|__fastcall|"
    rb"__vectorcall|__user|__iomem|__init|__exit|__rcu|__percpu|__force|__must_check|__maybe_unused|\w+_inline|"
    rb"__always_inline|__forceinline)\b"
)
_LONE = re.compile(
    rb"^(" + _UPPER + rb"(?:[ \t]*" + _ARGUMENTS + rb")?)[ \t]*$(?!\s*(?:\{|[a-z_]\w*\s*\())", re.MULTILINE
)
_MACRO_FUNCTION = re.compile(
    rb"^((?:static[ \t]+)?)([A-Z_][A-Z0-9_]{2,}+)[ \t]*(" + _ARGUMENTS + rb")(?=\s*\{)", re.MULTILINE
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b([^\n]*)", re.MULTILINE)
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define\b(?:\\.|[^\n\\])*", re.DOTALL | re.MULTILINE)
_IN_MACRO = re.compile(rb'"(?:\\.|[^"\\\n])*"|/\*[^\n]*?\*/(?=[ \t]*[^\s])')
_CHARS = re.compile(rb"[^\n]")
_TESTS = ("TEST", "BENCHMARK", "TYPED", "SCENARIO", "SPEC", "FIXTURE")
_NAME = re.compile(r"[A-Za-z_][\w:]*")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A source that the grammars parse with fewer errors."""

    source: bytes
    names: dict[int, tuple[str, str]]
    """The name and the owner of a function that a macro begins, by the byte of the name in `source`."""


def rewrite(source: bytes) -> Rewritten:
    """Return C or C++ source without the macros that no grammar can parse."""
    masked = bytearray(_SKIPPED.sub(_blanked, source))
    # A comment in the middle of a macro ends it for the grammar, and so does "/*" in a string.
    result = bytearray(_MACRO.sub(lambda macro: _IN_MACRO.sub(_blanked, macro[0]), source))
    for start, end in _unbalanced_branches(source, bytes(masked)):
        _blank(masked, result, start, end)
    functions = [
        found for found in _MACRO_FUNCTION.finditer(source) if masked[found.start(2) : found.end(2)] == found[2]
    ]
    taken = {found.start() for found in functions}
    for pattern in (_TYPE_MACRO, _LONE, _LEADING, _AFTER_PARAMETERS, _ATTRIBUTE_WORDS):
        for found in pattern.finditer(bytes(masked)):
            if found.start(1) not in taken:
                _blank(masked, result, *found.span(1))
    names: dict[int, tuple[str, str]] = {}
    for found in functions:
        # The macro becomes `v x`, its arguments become blanks: the grammar sees a function.
        start, arguments = found.start(), found.end(2) - found.start()
        blanks = _CHARS.sub(b" ", found[0])
        result[start : found.end()] = b"v x" + blanks[3:arguments] + b"(" + blanks[arguments + 1 : -1] + b")"
        names[start + 2] = macro_symbol(found[2].decode(), found[3][1:-1].decode("utf-8", "replace"))
    return Rewritten(bytes(result), names)


def macro_symbol(macro: str, arguments: str) -> tuple[str, str]:
    """Return the name and the owner that people use for a function whose header is a macro.

    `TEST_F(Fixture, Name)` is `Name` of `Fixture`, `DEFINE_TEST(name)` is `name`, `TEST_CASE("a text")` is its text.
    """
    parts = [part.strip() for part in arguments.split(",")]
    if parts[0].startswith('"'):
        text = arguments[1:].split('"', 1)[0].strip()
        return text or macro, ""
    names = [part for part in parts if _NAME.fullmatch(part)]
    if not names or not _NAME.fullmatch(parts[0]):
        return macro, ""
    if len(parts) == 2 and len(names) == 2 and any(word in macro for word in _TESTS):
        return names[1], names[0]
    return names[0], ""


def _blanked(found: re.Match[bytes]) -> bytes:
    """Return blanks for a comment or a directive, and an empty string of the same length for a string."""
    text = found[0]
    blanks = _CHARS.sub(b" ", text)
    if text[:1] in b"\"'" and len(text) > 1:
        return text[:1] + blanks[1:-1] + text[:1]
    return blanks


def _blank(masked: bytearray, result: bytearray, start: int, end: int) -> None:
    masked[start:end] = result[start:end] = _CHARS.sub(b" ", bytes(result[start:end]))


class _Conditional:
    """An open `#if` and its branches."""

    def __init__(self, start: int, directive: tuple[int, int], is_dead: bool, is_inside: bool) -> None:
        self.branches: list[tuple[int, int, int, bool]] = []
        """Start, end, open braces less closed ones, and True for `#if 0`."""
        self.directives = [directive]
        self.start = start
        self.net = 0
        self.is_dead = is_dead
        self.is_inside = is_inside
        """True: it begins inside a statement."""

    def end_branch(self, end: int, directive: tuple[int, int]) -> None:
        self.branches.append((self.start, end, self.net, self.is_dead))
        self.directives.append(directive)

    def kept(self) -> int:
        """Return the first branch that is not dead."""
        return next((index for index, branch in enumerate(self.branches) if not branch[3]), 0)


def _unbalanced_branches(source: bytes, masked: bytes) -> list[tuple[int, int]]:
    """Return what to blank out of conditionals that no grammar can parse: all branches but one, and the directives.

    These are conditionals with a branch that opens more braces than it closes, and those inside a statement.
    """
    spans: list[tuple[int, int]] = []
    stack: list[_Conditional] = []
    at = 0
    for found in _DIRECTIVE.finditer(source):
        if masked[found.start() : found.end()].strip():
            continue  # in a string
        between = masked[at : found.start()]
        if stack:
            stack[-1].net += between.count(b"{") - between.count(b"}")
        at = found.end()
        word = found[1]
        if word in (b"if", b"ifdef", b"ifndef"):
            before = between.rstrip()[-1:]
            is_inside = before in (b",", b"(", b":", b"&", b"|", b"+", b"?", b"=", b")") and bool(before)
            stack.append(_Conditional(at, found.span(), word == b"if" and found[2].strip() == b"0", is_inside))
        elif stack and word == b"endif":
            conditional = stack.pop()
            conditional.end_branch(found.start(), found.span())
            kept = conditional.kept()
            is_unbalanced = any(net for _, _, net, _ in conditional.branches)
            if is_unbalanced or conditional.is_inside:
                spans += [branch[:2] for index, branch in enumerate(conditional.branches) if index != kept]
                spans += conditional.directives
            if is_unbalanced and stack:
                stack[-1].net += conditional.branches[kept][2]
        elif stack:
            conditional = stack[-1]
            conditional.end_branch(found.start(), found.span())
            conditional.start, conditional.net, conditional.is_dead = at, 0, False
    return spans
