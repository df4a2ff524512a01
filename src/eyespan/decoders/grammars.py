"""Find definitions with tree-sitter grammars, by the queries of `grammars_queries`.

`outlines` runs them in the sandboxed worker. Grammars come from single wheels and need no network.

Nothing here limits the time: the binding's way to stop a parser (`progress_callback`, tree-sitter 0.26.0) crashes the
process, so only killing it stops a parser. In the same release `Point.row` and `Point.column` free a number that is
still in use, so points are read by index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from eyespan.decoders.grammars_queries import QUERIES
from eyespan.errors import Missing, shortage
from eyespan.model import MAX_SYMBOLS
from eyespan.outline.rewrite import Rewritten, rewrite, without_conditionals

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, QueryCursor


Row = tuple[str, str, int, int, int, int, str, str]
"""name, kind, line, first, last, parent, signature, owner: the fields of a `Definition` in order."""

_WHEELS = {
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "php": ("tree_sitter_php", "language_php"),
    "csharp": ("tree_sitter_c_sharp", "language"),
}
LANGUAGES = frozenset(QUERIES)

_WRAPPERS = (
    "export_statement",
    "lexical_declaration",
    "variable_declaration",
    "expression_statement",
    "template_declaration",
    "type_declaration",
    "const_declaration",
    "var_declaration",
)
"""Nodes around a single definition that are part of it."""
_ABOVE = ("comment", "line_comment", "block_comment", "multiline_comment", "attribute_item", "decorator")
_CLASSES = ("class", "struct", "interface", "enum", "trait", "impl")
_DECLARATORS = (
    "parenthesized_declarator",
    "pointer_declarator",
    "function_declarator",
    "reference_declarator",
    "array_declarator",
)
_NO_NAMES = frozenset(
    re.findall(
        r"\S+",
        "int void char short long float double bool unsigned signed const static struct union enum if "
        "for while switch return else do case default goto sizeof",
    )
)
_STATEMENTS = frozenset(("if", "for", "while", "switch", "foreach", "return", "else", "using"))
_RUST_REFERENCE = re.compile(r"^(?:&\s*(?:'\w+\s*)?(?:mut\s+)?)+")
_SEPARATORS = {"swift": ".", "cpp": "::", "ruby": "::", "lua": ".", "javascript": ".", "typescript": ".", "tsx": "."}
SIGNATURE_BYTES = 1000
MATCH_LIMIT = 65536
MAX_ERRORS = 2000
MAX_MACROS = 2000
_ALTERNATIVES = {"javascript": ("tsx",)}
"""Grammars that are tried for source in which the language's own finds errors: JavaScript with types."""
_FLOW = (
    (re.compile(rb"\{\|"), b"{ "),
    (re.compile(rb"\|\}"), b" }"),
    (re.compile(rb"(?<=[:<,(=|&])(\s*)\?(?=[\w({'\"\[$])(?!\s*\.)"), rb"\1 "),
    (re.compile(rb"\bopaque(?=[ \t]+type\b)"), b"      "),
    (re.compile(rb"\bdeclare(?=[ \t]+type\b)"), b"       "),
    (re.compile(rb"(?<=\w)(\s*)%checks\b"), rb"\1       "),
    (re.compile(rb"(?<=[\[{,;])(\s*)[+-](?=\w+\??\s*:)"), rb"\1 "),
    (re.compile(rb"\bimport typeof\b"), b"import type  "),
)
"""Replacements of the same length, so that all positions stay."""
_ITEM = re.compile(rb"\b(?:fn|struct|enum|trait|impl|mod|type|const|static|union|use)\s")
_ITEM_REF = re.compile(rb"(\bstatic) +ref(?= )")
_BLANKED = re.compile(rb"[^\n]")


class Parsed(NamedTuple):
    """The definitions in a source."""

    rows: list[Row]
    is_whole: bool
    """False: some may be missing because the source has errors or is too large."""
    errors: list[tuple[int, int]]
    """The first and last line of each part that the grammar could not parse."""
    plain: bytes
    """The source without what no grammar can parse, for a scanner of braces."""


def load_parser(language: str) -> Callable[[bytes], Parsed]:
    """Load a grammar; return the function that finds definitions in UTF-8 source.

    Raises: Missing.
    """
    grammar = _loaded_grammar(language)
    others = [_loaded_grammar(other) for other in _ALTERNATIVES.get(language, ())]

    def parse(source: bytes) -> Parsed:
        rewritten = rewrite(source) if language in ("c", "cpp") else Rewritten(source, source, {})
        parsed, plain = rewritten.source, rewritten.plain
        if language == "csharp" and b"#if" in source:
            parsed = plain = without_conditionals(source)
        query = grammar.query
        root = grammar.parse(parsed)
        if language == "rust":
            parsed = plain = _without_item_macros(parsed, root, grammar)
            root = grammar.parse(parsed) if parsed is not source else root
        if root.has_error and others:
            typed = _without_flow(parsed) if language == "javascript" else parsed
            for other in others:
                attempt = other.parse(typed)
                if _error_bytes(attempt) < _error_bytes(root):
                    root, query = attempt, other.query
        cursor = QueryCursor(query, match_limit=MATCH_LIMIT)
        rows = _Rows(source, parsed, language, rewritten.names).collect(cursor.matches(root))
        errors = _errors(root)
        is_whole = not errors and not cursor.did_exceed_match_limit and len(rows) <= MAX_SYMBOLS
        return Parsed(rows[:MAX_SYMBOLS], is_whole, errors, plain)

    return parse


class _Grammar(NamedTuple):
    """A grammar and the query for its definitions."""

    language: Language
    query: Query

    def parse(self, source: bytes) -> Node:
        """Return the root of the tree."""
        return Parser(self.language).parse(source).root_node


def _loaded_grammar(language: str) -> _Grammar:
    """Load a grammar. Raises: Missing."""
    module, function = _WHEELS.get(language, (f"tree_sitter_{language}", "language"))
    try:
        global Language, Parser, Query, QueryCursor
        from tree_sitter import Language, Parser, Query, QueryCursor

        loaded = Language(getattr(import_module(module), function)())
        return _Grammar(loaded, Query(loaded, QUERIES[language]))
    except (ImportError, AttributeError, ValueError) as error:
        if shortage(error):
            raise
        raise Missing("", what=f"the outline of {language} source", install="pip install 'eyespan[outline]'") from error


# --- broken trees -----------------------------------------------------------------------------------------------------


def _errors(root: Node) -> list[tuple[int, int]]:
    """Return the lines of the nodes that the grammar could not parse, in file order."""
    found: list[tuple[int, int]] = []
    stack = [root] if root.has_error else []
    while stack and len(found) < MAX_ERRORS:
        node = stack.pop()
        if node.is_error or node.is_missing:
            found.append((node.start_point[0] + 1, node.end_point[0] + 1))
        stack += [child for child in node.children if child.has_error or child.is_missing]
    return sorted(found)


def _error_bytes(root: Node) -> int:
    """Return how much of the source the grammar could not parse."""
    total = 0
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            total += 1 + node.end_byte - node.start_byte
        else:
            stack += [child for child in node.children if child.has_error or child.is_missing]
    return total


def _without_flow(source: bytes) -> bytes:
    """Return JavaScript with types of Flow in the form of TypeScript, in the same places."""
    for pattern, replacement in _FLOW:
        source = pattern.sub(replacement, source)
    return source


def _without_item_macros(source: bytes, root: Node, grammar: _Grammar) -> bytes:
    """Return Rust source in which macros that wrap whole items, such as `cfg_rt! { ... }`, are blanked out."""
    rewritten = bytearray(source)
    pending = [(root, 0)]
    depth = 0
    while pending and depth < MAX_MACROS:
        node, offset = pending.pop()
        for child in node.children:
            inner = child
            if inner.type == "expression_statement" and inner.child_count:
                inner = inner.children[0]
            if inner.type in ("mod_item", "impl_item", "trait_item", "foreign_mod_item"):
                body = inner.child_by_field_name("body")
                if body is not None:
                    pending.append((body, offset))
                continue
            if inner.type != "macro_invocation":
                continue
            tree = inner.children[-1]
            if tree.type != "token_tree" or source[offset + tree.start_byte : offset + tree.start_byte + 1] != b"{":
                continue
            start, end = offset + tree.start_byte + 1, offset + tree.end_byte - 1
            if not _ITEM.search(source, start, end):
                continue
            depth += 1
            items = grammar.parse(_ITEM_REF.sub(rb"\1   ", source[start:end]))
            if items.has_error:
                continue
            header = offset + inner.start_byte
            rewritten[header:start] = _BLANKED.sub(b" ", source[header:start])
            rewritten[end : end + 1] = b" "
            for found in _ITEM_REF.finditer(source, start, end):
                rewritten[found.end(1) : found.end()] = b" " * (found.end() - found.end(1))
            pending.append((items, start))
    return source if rewritten == source else bytes(rewritten)


# --- from matches to rows ---------------------------------------------------------------------------------------------


class _Match(NamedTuple):
    """One capture of a name."""

    node: Node
    """The whole definition."""
    name: Node
    kind: str
    owner: str
    pattern: int
    """The index of the pattern in its query."""


class _Rows:
    """The definitions of one source, as rows."""

    def __init__(self, source: bytes, parsed: bytes, language: str, names: dict[int, tuple[str, str]]) -> None:
        self._source = source
        self._lines = source.split(b"\n") if language in ("c", "cpp") else []
        self._parsed_lines = parsed.split(b"\n") if language in ("c", "cpp") else []
        self._language = language
        self._names = names
        """The names of functions that macros begin, by their first byte."""
        self._rows: list[Row] = []

    def collect(self, matches: list[tuple[int, dict[str, list[Node]]]]) -> list[Row]:
        """Return the rows of all matches in file order, parents before children."""
        rows = self._rows
        open_rows: list[tuple[int, int]] = []  # index of a row, its last byte
        for match in self._distinct(matches):
            node = match.node
            while open_rows and node.start_byte >= open_rows[-1][1]:
                open_rows.pop()
            parent = open_rows[-1][0] if open_rows else -1
            if match.kind == "constant" and parent >= 0 and rows[parent][1] in ("function", "method"):
                continue  # a local variable
            if node.type == "declaration" and match.kind == "function" and _is_in_body(node):
                continue  # a local variable with a constructor, or a call that a broken tree takes for a declaration
            if node.type == "ERROR":
                continue
            rows.append(self._row(match, parent))
            if node.type != "type_definition":  # a struct inside a typedef is not part of the new name
                open_rows.append((len(rows) - 1, node.end_byte))
        return rows

    def _distinct(self, matches: list[tuple[int, dict[str, list[Node]]]]) -> list[_Match]:
        """Return one match for each name, by the first pattern of the query that matches it, in file order."""
        found: dict[tuple[int, int], _Match] = {}
        for pattern, captures in matches:
            names = captures.pop("name", ())
            owners = captures.pop("owner", ())
            owner = self._text(owners[0]) if owners else ""
            for kind, nodes in captures.items():
                for name in names:
                    if self._language == "swift" and nodes[0].type.endswith(
                        ("function_declaration", "operator_declaration")
                    ):
                        before = name.prev_sibling
                        if before is None or before.type not in ("func", "operator"):
                            continue  # the anchor of the query lets other tokens follow
                    if kind in ("function", "method") and self._text(name) in _STATEMENTS:
                        continue  # a broken tree takes a statement for a declaration
                    if self._language in ("c", "cpp"):
                        name, is_variable = _declared(name)
                        if is_variable:
                            kind = "field" if nodes[0].type == "field_declaration" else "constant"
                        written = self._text(name)
                        if kind != "macro" and (written in _NO_NAMES or written.endswith("::") or "::*" in written):
                            continue  # the last two are pointers to members
                    place = (name.start_byte, name.end_byte)
                    if place not in found or pattern < found[place].pattern:
                        found[place] = _Match(node=nodes[0], name=name, kind=kind, owner=owner, pattern=pattern)
        return sorted(found.values(), key=lambda m: (m.node.start_byte, -m.node.end_byte, m.name.start_byte))

    def _row(self, match: _Match, parent: int) -> Row:
        rows, node = self._rows, match.node
        if match.name.start_byte in self._names:
            name, owner = self._names[match.name.start_byte]
        else:
            name, owner = _split_owner(self._text(match.name), match.owner, self._language)
            name = self._special_name(match, name)
        kind = self._kind(match)
        if kind == "function" and parent >= 0 and rows[parent][1] in _CLASSES:
            kind = "method"
        elif kind == "method" and parent < 0 and not owner:
            kind = "function"
        line = match.name.start_point[0] + 1
        first = self._first_attribute(_first_line(node))
        first = min(line, max(first, rows[-1][3] if rows else 0))
        last = max(line, _last_line(node))
        if kind == "macro" and self._lines:
            while last < len(self._lines) and self._lines[last - 1].rstrip().endswith(b"\\"):
                last += 1
        if parent >= 0:
            last = min(last, rows[parent][4])
        return (name, kind, line, first, last, parent, self._signature(node, match.name), owner)

    def _kind(self, match: _Match) -> str:
        """Return the kind of a definition; in Swift all types are declared alike."""
        if self._language == "swift" and match.node.type == "class_declaration":
            declared = match.node.child_by_field_name("declaration_kind")
            word = self._text(declared) if declared is not None else ""
            return {"struct": "struct", "enum": "enum", "extension": "impl"}.get(word, "class")
        return match.kind

    def _first_attribute(self, first: int) -> int:
        """Return the first of the lines directly above a line that hold nothing but macros."""
        lines, parsed = self._lines, self._parsed_lines
        while 2 < first <= len(lines) and not parsed[first - 2].strip() and lines[first - 2].strip():
            if lines[first - 3].rstrip().endswith((b"}", b";")):
                break  # the end of what is above, like `TEST_END`
            first -= 1
        return first

    def _special_name(self, match: _Match, name: str) -> str:
        """Return the name of a definition that a keyword stands for."""
        node = match.node
        match node.type:
            case "companion_object" if name == "companion":
                return "Companion"
            case "conversion_operator_declaration":
                kind = node.child_by_field_name("type")
                return f"operator {self._text(kind)}" if kind is not None else name
            case "operator_declaration" if name == "operator":
                following = match.name.next_sibling
                return f"operator {self._text(following)}" if following is not None else name
            case "destructor_declaration":
                return "~" + name
        return name

    def _text(self, node: Node) -> str:
        return _one_line(self._source[node.start_byte : node.end_byte][:SIGNATURE_BYTES])

    def _signature(self, node: Node, name: Node) -> str:
        """Return a definition as the source spells it, without attributes and body."""
        start = _after_attributes(node)
        if start > name.start_byte:
            start = node.start_byte
        body = node.child_by_field_name("body")
        kind = node.child_by_field_name("type")
        if (
            node.type == "type_definition"
            and kind is not None
            and (block := kind.child_by_field_name("body")) is not None
        ):
            return _one_line(self._source[start : block.start_byte] + self._text(name).encode())
        value = node.child_by_field_name("value")
        if body is None and value is not None:
            body = value.child_by_field_name("body")
        end = body.start_byte if body is not None and body.start_byte >= name.end_byte else node.end_byte
        text = self._source[start:end][:SIGNATURE_BYTES].decode("utf-8", "replace")
        if body is None:
            text = _before_body(text, name.end_byte - start)
        text = " ".join(text.split()).replace("( ", "(").replace(", )", ")").replace(" )", ")")
        return text.rstrip("{;=: ").removesuffix("=>").rstrip()


def _one_line(source: bytes) -> str:
    return " ".join(source.decode("utf-8", "replace").split())


def _declared(name: Node) -> tuple[Node, bool]:
    """Return the node of the name itself in a declarator, and True if it is a pointer to a function."""
    is_variable = False
    node = name
    while node.type in _DECLARATORS:
        is_variable = node.type == "pointer_declarator" or (is_variable and node.type != "function_declarator")
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children if child.type != "comment"), None)
        if inner is None:
            return node, False
        node = inner
    return node, is_variable and name.type == "parenthesized_declarator"


def _is_in_body(node: Node) -> bool:
    """Return True if a node lies in the body of a function."""
    parent = node.parent
    while parent is not None:
        if parent.type in ("compound_statement", "case_statement"):
            return True
        if parent.type in ("class_specifier", "struct_specifier", "linkage_specification", "namespace_definition"):
            return False
        parent = parent.parent
    return False


def _split_owner(name: str, owner: str, language: str) -> tuple[str, str]:
    """Split a name such as `Class::method` into the name itself and its owner."""
    if language == "rust":
        name = _RUST_REFERENCE.sub("", name)
        return name.split("<")[0].strip().rpartition("::")[2] or name, owner
    if name[:1] in ("'", '"', "`") and name[-1:] == name[:1] and len(name) > 2:
        return name[1:-1], owner
    if name[:1] == "[":
        return name, owner
    if language == "cpp" and name.startswith("operator ") and "(" in name:
        return name[: name.index("(")].rstrip(), owner
    if language == "cpp" and "<" in name and "operator" not in name:
        name = _without_arguments(name)
    if language == "lua":
        name = name.replace(":", ".")
    separator = _SEPARATORS.get(language)
    if separator and separator in name and not name.startswith("operator"):
        before, _, last = name.rpartition(separator)
        before = before.replace(separator, ".").removeprefix("module.").removeprefix("exports").strip(".")
        return last or name, before.removesuffix(".prototype")
    return name, owner


def _without_arguments(name: str) -> str:
    """Return a name without the arguments of templates."""
    kept, depth = [], 0
    for char in name:
        depth += char == "<"
        if not depth:
            kept.append(char)
        depth -= char == ">"
    return "".join(kept).strip() or name


def _first_children(node: Node) -> Iterator[Node]:
    """Yield the first few children, among which modifiers are. The list of all may be long."""
    for index in range(min(node.child_count, 8)):
        child = node.child(index)
        if child is not None:
            yield child


def _outermost(node: Node) -> Node:
    """Return the outermost node that wraps this definition and no other."""
    parent = node.parent
    while parent is not None and parent.type in _WRAPPERS:
        if _has_twin(node):
            break
        node, parent = parent, parent.parent
    return node


def _has_twin(node: Node) -> bool:
    """Return True if the next or the previous sibling that is no comment is of the same type."""
    for step in ("prev_named_sibling", "next_named_sibling"):
        other = getattr(node, step)
        while other is not None and "comment" in other.type:
            other = getattr(other, step)
        if other is not None and other.type == node.type:
            return True
    return False


def _first_line(node: Node) -> int:
    """Return the first line that belongs to a definition, with attributes and comments directly above it."""
    node = _outermost(node)
    top = node.start_point[0]
    before = node.prev_sibling
    while before is not None and before.type in _ABOVE:
        end = before.end_point
        if (end[0] if end[1] else end[0] - 1) < top - 1:
            break
        earlier = before.prev_sibling
        if earlier is not None and earlier.end_point[0] == before.start_point[0] and earlier.end_point[1]:
            break  # it follows code on its line, and is a comment on that
        top = min(top, before.start_point[0])
        before = earlier
    return top + 1


def _last_line(node: Node) -> int:
    end = _outermost(node).end_point
    return end[0] + 1 if end[1] else end[0]


def _after_attributes(node: Node) -> int:
    """Return the first byte of a definition after its attributes and annotations."""
    start = node.start_byte
    for child in _first_children(node):
        if child.type in ("attribute_list", "decorator", "annotation", "marker_annotation", "attribute_item"):
            start = child.end_byte
        elif child.type == "modifiers":
            for modifier in _first_children(child):
                if "annotation" in modifier.type or modifier.type == "attribute":
                    start = modifier.end_byte
        else:
            break
    return start


def _before_body(text: str, name_end: int) -> str:
    """Return the text up to the first brace, semicolon or line end after the name that is not in parentheses."""
    depth = 0
    for at, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif at >= name_end and depth <= 0 and char in "{\n;":
            return text[:at]
    return text
