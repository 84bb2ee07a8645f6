(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(struct_declaration name: (identifier) @name) @struct
(record_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @enum
(enum_member_declaration name: (identifier) @name) @constant
(delegate_declaration name: (identifier) @name) @type
(namespace_declaration name: (_) @name) @namespace
(method_declaration name: (identifier) @name) @method
(local_function_statement name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @constructor
(property_declaration name: (identifier) @name) @property
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field
; references
(invocation_expression function: (identifier) @call)
(invocation_expression function: (member_access_expression name: (identifier) @call))
(object_creation_expression type: (identifier) @call)
(using_directive [(identifier) (qualified_name)] @import)
(identifier) @reference
