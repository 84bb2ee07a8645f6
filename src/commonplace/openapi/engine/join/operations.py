"""Operations in all places of a document: their ids, and the links that name them."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.rewriter import Rewriter

Place = tuple[str, ...]  # the tokens of a pointer
_HOLDERS = frozenset({"document", "components", "paths", "path_item", "operation", "callback"})


class OperationRewriter(Rewriter):
    """Visits only objects that may contain operations."""

    kinds = _HOLDERS

    def rewrite(self, node: Json, kind: str) -> Json:
        return super().rewrite(node, kind) if kind in self.kinds else node


def collect_operation_ids(document: JsonObject) -> dict[Place, str]:
    """Return the id of each operation that has one, by its place."""
    found = _IdCollector()
    found.rewrite(document, "document")
    return found.places


class _IdCollector(OperationRewriter):
    """Collects operation ids."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Place, str] = {}

    def on_operation(self, node: JsonObject) -> Json:
        if isinstance(node.get("operationId"), str):
            self.places[tuple(self.at)] = node["operationId"]
        return node


def rename_operation_ids(document: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return the document with renamed operation ids, in operations and links."""
    changed = {name: new for name, new in names.items() if name != new}
    result: JsonObject = _IdRenamer(changed).rewrite(document, "document") if changed else document
    return result


class _IdRenamer(OperationRewriter):
    """Renames operation ids."""

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
