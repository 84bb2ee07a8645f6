(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @field
(enum_constant name: (identifier) @name) @constant
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @field))
(annotation_type_element_declaration name: (identifier) @name) @method
; references
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(import_declaration [(scoped_identifier) (identifier)] @import)
(identifier) @reference
(type_identifier) @reference
