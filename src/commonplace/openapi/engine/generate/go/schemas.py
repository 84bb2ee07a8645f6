"""Schemas that generated Go code needs at run time.

They validate requests and distinguish the variants of unions.
"""

from __future__ import annotations

import orjson

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.generate.merge import Merger

_VALUES = frozenset(
    [
        "type",
        "enum",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "required",
        "dependentRequired",
        "minContains",
        "maxContains",
        "readOnly",
        "contentMediaType",
        "contentEncoding",
    ]
)
_MAPS = frozenset(("properties", "patternProperties", "dependentSchemas"))
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_ONES = frozenset(
    ("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else")
)


class SchemaTable:
    """Collects schemas by key, with everything they refer to."""

    def __init__(self, merger: Merger) -> None:
        self._merger = merger
        self._schemas: JsonObject = {}
        self._pending: list[str] = []

    def add(self, key: str, schema: Json) -> str:
        """Return the key of a schema, which is its reference if it is one.

        Empty for a schema that allows any text.
        """
        if schema is True or schema == {} or schema == {"type": "string"}:
            return ""
        if (
            isinstance(schema, dict)
            and isinstance(schema.get("$ref"), str)
            and not (schema.keys() & (_VALUES | _MAPS | _LISTS | _ONES))
        ):
            self._refer(schema["$ref"])
            return str(schema["$ref"])
        self._schemas[key] = self._clean(schema)
        return key

    def text(self) -> str:
        """Return all schemas as JSON, one per line."""
        while self._pending:
            reference = self._pending.pop()
            self._schemas[reference] = self._clean(self._merger.resolve(reference))
        lines = [
            f"{orjson.dumps(key).decode()}:{orjson.dumps(self._schemas[key]).decode()}"
            for key in sorted(self._schemas)
        ]
        return "{" + ",\n".join(lines) + "}"

    def _refer(self, reference: str) -> None:
        if reference not in self._schemas:
            self._schemas[reference] = True
            self._pending.append(reference)

    def _clean(self, schema: Json) -> Json:
        if not isinstance(schema, dict):
            return schema if isinstance(schema, bool) else True
        result: JsonObject = {}
        for key, value in schema.items():
            if key in _VALUES:
                result[key] = value
            elif key in _MAPS and isinstance(value, dict):
                result[key] = {name: self._clean(part) for name, part in value.items()}
            elif key in _LISTS and isinstance(value, list):
                result[key] = [self._clean(part) for part in value]
            elif key in _ONES and isinstance(value, (dict, bool)):
                result[key] = self._clean(value)
            elif key == "const":
                result["enum"] = [value]
            elif key == "format" and value == "binary":
                result[key] = value
            elif key == "$ref" and isinstance(value, str):
                self._refer(value)
                result[key] = value
        if schema.get("nullable") is True and isinstance(result.get("type"), str):
            result["type"] = [result["type"], "null"]
        return result
