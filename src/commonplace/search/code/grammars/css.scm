(rule_set (selectors) @name) @rule
(keyframes_statement (keyframes_name) @name) @rule
(stylesheet (media_statement) @block)
(declaration (property_name) @name (#match? @name "^--")) @variable
; references
(import_statement (string_value) @import)
(call_expression (function_name) @call)
(class_name) @reference
(id_name) @reference
