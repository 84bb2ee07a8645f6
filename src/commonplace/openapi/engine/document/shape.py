"""Where each kind of OpenAPI object sits inside another, for 2.0 to 3.2, and a rewriter that
walks a document by that table.

The rewriter copies only what changes: untouched branches are shared with the source, which is never
mutated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

Json = Any
_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
ONE: Final = 0
LIST: Final = 1
MAP: Final = 2
ONE_OR_LIST: Final = 3

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")

_OPERATIONS: dict[str, tuple[int, str]] = dict.fromkeys(METHODS, (ONE, "operation"))
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_ONES = (
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "propertyNames",
    "contains",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
)

SHAPE: Final[dict[str, dict[str, tuple[int, str]]]] = {
    "document": {
        "info": (ONE, "info"),
        "servers": (LIST, "server"),
        "paths": (ONE, "paths"),
        "webhooks": (MAP, "path_item"),
        "components": (ONE, "components"),
        "security": (LIST, "requirement"),
        "tags": (LIST, "tag"),
        "definitions": (MAP, "schema"),
        "parameters": (MAP, "parameter"),
        "responses": (MAP, "response"),
        "securityDefinitions": (MAP, "security_scheme"),
    },
    "info": {"license": (ONE, "license")},
    "components": {
        "schemas": (MAP, "schema"),
        "responses": (MAP, "response"),
        "parameters": (MAP, "parameter"),
        "examples": (MAP, "example"),
        "requestBodies": (MAP, "request_body"),
        "headers": (MAP, "header"),
        "securitySchemes": (MAP, "security_scheme"),
        "links": (MAP, "link"),
        "callbacks": (MAP, "callback"),
        "pathItems": (MAP, "path_item"),
        "mediaTypes": (MAP, "media_type"),
    },
    "path_item": {
        **_OPERATIONS,
        "parameters": (LIST, "parameter"),
        "servers": (LIST, "server"),
        "additionalOperations": (MAP, "operation"),
    },
    "operation": {
        "parameters": (LIST, "parameter"),
        "requestBody": (ONE, "request_body"),
        "responses": (ONE, "responses"),
        "callbacks": (MAP, "callback"),
        "security": (LIST, "requirement"),
        "servers": (LIST, "server"),
    },
    "parameter": {
        "schema": (ONE, "schema"),
        "content": (MAP, "media_type"),
        "examples": (MAP, "example"),
        "items": (ONE, "items"),
    },
    "items": {"items": (ONE, "items")},
    "request_body": {"content": (MAP, "media_type")},
    "media_type": {
        "schema": (ONE, "schema"),
        "itemSchema": (ONE, "schema"),
        "examples": (MAP, "example"),
        "encoding": (MAP, "encoding"),
        "prefixEncoding": (LIST, "encoding"),
        "itemEncoding": (ONE, "encoding"),
    },
    "encoding": {
        "headers": (MAP, "header"),
        "encoding": (MAP, "encoding"),
        "prefixEncoding": (LIST, "encoding"),
        "itemEncoding": (ONE, "encoding"),
    },
    "response": {
        "headers": (MAP, "header"),
        "content": (MAP, "media_type"),
        "links": (MAP, "link"),
        "schema": (ONE, "schema"),
    },
    "header": {
        "schema": (ONE, "schema"),
        "content": (MAP, "media_type"),
        "examples": (MAP, "example"),
        "items": (ONE, "items"),
    },
    "link": {"server": (ONE, "server")},
    "security_scheme": {},
    "server": {},
    "license": {},
    "tag": {},
    "example": {},
    "requirement": {},
    "schema": {
        **dict.fromkeys(_SCHEMA_MAPS, (MAP, "schema")),
        **dict.fromkeys(_SCHEMA_LISTS, (LIST, "schema")),
        **dict.fromkeys(_SCHEMA_ONES, (ONE, "schema")),
        "items": (ONE_OR_LIST, "schema"),
        "discriminator": (ONE, "discriminator"),
        "xml": (ONE, "xml"),
    },
    "discriminator": {},
    "xml": {},
}

# Objects whose every member that is not an extension is of one kind.
OPEN_SHAPE: Final[dict[str, str]] = {
    "paths": "path_item",
    "responses": "response",
    "callback": "path_item",
}

Hook = Callable[[dict[str, Json]], Json]


class Drop:
    """What a hook returns to remove its object from the parent."""


DROP: Final = Drop()


class Rewriter:
    """Rewrites a document bottom up.

    A subclass defines `on_<kind>(node)` for the kinds it changes; the hook gets a node whose
    children are already rewritten and returns that node, a new one, or DROP. It must not mutate
    what it is given: `edit` copies.
    """

    booleans_stay: frozenset[str] = frozenset()
    """Keywords of a schema whose true or false is said in those words in the target too."""

    def __init__(self) -> None:
        self.at: list[str] = []
        self._hooks: dict[str, Hook] = {}
        self._entering: dict[str, Callable[[dict[str, Json]], dict[str, Json]]] = {}
        for kind in {**SHAPE, **OPEN_SHAPE}:
            hook = getattr(self, f"on_{kind}", None)
            if hook is not None:
                self._hooks[kind] = hook
            before = getattr(self, f"enter_{kind}", None)
            if before is not None:
                self._entering[kind] = before

    def pointer(self, *more: str) -> str:
        """The JSON pointer of the object being rewritten."""
        return "".join(
            "/" + token.replace("~", "~0").replace("/", "~1") for token in (*self.at, *more)
        )

    def rewrite(self, node: Json, kind: str) -> Json:
        if not isinstance(node, dict):
            return (
                self.on_boolean_schema(node)
                if kind == "schema" and isinstance(node, bool)
                else node
            )
        entering = self._entering.get(kind)
        if entering is not None:
            node = entering(node)
        result = node
        shape = SHAPE.get(kind)
        if shape is None:
            child_kind = OPEN_SHAPE[kind]
            for key, value in node.items():
                if isinstance(value, dict) and not key.startswith("x-"):
                    result = self._child(node, result, key, value, ONE, child_kind)
        elif "$ref" not in node or kind in ("schema", "path_item"):
            for key, value in node.items():
                entry = shape.get(key)
                if entry is not None and (
                    value.__class__ is dict or value.__class__ is list or entry[1] == "schema"
                ):
                    result = self._child(node, result, key, value, entry[0], entry[1])
        hook = self._hooks.get(kind)
        return hook(result) if hook is not None else result

    def on_boolean_schema(self, node: bool) -> Json:
        return node

    def _child(
        self,
        node: dict[str, Json],
        result: dict[str, Json],
        key: str,
        value: Json,
        container: int,
        kind: str,
    ) -> dict[str, Json]:
        at = self.at
        at.append(key)
        try:
            if container == MAP:
                new = self._map(value, kind)
            elif container == LIST or (container == ONE_OR_LIST and isinstance(value, list)):
                new = self._list(value, kind)
            elif value.__class__ is bool and key in self.booleans_stay:
                new = value
            else:
                new = self.rewrite(value, kind)
        finally:
            at.pop()
        if new is value:
            return result
        if result is node:
            result = dict(node)
        if new is DROP:
            del result[key]
        else:
            result[key] = new
        return result

    def _map(self, value: Json, kind: str) -> Json:
        if not isinstance(value, dict):
            return value
        result = value
        at = self.at
        for key, item in value.items():
            at.append(key)
            new = self.rewrite(item, kind)
            at.pop()
            if new is not item:
                if result is value:
                    result = dict(value)
                if new is DROP:
                    del result[key]
                else:
                    result[key] = new
        return result

    def _list(self, value: Json, kind: str) -> Json:
        if not isinstance(value, list):
            return value
        items = []
        changed = False
        at = self.at
        for index, item in enumerate(value):
            at.append(str(index))
            new = self.rewrite(item, kind)
            at.pop()
            changed = changed or new is not item
            if new is not DROP:
                items.append(new)
        return items if changed else value


def resolve_pointer(document: Json, reference: str) -> Json:
    """The value a local reference (`#/a/b`) names. LookupError when there is none."""
    if not reference.startswith("#"):
        raise LookupError(reference)
    node = document
    for token in reference[1:].split("/")[1:]:
        node = step(node, token, reference)
    return node


def step(node: Json, token: str, reference: str) -> Json:
    """One token of a pointer: `~1`, `~0` and percent escapes are undone where the plain token
    does not match.
    """
    plain = token.replace("~1", "/").replace("~0", "~")
    if isinstance(node, dict):
        if plain in node:
            return node[plain]
        if "%" in plain:
            from urllib.parse import unquote

            decoded = unquote(token).replace("~1", "/").replace("~0", "~")
            if decoded in node:
                return node[decoded]
    elif isinstance(node, list) and plain.isdigit() and int(plain) < len(node):
        return node[int(plain)]
    raise LookupError(reference)


def escape_token(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def clone(node: Json) -> Json:
    """A deep copy of plain JSON; several times faster than copy.deepcopy."""
    if isinstance(node, dict):
        return {
            key: clone(value) if isinstance(value, (dict, list)) else value
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [clone(value) if isinstance(value, (dict, list)) else value for value in node]
    return node


def same_json(one: Json, other: Json) -> bool:
    """Equality of JSON values: 1 and 1.0 are one number, and neither is true, as Python would
    have it.
    """
    if one is other:
        return True
    if one != other:
        return False
    if not isinstance(one, (dict, list)):
        return isinstance(one, bool) is isinstance(other, bool)
    try:
        if orjson.dumps(one, option=_SORTED) == orjson.dumps(
            other, option=_SORTED
        ):  # most are, and this is the fast way to know
            return True
    except TypeError:  # integers beyond 64 bits
        pass
    pairs = (
        ((value, other[key]) for key, value in one.items())
        if isinstance(one, dict)
        else zip(one, other, strict=True)
    )
    return all(same_json(value, counterpart) for value, counterpart in pairs)
