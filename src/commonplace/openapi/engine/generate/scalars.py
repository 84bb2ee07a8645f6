"""Schemas of one scalar type, which are most of them and need no merging."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.generate.model import Primitive, Scalar, TypeUse

_COMPOUND = frozenset(
    (
        "$ref",
        "enum",
        "const",
        "allOf",
        "anyOf",
        "oneOf",
        "properties",
        "additionalProperties",
        "patternProperties",
        "items",
        "nullable",
    )
)
_SCALAR_TYPES = frozenset(("string", "integer", "number", "boolean"))
_USES = {
    (scalar, nullable): TypeUse(Primitive(scalar), nullable)
    for scalar in Scalar
    for nullable in (False, True)
}
_OCTETS = "application/octet-stream"


def scalar_use(schema: JsonObject) -> TypeUse | None:
    """Return the type of a schema that names one scalar type and composes nothing."""
    kind = schema.get("type")
    nullable = False
    if kind.__class__ is list and len(kind) == 2 and "null" in kind:
        kind = kind[0] if kind[1] == "null" else kind[1]
        nullable = True
    if kind.__class__ is not str or kind not in _SCALAR_TYPES or not _COMPOUND.isdisjoint(schema):
        return None
    form = schema.get("format")
    if kind == "string":
        return _USES[
            string_scalar(form, schema.get("contentEncoding"), schema.get("contentMediaType")),
            nullable,
        ]
    return _USES[number_scalar(kind, form), nullable]


def number_scalar(kind: str, form: Json) -> Scalar:
    """Return the scalar for a number or boolean with a format."""
    if kind == "integer":
        return (
            Scalar.INT32 if form == "int32" else Scalar.UINT64 if form == "uint64" else Scalar.INT64
        )
    if kind == "number":
        return Scalar.FLOAT32 if form == "float" else Scalar.FLOAT64
    return Scalar.BOOLEAN


def string_scalar(form: Json, encoding: Json, media_type: Json) -> Scalar:
    """Return the scalar for a string with a format, encoding or media type."""
    if form == "date-time":
        return Scalar.DATE_TIME
    if form == "date":
        return Scalar.DATE
    if form in ("byte", "binary") or encoding in ("base64", "base64url") or media_type == _OCTETS:
        return Scalar.BYTES
    return Scalar.STRING
