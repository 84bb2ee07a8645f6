"""A document against the official JSON Schema of its version.

Every deviation becomes a finding at the narrowest place.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.rules import RULES, ValidationFinding
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
_FORM_FIELDS = ("type", "in", "flow", "scheme")
DIALECTS = {
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.1/dialect/base",
    "https://spec.openapis.org/oas/3.1/dialect/2024-10-25",
    "https://spec.openapis.org/oas/3.1/dialect/2024-11-10",
    "https://spec.openapis.org/oas/3.2/dialect/2025-09-17",
}


def check_structure(document: ApiDocument) -> Iterator[ValidationFinding]:
    """What the official schema says."""
    validator = _validator(document.family, not unknown_dialect(document))
    for error in islice(validator.iter_errors(document.data), MAX_ERRORS):
        yield from _findings(error, document.family, 0)


def unknown_dialect(document: ApiDocument) -> str | None:
    """The dialect of the document's schemas where it is not one that can be checked."""
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
    """The published schema as openapi-spec-validator carries it, with its known slips corrected."""
    found = importlib.util.find_spec("openapi_spec_validator")
    if found is None or not found.submodule_search_locations:
        hint = "Install openapi-spec-validator."
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
def _validator(family: Family, with_schemas: bool) -> Any:
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
def _fields_since() -> dict[str, Family]:
    """Field names that the schemas of later versions know, with the first version that does."""
    known: dict[str, Family] = dict.fromkeys(_KEYWORDS_3_1, Family.V31)
    for family in (Family.V20, Family.V30, Family.V31, Family.V32):
        for name in _property_names(official_schema(family)):
            known.setdefault(name, family)
    return known


def _property_names(node: Json) -> Iterator[str]:
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


def _pointer(steps: list[str | int]) -> str:
    return "".join("/" + escape_token(str(step)) for step in steps)


def _finding(rule: str, pointer: str, message: str) -> ValidationFinding:
    found = RULES[rule]
    return ValidationFinding(found, pointer, message, found.severity)


def _findings(error: Any, family: Family, depth: int) -> Iterator[ValidationFinding]:
    kind = error.kind
    name = kind.name
    pointer = _pointer(error.instance_path)
    if name in ("anyOf", "oneOf") and depth < 8:
        branches = getattr(kind, "context", None)
        if not error.instance_path and name == "anyOf":
            yield _finding(
                "empty-document", "", "The document has none of paths, components and webhooks."
            )
            return
        if branches:
            best = min(branches, key=lambda branch: _distance(branch, len(error.instance_path)))
            wrong = _wrong_forms(branches, len(error.instance_path))
            if wrong:
                field, allowed = wrong
                if (
                    field == "type"
                    and isinstance(error.instance, dict)
                    and isinstance(error.instance.get("type"), list)
                ):
                    yield _finding(
                        "version-gate",
                        f"{pointer}/type",
                        "Lists of types exist from OpenAPI 3.1 on; 3.0 has `nullable`.",
                    )
                    return
                message = (
                    f"{_where(f'{pointer}/{field}')}: the value is not one of {', '.join(allowed)}."
                )
                yield _finding("wrong-value", f"{pointer}/{field}", message)
                return
            if best and _telling(best, len(error.instance_path), error.instance):
                for inner in best[:20]:
                    yield from _findings(inner, family, depth + 1)
                return
        yield _finding(
            "wrong-structure",
            pointer,
            f"{_where(pointer)} fits none of the forms that are allowed here.",
        )
    elif name in ("additionalProperties", "unevaluatedProperties"):
        for field in kind.unexpected:
            yield _unexpected(str(field), pointer, family)
    elif _about_no_response(error):
        yield no_response(pointer)
    elif name == "required":
        missing = str(kind.property)
        yield _finding(
            "missing-field", pointer, f"{_where(pointer)} has no {missing!r}, which is required."
        )
    elif name == "type":
        yield _finding("wrong-type", pointer, f"{_where(pointer)}: {_sentence(error.message)}")
    elif name in (
        "enum",
        "const",
        "constant",
        "pattern",
        "format",
        "minLength",
        "minimum",
        "maximum",
        "minItems",
        "minProperties",
        "uniqueItems",
    ):
        yield _finding("wrong-value", pointer, f"{_where(pointer)}: {_sentence(error.message)}")
    elif name == "not" and isinstance(kind.schema, dict) and kind.schema.keys() == {"required"}:
        fields = " and ".join(repr(field) for field in kind.schema["required"])
        yield _finding(
            "wrong-structure",
            pointer,
            f"{_where(pointer)} has {fields} beside fields that exclude it.",
        )
    elif name == "propertyNames":
        yield _finding(
            "wrong-value",
            pointer,
            f"{_where(pointer)} has a key of the wrong form: {_sentence(error.message)}",
        )
    else:
        yield _finding("wrong-structure", pointer, f"{_where(pointer)}: {_sentence(error.message)}")


def no_response(pointer: str) -> ValidationFinding:
    return _finding(
        "missing-field",
        pointer,
        f"{pointer} has no response: a status code or 'default' is needed.",
    )


def _about_no_response(error: Any) -> bool:
    """Whether it is about the responses of an operation, of which there is none."""
    path, name = error.instance_path, error.kind.name
    if not path or path[-1] != "responses" or path[-2:-1] == ["variables"]:
        return False
    return name == "minProperties" or (name == "required" and str(error.kind.property) == "default")


def _unexpected(field: str, pointer: str, family: Family) -> ValidationFinding:
    here = f"{pointer}/{escape_token(field)}"
    since = _fields_since().get(field)
    order = list(Family)
    if since is not None and order.index(since) > order.index(family):
        return _finding(
            "version-gate",
            here,
            f"{field!r} exists from OpenAPI {since.value} on, not in {family.value}.",
        )
    return _finding("unknown-field", here, f"{_where(pointer)} has no field {field!r}.")


def _distance(branch: list[Any], depth: int) -> tuple[int, int, int]:
    """How far an instance is from a form: wrong kind of value, then missing fields at its root,
    then everything else.
    """
    at_root = [error for error in branch if len(error.instance_path) == depth]
    wrong_kind = sum(
        1 for error in at_root if error.kind.name in ("type", "enum", "const", "constant", "not")
    )
    wrong_kind += sum(2 for error in branch if _other_form(error, depth))
    missing = sum(1 for error in at_root if error.kind.name == "required")
    return (
        wrong_kind * 10 + missing * 3 + len(at_root),
        len(branch),
        -max((len(error.instance_path) for error in branch), default=0),
    )


def _other_form(error: Any, depth: int) -> bool:
    """Whether the field that tells forms apart (`in: path`, `type: http`) has the value of
    another form.
    """
    path = error.instance_path
    return (
        len(path) == depth + 1
        and path[-1] in _FORM_FIELDS
        and error.kind.name in ("enum", "const", "constant")
    )


def _wrong_forms(branches: list[list[Any]], depth: int) -> tuple[str, list[str]] | None:
    """The field whose value fits no form, with the values that would."""
    allowed: dict[str, None] = {}
    fields = set()
    for branch in branches:
        wrong = next((error for error in branch if _other_form(error, depth)), None)
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


def _telling(branch: list[Any], depth: int, instance: Json) -> bool:
    """Whether the errors of one form explain more than that no form fits."""
    if isinstance(instance, dict) and "$ref" not in instance:
        return not any(
            error.kind.name == "required" and str(error.kind.property) == "$ref" for error in branch
        )
    return any(len(error.instance_path) > depth for error in branch) or len(branch) == 1


def _sentence(message: str) -> str:
    message = message.strip().rstrip(".")
    return (message if len(message) <= 300 else message[:297] + "...") + "."


def _where(pointer: str) -> str:
    return pointer or "The document"
