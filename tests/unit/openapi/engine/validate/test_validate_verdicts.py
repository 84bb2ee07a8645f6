"""Findings that depend on the version of the specification."""

from __future__ import annotations

import time
from typing import Any

import pytest

from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.validate.report import validate
from oas_calls import document, minimal, operation


def verdicts(data: Any) -> list[tuple[str, str, str]]:
    loaded = document(data)
    report = validate(loaded, ReferenceResolver(loaded))
    return [
        (finding.rule.id, finding.severity.value, finding.pointer)
        for finding in (*report.errors, *report.warnings)
    ]


def parameter(name: str, version: str = "3.0.3") -> dict[str, Any]:
    kind: dict[str, Any] = (
        {"type": "string"} if version == "2.0" else {"schema": {"type": "string"}}
    )
    return {"name": name, "in": "path", "required": True, **kind}


@pytest.mark.parametrize(
    ("version", "severity"),
    [("2.0", "warning"), ("3.0.3", "warning"), ("3.1.1", "warning"), ("3.2.0", "error")],
)
def test_a_path_may_repeat_a_parameter_before_3_2(version: str, severity: str) -> None:
    data = minimal(
        version, paths={"/{a}/of/{a}": {"get": operation(parameters=[parameter("a", version)])}}
    )

    assert verdicts(data) == [("path-repeats-parameter", severity, "/paths/~1{a}~1of~1{a}")]


def test_an_empty_url_is_a_relative_reference() -> None:
    info = {
        "title": "t",
        "version": "1",
        "termsOfService": "",
        "license": {"name": "n", "url": "no url"},
    }

    assert verdicts(minimal(info=info)) == [
        ("url", "error", "/info/license/url"),
        ("url", "warning", "/info/termsOfService"),
    ]


def test_paths_of_the_same_shape_are_ambiguous() -> None:
    items = {
        f"/{{{name}}}": {method: operation(parameters=[parameter(name)])}
        for name, method in (("a", "get"), ("b", "post"), ("c", "post"))
    }

    assert verdicts(minimal(paths=items)) == [
        ("path-ambiguous", "error", "/paths/~1{c}"),
        ("path-ambiguous", "warning", "/paths/~1{b}"),
    ]


LOST = {"url": "https://{host}"}
WRONG = {"url": "https://{h}", "variables": {"h": {"default": "x", "enum": ["y"]}}}


def test_the_servers_of_paths_operations_and_links_are_checked() -> None:
    answer = {"200": {"description": "d", "links": {"l": {"operationId": "o", "server": WRONG}}}}
    used = operation(operationId="o", servers=[LOST, WRONG], responses=answer)

    assert verdicts(minimal("3.1.0", paths={"/a": {"get": used, "servers": [WRONG]}})) == [
        ("server-variable-default", "error", "/paths/~1a/servers/0/variables/h"),
        ("server-variable-default", "error", "/paths/~1a/get/servers/1/variables/h"),
        (
            "server-variable-default",
            "error",
            "/paths/~1a/get/responses/200/links/l/server/variables/h",
        ),
        ("server-variable", "warning", "/paths/~1a/get/servers/0"),
    ]


def test_servers_of_a_path_item_that_several_paths_use_are_checked_once() -> None:
    data = minimal(
        "3.1.0", paths={path: {"$ref": "#/components/pathItems/P"} for path in ("/a", "/b")}
    )
    data["components"] = {"pathItems": {"P": {"get": operation(), "servers": [WRONG]}}}

    assert verdicts(data) == [
        ("server-variable-default", "error", "/components/pathItems/P/servers/0/variables/h")
    ]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.1.0", []), ("3.2.0", [("server-variable", "error", "/servers/0")])],
)
def test_a_server_may_repeat_a_variable_before_3_2(version: str, expected: Any) -> None:
    server = {"url": "https://{h}.example/{h}", "variables": {"h": {"default": "x"}}}

    assert verdicts(minimal(version, servers=[server])) == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ({}, [("missing-field", "error", "/components/links/l")]),
        (
            {"operationRef": "#/paths/~1b/get"},
            [("link-operation", "warning", "/components/links/l")],
        ),
        ({"operationRef": "#/paths/~1a/get"}, []),
        ({"operationRef": "https://b.example/api.json#/paths/~1a/get"}, []),
    ],
)
def test_a_link_must_lead_to_an_operation(link: Any, expected: Any) -> None:
    assert (
        verdicts(minimal(paths={"/a": {"get": operation()}}, components={"links": {"l": link}}))
        == expected
    )


@pytest.mark.parametrize(
    ("version", "reported"), [("2.0", True), ("3.0.3", True), ("3.1.0", False), ("3.2.0", False)]
)
def test_api_keys_take_no_scopes_before_3_1(version: str, reported: bool) -> None:
    schemes = {"k": {"type": "apiKey", "in": "header", "name": "k"}}
    where = (
        {"securityDefinitions": schemes}
        if version == "2.0"
        else {"components": {"securitySchemes": schemes}}
    )
    found = verdicts(
        minimal(version, paths={"/a": {"get": operation(security=[{"k": ["admin"]}])}}, **where)
    )

    assert found == (
        [("security-scope", "warning", "/paths/~1a/get/security/0/k")] if reported else []
    )


@pytest.mark.parametrize("version", ["2.0", "3.0.3", "3.1.0", "3.2.0"])
@pytest.mark.parametrize("responses", [{}, {"x-none": True}])
def test_an_operation_without_responses_gives_one_finding(version: str, responses: Any) -> None:
    found = verdicts(minimal(version, paths={"/a": {"get": operation(responses=responses)}}))

    assert found == [("missing-field", "error", "/paths/~1a/get/responses")]


def test_a_type_that_is_not_a_string_is_reported_without_failing() -> None:
    schemes = {"k": {"type": ["apiKey"]}}
    data = minimal(
        paths={"/a": {"get": operation(security=[{"k": ["admin"]}])}},
        components={"securitySchemes": schemes},
    )

    assert [verdict[1] for verdict in verdicts(data)] == ["error"]


def test_the_time_for_examples_is_linear_in_their_number() -> None:
    def seconds(count: int) -> float:
        refs = [{"$ref": f"#/components/schemas/S{n}"} for n in range(count)]
        fields = [{"id": {"type": "integer"}, "next": refs[(n + 1) % count]} for n in range(count)]
        schemas = {f"S{n}": {"type": "object", "properties": fields[n]} for n in range(count)}
        media = [{"application/json": {"schema": ref, "example": {"id": "1"}}} for ref in refs]
        items = {
            f"/{n}": {"get": operation(responses={"200": {"description": "d", "content": one}})}
            for n, one in enumerate(media)
        }
        data = minimal("3.1.0", paths=items, components={"schemas": schemas})
        started = time.thread_time()
        assert [rule for rule, _, _ in verdicts(data)] == ["example-mismatch"] * count
        return time.thread_time() - started

    seconds(10)
    assert seconds(800) < 20 * seconds(100)
