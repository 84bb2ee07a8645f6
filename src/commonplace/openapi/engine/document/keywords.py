"""Keywords whose values are names, data or schemas."""

from __future__ import annotations

from commonplace.kernel.json_types import Json


def collect_references(value: Json) -> list[str]:
    """Return the references inside a value, in no particular order."""
    found: list[str] = []
    stack = [(value, False)] if type(value) is dict or type(value) is list else []
    while stack:
        node, named = stack.pop()
        if type(node) is dict:
            ref = node.get("$ref")
            if type(ref) is str:
                found.append(ref)
            for key, item in node.items():
                if (type(item) is dict or type(item) is list) and (
                    named or not is_literal(key, item)
                ):
                    stack.append((item, not named and key in NAME_MAPS))
        else:
            stack.extend((item, False) for item in node if type(item) is dict or type(item) is list)
    return found


# Keywords whose values are data: a `$ref` inside them is not a reference. Names are not keywords: a
# property, a response or a component may be called `default`.
_DATA_KEYWORDS = frozenset({"example", "default", "enum", "const", "value", "dataValue"})
NAME_MAPS = frozenset(
    {
        *("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"),
        *(
            "schemas",
            "responses",
            "parameters",
            "examples",
            "requestBodies",
            "headers",
            "securitySchemes",
            "links",
            "callbacks",
        ),
        *(
            "pathItems",
            "mediaTypes",
            "paths",
            "webhooks",
            "additionalOperations",
            "content",
            "encoding",
            "securityDefinitions",
        ),
    }
)
"""Fields whose values, if they are objects, have names as keys instead of keywords."""


def is_literal(keyword: str, value: Json) -> bool:
    """Tell whether the value of a keyword is data.

    The `examples` of a schema are a list of data, those of a media type a map of objects.
    """
    return keyword in _DATA_KEYWORDS or (keyword == "examples" and type(value) is list)


SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
NAMED_MAPS = frozenset({"properties", "$defs"})
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_SINGLES = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "contentSchema",
        "additionalItems",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SCHEMA_CHILDREN = SCHEMA_MAPS | SCHEMA_LISTS | SCHEMA_SINGLES
