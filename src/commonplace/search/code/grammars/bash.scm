(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @variable))
; references
(command name: (command_name (word) @call))
(command name: (command_name (word) @_source (#match? @_source "^(source|\\.)$")) argument: (word) @import)
(variable_name) @reference
