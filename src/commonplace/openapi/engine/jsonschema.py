"""Schema Objects of every version as JSON Schema 2020-12, so that one validator can judge instances of all of them."""

from __future__ import annotations

from typing import Any

from commonplace.openapi.engine.index import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMA_SINGLES
from commonplace.openapi.model import Document, Json, JsonObject

ROOT_URI = "oas:document"
_DROPPED = frozenset({"nullable", "x-nullable", "discriminator", "xml", "externalDocs", "example", "deprecated", "readOnly", "writeOnly"})


def to_json_schema(document: Document, schema: Json) -> Json:
    """The schema in 2020-12; references point into the registry's copy of the document."""
    if document.family.json_schema:
        return _rebased(schema)
    return _converted(schema)


def definitions(document: Document) -> JsonObject:
    """All named schemas, converted, in the place that their references name."""
    converted = {name: to_json_schema(document, schema) for name, schema in document.schemas.items()}
    return {"definitions": converted} if document.is_v2 else {"components": {"schemas": converted}}


def _reference(ref: Json) -> Json:
    return f"{ROOT_URI}{ref}" if isinstance(ref, str) and ref.startswith("#") else ref


def _rebased(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {key: _reference(item) if key in ("$ref", "$dynamicRef") else _rebased(item) for key, item in schema.items()}
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
            result[key] = {name: _converted(child) for name, child in item.items()} if isinstance(item, dict) else item
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
    if schema.get("nullable") is True or schema.get("x-nullable") is True:
        return _nullable(result)
    return result


def _nullable(schema: JsonObject) -> JsonObject:
    """`nullable` only widens `type`; an enum that leaves null out still refuses it, but authors mean otherwise, so it is added."""
    kind = schema.get("type")
    if not isinstance(kind, str):
        return {"anyOf": [{"type": "null"}, schema]} if kind is None and len(schema) else schema
    widened = {**schema, "type": [kind, "null"]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        widened["enum"] = [*schema["enum"], None]
    return widened
