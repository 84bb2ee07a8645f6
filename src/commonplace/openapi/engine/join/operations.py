"""Operations in every place of a document (paths, webhooks, callbacks, components): their ids,
and the links that name them.
"""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.rewriter import Rewriter

Place = tuple[str, ...]  # the tokens of a pointer
_HOLDERS = frozenset({"document", "components", "paths", "path_item", "operation", "callback"})


class OperationRewriter(Rewriter):
    """Goes only where operations are."""

    kinds = _HOLDERS

    def rewrite(self, node: Json, kind: str) -> Json:
        return super().rewrite(node, kind) if kind in self.kinds else node


def operation_ids(document: JsonObject) -> dict[Place, str]:
    """The id of each operation that has one, by its place."""
    found = _Identifiers()
    found.rewrite(document, "document")
    return found.places


class _Identifiers(OperationRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Place, str] = {}

    def on_operation(self, node: JsonObject) -> Json:
        if isinstance(node.get("operationId"), str):
            self.places[tuple(self.at)] = node["operationId"]
        return node


def with_operation_ids(document: JsonObject, names: dict[str, str]) -> JsonObject:
    """The document with operation ids renamed where operations and links carry them."""
    changed = {name: new for name, new in names.items() if name != new}
    result: JsonObject = _Renamed(changed).rewrite(document, "document") if changed else document
    return result


class _Renamed(OperationRewriter):
    kinds = _HOLDERS | {"responses", "response", "link"}

    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names

    def on_operation(self, node: JsonObject) -> Json:
        name = node.get("operationId")
        return (
            {**node, "operationId": self.names[name]}
            if isinstance(name, str) and name in self.names
            else node
        )

    on_link = on_operation
