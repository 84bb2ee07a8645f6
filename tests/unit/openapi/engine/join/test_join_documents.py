"""Joined documents: strategies for schemas and paths, renames, discriminators."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from join_cases import OK, joined, modern, owner, plain, spec, swagger

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.join.documents import JoinPart, Strategy, join
from commonplace.openapi.model import Family


def using(name: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {
        "get": {
            "responses": {
                "200": {"description": "ok", "content": {"application/json": {"schema": schema}}}
            }
        }
    }


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


def test_equal_schemas_do_not_collide() -> None:
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


def test_each_path_strategy_keeps_its_side() -> None:
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


def test_operations_of_one_path_in_two_documents_are_merged() -> None:
    made = joined(
        spec({"/a": {"get": {"responses": OK}}}), spec({"/a": {"post": {"responses": OK}}})
    )
    assert set(made.document["paths"]["/a"]) == {"get", "post"}
    assert made.collisions == 0


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


@pytest.mark.parametrize("strategy", ["rename-left", "rename-right", "deduplicate-or-rename"])
def test_components_that_refer_to_a_renamed_one_are_renamed_too(strategy: Strategy) -> None:
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


# Discriminators
CAT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}


def test_discriminator_values_survive_the_renaming_of_a_listed_schema() -> None:
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


def test_discriminator_values_survive_the_renaming_of_a_subtype() -> None:
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


def test_a_changed_discriminator_value_is_reported_for_2_0() -> None:
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
