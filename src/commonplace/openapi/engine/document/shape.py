"""The shape of documents: which kind of object is where inside another, for 2.0 to 3.2."""

from __future__ import annotations

from typing import Final

from commonplace.openapi.model import METHODS

ONE: Final = 0
LIST: Final = 1
MAP: Final = 2
ONE_OR_LIST: Final = 3
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

# Objects whose members, apart from extensions, are all of one kind.
OPEN_SHAPE: Final[dict[str, str]] = {
    "paths": "path_item",
    "responses": "response",
    "callback": "path_item",
}
