(class_declaration "interface" name: (identifier) @name) @interface
(class_declaration (modifiers (class_modifier "enum")) name: (identifier) @name) @enum
(class_declaration name: (identifier) @name) @class
(object_declaration name: (identifier) @name) @class
(companion_object) @companion
(function_declaration name: (identifier) @name) @function
(source_file (property_declaration (variable_declaration (identifier) @name)) @constant)
(class_body (property_declaration (variable_declaration (identifier) @name)) @property)
(class_parameter (identifier) @name) @field
(enum_entry (identifier) @name) @constant
(type_alias type: (identifier) @name) @type
; references
(call_expression (identifier) @call)
(call_expression (navigation_expression (identifier) @call .))
(import (qualified_identifier) @import)
(identifier) @reference
