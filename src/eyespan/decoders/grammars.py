"""Find definitions with tree-sitter grammars: a query for each language, and its decoder.

`outlines` runs them in the sandboxed worker. Grammars come from single wheels and need no network.

Nothing here limits the time: the binding's way to stop a parser (`progress_callback`, tree-sitter 0.26.0) crashes the
process, so only killing it stops a parser. In the same release `Point.row` and `Point.column` free a number that is
still in use, so points are read by index.

The captures of a query name the kind; `@name` is the name, `@owner` what it belongs to without lying in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from eyespan.errors import Missing, shortage
from eyespan.model import MAX_SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

Row = tuple[str, str, int, int, int, int, str, str]
"""name, kind, line, first, last, parent, signature, owner: the fields of a `Definition` in order."""

_JAVASCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @method
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)])
  @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
"""
_TYPESCRIPT = (
    _JAVASCRIPT.replace("(field_definition property:", "(public_field_definition name:")
    + """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
"""
)
_C = """
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (_ declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))) @function
(declaration declarator: (function_declarator declarator: (_) @name)) @function
(declaration declarator: (_ declarator: (function_declarator declarator: (identifier) @name))) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (type_identifier) @name)))) @type
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @constant)
"""
_CPP = (
    _C
    + """
(function_definition declarator: (_ (function_declarator declarator: (_) @name))) @function
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(field_declaration declarator: (function_declarator declarator: (_) @name)) @method
(field_declaration declarator: (_ (function_declarator declarator: (_) @name))) @method
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(namespace_definition body: (declaration_list
  (declaration declarator: (init_declarator declarator: (identifier) @name)) @constant))
"""
)

QUERIES = {
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (type_identifier) @owner)) name: (_) @name)
  @method
(method_declaration receiver: (parameter_list (parameter_declaration type: (pointer_type (type_identifier) @owner)))
  name: (_) @name) @method
(method_declaration receiver: (parameter_list (parameter_declaration type: (generic_type type: (_) @owner)))
  name: (_) @name) @method
(method_declaration receiver: (parameter_list (parameter_declaration
  type: (pointer_type (generic_type type: (_) @owner)))) name: (_) @name) @method
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(method_elem name: (_) @name) @method
(source_file (const_declaration (const_spec name: (_) @name) @constant))
(source_file (var_declaration (var_spec name: (_) @name) @constant))
(source_file (var_declaration (var_spec_list (var_spec name: (_) @name) @constant)))
""",
    "rust": """
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(impl_item type: (_) @name) @impl
(mod_item name: (_) @name) @namespace
(macro_definition name: (_) @name) @macro
(type_item name: (_) @name) @type
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @constant
""",
    "java": """
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @interface
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(compact_constructor_declaration name: (_) @name) @method
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
""",
    "c": _C,
    "cpp": _CPP,
    "csharp": """
(namespace_declaration name: (_) @name) @namespace
(file_scoped_namespace_declaration name: (_) @name) @namespace
(class_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @class
(delegate_declaration name: (_) @name) @type
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(local_function_statement name: (_) @name) @function
(property_declaration name: (_) @name) @field
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
""",
    "ruby": """
(module name: (_) @name) @namespace
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
""",
    "php": """
(namespace_definition name: (_) @name body: (_)) @namespace
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @method
(property_declaration (property_element name: (_) @name)) @field
(const_declaration (const_element (name) @name)) @constant
""",
    "bash": """
(function_definition name: (_) @name) @function
(program (variable_assignment name: (_) @name) @constant)
(program (declaration_command (variable_assignment name: (_) @name)) @constant)
""",
    "kotlin": """
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(function_declaration name: (_) @name) @function
(source_file (property_declaration (variable_declaration (identifier) @name)) @constant)
(class_body (property_declaration (variable_declaration (identifier) @name)) @field)
""",
    "scala": """
(object_definition name: (_) @name) @class
(class_definition name: (_) @name) @class
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(type_definition name: (_) @name) @type
(template_body (val_definition pattern: (identifier) @name) @field)
""",
    "swift": """
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration "init" @name) @method
(typealias_declaration name: (_) @name) @type
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @constant)
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @field)
""",
    "lua": """
(function_declaration name: (_) @name) @function
(assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition))) @function
(variable_declaration (assignment_statement (variable_list name: (_) @name))) @constant
""",
}
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
_SEPARATORS = {"cpp": "::", "ruby": "::", "lua": ".", "javascript": ".", "typescript": ".", "tsx": "."}
SIGNATURE_BYTES = 1000
MATCH_LIMIT = 65536


def load_parser(language: str) -> Callable[[bytes], tuple[list[Row], bool]]:
    """Load a grammar; return the function that finds definitions in UTF-8 source.

    It returns rows, and False if some may be missing because the source has errors or is too large.

    Raises: Missing.
    """
    module, function = _WHEELS.get(language, (f"tree_sitter_{language}", "language"))
    try:
        from tree_sitter import Language, Parser, Query, QueryCursor

        grammar = Language(getattr(import_module(module), function)())
    except (ImportError, AttributeError, ValueError) as error:
        if shortage(error):
            raise
        raise Missing("", what=f"the outline of {language} source", install="pip install 'eyespan[outline]'") from error
    query = Query(grammar, QUERIES[language])

    def parse(source: bytes) -> tuple[list[Row], bool]:
        root = Parser(grammar).parse(source).root_node
        cursor = QueryCursor(query, match_limit=MATCH_LIMIT)
        rows = _Rows(source, language).collect(cursor.matches(root))
        is_whole = not root.has_error and not cursor.did_exceed_match_limit and len(rows) <= MAX_SYMBOLS
        return rows[:MAX_SYMBOLS], is_whole

    return parse


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

    def __init__(self, source: bytes, language: str) -> None:
        self._source = source
        self._language = language
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
                    place = (name.start_byte, name.end_byte)
                    if place not in found or pattern < found[place].pattern:
                        found[place] = _Match(node=nodes[0], name=name, kind=kind, owner=owner, pattern=pattern)
        return sorted(found.values(), key=lambda m: (m.node.start_byte, -m.node.end_byte, m.name.start_byte))

    def _row(self, match: _Match, parent: int) -> Row:
        rows, node = self._rows, match.node
        name, owner = _split_owner(self._text(match.name), match.owner, self._language)
        kind = match.kind
        if kind == "function" and parent >= 0 and rows[parent][1] in _CLASSES:
            kind = "method"
        elif kind == "method" and parent < 0 and not owner:
            kind = "function"
        line = match.name.start_point[0] + 1
        first = min(line, max(_first_line(node), rows[-1][3] if rows else 0))
        last = max(line, _last_line(node))
        if parent >= 0:
            last = min(last, rows[parent][4])
        return (name, kind, line, first, last, parent, self._signature(node, match.name), owner)

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


def _split_owner(name: str, owner: str, language: str) -> tuple[str, str]:
    """Split a name such as `Class::method` into the name itself and its owner."""
    if language == "rust":
        return name.split("<")[0].strip().rpartition("::")[2] or name, owner
    if language == "lua":
        name = name.replace(":", ".")
    separator = _SEPARATORS.get(language)
    if separator and separator in name and not name.startswith("operator"):
        before, _, last = name.rpartition(separator)
        before = before.replace(separator, ".").removeprefix("module.").removeprefix("exports").strip(".")
        return last or name, before.removesuffix(".prototype")
    return name, owner


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
        before, after = node.prev_named_sibling, node.next_named_sibling
        if (before is not None and before.type == node.type) or (after is not None and after.type == node.type):
            break
        node, parent = parent, parent.parent
    return node


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
