"""Joined documents: security, servers, media types and addresses of the root stay true."""

from __future__ import annotations

from typing import Any

import pytest
from join_cases import OK, joined, modern, plain, spec, swagger


def test_security_of_the_document_moves_to_the_operations_where_the_others_differ() -> None:
    keys = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "k"}}}
    one = spec({"/a": {"get": {"responses": OK}}}, security=[{"key": []}], components=keys)
    made = joined(one, spec({"/b": {"get": {"responses": OK}}})).document
    assert made["security"] == [{"key": []}]
    assert "security" not in made["paths"]["/a"]["get"]
    assert made["paths"]["/b"]["get"]["security"] == []


def test_servers_are_united_and_each_path_keeps_its_own() -> None:
    one = spec({"/a": {"get": {"responses": OK}}}, servers=[{"url": "https://one"}])
    other = spec({"/b": {"get": {"responses": OK}}}, servers=[{"url": "https://two"}])
    made = joined(one, other).document
    assert made["servers"] == [{"url": "https://one"}, {"url": "https://two"}]
    assert made["paths"]["/a"]["servers"] == [{"url": "https://one"}]
    assert made["paths"]["/b"]["servers"] == [{"url": "https://two"}]
    assert (
        "servers"
        not in joined(one, {**other, "servers": [{"url": "https://one"}]}).document["paths"]["/a"]
    )


# What roots say for all operations
KEY = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "k"}}}


def test_a_public_operation_stays_public_when_the_right_document_brings_security() -> None:
    one = spec({"/a": plain(), "/own": plain(security=[{"key": []}])}, components=KEY)
    other = spec({"/b": plain()}, security=[{"key": []}], components=KEY)
    made = joined(one, other, spec({"/c": plain()})).document
    assert made["security"] == [{"key": []}]
    assert made["paths"]["/a"]["get"]["security"] == []
    assert made["paths"]["/own"]["get"]["security"] == [{"key": []}]
    assert "security" not in made["paths"]["/b"]["get"]
    assert made["paths"]["/c"]["get"]["security"] == []


def test_equal_security_and_equal_servers_stay_at_the_root() -> None:
    agreed: dict[str, Any] = {"security": [{"key": []}], "components": KEY}
    one = spec({"/a": plain()}, servers=[{"url": "https://one"}, {"url": "https://two"}], **agreed)
    other = spec(
        {"/b": plain()},
        servers=[{"url": "https://two", "description": "second"}, {"url": "https://one"}],
        **agreed,
    )
    made = joined(one, other).document
    assert made["paths"] == {"/a": plain(), "/b": plain()}
    assert (made["servers"], made["security"]) == (one["servers"], [{"key": []}])


def test_security_follows_a_scheme_that_is_renamed() -> None:
    basic, bearer = (
        {"securitySchemes": {"auth": {"type": "http", "scheme": scheme}}}
        for scheme in ("basic", "bearer")
    )
    one = spec({"/a": plain()}, security=[{"auth": []}], components=basic)
    made = joined(one, spec({"/b": plain()}, security=[{"auth": []}], components=bearer)).document
    assert made["security"] == [{"auth": []}]
    assert "security" not in made["paths"]["/a"]["get"]
    assert made["paths"]["/b"]["get"]["security"] == [{"auth_right": []}]


def test_security_is_kept_in_webhooks_additional_operations_and_shared_path_items() -> None:
    extra = {"additionalOperations": {"COPY": {"responses": OK}}}
    left = modern(
        "3.2.0",
        paths={"/a": extra, "/shared": {"$ref": "#/components/pathItems/Shared"}},
        webhooks={"happened": {"post": {"responses": OK}}},
        components={"pathItems": {"Shared": plain()}},
    )
    right = modern(
        "3.2.0",
        paths={"/b": plain()},
        security=[{"key": []}],
        servers=[{"url": "https://two"}],
        components=KEY,
    )
    made = joined(left, right).document
    assert made["paths"]["/a"]["additionalOperations"]["COPY"]["security"] == []
    assert made["webhooks"]["happened"] == {"post": {"responses": OK, "security": []}}
    assert made["components"]["pathItems"]["Shared"] == {
        **plain(security=[]),
        "servers": [{"url": "/"}],
    }
    assert made["paths"]["/shared"] == {"$ref": "#/components/pathItems/Shared"}


def test_a_document_without_servers_keeps_the_default_one() -> None:
    bare, other = spec({"/a": plain()}), spec({"/b": plain()}, servers=[{"url": "https://two"}])
    for made in (joined(bare, other).document, joined(other, bare).document):
        assert made["servers"] == [{"url": "https://two"}]
        assert made["paths"]["/a"]["servers"] == [{"url": "/"}]
        assert "servers" not in made["paths"]["/b"]
    three = joined(bare, other, spec({"/c": plain()}, servers=[{"url": "https://three"}])).document
    assert {path: item["servers"][0]["url"] for path, item in three["paths"].items()} == {
        "/a": "/",
        "/b": "https://two",
        "/c": "https://three",
    }


def test_operations_of_one_path_keep_the_servers_of_their_documents() -> None:
    one = spec({"/a": plain()}, servers=[{"url": "https://one"}])
    made = joined(
        one, spec({"/a": {"post": {"responses": OK}}}, servers=[{"url": "https://two"}])
    ).document
    assert made["paths"]["/a"]["get"]["servers"] == [{"url": "https://one"}]
    assert made["paths"]["/a"]["post"]["servers"] == [{"url": "https://two"}]


def test_2_0_operations_keep_media_types_schemes_and_security_of_their_root() -> None:
    key = {"key": {"type": "apiKey", "in": "header", "name": "k"}}
    rich: dict[str, Any] = {
        "consumes": ["application/xml"],
        "produces": ["application/xml"],
        "schemes": ["http"],
        "security": [{"key": []}],
    }
    json_only = swagger(
        {"/a": plain()},
        consumes=["application/json"],
        produces=["application/json"],
        schemes=["https"],
    )
    made = joined(json_only, swagger({"/b": plain()}, securityDefinitions=key, **rich)).document
    assert made["paths"]["/b"]["get"] == {
        "responses": OK,
        **{name: rich[name] for name in rich if name != "security"},
    }
    assert made["paths"]["/a"]["get"] == {"responses": OK, "security": []}
    assert (made["consumes"], made["schemes"], made["security"]) == (
        ["application/json"],
        ["https"],
        [{"key": []}],
    )
    bare = joined(
        swagger({"/a": plain()}), swagger({"/b": plain()}, securityDefinitions=key, **rich)
    ).document
    assert bare["paths"]["/a"]["get"] == {
        "responses": OK,
        "consumes": [],
        "produces": [],
        "security": [],
    }
    assert bare["paths"]["/b"]["get"] == {"responses": OK, "schemes": ["http"]}
    assert "schemes" not in bare


@pytest.mark.parametrize(
    ("left", "right", "kept"),
    [
        ({"host": "a.org"}, {"host": "b.org"}, "a.org"),
        ({}, {"host": "b.org"}, "b.org"),
        ({"host": "a.org"}, {}, "a.org"),
    ],
)
def test_the_warning_names_the_host_that_the_result_has(
    left: dict[str, Any], right: dict[str, Any], kept: str
) -> None:
    result = joined(swagger({}, **left), swagger({}, **right))
    assert result.document["host"] == kept
    assert [f"the result has {kept!r}" in warning for warning in result.warnings] == [True]


@pytest.mark.parametrize(
    ("left", "right", "base", "paths"),
    [
        (None, "/v2", None, ["/a", "/v2/a"]),
        ("/v1", "/v1/more", "/v1", ["/a", "/more/a"]),
        ("/api/v1", "/api/v2/", "/api", ["/v1/a", "/v2/a"]),
        ("/v1", None, None, ["/v1/a", "/a"]),
    ],
)
def test_base_paths_that_differ_become_part_of_the_paths(
    left: str | None, right: str | None, base: str | None, paths: list[str]
) -> None:
    one, other = (
        swagger({"/a": plain(summary=name)}, **({"basePath": path} if path else {}))
        for name, path in (("l", left), ("r", right))
    )
    result = joined(one, other)
    assert result.document.get("basePath") == base
    assert list(result.document["paths"]) == paths
    assert any(f"the result has {base or '/'!r}" in warning for warning in result.warnings)
    same = swagger({"/b": plain()}, **({"basePath": left} if left else {}))
    assert joined(one, same).warnings == []
