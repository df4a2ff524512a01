"""The queries that find definitions in the trees of tree-sitter grammars, one for each language.

The captures of a query name the kind; `@name` is the name, `@owner` what it belongs to without lying in it. Of several
patterns that match the same name, the first counts. `@word` is the keyword of a definition in the form of a call, such
as a test with its title.
"""

from __future__ import annotations

_JAVASCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(class name: (_) @name) @class
(method_definition name: (_) @name) @method
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)])
  @function
(variable_declarator name: (identifier) @name value: (parenthesized_expression
  [(arrow_function) (function_expression)])) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression)]) @function
(pair key: (_) @name value: [(arrow_function) (function_expression) (generator_function)]) @method
(pair key: (_) @name value: (parenthesized_expression [(arrow_function) (function_expression)])) @method
(export_statement "default" @name value: [(arrow_function) (function_expression !name) (class !name)]) @function
(function_expression name: (_) @name) @function
(generator_function name: (_) @name) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
(call_expression function: [(identifier) @word (member_expression object: (identifier) @word)
  (call_expression function: [(identifier) @word (member_expression object: (identifier) @word)])]
  arguments: (arguments . [(string) (template_string)] @name [(arrow_function) (function_expression)])
  (#any-of? @word "describe" "context" "suite" "it" "test" "specify")) @test
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
(ambient_declaration "global" @name) @namespace
(variable_declarator name: (identifier) @name value: [(as_expression [(arrow_function) (function_expression)])
  (satisfies_expression [(arrow_function) (function_expression)])]) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
"""
)
_C = """
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (_ declarator: (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))) @function
(declaration declarator: (function_declarator declarator: (_) @name)) @function
(declaration declarator: (_ declarator: (function_declarator declarator: (_) @name))) @function
(declaration declarator: (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition declarator: (_) @name) @type
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
(function_definition declarator: (operator_cast) @name) @method
(declaration declarator: (operator_cast) @name) @method
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(namespace_definition body: (declaration_list
  (declaration declarator: (init_declarator declarator: (identifier) @name)) @constant))
"""
)

_OCAML_VALUES = "".join(
    f"({around} (value_definition . {binding} .) @function) ({around} (value_definition {binding} @function))\n"
    for binding in ("(let_binding pattern: [(value_name) (parenthesized_operator)] @name)",)
    for around in ("compilation_unit", "structure")
)
_OCAML = """
(value_specification (value_name) @name) @function
(value_specification (parenthesized_operator) @name) @function
(external (value_name) @name) @function
(type_definition . (type_binding name: (_) @name) .) @type
(type_definition (type_binding name: (_) @name) @type)
(module_definition . (module_binding (module_name) @name) .) @namespace
(module_definition (module_binding (module_name) @name) @namespace)
(module_type_definition (module_type_name) @name) @namespace
(exception_definition (constructor_declaration (constructor_name) @name)) @type
(class_binding (class_name) @name) @class
(class_type_binding (class_type_name) @name) @class
(method_definition (method_name) @name) @method
(method_specification (method_name) @name) @method
"""
_JULIA_CALLS = [
    form.replace("CALL", "(call_expression . (_) @name)")
    for form in (
        "CALL",
        "(typed_expression . CALL)",
        "(where_expression . CALL)",
        "(where_expression . (typed_expression . CALL))",
        "(where_expression . (where_expression . CALL))",
    )
]
_JULIA_TYPES = [
    "(identifier) @name",
    "(parametrized_type_expression . (identifier) @name)",
    "(binary_expression . (identifier) @name)",
    "(binary_expression . (parametrized_type_expression . (identifier) @name))",
]

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
(call_expression function: [(identifier) @word (selector_expression field: (_) @word)] arguments: (argument_list .
  [(interpreted_string_literal) (raw_string_literal)] @name (func_literal))
  (#any-of? @word "Run" "Describe" "Context" "When" "It")) @test
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
(associated_type name: (_) @name) @type
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
(annotation_type_element_declaration name: (_) @name) @method
(enum_constant name: (_) @name) @constant
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
(destructor_declaration name: (_) @name) @method
(conversion_operator_declaration "operator" @name) @method
(operator_declaration "operator" @name) @method
(indexer_declaration "this" @name) @method
(event_declaration name: (_) @name) @field
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(local_function_statement name: (_) @name) @function
(property_declaration name: (_) @name) @field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field
""",
    "ruby": """
(module name: (_) @name) @namespace
(class name: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
(call method: (identifier) @word arguments: (argument_list . [(string) (constant) (scope_resolution)] @name) block: (_)
  (#any-of? @word "describe" "context" "feature" "it" "scenario" "specify" "test" "shared_examples")) @test
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
(function_call_expression function: (name) @word arguments: (arguments . (argument [(string) (encapsed_string)] @name)
  (argument [(anonymous_function) (arrow_function)])) (#any-of? @word "describe" "it" "test")) @test
""",
    "bash": """
(function_definition name: (_) @name) @function
(program (variable_assignment name: (_) @name) @constant)
(program (declaration_command (variable_assignment name: (_) @name)) @constant)
""",
    "kotlin": """
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(companion_object name: (_) @name) @class
(companion_object "companion" @name !name) @class
(function_declaration name: (_) @name) @function
(secondary_constructor "constructor" @name) @method
(type_alias type: (identifier) @name) @type
(source_file (property_declaration (variable_declaration (identifier) @name)) @constant)
(class_body (property_declaration (variable_declaration (identifier) @name)) @field)
""",
    "scala": """
(object_definition name: (_) @name) @class
(package_object name: (_) @name) @namespace
(given_definition name: (_) @name) @impl
(compilation_unit [(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)] @constant)
(template_body [(var_definition pattern: (identifier) @name) (val_declaration name: (_) @name)] @field)
(class_definition name: (_) @name) @class
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(type_definition name: (_) @name) @type
(template_body (val_definition pattern: (identifier) @name) @field)
(call_expression function: (call_expression function: (identifier) @word arguments: (arguments . (string) @name))
  arguments: (block) (#any-of? @word "describe" "it" "test" "property")) @test
(infix_expression left: (string) @name operator: (identifier) @word right: (block)
  (#any-of? @word "should" "must" "can" "when" "in")) @test
""",
    "swift": """
(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration declaration_kind: "extension" name: (_) @name) @impl
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
(function_declaration "func" . _ @name) @function
(protocol_function_declaration "func" . _ @name) @method
(init_declaration "init" @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(operator_declaration "operator" . _ @name) @function
(typealias_declaration name: (_) @name) @type
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @constant)
(call_expression (simple_identifier) @word (call_suffix (value_arguments . (value_argument value:
  (line_string_literal) @name)) (lambda_literal)) (#any-of? @word "describe" "context" "it")) @test
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @field)
""",
    "lua": """
(function_declaration name: (_) @name) @function
(assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition))) @function
(field name: (_) @name value: (function_definition)) @function
(variable_declaration (assignment_statement (variable_list name: (_) @name))) @constant
(function_call name: (identifier) @word arguments: (arguments . (string) @name (function_definition))
  (#any-of? @word "describe" "context" "it")) @test
""",
    "zig": """
(function_declaration name: (_) @name) @function
(variable_declaration . (identifier) @name [(struct_declaration) (union_declaration) (opaque_declaration)]) @struct
(variable_declaration . (identifier) @name [(enum_declaration) (error_set_declaration)]) @enum
(source_file (variable_declaration . (identifier) @name) @constant)
(test_declaration [(string) (identifier)] @name) @test
""",
    "dart": """
(class_definition name: (_) @name) @class
(mixin_declaration (mixin) . (identifier) @name) @trait
(extension_declaration name: (_) @name) @impl
(extension_type_declaration name: (_) @name) @impl
(enum_declaration name: (_) @name) @enum
(type_alias . (type_identifier) @name "=") @type
(type_alias (type_identifier) @name . (formal_parameter_list)) @type
(method_signature [(function_signature name: (_) @name) (getter_signature name: (_) @name)
  (_ [(identifier) (binary_operator) "[]" "[]=" "~"] @name . (formal_parameter_list))]) @method
(declaration [(function_signature name: (_) @name) (getter_signature name: (_) @name)
  (_ [(identifier) (binary_operator) "[]" "[]=" "~"] @name . (formal_parameter_list))]) @method
(program [(function_signature name: (_) @name) (getter_signature name: (_) @name) (setter_signature name: (_) @name)]
  @function)
(local_function_declaration (lambda_expression parameters: (function_signature name: (_) @name))) @function
(program (static_final_declaration_list (static_final_declaration (identifier) @name) @constant))
(expression_statement (identifier) @word (selector (argument_part (arguments . (argument (string_literal) @name)
  (argument (function_expression))))) (#any-of? @word "group" "test" "testWidgets")) @test
""",
    "elixir": """
(call target: (identifier) @word (arguments . (alias) @name) (#eq? @word "defmodule")) @namespace
(call target: (identifier) @word (arguments . (alias) @name) (#eq? @word "defprotocol")) @interface
(call target: (identifier) @word (arguments . (alias) @name) (#eq? @word "defimpl")) @impl
(call target: (identifier) @word (arguments . [(identifier) @name (call target: (_) @name) (binary_operator left:
  [(identifier) @name (call target: (_) @name)] operator: "when")]) (#match? @word "^defmacrop?$")) @macro
(call target: (identifier) @word (arguments . [(identifier) @name (call target: (_) @name) (binary_operator left:
  [(identifier) @name (call target: (_) @name)] operator: "when")]) (#match? @word "^def(n|np|p|guardp?|delegate)?$"))
  @function
(call target: (identifier) @word (arguments . (binary_operator operator: _ @name)) (#match? @word "^defp?$")
  (#not-eq? @name "when")) @function
(call target: (identifier) @word (arguments . (string (quoted_content) @name)) (do_block)
  (#any-of? @word "describe" "test")) @test
(unary_operator operand: (call target: (identifier) @word (arguments (binary_operator left: [(call target: (_) @name)
  (identifier) @name]))) (#any-of? @word "callback" "macrocallback")) @method
(unary_operator operand: (call target: (identifier) @word (arguments (binary_operator left: [(call target: (_) @name)
  (identifier) @name]))) (#any-of? @word "opaque" "type" "typep")) @type
""",
    "julia": "".join(
        [
            *(f"(function_definition (signature {call})) @function\n" for call in _JULIA_CALLS),
            *(f"(macro_definition (signature {call})) @macro\n" for call in _JULIA_CALLS[:1]),
            *(f"(assignment . {call}) @function\n" for call in _JULIA_CALLS),
            *(f"(struct_definition (type_head {head})) @struct\n" for head in _JULIA_TYPES),
            *(f"(abstract_definition (type_head {head})) @type\n" for head in _JULIA_TYPES),
            "(primitive_definition (type_head (identifier) @name)) @type\n",
            "(function_definition (signature (identifier) @name)) @function\n",
            "(module_definition name: (_) @name) @namespace\n",
            "(const_statement (assignment . (identifier) @name)) @constant\n",
            "(macrocall_expression (macro_identifier (_) @word) (macro_argument_list (string_literal) @name",
            '  [(compound_statement) (for_statement)]) (#eq? @word "testset")) @test\n',
        ]
    ),
    "haskell": """
(declarations [(data_type name: (_) @name) (newtype name: (_) @name)] @struct)
(declarations (class name: (_) @name) @interface)
(declarations (instance name: (_) @name) @impl)
(declarations [(type_synonym name: (_) @name) (type_family name: (_) @name) (data_family name: (_) @name)
  (type_instance name: (_) @name)] @type)
(declarations [(function name: (_) @name) (bind name: (_) @name) (signature name: (_) @name)
  (signature names: (binding_list . name: (_) @name)) (function (infix operator: (_) @name))
  (pattern_synonym [(equation synonym: (_) @name) (signature synonym: (_) @name)])
  (foreign_import signature: (signature name: (_) @name))] @function)
""",
    "ocaml": _OCAML_VALUES + _OCAML,
    "ocaml_interface": _OCAML,
    "perl": """
(subroutine_declaration_statement name: (_) @name) @function
(method_declaration_statement name: (_) @name) @method
(package_statement name: (_) @name (block)) @namespace
(package_statement name: (_) @name) @section
(_ function: (function) @word arguments: (list_expression . [(string_literal) (interpolated_string_literal)] @name
  (anonymous_subroutine_expression)) (#any-of? @word "describe" "it" "subtest")) @test
""",
    "matlab": """
(class_definition name: (_) @name) @class
(function_definition name: (_) @name) @function
(function_signature name: (_) @name) @function
(source_file ((comment) @name @section (#match? @name "^%%[ \\t]")))
""",
}
