"""Outline Python source by Python's own parser, or by indentation if the parser rejects it.

The parser is that of the running Python, called through `compile`, which builds the tree, runs nothing and limits the
nesting. Functions and classes are found anywhere (under `if`, in `try`, in other functions); names assigned in a module
are constants, in a class fields, each at its first assignment.
"""

from __future__ import annotations

import _ast
import re
import unicodedata  # noqa: F401  The parser loads it for names that are not ASCII, and the sandbox opens no files.
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from eyespan.outline.model import Definition, Nesting, Outline, build_outline
from eyespan.outline.source_text import comment_start, decode_text, squeeze

Scope = Literal["module", "class", "function"]

MAX_PARSED_BYTES = 1 << 20
"""The parser cannot be interrupted and takes up to two seconds for this much. Handwritten files are smaller."""
HEADER_CHARS = 4000
ASSIGNMENT_CHARS = 60
TAB_COLUMNS = 8
_FILE_NAME = "<eyespan outline>"
_FILE_NAME_PATTERN = re.escape(_FILE_NAME)
_DEFINITION = re.compile(r"([ \t\f]*)(?:async[ \t]+def|def|class)[ \t]+([^\W\d]\w*)")
_ASSIGNMENT = re.compile(r"([^\W\d]\w*)[ \t]*(?::[^=\n]+)?=(?!=)")
_DECORATOR = re.compile(r"[ \t\f]*@[ \t]*[^\W\d]")
_PIECE = re.compile(
    r'''("""|\'\'\'|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|#[^\n]*|[()\[\]{}]|:(?!=)|\n''', re.DOTALL
)
_TRIPLE_END = {'"""': re.compile(r'(?:\\.|[^\\])*?"""', re.DOTALL), "'''": re.compile(r"(?:\\.|[^\\])*?'''", re.DOTALL)}
_STATEMENT_LISTS = ("body", "handlers", "orelse", "finalbody", "cases")
"""The fields of nodes that hold statements, in file order."""


def scan(data: bytes, language: str) -> Outline:
    """Return the classes, functions, constants and fields of Python source."""
    text = decode_text(data)
    tree = None
    if len(data) <= MAX_PARSED_BYTES:
        tree = _parse(data if data[:2] not in (b"\xff\xfe", b"\xfe\xff") else text)
    if tree is None:
        return build_outline(_IndentationScanner(text).run(), "shape", is_complete=False)
    return build_outline(_by_tree(tree, text), "ast")


def _parse(source: bytes | str) -> _ast.Module | None:
    # Warnings about the source (an invalid escape) do not concern this process. The filter is for the one name that is
    # compiled here; it is set again if a test or a host has cleared the list.
    if not any(
        row[0] == "ignore" and row[3] is not None and row[3].pattern == _FILE_NAME_PATTERN for row in warnings.filters
    ):
        warnings.filterwarnings("ignore", module=_FILE_NAME_PATTERN)
    try:
        tree = compile(source, _FILE_NAME, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return tree if isinstance(tree, _ast.Module) else None


# --- by the parser ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    """A node that is still to be visited, with its surroundings."""

    node: _ast.AST
    parent: int
    """The index of the definition around it, or -1."""
    scope: Scope
    floor: int
    """The last line of the statement before it."""


def _by_tree(tree: _ast.Module, text: str) -> Iterator[Definition]:
    lines = text.split("\n")
    file_line = _file_lines(text)
    count = 0
    assigned: set[tuple[int, str]] = set()
    # A stack instead of recursion, so that no nesting is too deep.
    stack = _children(tree, -1, "module", 0)[::-1]
    while stack:
        visit = stack.pop()
        node, parent, scope = visit.node, visit.parent, visit.scope
        inner_parent, inner_scope = parent, scope
        if isinstance(node, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
            line = file_line(node.lineno)
            top = min([line, *(file_line(decorator.lineno) for decorator in node.decorator_list)])
            is_class = isinstance(node, _ast.ClassDef)
            yield Definition(
                name=node.name,
                kind="class" if is_class else "method" if scope == "class" else "function",
                line=line,
                first=comment_start(lines, top, file_line(visit.floor)),
                last=file_line(node.end_lineno or node.lineno),
                parent=parent,
                signature=_header(lines, line, node.name),
            )
            inner_parent, inner_scope = count, "class" if is_class else "function"
            count += 1
        elif scope != "function":
            for name in _assigned_names(node):
                if (parent, name) in assigned:
                    continue
                assigned.add((parent, name))
                line = file_line(node.lineno)  # type: ignore[attr-defined]  # a statement
                yield Definition(
                    name=name,
                    kind="field" if scope == "class" else "constant",
                    line=line,
                    first=comment_start(lines, line, file_line(visit.floor)),
                    last=file_line(node.end_lineno or node.lineno),  # type: ignore[attr-defined]  # a statement
                    parent=parent,
                    signature=_assignment(lines[line - 1]),
                )
                count += 1
        stack += _children(node, inner_parent, inner_scope, visit.floor)[::-1]


def _children(node: _ast.AST, parent: int, scope: Scope, floor: int) -> list[_Node]:
    """Return the statements in a node, in file order."""
    children: list[_Node] = []
    for field in _STATEMENT_LISTS:
        statements = getattr(node, field, None)
        if isinstance(statements, list):
            last = getattr(node, "lineno", floor)
            for statement in statements:
                children.append(_Node(statement, parent, scope, last))
                last = max(last, getattr(statement, "end_lineno", None) or last)
    return children


def _assigned_names(node: _ast.AST) -> Iterator[str]:
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


def _file_lines(text: str) -> Callable[[int], int]:
    """Return a function from the parser's line numbers to those of the file.

    They differ after a carriage return without a line feed, which ends a line for the parser only.
    """
    if text.count("\r") == text.count("\r\n"):
        return lambda line: line
    numbers = [0]
    line = 1
    for end in re.split("(\r\n|\r|\n)", text)[1::2]:
        numbers.append(line)
        line += end != "\r"
    numbers.append(line)
    return lambda parsed: numbers[min(parsed, len(numbers) - 1)]


# --- signatures -------------------------------------------------------------------------------------------------------


def _header(lines: list[str], line: int, name: str) -> str:
    """Return a definition as the file spells it, up to its colon, on one line."""
    text = lines[line - 1]
    if not text.rstrip().endswith(":"):  # the header continues below, or the body follows on the same line
        text = "\n".join(lines[line - 1 : line - 1 + 41])[:HEADER_CHARS]
    start = re.search(rf"(?:async\s+def|def|class)\s+{re.escape(name)}\b", text)
    at = start.start() if start else 0
    depth, pieces, begin = 0, [], at
    while at < len(text):
        piece = _PIECE.search(text, at)
        if piece is None:
            break
        at = piece.end()
        spelled = piece[0]
        if piece[1] in _TRIPLE_END:
            end = _TRIPLE_END[piece[1]].match(text, at)
            at = end.end() if end else len(text)
        elif spelled[0] == "#":
            pieces.append(text[begin : piece.start()])
            begin = at
        elif spelled in "([{":
            depth += 1
        elif spelled in ")]}":
            depth -= 1
        elif spelled in ":\n" and depth <= 0:
            at = piece.start()
            break
    pieces.append(text[begin:at])
    return squeeze("".join(pieces))


def _assignment(line: str) -> str:
    """Return an assignment on one line: with its value if that is short, else only the target."""
    text = " ".join(line.split())
    if len(text) <= ASSIGNMENT_CHARS:
        return text.rstrip("([{ ").removesuffix("=").rstrip()
    return text.split(" = ", 1)[0][:ASSIGNMENT_CHARS]


# --- by indentation ---------------------------------------------------------------------------------------------------


class _IndentationScanner:
    """Find what looks like definitions outside of strings; each ends before the next line that is not indented deeper.

    One pass over the lines of a text.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = _lines_outside_strings(text)
        self._nesting = Nesting()
        self._constants: set[str] = set()
        self._decorator = 0
        """The line of the first decorator of the definition that follows, or 0."""
        self._decorator_indent = 0
        self._last = 0
        """The last line of what is open."""

    def run(self) -> list[Definition]:
        for number, line in enumerate(self._lines, 1):
            if number not in self._starts:
                self._last = number  # in a string over several lines, which belongs to what is open
                continue
            body = line.strip()
            if body and body[0] != "#":
                columns = line.expandtabs(TAB_COLUMNS)
                self._scan_line(number, body, len(columns) - len(columns.lstrip()))
        self._nesting.close_all(self._last)
        return self._nesting.definitions

    def _scan_line(self, number: int, body: str, indent: int) -> None:
        line = self._lines[number - 1]
        closes_bracket = body[0] in ")]}"
        if not closes_bracket:  # the end of an argument list can stand in the column of its definition
            self._nesting.close_from(indent, self._last)
        self._last = number
        if _DECORATOR.match(line):
            self._decorator = self._decorator or number
            self._decorator_indent = indent
            return
        definition = _DEFINITION.match(line)
        if definition:
            self._add_definition(number, definition, indent)
        elif self._decorator and (indent > self._decorator_indent or closes_bracket):
            return  # the arguments of a decorator
        elif indent == 0 and (assignment := _ASSIGNMENT.match(line)):
            self._add_constant(number, assignment[1])
        self._decorator = 0

    def _add_definition(self, number: int, match: re.Match[str], indent: int) -> None:
        nesting = self._nesting
        while nesting.parent_kind == "constant":
            nesting.open.pop()  # broken source: a value holds no definition, so the constant ends on its first line
        kind = "class" if match[0].split()[0] == "class" else "function"
        if kind == "function" and nesting.parent_kind == "class":
            kind = "method"
        first = comment_start(self._lines, self._decorator or number, nesting.parent_line)
        nesting.add(match[2], kind, number, indent, first=first, signature=_header(self._lines, number, match[2]))

    def _add_constant(self, number: int, name: str) -> None:
        if name in self._constants:
            return
        self._constants.add(name)
        # Open, because indented lines below it are its value.
        first, signature = comment_start(self._lines, number), _assignment(self._lines[number - 1])
        self._nesting.add(name, "constant", number, first=first, signature=signature)


def _lines_outside_strings(text: str) -> set[int]:
    """Return the lines that do not begin inside a string of three quotes. An unclosed one ends where it starts."""
    starts = {1}
    row, at = 1, 0
    unclosed: set[str] = set()
    while True:
        piece = _PIECE.search(text, at)
        if piece is None:
            return starts
        at = piece.end()
        if piece[1] in _TRIPLE_END:
            if piece[1] in unclosed:  # later ones are unclosed too; searching each time would take quadratic time
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
