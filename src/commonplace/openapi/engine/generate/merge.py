"""Schemas whose meaning is spread over references, `allOf` and siblings, merged into one view."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.pointers import resolve_pointer

_STRUCTURAL = frozenset(
    [
        "$ref",
        "type",
        "properties",
        "items",
        "prefixItems",
        "enum",
        "const",
        "allOf",
        "anyOf",
        "oneOf",
        "additionalProperties",
        "patternProperties",
        "format",
        "contentEncoding",
        "contentMediaType",
    ]
)
_STRING_HINTS = frozenset(
    ("pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType")
)
_NUMBER_HINTS = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
)
_HINTS = _STRING_HINTS | _NUMBER_HINTS


@dataclass(slots=True)
class Choice:
    """A oneOf or anyOf that no single branch decides."""

    branches: JsonArray
    exclusive: bool
    discriminator: JsonObject


@dataclass(slots=True)
class Merged:
    """What a schema and everything it refers to say together."""

    types: list[str] | None = None
    nullable: bool = False
    properties: JsonObject = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    additional: Json = None
    patterns: JsonObject = field(default_factory=dict)
    items: Json = None
    prefix: JsonArray | None = None
    enum: JsonArray | None = None
    format: str = ""
    encoding: str = ""
    media_type: str = ""
    choices: list[Choice] = field(default_factory=list)
    hints: set[str] = field(default_factory=set)

    def object_schema(self) -> JsonObject:
        """Return the object part alone, for the branches of a choice that share it."""
        schema: JsonObject = {"type": "object"}
        if self.properties:
            schema["properties"] = self.properties
        if self.required:
            schema["required"] = sorted(self.required)
        if self.additional is not None:
            schema["additionalProperties"] = self.additional
        return schema


def is_null(schema: Json) -> bool:
    """Tell whether a schema allows null and nothing else."""
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if kind == "null" or kind == ["null"]:
        return True
    return schema.get("enum") == [None] or ("const" in schema and schema["const"] is None)


class Merger:
    """Merges schemas of a document.

    A reference back to a schema that is being merged is ignored.
    """

    def __init__(self, document: JsonObject) -> None:
        self.document = document
        self.missing: list[str] = []

    def resolve(self, reference: Json) -> Json:
        """Return the target of a reference; unresolved ones are noted in `missing`."""
        try:
            return resolve_pointer(self.document, reference if isinstance(reference, str) else "")
        except LookupError:
            if reference not in self.missing:
                self.missing.append(str(reference))
            return True

    def merge(self, schema: Json, within: tuple[str, ...] = ()) -> Merged:
        """Merge a schema with everything it refers to."""
        merged = Merged()
        self._absorb(merged, schema, within, 0)
        return merged

    def _absorb(self, merged: Merged, schema: Json, within: tuple[str, ...], depth: int) -> None:
        if not isinstance(schema, dict) or depth > 40:
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in within:
            self._absorb(merged, self.resolve(reference), (*within, reference), depth + 1)
        self._absorb_types(merged, schema)
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, value in properties.items():
                _add_property(merged, name, value)
        required = schema.get("required")
        if isinstance(required, list):
            merged.required.update(name for name in required if isinstance(name, str))
        if "additionalProperties" in schema and (
            merged.additional is None or merged.additional is True
        ):
            merged.additional = schema["additionalProperties"]
        if isinstance(schema.get("patternProperties"), dict):
            merged.patterns.update(schema["patternProperties"])
        if "items" in schema and not isinstance(merged.items, dict):
            merged.items = schema["items"]
        if isinstance(schema.get("prefixItems"), list):
            merged.prefix = schema["prefixItems"]
        if isinstance(schema.get("format"), str) and not merged.format:
            merged.format = schema["format"]
        if isinstance(schema.get("contentEncoding"), str):
            merged.encoding = schema["contentEncoding"]
        if isinstance(schema.get("contentMediaType"), str):
            merged.media_type = schema["contentMediaType"]
        if not _HINTS.isdisjoint(schema):
            merged.hints.update(_HINTS.intersection(schema))
        parts = schema.get("allOf")
        if isinstance(parts, list):
            for part in parts:
                self._absorb(merged, part, within, depth + 1)
        for branch in ("then", "else"):
            conditional = schema.get(branch)
            if isinstance(conditional, dict) and isinstance(conditional.get("properties"), dict):
                for name, value in conditional["properties"].items():
                    merged.properties.setdefault(name, value)
        for keyword in ("oneOf", "anyOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                self._absorb_choice(merged, branches, keyword == "oneOf", schema, within, depth)

    def _absorb_types(self, merged: Merged, schema: JsonObject) -> None:
        kind = schema.get("type")
        kinds = (
            [kind]
            if isinstance(kind, str)
            else [name for name in kind if isinstance(name, str)]
            if isinstance(kind, list)
            else []
        )
        if kinds:
            if "null" in kinds or schema.get("nullable") is True:
                merged.nullable = True
            real = [name for name in kinds if name != "null"]
            if merged.types is None:
                merged.types = real
            elif shared := [name for name in merged.types if name in real]:
                merged.types = shared
            elif set(real) & {"integer"} and "number" in merged.types:
                merged.types = ["integer"]
        elif schema.get("nullable") is True:
            merged.nullable = True
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list) and values:
            if None in values:
                merged.nullable = True
            values = [value for value in values if value is not None]
            if values:
                merged.enum = (
                    values
                    if merged.enum is None
                    else [value for value in merged.enum if value in values] or values
                )

    def _absorb_choice(
        self,
        merged: Merged,
        branches: JsonArray,
        exclusive: bool,
        schema: JsonObject,
        within: tuple[str, ...],
        depth: int,
    ) -> None:
        real = [branch for branch in branches if not is_null(branch)]
        if len(real) < len(branches):
            merged.nullable = True
        if any(isinstance(branch, dict) and branch.get("$ref") in within for branch in real):
            return  # a child that says allOf its parent, whose oneOf lists the child
        real = [branch for branch in real if _describes_type(branch, merged)]
        if not real:
            return
        if len(real) == 1 and (
            len(real) == len([branch for branch in branches if not is_null(branch)])
        ):
            self._absorb(merged, real[0], within, depth + 1)
            return
        discriminator = schema.get("discriminator")
        merged.choices.append(
            Choice(real, exclusive, discriminator if isinstance(discriminator, dict) else {})
        )


def _describes_type(branch: Json, merged: Merged) -> bool:
    """Tell whether a branch says anything about the type.

    Branches that only restrict (`required: [a]`, or known properties again) do not.
    """
    if branch is True:
        return False
    if not isinstance(branch, dict) or not any(key in _STRUCTURAL for key in branch):
        return False
    if (
        merged.properties
        and "$ref" not in branch
        and not branch.keys() & {"allOf", "anyOf", "oneOf", "items", "enum", "const"}
    ):
        inner = branch.get("properties")
        if (
            branch.get("type", "object") == "object"
            and isinstance(inner, dict)
            and inner.keys() <= merged.properties.keys()
        ):
            return False
        if (
            branch.keys() <= {"type", "required", "description", "title"}
            and branch.get("type", "object") == "object"
        ):
            return False
    return True


def _add_property(merged: Merged, name: str, value: Json) -> None:
    known = merged.properties.get(name)
    if known is None or known == value:
        merged.properties[name] = value
        return
    if value is True or value == {}:
        return
    if known is True or known == {}:
        merged.properties[name] = value
        return
    merged.properties[name] = {"allOf": [known, value]}


def infer_types(merged: Merged) -> list[str]:
    """Return the types that a schema names, or those that its other keywords imply."""
    if merged.types:
        kinds = list(dict.fromkeys(merged.types))
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        return kinds
    if merged.enum is not None:
        return list(dict.fromkeys(_json_type(value) for value in merged.enum))
    if merged.properties or merged.additional is not None or merged.patterns:
        return ["object"]
    if merged.items is not None or merged.prefix is not None:
        return ["array"]
    if merged.hints & _STRING_HINTS or merged.format in (
        "date-time",
        "date",
        "uuid",
        "uri",
        "email",
        "byte",
        "binary",
    ):
        return ["string"]
    if merged.hints & _NUMBER_HINTS:
        return ["number"]
    return []


def _json_type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
