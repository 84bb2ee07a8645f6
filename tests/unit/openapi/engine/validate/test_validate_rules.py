"""The rules of validation: each fires for its case and not for the near miss."""

from __future__ import annotations

from typing import Any

import pytest
from validate_rule_cases import CASES, component, parameter, paths, report_on, schema, swagger

from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.validate.examples import check_examples
from commonplace.openapi.engine.validate.rules import RULES, Severity
from oas_calls import document, minimal, operation


def test_every_rule_has_a_case() -> None:
    assert RULES.keys() - CASES.keys() == {
        "examples-unchecked"
    }  # depends on time, not on a document


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires_for_its_case_and_not_for_the_near_miss(rule: str) -> None:
    broken, near = CASES[rule]
    strict = RULES[rule].strict
    fired = report_on(broken, strict=strict)
    quiet = report_on(near, strict=strict)
    assert rule in {finding.rule.id for finding in (*fired.errors, *fired.warnings)}
    assert rule not in {finding.rule.id for finding in (*quiet.errors, *quiet.warnings)}
    if RULES[rule].severity is Severity.ERROR:
        assert not fired.valid
        assert quiet.valid, [(finding.rule.id, finding.message) for finding in quiet.errors]


def test_strict_rules_run_only_in_strict_mode() -> None:
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


def test_structural_findings_have_the_most_specific_place() -> None:
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
    """The reference implementation reports two false errors here."""
    assert report_on(schema({"type": "string", "nullable": True, "enum": ["a", None]})).errors == []
    assert report_on(schema({"type": "object", "required": ["elsewhere"]})).errors == []


def test_examples_left_when_time_is_up_are_reported_as_unchecked() -> None:
    loaded = document(schema({"type": "string", "default": 3}))
    resolver = ReferenceResolver(loaded)
    assert [item.rule.id for item in check_examples(loaded, index_document(loaded), resolver)] == [
        "default-mismatch"
    ]
    assert [
        item.rule.id
        for item in check_examples(loaded, index_document(loaded), resolver, seconds=-1)
    ] == ["examples-unchecked"]


@pytest.mark.parametrize("version", ["2.0", "3.0.3", "3.1.0", "3.2.0"])
def test_a_renamed_path_parameter_is_an_error_in_a_complete_document(version: str) -> None:
    parameter_ = {"name": "petId", "in": "path", "required": True}
    parameter_ |= {"type": "string"} if version == "2.0" else {"schema": {"type": "string"}}
    whole = minimal(version, paths={"/pets/{id}": {"get": operation(parameters=[parameter_])}})
    assert [finding.rule.id for finding in report_on(whole).errors] == ["path-parameter-renamed"]


@pytest.mark.parametrize("methods", [("get", "post"), ("post", "get")])
def test_findings_of_shared_path_parameters_do_not_depend_on_the_order_of_operations(
    methods: tuple[str, str],
) -> None:
    """`get` lacks {id}, and the finding about it names the shared parameter."""
    operations = {"get": operation(), "post": operation(parameters=[parameter("id", "path")])}
    item = {"parameters": [parameter("petId", "path")]}
    item |= {method: operations[method] for method in methods}
    errors = report_on(minimal(paths={"/pets/{id}": item})).errors
    assert [finding.rule.id for finding in errors] == ["path-parameter-renamed"]


def test_a_part_of_a_larger_description_may_lack_schemes() -> None:
    """The official pass document `operation-object-example` is such a part."""
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


def test_one_mistake_gives_one_finding() -> None:
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


def test_a_component_named_by_an_encoded_reference_is_used() -> None:
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
def test_examples_need_only_the_properties_of_their_direction(
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


def test_a_oneof_decided_by_required_is_validated_as_written() -> None:
    either = {**USER, "required": [], "oneOf": [{"required": ["id"]}, {"required": ["name"]}]}
    media = {"application/json": {"schema": either, "example": {"name": "a"}}}
    source = minimal(paths={"/a": {"post": operation(requestBody={"content": media})}})
    assert "example-mismatch" not in {finding.rule.id for finding in report_on(source).warnings}
