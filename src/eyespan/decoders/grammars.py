"""Tree-sitter grammars: what a definition looks like in each language, and the decoders that find them.

Runs where `source` puts it: in the jailed worker, where each language is a task of its own (`decode_<language>`, made
when it is first asked for, so that the grammar is loaded before the walls are up), or in this process where the caller
said so. Grammars come from single wheels and need no network. Nothing here limits the time: the binding's own way to
stop a parser (`progress_callback`, tree-sitter 0.26.0) crashes the process, so only who can kill it can stop it. In the
same release `Point.row` and `Point.column` free a number that is still in use: points are taken apart by index here.

A query's captures name the kind; `@name` is its name, `@owner` what it belongs to without lying in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eyespan.errors import Missing, shortage
from eyespan.outline.model import MAX_SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from tree_sitter import Node

Row = tuple[str, str, int, int, int, int, str, str]
"""name, kind, line, first, last, parent, signature, owner: the fields of a `Find` in order."""

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
"""What stands around a single definition and is part of it."""
_ABOVE = ("comment", "line_comment", "block_comment", "multiline_comment", "attribute_item", "decorator")
_CLASSES = ("class", "struct", "interface", "enum", "trait", "impl")
_SPLITS = {"cpp": "::", "ruby": "::", "lua": ".", "javascript": ".", "typescript": ".", "tsx": "."}
_SIGNATURE_BYTES = 1000


def find_rows(language: str) -> Callable[[bytes], tuple[list[Row], bool]]:
    """Loads the grammar and gives the function that finds definitions in UTF-8 source: rows, and whether it is whole
    (False: mistakes in it, or too much of it, hide some).

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

    def look(source: bytes) -> tuple[list[Row], bool]:
        root = Parser(grammar).parse(source).root_node
        cursor = QueryCursor(query, match_limit=65536)
        rows = _rows(source, language, cursor.matches(root))
        whole = not root.has_error and not cursor.did_exceed_match_limit and len(rows) <= MAX_SYMBOLS
        return rows[:MAX_SYMBOLS], whole

    return look


def __getattr__(name: str) -> Callable[[BinaryIO, Mapping[str, Any]], tuple[dict[str, Any], list[bytes]]]:
    """`decode_<language>`: the worker's decoder of it, the grammar loaded."""
    language = name.removeprefix("decode_")
    if language == name or language not in QUERIES:
        raise AttributeError(name)
    look = find_rows(language)

    def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        rows, whole = look(file.read())
        return {"rows": rows, "whole": whole}, []

    return decode


# --- from matches to rows ---------------------------------------------------------------------------------------------


def _rows(source: bytes, language: str, matches: list[tuple[int, dict[str, list[Node]]]]) -> list[Row]:
    found: dict[tuple[int, int], tuple[Node, Node, str, str, int]] = {}
    for pattern, captures in matches:
        names = captures.pop("name", None)
        owners = captures.pop("owner", None)
        owner = _text(source, owners[0]) if owners else ""
        for kind, nodes in captures.items():
            for name in names or ():
                # One name is one symbol, and what it is says the first pattern of the query that fits.
                place = (name.start_byte, name.end_byte)
                if place not in found or pattern < found[place][4]:
                    found[place] = (nodes[0], name, kind, owner, pattern)
    starts = sorted(found.values(), key=lambda row: (row[0].start_byte, -row[0].end_byte, row[1].start_byte))
    rows: list[Row] = []
    around: list[tuple[int, int]] = []  # index of a row, where it ends
    for node, name_node, kind, owner, _ in starts:
        while around and node.start_byte >= around[-1][1]:
            around.pop()
        parent = around[-1][0] if around else -1
        if kind == "constant" and parent >= 0 and rows[parent][1] in ("function", "method"):
            continue  # a variable of that function
        spelled, owner = _split(_text(source, name_node), owner, language)
        if kind == "function" and parent >= 0 and rows[parent][1] in _CLASSES:
            kind = "method"
        elif kind == "method" and parent < 0 and not owner:
            kind = "function"
        line = name_node.start_point[0] + 1
        first = min(line, max(_first(node), rows[-1][3] if rows else 0))
        last = max(line, _last(node))
        if parent >= 0:
            last = min(last, rows[parent][4])
        rows.append((spelled, kind, line, first, last, parent, _signature(source, node, name_node), owner))
        if node.type != "type_definition":  # a struct that is named in passing is not the name's
            around.append((len(rows) - 1, node.end_byte))
    return rows


def _text(source: bytes, node: Node) -> str:
    return " ".join(source[node.start_byte : node.end_byte][:_SIGNATURE_BYTES].decode("utf-8", "replace").split())


def _split(name: str, owner: str, language: str) -> tuple[str, str]:
    if language == "rust":
        return name.split("<")[0].strip().rpartition("::")[2] or name, owner
    if language == "lua":
        name = name.replace(":", ".")
    separator = _SPLITS.get(language)
    if separator and separator in name and not name.startswith("operator"):
        before, _, last = name.rpartition(separator)
        before = before.replace(separator, ".").removeprefix("module.").removeprefix("exports").strip(".")
        return last or name, before.removesuffix(".prototype")
    return name, owner


def _children(node: Node) -> Iterator[Node]:
    """The first few, which is where modifiers stand; a list of all may be long."""
    for index in range(min(node.child_count, 8)):
        child = node.child(index)
        if child is not None:
            yield child


def _outermost(node: Node) -> Node:
    """The node with what is wrapped around it alone."""
    parent = node.parent
    while parent is not None and parent.type in _WRAPPERS:
        before, after = node.prev_named_sibling, node.next_named_sibling
        if (before is not None and before.type == node.type) or (after is not None and after.type == node.type):
            break
        node, parent = parent, parent.parent
    return node


def _first(node: Node) -> int:
    """The line on which what belongs to a definition begins: attributes and comments directly above it."""
    node = _outermost(node)
    top = node.start_point[0]
    before = node.prev_sibling
    while before is not None and before.type in _ABOVE:
        end = before.end_point
        if (end[0] if end[1] else end[0] - 1) < top - 1:
            break
        earlier = before.prev_sibling
        if earlier is not None and earlier.end_point[0] == before.start_point[0] and earlier.end_point[1]:
            break  # it stands behind something, and speaks of that
        top = min(top, before.start_point[0])
        before = earlier
    return top + 1


def _last(node: Node) -> int:
    end = _outermost(node).end_point
    return end[0] + 1 if end[1] else end[0]


def _signature(source: bytes, node: Node, name: Node) -> str:
    """A definition as it is spelled, without attributes and body."""
    start = node.start_byte
    for child in _children(node):
        if child.type in ("attribute_list", "decorator", "annotation", "marker_annotation", "attribute_item"):
            start = child.end_byte
        elif child.type == "modifiers":
            for modifier in _children(child):
                if "annotation" in modifier.type or modifier.type == "attribute":
                    start = modifier.end_byte
        else:
            break
    if start > name.start_byte:
        start = node.start_byte
    body = node.child_by_field_name("body")
    kind = node.child_by_field_name("type")
    if node.type == "type_definition" and kind is not None and (block := kind.child_by_field_name("body")) is not None:
        return " ".join((source[start : block.start_byte].decode("utf-8", "replace") + _text(source, name)).split())
    value = node.child_by_field_name("value")
    if body is None and value is not None:
        body = value.child_by_field_name("body")
    end = body.start_byte if body is not None and body.start_byte >= name.end_byte else node.end_byte
    text = source[start:end][:_SIGNATURE_BYTES].decode("utf-8", "replace")
    if body is None:
        text = _head(text, name.end_byte - start)
    text = " ".join(text.split()).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    return text.rstrip("{;=: ").removesuffix("=>").rstrip()


def _head(text: str, after: int) -> str:
    """Up to the first brace or line end behind the name that is not within parentheses."""
    depth = 0
    for at, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif at >= after and depth <= 0 and char in "{\n;":
            return text[:at]
    return text
