"""Where everything in a document is: one pass that lists operations, schemas, parameters,
responses, headers and references.

The lists are in document order. Positions are linked and rendered only when somebody looks at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from commonplace.kernel.collector import collector_off
from commonplace.openapi.engine.document.load import escape
from commonplace.openapi.engine.document.references import local_target, unescape
from commonplace.openapi.model import Document, Family, Json, JsonObject


class Place(NamedTuple):
    """A position: the parent's, and one step.

    `key` steps are entries of a map, the others fixed fields or list positions.
    """

    parent: Place | None
    step: str | int
    key: bool = False

    @property
    def pointer(self) -> str:
        """RFC 6901, without the leading `#`."""
        steps = [escape(str(place.step)) for place in self._chain()]
        return "".join("/" + step for step in steps)

    @property
    def json_path(self) -> str:
        """`$.paths['/pets'].get.parameters[0]`"""
        parts = []
        for place in self._chain():
            step = place.step
            if isinstance(step, int):
                parts.append(f"[{step}]")
            elif place.key:
                parts.append("['" + step.replace("\\", "\\\\").replace("'", "\\'") + "']")
            else:
                parts.append("." + step)
        return "$" + "".join(parts)

    def _chain(self) -> list[Place]:
        chain = []
        place: Place | None = self
        while place is not None and place.parent is not None:
            chain.append(place)
            place = place.parent
        return chain[::-1]


ROOT = Place(None, "")


def place_at(data: Json, pointer: str) -> Place:
    """The place that a pointer into a document names."""
    place, node = ROOT, data
    for position, token in enumerate(pointer.split("/")[1:]):
        step: str | int = int(token) if type(node) is list else unescape(token)
        node = (
            node[int(token)]
            if type(node) is list
            else node.get(step)
            if type(node) is dict
            else None
        )
        # Names of components and paths are keys of a map; below them a path item's fields are fixed
        # ones.
        place = Place(place, step, position == (2 if pointer.startswith("/components/") else 1))
    return place


class Scope(NamedTuple):
    """What surrounds a node: the path, method and status it belongs to, or that it is a
    component.
    """

    path: str = ""
    method: str = ""
    status: str = ""
    component: bool = False
    callback: str = ""
    webhook: bool = False
    resource: str = ""


class SchemaNode(NamedTuple):
    schema: JsonObject
    name: str  # of a component, property or definition; else empty
    place: Place
    scope: Scope


class Node(NamedTuple):
    """A parameter, response, header, request body, media type, path item, operation ... and
    where it stands.
    """

    value: JsonObject
    name: str
    place: Place
    scope: Scope
    home: Place | None = (
        None  # of a path item behind a reference in the document: where its content really is
    )


class RefNode(NamedTuple):
    ref: str
    place: Place  # of the object that holds the $ref
    node_type: str
    resource: str = (
        ""  # `$id` of the nearest schema around it that has one: pointers count from there
    )


@dataclass(slots=True)
class Index:
    """Everything of a kind, in document order."""

    paths: list[Node] = field(default_factory=list)
    operations: list[Node] = field(default_factory=list)
    schemas: list[SchemaNode] = field(default_factory=list)
    parameters: list[Node] = field(default_factory=list)
    request_bodies: list[Node] = field(default_factory=list)
    media_types: list[Node] = field(default_factory=list)
    responses: list[Node] = field(default_factory=list)
    headers: list[Node] = field(default_factory=list)
    examples: list[Node] = field(default_factory=list)
    links: list[Node] = field(default_factory=list)
    callbacks: list[Node] = field(default_factory=list)
    security_schemes: list[Node] = field(default_factory=list)
    refs: list[RefNode] = field(default_factory=list)
    memo: dict[str, Any] = field(default_factory=dict)  # what walks compute once


def index_of(document: Document) -> Index:
    """The document's index, built when first asked for."""
    found = document.derived.get("index")
    if found is None:
        with collector_off(keep=document.kept):
            found = _Builder(document).build()
        document.derived["index"] = found
    index: Index = found
    return index


def spread(document: Document) -> bool:
    """Whether path items stand in other files: then the operations do too."""
    return any(
        node.node_type == "pathItem" and not node.ref.startswith("#")
        for node in index_of(document).refs
    )


SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
NAMED_MAPS = frozenset({"properties", "$defs"})
SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_SINGLES = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "contentSchema",
        "additionalItems",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SCHEMA_CHILDREN = SCHEMA_MAPS | SCHEMA_LISTS | SCHEMA_SINGLES


def schema_children(schema: JsonObject, place: Place) -> Iterator[tuple[Json, str, Place]]:
    """The direct subschemas of a schema: value, name where it has one, position.

    Values may be booleans or broken.
    """
    for keyword, value in schema.items():
        if keyword not in SCHEMA_CHILDREN:
            continue
        if keyword in SCHEMA_MAPS:
            if type(value) is dict:
                here = Place(place, keyword)
                named = keyword in NAMED_MAPS
                for key, child in value.items():
                    yield child, key if named else "", Place(here, key, True)
        elif type(value) is list:
            if keyword in SCHEMA_LISTS or keyword == "items":
                here = Place(place, keyword)
                for position, child in enumerate(value):
                    yield child, "", Place(here, position)
        elif keyword in SCHEMA_SINGLES:
            yield value, "", Place(place, keyword)


class _Builder:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.methods = document.family.methods
        self.index = Index()
        self.items_used: set[str] = set()

    def build(self) -> Index:
        data = self.document.data
        for key, item in _entries(data.get("paths")):
            if not key.startswith("x-"):
                self.path_item(item, Place(Place(ROOT, "paths"), key, True), Scope(path=key), key)
        for key, item in _entries(data.get("webhooks")):
            self.path_item(
                item, Place(Place(ROOT, "webhooks"), key, True), Scope(path=key, webhook=True), key
            )
        if self.document.is_v2:
            self.components_v2(data)
        else:
            self.components_v3(data.get("components"))
        return self.index

    def ref(self, value: JsonObject, place: Place, node_type: str) -> None:
        ref = value.get("$ref")
        if type(ref) is str:
            self.index.refs.append(RefNode(ref, place, node_type))

    def path_item(self, item: JsonObject, place: Place, scope: Scope, name: str) -> None:
        self.ref(item, place, "pathItem")
        target, pointer = local_target(self.document.data, item)
        if not pointer:
            self.index.paths.append(Node(item, name, place, scope))
            self.item_content(item, place, scope)
            return
        # An operation of an item that a path uses belongs to that path. What is inside is listed
        # once, however many paths use it.
        listed = pointer in self.items_used or pointer.startswith(("/paths/", "/webhooks/"))
        self.items_used.add(pointer)
        home = place_at(self.document.data, pointer)
        own = {key: value for key, value in item.items() if key != "$ref"}
        self.index.paths.append(Node({**target, **own}, name, place, scope, home))
        self.ref(target, home, "pathItem")
        self.item_content(
            {key: value for key, value in target.items() if key not in own}, home, scope, listed
        )
        self.item_content(own, place, scope)

    def item_content(
        self, item: JsonObject, place: Place, scope: Scope, listed: bool = False
    ) -> None:
        if not listed:
            self.parameters(item.get("parameters"), place, scope)
        for method, operation in item.items():
            if method in self.methods and type(operation) is dict:
                self.operation(
                    operation, Place(place, method), scope._replace(method=method), listed
                )
        if self.document.family is Family.V32:
            here = Place(place, "additionalOperations")
            for method, operation in _entries(item.get("additionalOperations")):
                self.operation(
                    operation, Place(here, method), scope._replace(method=method), listed
                )

    def operation(
        self, operation: JsonObject, place: Place, scope: Scope, listed: bool = False
    ) -> None:
        self.index.operations.append(Node(operation, scope.method, place, scope))
        if listed:
            return
        self.parameters(operation.get("parameters"), place, scope)
        body = operation.get("requestBody")
        if type(body) is dict:
            self.request_body(body, "", Place(place, "requestBody"), scope)
        here = Place(place, "responses")
        for status, response in _entries(operation.get("responses")):
            if not status.startswith("x-"):
                self.response(
                    response,
                    status,
                    Place(here, status, status != "default"),
                    scope._replace(status=status),
                )
        here = Place(place, "callbacks")
        for name, callback in _entries(operation.get("callbacks")):
            self.callback(callback, name, Place(here, name, True), scope)

    def callback(self, callback: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(callback, place, "callback")
        self.index.callbacks.append(Node(callback, name, place, scope))
        for expression, item in _entries(callback):
            if not expression.startswith("x-"):
                inner = Scope(
                    path=scope.path, component=scope.component, callback=f"{name} {expression}"
                )
                self.path_item(item, Place(place, expression, True), inner, expression)

    def parameters(self, values: Json, place: Place, scope: Scope) -> None:
        if type(values) is list:
            here = Place(place, "parameters")
            for position, value in enumerate(values):
                if type(value) is dict:
                    self.parameter(
                        value, str(value.get("name") or ""), Place(here, position), scope
                    )

    def parameter(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "parameter")
        self.index.parameters.append(Node(value, name, place, scope))
        self.schema_holder(value, place, scope)

    def schema_holder(self, value: JsonObject, place: Place, scope: Scope) -> None:
        """What parameters and headers share: schema, content, examples; in 2.0 the items of an
        array.
        """
        schema = value.get("schema")
        if type(schema) is dict:
            self.schema(schema, "", Place(place, "schema"), scope)
        self.content(value.get("content"), place, scope)
        self.example_map(value.get("examples"), place, scope)

    def content(self, values: Json, place: Place, scope: Scope) -> None:
        if type(values) is dict:
            here = Place(place, "content")
            for name, value in values.items():
                if type(value) is dict:
                    self.media_type(value, name, Place(here, name, True), scope)

    def media_type(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "mediaType")
        self.index.media_types.append(Node(value, name, place, scope))
        for keyword in ("schema", "itemSchema"):
            schema = value.get(keyword)
            if type(schema) is dict:
                self.schema(schema, "", Place(place, keyword), scope)
        self.example_map(value.get("examples"), place, scope)
        encodings = value.get("encoding")
        if type(encodings) is dict:
            here = Place(place, "encoding")
            for key, encoding in _entries(encodings):
                self.headers(encoding.get("headers"), Place(here, key, True), scope)

    def example_map(self, values: Json, place: Place, scope: Scope) -> None:
        if type(values) is dict:
            here = Place(place, "examples")
            for name, value in _entries(values):
                self.example(value, name, Place(here, name, True), scope)

    def example(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "example")
        self.index.examples.append(Node(value, name, place, scope))

    def request_body(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "requestBody")
        self.index.request_bodies.append(Node(value, name, place, scope))
        self.content(value.get("content"), place, scope)

    def response(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "response")
        self.index.responses.append(Node(value, name, place, scope))
        self.headers(value.get("headers"), place, scope)
        self.content(value.get("content"), place, scope)
        schema = value.get("schema")
        if type(schema) is dict and self.document.is_v2:
            self.schema(schema, "", Place(place, "schema"), scope)
        here = Place(place, "links")
        for key, link in _entries(value.get("links")):
            self.link(link, key, Place(here, key, True), scope)

    def link(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "link")
        self.index.links.append(Node(value, name, place, scope))

    def headers(self, values: Json, place: Place, scope: Scope) -> None:
        if type(values) is dict:
            here = Place(place, "headers")
            for name, value in _entries(values):
                self.header(value, name, Place(here, name, True), scope)

    def header(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "header")
        self.index.headers.append(Node(value, name, place, scope))
        self.schema_holder(value, place, scope)

    def schema(self, schema: JsonObject, name: str, place: Place, scope: Scope) -> None:
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
                self.schema(child, child_name, child_place, scope)

    def security_scheme(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.ref(value, place, "securityScheme")
        self.index.security_schemes.append(Node(value, name, place, scope))

    def components_v3(self, components: Json) -> None:
        if type(components) is not dict:
            return
        root = Place(ROOT, "components")
        scope = Scope(component=True)
        visitors = {
            "schemas": self.schema,
            "responses": self.response,
            "parameters": self.named_parameter,
            "examples": self.example,
            "requestBodies": self.request_body,
            "headers": self.header,
            "securitySchemes": self.security_scheme,
            "links": self.link,
            "callbacks": self.callback,
            "mediaTypes": self.media_type,
        }
        for kind, values in components.items():
            visit = visitors.get(kind)
            here = Place(root, kind)
            for name, value in _entries(values):
                if visit is not None:
                    visit(value, name, Place(here, name, True), scope)
                elif (
                    kind == "pathItems"
                    and f"/components/pathItems/{escape(name)}" not in self.items_used
                ):
                    self.path_item(value, Place(here, name, True), scope, name)

    def named_parameter(self, value: JsonObject, name: str, place: Place, scope: Scope) -> None:
        self.parameter(value, str(value.get("name") or name), place, scope)

    def components_v2(self, data: JsonObject) -> None:
        scope = Scope(component=True)
        visitors = {
            "definitions": self.schema,
            "parameters": self.named_parameter,
            "responses": self.response,
            "securityDefinitions": self.security_scheme,
        }
        for kind, visit in visitors.items():
            here = Place(ROOT, kind)
            for name, value in _entries(data.get(kind)):
                visit(value, name, Place(here, name, True), scope)


def _entries(values: Json) -> Iterator[tuple[str, JsonObject]]:
    if type(values) is dict:
        for key, value in values.items():
            if type(value) is dict:
                yield key, value
