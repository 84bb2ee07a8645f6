"""References to places that the next version does not have, replaced before a step.

A schema that is referred to by its place (`#/paths/~1a/get/...`, `.../oneOf/0`) becomes a
component, and its old place refers to it. Other objects are copied to where they are referred to.
So the steps themselves see only references to components.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote, urldefrag

import orjson

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.document.shape import ONE, ONE_OR_LIST, OPEN_SHAPE, SHAPE
from commonplace.openapi.model import Family

# A kind of object and its field; "*" for objects whose members are all of one kind.
Edge = tuple[str, str]
Route = tuple[str, ...]

# Anything but a reference to a whole component; path items are components only since 3.1, media
# types since 3.2.
_INNER = re.compile(
    rb'"#/(?!(?:components/(?!pathItems/|mediaTypes/)[^/"]+'
    rb'|definitions|parameters|responses)/[^/"]+")'
)
_ILLEGAL = re.compile(r"[^A-Za-z0-9._-]+")
_NOISE = frozenset(
    ("components", "schemas", "definitions", "paths", "schema", "properties", "content")
)
_OBJECTS = (
    "response",
    "parameter",
    "example",
    "request_body",
    "header",
    "security_scheme",
    "link",
    "callback",
    "path_item",
)
_OBJECTS_2 = ("response", "parameter", "path_item")  # in 2.0, or dissolved by the step to it

_EVERY: frozenset[Edge] = frozenset(
    (kind, field) for kind, fields in SHAPE.items() for field in fields
) | {(kind, "*") for kind in OPEN_SHAPE}
_ONLY_3_2: frozenset[Edge] = frozenset(
    [
        ("components", "mediaTypes"),
        ("path_item", "query"),
        ("path_item", "additionalOperations"),
        ("path_item", "parameters"),  # one of them may be dropped, which moves the others
        ("operation", "parameters"),
        ("media_type", "itemSchema"),
        ("media_type", "prefixEncoding"),
        ("media_type", "itemEncoding"),
        ("encoding", "encoding"),
        ("encoding", "prefixEncoding"),
        ("encoding", "itemEncoding"),
    ]
)
_PATHS: frozenset[Edge] = frozenset((("document", "paths"), ("paths", "*")))
_KEPT: dict[tuple[Family, Family], frozenset[Edge]] = {
    (Family.V20, Family.V30): _PATHS
    | {("document", name) for name in ("definitions", "parameters", "responses")}
    | {("schema", name) for name in ("properties", "allOf", "additionalProperties")},
    (Family.V30, Family.V20): _PATHS
    | {("document", "components")}
    | {("components", name) for name in ("schemas", "parameters", "responses")}
    | {("schema", name) for name in ("properties", "allOf", "items", "additionalProperties")},
    (Family.V30, Family.V31): _EVERY
    - {("schema", name) for name in ("allOf", "anyOf", "oneOf", "not")},
    (Family.V31, Family.V30): _EVERY
    - {("document", "webhooks"), ("components", "pathItems")}
    - {("schema", name) for name in SHAPE["schema"] if name not in ("properties", "not")},
    (Family.V32, Family.V31): _EVERY - _ONLY_3_2,
}


class _Target(NamedTuple):
    """The target of a reference, and whether the next version keeps its place."""

    route: Route
    value: Json
    stays: bool


def replace_lost_references(
    document: JsonObject, issues: IssueLog, source: Family, target: Family
) -> JsonObject:
    """Return the document with references only to places that the next version keeps."""
    if "$self" not in document and not _has_inner_references(document):
        return document
    places = _Places(document, issues, source, target)
    places.rewrite(document, "document")  # finds the targets, which the second pass moves
    places.made.clear()
    return places.with_components(places.rewrite(document, "document"))


def _has_inner_references(document: JsonObject) -> bool:
    try:
        return _INNER.search(orjson.dumps(document)) is not None
    except TypeError:
        return True  # integers beyond 64 bits; look at all of it


class _Places(Rewriter):
    """Rewrites references in two passes: the first finds their targets, the second moves them."""

    def __init__(
        self, document: JsonObject, issues: IssueLog, source: Family, target: Family
    ) -> None:
        super().__init__()
        self.document = document
        self.issues = issues
        self.source = source
        self.target = target
        self.kept = _KEPT[source, target]
        self.root = ("definitions",) if source is Family.V20 else ("components", "schemas")
        self.names: dict[Route, str] = {}
        self.made: JsonObject = {}
        self._values: dict[Route, Json] = {}
        self._targets: dict[str, _Target | None] = {}
        self._taken = set(self._section(document))
        self._copied: list[list[str]] = []  # references replaced by copies around this object
        self._resources = 0  # schemas with an `$id` around it
        objects = _OBJECTS_2 if Family.V20 in (source, target) else _OBJECTS
        for kind in (*objects, "media_type") if source is Family.V32 else objects:
            self._entering[kind] = partial(self._enter, kind=kind)
            self._hooks[kind] = self._leave

    def _section(self, document: JsonObject) -> JsonObject:
        node: Json = document
        for token in self.root:
            node = node.get(token) if isinstance(node, dict) else None
        return node if isinstance(node, dict) else {}

    # Schemas become components
    def enter_schema(self, node: JsonObject) -> JsonObject:
        self._resources += self._is_resource(node)
        return node

    def _is_resource(self, node: JsonObject) -> bool:
        """Tell whether pointers inside a schema start at the schema itself.

        On the way to 3.0 they have already been rewritten to start at the document.
        """
        return self.source is Family.V32 and isinstance(node.get("$id"), str)

    def on_schema(self, node: JsonObject) -> Json:
        reference = node.get("$ref")
        if isinstance(reference, str):
            new = self._component(reference)
            node = node if new == reference else {**node, "$ref": new}
        self._resources -= self._is_resource(node)
        name = self.names.get(tuple(self.at))
        if name is None or name in self.made or _is_plain(node):
            return node
        self.made[name] = node
        return {"$ref": self._reference_to(name)}

    def on_discriminator(self, node: JsonObject) -> Json:
        mapping = node.get("mapping")
        if not isinstance(mapping, dict):
            return node
        new = {
            value: self._component(name) if isinstance(name, str) else name
            for value, name in mapping.items()
        }
        return node if new == mapping else {**node, "mapping": new}

    def _component(self, reference: str) -> str:
        """Return the reference, or one to the component that its target becomes."""
        reference = self._local(reference)
        if not reference.startswith("#/") or self._resources:
            return reference
        target = self._find(reference)
        if target is None or target.stays or not isinstance(target.value, (dict, bool)):
            return reference
        if target.route not in self.names:
            name = self._new_name(target.route)
            self.names[target.route] = name
            self._values[target.route] = target.value
            self.issues.record_move(name, target.route)
            self.issues.info(
                self.pointer("$ref"),
                f"{self.target} has no place {reference!r}; what is there became the "
                f"component {name!r}.",
            )
        return self._reference_to(self.names[target.route])

    def _local(self, reference: str) -> str:
        """Return a reference without the document's own address, which 3.1 cannot declare."""
        own = self.document.get("$self")
        address, fragment = urldefrag(reference)
        return f"#{fragment}" if address and address == own and fragment else reference

    def _reference_to(self, name: str) -> str:
        return "#/" + "/".join((*self.root, name))

    def _new_name(self, route: Route) -> str:
        words = [word for word in route if word not in _NOISE]
        if len(route) > 2 and route[-2] in ("$defs", "definitions"):
            words = [route[-1]]
        plain = _ILLEGAL.sub("_", "_".join(words)).strip("_") or "Schema"
        name, number = plain, 2
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        return name

    def with_components(self, document: JsonObject) -> JsonObject:
        """Return the document with the schemas that became components."""
        while waiting := [route for route, name in self.names.items() if name not in self.made]:
            for route in waiting:
                self._copy(route, self.names[route])
        if not self.made:
            return document
        schemas = {
            **self._section(document),
            **{name: self.made[name] for name in self.names.values()},
        }
        if self.source is Family.V20:
            return {**document, "definitions": schemas}
        components = document.get("components")
        return {
            **document,
            "components": {
                **(components if isinstance(components, dict) else {}),
                "schemas": schemas,
            },
        }

    def _copy(self, route: Route, name: str) -> None:
        """Make a component of a target that also stays at its place.

        It is a plain schema, or inside an extension or an example.
        """
        value = self._values[route]
        if isinstance(value, bool) and not self.source.json_schema:
            value = {} if value else {"not": {}}
        self.made[name] = {}
        self.at = list(route)
        self.made[name] = self.rewrite(value, "schema")
        self.at = []

    # Other objects are copied to where they are referred to
    def _enter(self, node: JsonObject, kind: str) -> JsonObject:
        copied: list[str] = []
        self._copied.append(copied)
        while isinstance(node.get("$ref"), str):
            reference = self._local(node["$ref"])
            if reference != node["$ref"]:
                node = {**node, "$ref": reference}
            target = self._find(reference) if reference.startswith("#/") else None
            # 3.1 allows no references to media types.
            stays = target is not None and target.stays and kind != "media_type"
            if target is None or stays or not isinstance(target.value, dict):
                return node
            if any(reference in around for around in self._copied):
                self.issues.critical(
                    self.pointer("$ref"),
                    f"{reference!r} contains itself, which cannot be expressed in {self.target}.",
                )
                return {}
            copied.append(reference)
            self.issues.info(
                self.pointer("$ref"),
                f"{self.target} has no place {reference!r}; a copy was put here.",
            )
            beside = {
                key: value
                for key, value in node.items()
                if key != "$ref" and (kind == "path_item" or key == "description")
            }
            node = {
                **target.value,
                **(beside if kind == "path_item" or self.source.json_schema else {}),
            }
        return node

    def _leave(self, node: JsonObject) -> Json:
        self._copied.pop()
        return node

    def on_document(self, node: JsonObject) -> Json:
        hooks = node.get("x-webhooks")
        if self.target is not Family.V31 or not isinstance(hooks, dict):
            return node
        self.at.append("x-webhooks")  # they become webhooks again
        hooks = self._map(hooks, "path_item")
        self.at.pop()
        return node if hooks is node["x-webhooks"] else {**node, "x-webhooks": hooks}

    def _find(self, reference: str) -> _Target | None:
        if reference not in self._targets:
            self._targets[reference] = _follow(self.document, reference, self.kept)
        return self._targets[reference]


def _is_plain(schema: JsonObject) -> bool:
    """Tell whether a schema contains no other schemas.

    Replaced by a reference, it would hide what the steps look for: null, a binary string, a file.
    """
    return not any(
        isinstance(value, dict) or key.startswith("$") for key, value in schema.items()
    ) and not any(
        isinstance(name, (dict, list))
        for value in schema.values()
        if isinstance(value, list)
        for name in value
    )


def _follow(document: JsonObject, reference: str, kept: frozenset[Edge]) -> _Target | None:
    """Return the target of a pointer, and whether the next version keeps every field on its way."""
    node: Json = document
    kind, members = "document", ""  # of the node: its kind, or the kind of its members
    route: list[str] = []
    stays = True
    for token in reference[2:].split("/"):
        referring = isinstance(node, dict) and isinstance(node.get("$ref"), str)
        found = _member(node, token)
        if found is None:
            return None
        key, node = found
        route.append(key)
        if members:
            kind, members = members, ""
            continue
        if kind in OPEN_SHAPE:
            stays = stays and (kind, "*") in kept
            kind = "" if key.startswith("x-") else OPEN_SHAPE[kind]
            continue
        # Fields beside a reference are mostly dropped.
        stays = stays and (kind, key) in kept and not referring
        container, child = SHAPE.get(kind, {}).get(key, (ONE, ""))
        single = container == ONE or (container == ONE_OR_LIST and isinstance(node, dict))
        kind, members = (child, "") if single else ("", child)
    return _Target(tuple(route), node, stays)


def _member(node: Json, token: str) -> tuple[str, Json] | None:
    plain = token.replace("~1", "/").replace("~0", "~")
    if isinstance(node, dict):
        for key in (plain, unquote(token).replace("~1", "/").replace("~0", "~")):
            if key in node:
                return key, node[key]
    elif isinstance(node, list) and plain.isdecimal() and int(plain) < len(node):
        return plain, node[int(plain)]
    return None
