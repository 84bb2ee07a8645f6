"""Conversion keeps what a schema, a form or an example means: nothing is merged away, and what
was set aside comes back.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from convert_cases import V20, V30, V31, converted, schema_across, spec

from commonplace.openapi.engine.convert.issues import ConversionIssue


def form_across(
    schema: dict[str, Any], *, required: bool = False, **components: Any
) -> tuple[dict[str, Any], tuple[ConversionIssue, ...]]:
    body = {"content": {"multipart/form-data": {"schema": schema}}, "required": required}
    paths = {"/a": {"post": {"requestBody": body, "responses": {"200": {"description": "d"}}}}}
    result = converted(spec(V30, paths=paths, components={"schemas": components}), V30, V20)
    return {
        parameter["name"]: parameter
        for parameter in result.document["paths"]["/a"]["post"]["parameters"]
    }, result.issues


def test_a_form_has_the_fields_of_every_part_of_its_schema() -> None:
    base = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
        "required": ["id"],
    }
    more = {
        "type": "object",
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "n": {"type": "integer", "minimum": 3, "exclusiveMinimum": True},
        },
        "required": ["file", "id"],
    }
    fields, issues = form_across(
        {"allOf": [{"$ref": "#/components/schemas/Base"}, more, {"required": ["n"]}]},
        required=True,
        Base=base,
    )
    assert fields == {
        "id": {"name": "id", "in": "formData", "required": True, "type": "string"},
        "n": {
            "name": "n",
            "in": "formData",
            "required": True,
            "type": "integer",
            "minimum": 3,
            "exclusiveMinimum": True,
        },
        "file": {"name": "file", "in": "formData", "required": True, "type": "file"},
    }
    assert issues == ()


def test_parts_of_a_form_that_disagree_are_reported() -> None:
    parts = [
        {"properties": {"a": {"type": kind, "enum": ["x", "y"][:size]}}}
        for kind, size in (("string", 2), ("boolean", 1))
    ]
    fields, issues = form_across({"type": "object", "allOf": parts})
    assert (fields["a"]["type"], fields["a"]["enum"]) == ("string", ["x"])
    where = "/paths/~1a/post/requestBody/content/multipart~1form-data/schema/properties/a"
    assert [(issue.severity, issue.path) for issue in issues] == [("warning", where)]
    assert "`type`" in issues[0].message


@pytest.mark.parametrize(
    ("produces", "schema", "content", "told"),
    [
        (
            ["application/json"],
            True,
            {"application/json": {"a": 1}},
            ["application~1xml", "text~1plain"],
        ),
        (
            ["text/plain; charset=utf-8", "application/json"],
            True,
            {"text/plain; charset=utf-8": "a", "application/json": {"a": 1}},
            ["application~1xml"],
        ),
        (
            None,
            True,
            {"application/json": {"a": 1}, "application/xml": "<a/>", "text/plain": "a"},
            [],
        ),
        (
            ["application/json"],
            False,
            {"application/json": {"a": 1}},
            ["application~1xml", "text~1plain"],
        ),
        (
            None,
            False,
            {"application/json": {"a": 1}, "application/xml": "<a/>", "text/plain": "a"},
            [],
        ),
    ],
)
def test_each_example_of_a_2_0_response_stays_with_its_media_type(
    produces: list[str] | None, schema: bool, content: dict[str, Any], told: list[str]
) -> None:
    examples = {"application/xml": "<a/>", "application/json": {"a": 1}, "text/plain": "a"}
    response = {
        "description": "d",
        "examples": examples,
        **({"schema": {"type": "object"}} if schema else {}),
    }
    operation = {"responses": {"200": response}, **({"produces": produces} if produces else {})}
    result = converted(spec(V20, paths={"/a": {"get": operation}}), V20, V30)
    made = result.document["paths"]["/a"]["get"]["responses"]["200"]
    assert {kind: media["example"] for kind, media in made["content"].items()} == content
    assert all(("schema" in media) is schema for media in made["content"].values())
    start = "/paths/~1a/get/responses/200/examples/"
    assert [(issue.severity, issue.path) for issue in result.issues] == [
        ("warning", start + kind) for kind in told
    ]
    assert len(made.get("x-examples", {})) == len(told)


@pytest.mark.parametrize(
    ("schema", "admitted", "refused"),
    [
        (
            {
                "nullable": True,
                "oneOf": [{"type": "string", "nullable": True}, {"type": "integer"}],
            },
            [None, "a", 1],
            [True, 1.5],
        ),
        (
            {"nullable": True, "oneOf": [{"$ref": "#/components/schemas/N"}, {"type": "integer"}]},
            [None, "a", 1],
            [True],
        ),
        ({"nullable": True, "oneOf": [{"minimum": 1}, {"type": "string"}]}, [None, 1, True], ["a"]),
        (
            {"nullable": True, "oneOf": [{"type": "integer"}, {"type": "number"}]},
            [None, 1.5],
            [1, "a"],
        ),
        (
            {"nullable": True, "oneOf": [{"type": "integer"}], "allOf": [{"type": "number"}]},
            [None, 1],
            ["a", 1.5],
        ),
        (
            {"nullable": True, "anyOf": [{"type": "string"}], "not": {"enum": ["b", None]}},
            [None, "a"],
            ["b"],
        ),
        (
            {
                "nullable": True,
                "anyOf": [{"type": "string", "nullable": True}, {"type": "integer"}],
            },
            [None, "a", 1],
            [True],
        ),
    ],
)
def test_a_nullable_choice_allows_null_and_its_branches(
    schema: dict[str, Any], admitted: list[Any], refused: list[Any]
) -> None:
    components = {"schemas": {"S": schema, "N": {"type": "string", "nullable": True}}}
    made = converted(spec(V30, components=components), V30, V31).document
    validator = jsonschema_rs.Draft202012Validator(
        {"$ref": "#/components/schemas/S", "components": made["components"]}
    )
    assert [validator.is_valid(value) for value in admitted] == [True] * len(admitted)
    assert [validator.is_valid(value) for value in refused] == [False] * len(refused)


def test_a_discriminator_stays_beside_its_choice_when_null_is_added() -> None:
    said = {"propertyName": "kind"}
    schema = {
        "nullable": True,
        "description": "d",
        "oneOf": [{"$ref": "#/components/schemas/S"}],
        "discriminator": said,
    }
    made, _ = schema_across(schema, V30, V31)
    choice = {"oneOf": [{"$ref": "#/components/schemas/S"}], "discriminator": said}
    assert made == {"description": "d", "anyOf": [choice, {"type": "null"}]}


def test_extensions_kept_by_2_0_are_restored() -> None:
    ref = "#/components/schemas/"
    kind = {"type": "string"}
    schemas = {
        "Cat": {
            "type": "object",
            "properties": {
                "kind": kind,
                "old": {"type": "string", "deprecated": True, "nullable": True},
            },
        },
        "Dog": {
            "type": "object",
            "properties": {"kind": kind, "secret": {"type": "string", "writeOnly": True}},
        },
        "Pet": {
            "oneOf": [{"$ref": f"{ref}Cat"}, {"$ref": f"{ref}Dog"}],
            "discriminator": {
                "propertyName": "kind",
                "mapping": {"cat": f"{ref}Cat", "dog": "Dog"},
            },
        },
        "Base": {
            "type": "object",
            "properties": {"kind": kind},
            "required": ["kind"],
            "discriminator": {"propertyName": "kind", "mapping": {"c": f"{ref}Cat"}},
        },
        "Any": {
            "anyOf": [{"oneOf": [{"$ref": f"{ref}Pet"}]}, {"type": "string", "nullable": True}],
            "not": {"$ref": f"{ref}Dog"},
        },
    }
    document = spec(V30, components={"schemas": schemas})
    header = {"required": True, "deprecated": True, "schema": {"type": "integer"}}
    parameter = {"name": "q", "in": "query", "deprecated": True, "schema": {"type": "string"}}
    document["paths"] = {
        "/a": {
            "get": {
                "parameters": [parameter],
                "responses": {"200": {"description": "d", "headers": {"X-A": header}}},
            }
        }
    }
    down = converted(document, V30, V20).document
    assert down["definitions"]["Pet"] == {
        "x-oneOf": [{"$ref": "#/definitions/Cat"}, {"$ref": "#/definitions/Dog"}],
        "x-discriminator": {
            "propertyName": "kind",
            "mapping": {"cat": "#/definitions/Cat", "dog": "Dog"},
        },
    }
    assert down["definitions"]["Base"]["x-discriminator-mapping"] == {"c": "#/definitions/Cat"}
    up = converted(down, V20, V30).document
    assert up["components"] == document["components"]
    assert up["paths"] == document["paths"]


def test_extensions_of_another_shape_stay_extensions() -> None:
    schema = {
        "type": "object",
        "x-oneOf": "a",
        "x-not": [],
        "x-discriminator": {"a": 1},
        "x-writeOnly": "no",
        "x-deprecated": {"since": 1},
    }
    assert schema_across(schema, V20, V30) == (schema, ())
