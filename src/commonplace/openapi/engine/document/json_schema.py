"""Schema Objects of every version as JSON Schema 2020-12, for one validator."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMA_SINGLES
from commonplace.openapi.engine.document.nullable import has_nullable_part
from commonplace.openapi.engine.document.references.resolver import follow_local_references
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
"""readOnly, writeOnly or both: properties with these keywords may be absent."""


def to_json_schema(document: ApiDocument, schema: Json, hides: Hides = frozenset()) -> Json:
    """Return a schema in 2020-12; references point into the registry's copy of the document.

    Properties with one of the keywords in `hides` are not required.
    """
    if hides:
        schema = _relax_required(document, schema, hides, frozenset())
    if document.family.json_schema:
        return _rebase(schema)
    return _convert(schema)


def convert_definitions(document: ApiDocument, hides: Hides = frozenset()) -> JsonObject:
    """Convert all named schemas, keeping the places that references name."""
    converted = {
        name: to_json_schema(document, schema, hides) for name, schema in document.schemas.items()
    }
    return {"definitions": converted} if document.is_v2 else {"components": {"schemas": converted}}


def _relax_required(
    document: ApiDocument, schema: Json, hides: Hides, around: frozenset[str]
) -> Json:
    """Return a schema without hidden names in `required`.

    `around` are the names hidden by schemas around it that apply to the same value.
    """
    if not isinstance(schema, dict):
        return schema
    names = around | _list_hidden(document, schema, hides, 0)
    result: JsonObject = {}
    for key, item in schema.items():
        if key == "required" and isinstance(item, list):
            result[key] = [name for name in item if name not in names]
        elif key in SCHEMA_MAPS and isinstance(item, dict):
            result[key] = {
                name: _relax_required(document, child, hides, frozenset())
                for name, child in item.items()
            }
        elif key in SCHEMA_LISTS and isinstance(item, list):
            inner = names if key in _SAME_VALUE else frozenset[str]()
            result[key] = [_relax_required(document, child, hides, inner) for child in item]
        elif key in SCHEMA_SINGLES and key not in (
            "not",
            "if",
        ):  # there a weaker schema would be stricter
            result[key] = _relax_required(
                document, item, hides, names if key in _SAME_VALUE else frozenset()
            )
        else:
            result[key] = item
    return result


_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "then", "else"})
_MAX_DEPTH = 8


def _list_hidden(
    document: ApiDocument, schema: JsonObject, hides: Hides, depth: int
) -> frozenset[str]:
    """Return the hidden properties of a schema and its allOf."""
    names: set[str] = set()
    properties, parts = schema.get("properties"), schema.get("allOf")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        if isinstance(child, dict):
            target = follow_local_references(document.data, child)[0]
            if any(child.get(keyword) is True or target.get(keyword) is True for keyword in hides):
                names.add(name)
    for part in parts if isinstance(parts, list) and depth < _MAX_DEPTH else ():
        if isinstance(part, dict):
            names |= _list_hidden(
                document, follow_local_references(document.data, part)[0], hides, depth + 1
            )
    return frozenset(names)


def _rebase_reference(ref: Json) -> Json:
    return f"{ROOT_URI}{ref}" if isinstance(ref, str) and ref.startswith("#") else ref


def _rebase(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {
            key: _rebase_reference(item) if key in ("$ref", "$dynamicRef") else _rebase(item)
            for key, item in schema.items()
        }
    if isinstance(schema, list):
        return [_rebase(item) for item in schema]
    return schema


def _convert(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        return {"$ref": _rebase_reference(schema["$ref"])}
    result: JsonObject = {}
    for key, item in schema.items():
        if key in _DROPPED or key.startswith("x-"):
            continue
        if key in SCHEMA_MAPS:
            result[key] = (
                {name: _convert(child) for name, child in item.items()}
                if isinstance(item, dict)
                else item
            )
        elif key in SCHEMA_LISTS:
            result[key] = [_convert(child) for child in item] if isinstance(item, list) else item
        elif key in SCHEMA_SINGLES:
            result[key] = _convert(item)
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
        return _allow_null(result)
    return result


def _allow_null(schema: JsonObject) -> JsonObject:
    """Make a schema accept null.

    By the specification an enum without null still refuses it; authors mean otherwise.
    """
    kind = schema.get("type")
    if not isinstance(kind, str) or schema.keys() & {"allOf", "anyOf", "oneOf"}:
        return {"anyOf": [{"type": "null"}, schema]} if len(schema) else schema
    widened = {**schema, "type": [kind, "null"]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        widened["enum"] = [*schema["enum"], None]
    return widened
