"""The order of rows in walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.nodes import ObjectNode, SchemaNode
from commonplace.openapi.model import METHODS

Item = TypeVar("Item")


def sort_nodes(index: DocumentIndex, nodes: Sequence[Item]) -> Sequence[Item]:
    """Sort by path, method, status and name; schemas by name or place, those of paths first.

    References keep the order of the document.
    """
    first = nodes[0] if nodes else None
    if isinstance(first, ObjectNode):
        return sorted(
            nodes,
            key=lambda node: (
                _node_order(node) if isinstance(node, ObjectNode) else (False, "", "", 0, "", "")
            ),
        )
    if not isinstance(first, SchemaNode):
        return nodes
    ranks: dict[int, int] | None = index.memo.get("schema ranks")
    if ranks is None:
        ranks = {
            id(node): rank for rank, node in enumerate(sorted(index.schemas, key=_schema_order))
        }
        index.memo["schema ranks"] = ranks
    known = ranks
    return sorted(nodes, key=lambda node: known[id(node)])


def _node_order(node: ObjectNode) -> tuple[bool, str, str, int, str, str]:
    scope = node.scope
    method = scope.method.lower()
    position = METHODS.index(method) if method in METHODS else len(METHODS)
    return not scope.path, scope.path, scope.callback, position, scope.status, node.name


def _schema_order(node: SchemaNode) -> tuple[bool, bool, str, str]:
    place = node.place.json_path
    return node.scope.component, not node.name, node.name or place, place
