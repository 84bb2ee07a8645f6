"""References of a converted document that lead nowhere."""

from __future__ import annotations

import re

import orjson

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.document.shape import SHAPE
from commonplace.openapi.engine.pointers import resolve_pointer

_REFERENCE = re.compile(rb'"\$ref":("#/(?:[^"\\]|\\.)*")')


def report_dangling_references(document: JsonObject, issues: IssueLog) -> None:
    """Report each unresolved local reference as a critical issue."""
    try:
        texts = {orjson.loads(text) for text in _REFERENCE.findall(orjson.dumps(document))}
    except TypeError:
        texts = None  # integers beyond 64 bits; look at all of it
    lost = None if texts is None else {text for text in texts if not _resolves(document, text)}
    if lost is None or lost:
        _Dangling(document, issues).rewrite(document, "document")


def _resolves(document: JsonObject, reference: str) -> bool:
    try:
        resolve_pointer(document, reference)
    except LookupError:
        return False
    return True


class _Dangling(Rewriter):
    """Visits references, but not data that looks like one."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        super().__init__()
        self.document = document
        self.issues = issues
        self._resources = 0  # schemas with an `$id` around it, from which pointers start
        for kind in SHAPE:
            if kind != "schema":
                self._entering[kind] = self._check_reference

    def enter_schema(self, node: JsonObject) -> JsonObject:
        self._resources += "$id" in node
        return self._check_reference(node)

    def on_schema(self, node: JsonObject) -> Json:
        self._resources -= "$id" in node
        return node

    def _check_reference(self, node: JsonObject) -> JsonObject:
        reference = node.get("$ref")
        if (
            isinstance(reference, str)
            and reference.startswith("#/")
            and not self._resources
            and not _resolves(self.document, reference)
        ):
            self.issues.critical(self.pointer("$ref"), f"{reference!r} does not resolve.")
        return node
