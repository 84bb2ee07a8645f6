"""Repairs of common faults.

Each fixer changes one thing and reports where. Running it again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import NAME_MAPS, is_literal
from commonplace.openapi.engine.document.references.anchors import replace_anchors
from commonplace.openapi.engine.document.references.bundle import bundle
from commonplace.openapi.engine.document.references.renaming import rename_components
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.json_values import clone
from commonplace.openapi.engine.pointers import escape_token, resolve_pointer
from commonplace.openapi.engine.require import require_object
from commonplace.openapi.model import METHODS, ApiDocument, Family

_TEMPLATE = re.compile(r"\{([^{}/]+)\}")
_GENERIC = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Fix:
    """One repair."""

    type: str
    path: str  # JSON pointer
    description: str


@dataclass(frozen=True, slots=True)
class FixOptions:
    """Which repairs to make besides those of path parameters."""

    duplicate_operation_ids: bool = False
    schema_names: bool = False
    prune: bool = False  # both of the following
    prune_paths: bool = False
    prune_schemas: bool = False
    stub_missing_refs: bool = False
    used_elsewhere: frozenset[str] = frozenset()  # schemas that other files refer to by their names

    @property
    def touches_schemas(self) -> bool:
        """Tell whether schemas may be renamed or removed."""
        return self.prune or self.prune_schemas or self.schema_names


@dataclass(frozen=True, slots=True)
class FixedDocument:
    """The repaired document and the repairs."""

    document: JsonObject
    fixes: tuple[Fix, ...]


def fix(document: JsonObject, family: Family, options: FixOptions) -> FixedDocument:
    """Repair a document and return the result; the given document is not changed.

    Without repairs, the result has the same document object.
    """
    fixer = _Fixer(document, family, options.used_elsewhere)
    fixer.fix_path_parameters()
    if options.duplicate_operation_ids:
        fixer.fix_operation_ids()
    if options.schema_names:
        fixer.fix_schema_names()
    if options.stub_missing_refs:
        fixer.add_missing_references()
    if options.prune or options.prune_paths:
        fixer.prune_empty_paths()
    if options.prune or options.prune_schemas:
        fixer.prune_unused_schemas()
    return FixedDocument(fixer.document, tuple(fixer.fixes))


def find_external_uses(document: ApiDocument, resolver: ReferenceResolver) -> frozenset[str]:
    """Return the schemas of a document that its other files refer to."""
    bundle(document, resolver, lenient=True)  # reads those files
    prefix = "/definitions/" if document.family is Family.V20 else "/components/schemas/"
    names: set[str] = set()
    for base, tree in list(resolver.trees.items()):
        for reference in _iterate_references(tree) if base else ():
            with suppress(CommonplaceError):
                target = resolver.resolve(reference, base)
                if not target.base and target.pointer.startswith(prefix):
                    names.update(_decode_names(target.pointer[len(prefix) :]))
    return frozenset(names)


class _Operations(Rewriter):
    """Collects the operations of paths, webhooks, callbacks and components."""

    def __init__(self) -> None:
        super().__init__()
        self.identified: list[tuple[str, str]] = []  # operationId and pointer

    def enter_operation(self, node: JsonObject) -> JsonObject:
        if isinstance(node.get("operationId"), str):
            self.identified.append((node["operationId"], self.pointer()))
        return node


class _Fixer:
    """Makes repairs in a copy of the document, which is made with the first repair."""

    def __init__(
        self, document: JsonObject, family: Family, used_elsewhere: frozenset[str] = frozenset()
    ) -> None:
        self.used_elsewhere = used_elsewhere
        self.source = document
        self.document = document
        self.old = family is Family.V20
        self.fixes: list[Fix] = []

    def _record(
        self, kind: str, path: str, description: str, action: Callable[[JsonObject], None]
    ) -> None:
        """Make a repair and record it."""
        self._copy_once()
        action(self.document)
        self.fixes.append(Fix(kind, path, description))

    def _copy_once(self) -> None:
        """Copy the document unless it is a copy already."""
        if self.document is self.source:
            self.document = clone(self.source)

    def _paths(self) -> Iterator[tuple[str, JsonObject, str]]:
        """Yield path items with their template and pointer."""
        paths = self.document.get("paths")
        for path, item in list(paths.items()) if isinstance(paths, dict) else ():
            if isinstance(item, dict) and not path.startswith("x-"):
                yield path, item, f"/paths/{escape_token(path)}"

    def _operations(self, item: JsonObject, pointer: str) -> Iterator[tuple[str, JsonObject, str]]:
        """Yield the operations of a path item with their method and pointer."""
        for method in METHODS:
            if isinstance(item.get(method), dict):
                yield method, item[method], f"{pointer}/{method}"
        extra = item.get("additionalOperations")
        for method, operation in list(extra.items()) if isinstance(extra, dict) else ():
            if isinstance(operation, dict):
                yield method, operation, f"{pointer}/additionalOperations/{escape_token(method)}"

    # Path parameters
    def fix_path_parameters(self) -> None:
        """Declare missing path parameters and make all of them required."""
        self._require_component_parameters()
        for path, item, pointer in self._paths():
            if "$ref" in item:
                continue
            self._require(item, pointer)
            names = list(dict.fromkeys(_TEMPLATE.findall(path)))
            shared = self._declared_names(item)
            for _, operation, where in self._operations(item, pointer):
                self._require(operation, where)
                declared = shared | self._declared_names(operation)
                for name in names:
                    if name not in declared:
                        self._declare(operation, where, name)

    def _declared_names(self, node: JsonObject) -> set[str]:
        names = set()
        parameters = node.get("parameters")
        for parameter in parameters if isinstance(parameters, list) else ():
            parameter = self._resolve(parameter)
            if isinstance(parameter, dict) and parameter.get("in") == "path":
                names.add(str(parameter.get("name")))
        return names

    def _resolve(self, node: Json) -> Json:
        for _ in range(20):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node
            try:
                node = resolve_pointer(self.document, node["$ref"])
            except LookupError:
                return None
        return None

    def _declare(self, operation: JsonObject, pointer: str, name: str) -> None:
        parameter: JsonObject = {"name": name, "in": "path", "required": True}
        parameter.update({"type": "string"} if self.old else {"schema": {"type": "string"}})

        def add(document: JsonObject) -> None:
            node = resolve_pointer(document, "#" + pointer)
            parameters = node.get("parameters")
            node["parameters"] = [*(parameters if isinstance(parameters, list) else []), parameter]

        self._record(
            "missing-path-parameter",
            pointer,
            f"Declared path parameter {name!r} as a required string.",
            add,
        )

    def _require(self, node: JsonObject, pointer: str) -> None:
        parameters = node.get("parameters")
        for index, parameter in enumerate(parameters if isinstance(parameters, list) else ()):
            self._require_parameter(parameter, f"{pointer}/parameters/{index}")

    def _require_parameter(self, parameter: Json, where: str) -> None:
        if (
            not isinstance(parameter, dict)
            or parameter.get("in") != "path"
            or parameter.get("required") is True
        ):
            return

        def require(document: JsonObject) -> None:
            resolve_pointer(document, "#" + where)["required"] = True

        name = str(parameter.get("name"))
        self._record(
            "path-parameter-not-required", where, f"Made path parameter {name!r} required.", require
        )

    def _require_component_parameters(self) -> None:
        base = "/parameters" if self.old else "/components/parameters"
        container = self.document if self.old else self.document.get("components")
        parameters = container.get("parameters") if isinstance(container, dict) else None
        for name, parameter in list(parameters.items()) if isinstance(parameters, dict) else ():
            self._require_parameter(parameter, f"{base}/{escape_token(name)}")

    # Operation ids
    def fix_operation_ids(self) -> None:
        """Give later operations with a used operationId a number."""
        operations = _Operations()
        operations.rewrite(self.document, "document")
        # Operations of paths come first, so that they keep their ids.
        every = sorted(operations.identified, key=lambda entry: not entry[1].startswith("/paths/"))
        taken = {identifier for identifier, _ in every}
        used: set[str] = set()
        numbers: dict[str, int] = {}
        for identifier, where in every:
            if identifier not in used:
                used.add(identifier)
                continue
            number = numbers.get(identifier, 2)
            while f"{identifier}{number}" in taken:
                number += 1
            numbers[identifier] = number + 1
            new = f"{identifier}{number}"
            taken.add(new)

            def rename(document: JsonObject, where: str = where, new: str = new) -> None:
                resolve_pointer(document, "#" + where)["operationId"] = new

            self._record(
                "duplicate-operation-id",
                f"{where}/operationId",
                f"Renamed {identifier!r} to {new!r}.",
                rename,
            )

    # Schemas
    @property
    def _schema_base(self) -> str:
        return "/definitions" if self.old else "/components/schemas"

    def _schemas(self) -> JsonObject:
        try:
            found = resolve_pointer(self.document, "#" + self._schema_base)
        except LookupError:
            return {}
        return found if isinstance(found, dict) else {}

    def fix_schema_names(self) -> None:
        """Rename schemas whose names are not plain, such as `Response[User]`."""
        schemas = self._schemas()
        taken = set(schemas)
        renames: dict[str, str] = {}
        for name in schemas:
            if not _GENERIC.search(name) or name in self.used_elsewhere:
                continue
            plain = re.sub(r"_+", "_", _GENERIC.sub("_", name)) or "Schema"
            new, number = plain, 2
            while new in taken:
                new, number = f"{plain}{number}", number + 1
            taken.add(new)
            renames[name] = new
        if not renames:
            return
        section = "definitions" if self.old else "schemas"
        self._copy_once()  # what renaming leaves alone it shares
        self.document = rename_components(self.document, {section: renames}, old=self.old)
        for name, new in renames.items():
            pointer = f"{self._schema_base}/{escape_token(name)}"
            self.fixes.append(
                Fix(
                    "renamed-generic-schema",
                    pointer,
                    f"Renamed {name!r} to {new!r}, with the references to it.",
                )
            )

    def add_missing_references(self) -> None:
        """Add stubs for schemas and responses that are referred to but missing."""
        prefix = f"#{self._schema_base}/"
        responses = "#/responses/" if self.old else "#/components/responses/"
        for reference in list(dict.fromkeys(_iterate_references(self.document, in_data=False))):
            kind = (
                "schema"
                if reference.startswith(prefix)
                else "response"
                if reference.startswith(responses)
                else ""
            )
            if not kind or reference.count("/") != (
                prefix if kind == "schema" else responses
            ).count("/"):
                continue
            try:
                resolve_pointer(self.document, reference)
            except LookupError:
                self._stub(reference, kind)

    def _stub(self, reference: str, kind: str) -> None:
        *parents, last = reference[2:].split("/")
        name = unquote(last).replace("~1", "/").replace("~0", "~")
        stub = {
            "type": "object",
            "description": "Stub: the document referred to this schema without defining it.",
        }
        if kind == "response":
            stub = {
                "description": "Stub: the document referred to this response without defining it."
            }

        def add(document: JsonObject) -> None:
            node, pointer = document, ""
            for token in parents:
                pointer += f"/{token}"
                child = require_object(node.get(token), pointer)
                node[token] = child
                node = child
            node[name] = dict(stub)

        self._record(
            "stub-missing-ref", reference[1:], f"Added a stub for the missing {kind} {name!r}.", add
        )

    # Pruning
    def prune_empty_paths(self) -> None:
        """Remove paths without operations."""
        for path, item, pointer in self._paths():
            if "$ref" in item or any(True for _ in self._operations(item, pointer)):
                continue

            def remove(document: JsonObject, path: str = path) -> None:
                del document["paths"][path]

            self._record(
                "pruned-empty-path",
                pointer,
                f"Removed path {path!r}, which has no operations.",
                remove,
            )

    def prune_unused_schemas(self) -> None:
        """Remove schemas that nothing refers to."""
        schemas = self._schemas()
        if not schemas:
            return
        prefix = f"#{self._schema_base}/"
        plain = replace_anchors(self.document)
        inside = resolve_pointer(plain, "#" + self._schema_base)
        used: set[str] = set()
        pending = [*self.used_elsewhere, *_referenced_names(self._without_schemas(plain), prefix)]
        while pending:
            name = pending.pop()
            if name in used or name not in schemas:
                continue
            used.add(name)
            pending.extend(_referenced_names(inside[name], prefix))
        for name in [name for name in schemas if name not in used]:

            def remove(document: JsonObject, name: str = name) -> None:
                del resolve_pointer(document, "#" + self._schema_base)[name]

            pointer = f"{self._schema_base}/{escape_token(name)}"
            self._record(
                "pruned-unused-schema",
                pointer,
                f"Removed schema {name!r}, which nothing refers to.",
                remove,
            )

    def _without_schemas(self, document: JsonObject) -> JsonObject:
        if self.old:
            return {key: value for key, value in document.items() if key != "definitions"}
        components = document.get("components")
        rest = (
            {key: value for key, value in components.items() if key != "schemas"}
            if isinstance(components, dict)
            else components
        )
        return {**document, "components": rest}


def _iterate_references(node: Json, *, in_data: bool = True) -> Iterator[str]:
    """Yield every `$ref` and discriminator mapping target in document order.

    `in_data` includes those in examples and defaults.
    """
    stack = [(node, False)]
    while stack:
        node, named = stack.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                yield reference
            discriminator = node.get("discriminator")
            mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
            if isinstance(mapping, dict):
                yield from (target for target in mapping.values() if isinstance(target, str))
            for key, value in reversed(node.items()):
                if isinstance(value, (dict, list)) and (
                    in_data or named or not is_literal(key, value)
                ):
                    stack.append((value, not named and key in NAME_MAPS))
        elif isinstance(node, list):
            stack.extend(
                (value, False) for value in reversed(node) if isinstance(value, (dict, list))
            )


def _referenced_names(node: Json, prefix: str) -> Iterator[str]:
    """Yield the names of schemas that an object refers to."""
    for reference in _iterate_references(node):
        if reference.startswith(prefix):
            yield from _decode_names(reference[len(prefix) :])
        elif "/" not in reference and "#" not in reference:
            yield reference  # a discriminator may name a schema by its bare name


def _decode_names(pointer: str) -> Iterator[str]:
    """Yield the name at the start of a pointer, with and without percent escapes decoded."""
    plain = pointer.split("/", 1)[0].replace("~1", "/").replace("~0", "~")
    yield plain
    if "%" in plain:
        yield unquote(plain)
