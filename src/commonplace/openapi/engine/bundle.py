"""A description that is spread over files, as one file: what other files define becomes a component."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urldefrag

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.refs import Resolver
from commonplace.openapi.engine.shape import Json, Rewriter, escape_token
from commonplace.openapi.errors import UNRESOLVED_REF
from commonplace.openapi.model import Document, Family

_SECTIONS = {
    "schema": "schemas",
    "response": "responses",
    "parameter": "parameters",
    "example": "examples",
    "request_body": "requestBodies",
    "header": "headers",
    "security_scheme": "securitySchemes",
    "link": "links",
    "callback": "callbacks",
    "media_type": "mediaTypes",
}
_SECTIONS_2 = {"schema": "definitions", "response": "responses", "parameter": "parameters"}


class Bundled:
    def __init__(self, document: dict[str, Any], files: list[str], imported: int) -> None:
        self.document = document
        self.files = files
        self.imported = imported


def bundle(document: Document, resolver: Resolver) -> Bundled:
    """The document without references to other files. The given one is not changed."""
    bundler = _Bundler(document, resolver)
    result = bundler.rewrite(document.data, "document")
    if bundler.imports:
        result = bundler.with_imports(result)
    return Bundled(result, sorted(name for name in resolver.trees if name), len(bundler.imports))


class _Bundler(Rewriter):
    def __init__(self, document: Document, resolver: Resolver) -> None:
        super().__init__()
        self.document = document
        self.resolver = resolver
        self.old = document.family is Family.V20
        self.base = ""
        self.names: dict[tuple[str, str, str], tuple[str, str]] = {}
        self.imports: dict[tuple[str, str], Json] = {}
        self._taken: dict[str, set[str]] = {}
        for kind in (*_SECTIONS, "path_item"):
            self._entering[kind] = lambda node, kind=kind: self._enter(node, kind)  # type: ignore[misc]

    def _enter(self, node: dict[str, Any], kind: str) -> dict[str, Any]:
        reference = node.get("$ref")
        if not isinstance(reference, str) or (not self.base and reference.startswith("#")):
            return node
        if kind == "path_item":
            return self._inline(node, reference, kind)
        section = (_SECTIONS_2 if self.old else _SECTIONS).get(kind)
        if section is None:
            return self._inline(node, reference, kind)
        target = self.resolver.resolve(reference, self.base)
        if not target.base:
            return {**node, "$ref": "#" + target.pointer}
        key = (target.base, target.pointer, section)
        if key not in self.names:
            name = self._name(section, target.base, target.pointer)
            self.names[key] = (section, name)
            self.imports[(section, name)] = {}
            self.imports[(section, name)] = self._from(target.base, target.value, kind)
        section, name = self.names[key]
        prefix = "#/" if self.old else "#/components/"
        return {**node, "$ref": f"{prefix}{section}/{escape_token(name)}"}

    def _inline(self, node: dict[str, Any], reference: str, kind: str) -> dict[str, Any]:
        """Path items have no place among the components of most versions, so they are copied to where they are used."""
        target = self.resolver.resolve(reference, self.base)
        if not isinstance(target.value, dict):
            raise CommonplaceError(UNRESOLVED_REF, f"{reference} does not name an object.", details={"ref": reference})
        rest = {key: value for key, value in node.items() if key != "$ref"}
        value = self._from(target.base, target.value, kind)
        return {**value, **rest}

    def _from(self, base: str, value: Json, kind: str) -> Any:
        """A value of another file, with its references seen from there."""
        before, self.base = self.base, base
        if len(self.at) > 400:
            raise CommonplaceError(UNRESOLVED_REF, "References between files nest too deeply.")
        self.at.append("$ref")
        try:
            return self.rewrite(value, kind)
        finally:
            self.base = before
            self.at.pop()

    def _name(self, section: str, base: str, pointer: str) -> str:
        """The last word of the pointer, or of the file's name."""
        last = pointer.rsplit("/", 1)[-1] if pointer.strip("/") else urldefrag(base)[0].rsplit("/", 1)[-1].rsplit(".", 1)[0]
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", last.replace("~1", "/").replace("~0", "~")).strip("_") or "Imported"
        if section not in self._taken:
            data = self.document.data
            container = data if self.old else data.get("components") or {}
            self._taken[section] = set(container.get(section) or {})
        taken = self._taken[section]
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain}{number}", number + 1
        taken.add(name)
        return name

    def with_imports(self, document: dict[str, Any]) -> dict[str, Any]:
        result = dict(document)
        container = result if self.old else dict(result.get("components") or {})
        for (section, name), value in self.imports.items():
            container[section] = {**(container.get(section) or {}), name: value}
        if not self.old:
            result["components"] = container
        return result
