"""Each rule of comparison: one pair of documents where it fires, and one near miss where it does
not.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import CHANGE_RULES, ApiChange, Level
from commonplace.openapi.engine.document.load import load
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


def test_every_rule_has_a_pair_that_fires() -> None:
    assert CHANGE_RULES.keys() - FIRES.keys() - LITERAL_ONLY == set()


@pytest.mark.parametrize("rule", FIRES)
def test_the_rule_fires(rule: str) -> None:
    old, new = FIRES[rule]
    found = {change.rule.id: change.level for change in changes(old, new)}
    assert rule in found
    assert found[rule] in (CHANGE_RULES[rule].request, CHANGE_RULES[rule].response, Level.INFO)


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ("^[a-z]+$", "^[a-z]{1,10}$", {"pattern-narrowed"}),
        ("^[a-z]{1,10}$", "^[a-z]{1,20}$", {"pattern-widened"}),
        ("^(cat|dog)$", "^(cat|dog|fox)$", {"pattern-widened"}),
        ("^[a-c]$", "^[b-d]$", {"pattern-narrowed", "pattern-widened"}),
        ("^[0-9]+$", r"^\d+$", {"pattern-changed"}),
        ("^abc$", "abc", {"pattern-widened"}),
        ("^[^@]+@x$", "^[^@.]+@x$", {"pattern-narrowed"}),
        (".*", "^a", {"pattern-narrowed"}),
        ("^.*$", None, set()),
        ("^(?!a)", "^(?!b)", {"pattern-changed"}),
        ("a" * 600, "b" * 600, {"pattern-changed"}),
        ("(", ")", {"pattern-changed"}),
    ],
)
def test_patterns_are_told_apart_by_strings(old: str, new: str | None, rules: set[str]) -> None:
    after = {**STRING, "pattern": new} if new is not None else STRING
    assert {
        change.rule.id for change in changes(sent({**STRING, "pattern": old}), sent(after))
    } == rules


@pytest.mark.parametrize(
    ("kind", "old", "new", "rules"),
    [
        (INTEGER, 2, 4, {"multiple-of-narrowed"}),
        (INTEGER, 6, 3, {"multiple-of-widened"}),
        (INTEGER, 2, 3, {"multiple-of-changed"}),
        (INTEGER, 1, None, set()),
        (INTEGER, None, 1, set()),
        (INTEGER, 0.5, None, set()),
        (NUMBER, 0.01, 0.1, {"multiple-of-narrowed"}),
        (NUMBER, 1, None, {"multiple-of-widened"}),
    ],
)
def test_multiples_are_compared_by_the_numbers_that_fit(
    kind: dict[str, Any], old: Any, new: Any, rules: set[str]
) -> None:
    before, after = (
        {**kind, **({"multipleOf": step} if step is not None else {})} for step in (old, new)
    )
    assert {change.rule.id for change in changes(sent(before), sent(after))} == rules


@pytest.mark.parametrize("rule", FIRES)
def test_a_near_miss_does_not_fire(rule: str) -> None:
    old, new = NEAR.get(rule, (FIRES[rule][0], FIRES[rule][0]))
    changed = deepcopy(new)
    changed["info"]["x-touched"] = True  # so that the documents are not simply equal
    assert rule not in {change.rule.id for change in changes(old, changed)}


@pytest.mark.parametrize(
    ("rule", "opposite"),
    [
        ("type-narrowed", "type-widened"),
        ("enum-value-removed", "enum-value-added"),
        ("bound-tightened", "bound-loosened"),
        ("required-property-added", "required-property-removed"),
        ("additional-properties-closed", "additional-properties-opened"),
        ("pattern-narrowed", "pattern-widened"),
        ("multiple-of-narrowed", "multiple-of-widened"),
    ],
)
def test_direction_decides(rule: str, opposite: str) -> None:
    """Narrowing breaks what clients send, widening what they receive."""
    old, new = FIRES[rule]
    schema_old = old["paths"]["/a"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema_new = new["paths"]["/a"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    levels = {
        "sent": {
            change.rule.id: change.level for change in changes(sent(schema_old), sent(schema_new))
        },
        "received": {
            change.rule.id: change.level
            for change in changes(received(schema_old), received(schema_new))
        },
        "sent back": {
            change.rule.id: change.level for change in changes(sent(schema_new), sent(schema_old))
        },
        "received back": {
            change.rule.id: change.level
            for change in changes(received(schema_new), received(schema_old))
        },
    }
    assert levels["sent"][rule] is Level.ERROR
    assert levels["received"][rule] is Level.INFO
    assert levels["sent back"][opposite] in (Level.INFO, Level.WARNING)
    assert levels["received back"][opposite] is Level.ERROR


def test_callbacks_turn_the_direction_round() -> None:
    def called(schema: Any) -> dict[str, Any]:
        sending = operation(requestBody={"content": {"application/json": {"schema": schema}}})
        return get(callbacks={"done": {"{$url}": {"post": sending}}})

    found = {
        change.rule.id: change.level
        for change in changes(called({"enum": ["a"]}), called({"enum": ["a", "b"]}))
    }
    assert found["enum-value-added"] is Level.ERROR


def test_a_named_schema_is_reported_once_with_its_worst_direction() -> None:
    def both(schema: Any) -> dict[str, Any]:
        use = {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}
        used = operation(
            requestBody={"content": use}, responses={"200": {"description": "fine", "content": use}}
        )
        return {
            **minimal(paths={"/a": {"post": used}, "/b": {"post": used}}),
            "components": {"schemas": {"S": schema}},
        }

    (change,) = changes(both({"enum": ["a"]}), both({"enum": ["a", "b"]}))
    assert (change.rule.id, change.path) == ("enum-value-added", "/components/schemas/S/enum")
    assert change.level is Level.ERROR
    assert [direction.value for direction in change.directions] == ["request", "response"]


def test_renaming_a_schema_changes_nothing_for_clients() -> None:
    old = ref({"$ref": "#/components/schemas/A"}, A=props(a=STRING))
    new = ref({"$ref": "#/components/schemas/B"}, B=props(a=STRING))
    assert {change.level for change in changes(old, new)} == {Level.INFO}


def test_a_schema_that_became_one_of_several_only_gained_the_others() -> None:
    one, several = props(("a",), a=STRING), {"oneOf": [props(("a",), a=STRING), INTEGER]}
    for make, added, removed in (
        (sent, Level.INFO, Level.ERROR),
        (received, Level.ERROR, Level.INFO),
    ):
        assert [(change.rule.id, change.level) for change in changes(make(one), make(several))] == [
            ("alternative-added", added)
        ]
        assert [(change.rule.id, change.level) for change in changes(make(several), make(one))] == [
            ("alternative-removed", removed)
        ]


def test_a_named_schema_that_became_one_of_several_only_gained_the_others() -> None:
    one = ref({"$ref": "#/components/schemas/A"}, A=props(a=STRING), B=INTEGER)
    several = ref(
        {"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]},
        A=props(a=STRING),
        B=INTEGER,
    )
    assert [change.rule.id for change in changes(one, several)] == ["alternative-added"]


def test_what_several_parts_of_an_all_of_say_about_one_property_counts_together() -> None:
    def parts(most: int) -> dict[str, Any]:
        return {"allOf": [props(a=STRING), {"properties": {"a": {"maxLength": most}}}]}

    assert [change.rule.id for change in changes(sent(parts(5)), sent(parts(4)))] == [
        "bound-tightened"
    ]
    assert changes(sent(parts(5)), sent(props(a={"type": "string", "maxLength": 5}))) == []


def test_recursive_schemas_end() -> None:
    def tree(kind: str) -> dict[str, Any]:
        node = props(
            value={"type": kind},
            children={"type": "array", "items": {"$ref": "#/components/schemas/N"}},
        )
        return ref({"$ref": "#/components/schemas/N"}, N=node)

    assert [change.rule.id for change in changes(tree("string"), tree("integer"))] == [
        "type-changed"
    ]


SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Test", "version": "1"},
    "consumes": ["application/json"],
    "produces": ["application/json"],
    "paths": {
        "/a/{id}": {
            "post": {
                "summary": "does it",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "type": "integer"},
                    {
                        "name": "tags",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "multi",
                    },
                    {
                        "name": "b",
                        "in": "body",
                        "required": True,
                        "schema": {"$ref": "#/definitions/S"},
                    },
                ],
                "responses": {
                    "200": {"description": "fine", "schema": {"$ref": "#/definitions/S"}}
                },
            }
        }
    },
    "definitions": {
        "S": {"type": "object", "properties": {"a": {"type": "string", "x-nullable": True}}}
    },
}
OPENAPI: dict[str, Any] = minimal(
    "3.1.0",
    paths={
        "/a/{id}": {
            "post": operation(
                parameters=[
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {
                        "name": "tags",
                        "in": "query",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                ],
                requestBody={
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}},
                },
                responses={
                    "200": {
                        "description": "fine",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/S"}}
                        },
                    }
                },
            )
        }
    },
    components={
        "schemas": {"S": {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}}
    },
)


def test_the_same_api_in_two_versions_differs_only_in_the_version() -> None:
    assert [change.rule.id for change in changes(SWAGGER, OPENAPI)] == ["version-changed"]
    assert [change.rule.id for change in changes(OPENAPI, SWAGGER)] == ["version-changed"]


def test_literal_comparison_counts_the_format_as_breaking() -> None:
    found = {change.rule.id: change.level for change in changes(SWAGGER, OPENAPI, literal=True)}
    assert found["structure-removed"] is Level.ERROR
    assert found["structure-added"] is Level.INFO


@pytest.mark.oracle
def test_a_document_does_not_differ_from_itself(data: Path, soak: bool) -> None:
    """Marks in every operation and schema keep the whole comparison running although nothing a
    client sees differs.
    """
    for path in sorted((data / "openapi" / "dev").iterdir()):
        if path.stat().st_size > 3_000_000 and not soak:
            continue
        first, second = load(path.read_bytes()), load(path.read_bytes())
        for item in second.data["paths"].values():
            for part in item.values():
                if isinstance(part, dict):
                    part["x-touched"] = True
        for schema in second.schemas.values():
            schema["x-touched"] = True
        assert diff(first, second, ReferenceResolver(first), ReferenceResolver(second)) == [], (
            path.name
        )


@pytest.mark.oracle
def test_swapping_sides_swaps_added_and_removed(data: Path) -> None:
    old = load((data / "openapi" / "dev" / "stripe-prev.yaml").read_bytes())
    new = load((data / "openapi" / "dev" / "stripe.yaml").read_bytes())
    there = diff(old, new, ReferenceResolver(old), ReferenceResolver(new))
    back = diff(new, old, ReferenceResolver(new), ReferenceResolver(old))

    def count(found: list[ApiChange], kind: str) -> int:
        return sum(1 for change in found if change.rule.kind.value == kind)

    assert count(there, "added") == count(back, "removed") > 0
    assert count(there, "removed") == count(back, "added") > 0
    assert count(there, "modified") == count(back, "modified") > 0
