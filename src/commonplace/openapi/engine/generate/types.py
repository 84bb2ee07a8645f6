"""Types of a document: structs, enums, unions, lists, maps, scalars."""

from __future__ import annotations

import orjson

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.generate.annotations import (
    declares_type,
    doc_text,
    is_deprecated,
    last_token,
    pointer_hint,
)
from commonplace.openapi.engine.generate.merge import Merged, Merger, infer_types, is_null
from commonplace.openapi.engine.generate.model import (
    ANY_USE,
    Alias,
    Declaration,
    Enum,
    Field,
    ListOf,
    MapOf,
    NamedType,
    Notice,
    Primitive,
    Scalar,
    Struct,
    Type,
    TypeUse,
    Union,
    Variant,
)
from commonplace.openapi.engine.generate.scalars import number_scalar, scalar_use, string_scalar
from commonplace.openapi.engine.generate.variants import (
    flatten_choice,
    merge_equal_variants,
    name_branch,
)
from commonplace.openapi.engine.require import require_object

# Keys beside a reference that do not change which type is meant.
_SILENT = frozenset(
    [
        "description",
        "title",
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "example",
        "examples",
        "externalDocs",
        "xml",
        "nullable",
        "discriminator",
        "$comment",
        "minProperties",
        "maxProperties",
        "minItems",
        "maxItems",
    ]
)
_REFERRING = frozenset(("$ref", "allOf", "anyOf", "oneOf"))
_MAX_HINT = 24  # nesting of inline types; deeper ones are plain JSON
_MAX_NESTING = 30  # declarations that are being filled because another one refers to them
_SHARED_SIZE = 5


class TypeReader:
    """Reads the types of a document.

    Named schemas are declared once, inline ones in place.
    """

    def __init__(self, document: JsonObject) -> None:
        self.merger = Merger(document)
        self.document = document
        self.declarations: list[Declaration] = []
        self.warnings: list[Notice] = []
        self._named: dict[str, TypeUse] = {}
        self._open: set[str] = set()
        self._combined: dict[bytes, TypeUse] = {}
        self._waiting: list[tuple[Declaration, Merged, tuple[str, ...]]] = []
        self._nesting = 0

    def read_components(self) -> None:
        """Declare all component schemas."""
        schemas = require_object(self.document.get("components"), "/components").get("schemas")
        if isinstance(schemas, dict):
            for name in schemas:
                self.reference("#/components/schemas/" + name.replace("~", "~0").replace("/", "~1"))

    def reference(self, reference: str) -> TypeUse:
        """Return the type that a reference leads to; declare it on first use."""
        known = self._named.get(reference)
        if known is not None:
            return known
        if reference in self._open:
            return ANY_USE  # a reference whose value is only references back to itself
        before = len(self.merger.missing)
        schema = self.merger.resolve(reference)
        if len(self.merger.missing) > before:
            self.warnings.append(
                Notice(
                    reference,
                    "The reference does not resolve; its values are plain JSON.",
                    critical=True,
                )
            )
            self._named[reference] = ANY_USE
            return ANY_USE
        component = reference.startswith("#/components/schemas/") and reference.count("/") == 3
        hint = (last_token(reference),) if component else tuple(pointer_hint(reference))
        self._open.add(reference)
        target = self._find_wrapped_reference(schema)
        if target is not None:
            use = self._with_null(target[0], nullable=target[1])
            if component:
                declaration = Alias(
                    hint,
                    doc_text(schema),
                    is_deprecated(schema),
                    component=True,
                    target=TypeUse(use.type),
                )
                self.declarations.append(declaration)
                if not isinstance(use.type, NamedType):
                    use = TypeUse(NamedType(declaration), use.nullable)
            self._named.setdefault(reference, use)
            self._open.discard(reference)
            return use
        self._open.discard(reference)
        return self._declare(reference, schema, hint, component)

    def _with_null(self, target: str, *, nullable: bool) -> TypeUse:
        use = self.reference(target)
        return TypeUse(use.type, True) if nullable and not use.nullable else use

    def _declare(
        self, reference: str, schema: Json, hint: tuple[str, ...], component: bool
    ) -> TypeUse:
        merged = self.merger.merge(schema, (reference,))
        declaration = self._blank(merged, hint)
        declaration.doc, declaration.deprecated, declaration.component = (
            doc_text(schema),
            is_deprecated(schema),
            component,
        )
        use = TypeUse(NamedType(declaration), merged.nullable)
        self._named[reference] = use
        self.declarations.append(declaration)
        self._waiting.append((declaration, merged, hint))
        if self._nesting < _MAX_NESTING:
            self._fill_waiting(len(self._waiting) - 1 if self._nesting else 0)
        return use

    def _fill_waiting(self, start: int) -> None:
        """Fill declarations that were met but not yet filled.

        This bounds the recursion: deep ones wait until an outer one is done.
        """
        self._nesting += 1
        try:
            while len(self._waiting) > start:
                self._fill(*self._waiting.pop())
        finally:
            self._nesting -= 1

    def use(self, schema: Json, hint: tuple[str, ...]) -> TypeUse:
        """Return the type of a schema in its place."""
        if not isinstance(schema, dict):
            return ANY_USE
        simple = scalar_use(schema)
        if simple is not None and len(hint) <= _MAX_HINT:
            return simple
        target = self._find_wrapped_reference(schema)
        if target is not None:
            return self._with_null(target[0], nullable=target[1])
        if len(hint) > _MAX_HINT:
            self.warnings.append(
                Notice(
                    "/".join(hint[:3]), "Inline schemas nest too deeply; the rest is plain JSON."
                )
            )
            return ANY_USE
        key = orjson.dumps(schema, option=orjson.OPT_NON_STR_KEYS) if _is_shared(schema) else None
        if key is not None and key in self._combined:
            return self._combined[key]
        merged = self.merger.merge(schema)
        blank = self._blank(merged, hint)
        if isinstance(blank, Alias):
            return TypeUse(self._plain(merged, hint), merged.nullable)
        blank.doc, blank.deprecated = doc_text(schema), is_deprecated(schema)
        use = TypeUse(NamedType(blank), merged.nullable)
        if key is not None:
            self._combined[key] = use
        self.declarations.append(blank)
        self._fill(blank, merged, hint)
        if isinstance(blank, Union) and len(blank.variants) == 1:
            only = blank.variants[0].use
            use = TypeUse(only.type, only.nullable or merged.nullable)
            if key is None:
                self.declarations.remove(blank)
            else:  # something inside may have met it already
                self._combined[key] = use
        return use

    def _find_wrapped_reference(self, schema: Json) -> tuple[str, bool] | None:
        """Return the only reference of a schema without other rules, and whether null was added."""
        if not isinstance(schema, dict) or _REFERRING.isdisjoint(schema):
            return None
        rest = {
            key: value
            for key, value in schema.items()
            if key not in _SILENT and not key.startswith("x-")
        }
        nullable = schema.get("nullable") is True
        kind = rest.pop("type", None)
        objects = kind in (None, "object", ["object", "null"], ["object"])
        if (
            not objects
            and "$ref" not in rest
            and not (rest and set(rest) <= {"allOf", "anyOf", "oneOf"})
        ):
            return None
        nullable = nullable or (isinstance(kind, list) and "null" in kind)
        if set(rest) == {"$ref"} and isinstance(rest["$ref"], str):
            return rest["$ref"], nullable
        if len(rest) != 1:
            return None
        (keyword, parts), *_ = rest.items()
        if keyword not in ("allOf", "anyOf", "oneOf") or not isinstance(parts, list):
            return None
        real = [part for part in parts if not is_null(part)]
        if len(real) != 1 or (keyword == "allOf" and len(parts) != 1):
            return None
        inner = self._find_wrapped_reference(real[0])
        if inner is None:
            return None
        return inner[0], inner[1] or nullable or len(real) < len(parts)

    def _blank(self, merged: Merged, hint: tuple[str, ...]) -> Declaration:
        """Return an empty declaration of the kind that a schema needs.

        `Alias` means everything that needs no own name inline.
        """
        if merged.choices:
            return Union(hint)
        kinds = infer_types(merged)
        if merged.enum is not None and len(kinds) <= 1:
            strings = all(isinstance(value, str) for value in merged.enum)
            integers = all(
                isinstance(value, int) and not isinstance(value, bool) for value in merged.enum
            )
            if strings and kinds != ["integer"] and kinds != ["number"]:
                return Enum(hint, scalar=Scalar.STRING)
            if (
                integers
                and kinds in (["integer"], [])
                and all(-(2**63) <= value < 2**63 for value in merged.enum)
            ):
                return Enum(hint, scalar=Scalar.INT64)
        if len(kinds) > 1:
            return Union(hint)
        if kinds == ["object"] and (merged.properties or merged.additional is False):
            return Struct(hint)
        return Alias(hint)

    def _fill(self, declaration: Declaration, merged: Merged, hint: tuple[str, ...]) -> None:
        if isinstance(declaration, Struct):
            self._fill_struct(declaration, merged, hint)
        elif isinstance(declaration, Enum):
            declaration.values = list(dict.fromkeys(merged.enum or []))
        elif isinstance(declaration, Union):
            self._fill_union(declaration, merged, hint)
        elif isinstance(declaration, Alias):
            declaration.target = TypeUse(self._plain(merged, hint))

    def _fill_struct(self, struct: Struct, merged: Merged, hint: tuple[str, ...]) -> None:
        for name, schema in merged.properties.items():
            if schema is False:
                continue
            use = self.use(schema, (*hint, name))
            annotations = schema if isinstance(schema, dict) else {}
            one_way = annotations.get("readOnly") is True or annotations.get("writeOnly") is True
            required = name in merged.required and not one_way
            struct.fields.append(
                Field(
                    name,
                    use,
                    required,
                    doc_text(schema),
                    is_deprecated(schema),
                    declared=declares_type(schema),
                )
            )
        if merged.additional is True or (
            isinstance(merged.additional, dict) and not merged.additional
        ):
            struct.additional = ANY_USE
        elif isinstance(merged.additional, dict):
            struct.additional = self.use(merged.additional, (*hint, "Value"))
        elif merged.patterns:
            struct.additional = ANY_USE

    def _fill_union(self, union: Union, merged: Merged, hint: tuple[str, ...]) -> None:
        if not merged.choices:
            for kind in infer_types(merged):
                schema: JsonObject = {"type": kind}
                if kind == "object":
                    schema = merged.object_schema()
                elif kind == "array" and merged.items is not None:
                    schema["items"] = merged.items
                elif kind == "string" and merged.format:
                    schema["format"] = merged.format
                union.variants.append(Variant(kind, self.use(schema, (*hint, kind)), schema))
            union.exclusive = False
            return
        choice = merged.choices[0]
        union.exclusive = choice.exclusive
        base = self._merge_shared(merged)
        for index, branch in enumerate(flatten_choice(choice)):
            schema = {"allOf": [base, branch]} if base is not None else branch
            name = name_branch(branch, index)
            use = self.use(schema, (*hint, name))
            union.variants.append(
                Variant(name, use, schema, self._discriminators(choice.discriminator, branch))
            )
        merge_equal_variants(union)
        property_name = choice.discriminator.get("propertyName")
        if (
            isinstance(property_name, str)
            and property_name
            and any(variant.discriminators for variant in union.variants)
        ):
            union.discriminator = property_name

    def _merge_shared(self, merged: Merged) -> JsonObject | None:
        """Return what all branches of a choice have in common, if there is an object beside it."""
        properties = dict(merged.properties)
        for choice in merged.choices[1:]:
            for branch in choice.branches:
                for name, schema in self.merger.merge(branch).properties.items():
                    properties.setdefault(name, schema)
        if not properties and not isinstance(merged.additional, dict):
            return None
        return Merged(
            properties=properties, required=merged.required, additional=merged.additional
        ).object_schema()

    def _discriminators(self, discriminator: JsonObject, branch: Json) -> list[str]:
        if (
            not discriminator
            or not isinstance(branch, dict)
            or not isinstance(branch.get("$ref"), str)
        ):
            return []
        reference = branch["$ref"]
        mapping = discriminator.get("mapping")
        mapping = mapping if isinstance(mapping, dict) else {}
        name = last_token(reference)
        found = [str(value) for value, target in mapping.items() if target in (reference, name)]
        if not found:
            found = [name]
            merged = self.merger.merge(branch)
            schema = merged.properties.get(str(discriminator.get("propertyName")))
            if isinstance(schema, dict):
                values = self.merger.merge(schema).enum or []
                found = [value for value in values if isinstance(value, str)] or found
        return found

    def _plain(self, merged: Merged, hint: tuple[str, ...]) -> Type:
        """Return a type that needs no declaration of its own."""
        kinds = infer_types(merged)
        kind = kinds[0] if len(kinds) == 1 else ""
        if kind == "string":
            return Primitive(string_scalar(merged.format, merged.encoding, merged.media_type))
        if kind in ("integer", "number", "boolean"):
            return Primitive(number_scalar(kind, merged.format))
        if kind == "array":
            return ListOf(self._item(merged, hint))
        if kind == "object":
            return MapOf(self._member(merged, hint))
        return Primitive(Scalar.ANY)

    def _item(self, merged: Merged, hint: tuple[str, ...]) -> TypeUse:
        if merged.prefix:
            schemas = [*merged.prefix, *([merged.items] if isinstance(merged.items, dict) else [])]
            if all(schema == schemas[0] for schema in schemas):
                return self.use(schemas[0], (*hint, "Item"))
            distinct = [
                schema for index, schema in enumerate(schemas) if schema not in schemas[:index]
            ]
            return self.use({"anyOf": distinct}, (*hint, "Item"))
        return self.use(merged.items, (*hint, "Item"))

    def _member(self, merged: Merged, hint: tuple[str, ...]) -> TypeUse:
        if isinstance(merged.additional, dict) and merged.additional:
            return self.use(merged.additional, (*hint, "Value"))
        patterns = list(merged.patterns.values())
        if (
            patterns
            and all(schema == patterns[0] for schema in patterns)
            and merged.additional is False
        ):
            return self.use(patterns[0], (*hint, "Value"))
        return ANY_USE


def _is_shared(schema: JsonObject) -> bool:
    """Tell whether equal inline schemas are one type: combinations, and objects of some size.

    GitHub's document repeats a few inline objects a hundred times. Small ones stay apart, so that
    each is named after its own place.
    """
    properties = schema.get("properties")
    return schema.keys() == {"allOf"} or (
        isinstance(properties, dict) and len(properties) >= _SHARED_SIZE
    )
