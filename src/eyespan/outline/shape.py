"""Outline source code without a grammar: by what looks like a definition, to its closing brace or by indentation.

The result is a guess. Strings and comments are skipped, so braces in them do no harm; macros, templates and here
documents may mislead it. The time is proportional to the length of the text, for any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from eyespan.outline.model import Definition, Nesting, ended
from eyespan.outline.rewrite import macro_symbol
from eyespan.outline.text import LineNumbers, comment_start, squeeze

_NAME = r"([A-Za-z_$][\w$]*)"
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|async|export|default|declare|override|open|"
    r"data|inline|virtual|readonly|partial|unsafe|extern|pub(?:\([\w: ]+\))?|const|suspend|case|implicit|local)\s+)*"
)
_TYPES = (
    r"(class|interface|struct|enum(?:\s+(?:class|struct))?|trait|namespace|module|object|protocol|extension|record|union|"
    r"impl|mod)"
)
_TYPE = re.compile(rf"\s*{_MODIFIERS}{_TYPES}(?:\s*<[^>{{}}]*>)?\s+(?:[\w:<>']+\s+for\s+)?(?:\w+::)*{_NAME}")
_EXTENSION = re.compile(rf"\s*{_MODIFIERS}fun\b\s*(?:<[^>()]*>\s*)?(?:[\w<>?,* ]+\.)+\s*{_NAME}\s*\(")
_WORD = re.compile(rf"\s*{_MODIFIERS}(?:fn|func|fun|function|def)\b\s*\*?\s*(?:\([^()]*\)\s*)?{_NAME}")
_GO_TYPE = re.compile(rf"\s*type\s+{_NAME}(?:\[[^\]]*\])?\s+(struct|interface)\b")
_GO_OWNER = re.compile(r"\s*func\s*\(\s*(?:\w+\s+)?\*?\s*(\w+)")
_SHELL = re.compile(r"\s*([\w.:-]+)\s*\(\)")
_ARROW = re.compile(
    rf"\s*(?:(?:export|const|let|var|static|public|private|readonly)\s+|[\w$]+\.)*{_NAME}\s*(?::[^=]+)?="
    r"(?:[^=]*=>|\s*(?:async\s+)?function\b[^=]*)\s*$"
)
_CALLED = re.compile(r"((?:[A-Za-z_]\w*::)*~?[A-Za-z_$#][\w$]*)$")
_OPERATOR = re.compile(
    r"\boperator\s*(\(\s*\)|\[\s*\]|[^\w\s()]{1,3}|(?:new|delete)\b(?:\s*\[\s*\])?|[A-Za-z_][^;{}=]{0,200}?"
    r"(?=\s*\(\s*\)\s*(?:const|noexcept|&|override|$)))\s*\("
)
_SIGNS = '()[]+-*/%^&|~!=<>,"'
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "if for while switch catch return else do try using lock fixed foreach when sizeof typeof new throw await "
        "yield elif until case select defer go match unless super this assert print echo require include define",
    )
)
_ONLY_BY_WORD = frozenset(("go", "rust", "bash", "kotlin", "scala", "php"))
_KINDS = {
    "object": "class",
    "record": "class",
    "protocol": "interface",
    "extension": "class",
    "union": "struct",
    "module": "namespace",
    "mod": "namespace",
}
_CLASSES = frozenset(("class", "struct", "interface", "enum", "trait", "impl"))
_BY_LINES = frozenset(("bash", "go", "swift", "kotlin", "scala", "javascript", "typescript", "tsx"))
_FLAT = frozenset(("c", "cpp", "java"))
_HEADER_LINES = 12
_HEADER_CHARS = 2000
"""The text before a brace that is searched for its definition."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_ATTRIBUTE = re.compile(
    r"\s*(?:@[\w.]+(?:\([^()]*\))?|\[[^\]]*\]|#\[[^\]]*\]|(?:public|private|protected)[ \t]*:)(?=\s)"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The definitions that can be recognised without a grammar."""

    definitions: list[Definition]
    lost_line: int = 0
    """A line with a brace that closes nothing or that nothing closes; 0 if all braces match."""

    @property
    def is_balanced(self) -> bool:
        """Return True if everything that was opened was closed."""
        return not self.lost_line

    def noted(self) -> list[Definition]:
        """Return the definitions, marked as doubtful if the braces do not match."""
        if self.is_balanced:
            return self.definitions
        return [replace(one, doubt=self.lost_line) for one in self.definitions]


def scan_shape(text: str, language: str) -> Shape:
    """Return the definitions that can be recognised without a grammar, and if their ends can be trusted."""
    if language in ("ruby", "lua"):
        return _by_indentation(text, language)
    scanner = _BraceScanner(text, language)
    return Shape(scanner.run(), scanner.lost_line)


# --- headers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Header:
    """A definition as the text before its brace names it."""

    name: str
    kind: str
    owner: str = ""


def _parse_header(header: str, language: str) -> _Header | None:
    """Return the definition in the text before a brace, or None."""
    if language in ("c", "cpp") and "(" in header:
        return _parse_call(header)
    if language in ("c", "cpp") and "=" in header:
        return None  # the value of a variable
    if match := _TYPE.match(header):
        kind = match[1].split()[0]
        return _Header(match[2], _KINDS.get(kind, kind))
    if language == "kotlin" and (match := _EXTENSION.match(header)):
        return _Header(match[1], "function")
    if match := _WORD.match(header):
        owner = _GO_OWNER.match(header) if language == "go" else None
        return _Header(match[1], "method", owner[1]) if owner else _Header(match[1], "function")
    if language == "go" and (match := _GO_TYPE.match(header)):
        return _Header(match[1], match[2])
    if language in ("javascript", "typescript", "tsx") and (match := _ARROW.match(header)):
        return _Header(match[1], "function")
    if language == "bash" and (match := _SHELL.match(header)):
        return _Header(match[1], "function")
    return None if language in _ONLY_BY_WORD else _parse_call(header)


def _parse_call(header: str) -> _Header | None:
    """Return a definition without a keyword, like `int main(void)`, or None."""
    before, parenthesis, after = header.partition("(")
    before = before.rstrip()
    operator = _OPERATOR.search(header) if "operator" in before else None
    if operator is not None:
        return _Header(f"operator{operator[1] if operator[1][0] in _SIGNS else f' {operator[1]}'}", "function")
    match = _CALLED.search(before[-200:])
    if not parenthesis or match is None or match[1] in _NO_NAMES or "=" in before:
        return None
    words = before[: len(before) - len(match[1])].split()
    if words and (words[-1] in _NO_NAMES or words[-1].endswith((".", ",", "->"))):
        return None
    owner, _, name = match[1].rpartition("::")
    if not words and not owner and name.isupper() and len(name) > 2:
        arguments = after[: after.rfind(")")] if ")" in after else after
        name, owner = macro_symbol(name, " ".join(arguments.split()))
    return _Header(name, "function", owner.replace("::", "."))


# --- braces -----------------------------------------------------------------------------------------------------------


_TRIPLE_QUOTED = frozenset(("kotlin", "scala", "swift", "java", "csharp", "groovy", "dart"))


def _piece_pattern(language: str) -> re.Pattern[str]:
    """Return a pattern of comments, strings and brackets. No alternative can fail after having read far."""
    parts = []
    if language in _TRIPLE_QUOTED:
        parts.append(r'"""(?:\\.|[^\\])*?(?:"{3,}|\Z)' if language != "kotlin" else r'"""(?s:.)*?(?:"{3,}|\Z)')
    if language == "rust":
        parts.append(r'\b(?:b|c|br|cr|r)(#{0,8})"(?:(?<=r").*?(?:"\1|\Z)|(?<=r#").*?(?:"\1|\Z)|(?<=r##").*?(?:"\1|\Z))')
    if language == "cpp":
        parts.append(r'\bR"([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)')
    if language == "csharp":
        parts.append(r'@\$?"(?:""|[^"])*"?')
    # In these languages a quote before a name may be a lifetime or a symbol, and is never closed.
    if language in ("rust", "scala", "kotlin"):
        parts.append(r"'(?:\\(?:u\{?\w+\}?|.)|[^'\\\n])'")
        parts.append(r'"(?:\\.|[^"\\])*"?' if language == "rust" else r'"(?:\\.|[^"\\\n])*"?')
    elif language in ("c", "cpp"):
        parts += [r'"(?:\\.|[^"\\\n])*"?', r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'?"]
    else:
        parts += [r'"(?:\\.|[^"\\\n])*"?', r"'(?:\\.|[^'\\\n])*'?"]
    if language in ("javascript", "typescript", "tsx"):
        parts.append(r"`(?:\\.|[^`\\])*`?")
        # A slash after an operator or a bracket begins a regular expression.
        parts.append(r"(?<=[(,=:\[!&|?{};\n])[ \t]*/(?![/*])(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\\[\n])+/\w*")
    if language == "go":
        parts.append(r"`[^`]*`?")
    if language == "bash":
        parts += [r"(?<!\S)#[^\n]*", r"\$\{[^}\n]*\}?"]
    else:
        parts += [r"//[^\n]*", r"/\*.*?(?:\*/|\Z)"]
    if language == "php":
        parts.append(r"#(?!\[)[^\n]*")
    if language in ("c", "cpp", "csharp"):
        parts.append(r"^[ \t]*#(?:\\.|[^\n\\])*")
    if language == "swift":
        parts.append(r"^[ \t]*#(?:if|elseif|else|endif|warning|error|sourceLocation)\b[^\n]*")
    parts.append(r"[{}();]")
    return re.compile("|".join(parts), re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Brace:
    """An open brace and the state of the scanner before it."""

    index: int
    """The index of the definition that it is the body of, or -1."""
    parentheses: int
    start: int
    definition_count: int
    at: int
    """The offset of the brace."""


class _BraceScanner:
    """One pass over the comments, strings and brackets of a text."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        self._language = language
        self._lines = text.split("\n")
        self._numbers = LineNumbers(text)
        self._comments = ("#",) if language == "bash" else ("//", "/*", " *", "#[", "@", "[")
        self._definitions: list[Definition] = []
        self._braces: list[_Brace] = []
        self._around: list[int] = []
        """The indices of the definitions whose braces are open."""
        self._start = 0
        """The offset at which the next header can begin."""
        self._parentheses = 0
        self._floor = 0
        """The last line that does not belong to the next definition."""
        self.lost_line = 0
        """A line with a brace that has no counterpart."""

    def run(self) -> list[Definition]:
        for piece in _piece_pattern(self._language).finditer(self._text):
            spelled = piece[0]
            if spelled == "{":
                self._open_brace(piece.start())
            elif spelled == "}":
                self._close_brace(piece.start())
            elif spelled == ";":
                if not self._parentheses:
                    self._start, self._floor = piece.end(), self._numbers.at(piece.start())
            elif spelled == "(":
                self._parentheses += 1
            elif spelled == ")":
                self._parentheses = max(0, self._parentheses - 1)
            elif spelled[:2] in ("//", "/*"):
                # A comment before a header is no part of it, however long it is.
                if piece.start() - self._start < _HEADER_CHARS and not self._text[self._start : piece.start()].strip():
                    self._start = piece.end()
            elif spelled.lstrip()[0] == "#" and self._language != "php":  # a comment, or a line of the preprocessor
                self._start, self._parentheses = piece.end(), 0
                if self._language != "bash":
                    self._floor = self._numbers.at(piece.start())
        if self._braces:
            self.lost_line = self._numbers.at(self._braces[-1].at)
        for index in self._around:
            self._definitions[index] = ended(self._definitions[index], self._numbers.last)
        return self._definitions

    def _open_brace(self, at: int) -> None:
        index = -1
        if not self._parentheses:
            definition = self._definition_before(at)
            if definition is not None and not self._is_call_in_body(definition):
                index = len(self._definitions)
                self._definitions.append(self._placed(definition))
                self._around.append(index)
        self._braces.append(
            _Brace(
                index=index,
                parentheses=self._parentheses,
                start=self._start,
                definition_count=len(self._definitions),
                at=at,
            )
        )
        self._start, self._parentheses = at + 1, 0

    def _is_call_in_body(self, definition: Definition) -> bool:
        """Return True for a call with a block in a function, where the language has no functions in functions."""
        if self._language not in _FLAT or definition.kind != "function" or not self._around:
            return False
        return self._definitions[self._around[-1]].kind in ("function", "method")

    def _close_brace(self, at: int) -> None:
        if not self._braces:
            self.lost_line = self.lost_line or self._numbers.at(at)
        brace = self._braces.pop() if self._braces else _Brace(-1, 0, 0, 0, at)
        # A definition inside the braces ends the header that began before them.
        continues = brace.parentheses > 0 and len(self._definitions) <= brace.definition_count
        self._parentheses = brace.parentheses if continues else 0
        self._start = brace.start if continues else at + 1
        if brace.index >= 0:
            self._around.pop()
            self._definitions[brace.index] = ended(self._definitions[brace.index], self._numbers.at(at))
        if not continues:
            self._floor = self._numbers.at(at)

    def _definition_before(self, brace: int) -> Definition | None:
        """Return the definition whose body starts at a brace. Its header begins at `_start` or on a later line."""
        language = self._language
        start = self._start
        if brace - start > _HEADER_CHARS:  # from a line start on, because a name must not be cut
            start = self._text.find("\n", brace - _HEADER_CHARS, brace) + 1 or brace
        text = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), self._text[start:brace])
        at = _header_start(text, language)
        header = None
        if language in _BY_LINES:
            # Line ends separate statements here, so the header is the shortest run of last lines that is one.
            starts = [at, *(found.end() for found in re.finditer(r"\n\s*(?=\S)", text) if found.end() > at)]
            for at in reversed(starts[-_HEADER_LINES:]):
                if text.count("(", at) == text.count(")", at) and (header := _parse_header(text[at:], language)):
                    break
        else:
            header = _parse_header(text[at:], language)
        if header is None:
            return None
        named_at = text.find(header.name, at)
        line = self._numbers.at(start + (named_at if named_at >= 0 else at))
        return Definition(
            name=header.name,
            kind=header.kind,
            line=line,
            first=self._numbers.at(start + at),
            last=line,
            signature=squeeze(text[at:]).rstrip("{= ").removesuffix("=>").rstrip(),
            owner=header.owner,
        )

    def _placed(self, definition: Definition) -> Definition:
        """Return a definition with its parent, the comment above it, and the kind that follows from its parent."""
        parent = self._around[-1] if self._around else -1
        around = self._definitions[parent] if parent >= 0 else None
        is_method = definition.kind == "function" and around is not None and around.kind in _CLASSES
        top = min(definition.first, definition.line)
        floor = max(self._floor, 0 if around is None else around.line)
        first = comment_start(self._lines, top, min(floor, top - 1), self._comments)
        return replace(
            definition,
            kind="method" if is_method else definition.kind,
            first=first if around is None else max(first, around.line),
            parent=parent,
        )


def _header_start(text: str, language: str) -> int:
    """Return the offset of the first character after blanks, attributes and the template parameters of C++."""
    at = _skip_blanks(text, 0)
    while attribute := _ATTRIBUTE.match(text, at):
        at = attribute.end()
    at = _skip_blanks(text, at)
    if language == "cpp" and text.startswith("template", at):
        angle = text.rfind(">\n", at)
        at = _skip_blanks(text, angle + 1 if angle > 0 else at)
    return at


def _skip_blanks(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip())


# --- indentation ------------------------------------------------------------------------------------------------------

_RUBY = re.compile(r"[ \t]*(def|class|module)[ \t]+(?:self\.)?([\w:?!=<>\[\]+*/%~^&|-]+)")
_LUA = re.compile(r"[ \t]*(?:local[ \t]+)?(function)[ \t]+([\w.:]+)")
_LINE_CHARS = 400


def _by_indentation(text: str, language: str) -> Shape:
    """Return definitions that end with an `end` in their column, or before the next one that is not indented deeper."""
    lines = text.split("\n")
    pattern, comments = (_RUBY, ("#",)) if language == "ruby" else (_LUA, ("--",))
    nesting = Nesting()
    lost_line = 0
    for number, line in enumerate(lines, 1):
        body = line.strip()
        match = pattern.match(line[:_LINE_CHARS])
        is_end = body == "end" or body.startswith(("end ", "end;", "end)", "end,"))
        if not match and not is_end:
            continue
        indent = len(line) - len(line.lstrip())
        while nesting.column >= indent:
            is_own_end = is_end and nesting.column == indent
            if not is_own_end:
                lost_line = lost_line or number
            nesting.close(number if is_own_end else number - 1)
            if is_own_end:
                break
        if not match:
            continue
        kind = {"def": "method", "class": "class", "module": "namespace"}.get(match[1], "function")
        owner, _, name = match[2].replace("::", ".").replace(":", ".").strip(".").rpartition(".")
        definition = Definition(
            name=name,
            kind="function" if kind == "method" and not nesting.open else kind,
            line=number,
            first=comment_start(lines, number, nesting.parent_line, comments),
            last=number,
            parent=nesting.parent,
            signature=squeeze(line[:_LINE_CHARS]),
            owner=owner,
        )
        nesting.add(definition, indent)
        if body.endswith((" end", ";end")):
            nesting.close(number)
    lost_line = lost_line or nesting.parent_line
    nesting.close_all(LineNumbers(text).last)
    return Shape(nesting.definitions, lost_line)
