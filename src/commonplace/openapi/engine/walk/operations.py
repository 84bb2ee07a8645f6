"""Walks over operations and paths."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.nodes import ObjectNode
from commonplace.openapi.engine.walk.query import WalkResult
from commonplace.openapi.engine.walk.rows import OperationRow, PathRow
from commonplace.openapi.engine.walk.walker import (
    RowFormat,
    Walker,
    method_filter,
    node_value,
    path_filter,
    read_strings,
    read_text,
)


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Which operations to list; unset fields match all."""

    method: str | None = None
    path: str | None = None
    tag: str | None = None
    operation_id: str | None = None
    deprecated: bool = False


def walk_operations(walker: Walker, where: OperationFilter) -> WalkResult[OperationRow]:
    """List operations under paths, webhooks and callbacks."""
    nodes = walker.index.operations
    tag, operation_id = where.tag, where.operation_id
    matched = walker.select(
        nodes,
        node_value,
        method_filter(where.method),
        path_filter(where.path),
        (lambda node: tag in read_strings(node.value.get("tags"))) if tag else None,
        (lambda node: node.value.get("operationId") == operation_id) if operation_id else None,
        (lambda node: node.value.get("deprecated") is True) if where.deprecated else None,
    )

    def summarise(node: ObjectNode) -> OperationRow:
        value = node.value
        return OperationRow(
            node.scope.method.upper(),
            node.scope.path,
            node.scope.callback,
            node.scope.webhook,
            read_text(value.get("operationId")),
            read_text(value.get("summary")),
            read_strings(value.get("tags")),
            value.get("deprecated") is True,
        )

    def detail(node: ObjectNode) -> OperationRow:
        return OperationRow(
            node.scope.method.upper(),
            node.scope.path,
            node.scope.callback,
            node.scope.webhook,
            operation=walker.resolve(node.value),
        )

    rows: RowFormat[ObjectNode, OperationRow] = RowFormat(
        summarise,
        detail,
        {
            "tag": lambda node: dict.fromkeys(read_strings(node.value.get("tags"))),
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


def walk_paths(walker: Walker, pattern: str | None) -> WalkResult[PathRow]:
    """List path items, those of callbacks too."""
    nodes = [node for node in walker.index.paths if node.scope.path and not node.scope.webhook]
    matched = walker.select(nodes, node_value, path_filter(pattern))

    def summarise(node: ObjectNode) -> PathRow:
        item = walker.follow(node.value)
        return PathRow(
            node.scope.path,
            node.scope.callback,
            read_text(item.get("summary")),
            _count_methods(walker, item),
        )

    def detail(node: ObjectNode) -> PathRow:
        return PathRow(node.scope.path, node.scope.callback, path_item=walker.resolve(node.value))

    keys = {"segment": lambda node: (_first_segment(node.scope.path),)}
    rows: RowFormat[ObjectNode, PathRow] = RowFormat(summarise, detail, keys)
    return walker.answer(len(nodes), matched, rows)


def _count_methods(walker: Walker, item: JsonObject) -> int:
    count = sum(1 for method in walker.document.family.methods if type(item.get(method)) is dict)
    extra = item.get("additionalOperations")
    return count + (len(extra) if type(extra) is dict else 0)


def _first_segment(path: str) -> str:
    """Return `users` for `/users/{id}`."""
    return path.strip("/").split("/", 1)[0] or "/"
