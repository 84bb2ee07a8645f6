"""JSON Schemas that strict clients accept: self-contained, with an object at the root.

Models pay for what tools/list shows in every session, so a listed schema is short.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter

from commonplace.kernel.json_types import Json, JsonObject

MAX_INLINE_DEPTH = 12
_LONGEST_LISTED = {"maxLength": 100, "maxItems": 20}
_NAMED_CHILDREN = ("properties", "patternProperties")


def input_schema(model: type) -> JsonObject:
    """Return the schema of a tool's arguments, with everything that is said about them."""
    return _plain(TypeAdapter(model).json_schema(mode="validation"))


def output_schema(model: type | Json) -> JsonObject:
    """Return the schema of an output; outputs may grow, so it allows unknown fields."""
    opened: JsonObject = _open(_plain(TypeAdapter(model).json_schema(mode="serialization")))
    return opened


def listed_schema(schema: Mapping[str, Json]) -> JsonObject:
    """Return an input schema as tools/list shows it, with what a caller needs and no more.

    Names, types, enumerations, defaults, required fields, bounds of numbers and short limits stay.
    Limits that nobody meets by accident are left to the error that states them. Of the description
    of a field the first sentence stays: it is for models, the rest for the reference.
    """
    listed: JsonObject = {key: _shorten(key, value) for key, value in schema.items()}
    return listed


def _shorten(key: str, value: Json) -> Json:
    if key in ("default", "enum", "const", "required"):
        return value
    if key == "description" and isinstance(value, str):
        return value.partition(". ")[0].rstrip(".")
    if isinstance(value, list):
        return [_shorten("", item) for item in value]
    if not isinstance(value, dict):
        return value
    if key in _NAMED_CHILDREN:
        return {name: _shorten("", child) for name, child in value.items()}
    return {
        name: _shorten(name, child) for name, child in value.items() if not _is_noise(name, child)
    }


def _is_noise(key: str, value: Json) -> bool:
    """Tell whether a keyword repeats what is usual, or a limit that is rarely met."""
    if key in _LONGEST_LISTED:
        return isinstance(value, int) and value > _LONGEST_LISTED[key]
    if key == "minLength":
        return bool(value == 1)
    return key == "additionalProperties" and isinstance(value, bool)


def _plain(schema: JsonObject) -> JsonObject:
    definitions = schema.pop("$defs", {})
    schema.pop("description", None)  # the docstring of the class
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
        target = {key: value for key, value in target.items() if key != "description"}
        return _inline(
            {**target, **{k: v for k, v in node.items() if k != "$ref"}}, definitions, depth + 1
        )
    return {
        key: {name: _inline(value, definitions, depth) for name, value in child.items()}
        if key in _NAMED_CHILDREN
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
        if not (key == "additionalProperties" and isinstance(value, bool))
    }
