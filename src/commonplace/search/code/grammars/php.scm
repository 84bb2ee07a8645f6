(function_definition name: (name) @name) @function
(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(enum_case name: (name) @name) @constant
(method_declaration name: (name) @name) @method
(property_element name: (variable_name) @name) @field
(const_element (name) @name) @constant
(namespace_definition name: (namespace_name) @name body: (_)) @namespace
(property_promotion_parameter name: (variable_name (name) @name)) @field
(function_call_expression function: (name) @_define (#eq? @_define "define") arguments: (arguments . (argument (string) @name))) @constant
; references
(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression (name) @call)
(namespace_use_clause (_) @import)
(name) @reference
