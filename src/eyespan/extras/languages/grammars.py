"""Outline source code by tree-sitter grammars and the queries of `queries`.

Grammars come from single wheels (extra `outline`) and need no network. A grammar is a generated parser in C with a
hand-written scanner, and the source is untrusted, so this module runs in the sandboxed worker (`decoders.outlines`).
A grammar that meets an error continues elsewhere, so definitions around an error are marked as doubtful (`alignment`).

Nothing here limits the time: the binding's way to stop a parser (`progress_callback`, tree-sitter 0.26.0) crashes the
process, so only killing it stops a parser. In the same release `Point.row` and `Point.column` free a number that is
still in use, so points are read by index.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from eyespan.errors import Missing, shortage
from eyespan.extras.languages.alignment import Alignment
from eyespan.extras.languages.queries import QUERIES
from eyespan.extras.languages.rewrite import Rewritten, rewrite
from eyespan.model import MAX_SYMBOLS
from eyespan.outline.model import TYPE_KINDS, Definition, Outline, build_outline
from eyespan.outline.source_text import decode_text, squeeze

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query, QueryCursor


_WHEELS = {
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "php": ("tree_sitter_php", "language_php"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ocaml": ("tree_sitter_ocaml", "language_ocaml"),
    "ocaml_interface": ("tree_sitter_ocaml", "language_ocaml_interface"),
}

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
_ABOVE = (
    *("comment", "line_comment", "block_comment", "multiline_comment", "documentation_comment", "haddock", "pod"),
    *("attribute_item", "decorator", "annotation", "string_literal"),
)
"""Nodes before a definition that belong to it; the documentation of Julia is a string."""
_BEFORE = ("attribute_list", "attribute_declaration", "decorator", "annotation", "marker_annotation", "attribute_item")
"""Nodes in a definition before what its signature begins with."""
_ELIXIR_ATTRIBUTES = (b"@doc ", b"@spec ", b"@impl ")
_DECLARATORS = (
    "parenthesized_declarator",
    "pointer_declarator",
    "function_declarator",
    "reference_declarator",
    "array_declarator",
)
_STATEMENTS = frozenset(("if", "for", "while", "switch", "foreach", "return", "else", "using"))
_RUST_REFERENCE = re.compile(r"^(?:&\s*(?:'\w+\s*)?(?:mut\s+)?)+")
_SEPARATORS = {
    **dict.fromkeys(("javascript", "julia", "lua", "swift", "tsx", "typescript"), "."),
    **dict.fromkeys(("cpp", "perl", "ruby"), "::"),
}
_NO_BRACES = frozenset(("elixir", "haskell", "julia", "matlab", "ocaml"))
"""Languages in which a brace opens no body."""
_TITLES = frozenset(
    (
        *("string", "template_string", "string_literal", "interpolated_string_literal", "interpreted_string_literal"),
        *("raw_string_literal", "encapsed_string", "line_string_literal"),
    )
)
"""Nodes of names that are the titles of tests, in calls."""
SIGNATURE_BYTES = 1000
HEADER_BYTES = 150
"""A signature with more before the name, or with a directive there, begins with the line of the name."""
MATCH_LIMIT = 65536
MAX_ERRORS = 2000
MAX_MACROS = 2000
_ALTERNATIVES = {"javascript": ("tsx",), "ocaml": ("ocaml_interface",)}
"""Grammars that are tried for source in which the language's own finds errors: JavaScript with types, interfaces."""
_ITEM = re.compile(rb"\b(?:fn|struct|enum|trait|impl|mod|type|const|static|union|use)\s")
_ITEM_REF = re.compile(rb"(\bstatic) +ref(?= )")
_BLANKED = re.compile(rb"[^\n]")


class _Grammar:
    """A grammar, and the query for its definitions."""

    def __init__(self, language: Language, query: Query) -> None:
        self._language = language
        self.query = query

    def parse(self, source: bytes) -> Node:
        """Return the root of the tree."""
        return Parser(self._language).parse(source).root_node


_grammars: dict[str, _Grammar | None] = {}
"""The grammars that were looked for; None is missing. In the sandbox nothing can be imported."""


def scan(data: bytes, language: str) -> Outline:
    """Return the definitions in source code. Raises: Missing, if the grammar is not installed."""
    source = decode_text(data).encode("utf-8", "replace")
    grammar = _loaded_grammar(language)
    others = [_loaded_grammar(other) for other in _ALTERNATIVES.get(language, ())]
    rewritten = rewrite(source) if language in ("c", "cpp") else Rewritten(source, {})
    parsed = rewritten.source
    root = grammar.parse(parsed)
    if language == "rust":
        parsed = _without_item_macros(source, root, grammar)
        root = grammar.parse(parsed) if parsed is not source else root
    query = grammar.query
    for other in others if root.has_error else ():
        attempt = other.parse(source)
        if _error_bytes(attempt) < _error_bytes(root):
            root, query = attempt, other.query
    cursor = QueryCursor(query, match_limit=MATCH_LIMIT)
    definitions = _Definitions(source, language, rewritten.names, root.has_error).collect(cursor.matches(root))
    errors = _errors(root)
    alignment = Alignment(source.decode("utf-8", "replace").split("\n"))
    return build_outline(
        alignment.with_doubts(definitions, errors),
        "tree-sitter",
        is_complete=not errors and not cursor.did_exceed_match_limit,
    )


def _loaded_grammar(language: str) -> _Grammar:
    """Load a grammar. Raises: Missing."""
    if language not in _grammars:
        _grammars[language] = _imported_grammar(language)
    grammar = _grammars[language]
    if grammar is None:
        raise Missing("", what=f"the outline of {language} source", install="pip install 'eyespan[outline]'")
    return grammar


def _imported_grammar(language: str) -> _Grammar | None:
    """Import a grammar; None if it is not installed, or too old or too new for its query."""
    module, function = _WHEELS.get(language, (f"tree_sitter_{language}", "language"))
    try:
        global Parser, QueryCursor
        from tree_sitter import Language, Parser, Query, QueryCursor

        pointer = getattr(import_module(module), function)()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the wheel for Perl returns a number
            loaded = Language(pointer)
        return _Grammar(loaded, Query(loaded, QUERIES[language]))
    except (ImportError, AttributeError, ValueError) as error:
        if shortage(error):
            raise
        return None


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


# --- from matches to definitions --------------------------------------------------------------------------------------


class _Match(NamedTuple):
    """One capture of a name."""

    node: Node
    """The whole definition."""
    name: Node
    kind: str
    owner: str
    pattern: int
    """The index of the pattern in its query."""


class _Definitions:
    """The definitions of one source."""

    def __init__(self, source: bytes, language: str, names: dict[int, tuple[str, str]], is_broken: bool) -> None:
        self._source = source
        self._is_broken = is_broken
        self._lines = source.split(b"\n") if language in ("c", "cpp") else []
        self._language = language
        self._names = names
        """The names of functions that macros begin, by their first byte."""
        self._found: list[Definition] = []

    def collect(self, matches: list[tuple[int, dict[str, list[Node]]]]) -> list[Definition]:
        """Return the definitions of all matches in file order, parents before children."""
        found = self._found
        open_ones: list[tuple[int, int]] = []  # index of a definition, its last byte
        for match in self._distinct(matches):
            node, end = match.node, _end_node(match.node)
            while open_ones and node.start_byte >= open_ones[-1][1]:
                open_ones.pop()
            parent = open_ones[-1][0] if open_ones else -1
            if match.kind == "constant" and parent >= 0 and found[parent].kind in ("function", "method", "test"):
                continue  # a local variable
            if node.type == "declaration" and match.kind == "function" and _is_in_body(node):
                continue  # a local variable with a constructor, or a call that a broken tree takes for a declaration
            one = self._definition(match, end, parent)
            if self._language == "haskell" and found and one.kind == "function" and one.name == found[-1].name:
                found[-1] = replace(found[-1], last=one.last)  # another equation
                continue
            found.append(one)
            if node.type != "type_definition":  # a struct inside a typedef is not part of the new name
                open_ones.append((len(found) - 1, end.end_byte))
            if len(found) > MAX_SYMBOLS:
                break
        return found

    def _distinct(self, matches: list[tuple[int, dict[str, list[Node]]]]) -> list[_Match]:
        """Return one match for each name, by the first pattern of the query that matches it, in file order."""
        found: dict[tuple[int, int], _Match] = {}
        for pattern, captures in matches:
            names = captures.pop("name", ())
            owners = captures.pop("owner", ())
            captures.pop("word", None)
            owner = self._text(owners[0]) if owners else ""
            for kind, nodes in captures.items():
                for name in names:
                    if self._language == "swift" and nodes[0].type.endswith(
                        ("function_declaration", "operator_declaration")
                    ):
                        before = name.prev_sibling
                        if before is None or before.type not in ("func", "operator"):
                            continue  # the anchor of the query lets other tokens follow
                    if self._is_broken and kind in ("function", "method") and self._text(name) in _STATEMENTS:
                        continue  # a broken tree takes a statement for a declaration
                    if self._language in ("c", "cpp"):
                        name, is_variable = _declared(name)
                        if is_variable:
                            kind = "field" if nodes[0].type == "field_declaration" else "constant"
                        written = self._text(name)
                        if kind != "macro" and (written.endswith("::") or "::*" in written):
                            continue  # a pointer to a member
                    place = (name.start_byte, name.end_byte)
                    if place not in found or pattern < found[place].pattern:
                        found[place] = _Match(node=nodes[0], name=name, kind=kind, owner=owner, pattern=pattern)
        return sorted(found.values(), key=lambda m: (m.node.start_byte, -m.node.end_byte, m.name.start_byte))

    def _definition(self, match: _Match, end: Node, parent: int) -> Definition:
        node = match.node
        before = self._found[-1] if self._found else None
        around = self._found[parent] if parent >= 0 else None
        if match.name.start_byte in self._names:
            name, owner = self._names[match.name.start_byte]
        else:
            name, owner = _split_owner(self._text(match.name), match.owner, self._language)
            name = self._special_name(match, name)
        kind = match.kind
        if kind == "function" and around is not None and around.kind in TYPE_KINDS:
            kind = "method"
        elif kind == "method" and around is None and not owner:
            kind = "function"
        line = match.name.start_point[0] + 1
        first = min(line, max(_first_line(node), before.first if before is not None else 0))
        last = max(line, _last_line(end))
        if kind == "macro" and self._lines:
            while last < len(self._lines) and self._lines[last - 1].rstrip().endswith(b"\\"):
                last += 1
        return Definition(
            name=name,
            kind=kind,
            line=line,
            first=first,
            last=last if around is None else min(last, around.last),
            parent=parent,
            signature=self._signature(node, match.name),
            owner=owner,
        )

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
            case "comment":  # the title of a section
                return self._text(match.name, b"\n").strip("% ")
            case "instance":  # of a class of Haskell, for some type
                patterns = node.child_by_field_name("patterns")
                return f"{name} {self._text(patterns)}" if patterns is not None else name
        return name

    def _text(self, node: Node, end: bytes | None = None) -> str:
        text = self._source[node.start_byte : node.end_byte][:SIGNATURE_BYTES]
        return _one_line(text.partition(end)[0] if end else text)

    def _signature(self, node: Node, name: Node) -> str:
        """Return a definition as the source spells it, without attributes and body."""
        start = _after_attributes(node)
        if start > name.start_byte:
            start = node.start_byte
        before = self._source[start : name.start_byte]
        if len(before) > HEADER_BYTES or before[:1] == b"#" or b"\n#" in before:
            start = max(start, self._source.rfind(b"\n", 0, name.start_byte) + 1)  # the line of the name
            start = name.start_byte if name.start_byte - start > HEADER_BYTES else start
        if name.type in _TITLES and start < name.start_byte:
            title = _one_line(self._source[start : name.end_byte])
            return title + ")" * (title.count("(") - title.count(")"))
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
            text = _before_body(text, name.end_byte - start, "\n" if self._language in _NO_BRACES else "{\n;")
        return squeeze(text).rstrip("{;=: ").removesuffix("=>").removesuffix(" do").rstrip()


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
    if language in ("haskell", "ocaml"):
        return name.strip("() ").partition(" ")[0] or name, owner  # an operator, or a pattern with its arguments
    if language == "cpp" and name.startswith("operator ") and "(" in name:
        return name[: name.index("(")].rstrip(), owner
    if language == "cpp" and "<" in name and "operator" not in name:
        name = _without_arguments(name)
    if language == "lua":
        name = name.replace(":", ".")
    if language == "julia":
        name = re.sub(r"\{.*|[()]|(?<=\.):", "", name)
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
    before = _previous(node)
    while before is not None and _is_above(before):
        end = before.end_point
        if (end[0] if end[1] else end[0] - 1) < top - 1:
            break
        earlier = _previous(before)
        if earlier is not None and earlier.end_point[0] == before.start_point[0] and earlier.end_point[1]:
            break  # it follows code on its line, and is a comment on that
        top = min(top, before.start_point[0])
        before = earlier
    return top + 1


def _previous(node: Node) -> Node | None:
    """Return the sibling before a node that is not a line end."""
    before = node.prev_sibling
    while before is not None and not before.type.strip():
        before = before.prev_sibling
    return before


def _is_above(node: Node) -> bool:
    """Return True for a node that belongs to the definition below it."""
    is_attribute = node.type == "unary_operator" and (node.text or b"").startswith(_ELIXIR_ATTRIBUTES)
    return node.type in _ABOVE or is_attribute


def _end_node(node: Node) -> Node:
    """Return the node at the end of a definition: its body may stand beside it, or all that follows be part of it."""
    following = node.next_named_sibling
    if following is not None and following.type == "function_body":  # Dart
        return following
    if _is_section(node):
        while following is not None and following.type != "function_definition" and not _is_section(following):
            node, following = following, following.next_named_sibling
    return node


def _is_section(node: Node) -> bool:
    """Return True for a node that begins a part of the file: a package of Perl, a `%%` of MATLAB."""
    if node.type == "package_statement":
        return node.children[-1].type != "block"
    return node.type == "comment" and (node.text or b"").startswith(b"%%")


def _last_line(node: Node) -> int:
    """Return the line of the last token. The node itself may end where the next definition begins (Scala)."""
    node = _outermost(node)
    while (last := _last_child(node)) is not None:
        node = last
    end = node.end_point
    return end[0] + 1 if end[1] else end[0]


def _last_child(node: Node) -> Node | None:
    """Return the last child that is neither empty nor a line end."""
    for index in range(node.child_count - 1, -1, -1):
        child = node.child(index)
        if child is not None and child.end_byte > child.start_byte and child.type.strip():
            return child
    return None


def _after_attributes(node: Node) -> int:
    """Return the first byte of a definition after its attributes, annotations and comments."""
    start = node.start_byte
    for child in _first_children(node):
        if child.type in _BEFORE or "comment" in child.type:
            start = child.end_byte
        elif child.type == "modifiers":
            for modifier in _first_children(child):
                if "annotation" in modifier.type or "comment" in modifier.type or modifier.type == "attribute":
                    start = modifier.end_byte
        else:
            break
    return start


def _before_body(text: str, name_end: int, stops: str) -> str:
    """Return the text up to the first of these characters after the name that is not in parentheses."""
    depth = 0
    for at, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif at >= name_end and depth <= 0 and char in stops:
            return text[:at]
    return text
