"""Rules about parameters, headers, media types, examples and links."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.document.nodes import ObjectNode
from commonplace.openapi.engine.validate.context import (
    RuleContext,
)
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.rules import Severity, ValidationFinding
from commonplace.openapi.model import Family

_FIELD_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+(?:\s*;.*)?", re.DOTALL)
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})


def check_parts(context: RuleContext) -> Iterator[ValidationFinding]:
    """Check parameters, headers, media types, examples and links, wherever they are."""
    index = context.index
    for node in index.parameters:
        yield from _check_parameter(context, node)
    for node in index.headers:
        yield from _check_header(context, node)
    for node in index.media_types:
        yield from _check_media_type(context, node)
    for node in index.examples:
        yield from _check_example(context, node)
    yield from _check_links(context)


def _check_parameter(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    value = node.value
    if "$ref" in value:
        return
    location, name = value.get("in"), value.get("name")
    if location == "path" and value.get("required") is not True:
        # An unused component does no harm.
        severity = (
            Severity.WARNING
            if node.scope.component and f"#{node.place.pointer}" not in context.references
            else None
        )
        yield make_finding(
            "path-parameter-optional",
            node.place,
            f"The path parameter {name!r} must have required: true.",
            severity,
        )
    if location == "header" and isinstance(name, str):
        if not _FIELD_NAME.fullmatch(name):
            yield _make_name_finding(context, node, name)
        elif name.lower() in _IGNORED_HEADERS and not context.document.is_v2:
            message = f"A header parameter called {name!r} is ignored."
            yield make_finding("parameter-header-ignored", node.place, message)
    if context.document.is_v2:
        if value.get("type") == "file" and location != "formData":
            message = f"The file parameter {name!r} must be in formData."
            yield make_finding("file-parameter", node.place, message)
        yield from _check_items(context, node)
    else:
        yield from _check_holder(context, node, "parameter")


def _make_name_finding(context: RuleContext, node: ObjectNode, name: str) -> ValidationFinding:
    message = f"{name!r} is not an HTTP field name."
    return make_finding("parameter-header-name", node.place, message, context.error_since_3_2)


def _check_header(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    if not node.scope.component and not _FIELD_NAME.fullmatch(node.name):
        yield _make_name_finding(context, node, node.name)
    if context.document.is_v2:
        yield from _check_items(context, node)
    elif "$ref" not in node.value:
        yield from _check_holder(context, node, "header")


def _check_items(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    """Check that arrays of 2.0 have items, at every level of a parameter or header."""
    value: Json = node.value
    where = node.place.pointer
    while isinstance(value, dict) and value.get("type") == "array":
        if "items" not in value:
            yield make_finding("array-items", where, f"The array {node.name!r} has no items.")
        value, where = value.get("items"), f"{where}/items"


def _check_holder(context: RuleContext, node: ObjectNode, what: str) -> Iterator[ValidationFinding]:
    value = node.value
    if ("schema" in value) == ("content" in value):
        either = "both schema and content" if "schema" in value else "neither schema nor content"
        yield make_finding(
            "parameter-schema-content", node.place, f"The {what} {node.name!r} has {either}."
        )
    if "example" in value and "examples" in value:
        yield make_finding(
            "example-conflict",
            node.place,
            f"The {what} {node.name!r} has both example and examples.",
        )


def _check_media_type(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    if "example" in node.value and "examples" in node.value:
        yield make_finding(
            "example-conflict", node.place, f"{node.name!r} has both example and examples."
        )
    if not node.scope.component and not _MEDIA_TYPE.fullmatch(node.name):
        yield make_finding("media-type", node.place, f"{node.name!r} is not a media type.")


def _check_example(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    if "value" in node.value and "externalValue" in node.value:
        yield make_finding(
            "example-value-conflict",
            node.place,
            f"The example {node.name!r} has both value and externalValue.",
        )


def _check_links(context: RuleContext) -> Iterator[ValidationFinding]:
    known = {
        name
        for node in context.index.operations
        if isinstance(name := node.value.get("operationId"), str)
    }
    for node in context.index.links:
        name, ref = node.value.get("operationId"), node.value.get("operationRef")
        if isinstance(name, str) and name not in known:
            yield make_finding(
                "link-operation", node.place, f"No operation has the operationId {name!r}."
            )
        if (
            isinstance(ref, str)
            and ref.startswith("#")
            and context.resolver.try_follow({"$ref": ref}) == {"$ref": ref}
        ):
            yield make_finding("link-operation", node.place, f"There is no operation at {ref}.")
        if context.document.family is Family.V30 and not node.value.keys() & {
            "$ref",
            "operationId",
            "operationRef",
        }:
            yield make_finding(
                "missing-field",
                node.place,
                f"The link {node.name!r} has neither operationId nor operationRef.",
            )
