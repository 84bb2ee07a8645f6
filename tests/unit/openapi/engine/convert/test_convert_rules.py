"""Rules of conversion between 3.0, 3.1 and 3.2: what goes in, what comes out, what is reported."""

from __future__ import annotations

from typing import Any

import pytest
from convert_cases import V20, V30, V31, V32, converted, schema_across, spec

from commonplace.openapi.engine.convert.chain import convert
from commonplace.openapi.engine.pointers import resolve_pointer
from commonplace.openapi.model import Family


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": False},
            {"type": "integer", "minimum": 1},
        ),
        (
            {"type": "number", "maximum": 9, "exclusiveMaximum": True},
            {"type": "number", "exclusiveMaximum": 9},
        ),
        ({"type": "string", "example": "a"}, {"type": "string", "examples": ["a"]}),
        ({"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}),
        (
            {"type": "string", "format": "binary"},
            {"type": "string", "contentMediaType": "application/octet-stream"},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
            {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ),
        (
            {"allOf": [{"$ref": "#/components/schemas/S"}], "nullable": True, "description": "d"},
            {"anyOf": [{"$ref": "#/components/schemas/S"}, {"type": "null"}], "description": "d"},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
            {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        ),
    ],
)
def test_3_0_schemas_become_json_schema_and_are_restored(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    made, _ = schema_across(before, V30, V31)
    assert made == after
    back, _ = schema_across(after, V31, V30)
    expected = {key: value for key, value in before.items() if value is not False}
    assert back == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (
            {"type": ["string", "integer", "null"]},
            {
                "anyOf": [
                    {"type": "string", "nullable": True},
                    {"type": "integer", "nullable": True},
                ]
            },
        ),
        ({"const": "a"}, {"enum": ["a"]}),
        ({"type": "null"}, {"enum": [None], "nullable": True}),
        (
            {"$ref": "#/components/schemas/S", "description": "d"},
            {"allOf": [{"$ref": "#/components/schemas/S"}], "description": "d"},
        ),
        ({"exclusiveMinimum": 1, "minimum": 5}, {"minimum": 5}),
        (
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
            {"allOf": [{"anyOf": [{"not": {"required": ["a"]}}, {"required": ["b"]}]}]},
        ),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"allOf": [{"anyOf": [{"not": {"required": ["a"]}}, {"required": ["b"]}]}]},
        ),
        ({"type": "array"}, {"type": "array", "items": {}}),
        (
            {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
            },
            {
                "type": "array",
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "maxItems": 2,
            },
        ),
        (
            {
                "type": "object",
                "patternProperties": {"^a": {"type": "string"}},
                "additionalProperties": False,
            },
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"properties": {"a": True, "b": False}}, {"properties": {"a": {}, "b": {"not": {}}}}),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "additionalProperties": False},
        ),
    ],
)
def test_3_1_keywords_are_expressed_with_those_of_3_0(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    made, _ = schema_across(before, V31, V30)
    assert made == after


@pytest.mark.parametrize(
    "keyword", ["contains", "propertyNames", "unevaluatedProperties", "minContains"]
)
def test_a_keyword_without_a_3_0_form_is_dropped_and_reported_with_its_path(keyword: str) -> None:
    value = 1 if keyword == "minContains" else {"type": "string"}
    made, issues = schema_across({"type": "object", keyword: value}, V31, V30)
    assert keyword not in made
    assert [(issue.severity, issue.path) for issue in issues] == [
        ("warning", f"/components/schemas/S/{keyword}")
    ]


def test_definitions_inside_schemas_become_components() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/components/schemas/S/$defs/Part"}},
        "$defs": {"Part": {"type": ["string", "null"]}},
    }
    result = converted(spec(V31, components={"schemas": {"S": schema}}), V31, V30)
    schemas = result.document["components"]["schemas"]
    assert schemas["S"] == {"properties": {"a": {"$ref": "#/components/schemas/Part"}}}
    assert schemas["Part"] == {"type": "string", "nullable": True}


def test_rules_beside_a_reference_are_dropped_going_up_because_3_0_ignores_them() -> None:
    made, issues = schema_across(
        {
            "properties": {
                "a": {"$ref": "#/components/schemas/S", "nullable": True, "description": "d"}
            }
        },
        V30,
        V31,
    )
    assert made["properties"]["a"] == {"$ref": "#/components/schemas/S", "description": "d"}
    assert [issue.severity for issue in issues] == ["info"]


def test_webhooks_are_kept_as_an_extension_in_3_0_and_restored() -> None:
    hook = {"new": {"post": {"responses": {"200": {"description": "ok"}}}}}
    down = converted(spec(V31, webhooks=hook), V31, V30)
    assert down.document["x-webhooks"] == hook
    assert [(issue.severity, issue.path) for issue in down.issues] == [("critical", "/webhooks")]
    assert converted(down.document, V30, V31).document["webhooks"] == hook


def test_objects_that_3_0_lacks_are_rewritten() -> None:
    document = spec(
        V31,
        info={
            "title": "t",
            "version": "1",
            "summary": "s",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        components={
            "pathItems": {"P": {"get": {"operationId": "g"}}},
            "securitySchemes": {
                "tls": {"type": "mutualTLS"},
                "key": {"type": "apiKey", "in": "header", "name": "k"},
            },
        },
        security=[{"tls": [], "key": []}],
        jsonSchemaDialect="https://spec.openapis.org/oas/3.1/dialect/base",
    )
    document["paths"] = {"/a": {"$ref": "#/components/pathItems/P"}}
    result = converted(document, V31, V30)
    made = result.document
    assert made["paths"]["/a"]["get"] == {
        "operationId": "g",
        "responses": {"default": {"description": ""}},
    }
    assert made["info"] == {
        "title": "t",
        "version": "1",
        "x-summary": "s",
        "license": {"name": "MIT", "url": "https://spdx.org/licenses/MIT.html"},
    }
    assert made["components"] == {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "k"}}
    }
    assert made["security"] == [{"key": []}]
    assert "jsonSchemaDialect" not in made
    assert "critical" in {issue.severity for issue in result.issues if "tls" in issue.path}


def test_objects_that_3_1_lacks_are_rewritten() -> None:
    document = spec(
        V32,
        tags=[{"name": "a", "summary": "s", "parent": "b", "kind": "nav"}],
        servers=[{"url": "/", "name": "main"}],
        components={
            "mediaTypes": {"J": {"schema": {"type": "string"}}},
            "securitySchemes": {
                "o": {
                    "type": "oauth2",
                    "flows": {
                        "deviceAuthorization": {"scopes": {}},
                        "password": {"tokenUrl": "/t", "scopes": {}},
                    },
                }
            },
        },
    )
    document["$self"] = "https://example.com/api"
    document["paths"] = {
        "/a": {
            "query": {"responses": {"200": {"summary": "fine"}}},
            "get": {
                "parameters": [
                    {
                        "name": "q",
                        "in": "querystring",
                        "content": {"application/x-www-form-urlencoded": {"schema": {}}},
                    }
                ],
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {"$ref": "#/components/mediaTypes/J"},
                            "application/jsonl": {"itemSchema": {"type": "integer"}},
                        }
                    }
                },
            },
        }
    }
    result = converted(document, V32, V31)
    made = result.document
    get = made["paths"]["/a"]["get"]
    assert get["responses"]["200"]["description"] == ""
    assert get["responses"]["200"]["content"] == {
        "application/json": {"schema": {"type": "string"}},
        "application/jsonl": {"schema": {"type": "array", "items": {"type": "integer"}}},
    }
    assert get["parameters"] == []
    assert "query" not in made["paths"]["/a"]
    assert made["tags"] == [{"name": "a", "x-summary": "s", "x-parent": "b", "x-kind": "nav"}]
    assert made["servers"] == [{"url": "/", "x-name": "main"}]
    assert list(made["components"]["securitySchemes"]["o"]["flows"]) == ["password"]
    assert sum(issue.severity == "critical" for issue in result.issues) == 3


@pytest.mark.parametrize(
    ("target", "declared"), [(V20, "2.0"), (V30, "3.0.4"), (V31, "3.1.1"), (V32, "3.2.0")]
)
def test_the_declared_version_is_a_complete_one(target: Family, declared: str) -> None:
    source = V31 if target is not V31 else V30
    made = converted(spec(source), source, target).document
    assert made.get("openapi", made.get("swagger")) == declared


def test_an_exact_target_is_declared_as_given_and_the_same_version_is_left_alone() -> None:
    document = spec(V30)
    assert convert(document, V30, V31, "3.1.2").document["openapi"] == "3.1.2"
    assert convert(document, V30, V30).document is document
    assert convert(document, V30, V30, "3.0.4").document["openapi"] == "3.0.4"


def test_anchors_ids_and_dynamic_references_become_pointers_in_3_0() -> None:
    schemas = {
        "Tree": {
            "$id": "https://x.example/tree",
            "type": "object",
            "properties": {
                "kids": {"type": "array", "items": {"$ref": "#"}},
                "leaf": {"$ref": "#/$defs/leaf"},
            },
            "$defs": {"leaf": {"type": "string"}},
        },
        "Named": {"$anchor": "here", "type": "string"},
        "ByAnchor": {"$ref": "#here"},
        "ById": {"$ref": "https://x.example/tree"},
        "Dynamic": {
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"next": {"$dynamicRef": "#node"}},
        },
    }
    made = converted(spec(V31, components={"schemas": schemas}), V31, V30)
    schemas = made.document["components"]["schemas"]
    assert schemas["Tree"]["properties"]["kids"]["items"] == {"$ref": "#/components/schemas/Tree"}
    assert resolve_pointer(made.document, schemas["Tree"]["properties"]["leaf"]["$ref"]) == {
        "type": "string"
    }
    assert schemas["ByAnchor"] == {"$ref": "#/components/schemas/Named"}
    assert schemas["ById"] == {"$ref": "#/components/schemas/Tree"}
    assert schemas["Dynamic"]["properties"]["next"] == {"$ref": "#/components/schemas/Dynamic"}
    lost = [(issue.severity, issue.path) for issue in made.issues if issue.severity != "info"]
    assert lost == [("warning", "/components/schemas/Dynamic/properties/next/$dynamicRef")]
