"""Schema Objects of 3.0 as those of 2.0, and as the keywords of 2.0 parameters."""

from __future__ import annotations

import json
from collections.abc import Callable

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.keywords import ITEM_KEYWORDS, SCHEMA_20
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.pointers import resolve_pointer

_SECTIONS = {"schemas": "definitions", "responses": "responses", "parameters": "parameters"}
_TIGHTER: dict[str, Callable[[Json, Json], Json]] = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), min),
}
_NO_RULES = frozenset(
    (
        "title",
        "description",
        "example",
        "externalDocs",
        "xml",
        "discriminator",
        "additionalProperties",
    )
)
"""What says nothing about a value, or nothing that a 2.0 parameter could repeat: the first is as
good as any.
"""


class SchemaDown(Rewriter):
    """Rewrites a 3.0 schema; references already point to 2.0 places."""

    def __init__(self, issues: IssueLog, at: list[str]) -> None:
        super().__init__()
        self.issues = issues
        self.at = at

    def on_schema(self, node: JsonObject) -> Json:
        if "$ref" in node:
            return {"$ref": node["$ref"]} if len(node) > 1 else node
        result = dict(node)
        if result.pop("nullable", False) is True:
            self.issues.info(
                self.pointer("nullable"), "2.0 has no `nullable`; it is kept as `x-nullable`."
            )
            result["x-nullable"] = True
        discriminator = result.get("discriminator")
        if isinstance(discriminator, dict):
            discriminator = result["discriminator"] = _with_old_mapping(discriminator)
            name = discriminator.get("propertyName")
            required, properties = result.get("required"), result.get("properties")
            if (
                isinstance(required, list)
                and isinstance(properties, dict)
                and name in required
                and name in properties
            ):
                result["discriminator"] = name
            else:
                self.issues.warning(
                    self.pointer("discriminator"),
                    "2.0 needs the property to be listed here and required; it is kept as "
                    "`x-discriminator`.",
                )
                result["x-discriminator"] = result.pop("discriminator")
                discriminator = {}
            if discriminator.get("mapping"):
                self.issues.warning(
                    self.pointer("discriminator", "mapping"),
                    "2.0 has no mapping: values must be the names of definitions.",
                )
                result["x-discriminator-mapping"] = discriminator["mapping"]
        for keyword in ("oneOf", "anyOf", "not"):
            if keyword in result:
                self.issues.warning(
                    self.pointer(keyword),
                    f"2.0 has no `{keyword}`; it is kept as `x-{keyword}`, and the schema allows "
                    f"more.",
                )
                result[f"x-{keyword}"] = result.pop(keyword)
        for keyword in ("writeOnly", "deprecated"):
            if keyword in result:
                value = result.pop(keyword)
                if value is True:
                    self.issues.info(
                        self.pointer(keyword),
                        f"2.0 has no `{keyword}` in schemas; it is kept as `x-{keyword}`.",
                    )
                    result[f"x-{keyword}"] = True
        if isinstance(result.get("enum"), list):
            result["enum"] = remove_duplicates(result["enum"])
        for key in [key for key in result if key not in SCHEMA_20 and not key.startswith("x-")]:
            self.issues.warning(
                self.pointer(key), f"`{key}` is not a keyword of a 2.0 schema and was dropped."
            )
            del result[key]
        return node if result == node else result


def remove_duplicates(values: JsonArray) -> JsonArray:
    """Remove repeated values of an enum, which 2.0 does not allow."""
    found: JsonObject = {}
    for value in values:
        found.setdefault(json.dumps(value, sort_keys=True), value)
    return list(found.values())


def to_old_reference(reference: str) -> str:
    """Return a reference to a component as 2.0 writes it."""
    tokens = reference.split("/")
    if len(tokens) >= 4 and tokens[:2] == ["#", "components"] and tokens[2] in _SECTIONS:
        return "/".join(["#", _SECTIONS[tokens[2]], *tokens[3:]])
    return reference


def _with_old_mapping(discriminator: JsonObject) -> JsonObject:
    mapping = discriminator.get("mapping")
    if not isinstance(mapping, dict):
        return discriminator
    return {
        **discriminator,
        "mapping": {
            key: to_old_reference(target) if isinstance(target, str) else target
            for key, target in mapping.items()
        },
    }


class ValueDown:
    """Describes schemas by the flat keywords of 2.0 parameters and headers."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        self.document = document
        self.issues = issues

    def flatten(self, schema: Json, at: str, depth: int = 0) -> JsonObject:
        """Return the schema with references and single compositions resolved."""
        if not isinstance(schema, dict) or depth > 20:
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            try:
                return self.flatten(resolve_pointer(self.document, reference), at, depth + 1)
            except LookupError:
                self.issues.critical(at, f"{reference!r} does not resolve; a string is assumed.")
                return {"type": "string"}
        result = {
            key: value
            for key, value in schema.items()
            if key not in ("allOf", "anyOf", "oneOf", "not")
        }
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            self._merge(result, self.flatten(part, at, depth + 1), at)
        for keyword in ("oneOf", "anyOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                kinds = [self.flatten(branch, at, depth + 1) for branch in branches]
                types = {kind.get("type") for kind in kinds}
                self.issues.warning(
                    at,
                    f"2.0 parameters have one type; `{keyword}` was reduced to its first branch "
                    f"or to a string.",
                )
                if "type" not in result:
                    result["type"] = (
                        next(iter(types)) if len(types) == 1 and None not in types else "string"
                    )
                if result.get("type") == "array" and "items" not in result:
                    result["items"] = next((kind["items"] for kind in kinds if "items" in kind), {})
        return result

    def _merge(self, schema: JsonObject, part: JsonObject, at: str) -> None:
        part = dict(part)
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            bound_value, other = schema.get(bound), part.get(bound)
            if _is_number(bound_value) and _is_number(other) and bound_value != other:
                loser = part if _TIGHTER[bound](bound_value, other) == bound_value else schema
                loser.pop(bound)
                loser.pop(exclusive, None)  # it belongs to the bound that went
        for key, value in part.items():
            schema[key] = self._combine(key, schema[key], value, at) if key in schema else value

    def _combine(self, key: str, value: Json, other: Json, at: str) -> Json:
        """Combine what two parts of an `allOf` require of a keyword.

        If one keyword cannot express it, the first is kept and an issue reported.
        """
        if value == other or key in _NO_RULES or key.startswith("x-"):
            return value
        if key == "properties" and isinstance(value, dict) and isinstance(other, dict):
            shared = {
                name: {"allOf": [value[name], other[name]]}
                for name in value
                if name in other and value[name] != other[name]
            }
            return {
                **value,
                **{name: part for name, part in other.items() if name not in value},
                **shared,
            }
        if key == "required" and isinstance(value, list) and isinstance(other, list):
            return [*value, *(name for name in other if name not in value)]
        if key == "enum" and isinstance(value, list) and isinstance(other, list):
            common = [value for value in value if value in other]
            if common:
                return common
        elif key in _TIGHTER and _is_number(value) and _is_number(other):
            return _TIGHTER[key](value, other)
        elif key in (
            "exclusiveMinimum",
            "exclusiveMaximum",
            "uniqueItems",
            "readOnly",
            "writeOnly",
            "deprecated",
        ):
            return value is True or other is True
        elif key == "nullable":
            return value is True and other is True
        elif key == "items" and isinstance(value, dict) and isinstance(other, dict):
            return {"allOf": [value, other]}
        elif key == "type" and (value, other) in (("integer", "number"), ("number", "integer")):
            return "integer"
        self.issues.warning(
            at,
            f"Parts of `allOf` disagree about `{key}`, and 2.0 has no form for both; the first "
            f"was kept.",
        )
        return value

    def _infer_type(self, flat: JsonObject, at: str) -> str:
        """Return the type of a value that is described by its enum alone.

        Values of several types are described as the text that is sent.
        """
        values = flat.get("enum")
        if not isinstance(values, list) or "type" in flat:
            return "string"
        for kind, fits in _KINDS.items():
            if values and all(fits(value) for value in values):
                return kind
        self.issues.warning(
            at, "2.0 parameters have one type; the values of `enum` are given as text."
        )
        texts = (value if isinstance(value, str) else json.dumps(value) for value in values)
        flat["enum"] = list(dict.fromkeys(texts))
        return "string"

    def value(
        self, schema: Json, at: str, *, file: bool = False, collection: str | None = None
    ) -> JsonObject:
        """Return the keywords that describe a value."""
        flat = self.flatten(schema, at)
        kind = flat.get("type")
        if file and kind == "string" and flat.get("format") == "binary":
            return {"type": "file"}
        result: JsonObject = {}
        if kind not in ("string", "number", "integer", "boolean", "array"):
            if kind == "object" or "properties" in flat:
                self.issues.warning(
                    at, "2.0 parameters cannot be objects; the value is described as a string."
                )
            kind = self._infer_type(flat, at)
            flat = {
                key: value
                for key, value in flat.items()
                if key in ("description", "default", "pattern", "enum") or key.startswith("x-")
            }
            if isinstance(flat.get("default"), (dict, list)):
                del flat["default"]
        result["type"] = kind
        for key in ITEM_KEYWORDS:
            if key in flat and key not in ("type", "items"):
                result[key] = (
                    remove_duplicates(flat[key])
                    if key == "enum" and isinstance(flat[key], list)
                    else flat[key]
                )
        if kind == "array":
            result["items"] = self.value(flat.get("items") or {}, at)
            if collection is not None and collection != "csv":
                result["collectionFormat"] = collection
        if flat.get("nullable") is True:
            result["x-nullable"] = True
        return result


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_KINDS: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
}
