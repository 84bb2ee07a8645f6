"""The index of a document: one pass that lists operations, schemas, parameters, references, ...

The lists are in document order. Positions are linked and rendered on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from commonplace.kernel.gc_control import gc_paused
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import (
    NAMED_MAPS,
    SCHEMA_CHILDREN,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMA_SINGLES,
)
from commonplace.openapi.engine.document.nodes import (
    ROOT,
    NodePlace,
    NodeScope,
    ObjectNode,
    RefNode,
    SchemaNode,
    place_at,
)
from commonplace.openapi.engine.document.references.resolver import follow_local_references
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.model import ApiDocument, Family


@dataclass(slots=True)
class DocumentIndex:
    """The parts of a document by kind, in document order."""

    paths: list[ObjectNode] = field(default_factory=list)
    operations: list[ObjectNode] = field(default_factory=list)
    schemas: list[SchemaNode] = field(default_factory=list)
    parameters: list[ObjectNode] = field(default_factory=list)
    request_bodies: list[ObjectNode] = field(default_factory=list)
    media_types: list[ObjectNode] = field(default_factory=list)
    responses: list[ObjectNode] = field(default_factory=list)
    headers: list[ObjectNode] = field(default_factory=list)
    examples: list[ObjectNode] = field(default_factory=list)
    links: list[ObjectNode] = field(default_factory=list)
    callbacks: list[ObjectNode] = field(default_factory=list)
    security_schemes: list[ObjectNode] = field(default_factory=list)
    refs: list[RefNode] = field(default_factory=list)
    memo: JsonObject = field(default_factory=dict)  # results that walks compute once


def index_document(document: ApiDocument) -> DocumentIndex:
    """Return the index of a document, built on first use."""
    index: DocumentIndex | None = document.derived.get("index")
    if index is None:
        with gc_paused(freeze=document.kept):
            index = document.derived["index"] = _IndexBuilder(document).build()
    return index


def has_external_refs(document: ApiDocument) -> bool:
    """Tell whether a document refers to other files."""
    return any(not node.ref.startswith("#") for node in index_document(document).refs)


def has_external_path_items(document: ApiDocument) -> bool:
    """Tell whether path items, and so operations, are in other files."""
    return any(
        node.node_type == "pathItem" and not node.ref.startswith("#")
        for node in index_document(document).refs
    )


def schema_children(schema: JsonObject, place: NodePlace) -> Iterator[tuple[Json, str, NodePlace]]:
    """Yield the direct subschemas of a schema: value, name (or ''), position.

    Values may be booleans or broken.
    """
    for keyword, value in schema.items():
        if keyword not in SCHEMA_CHILDREN:
            continue
        if keyword in SCHEMA_MAPS:
            if type(value) is dict:
                here = NodePlace(place, keyword)
                named = keyword in NAMED_MAPS
                for key, child in value.items():
                    yield child, key if named else "", NodePlace(here, key, True)
        elif type(value) is list:
            if keyword in SCHEMA_LISTS or keyword == "items":
                here = NodePlace(place, keyword)
                for position, child in enumerate(value):
                    yield child, "", NodePlace(here, position)
        elif keyword in SCHEMA_SINGLES:
            yield value, "", NodePlace(place, keyword)


class _IndexBuilder:
    """Visits every object of a document once; each method visits one kind of object."""

    def __init__(self, document: ApiDocument) -> None:
        self.document = document
        self.methods = document.family.methods
        self.index = DocumentIndex()
        self.visited_items: set[str] = set()

    def build(self) -> DocumentIndex:
        """Visit the whole document and return its index."""
        data = self.document.data
        for key, item in _entries(data.get("paths")):
            if not key.startswith("x-"):
                self.visit_path_item(
                    item, NodePlace(NodePlace(ROOT, "paths"), key, True), NodeScope(path=key), key
                )
        for key, item in _entries(data.get("webhooks")):
            self.visit_path_item(
                item,
                NodePlace(NodePlace(ROOT, "webhooks"), key, True),
                NodeScope(path=key, webhook=True),
                key,
            )
        if self.document.is_v2:
            self.visit_components_v2(data)
        else:
            self.visit_components_v3(data.get("components"))
        return self.index

    def add_ref(self, value: JsonObject, place: NodePlace, node_type: str) -> None:
        ref = value.get("$ref")
        if type(ref) is str:
            self.index.refs.append(RefNode(ref, place, node_type))

    def visit_path_item(
        self, item: JsonObject, place: NodePlace, scope: NodeScope, name: str
    ) -> None:
        self.add_ref(item, place, "pathItem")
        target, pointer = follow_local_references(self.document.data, item)
        if not pointer:
            self.index.paths.append(ObjectNode(item, name, place, scope))
            self.visit_item_content(item, place, scope)
            return
        # The operations of a referenced item belong to each path that uses it, but their content
        # is listed once.
        listed = pointer in self.visited_items or pointer.startswith(("/paths/", "/webhooks/"))
        self.visited_items.add(pointer)
        home = place_at(self.document.data, pointer)
        own = {key: value for key, value in item.items() if key != "$ref"}
        self.index.paths.append(ObjectNode({**target, **own}, name, place, scope, home))
        self.add_ref(target, home, "pathItem")
        self.visit_item_content(
            {key: value for key, value in target.items() if key not in own}, home, scope, listed
        )
        self.visit_item_content(own, place, scope)

    def visit_item_content(
        self, item: JsonObject, place: NodePlace, scope: NodeScope, listed: bool = False
    ) -> None:
        if not listed:
            self.visit_parameters(item.get("parameters"), place, scope)
        for method, operation in item.items():
            if method in self.methods and type(operation) is dict:
                self.visit_operation(
                    operation, NodePlace(place, method), scope._replace(method=method), listed
                )
        if self.document.family is Family.V32:
            here = NodePlace(place, "additionalOperations")
            for method, operation in _entries(item.get("additionalOperations")):
                self.visit_operation(
                    operation, NodePlace(here, method), scope._replace(method=method), listed
                )

    def visit_operation(
        self, operation: JsonObject, place: NodePlace, scope: NodeScope, listed: bool = False
    ) -> None:
        self.index.operations.append(ObjectNode(operation, scope.method, place, scope))
        if listed:
            return
        self.visit_parameters(operation.get("parameters"), place, scope)
        body = operation.get("requestBody")
        if type(body) is dict:
            self.visit_request_body(body, "", NodePlace(place, "requestBody"), scope)
        here = NodePlace(place, "responses")
        for status, response in _entries(operation.get("responses")):
            if not status.startswith("x-"):
                self.visit_response(
                    response,
                    status,
                    NodePlace(here, status, status != "default"),
                    scope._replace(status=status),
                )
        here = NodePlace(place, "callbacks")
        for name, callback in _entries(operation.get("callbacks")):
            self.visit_callback(callback, name, NodePlace(here, name, True), scope)

    def visit_callback(
        self, callback: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(callback, place, "callback")
        self.index.callbacks.append(ObjectNode(callback, name, place, scope))
        for expression, item in _entries(callback):
            if not expression.startswith("x-"):
                inner = NodeScope(
                    path=scope.path, component=scope.component, callback=f"{name} {expression}"
                )
                self.visit_path_item(item, NodePlace(place, expression, True), inner, expression)

    def visit_parameters(self, values: Json, place: NodePlace, scope: NodeScope) -> None:
        if type(values) is list:
            here = NodePlace(place, "parameters")
            for position, value in enumerate(values):
                if type(value) is dict:
                    self.visit_parameter(
                        value, str(value.get("name") or ""), NodePlace(here, position), scope
                    )

    def visit_parameter(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "parameter")
        self.index.parameters.append(ObjectNode(value, name, place, scope))
        self.visit_schema_holder(value, place, scope)

    def visit_schema_holder(self, value: JsonObject, place: NodePlace, scope: NodeScope) -> None:
        """Visit what parameters and headers have in common: schema, content and examples."""
        schema = value.get("schema")
        if type(schema) is dict:
            self.visit_schema(schema, "", NodePlace(place, "schema"), scope)
        self.visit_content(value.get("content"), place, scope)
        self.visit_example_map(value.get("examples"), place, scope)

    def visit_content(self, values: Json, place: NodePlace, scope: NodeScope) -> None:
        if type(values) is dict:
            here = NodePlace(place, "content")
            for name, value in values.items():
                if type(value) is dict:
                    self.visit_media_type(value, name, NodePlace(here, name, True), scope)

    def visit_media_type(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "mediaType")
        self.index.media_types.append(ObjectNode(value, name, place, scope))
        for keyword in ("schema", "itemSchema"):
            schema = value.get(keyword)
            if type(schema) is dict:
                self.visit_schema(schema, "", NodePlace(place, keyword), scope)
        self.visit_example_map(value.get("examples"), place, scope)
        encodings = value.get("encoding")
        if type(encodings) is dict:
            here = NodePlace(place, "encoding")
            for key, encoding in _entries(encodings):
                self.visit_headers(encoding.get("headers"), NodePlace(here, key, True), scope)

    def visit_example_map(self, values: Json, place: NodePlace, scope: NodeScope) -> None:
        if type(values) is dict:
            here = NodePlace(place, "examples")
            for name, value in _entries(values):
                self.visit_example(value, name, NodePlace(here, name, True), scope)

    def visit_example(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "example")
        self.index.examples.append(ObjectNode(value, name, place, scope))

    def visit_request_body(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "requestBody")
        self.index.request_bodies.append(ObjectNode(value, name, place, scope))
        self.visit_content(value.get("content"), place, scope)

    def visit_response(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "response")
        self.index.responses.append(ObjectNode(value, name, place, scope))
        self.visit_headers(value.get("headers"), place, scope)
        self.visit_content(value.get("content"), place, scope)
        schema = value.get("schema")
        if type(schema) is dict and self.document.is_v2:
            self.visit_schema(schema, "", NodePlace(place, "schema"), scope)
        here = NodePlace(place, "links")
        for key, link in _entries(value.get("links")):
            self.visit_link(link, key, NodePlace(here, key, True), scope)

    def visit_link(self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope) -> None:
        self.add_ref(value, place, "link")
        self.index.links.append(ObjectNode(value, name, place, scope))

    def visit_headers(self, values: Json, place: NodePlace, scope: NodeScope) -> None:
        if type(values) is dict:
            here = NodePlace(place, "headers")
            for name, value in _entries(values):
                self.visit_header(value, name, NodePlace(here, name, True), scope)

    def visit_header(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "header")
        self.index.headers.append(ObjectNode(value, name, place, scope))
        self.visit_schema_holder(value, place, scope)

    def visit_schema(
        self, schema: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        index = self.index
        own = schema.get("$id")
        if type(own) is str:
            scope = scope._replace(resource=own.rstrip("#"))
        ref = schema.get("$ref")
        if type(ref) is str:
            index.refs.append(RefNode(ref, place, "schema", scope.resource))
        index.schemas.append(SchemaNode(schema, name, place, scope))
        for child, child_name, child_place in schema_children(schema, place):
            if type(child) is dict:
                self.visit_schema(child, child_name, child_place, scope)

    def visit_security_scheme(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.add_ref(value, place, "securityScheme")
        self.index.security_schemes.append(ObjectNode(value, name, place, scope))

    def visit_components_v3(self, components: Json) -> None:
        if type(components) is not dict:
            return
        root = NodePlace(ROOT, "components")
        scope = NodeScope(component=True)
        visitors = {
            "schemas": self.visit_schema,
            "responses": self.visit_response,
            "parameters": self.visit_named_parameter,
            "examples": self.visit_example,
            "requestBodies": self.visit_request_body,
            "headers": self.visit_header,
            "securitySchemes": self.visit_security_scheme,
            "links": self.visit_link,
            "callbacks": self.visit_callback,
            "mediaTypes": self.visit_media_type,
        }
        for kind, values in components.items():
            visit = visitors.get(kind)
            here = NodePlace(root, kind)
            for name, value in _entries(values):
                if visit is not None:
                    visit(value, name, NodePlace(here, name, True), scope)
                elif (
                    kind == "pathItems"
                    and f"/components/pathItems/{escape_token(name)}" not in self.visited_items
                ):
                    self.visit_path_item(value, NodePlace(here, name, True), scope, name)

    def visit_named_parameter(
        self, value: JsonObject, name: str, place: NodePlace, scope: NodeScope
    ) -> None:
        self.visit_parameter(value, str(value.get("name") or name), place, scope)

    def visit_components_v2(self, data: JsonObject) -> None:
        scope = NodeScope(component=True)
        visitors = {
            "definitions": self.visit_schema,
            "parameters": self.visit_named_parameter,
            "responses": self.visit_response,
            "securityDefinitions": self.visit_security_scheme,
        }
        for kind, visit in visitors.items():
            here = NodePlace(ROOT, kind)
            for name, value in _entries(data.get(kind)):
                visit(value, name, NodePlace(here, name, True), scope)


def _entries(values: Json) -> Iterator[tuple[str, JsonObject]]:
    if type(values) is dict:
        for key, value in values.items():
            if type(value) is dict:
                yield key, value
