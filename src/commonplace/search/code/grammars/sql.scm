(create_table (object_reference name: (identifier) @name)) @table
(create_view (object_reference name: (identifier) @name)) @view
(create_materialized_view (object_reference name: (identifier) @name)) @view
(create_function (keyword_function) . (object_reference name: (identifier) @name)) @function
(create_index column: (identifier) @name) @index
(create_trigger . (keyword_create) (keyword_trigger) . (object_reference name: (identifier) @name)) @trigger
(create_type (object_reference name: (identifier) @name)) @type
(create_schema (identifier) @name) @namespace
(column_definition name: (identifier) @name) @field
; references
(invocation (object_reference name: (identifier) @call))
(identifier) @reference
