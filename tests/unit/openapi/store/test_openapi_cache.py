"""Evicted documents are freed at once, without the garbage collector."""

from __future__ import annotations

import gc
import json

from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.lines import find_lines
from commonplace.openapi.model import ApiDocument, Spec
from commonplace.openapi.store.cache import CACHE_ENTRIES
from commonplace.openapi.store.documents import DocumentStore


def description(number: int, padding: int = 0) -> str:
    schema = {"type": "object", "properties": {"other": {"$ref": "#/components/schemas/B"}}}
    components = {"schemas": {"A": schema, "B": {"type": "string", "description": "x" * padding}}}
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": f"T{number}", "version": "1"},
            "paths": {},
            "components": components,
        }
    )


def alive() -> int:
    return sum(isinstance(thing, ApiDocument) for thing in gc.get_objects())


def use(store: DocumentStore, text: str) -> None:
    document = store.load(Spec(content=text))
    index_document(document)
    store.inliner(document).write(document.data)
    find_lines(document, ["/components/schemas/A"])


def test_evicted_documents_are_freed_at_once() -> None:
    store = DocumentStore()
    gc.collect()
    before = alive()
    gc.disable()
    try:
        for number in range(5 * CACHE_ENTRIES):
            use(store, description(number))
        assert alive() - before <= CACHE_ENTRIES
    finally:
        gc.enable()


def test_the_cache_is_bounded_by_bytes_too() -> None:
    store = DocumentStore(cache_bytes=100_000)
    for number in range(CACHE_ENTRIES):
        use(store, description(number, padding=30_000))
    assert len(store.cache) == 3


def test_a_document_larger_than_the_cache_is_served_and_kept_alone() -> None:
    store = DocumentStore(cache_bytes=10_000)
    use(store, description(1))
    use(store, description(2, padding=50_000))
    assert len(store.cache) == 1
