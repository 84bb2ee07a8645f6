"""Read tools as docs/reference/contracts/openapi.md requires."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from read_contract_calls import SPEC, ask

from commonplace.dispatch.schema import output_schema
from commonplace.openapi.toolset import CONTRACT
from oas_calls import Tools, content, minimal, operation


@pytest.fixture(scope="module")
def tools() -> Tools:
    return Tools()


def test_the_seventeen_names_answer_and_are_listed_with_a_prefix(tools: Tools) -> None:
    assert len(CONTRACT) == 17
    for name in CONTRACT:
        tool = tools.registry.tool(name)
        assert tool.name == f"oas_{name}"
        assert tool.message_first
        assert not tool.bare
    assert len(tools.registry.listed()) == 17


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"file": "a", "url": "b"},
        {"file": "", "content": ""},
        {"file": "a", "content": "b", "url": "c"},
    ],
)
def test_exactly_one_input_mode_is_needed(tools: Tools, spec: Any) -> None:
    error = tools.error("validate", spec=spec)
    assert error.code.name == "SPEC_INPUT"
    assert "exactly one" in error.message


def test_validate_returns_its_fields(tools: Tools) -> None:
    answer = ask(tools, "validate")
    assert {
        "valid",
        "version",
        "error_count",
        "warning_count",
        "errors",
        "warnings",
    } <= answer.keys()
    assert (answer["valid"], answer["version"], answer["error_count"]) == (True, "3.0.3", 0)


def test_validate_describes_each_error(tools: Tools) -> None:
    broken = (
        "openapi: 3.0.3\ninfo: {title: t}\npaths:\n  /a/{id}:\n    get:\n      summary: s\n "
        "     responses: {'200': {description: d}}\n"
    )
    answer = ask(tools, "validate", broken)
    assert not answer["valid"]
    assert answer["error_count"] == len(answer["errors"]) == 2
    first, second = answer["errors"]
    assert (first["path"], first["severity"], first["rule"], first["line"]) == (
        "/info",
        "error",
        "missing-field",
        2,
    )
    assert (second["path"], second["line"]) == ("/paths/~1a~1{id}/get", 5)
    assert second["message"]
    assert second["fix"]


def test_validate_takes_strict_and_no_warnings(tools: Tools) -> None:
    spec = minimal(paths={"/a/": {"get": {"responses": {"200": {"description": "d"}}}}})
    plain, strict, quiet = (
        ask(tools, "validate", spec),
        ask(tools, "validate", spec, strict=True),
        ask(tools, "validate", spec, no_warnings=True),
    )
    assert plain["warning_count"] == 2
    assert strict["warning_count"] > plain["warning_count"]
    assert (quiet["warning_count"], quiet["warnings"]) == (0, [])


def test_validate_pages_with_totals(tools: Tools) -> None:
    spec = minimal(paths={f"/a{i}/{{id}}": {"get": operation()} for i in range(30)})
    answer = ask(tools, "validate", spec, limit=10, offset=25)
    assert (answer["error_count"], len(answer["errors"]), answer["returned"]) == (30, 5, 5)


def test_parse_summarises_and_truncates(tools: Tools) -> None:
    answer = ask(tools, "parse")
    assert (answer["version"], answer["title"], answer["format"]) == ("3.0.3", "Pets", "json")
    assert (answer["path_count"], answer["operation_count"], answer["schema_count"]) == (3, 4, 2)
    assert len(answer["description"]) == 200
    assert answer["servers"][0]["url"] == "https://api.example/v1"
    assert len(answer["servers"][0]["description"]) == 200
    assert answer["tags"] == ["pets", "admin"]


def test_parse_full_is_untruncated_and_can_resolve(tools: Tools) -> None:
    answer = ask(tools, "parse", full=True)
    assert len(answer["description"]) == 300
    assert "#/components/parameters/Limit" in answer["full_document"]
    resolved = ask(tools, "parse", full=True, resolve_refs=True)
    assert "#/components/parameters/Limit" not in resolved["full_document"]
    assert resolved["circular_refs"] == ["#/components/schemas/Pet"]


def test_parse_of_a_part_by_pointer(tools: Tools) -> None:
    answer = ask(tools, "parse", full=True, pointer="/components/schemas/Any")
    assert "oneOf" in answer["full_document"]
    assert "paths" not in answer["full_document"]


def test_parse_names_references_that_were_too_deep_to_replace(tools: Tools) -> None:
    chain: dict[str, Any] = {"S12": {"type": "string"}}
    for number in range(12):  # together 240 levels; 200 are replaced
        schema: dict[str, Any] = {"$ref": f"#/components/schemas/S{number + 1}"}
        for _ in range(20):
            schema = {"not": schema}
        chain[f"S{number}"] = schema
    data = minimal(components={"schemas": chain})
    pointer = "/components/schemas/S0"
    answer = ask(tools, "parse", data, full=True, resolve_refs=True, pointer=pointer)
    assert answer["refs_left"]
    assert "refs_left" in output_schema(tools.registry.tool("oas_parse").output)["properties"]


def test_parse_reads_servers_of_2_0(tools: Tools) -> None:
    answer = ask(
        tools, "parse", minimal("2.0", host="h.example", basePath="/v2", schemes=["https", "http"])
    )
    assert [server["url"] for server in answer["servers"]] == [
        "https://h.example/v2",
        "http://h.example/v2",
    ]


@pytest.mark.parametrize(
    "arguments",
    [{"limit": -1}, {"offset": -1}, {"extension": "internal"}, {"bogus": 1}, {"detail": "maybe"}],
)
def test_wrong_arguments_are_refused(tools: Tools, arguments: Any) -> None:
    assert (
        tools.error("walk_operations", spec=content(SPEC), **arguments).code.name
        == "INVALID_ARGUMENT"
    )


def differ(tools: Tools, old: Any, new: Any, **arguments: Any) -> Any:
    answer = tools.call("diff", base=content(old), revision=content(new), **arguments)
    jsonschema_rs.validate(output_schema(tools.registry.tool("diff").output), answer)
    return answer


def test_diff_fields_and_filters(tools: Tools) -> None:
    old = minimal(
        paths={"/a": {"get": operation()}, "/b": {"get": operation()}}, servers=[{"url": "/x"}]
    )
    new = minimal(paths={"/a": {"get": operation(summary="other")}})
    answer = differ(tools, old, new)
    assert (
        answer["total_changes"],
        answer["breaking_count"],
        answer["warning_count"],
        answer["info_count"],
    ) == (3, 1, 1, 1)
    assert [change["severity"] for change in answer["changes"]] == ["critical", "warning", "info"]
    assert answer["changes"][0].keys() >= {"severity", "type", "path", "message"}
    assert answer["changes"][0]["type"] == "removed"
    assert answer["summary"].startswith("Breaking changes detected.")
    breaking = differ(tools, old, new, breaking_only=True)
    assert (breaking["total_changes"], breaking["breaking_count"], breaking["info_count"]) == (
        1,
        1,
        0,
    )
    assert breaking["changes"][0] == answer["changes"][0]
    assert differ(tools, old, new, no_info=True)["total_changes"] == 2
    assert differ(tools, old, old) == {
        "total_changes": 0,
        "breaking_count": 0,
        "warning_count": 0,
        "info_count": 0,
        "returned": 0,
        "changes": [],
        "summary": "No changes detected.",
    }


@pytest.mark.parametrize("name", ["validate", "parse", "walk_operations", "walk_refs"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("openapi: 3.3.0", "UNSUPPORTED_VERSION"),
        ("openapi: [", "SPEC_SYNTAX"),
        ("- " * 14000 + "x", "SPEC_TOO_DEEP"),
        ("hello", "NOT_A_SPEC"),
    ],
)
def test_unreadable_documents_are_tool_errors(
    tools: Tools, name: str, text: str, code: str
) -> None:
    error = tools.error(name, spec={"content": text})
    assert error.code.name == code
    assert error.message


def test_a_missing_file_says_so(tools: Tools) -> None:
    assert tools.error("parse", spec={"file": "no-such-file.yaml"}).code.name == "SPEC_NOT_FOUND"
