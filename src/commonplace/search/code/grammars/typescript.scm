(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(enum_body (enum_assignment name: (_) @name) @constant)
(enum_body name: (_) @name @constant)
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(class_body (method_definition name: (_) @name) @method)
(class_body (abstract_method_signature name: (_) @name) @method)
(class_body (public_field_definition name: (_) @name) @field)
(interface_body (method_signature name: (_) @name) @method)
(interface_body (property_signature name: (_) @name) @field)
(object (method_definition name: (property_identifier) @name) @method)
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression
  left: (member_expression) @name right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(ambient_declaration (variable_declaration (variable_declarator name: (identifier) @name) @constant))
(internal_module body: (statement_block (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant))))
(module body: (statement_block (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @constant))))
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @field
; references
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression function: (identifier) @_require (#eq? @_require "require") arguments: (arguments (string (string_fragment) @import)))
(import_specifier name: (identifier) @imported)
(export_specifier name: (identifier) @imported)
(identifier) @reference
(type_identifier) @reference
(property_identifier) @reference
(shorthand_property_identifier) @reference
