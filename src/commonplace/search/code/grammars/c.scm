(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @declaration
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @declaration
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @type
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(field_declaration declarator: (field_identifier) @name) @field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @field
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @field
(translation_unit (declaration declarator: (identifier) @name) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable)
(translation_unit (preproc_ifdef (declaration declarator: (identifier) @name) @variable))
(translation_unit (preproc_ifdef (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable))
(translation_unit (preproc_ifdef (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable))
(translation_unit (preproc_ifdef (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable))
(translation_unit (preproc_ifdef (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable))
(translation_unit (preproc_if (declaration declarator: (identifier) @name) @variable))
(translation_unit (preproc_if (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable))
(translation_unit (preproc_if (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable))
(translation_unit (preproc_if (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable))
(translation_unit (preproc_if (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable))
(translation_unit (preproc_ifdef (preproc_ifdef (declaration declarator: (identifier) @name) @variable)))
(translation_unit (preproc_ifdef (preproc_ifdef (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)))
(translation_unit (preproc_ifdef (preproc_ifdef (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable)))
(translation_unit (preproc_ifdef (preproc_ifdef (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable)))
(translation_unit (preproc_ifdef (preproc_ifdef (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable)))
(translation_unit (preproc_ifdef (preproc_if (declaration declarator: (identifier) @name) @variable)))
(translation_unit (preproc_ifdef (preproc_if (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)))
(translation_unit (preproc_ifdef (preproc_if (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @variable)))
(translation_unit (preproc_ifdef (preproc_if (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @variable)))
(translation_unit (preproc_ifdef (preproc_if (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (array_declarator declarator: (identifier) @name)))) @variable)))
; references
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(preproc_include path: (_) @import)
(identifier) @reference
(type_identifier) @reference
(field_identifier) @reference
