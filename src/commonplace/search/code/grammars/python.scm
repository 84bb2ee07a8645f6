(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(module (expression_statement (assignment left: (identifier) @name)) @constant)
(module (expression_statement (assignment left: (pattern_list (identifier) @name))) @constant)
(module (if_statement (block (expression_statement (assignment left: (identifier) @name)) @constant)))
(module (if_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @constant))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name)) @constant)))
(module (try_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @constant))))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)) @field))
(type_alias_statement left: (type (identifier) @name)) @type
; references
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement module_name: (_) @import)
(import_from_statement name: (dotted_name (identifier) @imported))
(import_from_statement name: (aliased_import name: (dotted_name (identifier) @imported)))
(identifier) @reference
