"""Pairs of documents for the rules of comparison: one that fires, and a near miss."""

from __future__ import annotations

from typing import Any

from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import ApiChange
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from oas_calls import document, minimal, operation

Pair = tuple[dict[str, Any], dict[str, Any]]


def changes(old: Any, new: Any, *, literal: bool = False) -> list[ApiChange]:
    first, second = document(old), document(new)
    return diff(first, second, ReferenceResolver(first), ReferenceResolver(second), literal=literal)


def get(path: str = "/a", **parts: Any) -> dict[str, Any]:
    return minimal(paths={path: {"get": operation(**parts)}})


def sent(schema: Any) -> dict[str, Any]:
    return minimal(
        paths={
            "/a": {
                "post": operation(requestBody={"content": {"application/json": {"schema": schema}}})
            }
        }
    )


def received(schema: Any) -> dict[str, Any]:
    return get(
        responses={
            "200": {"description": "fine", "content": {"application/json": {"schema": schema}}}
        }
    )


def query(**parts: Any) -> dict[str, Any]:
    return get(parameters=[{"name": "q", "in": "query", "schema": {"type": "string"}, **parts}])


def headers(**values: Any) -> dict[str, Any]:
    return get(
        responses={
            "200": {
                "description": "fine",
                "headers": {name.replace("_", "-"): value for name, value in values.items()},
            }
        }
    )


def secured(*requirements: Any, **schemes: Any) -> dict[str, Any]:
    return {**get(security=list(requirements)), "components": {"securitySchemes": schemes}}


def responses(*codes: str) -> dict[str, Any]:
    return get(responses={code: {"description": code} for code in codes})


def body(required: bool | None, *media: str) -> dict[str, Any]:
    if required is None:
        return minimal(paths={"/a": {"post": operation()}})
    content = {name: {"schema": {}} for name in media or ("application/json",)}
    return minimal(
        paths={"/a": {"post": operation(requestBody={"required": required, "content": content})}}
    )


def props(
    required: tuple[str, ...] = (), closed: bool = False, **properties: Any
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    if closed:
        schema["additionalProperties"] = False
    return schema


KEY = {"type": "apiKey", "in": "header", "name": "K"}


FLOW = {"authorizationUrl": "https://a.example", "scopes": {"read": "", "write": ""}}


OAUTH = {"type": "oauth2", "flows": {"implicit": FLOW}}


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


CALLBACK = {"done": {"{$url}": {"post": operation()}}}


LINK = {"next": {"operationId": "x"}}


HOOK = {"hook": {"post": operation()}}


def ref(schema: Any, **components: Any) -> dict[str, Any]:
    return {**received(schema), "components": {"schemas": components}}


def linked(links: Any) -> dict[str, Any]:
    return get(responses={"200": {"description": "fine", "links": links}})


def multipart(encoding: Any) -> dict[str, Any]:
    content = {"multipart/form-data": {"schema": {"type": "object"}, "encoding": encoding}}
    return minimal(paths={"/a": {"post": operation(requestBody={"content": content})}})


FIRES: dict[str, Pair] = {
    "version-changed": (minimal("3.0.2"), minimal("3.0.3")),
    "info-changed": (minimal(), minimal(info={"title": "Other", "version": "1"})),
    "server-removed": (
        minimal(servers=[{"url": "/a"}, {"url": "/b"}]),
        minimal(servers=[{"url": "/a"}]),
    ),
    "server-added": (
        minimal(servers=[{"url": "/a"}]),
        minimal(servers=[{"url": "/a"}, {"url": "/b"}]),
    ),
    "server-variable-changed": (
        minimal(servers=[{"url": "/{v}", "variables": {"v": {"default": "1"}}}]),
        minimal(servers=[{"url": "/{v}", "variables": {"v": {"default": "2"}}}]),
    ),
    "tag-removed": (minimal(tags=[{"name": "a"}]), minimal(tags=[])),
    "tag-added": (minimal(tags=[]), minimal(tags=[{"name": "a"}])),
    "operation-removed": (get(), minimal()),
    "deprecated-operation-removed": (get(deprecated=True), minimal()),
    "operation-added": (minimal(), get()),
    "operation-id-changed": (get(operationId="a"), get(operationId="b")),
    "operation-deprecated": (get(), get(deprecated=True)),
    "operation-undeprecated": (get(deprecated=True), get()),
    "operation-tags-changed": (get(tags=["a"]), get(tags=["b"])),
    "description-changed": (get(summary="a"), get(summary="b")),
    "path-parameter-renamed": (
        get("/{a}", parameters=[{"name": "a", "in": "path", "required": True, "schema": STRING}]),
        get("/{b}", parameters=[{"name": "b", "in": "path", "required": True, "schema": STRING}]),
    ),
    "callback-removed": (get(callbacks=CALLBACK), get()),
    "callback-added": (get(), get(callbacks=CALLBACK)),
    "webhook-removed": (minimal("3.1.0", webhooks=HOOK), minimal("3.1.0")),
    "webhook-added": (minimal("3.1.0"), minimal("3.1.0", webhooks=HOOK)),
    "parameter-removed": (query(), get()),
    "required-parameter-added": (get(), query(required=True)),
    "optional-parameter-added": (get(), query()),
    "parameter-became-required": (query(), query(required=True)),
    "parameter-became-optional": (query(required=True), query()),
    "parameter-style-changed": (
        query(schema={"type": "array", "items": STRING}),
        query(schema={"type": "array", "items": STRING}, explode=False),
    ),
    "parameter-deprecated": (query(), query(deprecated=True)),
    "required-body-added": (body(None), body(True)),
    "optional-body-added": (body(None), body(False)),
    "body-removed": (body(True), body(None)),
    "body-became-required": (body(False), body(True)),
    "body-became-optional": (body(True), body(False)),
    "media-type-removed": (body(True, "a/b", "c/d"), body(True, "a/b")),
    "media-type-added": (body(True, "a/b"), body(True, "a/b", "c/d")),
    "encoding-changed": (
        multipart({"a": {"contentType": "text/plain"}}),
        multipart({"a": {"contentType": "text/csv"}}),
    ),
    "success-response-removed": (responses("200", "201"), responses("200")),
    "error-response-removed": (responses("200", "404"), responses("200")),
    "success-response-added": (responses("200"), responses("200", "202")),
    "error-response-added": (responses("200"), responses("200", "404")),
    "required-header-removed": (headers(X_A={"required": True, "schema": STRING}), headers()),
    "optional-header-removed": (headers(X_A={"schema": STRING}), headers()),
    "header-added": (headers(), headers(X_A={"schema": STRING})),
    "header-became-optional": (
        headers(X_A={"required": True, "schema": STRING}),
        headers(X_A={"schema": STRING}),
    ),
    "header-became-required": (
        headers(X_A={"schema": STRING}),
        headers(X_A={"required": True, "schema": STRING}),
    ),
    "link-removed": (linked(LINK), linked({})),
    "link-added": (linked({}), linked(LINK)),
    "type-narrowed": (sent(NUMBER), sent(INTEGER)),
    "type-widened": (received(STRING), received({**STRING, "nullable": True})),
    "type-changed": (sent(STRING), sent(INTEGER)),
    "enum-value-removed": (sent({"enum": ["a", "b"]}), sent({"enum": ["a"]})),
    "enum-value-added": (received({"enum": ["a"]}), received({"enum": ["a", "b"]})),
    "enum-added": (sent(STRING), sent({**STRING, "enum": ["a"]})),
    "enum-removed": (received({**STRING, "enum": ["a"]}), received(STRING)),
    "bound-tightened": (sent({**STRING, "maxLength": 9}), sent({**STRING, "maxLength": 8})),
    "bound-loosened": (received({**INTEGER, "minimum": 1}), received(INTEGER)),
    "unique-items-added": (
        sent({"type": "array", "items": {}}),
        sent({"type": "array", "items": {}, "uniqueItems": True}),
    ),
    "unique-items-removed": (
        received({"type": "array", "items": {}, "uniqueItems": True}),
        received({"type": "array", "items": {}}),
    ),
    "pattern-narrowed": (sent(STRING), sent({**STRING, "pattern": "^a"})),
    "pattern-widened": (
        received({**STRING, "pattern": "^a$"}),
        received({**STRING, "pattern": "^[ab]$"}),
    ),
    "pattern-changed": (
        sent({**STRING, "pattern": "^(?=a)"}),
        sent({**STRING, "pattern": "^(?=b)"}),
    ),
    "format-changed": (sent({**STRING, "format": "date"}), sent({**STRING, "format": "date-time"})),
    "multiple-of-narrowed": (
        sent({**NUMBER, "multipleOf": 0.1}),
        sent({**NUMBER, "multipleOf": 0.3}),
    ),
    "multiple-of-widened": (received({**INTEGER, "multipleOf": 2}), received(INTEGER)),
    "multiple-of-changed": (sent({**INTEGER, "multipleOf": 2}), sent({**INTEGER, "multipleOf": 3})),
    "property-added": (sent(props(a=STRING)), sent(props(a=STRING, b=STRING))),
    "property-added-to-closed": (
        received(props(closed=True, a=STRING)),
        received(props(closed=True, a=STRING, b=STRING)),
    ),
    "property-removed": (sent(props(a=STRING, b=STRING)), sent(props(a=STRING))),
    "property-removed-from-closed": (
        sent(props(closed=True, a=STRING, b=STRING)),
        sent(props(closed=True, a=STRING)),
    ),
    "required-property-removed": (received(props(("a",), a=STRING)), received(props())),
    "required-property-added": (sent(props()), sent(props(("a",), a=STRING))),
    "property-became-required": (sent(props(a=STRING)), sent(props(("a",), a=STRING))),
    "property-became-optional": (received(props(("a",), a=STRING)), received(props(a=STRING))),
    "additional-properties-closed": (sent(props(a=STRING)), sent(props(closed=True, a=STRING))),
    "additional-properties-opened": (
        received(props(closed=True, a=STRING)),
        received(props(a=STRING)),
    ),
    "alternative-removed": (
        sent({"oneOf": [STRING, INTEGER]}),
        sent({"oneOf": [STRING, {"type": "boolean"}]}),
    ),
    "alternative-added": (
        received({"oneOf": [STRING, INTEGER]}),
        received({"oneOf": [STRING, INTEGER, {"type": "boolean"}]}),
    ),
    "composition-changed": (sent({"not": STRING}), sent({"not": INTEGER})),
    "discriminator-changed": (
        sent({"type": "object", "discriminator": {"propertyName": "a"}}),
        sent({"type": "object", "discriminator": {"propertyName": "b"}}),
    ),
    "discriminator-mapping-changed": (
        sent({"type": "object", "discriminator": {"propertyName": "a", "mapping": {"x": "X"}}}),
        sent({"type": "object", "discriminator": {"propertyName": "a", "mapping": {"y": "X"}}}),
    ),
    "read-write-changed": (sent(props(a=STRING)), sent(props(a={**STRING, "writeOnly": True}))),
    "default-changed": (sent({**STRING, "default": "a"}), sent({**STRING, "default": "b"})),
    "schema-deprecated": (sent(props(a=STRING)), sent(props(a={**STRING, "deprecated": True}))),
    "component-removed": (ref({}, S=STRING), ref({})),
    "component-added": (ref({}), ref({}, S=STRING)),
    "security-tightened": (get(), secured({"k": []}, k=KEY)),
    "security-loosened": (secured({"k": []}, k=KEY), secured({"k": []}, {}, k=KEY)),
    "security-scheme-changed": (secured(k=KEY), secured(k={**KEY, "name": "L"})),
    "security-scheme-renamed": (secured(k=KEY), secured(j=KEY)),
    "security-scheme-removed": (secured(k=KEY), secured()),
    "security-scheme-added": (secured(), secured(k=KEY)),
    "oauth-flow-changed": (
        secured(o=OAUTH),
        secured(
            o={
                "type": "oauth2",
                "flows": {"implicit": {**FLOW, "authorizationUrl": "https://b.example"}},
            }
        ),
    ),
    "oauth-scope-removed": (
        secured(o=OAUTH),
        secured(o={"type": "oauth2", "flows": {"implicit": {**FLOW, "scopes": {"read": ""}}}}),
    ),
    "oauth-scope-added": (
        secured(o={"type": "oauth2", "flows": {"implicit": {**FLOW, "scopes": {"read": ""}}}}),
        secured(o=OAUTH),
    ),
}


LITERAL_ONLY = {"structure-removed", "structure-added"}


NEAR: dict[str, Pair] = {
    "operation-removed": (get("/{a}"), get("/{b}")),
    "operation-id-changed": (get(operationId="a"), get(operationId="a")),
    "required-parameter-added": (get(), query()),
    "optional-parameter-added": (get(), query(required=True)),
    "parameter-became-required": (query(required=True), query(required=True)),
    "parameter-style-changed": (query(), query(explode=False)),
    "parameter-removed": (
        minimal(
            paths={
                "/a": {
                    "get": operation(parameters=[{"name": "q", "in": "query", "schema": STRING}])
                }
            }
        ),
        minimal(
            paths={
                "/a": {
                    "parameters": [{"name": "q", "in": "query", "schema": STRING}],
                    "get": operation(),
                }
            }
        ),
    ),
    "media-type-removed": (body(True, "a/b; charset=utf-8"), body(True, "a/b")),
    "type-narrowed": (sent(INTEGER), sent(NUMBER)),
    "type-widened": (received(NUMBER), received(INTEGER)),
    "type-changed": (
        sent({"anyOf": [STRING, {"type": "null"}]}),
        sent({"type": "string", "nullable": True}),
    ),
    "enum-value-removed": (sent({"enum": ["a", "b"]}), sent({"enum": ["b", "a"]})),
    "enum-value-added": (
        received({"type": "string", "enum": ["a"]}),
        received({"type": "string", "enum": ["a", 5]}),
    ),
    "bound-tightened": (
        sent({**INTEGER, "exclusiveMinimum": True, "minimum": 0}),
        sent({**INTEGER, "minimum": 1}),
    ),
    "bound-loosened": (received({**STRING, "minimum": 3}), received(STRING)),
    "property-removed": (
        sent({"allOf": [props(a=STRING), props(b=STRING)]}),
        sent(props(a=STRING, b=STRING)),
    ),
    "required-property-removed": (received(props(a=STRING)), received(props())),
    "required-property-added": (sent(props()), sent(props(a=STRING))),
    "property-became-required": (
        sent(props(a={**STRING, "readOnly": True})),
        sent(props(a={**STRING, "readOnly": True})),
    ),
    "property-became-optional": (
        received({"allOf": [props(("a",), a=STRING)]}),
        received(props(("a",), a=STRING)),
    ),
    "property-added-to-closed": (received(props(a=STRING)), received(props(a=STRING, b=STRING))),
    "property-removed-from-closed": (sent(props(a=STRING, b=STRING)), sent(props(a=STRING))),
    "alternative-removed": (sent({"oneOf": [STRING, INTEGER]}), sent({"oneOf": [INTEGER, STRING]})),
    "alternative-added": (received({"anyOf": [STRING]}), received(STRING)),
    "composition-changed": (sent({"not": STRING}), sent({"not": {"type": "string"}})),
    "security-tightened": (secured({"k": []}, k=KEY), secured({}, {"k": []}, k=KEY)),
    "security-loosened": (secured({"k": []}, {}, k=KEY), secured({"k": []}, k=KEY)),
    "default-changed": (sent({**INTEGER, "default": 1}), sent({**INTEGER, "default": 1.0})),
    "component-removed": (
        ref({"$ref": "#/components/schemas/S"}, S=STRING),
        ref({"$ref": "#/components/schemas/S"}, S=STRING),
    ),
    "header-added": (headers(X_A={"schema": STRING}), headers(x_a={"schema": STRING})),
}
