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
_AFTER_FIELD = re.compile(
    rb"(\w+)[>*&\]\s]*\s(\w+)(?:\[[^\]\n]*\])?\s+("
    + _UPPER
    + rb"\s*\((?!void\)|\s*\))[\w:.,&!>\s-]{0,200}\)\s*)(?=[;{=])"
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
_MIDDLE = re.compile(
    rb"\b([A-Za-z_]\w*)[\s*]+((?:"
    + _UPPER
    + rb"(?:\s*"
    + _ARGUMENTS
    + rb")?[\s]+)*(?:"
    + _UPPER
    + rb"(?:\s*"
    + _ARGUMENTS
    + rb")?))"
    rb"(?=[\s*&]+(?:" + _UPPER + rb"(?:" + _ARGUMENTS + rb")?[\s*&]+)*[A-Za-z_]\w*\s*\()"
)
_TYPEDEF_MACRO = re.compile(rb"\btypedef\s+\w+\s*(\([^()]*\))(?=\s+\w+\s*;)")
_AFTER_PARAMETER = re.compile(rb"[\w*&>\]][\s*&]+(\w+)(?:\[[^\]\n]*\])?\s+(" + _UPPER + rb")(?=\s*[,)])")
_ATTRIBUTE_WORDS = re.compile(
    rb"\b(absl_nonnull|absl_nullable|absl_nullability_unknown|_Nonnull|_Nullable|__restrict|__cdecl|__stdcall|__fastcall|"
    rb"__vectorcall|__user|__iomem|__init|__exit|__rcu|__percpu|__force|__must_check|__maybe_unused|\w+_inline|"
    rb"__always_inline|__forceinline)\b"
)
_BEFORE_STORAGE = re.compile(rb"^[ \t]*([A-Za-z_]\w*)\s+(?=(?:static|extern|inline)\s)", re.MULTILINE)
_BEFORE_CONSTRUCTOR = re.compile(
    rb"^[ \t]*((?:"
    + _UPPER
    + rb"(?:\s*"
    + _ARGUMENTS
    + rb")?\s+)+)(?=(?:explicit\s+)?[A-Za-z_]\w*\s*"
    + _ARGUMENTS
    + rb"\s*(?:noexcept\s*)?:\s*[A-Za-z_])",
    re.MULTILINE,
)
_CALLING_CONVENTION = re.compile(rb"\btypedef\b[^;{}()]{0,200}\(\s*(" + _UPPER + rb")\s*(?=\*|[A-Za-z_]\w*\s*\)\s*\()")
_DIRECTION = re.compile(
    rb"(?<=[(,])\s*((?:IN\s+OUT|IN|OUT|INOUT|_In\w*_|_Out\w*_)\s)(?=\s*\w+[\s*]+\w)|\s(OPTIONAL)(?=\s*[,)])"
)
_NO_TYPES = frozenset(
    rb"const static extern inline virtual friend typedef struct class union enum return else case goto throw new "
    rb"delete constexpr typename volatile register sizeof if while for switch do".split()
)
_TYPE_WORDS = frozenset(b"void int char short long float double bool unsigned signed auto size_t".split()) | _NO_TYPES
_LONE = re.compile(
    rb"^(" + _UPPER + rb"(?:[ \t]*" + _ARGUMENTS + rb")?)[ \t]*$(?!\s*(?:\{|[a-z_]\w*\s*\())", re.MULTILINE
)
_LONE_IN_CLASS = re.compile(
    rb"^[ \t]+(" + _UPPER + rb"[ \t]*" + _ARGUMENTS + rb")[ \t]*$(?!\s*(?:[{:]|const\b|noexcept\b|[a-z_]\w*\s*\())",
    re.MULTILINE,
)
_MACRO_FUNCTION = re.compile(
    rb"^((?:static[ \t]+)?)([A-Z_][A-Z0-9_]{2,}+)[ \t]*(" + _ARGUMENTS + rb")(?=\s*\{)", re.MULTILINE
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b([^\n]*)", re.MULTILINE)
_MACRO_WITH_COMMENT = re.compile(
    rb'^[ \t]*#[ \t]*define\b(?:\\.|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|[^\n\\])*', re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LINE_END = re.compile(rb"[^\n](?=\n)")
_COMMENT_CHARS = re.compile(rb"\\(?!\n)|[^\n\\]")
_WORD_CHARS = re.compile(rb"[^\n]")
_TESTS = ("TEST", "BENCHMARK", "TYPED", "SCENARIO", "SPEC", "FIXTURE")
_NAME = re.compile(r"[A-Za-z_][\w:]*")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A source that the grammars parse with fewer errors."""

    source: bytes
    """For a grammar: functions that a macro begins have the form of ordinary ones."""
    plain: bytes
    """For the scanner: the same without that."""
    names: dict[int, tuple[str, str]]
    """The name and the owner of a function that a macro begins, by the byte of the name in `source`."""


def rewrite(source: bytes) -> Rewritten:
    """Return C or C++ source without the macros that no grammar can parse."""
    masked = bytearray(_SKIPPED.sub(_blanked, source))
    plain = bytearray(_MACRO_WITH_COMMENT.sub(_without_comments, source))
    for start, end in _unbalanced_branches(source, bytes(masked)):
        _blank(masked, plain, start, end)
    functions = [
        (found.span(), _macro_function(found))
        for found in _MACRO_FUNCTION.finditer(source, 0)
        if _is_code(found, masked)
    ]
    taken = {span[0] for span, _ in functions}
    for pattern, group in (
        (_TYPE_MACRO, 1),
        (_LONE, 1),
        (_LONE_IN_CLASS, 1),
        (_LEADING, 1),
        (_MIDDLE, 2),
        (_AFTER_PARAMETERS, 1),
        (_AFTER_FIELD, 3),
        (_AFTER_PARAMETER, 2),
        (_ATTRIBUTE_WORDS, 1),
        (_TYPEDEF_MACRO, 1),
        (_BEFORE_STORAGE, 1),
        (_BEFORE_CONSTRUCTOR, 1),
        (_CALLING_CONVENTION, 1),
        (_DIRECTION, 0),
    ):
        spans = []
        for found in pattern.finditer(bytes(masked)):
            if pattern is _MIDDLE and found[1] in _NO_TYPES:
                continue
            if pattern is _AFTER_FIELD and (found[1] in _NO_TYPES or found[2] in _TYPE_WORDS):
                continue  # a function with a name in upper case
            if pattern is _AFTER_PARAMETER and found[1] in _TYPE_WORDS:
                continue  # a type in upper case
            if pattern is _BEFORE_STORAGE and found[1] in _TYPE_WORDS:
                continue
            if found.start(group) not in taken:
                spans.append(found.span(group))
        for start, end in spans:
            _blank(masked, plain, start, end)
    result = bytearray(plain)
    names: dict[int, tuple[str, str]] = {}
    for (start, end), (name, owner) in functions:
        written = source[start:end]
        head = written.index(b"(")
        if head < 3:
            continue
        spelled = b"v x" + b" " * (head - 3) + b"(" + _WORD_CHARS.sub(b" ", written[head + 1 : -1]) + b")"
        result[start:end] = spelled
        names[start + 2] = (name, owner)
    return Rewritten(bytes(result), bytes(plain), names)


def without_conditionals(source: bytes) -> bytes:
    """Return C# source without the branches of conditionals that begin inside a declaration or do not balance."""
    masked = bytearray(_SKIPPED.sub(_blanked, source))
    plain = bytearray(source)
    for start, end in _unbalanced_branches(source, bytes(masked)):
        _blank(masked, plain, start, end)
    return bytes(plain)


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


def _without_comments(found: re.Match[bytes]) -> bytes:
    """Return the definition of a macro without the comments that end it for the grammar.

    A comment of several lines continues the line. One at the end of the line is harmless, and stays.
    """
    text = found[0]
    if b"/*" not in text:
        return text

    def blanked(piece: re.Match[bytes]) -> bytes:
        if piece[0].startswith(b'"'):
            return b'"' + b" " * (len(piece[0]) - 2) + b'"' if b"/*" in piece[0] else piece[0]
        is_last = not text[piece.end() :].partition(b"\n")[0].strip()
        if not piece[0].startswith(b"/*") or (is_last and b"\n" not in piece[0]):
            return piece[0]
        return _LINE_END.sub(rb"\\", _COMMENT_CHARS.sub(b" ", piece[0]))

    return _COMMENT.sub(blanked, text)


def _macro_function(found: re.Match[bytes]) -> tuple[str, str]:
    return macro_symbol(found[2].decode(), found[3][1:-1].decode("utf-8", "replace"))


def _is_code(found: re.Match[bytes], masked: bytearray) -> bool:
    return masked[found.start(2) : found.end(2)] == found[2]


def _blanked(found: re.Match[bytes]) -> bytes:
    """Return blanks for a comment or a directive, and an empty string of the same length for a string."""
    text = found[0]
    blanks = _WORD_CHARS.sub(b" ", text)
    if text[:1] in b"\"'" and len(text) > 1:
        return text[:1] + blanks[1:-1] + text[:1]
    return blanks


def _blank(masked: bytearray, plain: bytearray, start: int, end: int) -> None:
    blanks = _WORD_CHARS.sub(b" ", bytes(plain[start:end]))
    masked[start:end] = blanks
    plain[start:end] = blanks


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
