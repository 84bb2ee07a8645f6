"""The walk tools: fields, filters, groups and pages."""

from __future__ import annotations

from typing import Any

import pytest
from read_contract_calls import SPEC, STRING, ask

from commonplace.dispatch.schema import input_schema
from commonplace.openapi.toolset import CONTRACT
from oas_calls import Tools, content, minimal, operation


@pytest.fixture(scope="module")
def tools() -> Tools:
    return Tools()


@pytest.mark.parametrize("name", [name for name in CONTRACT if name.startswith("walk_")])
def test_walk_tools_share_their_common_fields(tools: Tools, name: str) -> None:
    fields = input_schema(tools.registry.tool(name).input)["properties"]
    assert {
        "spec",
        "detail",
        "resolve_refs",
        "limit",
        "offset",
        "group_by",
        "extension",
    } <= fields.keys()


def names(answer: Any, field: str = "operation_id") -> list[str]:
    return [item[field] for item in answer["summaries"]]


def test_walk_operations_summary_fields(tools: Tools) -> None:
    answer = ask(tools, "walk_operations")
    assert (answer["total"], answer["matched"], answer["returned"]) == (4, 4, 4)
    assert answer["summaries"][1] == {
        "method": "POST",
        "path": "/pets",
        "operation_id": "addPet",
        "summary": "does it",
        "tags": ["pets", "admin"],
        "deprecated": True,
    }
    assert "deprecated" not in answer["summaries"][0]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"method": "GET"}, 3),
        ({"method": "post"}, 1),
        ({"path": "/pets"}, 2),
        ({"path": "/pets/*"}, 1),
        ({"path": "/**"}, 4),
        ({"path": "/**/pets"}, 3),
        ({"path": "/*/{id}/*"}, 1),
        ({"tag": "admin"}, 1),
        ({"operation_id": "getPet"}, 1),
        ({"deprecated": True}, 1),
        ({"deprecated": False}, 4),
        ({"extension": "x-internal"}, 1),
        ({"extension": "x-internal=true"}, 1),
        ({"extension": "x-internal=false"}, 0),
        ({"method": "get", "tag": "admin"}, 0),
    ],
)
def test_walk_operations_filters(tools: Tools, filters: Any, expected: int) -> None:
    answer = ask(tools, "walk_operations", **filters)
    assert (answer["total"], answer["matched"]) == (4, expected)
    assert ("summaries" in answer) == (expected > 0)


def test_walk_operations_groups(tools: Tools) -> None:
    assert ask(tools, "walk_operations", group_by="tag")["groups"] == [
        {"key": "pets", "count": 2},
        {"key": "admin", "count": 1},
    ]
    assert ask(tools, "walk_operations", group_by="METHOD")["groups"] == [
        {"key": "GET", "count": 3},
        {"key": "POST", "count": 1},
    ]


def test_walk_operations_detail_and_pages(tools: Tools) -> None:
    answer = ask(tools, "walk_operations", detail=True, limit=1, offset=1)
    assert answer["returned"] == 1
    assert answer["operations"][0]["operation"]["operationId"] == "addPet"
    assert answer["operations"][0].keys() >= {"method", "path", "operation"}


def test_default_limits_are_100_and_25_in_detail_and_at_most_1000(tools: Tools) -> None:
    many = minimal(paths={f"/p{i}": {"get": operation()} for i in range(1200)})
    assert ask(tools, "walk_operations", many)["returned"] == 100
    assert ask(tools, "walk_operations", many, detail=True)["returned"] == 25
    assert ask(tools, "walk_operations", many, detail=True, limit=40)["returned"] == 40
    assert ask(tools, "walk_operations", many, limit=5000)["returned"] == 1000
    assert ask(tools, "walk_operations", many, offset=1150)["returned"] == 50


@pytest.mark.parametrize("name", [name for name in CONTRACT if name.startswith("walk_")])
def test_unknown_groups_and_groups_with_detail_are_errors(tools: Tools, name: str) -> None:
    assert (
        tools.error(name, spec=content(SPEC), group_by="nonsense").code.name == "INVALID_ARGUMENT"
    )
    valid = {
        "walk_operations": "tag",
        "walk_schemas": "type",
        "walk_parameters": "name",
        "walk_responses": "method",
        "walk_headers": "name",
    }
    valid |= {"walk_paths": "segment", "walk_refs": "node_type", "walk_security": "name"}
    error = tools.error(name, spec=content(SPEC), group_by=valid[name], detail=True)
    assert error.code.name == "INVALID_ARGUMENT"


def test_walk_schemas_counts_nested_and_inline_ones(tools: Tools) -> None:
    answer = ask(tools, "walk_schemas")
    assert (
        answer["total"] == 6 + 5 + 3 + 2
    )  # inline in paths, Pet with its parts, Any with its parts, in other components
    first = answer["summaries"][0]
    assert first["location"] == "inline"
    pet = next(item for item in answer["summaries"] if item["name"] == "Pet")
    assert pet == {
        "name": "Pet",
        "type": "object",
        "location": "component",
        "property_count": 3,
        "required": ["name"],
    }


def test_inline_schemas_are_named_by_their_json_path(tools: Tools) -> None:
    listed = names(ask(tools, "walk_schemas", inline=True), "name")
    assert "$.paths['/pets'].get.responses['200'].content['application/json'].schema" in listed
    assert (
        "$.paths['/pets'].get.responses['200'].content['application/json'].schema.items" in listed
    )


def test_walk_schemas_filters(tools: Tools) -> None:
    assert ask(tools, "walk_schemas", name="name")["matched"] == 1  # a property, not a component
    assert ask(tools, "walk_schemas", name="pet")["matched"] == 1
    named = ask(tools, "walk_schemas", named=True)
    assert named["matched"] == ask(tools, "parse")["schema_count"]
    assert "name" not in names(named, "name")
    assert ask(tools, "walk_schemas", name="*a*", component=True)["matched"] == 4
    assert ask(tools, "walk_schemas", name="name", component=True)["matched"] == 1
    assert ask(tools, "walk_schemas", extension="x-kind=animal")["matched"] == 1
    component, inline = (
        ask(tools, "walk_schemas", component=True)["matched"],
        ask(tools, "walk_schemas", inline=True)["matched"],
    )
    assert component + inline == ask(tools, "walk_schemas")["total"]
    assert (
        tools.error("walk_schemas", spec=content(SPEC), component=True, inline=True).code.name
        == "INVALID_ARGUMENT"
    )


def test_the_type_filter_is_exact(tools: Tools) -> None:
    spec = {
        **minimal("3.1.0"),
        "components": {"schemas": {"A": {"type": ["string", "null"]}, "B": STRING}},
    }
    assert names(ask(tools, "walk_schemas", spec, type="string"), "name") == ["B"]
    assert names(ask(tools, "walk_schemas", spec), "type") == ["string, null", "string"]


def test_schemas_without_type_are_labelled(tools: Tools) -> None:
    groups = {
        group["key"]: group["count"]
        for group in ask(tools, "walk_schemas", group_by="type")["groups"]
    }
    assert groups["(untyped)"] == 4  # oneOf, and three references
    assert sum(groups.values()) == ask(tools, "walk_schemas")["total"]
    places = {group["key"] for group in ask(tools, "walk_schemas", group_by="location")["groups"]}
    assert places == {"component", "inline"}


def test_walk_schemas_detail(tools: Tools) -> None:
    answer = ask(tools, "walk_schemas", name="Any", detail=True, resolve_refs=True)
    (item,) = answer["schemas"]
    assert (item["name"], item["json_path"], item["is_component"]) == (
        "Any",
        "$.components.schemas['Any']",
        True,
    )
    assert item["schema"]["oneOf"][0]["required"] == ["name"]
    assert answer["circular_refs"] == ["#/components/schemas/Pet"]


def test_walk_parameters_labels_unresolved_references(tools: Tools) -> None:
    groups = {
        group["key"]: group["count"]
        for group in ask(tools, "walk_parameters", group_by="location")["groups"]
    }
    assert groups == {"query": 2, "path": 2, "(ref)": 1}
    resolved = {
        group["key"]: group["count"]
        for group in ask(tools, "walk_parameters", group_by="location", resolve_refs=True)["groups"]
    }
    assert resolved == {"query": 3, "path": 2}


def test_walk_parameters_resolves_references_for_in_and_name(tools: Tools) -> None:
    """The contract's note, without its limitation: a circular schema elsewhere changes nothing."""
    assert ask(tools, "walk_parameters", **{"in": "query"})["matched"] == 3
    answer = ask(tools, "walk_parameters", name="LIMIT", path="/pets")
    assert answer["summaries"] == [
        {
            "name": "limit",
            "in": "query",
            "path": "/pets",
            "method": "GET",
            "type": "integer",
            "ref": "#/components/parameters/Limit",
        }
    ]


def test_walk_parameters_filters_by_path_and_method(tools: Tools) -> None:
    assert ask(tools, "walk_parameters", path="/pets/*")["matched"] == 1
    assert ask(tools, "walk_parameters", method="get")["matched"] == 3
    groups = ask(tools, "walk_parameters", group_by="name", resolve_refs=True)["groups"]
    assert {"key": "limit", "count": 2} in groups
    detail = ask(tools, "walk_parameters", detail=True, name="q")["parameters"]
    assert detail == [
        {
            "name": "q",
            "path": "/pets",
            "method": "GET",
            "parameter": {"name": "q", "in": "query", "schema": STRING},
        }
    ]


def test_walk_responses(tools: Tools) -> None:
    assert ask(tools, "walk_responses", status="200")["matched"] == 3
    assert ask(tools, "walk_responses", status="4XX")["matched"] == 1
    assert ask(tools, "walk_responses", status="default")["matched"] == 1
    assert ask(tools, "walk_responses", method="post")["matched"] == 1
    codes = {
        group["key"]: group["count"]
        for group in ask(tools, "walk_responses", group_by="status_code")["groups"]
    }
    assert codes == {"200": 3, "404": 1, "default": 1, "(component)": 1}
    methods = {
        group["key"]: group["count"]
        for group in ask(tools, "walk_responses", group_by="method")["groups"]
    }
    assert methods == {"GET": 4, "POST": 1, "(component)": 1}
    (first, *_) = ask(tools, "walk_responses", path="/pets", method="get")["summaries"]
    assert first == {"status": "200", "path": "/pets", "method": "GET", "description": "a list"}
    detail = ask(tools, "walk_responses", status="404", detail=True, resolve_refs=True)["responses"]
    assert detail == [
        {"status": "404", "path": "/pets", "method": "GET", "response": {"description": "none"}}
    ]


def test_walk_headers(tools: Tools) -> None:
    answer = ask(tools, "walk_headers")
    assert answer["summaries"][0] == {
        "name": "X-Next",
        "path": "/pets",
        "method": "GET",
        "status": "200",
        "description": "next page",
        "required": True,
    }
    assert answer["summaries"][1] == {"name": "Rate", "deprecated": True}
    assert ask(tools, "walk_headers", component=True)["matched"] == 1
    assert ask(tools, "walk_headers", name="x-*")["matched"] == 1
    assert ask(tools, "walk_headers", status="2xx")["matched"] == 1
    assert ask(tools, "walk_headers", group_by="status_code")["groups"] == [
        {"key": "200", "count": 1}
    ]
    assert ask(tools, "walk_headers", group_by="name")["groups"] == [
        {"key": "Rate", "count": 1},
        {"key": "X-Next", "count": 1},
    ]
    assert ask(tools, "walk_headers", detail=True, name="Rate")["headers"] == [
        {"name": "Rate", "header": SPEC["components"]["headers"]["Rate"]}
    ]


def test_walk_security(tools: Tools) -> None:
    answer = ask(tools, "walk_security")
    assert answer["summaries"] == [
        {"name": "basic", "type": "http"},
        {"name": "key", "type": "apiKey", "in": "header", "description": "a key"},
    ]
    assert ask(tools, "walk_security", name="KEY")["matched"] == 1
    assert ask(tools, "walk_security", type="apikey")["matched"] == 1
    assert ask(tools, "walk_security", detail=True, name="basic")["schemes"] == [
        {"name": "basic", "security_scheme": {"type": "http", "scheme": "basic"}}
    ]


def test_walk_paths(tools: Tools) -> None:
    answer = ask(tools, "walk_paths")
    assert answer["summaries"][0] == {"path": "/pets", "method_count": 2, "summary": "All pets"}
    assert ask(tools, "walk_paths", path="/pets/*")["matched"] == 1
    assert ask(tools, "walk_paths", extension="x-owner=team-a")["matched"] == 1
    assert ask(tools, "walk_paths", group_by="segment")["groups"] == [
        {"key": "pets", "count": 2},
        {"key": "stores", "count": 1},
    ]
    assert (
        ask(tools, "walk_paths", detail=True, limit=1)["paths"][0]["path_item"]["summary"]
        == "All pets"
    )


def test_walk_refs_counts_targets_in_summary_and_occurrences_otherwise(tools: Tools) -> None:
    summary = ask(tools, "walk_refs")
    assert (summary["total"], summary["matched"]) == (3, 3)
    assert summary["refs"][0] == {"ref": "#/components/schemas/Pet", "count": 3}
    detail = ask(tools, "walk_refs", detail=True)
    assert detail["total"] == 5
    assert detail["details"][0] == {
        "ref": "#/components/parameters/Limit",
        "source_path": "$.paths['/pets'].get.parameters[0]",
        "node_type": "parameter",
    }
    groups = ask(tools, "walk_refs", group_by="node_type")
    assert groups["total"] == 5
    assert groups["groups"] == [
        {"key": "schema", "count": 3},
        {"key": "parameter", "count": 1},
        {"key": "response", "count": 1},
    ]
    assert ask(tools, "walk_refs", target="*schemas/*")["matched"] == 1
    assert ask(tools, "walk_refs", node_type="RESPONSE", detail=True)["matched"] == 1


def test_details_that_do_not_fit_are_cut_and_marked(tools: Tools) -> None:
    big = minimal(
        paths={f"/p{i:02}": {"get": operation(description="x" * 100_000)} for i in range(30)}
    )
    answer = ask(tools, "walk_operations", big, detail=True)
    assert answer["truncated"]
    assert answer["returned"] == answer["next_offset"] < 25
    rest = ask(tools, "walk_operations", big, detail=True, offset=answer["next_offset"])
    assert rest["operations"][0]["path"] == f"/p{answer['next_offset']:02}"
