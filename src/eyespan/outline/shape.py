"""Source code without a grammar: what looks like a definition, to its closing brace or by its indentation.

A guess, and told as one. Strings and comments are skipped, so a brace in them misleads nobody; macros, templates, here
documents and whatever else needs the grammar do. Takes time in proportion to the text, whatever is in it.
"""

from __future__ import annotations

import re

from eyespan.outline.model import Find, Rows, ended
from eyespan.outline.python import above, squeeze

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
_WORD = re.compile(rf"\s*{_MODIFIERS}(?:fn|func|fun|function|def)\b\s*\*?\s*(?:\([^()]*\)\s*)?{_NAME}")
_GO_TYPE = re.compile(rf"\s*type\s+{_NAME}(?:\[[^\]]*\])?\s+(struct|interface)\b")
_GO_OWNER = re.compile(r"\s*func\s*\(\s*(?:\w+\s+)?\*?\s*(\w+)")
_SHELL = re.compile(r"\s*([\w.:-]+)\s*\(\)")
_ARROW = re.compile(
    rf"\s*(?:(?:export|const|let|var|static|public|private|readonly)\s+|[\w$]+\.)*{_NAME}\s*(?::[^=]+)?="
    r"(?:[^=]*=>|\s*(?:async\s+)?function\b[^=]*)\s*$"
)
_CALLED = re.compile(r"((?:[A-Za-z_]\w*::)*~?[A-Za-z_$#][\w$]*)$")
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
_HEADER_LINES = 12
_HEADER_CHARS = 600
"""How far before a brace its definition is looked for."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_ATTRIBUTE = re.compile(
    r"\s*(?:@[\w.]+(?:\([^()]*\))?|\[[^\]]*\]|#\[[^\]]*\]|(?:public|private|protected)[ \t]*:)(?=\s)"
)


def finds_by_shape(text: str, language: str) -> list[Find]:
    return _indented(text, language) if language in ("ruby", "lua") else _braced(text, language)


# --- what a header says -----------------------------------------------------------------------------------------------


def _named(header: str, language: str) -> tuple[str, str, str] | None:
    """The name, kind and owner of what this text before a brace defines, if it does."""
    if language in ("c", "cpp") and "(" in header:
        return _called(header)
    if match := _TYPE.match(header):
        kind = match[1].split()[0]
        return match[2], _KINDS.get(kind, kind), ""
    if match := _WORD.match(header):
        owner = _GO_OWNER.match(header) if language == "go" else None
        return match[1], "method" if owner else "function", owner[1] if owner else ""
    if language == "go" and (match := _GO_TYPE.match(header)):
        return match[1], match[2], ""
    if language in ("javascript", "typescript", "tsx") and (match := _ARROW.match(header)):
        return match[1], "function", ""
    if language == "bash" and (match := _SHELL.match(header)):
        return match[1], "function", ""
    return None if language in _ONLY_BY_WORD else _called(header)


def _called(header: str) -> tuple[str, str, str] | None:
    """The same for a definition without a word of its own, like `int main(void)`."""
    before, parenthesis, _ = header.partition("(")
    before = before.rstrip()
    match = _CALLED.search(before[-200:])
    if not parenthesis or match is None or match[1] in _NO_NAMES or "=" in before:
        return None
    words = before[: len(before) - len(match[1])].split()
    if words and (words[-1] in _NO_NAMES or words[-1].endswith((".", ",", "->"))):
        return None
    owner, _, name = match[1].rpartition("::")
    return name, "function", owner.replace("::", ".")


# --- braces -----------------------------------------------------------------------------------------------------------


def _pieces(language: str) -> re.Pattern[str]:
    """Comments, strings and what structures a text. None can fail after having read far."""
    parts = [r'"(?:\\.|[^"\\\n])*"?']
    # A quote before a name may be a lifetime or a symbol there, and ends nowhere.
    parts.append(r"'(?:\\.|[^'\\\n])'" if language in ("rust", "scala", "kotlin") else r"'(?:\\.|[^'\\\n])*'?")
    if language in ("javascript", "typescript", "tsx", "go"):
        parts.append(r"`(?:\\.|[^`\\])*`?")
    if language == "bash":
        parts += [r"(?<!\S)#[^\n]*", r"\$\{[^}\n]*\}?"]
    else:
        parts += [r"//[^\n]*", r"/\*.*?(?:\*/|\Z)"]
    if language == "php":
        parts.append(r"#(?!\[)[^\n]*")
    if language in ("c", "cpp", "csharp"):
        parts.append(r"^[ \t]*#(?:\\.|[^\n\\])*")
    parts.append(r"[{}();]")
    return re.compile("|".join(parts), re.DOTALL | re.MULTILINE)


def _braced(text: str, language: str) -> list[Find]:
    lines = text.split("\n")
    row = Rows(text)
    marks = ("#",) if language == "bash" else ("//", "/*", " *", "#[", "@", "[")
    finds: list[Find] = []
    # For each open brace: the find it is the body of, and the parentheses, start and number of finds before it.
    open_: list[tuple[int, int, int, int]] = []
    around: list[int] = []  # the finds among them
    start = parentheses = floor = 0
    for piece in _pieces(language).finditer(text):
        what = piece[0]
        if what == "{":
            index = -1
            if not parentheses:
                parent = around[-1] if around else -1
                find = _opened(text, lines, row, max(start, piece.start() - _HEADER_CHARS), piece.start(), language)
                if find is not None:
                    limit = max(floor, finds[parent].line if parent >= 0 else 0)
                    index = len(finds)
                    finds.append(_placed(find, lines, finds, parent, limit, marks))
                    around.append(index)
            open_.append((index, parentheses, start, len(finds)))
            start, parentheses = piece.end(), 0
        elif what == "}":
            index, parentheses, before, known = open_.pop() if open_ else (-1, 0, 0, 0)
            if len(finds) > known:  # what was defined in there does not come before what is around it
                parentheses = 0
            start = before if parentheses else piece.end()
            if index >= 0:
                around.pop()
                finds[index] = ended(finds[index], row(piece.start()))
            if not parentheses:
                floor = row(piece.start())
        elif what == ";":
            if not parentheses:
                start, floor = piece.end(), row(piece.start())
        elif what == "(":
            parentheses += 1
        elif what == ")":
            parentheses = max(0, parentheses - 1)
        elif what.lstrip()[0] == "#" and language != "php":
            start, parentheses = piece.end(), 0
            floor = row(piece.start()) if language != "bash" else floor
    for index in around:
        finds[index] = ended(finds[index], row.last)
    return finds


def _opened(text: str, lines: list[str], row: Rows, start: int, end: int, language: str) -> Find | None:
    """What the text from `start` to a brace at `end` defines. A header begins on a line of its own, or at `start`."""
    header = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text[start:end])
    at = len(header) - len(header.lstrip())
    while attribute := _ATTRIBUTE.match(header, at):
        at = attribute.end()
    at += len(header[at:]) - len(header[at:].lstrip())
    if language == "cpp" and header.startswith("template", at):
        angle = header.rfind(">\n", at)
        at = angle + 1 if angle > 0 else at
        at += len(header[at:]) - len(header[at:].lstrip())
    named = None
    if language in _BY_LINES:
        # Where line ends end statements, what comes before may be another: the last lines that make a header are it.
        starts = [at, *(found.end() for found in re.finditer(r"\n\s*(?=\S)", header) if found.end() > at)]
        for at in reversed(starts[-_HEADER_LINES:]):
            if header.count("(", at) == header.count(")", at) and (named := _named(header[at:], language)):
                break
    else:
        named = _named(header[at:], language)
    if named is None:
        return None
    name, kind, owner = named
    found = header.find(name, at)
    line = row(start + (found if found >= 0 else at))
    signature = squeeze(header[at:]).rstrip("{= ").removesuffix("=>").rstrip()
    return Find(name, kind, line, row(start + at), line, -1, signature, owner)


def _placed(find: Find, lines: list[str], finds: list[Find], parent: int, limit: int, marks: tuple[str, ...]) -> Find:
    kind = find.kind
    if kind == "function" and parent >= 0 and finds[parent].kind in _CLASSES:
        kind = "method"
    top = min(find.first, find.line)
    first = above(lines, top, min(limit, top - 1), marks)
    if parent >= 0:
        first = max(first, finds[parent].line)
    return Find(find.name, kind, find.line, first, find.line, parent, find.signature, find.owner)


# --- indentation ------------------------------------------------------------------------------------------------------

_RUBY = re.compile(r"[ \t]*(def|class|module)[ \t]+(?:self\.)?([\w:?!=<>\[\]+*/%~^&|-]+)")
_LUA = re.compile(r"[ \t]*(?:local[ \t]+)?(function)[ \t]+([\w.:]+)")
_LINE_CHARS = 400


def _indented(text: str, language: str) -> list[Find]:
    """Definitions that end with an `end` as far in as they are themselves, or before the next that is no further in."""
    lines = text.split("\n")
    pattern, marks = (_RUBY, ("#",)) if language == "ruby" else (_LUA, ("--",))
    finds: list[Find] = []
    open_: list[tuple[int, int]] = []
    for row, line in enumerate(lines, 1):
        body = line.strip()
        match = pattern.match(line[:_LINE_CHARS])
        closes = body == "end" or body.startswith(("end ", "end;", "end)", "end,"))
        if not match and not closes:
            continue
        indent = len(line) - len(line.lstrip())
        while open_ and indent <= open_[-1][1]:
            index, column = open_.pop()
            ends = closes and indent == column
            finds[index] = ended(finds[index], row if ends else row - 1)
            if ends:
                break
        if not match:
            continue
        parent = open_[-1][0] if open_ else -1
        kind = {"def": "method", "class": "class", "module": "namespace"}.get(match[1], "function")
        if kind == "method" and parent < 0:
            kind = "function"
        owner, _, name = match[2].replace("::", ".").replace(":", ".").strip(".").rpartition(".")
        floor = finds[parent].line if parent >= 0 else 0
        signature = squeeze(line[:_LINE_CHARS])
        finds.append(Find(name, kind, row, above(lines, row, floor, marks), row, parent, signature, owner))
        if not body.endswith((" end", ";end")):
            open_.append((len(finds) - 1, indent))
    last = Rows(text).last
    for index, _ in open_:
        finds[index] = ended(finds[index], last)
    return finds
