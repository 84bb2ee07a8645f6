"""The index of a document and the positions of its nodes."""

from __future__ import annotations

from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.nodes import ROOT, NodePlace
from oas_calls import document, minimal


def test_places_render_as_pointer_and_json_path() -> None:
    place = NodePlace(NodePlace(NodePlace(NodePlace(ROOT, "paths"), "/a'b/{c}", True), "get"), 3)
    assert place.pointer == "/paths/~1a'b~1{c}/get/3"
    assert place.json_path == "$.paths['/a\\'b/{c}'].get[3]"


def test_the_index_lists_callbacks_webhooks_and_components() -> None:
    op = {"responses": {"200": {"description": "d"}}}
    loaded = document(
        minimal(
            "3.1.0",
            paths={"/a": {"post": {**op, "callbacks": {"c": {"{$url}": {"put": op}}}}}},
            webhooks={"w": {"get": op}},
            components={"pathItems": {"P": {"delete": op}}},
        )
    )
    found = [
        (node.scope.method, node.scope.path, node.scope.callback, node.scope.webhook)
        for node in index_document(loaded).operations
    ]
    assert found == [
        ("post", "/a", "", False),
        ("put", "/a", "c {$url}", False),
        ("get", "w", "", True),
        ("delete", "", "", False),
    ]
