(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(class name: (_) @name) @class
(module name: (_) @name) @module
(assignment left: (constant) @name) @constant
(alias name: (_) @name) @method
; references
(call method: (identifier) @call)
(call method: (constant) @call)
(call method: (identifier) @_require (#match? @_require "^(require|require_relative|load|autoload)$") arguments: (argument_list (string (string_content) @import)))
(identifier) @reference
(constant) @reference
