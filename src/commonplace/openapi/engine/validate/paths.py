"""Rules about paths and the parameters in their templates."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.nodes import NodePlace, ObjectNode
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.context import EXPRESSION, RuleContext, list_repeated
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.operations import check_parameter_list
from commonplace.openapi.engine.validate.rules import Severity, ValidationFinding
from commonplace.openapi.model import Family

ParameterPositions = dict[tuple[str, str], int]
"""(name, in) of a parameter -> its position in the list that holds it."""


def check_paths(context: RuleContext) -> Iterator[ValidationFinding]:
    """Check every path and its path item."""
    # For each path shape: the first path item under "", and the first one with each method.
    shapes: dict[str, dict[str, ObjectNode]] = {}
    for node in context.index.paths:
        if node.scope.callback or node.scope.webhook:
            place = NodePlace(node.home or node.place, "parameters")
            yield from check_parameter_list(context, node.value.get("parameters"), place)
        if node.scope.component or node.scope.webhook or node.scope.callback:
            continue
        path = node.scope.path
        if not path.startswith("/"):
            message = f"The path {path!r} does not start with a slash."
            yield make_finding("path-slash", node.place, message)
        rest = EXPRESSION.sub("", path)
        names = EXPRESSION.findall(path)
        if "{" in rest or "}" in rest or any(not name.strip() for name in names):
            message = f"The template {path!r} has unbalanced or empty braces."
            yield make_finding("path-template", node.place, message)
            continue
        yield from _check_template(context, node, names, rest)
        yield from _check_ambiguity(context, node, shapes)
        yield from _check_path_item(context, node, set(names))


def _check_template(
    context: RuleContext, node: ObjectNode, names: list[str], rest: str
) -> Iterator[ValidationFinding]:
    path = node.scope.path
    for name in list_repeated(names):
        message = f"{path!r} names {{{name}}} more than once."
        yield make_finding("path-repeats-parameter", node.place, message, context.error_since_3_2)
    if "?" in rest or "#" in rest:
        message = f"{path!r} contains a query string or a fragment."
        yield make_finding("path-query", node.place, message)
    if len(path) > 1 and path.endswith("/"):
        yield make_finding("path-trailing-slash", node.place, f"{path!r} ends with a slash.")


def _check_ambiguity(
    context: RuleContext, node: ObjectNode, shapes: dict[str, dict[str, ObjectNode]]
) -> Iterator[ValidationFinding]:
    path = node.scope.path
    others = shapes.setdefault(EXPRESSION.sub("{}", path), {"": node})
    methods = [method for method in context.document.family.methods if method in node.value]
    if others[""] is not node:
        # The specification forbids it, but without a common method no request is ambiguous.
        other = next((others[method] for method in methods if method in others), None)
        message = f"{path!r} and {(other or others['']).scope.path!r} are the same path."
        severity = None if other else Severity.WARNING
        yield make_finding("path-ambiguous", node.place, message, severity)
    for method in methods:
        others.setdefault(method, node)


def _check_path_item(
    context: RuleContext, node: ObjectNode, names: set[str]
) -> Iterator[ValidationFinding]:
    """Compare the names in a path template with the path parameters of its operations."""
    home = node.home or node.place
    parameters = node.value.get("parameters")
    yield from check_parameter_list(context, parameters, NodePlace(home, "parameters"))
    shared = dict(context.list_parameters(parameters))
    operations = list(_list_operations(context, node.value))
    renamed = False
    for method, operation in operations:
        here = f"{home.pointer}/{method}"
        own = dict(context.list_parameters(operation.get("parameters")))
        unknown = context.has_unresolved_parameter(node.value)
        unknown = unknown or context.has_unresolved_parameter(operation)
        declared = {name for name, location in (*shared, *own) if location == "path"}
        missing = [] if unknown else sorted(names - declared)
        extra = sorted(declared - names)
        if missing and len(missing) == len(extra):
            renamed = True  # the finding names the shared parameters, too
            pairs = zip(missing, extra, strict=True)
            listed = ", ".join(f"{{{name}}} and {other!r}" for name, other in pairs)
            message = f"The path and its parameters disagree on names: {listed}."
            severity = Severity.WARNING if context.partial else None
            yield make_finding("path-parameter-renamed", here, message, severity)
            continue
        for name in missing:
            message = f"{{{name}}} of {node.scope.path!r} has no path parameter here."
            yield make_finding("path-parameter-missing", here, message)
        yield from _check_unused(node, own, names, here)
    if operations and not renamed:
        yield from _check_unused(node, shared, names, home.pointer)


def _list_operations(context: RuleContext, item: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the pointer step and the value of each operation of a path item."""
    for key, value in item.items():
        if key in context.document.family.methods and isinstance(value, dict):
            yield key, value
    extra = item.get("additionalOperations") if context.document.family is Family.V32 else None
    for key, value in extra.items() if isinstance(extra, dict) else ():
        if isinstance(value, dict):
            yield f"additionalOperations/{escape_token(key)}", value


def _check_unused(
    node: ObjectNode, parameters: ParameterPositions, names: set[str], pointer: str
) -> Iterator[ValidationFinding]:
    for (name, location), position in parameters.items():
        if location == "path" and name not in names:
            message = f"The path parameter {name!r} is not in {node.scope.path!r}."
            yield make_finding("path-parameter-unused", f"{pointer}/parameters/{position}", message)
