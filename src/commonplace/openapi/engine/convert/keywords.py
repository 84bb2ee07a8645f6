"""The keywords of Schema Objects in 2.0 and 3.0, and of values in 2.0 parameters."""

from __future__ import annotations

_BOUNDS = (
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
)
_LISTS = ("maxItems", "minItems", "uniqueItems", "enum")
_SHARED = (
    "$ref",
    "type",
    "format",
    "items",
    "title",
    "description",
    "default",
    *_BOUNDS,
    *_LISTS,
    "maxProperties",
    "minProperties",
)
_OBJECTS = (
    "required",
    "properties",
    "additionalProperties",
    "allOf",
    "discriminator",
    "readOnly",
    "xml",
    "externalDocs",
    "example",
)

SCHEMA_20 = frozenset((*_SHARED, *_OBJECTS))
SCHEMA_30 = SCHEMA_20 | {"oneOf", "anyOf", "not", "nullable", "writeOnly", "deprecated"}
ITEM_KEYWORDS = ("type", "format", "items", "collectionFormat", "default", *_BOUNDS, *_LISTS)
"""What a 2.0 parameter, header or items object says about its value, in the order it is written;
everything else is about the parameter.
"""
VALUE_KEYWORDS = frozenset((*ITEM_KEYWORDS, "x-nullable")) - {"collectionFormat"}
