"""Equivalent documents with different spellings: comparison reports no change."""

from __future__ import annotations

import time
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from oas_calls import document, minimal, operation

CAT: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["cat"]}, "name": {"type": "string"}},
}
DOG: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["dog"]}, "name": {"type": "string"}},
}


def list_reported(old: Any, new: Any) -> list[tuple[str, str]]:
    first, second = document(old), document(new)
    changes = diff(first, second, ReferenceResolver(first), ReferenceResolver(second))
    return [
        (change.rule.id, change.level.value)
        for change in changes
        if change.rule.id != "version-changed"
    ]


def both(schema: Any, version: str = "3.0.3", **schemas: Any) -> dict[str, Any]:
    """Return a document that sends and receives a schema."""
    media = {"content": {"application/json": {"schema": schema}}}
    used = operation(requestBody=media, responses={"200": {"description": "fine", **media}})
    return minimal(version, paths={"/a": {"post": used}}, components={"schemas": schemas})


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_alternatives_may_be_references_or_inline(keyword: str) -> None:
    named = both({keyword: [ref("Cat"), ref("Dog")]}, Cat=CAT, Dog=DOG)
    in_place = both({keyword: [DOG, CAT]}, Cat=CAT, Dog=DOG)

    assert list_reported(named, in_place) == list_reported(in_place, named) == []


def test_alternatives_with_references_match_inline_ones() -> None:
    owned = {**CAT, "properties": {**CAT["properties"], "owner": ref("Owner")}}
    owner = {"type": "object", "properties": {"pets": {"type": "array", "items": ref("Cat")}}}
    whole = {**CAT, "properties": {**CAT["properties"], "owner": owner}}
    schemas = {"Cat": owned, "Dog": DOG, "Owner": owner}
    named, in_place = (
        both({"oneOf": [ref("Cat"), ref("Dog")]}, **schemas),
        both({"oneOf": [whole, DOG]}, **schemas),
    )

    assert list_reported(named, in_place) == list_reported(in_place, named) == []


def test_a_change_inside_an_inlined_alternative_is_reported_as_such() -> None:
    renamed = {
        **CAT,
        "properties": {"kind": CAT["properties"]["kind"], "name": {"type": "integer"}},
    }
    named, in_place = (
        both({"oneOf": [ref("Cat"), DOG]}, Cat=CAT),
        both({"oneOf": [renamed, DOG]}, Cat=CAT),
    )

    assert set(list_reported(named, in_place)) == {("type-changed", "error")}


def test_an_alternative_may_be_renamed_unless_a_discriminator_names_it() -> None:
    def api(name: str, **more: Any) -> dict[str, Any]:
        return both({"oneOf": [ref(name), ref("Dog")], **more}, **{name: CAT, "Dog": DOG})

    harmless = [("component-added", "info"), ("component-removed", "info")]
    assert sorted(list_reported(api("Cat"), api("Kitty"))) == harmless
    discriminated = {"discriminator": {"propertyName": "kind"}}
    assert ("alternative-removed", "error") in list_reported(
        api("Cat", **discriminated), api("Kitty", **discriminated)
    )


def test_alternatives_are_distinguished_by_property_values() -> None:
    bird = {
        **CAT,
        "properties": {**CAT["properties"], "kind": {"type": "string", "enum": ["bird"]}},
    }
    changes = list_reported(
        both({"oneOf": [ref("Cat"), ref("Dog")]}, Cat=CAT, Dog=DOG),
        both({"oneOf": [ref("Cat"), ref("Bird")]}, Cat=CAT, Bird=bird),
    )

    assert ("alternative-removed", "error") in changes
    assert ("alternative-added", "error") in changes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"type": "string", "format": "binary"},
            {"type": "string", "contentMediaType": "application/octet-stream"},
        ),
        ({"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}),
        ({"nullable": True, "oneOf": [CAT, DOG]}, {"oneOf": [CAT, DOG, {"type": "null"}]}),
        ({"nullable": True, "anyOf": [CAT, DOG]}, {"anyOf": [CAT, DOG, {"type": "null"}]}),
    ],
)
def test_spelling_differences_of_3_0_and_3_1_are_not_changes(old: Any, new: Any) -> None:
    assert (
        list_reported(both(old), both(new, "3.1.0"))
        == list_reported(both(new, "3.1.0"), both(old))
        == []
    )


def test_a_file_of_2_0_is_binary() -> None:
    answer = {"200": {"description": "d", "schema": {"type": "file"}}}
    swagger = minimal(
        "2.0", paths={"/a": {"get": operation(responses=answer, produces=["image/png"])}}
    )
    content = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
    later = minimal(
        paths={
            "/a": {"get": operation(responses={"200": {"description": "d", "content": content}})}
        }
    )

    assert list_reported(swagger, later) == list_reported(later, swagger) == []


def test_an_image_that_becomes_any_bytes_is_reported() -> None:
    image, anything = (
        {"type": "string", "contentMediaType": kind}
        for kind in ("image/png", "application/octet-stream")
    )

    assert ("composition-changed", "warning") in list_reported(
        both(image, "3.1.0"), both(anything, "3.1.0")
    )


def test_the_fields_of_a_2_0_form_have_descriptions() -> None:
    def swagger(text: str) -> dict[str, Any]:
        field = {"name": "a", "in": "formData", "type": "string", "description": text}
        form = operation(parameters=[field], consumes=["application/x-www-form-urlencoded"])
        return minimal("2.0", paths={"/a": {"post": form}})

    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "one"}}}
    body = {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}
    assert (
        list_reported(swagger("one"), minimal(paths={"/a": {"post": operation(requestBody=body)}}))
        == []
    )
    assert list_reported(swagger("one"), swagger("two")) == [("description-changed", "info")]


def secured(name: str, header: str = "X-Key", **scheme: Any) -> dict[str, Any]:
    schemes = {name: {"type": "apiKey", "in": "header", "name": header, **scheme}}
    return minimal(
        paths={"/a": {"get": operation(security=[{name: []}])}},
        components={"securitySchemes": schemes},
    )


def test_a_security_scheme_may_be_renamed() -> None:
    assert list_reported(secured("key"), secured("token", description="the same key")) == [
        ("security-scheme-renamed", "info")
    ]


def test_a_security_scheme_that_is_sent_differently_is_a_change() -> None:
    assert ("security-tightened", "error") in list_reported(
        secured("key"), secured("token", header="X-Token")
    )


def answering(*codes: str, **contents: Any) -> dict[str, Any]:
    def answer(code: str) -> dict[str, Any]:
        schema = contents.get(f"of_{code}", {"type": "string"})
        return {"description": "d", "content": {"application/json": {"schema": schema}}}

    return minimal(
        paths={"/a": {"get": operation(responses={code: answer(code) for code in codes})}}
    )


def test_a_range_of_status_codes_includes_its_codes() -> None:
    number = {"type": "integer"}

    assert list_reported(answering("200"), answering("2XX")) == [("success-response-added", "info")]
    assert (
        list_reported(answering("2XX"), answering("200", "201"))
        == [("success-response-added", "info")] * 2
    )
    assert ("type-changed", "error") in list_reported(
        answering("200"), answering("2XX", of_2XX=number)
    )
    assert ("type-changed", "error") in list_reported(
        answering("2XX"), answering("2XX", "201", of_201=number)
    )
    assert ("success-response-removed", "error") in list_reported(
        answering("200"), answering("4XX")
    )


def test_a_final_slash_of_a_server_and_the_order_of_tags_do_not_matter() -> None:
    def api(url: str, *tags: str) -> dict[str, Any]:
        return minimal(servers=[{"url": url}], paths={"/a": {"get": operation(tags=list(tags))}})

    assert (
        list_reported(api("https://a.example/v1", "x", "y"), api("https://a.example/v1/", "y", "x"))
        == []
    )
    assert ("operation-tags-changed", "info") in list_reported(api("/", "x"), api("/", "y"))


@pytest.mark.parametrize("prefix", ["p", "q"], ids=["changed", "replaced"])
def test_the_time_for_a_union_is_linear_in_its_alternatives(prefix: str) -> None:
    def union(count: int, name: str, kind: str) -> dict[str, Any]:
        return both(
            {
                "oneOf": [
                    {"type": "object", "properties": {f"{name}{n}": {"type": kind}}}
                    for n in range(count)
                ]
            }
        )

    def seconds(count: int) -> float:
        old, new = document(union(count, "p", "string")), document(union(count, prefix, "integer"))
        started = time.thread_time()
        diff(old, new, ReferenceResolver(old), ReferenceResolver(new))
        return time.thread_time() - started

    seconds(10)
    assert seconds(3200) < 20 * seconds(400)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": ["string", "integer"]}),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            {"type": ["integer", "null", "string"]},
        ),
        (
            {"oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
            {"type": "string", "enum": ["a", "b"]},
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "additionalProperties": {"not": {}}},
        ),
        (False, {"not": {}}),
    ],
)
def test_equivalent_json_schema_is_not_a_change(old: Any, new: Any) -> None:
    assert (
        list_reported(both(old, "3.1.0"), both(new, "3.1.0"))
        == list_reported(both(new, "3.1.0"), both(old, "3.1.0"))
        == []
    )


def test_a_value_that_matches_two_branches_of_a_oneof_is_invalid() -> None:
    exclusive, either = (
        {"oneOf": [{"type": "number"}, {"type": "integer"}]},
        {"type": ["number", "integer"]},
    )

    assert list_reported(both(exclusive, "3.1.0"), both(either, "3.1.0"))


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False)])
def test_a_number_that_becomes_a_boolean_is_reported(old: Any, new: Any) -> None:
    assert ("enum-value-removed", "error") in list_reported(
        both({"enum": [old]}), both({"enum": [new]})
    )
    assert ("default-changed", "warning") in list_reported(
        both({"default": old}), both({"default": new})
    )


def test_the_default_server_is_the_root_of_the_host() -> None:
    assert (
        list_reported(minimal(), minimal(servers=[{"url": "/"}]))
        == list_reported(minimal(servers=[{"url": "/"}]), minimal())
        == []
    )
    assert list_reported(minimal(), minimal(servers=[{"url": "https://a.example"}])) == [
        ("server-added", "info")
    ]


def test_alternatives_that_differ_deep_inside_are_found_in_any_order() -> None:
    def branch(*reasons: str) -> dict[str, Any]:
        exemption = {
            "type": "object",
            "properties": {"reason": {"type": "string", "enum": list(reasons)}},
        }
        return {
            "type": "object",
            "properties": {"exemption": exemption, "name": {"type": "string"}},
        }

    old, new = (
        both({"oneOf": [branch("a", "b"), branch("c", "d")]}),
        both({"oneOf": [branch("d", "c"), branch("b", "a")]}),
    )

    assert list_reported(old, new) == []
    more = both({"oneOf": [branch("e"), branch("d", "c"), branch("b", "a")]})
    assert {rule for rule, _ in list_reported(old, more)} == {"alternative-added"}


def test_the_order_and_description_of_server_values_do_not_matter() -> None:
    def api(*values: str, **more: str) -> dict[str, Any]:
        return minimal(
            servers=[
                {
                    "url": "https://{h}",
                    "variables": {"h": {"default": "a", "enum": list(values), **more}},
                }
            ]
        )

    assert list_reported(api("a", "b"), api("b", "a", description="host")) == []
    assert list_reported(api("a", "b"), api("a")) == [("server-variable-changed", "warning")]


def test_schemas_that_redefine_each_other_endlessly_are_refused() -> None:
    def ring(kind: str, count: int = 110) -> dict[str, Any]:
        schemas = {}
        for number in range(count):
            after = ref(f"S{(number + 1) % count}")
            inherited = {"allOf": [ref(f"S{number + 7}")]} if number < count - 8 else {}
            schemas[f"S{number}"] = {
                "type": "object",
                "properties": {"id": {"type": kind}, "next": after},
                **inherited,
            }
        return both(ref("S0"), "3.1.0", **schemas)

    with pytest.raises(CommonplaceError) as refused:
        list_reported(ring("integer"), ring("string"))
    assert refused.value.code.name == "SPEC_TOO_LARGE"
    assert list_reported(ring("integer", 20), ring("string", 20))
