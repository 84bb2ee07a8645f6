(class_declaration "struct" name: (type_identifier) @name) @struct
(class_declaration "enum" name: (type_identifier) @name) @enum
(class_declaration "extension" name: (user_type) @name) @implementation
(class_declaration name: (type_identifier) @name) @class
(protocol_declaration name: (type_identifier) @name) @interface
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @function
(init_declaration "init" @name) @constructor
(typealias_declaration name: (type_identifier) @name) @type
(source_file (property_declaration name: (pattern (simple_identifier) @name)) @constant)
(class_body (property_declaration name: (pattern (simple_identifier) @name)) @property)
(enum_entry name: (simple_identifier) @name) @constant
; references
(call_expression (simple_identifier) @call)
(call_expression (navigation_expression (navigation_suffix (simple_identifier) @call)))
(import_declaration (identifier) @import)
(simple_identifier) @reference
(type_identifier) @reference
