"""Documents that say the same in other words: no client notices, so comparison does not either."""

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


def told(old: Any, new: Any) -> list[tuple[str, str]]:
    first, second = document(old), document(new)
    changes = diff(first, second, ReferenceResolver(first), ReferenceResolver(second))
    return [
        (change.rule.id, change.level.value)
        for change in changes
        if change.rule.id != "version-changed"
    ]


def both(schema: Any, version: str = "3.0.3", **schemas: Any) -> dict[str, Any]:
    """A schema that is sent and received."""
    media = {"content": {"application/json": {"schema": schema}}}
    used = operation(requestBody=media, responses={"200": {"description": "fine", **media}})
    return minimal(version, paths={"/a": {"post": used}}, components={"schemas": schemas})


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_alternatives_may_be_references_or_stand_in_place(keyword: str) -> None:
    named = both({keyword: [ref("Cat"), ref("Dog")]}, Cat=CAT, Dog=DOG)
    in_place = both({keyword: [DOG, CAT]}, Cat=CAT, Dog=DOG)

    assert told(named, in_place) == told(in_place, named) == []


def test_alternatives_that_hold_references_are_found_where_everything_stands_in_place() -> None:
    owned = {**CAT, "properties": {**CAT["properties"], "owner": ref("Owner")}}
    owner = {"type": "object", "properties": {"pets": {"type": "array", "items": ref("Cat")}}}
    whole = {**CAT, "properties": {**CAT["properties"], "owner": owner}}
    schemas = {"Cat": owned, "Dog": DOG, "Owner": owner}
    named, in_place = (
        both({"oneOf": [ref("Cat"), ref("Dog")]}, **schemas),
        both({"oneOf": [whole, DOG]}, **schemas),
    )

    assert told(named, in_place) == told(in_place, named) == []


def test_a_change_inside_an_alternative_that_left_its_component_is_that_change() -> None:
    renamed = {
        **CAT,
        "properties": {"kind": CAT["properties"]["kind"], "name": {"type": "integer"}},
    }
    named, in_place = (
        both({"oneOf": [ref("Cat"), DOG]}, Cat=CAT),
        both({"oneOf": [renamed, DOG]}, Cat=CAT),
    )

    assert set(told(named, in_place)) == {("type-changed", "error")}


def test_an_alternative_may_have_another_name_unless_a_discriminator_tells_by_it() -> None:
    def api(name: str, **more: Any) -> dict[str, Any]:
        return both({"oneOf": [ref(name), ref("Dog")], **more}, **{name: CAT, "Dog": DOG})

    harmless = [("component-added", "info"), ("component-removed", "info")]
    assert sorted(told(api("Cat"), api("Kitty"))) == harmless
    discriminated = {"discriminator": {"propertyName": "kind"}}
    assert ("alternative-removed", "error") in told(
        api("Cat", **discriminated), api("Kitty", **discriminated)
    )


def test_another_alternative_is_told_by_the_values_of_its_properties() -> None:
    bird = {
        **CAT,
        "properties": {**CAT["properties"], "kind": {"type": "string", "enum": ["bird"]}},
    }
    changes = told(
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
def test_what_3_0_and_3_1_write_differently_is_no_change(old: Any, new: Any) -> None:
    assert told(both(old), both(new, "3.1.0")) == told(both(new, "3.1.0"), both(old)) == []


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

    assert told(swagger, later) == told(later, swagger) == []


def test_an_image_that_becomes_any_bytes_is_still_told() -> None:
    image, anything = (
        {"type": "string", "contentMediaType": kind}
        for kind in ("image/png", "application/octet-stream")
    )

    assert ("composition-changed", "warning") in told(both(image, "3.1.0"), both(anything, "3.1.0"))


def test_the_fields_of_a_2_0_form_have_descriptions() -> None:
    def swagger(text: str) -> dict[str, Any]:
        field = {"name": "a", "in": "formData", "type": "string", "description": text}
        form = operation(parameters=[field], consumes=["application/x-www-form-urlencoded"])
        return minimal("2.0", paths={"/a": {"post": form}})

    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "one"}}}
    body = {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}
    assert told(swagger("one"), minimal(paths={"/a": {"post": operation(requestBody=body)}})) == []
    assert told(swagger("one"), swagger("two")) == [("description-changed", "info")]


def secured(name: str, header: str = "X-Key", **scheme: Any) -> dict[str, Any]:
    schemes = {name: {"type": "apiKey", "in": "header", "name": header, **scheme}}
    return minimal(
        paths={"/a": {"get": operation(security=[{name: []}])}},
        components={"securitySchemes": schemes},
    )


def test_a_security_scheme_may_have_another_name() -> None:
    assert told(secured("key"), secured("token", description="the same key")) == [
        ("security-scheme-renamed", "info")
    ]


def test_a_security_scheme_that_is_sent_otherwise_is_another() -> None:
    assert ("security-tightened", "error") in told(
        secured("key"), secured("token", header="X-Token")
    )


def answering(*codes: str, **contents: Any) -> dict[str, Any]:
    def answer(code: str) -> dict[str, Any]:
        schema = contents.get(f"of_{code}", {"type": "string"})
        return {"description": "d", "content": {"application/json": {"schema": schema}}}

    return minimal(
        paths={"/a": {"get": operation(responses={code: answer(code) for code in codes})}}
    )


def test_a_range_of_status_codes_holds_its_codes() -> None:
    number = {"type": "integer"}

    assert told(answering("200"), answering("2XX")) == [("success-response-added", "info")]
    assert (
        told(answering("2XX"), answering("200", "201")) == [("success-response-added", "info")] * 2
    )
    assert ("type-changed", "error") in told(answering("200"), answering("2XX", of_2XX=number))
    assert ("type-changed", "error") in told(
        answering("2XX"), answering("2XX", "201", of_201=number)
    )
    assert ("success-response-removed", "error") in told(answering("200"), answering("4XX"))


def test_a_slash_at_the_end_of_a_server_and_the_order_of_tags_say_nothing() -> None:
    def api(url: str, *tags: str) -> dict[str, Any]:
        return minimal(servers=[{"url": url}], paths={"/a": {"get": operation(tags=list(tags))}})

    assert told(api("https://a.example/v1", "x", "y"), api("https://a.example/v1/", "y", "x")) == []
    assert ("operation-tags-changed", "info") in told(api("/", "x"), api("/", "y"))


@pytest.mark.parametrize("prefix", ["p", "q"], ids=["changed", "replaced"])
def test_the_time_for_a_union_grows_with_its_alternatives(prefix: str) -> None:
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
        started = time.process_time()
        diff(old, new, ReferenceResolver(old), ReferenceResolver(new))
        return time.process_time() - started

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
def test_other_words_of_json_schema_are_no_change(old: Any, new: Any) -> None:
    assert (
        told(both(old, "3.1.0"), both(new, "3.1.0"))
        == told(both(new, "3.1.0"), both(old, "3.1.0"))
        == []
    )


def test_a_value_that_fits_two_branches_of_a_oneof_is_not_allowed_by_it() -> None:
    exclusive, either = (
        {"oneOf": [{"type": "number"}, {"type": "integer"}]},
        {"type": ["number", "integer"]},
    )

    assert told(both(exclusive, "3.1.0"), both(either, "3.1.0"))


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False)])
def test_a_number_that_becomes_a_boolean_is_seen(old: Any, new: Any) -> None:
    assert ("enum-value-removed", "error") in told(both({"enum": [old]}), both({"enum": [new]}))
    assert ("default-changed", "warning") in told(both({"default": old}), both({"default": new}))


def test_a_document_without_servers_has_the_root_of_its_host() -> None:
    assert (
        told(minimal(), minimal(servers=[{"url": "/"}]))
        == told(minimal(servers=[{"url": "/"}]), minimal())
        == []
    )
    assert told(minimal(), minimal(servers=[{"url": "https://a.example"}])) == [
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

    assert told(old, new) == []
    more = both({"oneOf": [branch("e"), branch("d", "c"), branch("b", "a")]})
    assert {rule for rule, _ in told(old, more)} == {"alternative-added"}


def test_the_order_of_a_servers_values_and_what_is_said_about_them_is_no_change() -> None:
    def api(*values: str, **more: str) -> dict[str, Any]:
        return minimal(
            servers=[
                {
                    "url": "https://{h}",
                    "variables": {"h": {"default": "a", "enum": list(values), **more}},
                }
            ]
        )

    assert told(api("a", "b"), api("b", "a", description="host")) == []
    assert told(api("a", "b"), api("a")) == [("server-variable-changed", "warning")]


def test_schemas_that_redefine_each_other_without_end_are_refused_by_name() -> None:
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
        told(ring("integer"), ring("string"))
    assert refused.value.code.name == "SPEC_TOO_LARGE"
    assert told(ring("integer", 20), ring("string", 20))
