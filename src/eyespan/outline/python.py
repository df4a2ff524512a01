"""Python, by its own parser; by indentation where that refuses.

The parser is the one of the running Python, through `compile`, which makes the tree and runs nothing. It has guards of
its own against deep nesting. Functions and classes are found wherever they stand (under `if`, in `try`, in other
functions); names assigned in a module are constants, in a class fields, each where it is assigned first.
"""

from __future__ import annotations

import _ast
import re
import warnings

from eyespan.outline.model import Find, build, ended, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.outline.model import Outline

_FILE = "<eyespan outline>"
_DEFINITION = re.compile(r"([ \t\f]*)(?:async[ \t]+def|def|class)[ \t]+([^\W\d]\w*)")
_ASSIGNMENT = re.compile(r"([^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)")
_DECORATOR = re.compile(r"[ \t\f]*@[ \t]*[^\W\d]")
_PIECE = re.compile(
    r'''("""|\'\'\'|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|#[^\n]*|[()\[\]{}]|:(?!=)|\n''', re.DOTALL
)
_TRIPLE_END = {'"""': re.compile(r'(?:\\.|[^\\])*?"""', re.DOTALL), "'''": re.compile(r"(?:\\.|[^\\])*?'''", re.DOTALL)}
MAX_PARSED_BYTES = 1 << 20
"""The parser cannot be interrupted, and takes up to two seconds for so much; files that people wrote are smaller."""
_HEADER_CHARS = 4000
_ASSIGNMENT_CHARS = 60
_STATEMENT_LISTS = ("body", "orelse", "finalbody", "handlers", "cases")


def look(data: bytes, language: str) -> Outline:
    text = text_of(data)
    if len(data) > MAX_PARSED_BYTES:
        return build(_by_indentation(text), "shape", complete=False)
    tree = _parse(data if data[:2] not in (b"\xff\xfe", b"\xfe\xff") else text)
    if tree is None:
        return build(_by_indentation(text), "shape", complete=False)
    return build(_by_tree(tree, text), "ast")


def _parse(source: bytes | str) -> _ast.Module | None:
    # A warning about the source (an invalid escape) is no business of the process that looks at it. The filter is for
    # the one name under which we compile; put back where a test or a host has cleared the list.
    if not any(row[0] == "ignore" and row[3] is not None and row[3].pattern == _MODULE for row in warnings.filters):
        warnings.filterwarnings("ignore", module=_MODULE)
    try:
        tree = compile(source, _FILE, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return tree if isinstance(tree, _ast.Module) else None


_MODULE = re.escape(_FILE)


# --- by the parser ----------------------------------------------------------------------------------------------------


def _by_tree(tree: _ast.Module, text: str) -> Iterator[Find]:
    lines = text.split("\n")
    number = _numbering(text)
    found = 0
    assigned: set[tuple[int, str]] = set()
    # A stack of what is still to be looked at, so that no nesting is too deep: statement, index of the symbol around
    # it, whether that is a class, the last line before it that is not its own.
    work: list[tuple[_ast.AST, int, str, int]] = [(node, -1, "module", floor) for node, floor in _floors(tree.body, 0)]
    work.reverse()
    while work:
        node, parent, place, floor = work.pop()
        inner, within = parent, place
        if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
            line, last = number(node.lineno), number(node.end_lineno or node.lineno)
            top = min([line, *(number(decorator.lineno) for decorator in node.decorator_list)])
            kind = "class" if isinstance(node, _ast.ClassDef) else "method" if place == "class" else "function"
            yield Find(
                node.name, kind, line, above(lines, top, number(floor)), last, parent, header(lines, line, node.name)
            )
            inner, within = found, "class" if kind == "class" else "function"
            found += 1
        elif place != "function":
            for name in _assigned(node):
                if (parent, name) in assigned:
                    continue
                assigned.add((parent, name))
                line, last = number(node.lineno), number(node.end_lineno or node.lineno)  # type: ignore[attr-defined]  # a statement
                kind = "field" if place == "class" else "constant"
                yield Find(
                    name, kind, line, above(lines, line, number(floor)), last, parent, assignment(lines[line - 1])
                )
                found += 1
        below: list[tuple[_ast.AST, int, str, int]] = []
        for field in _STATEMENT_LISTS:
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                start = getattr(node, "lineno", floor)
                below += [(child, inner, within, limit) for child, limit in _floors(statements, start)]
        work += below[::-1]


def _floors(statements: list[_ast.stmt] | list[_ast.AST], start: int) -> Iterator[tuple[_ast.AST, int]]:
    """Each statement with the last line of the one before it."""
    for statement in statements:
        yield statement, start
        start = max(start, getattr(statement, "end_lineno", None) or start)


def _assigned(node: _ast.AST) -> Iterator[str]:
    if isinstance(node, _ast.Assign):
        targets = list(node.targets)
        while targets:
            target = targets.pop(0)
            if isinstance(target, _ast.Name):
                yield target.id
            elif isinstance(target, (_ast.Tuple, _ast.List)):
                targets[:0] = target.elts
            elif isinstance(target, _ast.Starred):
                targets.insert(0, target.value)
    elif isinstance(node, _ast.AnnAssign) and isinstance(node.target, _ast.Name):
        yield node.target.id
    elif type(node).__name__ == "TypeAlias":  # Python 3.12 and later
        yield node.name.id  # type: ignore[attr-defined]  # the stubs of 3.11 do not know it


class _Same:
    """The parser's line numbers where they are the file's."""

    def __call__(self, line: int) -> int:
        return line


class _Counted:
    """The parser also ends a line at a carriage return that stands alone; a file's line ends at a line feed only."""

    def __init__(self, text: str) -> None:
        self.lines = [0]
        line = 1
        for piece in re.split("(\r\n|\r|\n)", text)[1::2]:
            self.lines.append(line)
            line += piece != "\r"
        self.lines.append(line)

    def __call__(self, line: int) -> int:
        return self.lines[min(line, len(self.lines) - 1)]


def _numbering(text: str) -> _Same | _Counted:
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return _Counted(text)
    return _Same()


# --- what stands around a definition ----------------------------------------------------------------------------------


def above(lines: list[str], top: int, floor: int = 0, marks: tuple[str, ...] = ("#",)) -> int:
    """The first line of the comment directly above line `top`, indented as it is, or `top`; never `floor` or before."""
    start = lines[top - 1]
    indent = start[: len(start) - len(start.lstrip())]
    first = top
    while first - 1 > floor:
        line = lines[first - 2]
        body = line[len(indent) :]
        if not line.startswith(indent) or not body.startswith(marks) or (first == 2 and body.startswith("#!")):
            break
        first -= 1
    return first


def header(lines: list[str], line: int, name: str) -> str:
    """A definition as it is spelled, up to its colon, on one line."""
    text = lines[line - 1]
    if not text.rstrip().endswith(":"):  # it goes on below, or its body stands behind it
        text = "\n".join(lines[line - 1 : line + 40])[:_HEADER_CHARS]
    start = re.search(rf"(?:async\s+def|def|class)\s+{re.escape(name)}\b", text)
    at = start.start() if start else 0
    depth, pieces, begin = 0, [], at
    while at < len(text):
        piece = _PIECE.search(text, at)
        if piece is None:
            break
        at = piece.end()
        what = piece[0]
        if piece[1] in _TRIPLE_END:
            end = _TRIPLE_END[piece[1]].match(text, at)
            at = end.end() if end else len(text)
        elif what[0] == "#":
            pieces.append(text[begin : piece.start()])
            begin = at
        elif what in "([{":
            depth += 1
        elif what in ")]}":
            depth -= 1
        elif (what == ":" and depth <= 0) or (what == "\n" and depth <= 0):
            at = piece.start()
            break
    pieces.append(text[begin:at])
    return squeeze("".join(pieces))


def assignment(line: str) -> str:
    """An assignment on one line: the value where it is short, else only what is before it."""
    text = " ".join(line.split())
    if len(text) <= _ASSIGNMENT_CHARS:
        return text.rstrip("([{ ").removesuffix("=").rstrip()
    return text.split(" = ", 1)[0][:_ASSIGNMENT_CHARS]


def squeeze(text: str) -> str:
    """Spelled over many lines or one, the same."""
    text = " ".join(text.split())
    return text.replace("( ", "(").replace(",)", ")").replace(", )", ")").replace(" )", ")")


# --- by indentation ---------------------------------------------------------------------------------------------------


def _by_indentation(text: str) -> list[Find]:
    """What looks like definitions outside of strings, each to the last line that is indented deeper."""
    lines = text.split("\n")
    starts = _lines_outside_strings(text)
    finds: list[Find] = []
    open_: list[tuple[int, int]] = []  # index of a find whose end is not known, its indentation
    known: set[str] = set()
    decorated = margin = end = 0
    for row, line in enumerate(lines, 1):
        if row not in starts:
            end = row  # within a string that spans lines: part of whatever is open
            continue
        body = line.strip()
        if not body or body[0] == "#":
            continue
        indent = len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())
        if not (body[0] in ")]}" and open_):  # the end of an argument list stands where the definition does
            while open_ and indent <= open_[-1][1]:
                _end(finds, open_.pop()[0], end)
        end = row
        if _DECORATOR.match(line):
            decorated, margin = decorated or row, indent
            continue
        match = _DEFINITION.match(line)
        if decorated and not match and (indent > margin or body[0] in ")]}"):
            continue  # the arguments of a decorator
        if match:
            kind = "class" if match[0].split()[0] == "class" else "function"
            while open_ and finds[open_[-1][0]].kind == "constant":
                open_.pop()
            parent = open_[-1][0] if open_ else -1
            if kind == "function" and parent >= 0 and finds[parent].kind == "class":
                kind = "method"
            floor = finds[parent].line if parent >= 0 else 0
            first = above(lines, decorated or row, floor)
            finds.append(Find(match[2], kind, row, first, row, parent, header(lines, row, match[2])))
            open_.append((len(finds) - 1, indent))
        elif indent == 0 and (match := _ASSIGNMENT.match(line)) and match[1] not in known:
            known.add(match[1])
            finds.append(Find(match[1], "constant", row, above(lines, row), row, -1, assignment(line)))
            open_.append((len(finds) - 1, 0))  # what is indented below it is its value
        decorated = 0
    while open_:
        _end(finds, open_.pop()[0], end)
    return finds


def _end(finds: list[Find], index: int, last: int) -> None:
    finds[index] = ended(finds[index], last)


def _lines_outside_strings(text: str) -> set[int]:
    """The lines that do not begin inside a string of three quotes. One that is never closed ends where it starts."""
    starts = {1}
    row, at = 1, 0
    unclosed: set[str] = set()
    while True:
        piece = _PIECE.search(text, at)
        if piece is None:
            return starts
        at = piece.end()
        if piece[1] in _TRIPLE_END:
            if piece[1] in unclosed:  # nor will the next one be; asking each time would take the square of the time
                continue
            end = _TRIPLE_END[piece[1]].match(text, at)
            if end:
                row += end[0].count("\n")
                at = end.end()
            else:
                unclosed.add(piece[1])
        elif piece[0] == "\n":
            row += 1
            starts.add(row)
        elif piece[1]:
            row += piece[1].count("\n")
