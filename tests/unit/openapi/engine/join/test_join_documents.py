"""Joining and bundling: each strategy, and that what references meant before they mean after."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.references.bundle import bundle
from commonplace.openapi.engine.join.documents import JoinedDocument, JoinPart, Strategy, join
from commonplace.openapi.engine.validate.report import validate
from commonplace.openapi.model import Family, Spec
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore

OK = {"200": {"description": "ok"}}


def spec(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def using(name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {
        "get": {
            "responses": {
                "200": {"description": "ok", "content": {"application/json": {"schema": schema}}}
            }
        }
    }


def joined(
    *documents: dict[str, Any], paths: Strategy = "fail", schemas: Strategy = "accept-left"
) -> JoinedDocument:
    before = copy.deepcopy(documents)
    versions = [str(one.get("openapi") or one["swagger"]) for one in documents]
    parts = [
        JoinPart(one, version, Family(version[:3]), name)
        for one, version, name in zip(
            documents, versions, ("left.yaml", "right.yaml", "third.yaml"), strict=False
        )
    ]
    result = join(parts, path_strategy=paths, schema_strategy=schemas)
    assert documents == before
    store = DocumentStore(Access(local=True))
    document = store.load(Spec(content=json.dumps(result.document)))
    assert validate(document, store.resolver(document)).errors == []
    return result


LEFT = spec(
    {"/a": using("Pet")},
    components={"schemas": {"Pet": {"type": "object"}, "Same": {"type": "string"}}},
    tags=[{"name": "x"}],
)
RIGHT = spec(
    {"/b": using("Pet")},
    components={"schemas": {"Pet": {"type": "string"}, "Same": {"type": "string"}}},
    tags=[{"name": "x"}, {"name": "y"}],
)


def test_accept_left_and_accept_right_choose_the_schema_and_say_so() -> None:
    left = joined(LEFT, RIGHT, schemas="accept-left")
    right = joined(LEFT, RIGHT, schemas="accept-right")
    assert left.document["components"]["schemas"]["Pet"] == {"type": "object"}
    assert right.document["components"]["schemas"]["Pet"] == {"type": "string"}
    assert list(left.document["paths"]) == ["/a", "/b"]
    assert (left.collisions, right.collisions) == (1, 1)
    assert "Pet" in left.warnings[0]


@pytest.mark.parametrize("strategy", ["fail", "deduplicate"])
def test_fail_names_the_schema_and_the_strategies(strategy: Strategy) -> None:
    with pytest.raises(CommonplaceError) as raised:
        joined(LEFT, RIGHT, schemas=strategy)
    assert raised.value.code.name == "JOIN_COLLISION"
    assert raised.value.details == {"kind": "schema", "name": "Pet"}
    assert "accept-left" in str(raised.value.hint)


def test_equal_schemas_are_no_collision() -> None:
    same = spec({"/b": using("Same")}, components={"schemas": {"Same": {"type": "string"}}})
    for strategy in ("fail", "deduplicate", "rename-right"):
        result = joined(LEFT, same, schemas=strategy)  # type: ignore[arg-type]
        assert result.collisions == 0
        assert list(result.document["components"]["schemas"]) == ["Pet", "Same"]


@pytest.mark.parametrize("strategy", ["rename-right", "deduplicate-or-rename"])
def test_renaming_the_right_schema_rewrites_the_right_references(strategy: Strategy) -> None:
    made = joined(LEFT, RIGHT, schemas=strategy).document
    assert made["components"]["schemas"] == {
        "Pet": {"type": "object"},
        "Same": {"type": "string"},
        "Pet_right": {"type": "string"},
    }
    assert _schema(made, "/a") == "#/components/schemas/Pet"
    assert _schema(made, "/b") == "#/components/schemas/Pet_right"


def test_renaming_the_left_schema_rewrites_the_left_references() -> None:
    made = joined(LEFT, RIGHT, schemas="rename-left").document
    assert _schema(made, "/a") == "#/components/schemas/Pet_left"
    assert _schema(made, "/b") == "#/components/schemas/Pet"


def _schema(document: dict[str, Any], path: str) -> str:
    return str(
        document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"][
            "$ref"
        ]
    )


def test_path_strategies() -> None:
    one, other = (
        spec({"/a": {"get": {"summary": "left", "responses": OK}}}),
        spec({"/a": {"get": {"summary": "right", "responses": OK}}}),
    )
    with pytest.raises(CommonplaceError) as raised:
        joined(one, other)
    assert raised.value.details == {"kind": "path", "name": "/a"}
    assert (
        joined(one, other, paths="accept-left").document["paths"]["/a"]["get"]["summary"] == "left"
    )
    assert (
        joined(one, other, paths="accept-right").document["paths"]["/a"]["get"]["summary"]
        == "right"
    )
    assert joined(one, one).collisions == 0


def test_operations_of_one_path_in_two_documents_come_together() -> None:
    made = joined(
        spec({"/a": {"get": {"responses": OK}}}), spec({"/a": {"post": {"responses": OK}}})
    )
    assert set(made.document["paths"]["/a"]) == {"get", "post"}
    assert made.collisions == 0


def test_operation_ids_stay_unique_and_links_follow() -> None:
    one = spec({"/a": {"get": {"operationId": "list", "responses": OK}}})
    link = {"200": {"description": "ok", "links": {"next": {"operationId": "list"}}}}
    other = spec({"/b": {"get": {"operationId": "list", "responses": link}}})
    made = joined(one, other).document
    assert made["paths"]["/b"]["get"]["operationId"] == "list_right"
    assert (
        made["paths"]["/b"]["get"]["responses"]["200"]["links"]["next"]["operationId"]
        == "list_right"
    )


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


def test_security_schemes_that_differ_are_renamed_with_their_requirements() -> None:
    one = spec({}, components={"securitySchemes": {"auth": {"type": "http", "scheme": "basic"}}})
    other = spec(
        {"/b": {"get": {"responses": OK, "security": [{"auth": []}]}}},
        components={"securitySchemes": {"auth": {"type": "http", "scheme": "bearer"}}},
    )
    made = joined(one, other).document
    assert made["components"]["securitySchemes"]["auth_right"]["scheme"] == "bearer"
    assert made["paths"]["/b"]["get"]["security"] == [{"auth_right": []}]


def test_tags_are_deduplicated_and_three_documents_join() -> None:
    made = joined(
        LEFT, RIGHT, spec({"/c": {"get": {"responses": OK}}}, tags=[{"name": "z"}])
    ).document
    assert [tag["name"] for tag in made["tags"]] == ["x", "y", "z"]
    assert list(made["paths"]) == ["/a", "/b", "/c"]


def test_mixed_versions_are_refused_with_the_command_that_helps() -> None:
    parts = [
        JoinPart(LEFT, "3.0.3", Family.V30, "a"),
        JoinPart({"swagger": "2.0"}, "2.0", Family.V20, "b"),
    ]
    with pytest.raises(CommonplaceError) as raised:
        join(parts)
    assert raised.value.code.name == "MIXED_VERSIONS"
    assert "convert" in str(raised.value.hint)
    assert "3.0" in str(raised.value.hint)


def test_2_0_documents_join_by_their_own_sections() -> None:
    one = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "1"},
        "host": "a",
        "paths": {},
        "definitions": {"A": {"type": "string"}},
    }
    other = {
        **one,
        "host": "b",
        "definitions": {"A": {"type": "integer"}, "B": {"$ref": "#/definitions/A"}},
    }
    made = join(
        [JoinPart(one, "2.0", Family.V20, "l"), JoinPart(other, "2.0", Family.V20, "r")],
        schema_strategy="rename-right",
    )
    assert made.document["definitions"] == {
        "A": {"type": "string"},
        "A_r": {"type": "integer"},
        "B": {"$ref": "#/definitions/A_r"},
    }
    assert any("host" in warning for warning in made.warnings)


# What roots say for all operations
KEY = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "k"}}}


def plain(**more: Any) -> dict[str, Any]:
    return {"get": {"responses": OK, **more}}


def modern(version: str, **more: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "t", "version": "1"}, **more}


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


def swagger(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


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


# Equality
def owner(pet: dict[str, Any]) -> dict[str, Any]:
    schemas = {
        "Pet": pet,
        "Owner": {"type": "object", "properties": {"pet": {"$ref": "#/components/schemas/Pet"}}},
        "House": {
            "type": "object",
            "properties": {"owner": {"$ref": "#/components/schemas/Owner"}},
        },
        "Other": {"type": "string"},
    }
    body = {
        "description": "ok",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/House"}}},
    }
    return {"schemas": schemas, "responses": {"Ok": body}}


@pytest.mark.parametrize("strategy", ["rename-left", "rename-right", "deduplicate-or-rename"])
def test_what_refers_to_something_renamed_is_renamed_too(strategy: Strategy) -> None:
    item = {"get": {"responses": {"200": {"$ref": "#/components/responses/Ok"}}}}
    one = spec({"/a": item}, components=owner({"type": "object"}))
    result = joined(one, spec({"/b": item}, components=owner({"type": "string"})), schemas=strategy)
    made = result.document

    def pet_of(path: str) -> Any:
        response = _at(made, made["paths"][path]["get"]["responses"]["200"])
        house = _at(made, response["content"]["application/json"]["schema"])
        return _at(made, _at(made, house["properties"]["owner"])["properties"]["pet"])

    assert (pet_of("/a"), pet_of("/b")) == ({"type": "object"}, {"type": "string"})
    assert len(made["components"]["schemas"]) == 7
    assert result.collisions == 4


def _at(document: dict[str, Any], reference: dict[str, str]) -> Any:
    for token in reference["$ref"].split("/")[1:]:
        document = document[token]
    return document


def test_circles_of_equal_schemas_are_equal_and_a_chosen_side_is_one_collision() -> None:
    circle = {
        "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"properties": {"a": {"$ref": "#/components/schemas/A"}}},
    }
    circles = spec({}, components={"schemas": circle})
    assert (
        joined(circles, copy.deepcopy(circles), schemas="rename-right").document["components"][
            "schemas"
        ]
        == circle
    )
    for strategy in ("accept-left", "accept-right"):
        one, other = (
            spec({}, components=owner({"type": "object"})),
            spec({}, components=owner({"type": "string"})),
        )
        assert joined(one, other, schemas=strategy).collisions == 1  # type: ignore[arg-type]


def test_true_and_1_differ_while_1_and_1_0_are_the_same() -> None:
    def holding(value: Any) -> dict[str, Any]:
        return spec(
            {"/a": plain(**{"x-value": [value]})},
            components={"schemas": {"A": {"default": value, "enum": [value]}}},
        )

    assert joined(holding(1), holding(1.0), schemas="fail").collisions == 0
    with pytest.raises(CommonplaceError, match="schema 'A'"):
        joined(holding(1), holding(True), schemas="fail")
    with pytest.raises(CommonplaceError, match="path '/a'"):
        joined(holding(0), holding(False))


def test_a_shared_link_to_another_operation_is_another_link() -> None:
    def linking(path: str) -> dict[str, Any]:
        response = {
            "200": {"description": "ok", "links": {"next": {"$ref": "#/components/links/Next"}}}
        }
        return spec(
            {path: plain(operationId="list", responses=response)},
            components={"links": {"Next": {"operationId": "list"}}},
        )

    made = joined(linking("/a"), linking("/b"), schemas="rename-right").document
    assert made["components"]["links"] == {
        "Next": {"operationId": "list"},
        "Next_right": {"operationId": "list_right"},
    }
    assert made["paths"]["/b"]["get"]["responses"]["200"]["links"]["next"] == {
        "$ref": "#/components/links/Next_right"
    }


# Webhooks and operation ids
def test_webhooks_that_differ_follow_the_path_strategy() -> None:
    left, right = (
        modern("3.1.0", webhooks={"new": {"post": {"summary": name, "responses": OK}}})
        for name in ("left", "right")
    )
    with pytest.raises(CommonplaceError) as raised:
        joined(left, right)
    assert raised.value.details == {"kind": "webhook", "name": "new"}
    for strategy, side in (("accept-left", "left"), ("accept-right", "right")):
        result = joined(left, right, paths=strategy)  # type: ignore[arg-type]
        assert result.document["webhooks"]["new"]["post"]["summary"] == side
        assert (result.collisions, result.warnings) == (
            1,
            [f"webhook 'new' differs between the documents: the {side} one was kept."],
        )
    assert joined(left, copy.deepcopy(left)).collisions == 0


def test_operation_ids_of_webhooks_callbacks_and_additional_operations_are_unique_too() -> None:
    def all_places(name: str) -> dict[str, Any]:
        callback = {"{$request.query.url}": {"post": {"operationId": "called", "responses": OK}}}
        return modern(
            "3.2.0",
            paths={
                f"/{name}": {
                    **plain(callbacks={"done": callback}),
                    "additionalOperations": {"COPY": {"operationId": "copy", "responses": OK}},
                }
            },
            webhooks={name: {"post": {"operationId": "hooked", "responses": OK}}},
        )

    made = joined(all_places("a"), all_places("b")).document
    item = made["paths"]["/b"]
    assert item["additionalOperations"]["COPY"]["operationId"] == "copy_right"
    assert (
        item["get"]["callbacks"]["done"]["{$request.query.url}"]["post"]["operationId"]
        == "called_right"
    )
    assert made["webhooks"]["b"]["post"]["operationId"] == "hooked_right"


def test_operation_ids_are_unique_whichever_side_is_kept_and_links_lead_to_what_stays() -> None:
    link = {"200": {"description": "ok", "links": {"first": {"operationId": "opA"}}}}
    one = spec({"/a": plain(operationId="opA"), "/b": plain(operationId="opB", responses=link)})
    other = spec({"/a": plain(operationId="opB")})
    right = joined(one, other, paths="accept-right").document["paths"]
    assert (right["/a"]["get"]["operationId"], right["/b"]["get"]["operationId"]) == (
        "opB_right",
        "opB",
    )
    assert right["/b"]["get"]["responses"]["200"]["links"]["first"] == {"operationId": "opB_right"}
    left = joined(one, other, paths="accept-left").document["paths"]
    assert (left["/a"]["get"]["operationId"], left["/b"]["get"]["operationId"]) == ("opA", "opB")


def test_an_operation_id_in_an_example_is_no_operation_id() -> None:
    one = spec({"/a": plain(operationId="list")})
    example = {
        "200": {
            "description": "ok",
            "content": {"application/json": {"example": {"operationId": "list"}}},
        }
    }
    made = joined(one, spec({"/b": plain(operationId="list", responses=example)})).document[
        "paths"
    ]["/b"]["get"]
    assert made["operationId"] == "list_right"
    assert made["responses"] == example


# Discriminators
CAT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}


def test_discriminator_values_survive_that_a_listed_schema_is_renamed() -> None:
    def pets(cat: dict[str, Any]) -> dict[str, Any]:
        branches = [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}]
        pet = {"oneOf": branches, "discriminator": {"propertyName": "kind"}}
        return spec({}, components={"schemas": {"Cat": cat, "Dog": CAT, "Pet": pet}})

    made = joined(
        pets(CAT), pets({**CAT, "description": "other"}), schemas="rename-right"
    ).document["components"]["schemas"]
    assert made["Pet"]["discriminator"] == {"propertyName": "kind"}
    assert made["Pet_right"]["discriminator"] == {
        "propertyName": "kind",
        "mapping": {"Cat": "#/components/schemas/Cat_right"},
    }
    assert "Dog_right" not in made


def test_discriminator_values_survive_that_an_extending_schema_is_renamed() -> None:
    def pets(extra: str) -> dict[str, Any]:
        pet = {**CAT, "discriminator": {"propertyName": "kind"}}
        cat = {
            "allOf": [
                {"$ref": "#/components/schemas/Pet"},
                {"properties": {extra: {"type": "string"}}},
            ]
        }
        return spec({}, components={"schemas": {"Pet": pet, "Cat": cat}})

    made = joined(pets("a"), pets("b"), schemas="rename-left").document["components"]["schemas"]
    assert made["Pet_left"]["discriminator"]["mapping"] == {
        "Cat": "#/components/schemas/Cat_left",
    }
    assert made["Cat_left"]["allOf"][0] == {"$ref": "#/components/schemas/Pet_left"}
    assert made["Pet"]["discriminator"] == {"propertyName": "kind"}


def test_a_default_mapping_follows_a_schema_that_is_renamed() -> None:
    def pets(cat: dict[str, Any]) -> dict[str, Any]:
        pet = {
            "oneOf": [{"$ref": "#/components/schemas/Cat"}],
            "discriminator": {"propertyName": "kind", "defaultMapping": "Cat"},
        }
        return modern("3.2.0", paths={}, components={"schemas": {"Cat": cat, "Pet": pet}})

    made = joined(
        pets(CAT), pets({**CAT, "description": "other"}), schemas="rename-right"
    ).document["components"]["schemas"]
    assert made["Pet_right"]["discriminator"]["defaultMapping"] == "Cat_right"


def test_2_0_says_which_discriminator_value_changed() -> None:
    def pets(extra: str) -> dict[str, Any]:
        cat = {
            "allOf": [{"$ref": "#/definitions/Pet"}, {"properties": {extra: {"type": "string"}}}]
        }
        return swagger({}, definitions={"Pet": {**CAT, "discriminator": "kind"}, "Cat": cat})

    result = joined(pets("a"), pets("b"), schemas="rename-right")
    assert any(
        "'Cat' is a value of the discriminator of 'Pet' and is now 'Cat_right'" in warning
        for warning in result.warnings
    )


# Bundling
FILES = {
    "root.yaml": """
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /a: {$ref: 'paths/a.yaml'}
components:
  schemas:
    Error: {type: object}
    Local: {$ref: 'models.yaml#/Pet'}
""",
    "paths/a.yaml": """
get:
  parameters:
    - $ref: '../parameters.yaml#/limit'
  responses:
    '200':
      description: ok
      content:
        application/json:
          schema: {$ref: '../models.yaml#/Pet'}
    default:
      description: bad
      content:
        application/json:
          schema: {$ref: '../root.yaml#/components/schemas/Error'}
""",
    "models.yaml": """
Pet:
  type: object
  properties:
    friend: {$ref: '#/Pet'}
    error: {$ref: '#/Error'}
Error: {type: string}
""",
    "parameters.yaml": "limit: {name: limit, in: query, schema: {type: integer}}",
}


def test_bundling_brings_all_files_into_one_and_keeps_cycles(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    store = DocumentStore(Access(local=True, working_folder=tmp_path))
    document = store.load(Spec(file=str(tmp_path / "root.yaml")))
    made = bundle(document, store.resolver(document))
    schemas = made.document["components"]["schemas"]
    get = made.document["paths"]["/a"]["get"]
    assert get["parameters"] == [{"$ref": "#/components/parameters/limit"}]
    assert get["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Local"
    }
    assert get["responses"]["default"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Error"
    }
    assert schemas["Local"]["properties"] == {
        "friend": {"$ref": "#/components/schemas/Local"},
        "error": {"$ref": "#/components/schemas/Error2"},
    }
    assert schemas["Error"] == {"type": "object"}
    assert schemas["Error2"] == {"type": "string"}
    assert len(made.files) == 3


PETS = {
    "root.yaml": """
openapi: 3.0.3
info: {title: t, version: '1'}
paths: {}
components:
  schemas:
    Dog: {type: object, properties: {root: {type: string}}}
    Pet:
      oneOf:
        - $ref: 'pets.yaml#/components/schemas/Cat'
        - $ref: '#/components/schemas/Dog'
        - $ref: 'bird.yaml'
      discriminator:
        propertyName: kind
        mapping:
          cat: 'pets.yaml#/components/schemas/Cat'
          dog: Dog
          hound: '#/components/schemas/Dog'
          bird: bird.yaml
          fish: 'pets.yaml#/components/schemas/Fish'
    Owner: {$ref: 'pets.yaml#/components/schemas/Owner'}
""",
    "pets.yaml": """
components:
  schemas:
    Cat: {type: object}
    Dog: {type: object, properties: {other: {type: string}}}
    Fish: {type: object}
    Owner:
      oneOf: [{$ref: '#/components/schemas/Dog'}, {$ref: '#/components/schemas/Cat'}]
      discriminator: {propertyName: kind, mapping: {d: Dog, c: '#/components/schemas/Cat', other: Unknown}}
""",
    "bird.yaml": "type: object",
}


def test_bundling_follows_the_mappings_of_discriminators_as_it_follows_references(
    tmp_path: Path,
) -> None:
    for name, text in PETS.items():
        (tmp_path / name).write_text(text)
    store = DocumentStore(Access(local=True, working_folder=tmp_path))
    document = store.load(Spec(file=str(tmp_path / "root.yaml")))
    schemas = bundle(document, store.resolver(document)).document["components"]["schemas"]
    pet, owner = schemas["Pet"], schemas["Owner"]
    start = "#/components/schemas/"
    assert [one["$ref"] for one in pet["oneOf"]] == [f"{start}Cat", f"{start}Dog", f"{start}bird"]
    assert pet["discriminator"]["mapping"] == {
        "cat": f"{start}Cat",
        "dog": "Dog",
        "hound": f"{start}Dog",
        "bird": f"{start}bird",
        "fish": f"{start}Fish",
    }
    assert schemas["Fish"] == {"type": "object"}, "what only a mapping names is brought in too"
    assert owner["discriminator"]["mapping"] == {
        "d": f"{start}Dog2",
        "c": f"{start}Cat",
        "other": "Unknown",
    }
    assert schemas["Dog2"]["properties"] == {"other": {"type": "string"}}


def test_bundling_a_missing_file_says_which(tmp_path: Path) -> None:
    (tmp_path / "root.yaml").write_text(
        "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths:\n  /a: {$ref: gone.yaml}\n"
    )
    store = DocumentStore(Access(local=True, working_folder=tmp_path))
    document = store.load(Spec(file=str(tmp_path / "root.yaml")))
    with pytest.raises(CommonplaceError, match=r"gone\.yaml"):
        bundle(document, store.resolver(document))
