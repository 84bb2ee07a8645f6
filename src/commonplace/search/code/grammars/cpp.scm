(function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)] @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier)] @name))) @function
(function_definition declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @declaration
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @declaration
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @declaration
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @declaration
(field_declaration declarator: (reference_declarator (function_declarator declarator: (field_identifier) @name))) @declaration
(class_specifier name: [(type_identifier) (template_type) (qualified_identifier)] @name body: (_)) @class
(struct_specifier name: [(type_identifier) (template_type) (qualified_identifier)] @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant
(namespace_definition name: (_) @name) @namespace
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @type
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(field_declaration declarator: (field_identifier) @name) @field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @field
(field_declaration declarator: (reference_declarator (field_identifier) @name)) @field
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @field
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable)
(namespace_definition body: (declaration_list (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable))
; references
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (qualified_identifier name: (identifier) @call))
(preproc_include path: (_) @import)
(identifier) @reference
(type_identifier) @reference
(field_identifier) @reference
