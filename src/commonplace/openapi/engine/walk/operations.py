"""Walks over operations and paths."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.nodes import ObjectNode
from commonplace.openapi.engine.walk.query import WalkResult
from commonplace.openapi.engine.walk.walker import (
    RowFormat,
    Walker,
    drop_empty,
    method_filter,
    node_value,
    path_filter,
    strings_of,
    text_of,
)


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations to list; unset fields match all."""

    method: str | None = None
    path: str | None = None
    tag: str | None = None
    operation_id: str | None = None
    deprecated: bool = False


def walk_operations(walker: Walker, where: OperationFilter) -> WalkResult:
    """List operations under paths, webhooks and callbacks."""
    nodes = walker.index.operations
    tag, operation_id = where.tag, where.operation_id
    matched = walker.select(
        nodes,
        node_value,
        method_filter(where.method),
        path_filter(where.path),
        (lambda node: tag in strings_of(node.value.get("tags"))) if tag else None,
        (lambda node: node.value.get("operationId") == operation_id) if operation_id else None,
        (lambda node: node.value.get("deprecated") is True) if where.deprecated else None,
    )

    def summary(node: ObjectNode) -> JsonObject:
        value = node.value
        return {"method": node.scope.method.upper(), "path": node.scope.path} | drop_empty(
            operation_id=text_of(value.get("operationId")),
            summary=text_of(value.get("summary")),
            tags=strings_of(value.get("tags")),
            deprecated=value.get("deprecated") is True,
            callback=node.scope.callback,
            webhook=node.scope.webhook,
        )

    def detail(node: ObjectNode) -> JsonObject:
        return (
            {"method": node.scope.method.upper(), "path": node.scope.path}
            | drop_empty(callback=node.scope.callback, webhook=node.scope.webhook)
            | {"operation": walker.resolve(node.value)}
        )

    rows: RowFormat[ObjectNode] = RowFormat(
        summary,
        detail,
        {
            "tag": lambda node: dict.fromkeys(strings_of(node.value.get("tags"))),
            "method": lambda node: (node.scope.method.upper(),),
        },
    )
    return replace(
        walker.answer(len(nodes), matched, rows),
        webhook_operations=sum(
            1 for node in nodes if node.scope.webhook and not node.scope.callback
        ),
        callback_operations=sum(1 for node in nodes if node.scope.callback),
    )


def walk_paths(walker: Walker, pattern: str | None) -> WalkResult:
    """List path items, those of callbacks too."""
    nodes = [node for node in walker.index.paths if node.scope.path and not node.scope.webhook]
    matched = walker.select(nodes, node_value, path_filter(pattern))

    def summary(node: ObjectNode) -> JsonObject:
        item = walker.follow(node.value)
        return {
            "path": node.scope.path,
            "method_count": _count_methods(walker, item),
        } | drop_empty(summary=text_of(item.get("summary")), callback=node.scope.callback)

    def detail(node: ObjectNode) -> JsonObject:
        return (
            {"path": node.scope.path}
            | drop_empty(callback=node.scope.callback)
            | {"path_item": walker.resolve(node.value)}
        )

    keys = {"segment": lambda node: (_first_segment(node.scope.path),)}
    rows: RowFormat[ObjectNode] = RowFormat(summary, detail, keys)
    return walker.answer(len(nodes), matched, rows)


def _count_methods(walker: Walker, item: JsonObject) -> int:
    count = sum(1 for method in walker.document.family.methods if type(item.get(method)) is dict)
    extra = item.get("additionalOperations")
    return count + (len(extra) if type(extra) is dict else 0)


def _first_segment(path: str) -> str:
    """Return `users` for `/users/{id}`."""
    return path.strip("/").split("/", 1)[0] or "/"
