(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(mod_item name: (identifier) @name) @module
(macro_definition name: (identifier) @name) @macro
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @constant
(field_declaration name: (field_identifier) @name) @field
(enum_variant name: (identifier) @name) @constant
(impl_item type: (type_identifier) @name) @implementation
(impl_item type: (generic_type type: (type_identifier) @name)) @implementation
(impl_item type: (scoped_type_identifier name: (type_identifier) @name)) @implementation
; references
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (scoped_identifier name: (identifier) @call))
(macro_invocation macro: (identifier) @call)
(use_declaration argument: (_) @import)
(identifier) @reference
(type_identifier) @reference
(field_identifier) @reference
