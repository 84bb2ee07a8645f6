"""Bundling: a description in several files becomes one file; imports become components."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urldefrag

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver, Target
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.errors import UNRESOLVED_REF
from commonplace.openapi.model import ApiDocument, Family

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
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FILE_ENDINGS = (".yaml", ".yml", ".json")
_SECTIONS_2 = {"schema": "definitions", "response": "responses", "parameter": "parameters"}


@dataclass(frozen=True, slots=True)
class BundleResult:
    """A bundled document, and where its parts came from."""

    document: JsonObject
    files: list[str]
    imported: int
    origins: dict[str, str]  # pointer of each imported component to where it came from
    unresolved: list[str]


def bundle(
    document: ApiDocument, resolver: ReferenceResolver, *, lenient: bool = False
) -> BundleResult:
    """Return a copy of the document without references to other files.

    `lenient`: broken references stay as they are and are listed instead of being an error.
    """
    bundler = _Bundler(document, resolver, lenient)
    result = bundler.rewrite(document.data, "document")
    if bundler.imports:
        result = bundler.add_imports(result)
    files = sorted(name for name in resolver.trees if name)
    return BundleResult(result, files, len(bundler.imports), bundler.origins(), bundler.unresolved)


def bundle_document(
    document: ApiDocument, resolver: ReferenceResolver
) -> tuple[ApiDocument, BundleResult]:
    """Bundle a description into one document to be read; broken references stay."""
    result = bundle(document, resolver, lenient=True)
    return replace(document, data=result.document, derived={}, kept=False), result


class _Bundler(Rewriter):
    def __init__(self, document: ApiDocument, resolver: ReferenceResolver, lenient: bool) -> None:
        super().__init__()
        self.lenient = lenient
        self.unresolved: list[str] = []
        self.document = document
        self.resolver = resolver
        self.old = document.family is Family.V20
        self.base = ""
        self.names: dict[tuple[str, str, str], tuple[str, str]] = {}
        self.imports: dict[tuple[str, str], Json] = {}
        self._used_names: dict[str, set[str]] = {}
        for kind in (*_SECTIONS, "path_item"):
            self._entering[kind] = partial(self._enter, kind=kind)
        self._collect_names()

    def _collect_names(self) -> None:
        """Give parts of other files the name of a component that is only a reference to them."""
        container = self.document.data if self.old else self.document.data.get("components")
        for section in (_SECTIONS_2 if self.old else _SECTIONS).values():
            named = container.get(section) if isinstance(container, dict) else None
            for name, node in named.items() if isinstance(named, dict) else ():
                reference = node.get("$ref") if isinstance(node, dict) and len(node) == 1 else None
                if isinstance(reference, str) and not reference.startswith("#"):
                    target = self._resolve(reference)
                    if target is not None and target.base:
                        self.names.setdefault(
                            (target.base, target.pointer, section), (section, name)
                        )

    def _resolve(self, reference: str) -> Target | None:
        try:
            return self.resolver.resolve(reference, self.base)
        except CommonplaceError:
            if not self.lenient:
                raise
            if reference not in self.unresolved:
                self.unresolved.append(reference)
            return None

    def origins(self) -> dict[str, str]:
        prefix = "/" if self.old else "/components/"
        return {
            f"{prefix}{section}/{escape_token(name)}": base.rsplit("/", 1)[-1]
            + (f"#{pointer}" if pointer else "")
            for (base, pointer, _), (section, name) in self.names.items()
        }

    def _enter(self, node: JsonObject, kind: str) -> JsonObject:
        reference = node.get("$ref")
        if not isinstance(reference, str) or (not self.base and reference.startswith("#")):
            return node
        if kind == "path_item":
            return self._inline(node, reference, kind)
        section = (_SECTIONS_2 if self.old else _SECTIONS).get(kind)
        if section is None:
            return self._inline(node, reference, kind)
        target = self._resolve(reference)
        if target is None:
            return node
        if not target.base:
            return (
                node if target.pointer == reference else {**node, "$ref": "#" + target.pointer}
            )  # found by its `$id`, not by a pointer
        key = (target.base, target.pointer, section)
        if self.at == [
            *([] if self.old else ["components"]),
            section,
            self.names.get(key, ("", ""))[1],
        ]:
            made: JsonObject = self._import_value(target.base, target.value, kind)
            return made
        if key not in self.names:
            name = self._choose_name(section, target.base, target.pointer)
            self.names[key] = (section, name)
            self.imports[(section, name)] = {}
            self.imports[(section, name)] = self._import_value(target.base, target.value, kind)
        section, name = self.names[key]
        prefix = "#/" if self.old else "#/components/"
        return {**node, "$ref": f"{prefix}{section}/{escape_token(name)}"}

    def enter_discriminator(self, node: JsonObject) -> JsonObject:
        mapping = node.get("mapping")
        if not isinstance(mapping, dict):
            return node
        new = {
            value: self._bundle_mapping(target) if isinstance(target, str) else target
            for value, target in mapping.items()
        }
        return node if new == mapping else {**node, "mapping": new}

    def _bundle_mapping(self, target: str) -> str:
        """Bundle a mapping value: the name of a schema or, if there is none, a reference."""
        if _PLAIN_NAME.fullmatch(target) and self._names_schema(target):
            if not self.base:
                return target
            target = f"#/components/schemas/{target}"
        elif "/" not in target and "#" not in target and not target.lower().endswith(_FILE_ENDINGS):
            return target
        return str(self._enter({"$ref": target}, "schema")["$ref"])

    def _names_schema(self, name: str) -> bool:
        tree = self.resolver.trees.get(self.base) if self.base else self.document.data
        components = tree.get("components") if isinstance(tree, dict) else None
        schemas = components.get("schemas") if isinstance(components, dict) else None
        return isinstance(schemas, dict) and name in schemas

    def _inline(self, node: JsonObject, reference: str, kind: str) -> JsonObject:
        """Copy the target in place: most versions have no components for path items."""
        target = self._resolve(reference)
        if target is None:
            return node
        if not isinstance(target.value, dict):
            if self.lenient:
                return node
            raise CommonplaceError(
                UNRESOLVED_REF, f"{reference} does not name an object.", details={"ref": reference}
            )
        rest = {key: value for key, value in node.items() if key != "$ref"}
        value = self._import_value(target.base, target.value, kind)
        return {**value, **rest}

    def _import_value(self, base: str, value: Json, kind: str) -> Json:
        """Rewrite a value of another file, resolving its references from there."""
        before, self.base = self.base, base
        if len(self.at) > 400:
            raise CommonplaceError(
                UNRESOLVED_REF, "References between files are nested too deeply."
            )
        self.at.append("$ref")
        try:
            return self.rewrite(value, kind)
        finally:
            self.base = before
            self.at.pop()

    def _choose_name(self, section: str, base: str, pointer: str) -> str:
        """Name an import after the end of its pointer, or after its file."""
        last = (
            pointer.rsplit("/", 1)[-1]
            if pointer.strip("/")
            else urldefrag(base)[0].rsplit("/", 1)[-1].rsplit(".", 1)[0]
        )
        plain = (
            re.sub(r"[^A-Za-z0-9._-]+", "_", last.replace("~1", "/").replace("~0", "~")).strip("_")
            or "Imported"
        )
        if section not in self._used_names:
            container = self.document.data if self.old else self.document.data.get("components")
            named = container.get(section) if isinstance(container, dict) else None
            self._used_names[section] = set(named) if isinstance(named, dict) else set()
        used = self._used_names[section]
        name, number = plain, 2
        while name in used:
            name, number = f"{plain}{number}", number + 1
        used.add(name)
        return name

    def add_imports(self, document: JsonObject) -> JsonObject:
        result = dict(document)
        present = result if self.old else result.get("components")
        container = dict(present) if isinstance(present, dict) else {}
        for (section, name), value in self.imports.items():
            named = container.get(section)
            container[section] = {**(named if isinstance(named, dict) else {}), name: value}
        return container if self.old else {**result, "components": container}
