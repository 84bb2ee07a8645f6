"""Each rule of validation: one document that breaks it, and one as near to it as possible that
does not.
"""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.validate.examples import check_examples
from commonplace.openapi.engine.validate.report import ValidationReport, validate
from commonplace.openapi.engine.validate.rules import RULES, Severity
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


def test_every_rule_has_a_case() -> None:
    assert RULES.keys() - CASES.keys() == {"examples-unchecked"}  # it takes a clock, not a document


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires_where_it_should_and_not_beside_it(rule: str) -> None:
    broken, near = CASES[rule]
    strict = RULES[rule].strict
    fired = report_on(broken, strict=strict)
    quiet = report_on(near, strict=strict)
    assert rule in {finding.rule.id for finding in (*fired.errors, *fired.warnings)}
    assert rule not in {finding.rule.id for finding in (*quiet.errors, *quiet.warnings)}
    if RULES[rule].severity is Severity.ERROR:
        assert not fired.valid
        assert quiet.valid, [(finding.rule.id, finding.message) for finding in quiet.errors]


def test_strict_rules_stay_silent_without_strict() -> None:
    for rule, (broken, _) in CASES.items():
        if RULES[rule].strict:
            quiet = report_on(broken)
            assert rule not in {finding.rule.id for finding in (*quiet.errors, *quiet.warnings)}


def test_a_finding_can_be_ignored_by_the_caller_and_by_the_document() -> None:
    broken = paths("/a/{id}")
    assert report_on(broken, ignore=("path-parameter-missing",)).valid
    assert report_on(broken, ignore=("path-parameter-*:/paths/*",)).suppressed == 1
    assert not report_on(broken, ignore=("path-parameter-missing:/other*",)).valid
    broken["paths"]["/a/{id}"]["x-commonplace-ignore"] = ["path-parameter-missing"]
    assert report_on(broken).valid
    assert report_on(broken).suppressed == 1


def test_the_official_schema_points_at_the_narrowest_place() -> None:
    data = paths(
        responses={
            "200": {
                "description": "d",
                "content": {
                    "application/json": {
                        "schema": {"type": "object", "properties": {"a": {"typ": 1}}}
                    }
                },
            }
        }
    )
    where = [finding.pointer for finding in report_on(data).errors]
    assert where == [
        "/paths/~1a/get/responses/200/content/application~1json/schema/properties/a/typ"
    ]


def test_schema_objects_of_3_1_are_checked_against_their_dialect() -> None:
    assert not report_on(
        schema({"type": "object", "properties": {"a": {"type": "strin"}}}, "3.1.0")
    ).valid
    assert report_on(
        schema({"type": ["string", "null"], "const": None, "$defs": {"x": True}}, "3.1.0")
    ).valid


def test_a_nullable_enum_may_hold_null_and_required_need_not_be_defined() -> None:
    """The two false errors of the reference."""
    assert report_on(schema({"type": "string", "nullable": True, "enum": ["a", None]})).errors == []
    assert report_on(schema({"type": "object", "required": ["elsewhere"]})).errors == []


def test_examples_that_time_did_not_allow_to_check_are_said_to_be_unchecked() -> None:
    loaded = document(schema({"type": "string", "default": 3}))
    resolver = ReferenceResolver(loaded)
    assert [one.rule.id for one in check_examples(loaded, index_document(loaded), resolver)] == [
        "default-mismatch"
    ]
    assert [
        one.rule.id for one in check_examples(loaded, index_document(loaded), resolver, seconds=-1)
    ] == ["examples-unchecked"]


@pytest.mark.parametrize("version", ["2.0", "3.0.3", "3.1.0", "3.2.0"])
def test_a_path_parameter_with_another_name_is_an_error_in_a_whole_document(version: str) -> None:
    parameter_ = {"name": "petId", "in": "path", "required": True}
    parameter_ |= {"type": "string"} if version == "2.0" else {"schema": {"type": "string"}}
    whole = minimal(version, paths={"/pets/{id}": {"get": operation(parameters=[parameter_])}})
    assert [finding.rule.id for finding in report_on(whole).errors] == ["path-parameter-renamed"]


def test_a_part_of_a_larger_description_may_lack_schemes() -> None:
    """As the official pass document `operation-object-example` does."""
    part = minimal(
        "3.1.0",
        paths={
            "/pets/{id}": {
                "get": operation(parameters=[parameter("petId", "path")], security=[{"auth": []}])
            }
        },
    )
    assert {finding.rule.id for finding in report_on(part).warnings} == {
        "path-parameter-renamed",
        "security-undefined",
    }
    assert report_on(part).valid
    assert not report_on({**part, "openapi": "3.0.3"}).valid


def errors_of(data: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding.rule.id, finding.pointer) for finding in report_on(data).errors]


def test_array_parameters_of_2_0_need_items_at_every_level() -> None:
    flat = swagger({"name": "q", "in": "query", "type": "array"})
    deep = swagger({"name": "q", "in": "query", "type": "array", "items": {"type": "array"}})
    assert errors_of(flat) == [("array-items", "/paths/~1a/post/parameters/0")]
    assert errors_of(deep) == [("array-items", "/paths/~1a/post/parameters/0/items")]
    assert errors_of(minimal("2.0", definitions={"S": {"type": "array"}})) == []


def test_a_file_of_2_0_needs_a_form() -> None:
    assert errors_of(
        swagger({"name": "f", "in": "formData", "type": "file"}, consumes=["application/json"])
    ) == [("file-parameter", "/paths/~1a/post/parameters/0")]


def test_one_mistake_is_one_finding() -> None:
    assert errors_of(minimal(tags=[{"name": "a"}, {"name": "a"}])) == [("tag-duplicate", "/tags/1")]
    assert errors_of(component("schemas", {"type": "string"}, "3.1.0", name="a b")) == [
        ("component-name", "/components/schemas/a b")
    ]
    assert errors_of(schema({"type": ["string", "null"]})) == [
        ("version-gate", "/components/schemas/S/type")
    ]
    assert errors_of(schema({"const": 1})) == [("version-gate", "/components/schemas/S/const")]
    tls = component("securitySchemes", {"type": "mutualTLS"}, name="m")
    assert errors_of(tls) == [("wrong-value", "/components/securitySchemes/m/type")]
    path = {"name": "b", "in": "path", "type": "string"}
    found = errors_of(minimal("2.0", paths={"/{b}": {"get": operation(parameters=[path])}}))
    assert found == [("path-parameter-optional", "/paths/~1{b}/get/parameters/0")]


def test_a_component_that_an_encoded_reference_names_is_used() -> None:
    source = minimal(
        "2.0",
        paths={
            "/a": {
                "get": operation(
                    responses={
                        "200": {
                            "description": "fine",
                            "schema": {"$ref": "#/definitions/Page%5BUser%5D"},
                        }
                    }
                )
            }
        },
        definitions={"Page[User]": {"type": "string"}},
    )
    report = report_on(source, strict=True)
    assert "unused-component" not in {
        finding.rule.id for finding in (*report.errors, *report.warnings)
    }


USER = {
    "type": "object",
    "required": ["id", "name", "secret"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "secret": {"type": "string", "writeOnly": True},
    },
}
REF = {"$ref": "#/components/schemas/User"}
SPLIT = {
    "allOf": [{"type": "object", "properties": USER["properties"]}, {"required": USER["required"]}]
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize("shape", [USER, REF, SPLIT, {"allOf": [REF]}])
@pytest.mark.parametrize(
    ("place", "example", "fits"),
    [
        ("request", {"name": "a", "secret": "s"}, True),
        ("request", {"id": 1, "name": "a", "secret": "s"}, True),
        ("request", {"name": "a"}, False),
        ("request", {"secret": "s"}, False),
        ("response", {"id": 1, "name": "a"}, True),
        ("response", {"name": "a", "secret": "s"}, False),
        ("schema", {"name": "a", "secret": "s"}, True),
        ("schema", {"id": 1, "name": "a"}, True),
        ("schema", {"id": 1}, False),
    ],
)
def test_examples_need_only_what_their_direction_has(
    version: str, shape: Any, place: str, example: Any, fits: bool
) -> None:
    media = {"application/json": {"schema": shape, "example": example}}
    source = minimal(
        version, paths={"/a": {"post": operation()}}, components={"schemas": {"User": USER}}
    )
    if place == "request":
        source["paths"]["/a"]["post"]["requestBody"] = {"content": media}
    elif place == "response":
        source["paths"]["/a"]["post"]["responses"] = {"200": {"description": "d", "content": media}}
    else:
        source["components"]["schemas"]["Shown"] = {"example": example, "allOf": [shape]}
    assert (
        "example-mismatch" not in {finding.rule.id for finding in report_on(source).warnings}
    ) == fits


def test_a_choice_that_required_decides_is_judged_as_it_is_written() -> None:
    either = {**USER, "required": [], "oneOf": [{"required": ["id"]}, {"required": ["name"]}]}
    media = {"application/json": {"schema": either, "example": {"name": "a"}}}
    source = minimal(paths={"/a": {"post": operation(requestBody={"content": media})}})
    assert "example-mismatch" not in {finding.rule.id for finding in report_on(source).warnings}
