"""Rules about operations and their lists of parameters."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.document.nodes import NodePlace, ObjectNode
from commonplace.openapi.engine.validate.context import (
    RuleContext,
    label_operation,
)
from commonplace.openapi.engine.validate.findings import make_finding, make_no_response_finding
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.model import Family

_FORM_TYPES = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})


def check_operations(context: RuleContext) -> Iterator[ValidationFinding]:
    """Check every operation of a document."""
    yield from _check_operation_ids(context)
    for node in context.index.operations:
        yield from _check_operation(context, node)


def _check_operation_ids(context: RuleContext) -> Iterator[ValidationFinding]:
    known: dict[str, ObjectNode] = {}
    for node in context.index.operations:
        name = node.value.get("operationId")
        if not isinstance(name, str):
            if not node.scope.callback:
                yield make_finding(
                    "operation-id-missing",
                    node.place,
                    f"{label_operation(node)} has no operationId.",
                )
            continue
        first = known.setdefault(name, node)
        if first.value is not node.value:  # one path item that several paths use is written once
            where = f"{node.place.pointer}/operationId"
            yield make_finding(
                "operation-id-duplicate",
                where,
                f"The operationId {name!r} is already used by {label_operation(first)}.",
            )


def _check_operation(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    operation = node.value
    yield from check_parameter_list(
        context, operation.get("parameters"), NodePlace(node.place, "parameters")
    )
    if context.document.family is Family.V32:
        yield from _check_querystring(context, node)
    if context.document.is_v2:
        yield from _check_body_parameters(context, node)
    if not operation.get("summary") and not operation.get("description"):
        yield make_finding(
            "operation-undescribed",
            node.place,
            f"{label_operation(node)} has neither summary nor description.",
        )
    responses = operation.get("responses")
    if isinstance(responses, dict):
        codes = [code for code in responses if not code.startswith("x-")]
        if not codes:
            yield make_no_response_finding(f"{node.place.pointer}/responses")
        elif not any(code == "default" or code[:1] in ("1", "2", "3") for code in codes):
            yield make_finding(
                "response-success",
                node.place,
                f"{label_operation(node)} has no success or default response.",
            )
        for code in codes:
            if code.isdigit() and len(code) == 3 and not 100 <= int(code) <= 599:
                yield make_finding(
                    "status-code",
                    f"{node.place.pointer}/responses/{code}",
                    f"{code} is not an HTTP status code.",
                )


def check_parameter_list(
    context: RuleContext, values: Json, place: NodePlace
) -> Iterator[ValidationFinding]:
    """Check a list of parameters for repetitions and misplaced querystring parameters."""
    known: dict[tuple[str, str], int] = {}
    kinds: list[str] = []
    for (name, location), position in context.list_parameters(values):
        key = (name.lower() if location == "header" else name, location)
        if key in known:
            yield make_finding(
                "parameter-duplicate",
                f"{place.pointer}/{position}",
                f"The {location} parameter {name!r} is listed twice.",
            )
        known[key] = position
        kinds.append(location)
    if context.document.family is Family.V32:
        count = kinds.count("querystring")
        if count > 1 or (count and "query" in kinds):
            yield make_finding(
                "parameter-querystring",
                place,
                "A querystring parameter must be the only one, without query parameters beside it.",
            )


def _check_querystring(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    """Check for `querystring` on the path item and `query` on the operation, or the reverse."""
    if node.place.parent is None:
        return
    item = context.path_items.get(id(node.place.parent))
    shared = (
        {key[1] for key, _ in context.list_parameters(item.value.get("parameters"))}
        if item is not None
        else set()
    )
    own = {key[1] for key, _ in context.list_parameters(node.value.get("parameters"))}
    if ("querystring" in shared and own & {"query", "querystring"}) or (
        "querystring" in own and "query" in shared
    ):
        message = (
            "A querystring parameter must be the only one, without query parameters beside it."
        )
        yield make_finding("parameter-querystring", f"{node.place.pointer}/parameters", message)


def _check_body_parameters(context: RuleContext, node: ObjectNode) -> Iterator[ValidationFinding]:
    values = node.value.get("parameters")
    locations = [location for (_, location), _ in context.list_parameters(values)]
    if locations.count("body") > 1:
        yield make_finding(
            "body-parameters",
            f"{node.place.pointer}/parameters",
            f"{label_operation(node)} has more than one body parameter.",
        )
    if "body" in locations and "formData" in locations:
        yield make_finding(
            "body-parameters",
            f"{node.place.pointer}/parameters",
            f"{label_operation(node)} mixes body and formData.",
        )
    consumed = node.value.get("consumes", context.document.data.get("consumes"))
    if (
        isinstance(consumed, list)
        and consumed
        and _FORM_TYPES.isdisjoint(str(media).partition(";")[0].strip() for media in consumed)
    ):
        for position, value in enumerate(values if isinstance(values, list) else ()):
            target = context.resolver.try_follow(value)
            if (
                isinstance(target, dict)
                and target.get("type") == "file"
                and target.get("in") == "formData"
            ):
                message = (
                    f"{label_operation(node)} takes a file but consumes neither "
                    f"multipart/form-data nor a form."
                )
                yield make_finding(
                    "file-parameter", f"{node.place.pointer}/parameters/{position}", message
                )
