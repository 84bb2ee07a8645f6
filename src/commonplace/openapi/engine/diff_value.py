"""JSON values and the plainest schemas, as comparison tells them apart."""

from __future__ import annotations

from typing import Any

import orjson

from commonplace.openapi.model import Json


def type_name(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) or float(value).is_integer() else "number"
    return "array" if isinstance(value, list) else "object"


def fits(types: frozenset[str], value: Json) -> bool:
    name = type_name(value)
    return name in types or (name == "integer" and "number" in types)


def canonical(value: Json) -> bytes:
    """A value's identity: 1 and 1.0 are one, the order of keys does not count."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        return repr(value).encode()


def among(value: Json, values: list[Json]) -> bool:
    key = canonical(value)
    return any(canonical(other) == key for other in values)


def refuses_all(schema: Json) -> bool:
    return schema is False or (isinstance(schema, dict) and schema.get("not") in ({}, True) and isinstance(schema["not"], (dict, bool)))


def only_null(schema: Json) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("type") in ("null", ["null"]) or schema.get("enum") == [None] or ("const" in schema and schema["const"] is None)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
