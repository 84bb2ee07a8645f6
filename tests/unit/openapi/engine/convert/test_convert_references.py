"""References that lead inside of something, through conversion: they lead to the same thing, or
an issue says otherwise.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from commonplace.openapi.engine.convert.chain import LADDER, Conversion, convert
from commonplace.openapi.engine.document.keywords import collect_references
from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import resolve_pointer
from commonplace.openapi.engine.validate.report import validate
from commonplace.openapi.engine.yaml.emit import to_json
from commonplace.openapi.model import Family

V20, V30, V31, V32 = LADDER
HEADS = {
    V20: {"swagger": "2.0"},
    V30: {"openapi": "3.0.3"},
    V31: {"openapi": "3.1.0"},
    V32: {"openapi": "3.2.0"},
}
BOX = {"type": "object", "properties": {"n": {"type": "integer"}}}


def spec(version: Family, **more: Any) -> dict[str, Any]:
    return {**HEADS[version], "info": {"title": "t", "version": "1"}, "paths": {}, **more}


def converted(document: dict[str, Any], source: Family, target: Family) -> Conversion:
    before = copy.deepcopy(document)
    given = load(to_json(document))
    assert validate(given, ReferenceResolver(given)).errors == [], "the source must be valid"
    result = convert(document, source, target)
    assert document == before, "the source must not change"
    made = load(to_json(result.document))
    assert [str(finding) for finding in validate(made, ReferenceResolver(made)).errors] == []
    for reference in collect_references(result.document):
        resolve_pointer(result.document, reference)
    return result


def answer(schema: dict[str, Any], version: Family) -> dict[str, Any]:
    body = (
        {"schema": schema}
        if version is V20
        else {"content": {"application/json": {"schema": schema}}}
    )
    return {"responses": {"200": {"description": "ok", **body}}}


def using(reference: str, version: Family, **more: Any) -> dict[str, Any]:
    """A document whose schema `User` has a member `a` behind a reference."""
    user = {"type": "object", "properties": {"a": {"$ref": reference}}}
    if version is V20:
        return spec(
            version, **{**more, "definitions": {"User": user, **more.get("definitions", {})}}
        )
    components = more.get("components", {})
    return spec(
        version,
        **{
            **more,
            "components": {
                **components,
                "schemas": {"User": user, **components.get("schemas", {})},
            },
        },
    )


def member(result: Conversion) -> Any:
    """What the member `a` of `User` is, through references."""
    document = result.document
    schemas = (
        document["definitions"] if "swagger" in document else document["components"]["schemas"]
    )
    node = schemas["User"]["properties"]["a"]
    while "$ref" in node:
        node = resolve_pointer(document, node["$ref"])
    return node


JSON_BODY = {"content": {"application/json": {"schema": BOX}}}
CASES = [
    (
        V20,
        V30,
        "#/paths/~1a/get/responses/200/schema",
        {"paths": {"/a": {"get": answer(BOX, V20)}}},
    ),
    (V20, V30, "#/responses/R/schema", {"responses": {"R": {"description": "d", "schema": BOX}}}),
    (
        V30,
        V20,
        "#/paths/~1a/get/responses/200/content/application~1json/schema",
        {"paths": {"/a": {"get": answer(BOX, V30)}}},
    ),
    (
        V30,
        V20,
        "#/components/requestBodies/X/content/application~1json/schema",
        {"components": {"requestBodies": {"X": JSON_BODY}}},
    ),
    (
        V30,
        V20,
        "#/components/schemas/A/oneOf/0",
        {"components": {"schemas": {"A": {"oneOf": [BOX, {"type": "string"}]}}}},
    ),
    (
        V30,
        V31,
        "#/components/schemas/A/allOf/0",
        {"components": {"schemas": {"A": {"allOf": [BOX], "nullable": True}}}},
    ),
    (
        V31,
        V30,
        "#/components/schemas/T/prefixItems/0",
        {"components": {"schemas": {"T": {"type": "array", "prefixItems": [BOX]}}}},
    ),
    (
        V31,
        V30,
        "#/components/schemas/T/patternProperties/%5Ex",
        {"components": {"schemas": {"T": {"type": "object", "patternProperties": {"^x": BOX}}}}},
    ),
    (
        V31,
        V30,
        "#/components/pathItems/P/get/responses/200/content/application~1json/schema",
        {
            "components": {"pathItems": {"P": {"get": answer(BOX, V31)}}},
            "paths": {"/a": {"$ref": "#/components/pathItems/P"}},
        },
    ),
    (
        V31,
        V30,
        "#/webhooks/h/post/responses/200/content/application~1json/schema",
        {"webhooks": {"h": {"post": answer(BOX, V31)}}},
    ),
    (
        V31,
        V30,
        "#/components/schemas/E/x-parts/b",
        {"components": {"schemas": {"E": {"x-parts": {"b": BOX}}}}},
    ),
    (
        V32,
        V31,
        "#/components/mediaTypes/J/schema",
        {"components": {"mediaTypes": {"J": {"schema": BOX}}}},
    ),
    (
        V31,
        V20,
        "#/components/schemas/S/$defs/a~1b%20c",
        {"components": {"schemas": {"S": {"$defs": {"a/b c": BOX}}}}},
    ),
    (
        V32,
        V20,
        "#/components/mediaTypes/J/schema",
        {"components": {"mediaTypes": {"J": {"schema": BOX}}}},
    ),
]


@pytest.mark.parametrize(
    ("source", "target", "reference", "more"), CASES, ids=[f"{s}-{t} {r}" for s, t, r, _ in CASES]
)
def test_a_reference_into_a_value_leads_to_the_same_schema(
    source: Family, target: Family, reference: str, more: dict[str, Any]
) -> None:
    result = converted(using(reference, source, **more), source, target)
    assert member(result) == BOX
    assert any(
        issue.severity == "info" and repr(reference) in issue.message for issue in result.issues
    )


def test_the_old_place_refers_to_the_new_component() -> None:
    paths = {"/a": {"get": answer(BOX, V20)}}
    made = converted(
        using("#/paths/~1a/get/responses/200/schema", V20, paths=paths), V20, V30
    ).document
    content = made["paths"]["/a"]["get"]["responses"]["200"]["content"]
    assert content == {
        "application/json": {"schema": {"$ref": "#/components/schemas/a_get_responses_200"}}
    }


def test_a_reference_to_a_property_stays_where_its_place_does() -> None:
    reference = "#/components/schemas/B/properties/n"
    for target in (V20, V31, V30):
        source = V31 if target is V30 else V30
        result = converted(
            using(reference, source, components={"schemas": {"B": BOX}}), source, target
        )
        assert member(result) == {"type": "integer"}
        assert set(
            result.document.get("definitions") or result.document["components"]["schemas"]
        ) == {"User", "B"}
        assert result.issues == ()


def test_a_schema_that_refers_to_its_own_place_is_converted() -> None:
    reference = "#/components/schemas/Tree/oneOf/0"
    tree = {
        "oneOf": [
            {"type": "object", "properties": {"kid": {"$ref": reference}}},
            {"type": "string"},
        ]
    }
    made = converted(
        using(reference, V30, components={"schemas": {"Tree": tree}}), V30, V20
    ).document
    assert made["definitions"]["Tree_oneOf_0"]["properties"]["kid"] == {
        "$ref": "#/definitions/Tree_oneOf_0"
    }
    assert made["definitions"]["Tree"]["x-oneOf"][0] == {"$ref": "#/definitions/Tree_oneOf_0"}


def test_nested_targets_get_their_own_components() -> None:
    inner = {"oneOf": [BOX, {"type": "string"}]}
    schemas = {
        "A": {"anyOf": [inner, {"type": "boolean"}]},
        "B": {"$ref": "#/components/schemas/A/anyOf/0"},
        "C": {"$ref": "#/components/schemas/A/anyOf/0/oneOf/0"},
    }
    made = converted(spec(V30, components={"schemas": schemas}), V30, V20).document["definitions"]
    assert made["B"] == {"$ref": "#/definitions/A_anyOf_0"}
    assert (
        made["A_anyOf_0"]["x-oneOf"][0] == made["C"] == {"$ref": "#/definitions/A_anyOf_0_oneOf_0"}
    )
    assert made["A_anyOf_0_oneOf_0"] == BOX


def test_definitions_inside_schemas_get_names_that_components_may_have() -> None:
    inside = {"a/b c": {"type": "string"}, "a_b_c": {"type": "integer"}}
    properties = {
        "x": {"$ref": "#/components/schemas/S/$defs/a~1b%20c"},
        "y": {"$ref": "#/components/schemas/S/$defs/a_b_c"},
    }
    made = converted(
        spec(V31, components={"schemas": {"S": {"properties": properties, "$defs": inside}}}),
        V31,
        V30,
    ).document
    schemas = made["components"]["schemas"]
    assert schemas["S"]["properties"] == {
        "x": {"$ref": "#/components/schemas/a_b_c"},
        "y": {"$ref": "#/components/schemas/a_b_c_2"},
    }
    assert (schemas["a_b_c"], schemas["a_b_c_2"]) == ({"type": "string"}, {"type": "integer"})


def test_a_loss_in_a_new_component_is_reported_once_at_its_source() -> None:
    odd = {"type": "object", "contains": {"type": "string"}}
    document = using(
        "#/components/schemas/T/prefixItems/0",
        V31,
        components={"schemas": {"T": {"type": "array", "prefixItems": [odd]}}},
    )
    told = [
        issue.path
        for issue in converted(document, V31, V30).issues
        if "`contains`" in issue.message
    ]
    assert told == ["/components/schemas/T/prefixItems/0/contains"]


def test_null_is_recognized_in_a_referenced_branch() -> None:
    choice = {"oneOf": [{"type": "null"}, BOX]}
    document = using("#/components/schemas/C/oneOf/0", V31, components={"schemas": {"C": choice}})
    made = converted(document, V31, V30).document["components"]["schemas"]
    assert made["C"]["nullable"] is True


def test_parameters_and_responses_of_another_operation_are_copied_to_their_use() -> None:
    shared = [{"name": "b", "in": "body", "schema": BOX}]
    first = {"produces": ["text/plain"], "parameters": shared, **answer({"type": "string"}, V20)}
    second = {
        "produces": ["text/plain"],
        "parameters": [{"$ref": "#/paths/~1a/post/parameters/0"}],
        "responses": {"200": {"$ref": "#/paths/~1a/post/responses/200"}},
    }
    paths = converted(
        spec(V20, paths={"/a": {"post": first}, "/b": {"post": second}}), V20, V30
    ).document["paths"]
    assert paths["/b"]["post"]["requestBody"] == paths["/a"]["post"]["requestBody"]
    assert paths["/b"]["post"]["responses"] == paths["/a"]["post"]["responses"]
    assert list(paths["/b"]["post"]["responses"]["200"]["content"]) == ["text/plain"]


def test_path_items_without_a_place_in_3_0_are_copied_to_their_use() -> None:
    item = {"get": answer(BOX, V31)}
    document = spec(
        V31,
        webhooks={"h": item},
        paths={"/a": {"$ref": "#/webhooks/h"}, "/b": {"$ref": "#/paths/~1a"}},
    )
    paths = converted(document, V31, V30).document["paths"]
    assert paths == {"/a": item, "/b": {"$ref": "#/paths/~1a"}}


def test_a_path_item_that_contains_itself_ends_with_an_issue() -> None:
    item = {
        "get": {
            **answer(BOX, V31),
            "callbacks": {"c": {"{$url}": {"$ref": "#/components/pathItems/P"}}},
        }
    }
    document = spec(
        V31,
        components={"pathItems": {"P": item}},
        paths={"/a": {"$ref": "#/components/pathItems/P"}},
    )
    result = converted(document, V31, V30)
    assert "/paths/~1a/get/callbacks/c/{$url}/$ref" in {
        issue.path for issue in result.issues if issue.severity == "critical"
    }
    assert result.document["paths"]["/a"]["get"]["callbacks"] == {"c": {"{$url}": {}}}


def test_the_documents_own_address_is_left_out_where_the_version_has_no_field_for_it() -> None:
    own = "https://api.example/doc"
    document = using(
        f"{own}#/components/schemas/B", V32, components={"schemas": {"B": BOX}}, **{"$self": own}
    )
    assert member(converted(document, V32, V31)) == BOX


def test_a_mapping_to_a_place_follows_it() -> None:
    cat = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    place = "#/components/schemas/Pair/prefixItems/0"
    pet = {
        "oneOf": [{"$ref": place}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": place}},
    }
    document = spec(
        V31, components={"schemas": {"Pet": pet, "Pair": {"type": "array", "prefixItems": [cat]}}}
    )
    made = converted(document, V31, V30).document["components"]["schemas"]["Pet"]
    assert list(made["discriminator"]["mapping"].values()) == [
        branch["$ref"] for branch in made["oneOf"]
    ]


def test_a_reference_that_leads_nowhere_is_reported() -> None:
    document = spec(
        V30, components={"schemas": {"A": {"$ref": "#/components/schemas/Missing/oneOf/0"}}}
    )
    result = convert(document, V30, V20)
    assert [(issue.severity, issue.path) for issue in result.issues] == [
        ("critical", "/definitions/A/$ref")
    ]


def test_references_in_what_2_0_keeps_as_an_extension_are_followed_on_the_way_up() -> None:
    parts = {
        "A": {
            "type": "object",
            "properties": {"p": {"$ref": "#/paths/~1a/get/responses/200/schema"}},
        }
    }
    either = {
        "x-oneOf": [{"$ref": "#/paths/~1a/get/responses/200/schema"}, {"$ref": "#/definitions/A"}]
    }
    document = spec(
        V20, paths={"/a": {"get": answer(BOX, V20)}}, definitions={**parts, "Either": either}
    )
    made = converted(document, V20, V30).document
    assert resolve_pointer(made, made["components"]["schemas"]["Either"]["oneOf"][0]["$ref"]) == BOX


def test_a_media_type_that_contains_itself_ends_with_an_issue() -> None:
    again = {"content": {"text/plain": {"$ref": "#/components/mediaTypes/M"}}}
    media = {"schema": BOX, "encoding": {"n": {"headers": {"H": again}}}}
    bodies = {"R": {"content": {"multipart/form-data": {"$ref": "#/components/mediaTypes/M"}}}}
    result = converted(
        spec(V32, components={"mediaTypes": {"M": media}, "requestBodies": bodies}), V32, V31
    )
    made = result.document["components"]["requestBodies"]["R"]["content"]["multipart/form-data"]
    assert made["schema"] == BOX
    assert made["encoding"]["n"]["headers"]["H"]["content"] == {"text/plain": {}}
    assert result.critical > 0


def test_another_name_of_mutual_tls_is_dropped_with_it() -> None:
    schemes = {"tls": {"type": "mutualTLS"}, "same": {"$ref": "#/components/securitySchemes/tls"}}
    result = converted(
        spec(V31, components={"securitySchemes": schemes}, security=[{"same": []}]), V31, V30
    )
    assert result.document["components"]["securitySchemes"] == {}
    assert result.document["security"] == [{}]
    assert [issue.path for issue in result.issues] == [
        "/components/securitySchemes/tls",
        "/components/securitySchemes/same",
    ]


def test_links_follow_webhooks_to_where_3_0_keeps_them() -> None:
    links = {
        "l": {"operationRef": "#/webhooks/h/post"},
        "p": {"operationRef": "#/components/pathItems/P/get"},
    }
    item = {"get": {"responses": {"200": {"description": "d", "links": links}}}}
    document = spec(
        V31,
        paths={"/a": item},
        webhooks={"h": {"post": answer(BOX, V31)}},
        components={"pathItems": {"P": item}},
    )
    result = converted(document, V31, V30)
    made = result.document["paths"]["/a"]["get"]["responses"]["200"]["links"]["l"]["operationRef"]
    assert "responses" in resolve_pointer(result.document, made)
    assert "/paths/~1a/get/responses/200/links/p/operationRef" in {
        issue.path for issue in result.issues if issue.severity == "warning"
    }
