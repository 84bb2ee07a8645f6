"""Documents that leave the cache leave memory with it, without waiting for the garbage
collector.
"""

from __future__ import annotations

import gc
import json

from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.lines import find_lines
from commonplace.openapi.model import ApiDocument
from commonplace.openapi.service import CACHE_ENTRIES, OpenApiService, Spec


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


def use(service: OpenApiService, text: str) -> None:
    document = service.load(Spec(content=text))
    index_document(document)
    service.inliner(document).write(document.data)
    find_lines(document, ["/components/schemas/A"])


def test_evicted_documents_are_freed_at_once() -> None:
    service = OpenApiService()
    gc.collect()
    before = alive()
    gc.disable()
    try:
        for number in range(5 * CACHE_ENTRIES):
            use(service, description(number))
        assert alive() - before <= CACHE_ENTRIES
    finally:
        gc.enable()


def test_the_cache_is_bounded_by_bytes_too() -> None:
    service = OpenApiService(cache_bytes=100_000)
    for number in range(CACHE_ENTRIES):
        use(service, description(number, padding=30_000))
    assert service.held()["entries"] == 3


def test_a_document_larger_than_the_cache_is_served_and_kept_alone() -> None:
    service = OpenApiService(cache_bytes=10_000)
    use(service, description(1))
    use(service, description(2, padding=50_000))
    assert service.held()["entries"] == 1
