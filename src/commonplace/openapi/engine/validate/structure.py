"""Validation against the official JSON Schema of each version.

Every deviation becomes a finding at the most specific place.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Protocol

import jsonschema_rs
import orjson

from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.findings import make_finding, make_no_response_finding
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.model import ApiDocument, Family

MAX_ERRORS = 2000
# Keywords of JSON Schema that Schema Objects have since 3.1, whose published schema leaves them
# open.
_KEYWORDS_3_1 = [
    "const",
    "if",
    "then",
    "else",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$defs",
    "$id",
    "$anchor",
    "$schema",
    "$comment",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
]
_VALUE_KEYWORDS = frozenset(
    [
        *("enum", "const", "constant", "pattern", "format", "minLength", "minimum", "maximum"),
        *("minItems", "minProperties", "uniqueItems"),
    ]
)
_MAX_DEPTH = 8  # nested choices whose alternatives are explained
_FORM_FIELDS = ("type", "in", "flow", "scheme")
DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.1/dialect/base",
    "https://spec.openapis.org/oas/3.1/dialect/2024-10-25",
    "https://spec.openapis.org/oas/3.1/dialect/2024-11-10",
    "https://spec.openapis.org/oas/3.2/dialect/2025-09-17",
}


def check_structure(document: ApiDocument) -> Iterator[ValidationFinding]:
    """Yield what the official schema reports."""
    validator = _compile_validator(document.family, not find_unknown_dialect(document))
    for error in islice(validator.iter_errors(document.data), MAX_ERRORS):
        yield from _list_findings(error, document.family, 0)


def find_unknown_dialect(document: ApiDocument) -> str | None:
    """Return the declared dialect of the schemas if it cannot be checked."""
    if not document.family.json_schema:
        return None
    dialect = document.data.get("jsonSchemaDialect")
    if (
        not isinstance(dialect, str)
        or dialect.rstrip("#") in DIALECTS
        or dialect.startswith("https://spec.openapis.org/oas/3.")
    ):
        return None
    return dialect


@lru_cache(maxsize=8)
def official_schema(family: Family) -> JsonObject:
    """Return the schema that openapi-spec-validator ships, with its known mistakes corrected."""
    found = importlib.util.find_spec("openapi_spec_validator")
    if found is None or not found.submodule_search_locations:
        hint = "Install the package openapi-spec-validator."
        raise CommonplaceError(
            NOT_AVAILABLE, "The official OpenAPI schemas are not installed.", hint=hint
        )
    path = (
        Path(found.submodule_search_locations[0])
        / "resources"
        / "schemas"
        / f"v{family.value}"
        / "schema.json"
    )
    schema: JsonObject = orjson.loads(path.read_bytes())
    if family is Family.V31:  # it calls the server of a link `body`
        link = schema["$defs"]["link"]["properties"]
        if "body" in link and "server" not in link:
            link["server"] = link.pop("body")
    return schema


@lru_cache(maxsize=16)
def _compile_validator(family: Family, with_schemas: bool) -> jsonschema_rs.Validator:
    schema = official_schema(family)
    if family.json_schema and with_schemas:
        # The published schema leaves Schema Objects open; here they must also be JSON Schema
        # 2020-12.
        schema = orjson.loads(orjson.dumps(schema))
        schema["$defs"]["schema"] = {
            "$dynamicAnchor": "meta",
            "$ref": "https://json-schema.org/draft/2020-12/schema",
        }
    return jsonschema_rs.validator_for(
        schema, validate_formats=False, mask="the value", offline=True
    )


@lru_cache(maxsize=1)
def _field_versions() -> dict[str, Family]:
    """Map each field name to the first version whose schema has it."""
    known: dict[str, Family] = dict.fromkeys(_KEYWORDS_3_1, Family.V31)
    for family in (Family.V20, Family.V30, Family.V31, Family.V32):
        for name in _list_property_names(official_schema(family)):
            known.setdefault(name, family)
    return known


def _list_property_names(node: Json) -> Iterator[str]:
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, dict):
            properties = current.get("properties")
            if isinstance(properties, dict):
                yield from properties
            stack.extend(current.values())
        elif isinstance(current, list):
            stack.extend(current)


class SchemaError(Protocol):
    """An error of jsonschema_rs, as far as it is used here."""

    kind: Json  # its attributes depend on the keyword
    message: str
    instance: Json
    instance_path: list[str | int]


def _render_pointer(steps: list[str | int]) -> str:
    return "".join("/" + escape_token(str(step)) for step in steps)


def _list_findings(error: SchemaError, family: Family, depth: int) -> Iterator[ValidationFinding]:
    """Yield the findings of an error of the official schema."""
    kind, name = error.kind, error.kind.name
    pointer = _render_pointer(error.instance_path)
    if name in ("anyOf", "oneOf") and depth < _MAX_DEPTH:
        yield from _explain_choice(error, family, depth)
    elif name in ("additionalProperties", "unevaluatedProperties"):
        for field in kind.unexpected:
            yield _explain_unexpected(str(field), pointer, family)
    elif _is_missing_response(error):
        yield make_no_response_finding(pointer)
    else:
        rule, message = _describe_error(error, _describe_place(pointer))
        yield make_finding(rule, pointer, message)


def _describe_error(error: SchemaError, where: str) -> tuple[str, str]:
    """Return the rule and the message of an error about one value."""
    kind, name = error.kind, error.kind.name
    if name == "required":
        return "missing-field", f"{where} has no {str(kind.property)!r}, which is required."
    if name == "not" and isinstance(kind.schema, dict) and kind.schema.keys() == {"required"}:
        fields = " and ".join(repr(field) for field in kind.schema["required"])
        return "wrong-structure", f"{where} has {fields} beside fields that exclude it."
    problem = _finish_sentence(error.message)
    if name == "propertyNames":
        return "wrong-value", f"{where} has a key of the wrong form: {problem}"
    rule = (
        "wrong-type"
        if name == "type"
        else "wrong-value"
        if name in _VALUE_KEYWORDS
        else "wrong-structure"
    )
    return rule, f"{where}: {problem}"


def _explain_choice(error: SchemaError, family: Family, depth: int) -> Iterator[ValidationFinding]:
    """Yield the findings of the alternative that is nearest to what was written."""
    pointer, level = _render_pointer(error.instance_path), len(error.instance_path)
    if not error.instance_path and error.kind.name == "anyOf":
        message = "The document has none of paths, components and webhooks."
        yield make_finding("empty-document", "", message)
        return
    branches = getattr(error.kind, "context", None)
    if branches:
        wrong = _find_wrong_form(branches, level)
        if wrong:
            yield _explain_wrong_form(error, pointer, *wrong)
            return
        best = min(branches, key=lambda branch: _measure_distance(branch, level))
        if best and _is_informative(best, level, error.instance):
            for inner in best[:20]:
                yield from _list_findings(inner, family, depth + 1)
            return
    message = f"{_describe_place(pointer)} has none of the forms that are allowed here."
    yield make_finding("wrong-structure", pointer, message)


def _explain_wrong_form(
    error: SchemaError, pointer: str, field: str, allowed: list[str]
) -> ValidationFinding:
    where = f"{pointer}/{field}"
    if (
        field == "type"
        and isinstance(error.instance, dict)
        and isinstance(error.instance.get("type"), list)
    ):
        message = "Lists of types exist from OpenAPI 3.1 on; 3.0 has `nullable`."
        return make_finding("version-gate", where, message)
    message = f"{where}: the value is not one of {', '.join(allowed)}."
    return make_finding("wrong-value", where, message)


def _is_missing_response(error: SchemaError) -> bool:
    """Tell whether the error is about an operation without responses."""
    path, name = error.instance_path, error.kind.name
    if not path or path[-1] != "responses" or path[-2:-1] == ["variables"]:
        return False
    return name == "minProperties" or (name == "required" and str(error.kind.property) == "default")


def _explain_unexpected(field: str, pointer: str, family: Family) -> ValidationFinding:
    here = f"{pointer}/{escape_token(field)}"
    since = _field_versions().get(field)
    order = list(Family)
    if since is not None and order.index(since) > order.index(family):
        return make_finding(
            "version-gate",
            here,
            f"{field!r} exists from OpenAPI {since.value} on, not in {family.value}.",
        )
    return make_finding(
        "unknown-field", here, f"{_describe_place(pointer)} has no field {field!r}."
    )


def _measure_distance(branch: list[SchemaError], depth: int) -> tuple[int, int, int]:
    """Rate how far an instance is from an alternative.

    A wrong kind of value counts most, then missing fields at its root, then everything else.
    """
    at_root = [error for error in branch if len(error.instance_path) == depth]
    wrong_kind = sum(
        1 for error in at_root if error.kind.name in ("type", "enum", "const", "constant", "not")
    )
    wrong_kind += sum(2 for error in branch if _has_other_form(error, depth))
    missing = sum(1 for error in at_root if error.kind.name == "required")
    return (
        wrong_kind * 10 + missing * 3 + len(at_root),
        len(branch),
        -max((len(error.instance_path) for error in branch), default=0),
    )


def _has_other_form(error: SchemaError, depth: int) -> bool:
    """Tell whether the field that distinguishes forms (`in`, `type`) has another form's value."""
    path = error.instance_path
    return (
        len(path) == depth + 1
        and path[-1] in _FORM_FIELDS
        and error.kind.name in ("enum", "const", "constant")
    )


def _find_wrong_form(branches: list[list[SchemaError]], depth: int) -> tuple[str, list[str]] | None:
    """Return the field whose value fits no form, and the values that would."""
    allowed: dict[str, None] = {}
    fields = set()
    for branch in branches:
        wrong = next((error for error in branch if _has_other_form(error, depth)), None)
        if wrong is None:
            if any(
                error.kind.name == "required" and str(error.kind.property) == "$ref"
                for error in branch
            ):
                continue
            return None
        fields.add(str(wrong.instance_path[-1]))
        options = getattr(wrong.kind, "options", None) or [
            getattr(wrong.kind, "expected_value", None)
        ]
        allowed.update(dict.fromkeys(str(option) for option in options))
    return (fields.pop(), list(allowed)) if len(fields) == 1 else None


def _is_informative(branch: list[SchemaError], depth: int, instance: Json) -> bool:
    """Tell whether the errors of one form explain more than that no form fits."""
    if isinstance(instance, dict) and "$ref" not in instance:
        return not any(
            error.kind.name == "required" and str(error.kind.property) == "$ref" for error in branch
        )
    return any(len(error.instance_path) > depth for error in branch) or len(branch) == 1


def _finish_sentence(message: str) -> str:
    message = message.strip().rstrip(".")
    return (message if len(message) <= 300 else message[:297] + "...") + "."


def _describe_place(pointer: str) -> str:
    return pointer or "The document"
