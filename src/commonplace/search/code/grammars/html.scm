(element (start_tag (tag_name) @_tag (#match? @_tag "^(h[1-6]|title)$")) (text) @name) @section
(element (start_tag (attribute (attribute_name) @_attribute (#eq? @_attribute "id") (quoted_attribute_value (attribute_value) @name)))) @element
; references
(attribute (attribute_name) @_attribute (#match? @_attribute "^(src|href)$") (quoted_attribute_value (attribute_value) @import))
