"""What the Go server returns where the OpenAPI contract is silent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from commonplace.openapi.tools.generate import GenerateInput
from oas_calls import Tools, content, minimal, operation


def schemas(**named: Any) -> dict[str, Any]:
    return minimal(paths={}, components={"schemas": named})


def uses(name: str) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}
    return {"get": operation(responses={"200": {"description": "d", **body}})}


def test_warnings_of_join_are_objects() -> None:
    left, right = schemas(A={"type": "string"}), schemas(A={"type": "integer"})
    answer = Tools().call("oas_join", specs=[content(left), content(right)])
    assert [set(warning) for warning in answer["warnings"]] == [{"message"}]


@pytest.mark.parametrize("version", ["3.0.3", "2.0"])
def test_semantic_dedup_makes_equal_schemas_one_and_references_follow(version: str) -> None:
    def document(name: str) -> dict[str, Any]:
        inner, outer = {"type": "object", "properties": {"id": {"type": "string"}}}, f"{name}Page"
        base = "#/definitions/" if version == "2.0" else "#/components/schemas/"
        named = {name: inner, outer: {"type": "array", "items": {"$ref": base + name}}}
        schema = {"schema": {"$ref": base + outer}}
        response = schema if version == "2.0" else {"content": {"application/json": schema}}
        paths = {
            f"/{name}": {"get": operation(responses={"200": {"description": "d", **response}})}
        }
        return minimal(
            version,
            paths=paths,
            **({"definitions": named} if version == "2.0" else {"components": {"schemas": named}}),
        )

    specs = [content(document("User")), content(document("Account"))]
    plain = Tools().call("oas_join", specs=specs)
    merged = Tools().call("oas_join", specs=specs, semantic_dedup=True)
    assert (plain["schema_count"], merged["schema_count"]) == (4, 2)
    assert "User" in merged["warnings"][-1]["message"]
    joined = orjson.loads(merged["document"])
    assert set(joined["definitions"] if version == "2.0" else joined["components"]["schemas"]) == {
        "Account",
        "AccountPage",
    }
    assert Tools().call("oas_validate", spec=content(joined))["valid"]
    assert "UserPage" not in merged["document"]


def test_semantic_dedup_keeps_schemas_that_a_discriminator_distinguishes() -> None:
    same = {"type": "object", "properties": {"kind": {"type": "string"}}}
    pet = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind"},
    }
    answer = Tools().call(
        "oas_join",
        specs=[content(schemas(Cat=same, Dog=same, Pet=pet)), content(schemas(X={}))],
        semantic_dedup=True,
    )
    assert answer["schema_count"] == 4


def test_fail_on_paths_fails_on_paths_only() -> None:
    left = minimal(paths={"/a": uses("A")}, components={"schemas": {"A": {"type": "string"}}})
    right = minimal(paths={"/b": uses("A")}, components={"schemas": {"A": {"type": "integer"}}})
    both = {"path_strategy": "fail-on-paths", "schema_strategy": "fail-on-paths"}
    assert (
        Tools().call("oas_join", specs=[content(left), content(right)], **both)["collision_count"]
        == 1
    )
    right["paths"] = {"/a": {"get": operation(summary="another")}}
    assert (
        Tools().error("oas_join", specs=[content(left), content(right)], **both).code.name
        == "JOIN_COLLISION"
    )


def test_fix_returns_the_remaining_errors() -> None:
    broken = minimal(paths={"/a/{id}": {"get": {"responses": {"200": {}}}}})
    answer = Tools().call("oas_fix", spec=content(broken))
    assert answer["fix_count"] == 1
    assert answer["error_count"] == len(answer["errors"]) >= 1
    assert answer["errors"][0]["path"].startswith("/paths/~1a~1{id}/get/responses/200")
    assert Tools().call("oas_fix", spec=content(minimal()))["errors"] == []


def test_fix_prunes_paths_and_schemas_separately() -> None:
    spec = content(
        minimal(paths={"/empty": {}}, components={"schemas": {"Unused": {"type": "string"}}})
    )
    types = {
        option: [
            fix["type"] for fix in Tools().call("oas_fix", spec=spec, **{option: True})["fixes"]
        ]
        for option in ("prune", "prune_paths", "prune_schemas")
    }
    assert types == {
        "prune": ["pruned-empty-path", "pruned-unused-schema"],
        "prune_paths": ["pruned-empty-path"],
        "prune_schemas": ["pruned-unused-schema"],
    }


def test_lists_are_sorted() -> None:
    named = {"b": {"type": "string"}, "a": {"type": "string"}}
    schemes = {"z": {"type": "http", "scheme": "basic"}, "y": {"type": "http", "scheme": "basic"}}
    paths = {"/b": {"post": operation(), "get": operation()}, "/a": {"get": operation()}}
    spec = content(minimal(paths=paths, components={"schemas": named, "securitySchemes": schemes}))
    tools = Tools()
    operations = tools.call("oas_walk_operations", spec=spec)["summaries"]
    assert [(operation["path"], operation["method"]) for operation in operations] == [
        ("/a", "GET"),
        ("/b", "GET"),
        ("/b", "POST"),
    ]
    assert [row["path"] for row in tools.call("oas_walk_paths", spec=spec)["summaries"]] == [
        "/a",
        "/b",
    ]
    assert [row["name"] for row in tools.call("oas_walk_schemas", spec=spec)["summaries"]] == [
        "a",
        "b",
    ]
    assert [row["name"] for row in tools.call("oas_walk_security", spec=spec)["summaries"]] == [
        "y",
        "z",
    ]


def test_generate_publishes_output_dir_as_required() -> None:
    assert set(GenerateInput.model_json_schema()["required"]) == {"spec", "output_dir"}
