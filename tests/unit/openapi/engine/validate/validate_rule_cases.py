"""Documents for the rules of validation: one that breaks each rule, and a near miss."""

from __future__ import annotations

from typing import Any

from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.validate.report import ValidationReport, validate
from oas_calls import document, minimal, operation


def report_on(data: Any, *, strict: bool = False, ignore: tuple[str, ...] = ()) -> ValidationReport:
    loaded = document(data)
    return validate(loaded, ReferenceResolver(loaded), strict=strict, ignore=ignore)


def paths(
    path: str = "/a", item: dict[str, Any] | None = None, version: str = "3.0.3", **op: Any
) -> dict[str, Any]:
    return minimal(version, paths={path: {"get": operation(**op), **(item or {})}})


def parameter(name: str = "p", where: str = "query", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": where,
        "schema": {"type": "string"},
        **({"required": True} if where == "path" else {}),
        **more,
    }


def schema(value: Any, version: str = "3.0.3") -> dict[str, Any]:
    used = {
        "200": {
            "description": "d",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}},
        }
    }
    return {**paths(version=version, responses=used), "components": {"schemas": {"S": value}}}


def component(kind: str, value: Any, version: str = "3.0.3", name: str = "X") -> dict[str, Any]:
    return minimal(version, components={kind: {name: value}})


def swagger(*parameters: Any, **more: Any) -> dict[str, Any]:
    return minimal("2.0", paths={"/a": {"post": operation(parameters=list(parameters), **more)}})


REF_SCHEMA = {
    "200": {
        "description": "d",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}},
    }
}


BODY = {"name": "b", "in": "body", "schema": {"type": "object"}}


OAUTH = {
    "type": "oauth2",
    "flows": {"implicit": {"authorizationUrl": "https://a.example", "scopes": {"read": ""}}},
}


NAMED = {"schema": {"type": "string"}}


CASES: dict[str, tuple[Any, Any]] = {
    "missing-field": ({"openapi": "3.0.0", "info": {"title": "x"}, "paths": {}}, minimal()),
    "unknown-field": (paths(responces={}), paths(**{"x-responces": {}})),
    "version-gate": (minimal(webhooks={}), minimal("3.1.0", webhooks={})),
    "wrong-type": (paths(tags="pets"), paths(tags=["pets"])),
    "wrong-value": (
        component("securitySchemes", {"type": "magic"}),
        component("securitySchemes", {"type": "http", "scheme": "basic"}),
    ),
    "wrong-structure": (
        component("links", {"operationId": "a", "operationRef": "b"}),
        component("links", {"operationRef": "b"}),
    ),
    "empty-document": (
        {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}},
        minimal("3.1.0"),
    ),
    "duplicate-key": (
        "openapi: 3.0.0\ninfo: {title: a, version: '1'}\npaths: {}\npaths: {}\n",
        "openapi: 3.0.0\ninfo: {title: a, version: '1'}\npaths: {}\n",
    ),
    "unknown-dialect": (
        minimal("3.1.0", jsonSchemaDialect="https://d.example/x"),
        minimal("3.1.0"),
    ),
    "email": (
        {**minimal(), "info": {"title": "t", "version": "1", "contact": {"email": "nobody"}}},
        {
            **minimal(),
            "info": {"title": "t", "version": "1", "contact": {"email": "some.body+x@example.com"}},
        },
    ),
    "url": (
        {
            **minimal(),
            "info": {
                "title": "t",
                "version": "1",
                "license": {"name": "n", "url": "see the web site"},
            },
        },
        {
            **minimal(),
            "info": {
                "title": "t",
                "version": "1",
                "license": {"name": "n", "url": "licenses/mine?x=1#y"},
            },
        },
    ),
    "ref-unresolved": (
        paths(responses=REF_SCHEMA),
        {**paths(responses=REF_SCHEMA), "components": {"schemas": {"S": {"type": "string"}}}},
    ),
    "ref-kind": (
        {
            **paths(parameters=[{"$ref": "#/components/schemas/S"}]),
            "components": {"schemas": {"S": {"type": "string"}}},
        },
        {
            **paths(parameters=[{"$ref": "#/components/parameters/P"}]),
            "components": {"parameters": {"P": parameter()}},
        },
    ),
    "ref-circular": (
        schema({"$ref": "#/components/schemas/S"}),
        schema({"type": "object", "properties": {"child": {"$ref": "#/components/schemas/S"}}}),
    ),
    "ref-external": (
        schema({"$ref": "other.yaml#/S"}),
        schema({"type": "string"}),
    ),
    "ref-siblings": (
        schema({"properties": {"a": {"$ref": "#/components/schemas/S", "description": "d"}}}),
        schema(
            {"properties": {"a": {"$ref": "#/components/schemas/S", "description": "d"}}}, "3.1.0"
        ),
    ),
    "path-slash": (paths("a"), paths("/a")),
    "path-template": (paths("/a/{b"), paths("/a/{b}", parameters=[parameter("b", "path")])),
    "path-repeats-parameter": (
        paths("/{a}/{a}", parameters=[parameter("a", "path")]),
        paths("/{a}/{b}", parameters=[parameter("a", "path"), parameter("b", "path")]),
    ),
    "path-ambiguous": (
        minimal(
            paths={
                "/{a}": {"get": operation(parameters=[parameter("a", "path")])},
                "/{b}": {"get": operation(parameters=[parameter("b", "path")])},
            }
        ),
        minimal(
            paths={
                "/{a}": {"get": operation(parameters=[parameter("a", "path")])},
                "/{b}/c": {"get": operation(parameters=[parameter("b", "path")])},
            }
        ),
    ),
    "path-query": (paths("/a?b=1"), paths("/a")),
    "path-trailing-slash": (paths("/a/"), paths("/")),
    "path-parameter-missing": (
        paths("/a/{id}"),
        paths("/a/{id}", {"parameters": [parameter("id", "path")]}),
    ),
    "path-parameter-renamed": (
        paths("/a/{id}", parameters=[parameter("other", "path")]),
        paths("/a/{id}", parameters=[parameter("id", "path")]),
    ),
    "path-parameter-unused": (
        paths("/a", parameters=[parameter("id", "path")]),
        paths("/a", parameters=[parameter("id", "query")]),
    ),
    "path-parameter-optional": (
        paths("/a/{id}", parameters=[{"name": "id", "in": "path", "schema": {}}]),
        paths("/a/{id}", parameters=[parameter("id", "path")]),
    ),
    "operation-id-duplicate": (
        minimal(
            paths={"/a": {"get": operation(operationId="x"), "put": operation(operationId="x")}}
        ),
        minimal(
            paths={"/a": {"get": operation(operationId="x"), "put": operation(operationId="X")}}
        ),
    ),
    "parameter-duplicate": (
        paths(parameters=[parameter(), parameter()]),
        paths(parameters=[parameter(), parameter(where="cookie")]),
    ),
    "parameter-schema-content": (
        paths(parameters=[parameter(content={"text/plain": {}})]),
        paths(parameters=[{"name": "p", "in": "query", "content": {"text/plain": {}}}]),
    ),
    "parameter-header-name": (
        paths(parameters=[parameter("a b", "header")]),
        paths(parameters=[parameter("a-b", "header")]),
    ),
    "parameter-header-ignored": (
        paths(parameters=[parameter("Accept", "header")]),
        paths(parameters=[parameter("X-Accept", "header")]),
    ),
    "parameter-querystring": (
        paths(
            version="3.2.0",
            parameters=[
                {"name": "q", "in": "querystring", "content": {"text/plain": {}}},
                parameter(),
            ],
        ),
        paths(
            version="3.2.0",
            parameters=[{"name": "q", "in": "querystring", "content": {"text/plain": {}}}],
        ),
    ),
    "body-parameters": (swagger(BODY, {**BODY, "name": "c"}), swagger(BODY)),
    "file-parameter": (
        swagger({"name": "f", "in": "query", "type": "file"}),
        swagger({"name": "f", "in": "formData", "type": "file"}, consumes=["multipart/form-data"]),
    ),
    "response-success": (
        paths(responses={"404": {"description": "d"}}),
        paths(responses={"default": {"description": "d"}}),
    ),
    "operation-undescribed": (paths(summary=""), paths(summary="it")),
    "operation-id-missing": (paths(), paths(operationId="x")),
    "status-code": (
        paths(
            responses={
                "200": {"description": "d"},
                "599": {"description": "d"},
                "600": {"description": "d"},
            },
            version="2.0",
        ),
        paths(),
    ),
    "media-type": (
        paths(responses={"200": {"description": "d", "content": {"json": {}}}}),
        paths(
            responses={
                "200": {"description": "d", "content": {"application/json; charset=utf-8": {}}}
            }
        ),
    ),
    "example-conflict": (
        paths(parameters=[parameter(example="a", examples={})]),
        paths(parameters=[parameter(example="a")]),
    ),
    "example-value-conflict": (
        component("examples", {"value": 1, "externalValue": "https://e.example/1"}),
        component("examples", {"value": 1}),
    ),
    "link-operation": (
        component("links", {"operationId": "no"}),
        {**paths(operationId="yes"), "components": {"links": {"L": {"operationId": "yes"}}}},
    ),
    "security-undefined": (
        paths(security=[{"key": []}]),
        {
            **paths(security=[{"key": []}]),
            "components": {"securitySchemes": {"key": {"type": "http", "scheme": "basic"}}},
        },
    ),
    "security-scope": (
        {**paths(security=[{"o": ["write"]}]), "components": {"securitySchemes": {"o": OAUTH}}},
        {**paths(security=[{"o": ["read"]}]), "components": {"securitySchemes": {"o": OAUTH}}},
    ),
    "server-variable": (
        minimal(servers=[{"url": "https://{host}"}]),
        minimal(servers=[{"url": "https://{host}", "variables": {"host": {"default": "h"}}}]),
    ),
    "server-variable-default": (
        minimal(
            "3.1.0",
            servers=[{"url": "https://{h}", "variables": {"h": {"default": "x", "enum": ["y"]}}}],
        ),
        minimal(
            "3.1.0",
            servers=[{"url": "https://{h}", "variables": {"h": {"default": "y", "enum": ["y"]}}}],
        ),
    ),
    "tag-duplicate": (
        minimal(tags=[{"name": "a"}, {"name": "a"}]),
        minimal(tags=[{"name": "a"}, {"name": "A"}]),
    ),
    "tag-undeclared": (paths(tags=["a"]), {**paths(tags=["a"]), "tags": [{"name": "a"}]}),
    "tag-parent": (
        minimal("3.2.0", tags=[{"name": "a", "parent": "b"}]),
        minimal("3.2.0", tags=[{"name": "a", "parent": "b"}, {"name": "b"}]),
    ),
    "array-items": (schema({"type": "array"}), schema({"type": "array", "items": {}})),
    "discriminator-property": (
        minimal(
            "2.0",
            definitions={
                "S": {
                    "type": "object",
                    "discriminator": "kind",
                    "properties": {"kind": {"type": "string"}},
                }
            },
        ),
        minimal(
            "2.0",
            definitions={
                "S": {
                    "type": "object",
                    "discriminator": "k",
                    "required": ["k"],
                    "properties": {"k": {"type": "string"}},
                }
            },
        ),
    ),
    "discriminator-mapping": (
        schema(
            {"type": "object", "discriminator": {"propertyName": "k", "mapping": {"a": "Gone"}}}
        ),
        schema(
            {
                "type": "object",
                "discriminator": {
                    "propertyName": "k",
                    "mapping": {"a": "S", "b": "#/components/schemas/S"},
                },
            }
        ),
    ),
    "xml-conflict": (
        schema({"type": "string", "xml": {"nodeType": "attribute", "attribute": True}}, "3.2.0"),
        schema({"type": "string", "xml": {"nodeType": "attribute"}}, "3.2.0"),
    ),
    "bounds": (
        schema({"type": "integer", "minimum": 2, "maximum": 1}),
        schema({"type": "integer", "minimum": 1, "maximum": 1}),
    ),
    "enum-type": (
        schema({"type": "string", "enum": [1]}),
        schema({"type": "string", "nullable": True, "enum": ["1", None]}),
    ),
    "enum-duplicate": (schema({"enum": ["a", "a"]}, "3.1.0"), schema({"enum": ["1", 1]}, "3.1.0")),
    "pattern": (
        schema({"type": "string", "pattern": "("}),
        schema({"type": "string", "pattern": "^\\p{L}+$"}),
    ),
    "default-mismatch": (
        schema({"type": "integer", "default": "1"}),
        schema({"type": "integer", "default": 1}),
    ),
    "example-mismatch": (
        schema({"type": "object", "required": ["a"], "example": {}}),
        schema({"type": "object", "required": ["a"], "example": {"a": 1}}),
    ),
    "required-undefined": (
        schema({"type": "object", "required": ["a"]}),
        schema({"type": "object", "required": ["a"], "properties": {"a": {}}}),
    ),
    "component-name": (
        component("schemas", {"type": "string"}, name="a b"),
        component("schemas", {"type": "string"}, name="a.b-c_1"),
    ),
    "unused-component": (component("schemas", {"type": "string"}), schema({"type": "string"})),
}
