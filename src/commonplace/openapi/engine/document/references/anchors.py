"""Replacement of `#anchor`, `$id` and `$dynamicRef` references by JSON pointers.

For engines that only follow pointers. `$dynamicRef` is resolved to the anchor it starts from, as if
nothing extended the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote, urldefrag, urljoin

import orjson

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.rewriter import Rewriter

_MARKS = (b'"$anchor"', b'"$id"', b'"$dynamicRef"', b'"$self"')


def replace_anchors(
    document: JsonObject, report_dynamic: Callable[[str], None] | None = None
) -> JsonObject:
    """Return the document with pointers for references whose targets are in it.

    `report_dynamic` is called with the place of each `$dynamicRef` that became a `$ref`.
    """
    try:
        encoded = orjson.dumps(document)
        if not any(mark in encoded for mark in _MARKS):
            return document
    except TypeError:
        pass  # integers beyond 64 bits: search the whole document
    places = _AnchorCollector(document)
    places.rewrite(document, "document")
    result: JsonObject = _AnchorRewriter(places, report_dynamic).rewrite(document, "document")
    return result


class _ResourceTracker(Rewriter):
    """Tracks the current schema resource: a schema with `$id`, or the document."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.resources: list[tuple[str, str]] = [(base, "")]  # address and pointer

    def enter_schema(self, node: dict[str, Json]) -> dict[str, Json]:
        own = node.get("$id")
        if isinstance(own, str):
            self.resources.append(
                (urldefrag(urljoin(self.resources[-1][0], own))[0], self.pointer())
            )
        return node

    def on_schema(self, node: dict[str, Json]) -> Json:
        if isinstance(node.get("$id"), str):
            self.resources.pop()
        return node


class _AnchorCollector(_ResourceTracker):
    """Collects the pointers of resources and anchors."""

    def __init__(self, document: JsonObject) -> None:
        own = document.get("$self")
        super().__init__(own if isinstance(own, str) else "")
        self.pointers: dict[tuple[str, str], str] = {(self.resources[0][0], ""): ""}

    def enter_schema(self, node: dict[str, Json]) -> dict[str, Json]:
        node = super().enter_schema(node)
        address = self.resources[-1][0]
        if isinstance(node.get("$id"), str):
            self.pointers.setdefault((address, ""), self.pointer())
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = node.get(keyword)
            if isinstance(name, str):
                self.pointers.setdefault((address, name), self.pointer())
        return node


class _AnchorRewriter(_ResourceTracker):
    """Rewrites references as pointers."""

    def __init__(
        self, places: _AnchorCollector, report_dynamic: Callable[[str], None] | None
    ) -> None:
        super().__init__(places.resources[0][0])
        self.places = places.pointers
        self.report_dynamic = report_dynamic

    def on_schema(self, node: dict[str, Json]) -> Json:
        result = node
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.get(keyword)
            target = self._find_pointer(reference) if isinstance(reference, str) else None
            if target is not None and (keyword == "$dynamicRef" or target != reference):
                result = dict(result)
                del result[keyword]
                result = {"$ref": target, **result}
                if keyword == "$dynamicRef" and self.report_dynamic is not None:
                    self.report_dynamic(self.pointer(keyword))
        super().on_schema(node)
        return result

    def _find_pointer(self, reference: str) -> str | None:
        address, fragment = urldefrag(reference)
        here, root = self.resources[-1]
        where = urldefrag(urljoin(here, address))[0] if address else here
        if fragment.startswith("/"):
            start = root if not address else self.places.get((where, ""))
            return None if start is None else f"#{start}{fragment}"
        found = self.places.get((where, unquote(fragment)))
        return (
            None if found is None or (not found and not fragment and not address) else f"#{found}"
        )
