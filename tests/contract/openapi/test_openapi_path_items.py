"""Referenced path items: their operations belong to the paths that use them."""

from __future__ import annotations

from typing import Any

import pytest

from oas_calls import Tools, content, minimal, operation


def listed(kind: str, source: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Tools().call(f"oas_walk_{kind}", spec=content(source))["summaries"]
    return rows


ITEM = {
    "get": operation(
        operationId="getA", parameters=[{"name": "q", "in": "query", "schema": {"type": "string"}}]
    )
}


def shared(version: str = "3.1.0", item: Any = None, **paths: str) -> dict[str, Any]:
    used = {"/a/{id}": {"$ref": "#/components/pathItems/p"}} | {
        f"/{name}": {"$ref": ref} for name, ref in paths.items()
    }
    if version == "3.1.0":
        return minimal(version, paths=used, components={"pathItems": {"p": item or ITEM}})
    return minimal(
        version, paths={"/a/{id}": {"$ref": "#/x-items/p"}}, **{"x-items": {"p": item or ITEM}}
    )


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_shared_path_items_are_validated_as_part_of_their_path(version: str) -> None:
    answer = Tools().call("oas_validate", spec=content(shared(version)))
    where = "/components/pathItems/p/get" if version == "3.1.0" else "/x-items/p/get"
    assert [(error["rule"], error["path"]) for error in answer["errors"]] == [
        ("path-parameter-missing", where)
    ]
    whole = {
        **ITEM,
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ],
    }
    assert Tools().call("oas_validate", spec=content(shared(version, whole)))["errors"] == []


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_operations_of_shared_items_are_listed_once_per_path(version: str) -> None:
    source = shared(version)
    assert Tools().call("oas_parse", spec=content(source))["operation_count"] == 1
    assert [
        (operation["method"], operation["path"]) for operation in listed("operations", source)
    ] == [("GET", "/a/{id}")]
    assert [path_row["method_count"] for path_row in listed("paths", source)] == [1]
    assert [parameter["path"] for parameter in listed("parameters", source)] == ["/a/{id}"]


def test_an_item_of_two_paths_is_not_a_duplicate() -> None:
    source = shared(b="#/components/pathItems/p", c="#/paths/~1b")
    assert Tools().call("oas_parse", spec=content(source))["operation_count"] == 3
    assert [operation["path"] for operation in listed("operations", source)] == [
        "/a/{id}",
        "/b",
        "/c",
    ]
    rules = {
        error["rule"] for error in Tools().call("oas_validate", spec=content(source))["errors"]
    }
    assert rules == {"path-parameter-missing"}


def test_an_item_that_no_path_uses_is_still_listed() -> None:
    source = minimal("3.1.0", components={"pathItems": {"p": ITEM}})
    assert [operation["path"] for operation in listed("operations", source)] == [""]


def test_items_that_refer_to_themselves_are_bounded() -> None:
    looping = {"get": operation(callbacks={"c": {"{$url}": {"$ref": "#/components/pathItems/p"}}})}
    source = minimal(
        "3.1.0",
        paths={"/a": {"$ref": "#/components/pathItems/p"}},
        components={"pathItems": {"p": looping}},
    )
    assert Tools().call("oas_parse", spec=content(source))["operation_count"] == 1
    circle = {"p": {"$ref": "#/components/pathItems/q"}, "q": {"$ref": "#/components/pathItems/p"}}
    source = minimal(
        "3.1.0",
        paths={"/a": {"$ref": "#/components/pathItems/p"}},
        components={"pathItems": circle},
    )
    assert "ref-circular" in {
        error["rule"] for error in Tools().call("oas_validate", spec=content(source))["errors"]
    }
    assert Tools().call("oas_parse", spec=content(source))["operation_count"] == 0


@pytest.mark.parametrize("parent", [["b"], {"name": "b"}, 3])
def test_the_parent_of_a_tag_may_be_anything(parent: Any) -> None:
    answer = Tools().call(
        "oas_validate", spec=content(minimal("3.2.0", tags=[{"name": "a", "parent": parent}]))
    )
    assert not answer["valid"]
    assert {error["path"] for error in answer["errors"]} == {"/tags/0/parent"}
