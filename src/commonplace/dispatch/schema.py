"""JSON Schemas that strict clients accept: self-contained, with an object at the root."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter

from commonplace.kernel.json_types import Json, JsonObject

MAX_INLINE_DEPTH = 12


def input_schema(model: type) -> JsonObject:
    """Return the schema of a tool's arguments."""
    return _plain(TypeAdapter(model).json_schema(mode="validation"))


def output_schema(model: type | Json) -> JsonObject:
    """Return the schema of an output; outputs may grow, so it allows unknown fields."""
    opened: JsonObject = _open(_plain(TypeAdapter(model).json_schema(mode="serialization")))
    return opened


def _plain(schema: JsonObject) -> JsonObject:
    definitions = schema.pop("$defs", {})
    plain: JsonObject = _inline(schema, definitions, 0)
    plain.setdefault("type", "object")
    plain.setdefault("properties", {})
    return plain


def _inline(node: Json, definitions: Mapping[str, Json], depth: int) -> Json:
    """Inline references, which many clients do not follow; drop generated titles and nulls."""
    if isinstance(node, list):
        return [_inline(item, definitions, depth) for item in node]
    if not isinstance(node, dict):
        return node
    node = _without_null(node)
    reference = node.get("$ref")
    if isinstance(reference, str):
        if depth >= MAX_INLINE_DEPTH:
            return {}
        target = definitions[reference.rsplit("/", 1)[1]]
        return _inline(
            {**target, **{k: v for k, v in node.items() if k != "$ref"}}, definitions, depth + 1
        )
    return {
        key: {name: _inline(value, definitions, depth) for name, value in child.items()}
        if key in ("properties", "patternProperties")
        else _inline(child, definitions, depth)
        for key, child in node.items()
        if not (key == "title" and isinstance(child, str))
    }


def _without_null(node: JsonObject) -> JsonObject:
    """Show an optional field as its type: clients handle it better than `anyOf: [x, null]`."""
    branches = node.get("anyOf")
    if not isinstance(branches, list) or node.get("default", 0) is not None:
        return node
    kept = [branch for branch in branches if branch != {"type": "null"}]
    if len(kept) == len(branches) or len(kept) != 1:
        return (
            {**{k: v for k, v in node.items() if k != "default"}, "anyOf": kept}
            if len(kept) != len(branches)
            else node
        )
    return {**kept[0], **{k: v for k, v in node.items() if k not in ("anyOf", "default")}}


def _open(node: Json) -> Json:
    if isinstance(node, list):
        return [_open(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _open(value)
        for key, value in node.items()
        if not (key == "additionalProperties" and value is False)
    }
