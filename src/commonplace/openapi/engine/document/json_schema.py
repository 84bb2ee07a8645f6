"""Schema Objects of every version as JSON Schema 2020-12, so that one validator can judge
instances of all of them.
"""

from __future__ import annotations

from typing import Any

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMA_SINGLES
from commonplace.openapi.engine.document.nullable import has_nullable_part
from commonplace.openapi.engine.document.resolver import follow_local_references
from commonplace.openapi.model import ApiDocument

ROOT_URI = "oas:document"
_DROPPED = frozenset(
    {
        "nullable",
        "x-nullable",
        "discriminator",
        "xml",
        "externalDocs",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)


Hides = frozenset[str]
"""readOnly, writeOnly or both: the properties that need not be there."""


def to_json_schema(document: ApiDocument, schema: Json, hides: Hides = frozenset()) -> Json:
    """The schema in 2020-12; references point into the registry's copy of the document.

    `hides`: without asking for properties that have one of these keywords."""
    if hides:
        schema = _lenient(document, schema, hides, frozenset())
    if document.family.json_schema:
        return _rebased(schema)
    return _converted(schema)


def convert_definitions(document: ApiDocument, hides: Hides = frozenset()) -> JsonObject:
    """All named schemas, converted, in the place that their references name."""
    converted = {
        name: to_json_schema(document, schema, hides) for name, schema in document.schemas.items()
    }
    return {"definitions": converted} if document.is_v2 else {"components": {"schemas": converted}}


def _lenient(document: ApiDocument, schema: Json, hides: Hides, around: frozenset[str]) -> Json:
    """The schema without hidden names in `required`.

    `around`: names that are hidden in what surrounds it, for the same value.
    """
    if not isinstance(schema, dict):
        return schema
    names = around | _hidden(document, schema, hides, 0)
    result: dict[str, Any] = {}
    for key, item in schema.items():
        if key == "required" and isinstance(item, list):
            result[key] = [name for name in item if name not in names]
        elif key in SCHEMA_MAPS and isinstance(item, dict):
            result[key] = {
                name: _lenient(document, child, hides, frozenset()) for name, child in item.items()
            }
        elif key in SCHEMA_LISTS and isinstance(item, list):
            inner = names if key in _SAME_VALUE else frozenset[str]()
            result[key] = [_lenient(document, child, hides, inner) for child in item]
        elif key in SCHEMA_SINGLES and key not in ("not", "if"):  # there less means more
            result[key] = _lenient(
                document, item, hides, names if key in _SAME_VALUE else frozenset()
            )
        else:
            result[key] = item
    return result


_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "then", "else"})
_DEEPEST = 8


def _hidden(document: ApiDocument, schema: JsonObject, hides: Hides, depth: int) -> frozenset[str]:
    """The hidden properties of a schema and its allOf."""
    found: set[str] = set()
    properties, parts = schema.get("properties"), schema.get("allOf")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        if isinstance(child, dict):
            target = follow_local_references(document.data, child)[0]
            if any(child.get(keyword) is True or target.get(keyword) is True for keyword in hides):
                found.add(name)
    for part in parts if isinstance(parts, list) and depth < _DEEPEST else ():
        if isinstance(part, dict):
            found |= _hidden(
                document, follow_local_references(document.data, part)[0], hides, depth + 1
            )
    return frozenset(found)


def _reference(ref: Json) -> Json:
    return f"{ROOT_URI}{ref}" if isinstance(ref, str) and ref.startswith("#") else ref


def _rebased(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {
            key: _reference(item) if key in ("$ref", "$dynamicRef") else _rebased(item)
            for key, item in schema.items()
        }
    if isinstance(schema, list):
        return [_rebased(item) for item in schema]
    return schema


def _converted(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        return {"$ref": _reference(schema["$ref"])}
    result: dict[str, Any] = {}
    for key, item in schema.items():
        if key in _DROPPED or key.startswith("x-"):
            continue
        if key in SCHEMA_MAPS:
            result[key] = (
                {name: _converted(child) for name, child in item.items()}
                if isinstance(item, dict)
                else item
            )
        elif key in SCHEMA_LISTS:
            result[key] = [_converted(child) for child in item] if isinstance(item, list) else item
        elif key in SCHEMA_SINGLES:
            result[key] = _converted(item)
        else:
            result[key] = item
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
            result[exclusive] = result.pop(bound)
    if result.get("type") == "file":
        del result["type"]
    parts = schema.get("allOf")
    if (
        schema.get("nullable") is True
        or schema.get("x-nullable") is True
        or (isinstance(parts, list) and has_nullable_part(parts))
    ):
        return _nullable(result)
    return result


def _nullable(schema: JsonObject) -> JsonObject:
    """`nullable` only widens `type`; an enum that leaves null out still refuses it, but authors
    mean otherwise, so it is added.
    """
    kind = schema.get("type")
    if not isinstance(kind, str) or schema.keys() & {"allOf", "anyOf", "oneOf"}:
        return {"anyOf": [{"type": "null"}, schema]} if len(schema) else schema
    widened = {**schema, "type": [kind, "null"]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        widened["enum"] = [*schema["enum"], None]
    return widened
