(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(class name: (_) @name) @class
(module name: (_) @name) @module
(assignment left: (constant) @name) @constant
(alias name: (_) @name) @method
(call method: (identifier) @_attribute (#match? @_attribute "^attr_(accessor|reader|writer)$")
  arguments: (argument_list (simple_symbol) @name)) @field
(call method: (identifier) @_declares (#match? @_declares "^(define_method|alias_method|scope)$")
  arguments: (argument_list . (simple_symbol) @name)) @field
; references
(call method: (identifier) @call)
(call method: (constant) @call)
(call method: (identifier) @_require (#match? @_require "^(require|require_relative|load|autoload)$") arguments: (argument_list (string (string_content) @import)))
(identifier) @reference
(constant) @reference
