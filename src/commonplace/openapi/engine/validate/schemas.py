"""Rules about references, components and Schema Objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.nodes import RefNode, SchemaNode
from commonplace.openapi.engine.document.references.resolver import Target
from commonplace.openapi.engine.pointers import MISSING, decode_pointer, escape_token
from commonplace.openapi.engine.validate.context import RuleContext
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.errors import CIRCULAR_REF
from commonplace.openapi.model import V2_COMPONENTS, Family

_COMPONENT_KINDS = {
    "schema": "schemas",
    "parameter": "parameters",
    "response": "responses",
    "requestBody": "requestBodies",
    "header": "headers",
    "link": "links",
    "example": "examples",
    "callback": "callbacks",
    "pathItem": "pathItems",
    "securityScheme": "securitySchemes",
    "mediaType": "mediaTypes",
}
_COMPONENT_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_SCHEMA_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_BOUNDS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class SchemaRules:
    """Checks the references, components and schemas of a document."""

    def __init__(self, context: RuleContext) -> None:
        self.document = context.document
        self.index = context.index
        self.resolver = context.resolver

    def findings(self, strict: bool) -> Iterator[ValidationFinding]:
        """Yield all findings; `strict` adds rules beyond the specification."""
        yield from self._check_references()
        yield from self._check_component_names()
        arrays = self.document.family is Family.V30
        for node in self.index.schemas:
            if not _CHECKED_KEYWORDS.isdisjoint(node.schema) or (
                arrays and node.schema.get("type") == "array"
            ):
                yield from self._check_schema(node)
        if strict:
            for node in self.index.schemas:
                yield from self._check_required(node)
            yield from self._check_unused()

    def _check_references(self) -> Iterator[ValidationFinding]:
        verdicts: dict[tuple[str, str, str], ValidationFinding | None] = {}
        for node in self.index.refs:
            key = (node.ref, node.node_type, node.resource)
            if key not in verdicts:
                verdicts[key] = self._check_reference(node)
            verdict = verdicts[key]
            if verdict is not None:
                yield ValidationFinding(
                    verdict.rule, f"{node.place.pointer}/$ref", verdict.message, verdict.severity
                )

    def _check_reference(self, node: RefNode) -> ValidationFinding | None:
        try:
            target = self._resolve(node)
        except CommonplaceError as error:
            if error.code is CIRCULAR_REF:
                return make_finding(
                    "ref-circular",
                    "",
                    f"{node.ref} leads only to other references and back to itself.",
                )
            if error.details.get("external") and error.details.get("cause") not in (
                "SPEC_NOT_FOUND",
                "SPEC_SYNTAX",
            ):
                why = (
                    f" {error.message.removeprefix(f'{node.ref}: ')}"
                    if "cause" in error.details
                    else ""
                )
                return make_finding(
                    "ref-external", "", f"{node.ref} is in another file and was not checked.{why}"
                )
            return make_finding("ref-unresolved", "", error.message)
        kind = self._find_kind(node.ref)
        wanted = _COMPONENT_KINDS.get(node.node_type)
        if kind is not None and wanted is not None and kind != wanted:
            return make_finding(
                "ref-kind", "", f"{node.ref} is one of the {kind}, but {wanted} are expected here."
            )
        if not isinstance(target.value, dict) and not (
            node.node_type == "schema" and isinstance(target.value, bool)
        ):
            return make_finding("ref-kind", "", f"{node.ref} is not an object.")
        return None

    def _resolve(self, node: RefNode) -> Target:
        if node.resource and node.ref.startswith("#"):
            try:
                return self.resolver.follow({"$ref": node.resource + node.ref})
            except CommonplaceError:
                pass  # many documents write pointers from the root all the same
        return self.resolver.follow({"$ref": node.ref})

    def _find_kind(self, ref: str) -> str | None:
        """Return the kind of component that a reference names; None if it points elsewhere."""
        parts = ref.split("/")
        if self.document.is_v2:
            names = {place: kind for kind, place in V2_COMPONENTS.items()}
            return names.get(parts[1]) if len(parts) == 3 and parts[0] == "#" else None
        return (
            parts[2]
            if len(parts) == 4
            and parts[:2] == ["#", "components"]
            and parts[2] in _COMPONENT_KINDS.values()
            else None
        )

    def _check_component_names(self) -> Iterator[ValidationFinding]:
        if self.document.is_v2:
            return
        components = self.document.data.get("components")
        for kind, values in components.items() if isinstance(components, dict) else ():
            for name in (
                values if isinstance(values, dict) and kind in _COMPONENT_KINDS.values() else ()
            ):
                if not _COMPONENT_NAME.fullmatch(name):
                    pointer = f"/components/{kind}/{escape_token(name)}"
                    yield make_finding(
                        "component-name",
                        pointer,
                        f"The name {name!r} contains characters that are not allowed.",
                    )

    def _check_unused(self) -> Iterator[ValidationFinding]:
        depth = 3 if self.document.is_v2 else 4
        used = {
            "/".join(ref.split("/")[:depth])
            for node in self.index.refs
            for ref in (node.ref, decode_pointer(node.ref))
        }
        used |= {
            value
            for node in self.index.schemas
            for value in _get_mapping(node.schema).values()
            if isinstance(value, str)
        }
        for kind in (
            "schemas",
            "parameters",
            "responses",
            "requestBodies",
            "headers",
            "examples",
            "links",
            "callbacks",
        ):
            base = self.document.component_pointer(kind)
            for name in self.document.components(kind):
                pointer = f"{base}/{escape_token(name)}"
                if pointer not in used and name not in used:
                    yield make_finding(
                        "unused-component", pointer[1:], f"Nothing refers to {name!r}."
                    )

    def _check_schema(self, node: SchemaNode) -> Iterator[ValidationFinding]:
        schema = node.schema
        if "$ref" in schema and not self.document.family.json_schema:
            if len(schema) > 1 and any(not key.startswith("x-") for key in schema if key != "$ref"):
                yield make_finding(
                    "ref-siblings", node.place, "Fields beside $ref are ignored in this version."
                )
            return
        kind = schema.get("type")
        if kind == "array" and "items" not in schema and self.document.family is Family.V30:
            yield make_finding("array-items", node.place, "The array has no items.")
        if "discriminator" in schema:
            yield from self._check_discriminator(node)
        xml = schema.get("xml")
        if (
            self.document.family is Family.V32
            and isinstance(xml, dict)
            and "nodeType" in xml
            and ("attribute" in xml or "wrapped" in xml)
        ):
            yield make_finding(
                "xml-conflict",
                f"{node.place.pointer}/xml",
                "nodeType excludes attribute and wrapped.",
            )
        yield from self._check_contradictions(node)

    def _check_required(self, node: SchemaNode) -> Iterator[ValidationFinding]:
        required, properties = node.schema.get("required"), node.schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str) and name not in known:
                yield make_finding(
                    "required-undefined",
                    f"{node.place.pointer}/required",
                    f"{name!r} is required but not among the properties.",
                )

    def _check_contradictions(self, node: SchemaNode) -> Iterator[ValidationFinding]:
        schema = node.schema
        for low, high in _BOUNDS:
            if low not in schema:
                continue
            first: Json = schema.get(low)
            last: Json = schema.get(high)
            if _is_number(first) and _is_number(last) and first > last:
                yield make_finding(
                    "bounds",
                    f"{node.place.pointer}/{low}",
                    f"{low} {first} is above {high} {last}.",
                )
        values = schema.get("enum")
        if isinstance(values, list):
            yield from self._check_enum(node, values)
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not is_valid_pattern(pattern):
            yield make_finding(
                "pattern",
                f"{node.place.pointer}/pattern",
                f"{pattern[:100]!r} is not a valid regular expression.",
            )

    def _check_enum(self, node: SchemaNode, values: list[Json]) -> Iterator[ValidationFinding]:
        kinds = _list_types(node.schema)
        if (
            kinds == ["string"]
            and all(type(value) is str for value in values)
            and len(set(values)) == len(values)
        ):
            return  # the common case
        known: set[str] = set()
        for position, value in enumerate(values):
            if (
                kinds
                and not any(_has_type(kind, value) for kind in kinds)
                and not (value is None and _is_nullable(node.schema))
            ):
                where = f"{node.place.pointer}/enum/{position}"
                yield make_finding(
                    "enum-type", where, f"{str(value)[:60]!r} is not of type {' or '.join(kinds)}."
                )
            if isinstance(value, (str, int, float)):
                key = f"{type(value).__name__}:{value}"
                if key in known:
                    where = f"{node.place.pointer}/enum/{position}"
                    yield make_finding(
                        "enum-duplicate", where, f"{str(value)[:60]!r} is listed twice."
                    )
                known.add(key)

    def _check_discriminator(self, node: SchemaNode) -> Iterator[ValidationFinding]:
        schema = node.schema
        declared = schema.get("discriminator")
        if self.document.is_v2:
            required = schema.get("required")
            properties = schema.get("properties")
            if isinstance(declared, str) and not (
                isinstance(required, list)
                and declared in required
                and isinstance(properties, dict)
                and declared in properties
            ):
                where = f"{node.place.pointer}/discriminator"
                yield make_finding(
                    "discriminator-property",
                    where,
                    f"{declared!r} is not a required property of this schema.",
                )
            return
        for key, target in _get_mapping(schema).items():
            if isinstance(target, str) and not self._is_schema_name(target):
                where = f"{node.place.pointer}/discriminator/mapping/{escape_token(key)}"
                yield make_finding(
                    "discriminator-mapping", where, f"{target!r} does not name a schema."
                )

    def _is_schema_name(self, target: str) -> bool:
        if _SCHEMA_NAME.fullmatch(target) and target in self.document.schemas:
            return True
        try:
            return self.resolver.resolve(target).value is not MISSING
        except CommonplaceError as error:
            return bool(error.details.get("external")) and not _SCHEMA_NAME.fullmatch(target)


# Keywords that a rule looks at; schemas without any of them are skipped.
_CHECKED_KEYWORDS = frozenset(
    {"$ref", "discriminator", "xml", "enum", "pattern"}
    | {keyword for pair in _BOUNDS for keyword in pair}
)


@lru_cache(maxsize=4096)
def is_valid_pattern(pattern: str) -> bool:
    """Tell whether a pattern is a regular expression of Python or of ECMA-262."""
    try:
        re.compile(pattern)
        return True
    except re.error:
        import jsonschema_rs

        try:
            jsonschema_rs.validator_for({"pattern": pattern})
            return True
        except (jsonschema_rs.ValidationError, ValueError):
            return False
    except (OverflowError, RecursionError):
        return True


def _get_mapping(schema: JsonObject) -> JsonObject:
    declared = schema.get("discriminator")
    mapping = declared.get("mapping") if isinstance(declared, dict) else None
    return mapping if isinstance(mapping, dict) else {}


def _list_types(schema: JsonObject) -> list[str]:
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
    return [item for item in kinds if isinstance(item, str) and item in _TYPES]


def _has_type(kind: str, value: Json) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _is_nullable(schema: JsonObject) -> bool:
    return schema.get("nullable") is True or schema.get("x-nullable") is True


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
