"""Changes that comparison once missed, or took too long for."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import ApiChange
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from measuring import runs_within
from oas_calls import document, minimal, operation


def changes(old: Any, new: Any) -> list[ApiChange]:
    first, second = document(old), document(new)
    return diff(first, second, ReferenceResolver(first), ReferenceResolver(second))


def list_reported(old: Any, new: Any) -> list[tuple[str, str]]:
    return [(change.rule.id, change.level.value) for change in changes(old, new)]


def sent(schema: Any, version: str = "3.0.3", **parts: Any) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": schema}}}
    return minimal(version, paths={"/a": {"post": operation(requestBody=body)}}, **parts)


def received(schema: Any, version: str = "3.0.3", **parts: Any) -> dict[str, Any]:
    answer = {"200": {"description": "fine", "content": {"application/json": {"schema": schema}}}}
    return minimal(version, paths={"/a": {"get": operation(responses=answer)}}, **parts)


def having(required: bool = True, **flags: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", **flags}}}
    return {**schema, "required": ["a"]} if required else schema


@pytest.mark.parametrize(
    ("make", "old", "new", "expected"),
    [
        (sent, having(readOnly=True), having(), ("required-property-added", "error")),
        (sent, having(False, readOnly=True), having(False), ("property-added", "info")),
        (sent, having(), having(readOnly=True), ("required-property-removed", "warning")),
        (sent, having(False), having(False, readOnly=True), ("property-removed", "warning")),
        (received, having(), having(writeOnly=True), ("required-property-removed", "error")),
        (received, having(False), having(False, writeOnly=True), ("property-removed", "warning")),
        (received, having(writeOnly=True), having(), ("required-property-added", "info")),
        (received, having(), having(readOnly=True), ("read-write-changed", "warning")),
    ],
)
def test_a_property_hidden_by_readonly_or_writeonly_counts_as_removed(
    make: Any, old: Any, new: Any, expected: tuple[str, str]
) -> None:
    assert list_reported(make(old), make(new)) == [expected]


def test_a_hidden_property_is_not_required() -> None:
    assert list_reported(sent(having(False, readOnly=True)), sent(having(readOnly=True))) == []
    assert (
        list_reported(received(having(False, writeOnly=True)), received(having(writeOnly=True)))
        == []
    )


@pytest.mark.parametrize("ref", ["Page%5BUser%5D", "Page[User]"])
def test_percent_encoding_of_references_does_not_matter(ref: str) -> None:
    def api(kind: str) -> dict[str, Any]:
        body = {"in": "body", "name": "b", "schema": {"$ref": f"#/definitions/{ref}"}}
        return minimal(
            "2.0",
            paths={"/a": {"post": operation(parameters=[body])}},
            definitions={"Page[User]": {"type": kind}},
        )

    assert list_reported(api("string"), api("integer")) == [("type-changed", "error")]


def test_encoded_references_between_components_and_into_paths_are_followed() -> None:
    def api(kind: str) -> dict[str, Any]:
        schemas = {
            "A B": {"type": "object", "properties": {"x": {"type": kind}}},
            "U": {"allOf": [{"$ref": "#/components/schemas/A%20B"}]},
        }
        return received({"$ref": "#/components/schemas/U"}, components={"schemas": schemas})

    assert ("type-changed", "error") in list_reported(api("string"), api("integer"))

    def swagger(kind: str) -> dict[str, Any]:
        parts = {"x-shared": {"p": {"type": kind}}}
        answer = {"200": {"description": "fine", "schema": {"$ref": "#/x-shared/p"}}}
        return minimal("2.0", paths={"/a": {"get": operation(responses=answer)}}, **parts)

    assert list_reported(swagger("string"), swagger("integer")) == [("type-changed", "error")]


def shared(count: int, kind: str) -> dict[str, Any]:
    schemas: dict[str, Any] = {
        f"A{i}": {
            "allOf": [
                {"$ref": f"#/components/schemas/A{i + 1}"},
                {"$ref": f"#/components/schemas/A{i + 1}"},
            ]
        }
        for i in range(count)
    }
    schemas[f"A{count}"] = {
        "type": "object",
        "properties": {"p": {"type": kind}},
        "oneOf": [{"required": ["p"]}, {"required": ["q"]}],
    }
    return received({"$ref": "#/components/schemas/A0"}, components={"schemas": schemas})


def ring(count: int, kind: str) -> dict[str, Any]:
    schemas = {
        f"A{i}": {
            "properties": {f"p{i}": {"type": kind if i == count - 1 else "string"}},
            "allOf": [{"$ref": f"#/components/schemas/A{j}"} for j in range(count) if j != i],
        }
        for i in range(count)
    }
    return received({"$ref": "#/components/schemas/A0"}, components={"schemas": schemas})


@pytest.mark.parametrize(("make", "count"), [(shared, 24), (shared, 60), (ring, 7), (ring, 30)])
def test_shared_and_circular_allof_are_fast(make: Any, count: int) -> None:
    before, after = make(count, "string"), make(count, "integer")
    assert runs_within(1, lambda: changes(before, after))
    found = changes(before, after)
    assert ("type-changed", "error") in {(change.rule.id, change.level.value) for change in found}


def test_schemas_of_a_cycle_share_their_constraints() -> None:
    def api(kind: str) -> dict[str, Any]:
        made = ring(4, kind)
        made["paths"]["/b"] = {
            "get": operation(responses={"200": _json({"$ref": "#/components/schemas/A2"})})
        }
        return made

    found = [
        change
        for change in changes(api("string"), api("integer"))
        if change.rule.id == "type-changed"
    ]
    assert {change.path for change in found} == {"/components/schemas/A3/properties/p3/type"}


def _json(schema: Any) -> dict[str, Any]:
    return {"description": "fine", "content": {"application/json": {"schema": schema}}}


def test_a_property_in_two_compositions_is_compared_in_both() -> None:
    def api(first: int, second: int) -> dict[str, Any]:
        base = {"Base": {"type": "object", "properties": {"p": {"type": "string"}}}}
        one, two = (
            {
                "allOf": [
                    {"$ref": "#/components/schemas/Base"},
                    {"properties": {"p": {"maxLength": limit}}},
                ]
            }
            for limit in (first, second)
        )
        return sent(
            {"type": "object", "properties": {"one": one, "two": two}}, components={"schemas": base}
        )

    assert list_reported(api(9, 9), api(9, 5)) == [("bound-tightened", "error")]


@pytest.mark.parametrize(
    "wrap",
    [lambda s: s, lambda s: {"properties": {"a": s}}, lambda s: {"type": "array", "items": s}],
)
@pytest.mark.parametrize(
    "other",
    [
        True,
        {"type": "string"},
        {"enum": ["a"]},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    ],
)
def test_false_allows_nothing(wrap: Any, other: Any) -> None:
    some, none = wrap(other), wrap(False)
    assert list_reported(sent(some, "3.1.0"), sent(none, "3.1.0")) == [("type-narrowed", "error")]
    assert list_reported(received(some, "3.1.0"), received(none, "3.1.0")) == [
        ("type-narrowed", "info")
    ]
    assert list_reported(sent(none, "3.1.0"), sent(some, "3.1.0")) == [("type-widened", "info")]
    assert list_reported(received(none, "3.1.0"), received(some, "3.1.0")) == [
        ("type-widened", "error")
    ]


def animals(
    mapping: dict[str, str] | None, *, keyword: str = "oneOf", with_discriminator: bool = True
) -> dict[str, Any]:
    kinds = {
        name: {"type": "object", "properties": {"kind": {"type": "string"}}}
        for name in ("Cat", "Dog")
    }
    schema: dict[str, Any] = {keyword: [{"$ref": f"#/components/schemas/{name}"} for name in kinds]}
    if with_discriminator:
        schema["discriminator"] = {"propertyName": "kind"} | (
            {"mapping": mapping} if mapping else {}
        )
    return received(schema, components={"schemas": kinds})


def test_discriminators_and_their_mappings_are_compared() -> None:
    expected = [("discriminator-mapping-changed", "warning")]
    assert (
        list_reported(
            animals({"cat": "#/components/schemas/Cat"}),
            animals({"kitty": "#/components/schemas/Cat"}),
        )
        == expected
    )
    assert list_reported(animals({"cat": "Cat"}), animals({"cat": "Dog"})) == expected
    assert list_reported(animals(None), animals(None, with_discriminator=False)) == expected
    assert list_reported(animals(None, with_discriminator=False), animals(None)) == expected


def test_an_equivalent_mapping_is_not_a_change() -> None:
    assert (
        list_reported(animals({"cat": "Cat"}), animals({"cat": "#/components/schemas/Cat"})) == []
    )
    assert list_reported(animals(None), animals({"Cat": "#/components/schemas/Cat"})) == []


def test_anyof_that_becomes_oneof_is_reported() -> None:
    assert list_reported(animals(None, keyword="anyOf"), animals(None)) == [
        ("composition-changed", "warning")
    ]
    assert list_reported(animals(None), animals(None, keyword="anyOf")) == [
        ("composition-changed", "warning")
    ]


@pytest.mark.parametrize("holder", ["operation", "item"])
def test_servers_of_operations_and_path_items_are_compared(holder: str) -> None:
    def api(*urls: str) -> dict[str, Any]:
        servers = {"servers": [{"url": url} for url in urls]} if urls else {}
        item = {
            "get": operation(**(servers if holder == "operation" else {})),
            **(servers if holder == "item" else {}),
        }
        return minimal(paths={"/a": item}, servers=[{"url": "https://root"}])

    moved = changes(api("https://a"), api("https://b"))
    assert [(change.rule.id, change.level.value) for change in moved] == [
        ("server-removed", "warning"),
        ("server-added", "info"),
    ]
    assert {change.path for change in moved} == {"/paths/~1a/get/servers"}
    assert ("server-removed", "warning") in list_reported(api(), api("https://b"))
    assert ("server-removed", "warning") in list_reported(api("https://a"), api())
    assert list_reported(api(), api("https://root")) == []


def test_a_parameter_or_header_that_gets_a_media_type_changes_its_style() -> None:
    text = {"schema": {"type": "string"}}
    plain, typed = text, {"content": {"application/json": text}}

    def query(how: dict[str, Any]) -> dict[str, Any]:
        return minimal(
            paths={"/a": {"get": operation(parameters=[{"name": "q", "in": "query", **how}])}}
        )

    def header(how: dict[str, Any]) -> dict[str, Any]:
        return minimal(
            paths={
                "/a": {
                    "get": operation(
                        responses={"200": {"description": "d", "headers": {"X-A": how}}}
                    )
                }
            }
        )

    for make in (query, header):
        assert list_reported(make(plain), make(typed)) == [("parameter-style-changed", "error")]
        assert list_reported(make(typed), make(plain)) == [("parameter-style-changed", "error")]


def test_the_items_of_a_stream_are_compared() -> None:
    def api(**media: Any) -> dict[str, Any]:
        answer = {"200": {"description": "d", "content": {"application/jsonl": media}}}
        return minimal("3.2.0", paths={"/a": {"get": operation(responses=answer)}})

    assert list_reported(
        api(itemSchema={"type": "string"}), api(itemSchema={"type": "integer"})
    ) == [("type-changed", "error")]
    assert list_reported(api(itemSchema={"type": "string"}), api()) == [("type-widened", "error")]


@pytest.mark.parametrize("keyword", ["items", "additionalProperties"])
def test_all_parts_of_an_allof_constrain_items_and_additional_properties(
    keyword: str,
) -> None:
    def api(limit: int) -> dict[str, Any]:
        kind = {"type": "array" if keyword == "items" else "object"}
        return sent(
            {
                "allOf": [
                    {**kind, keyword: {"type": "string"}},
                    {**kind, keyword: {"maxLength": limit}},
                ]
            }
        )

    assert list_reported(api(9), api(5)) == [("bound-tightened", "error")]


def test_the_order_of_credentials_does_not_matter() -> None:
    def api(*names: str) -> dict[str, Any]:
        schemes = {name: {"type": "apiKey", "in": "header", "name": name} for name in ("a", "b")}
        secured = operation(security=[{name: []} for name in names])
        return minimal(paths={"/a": {"get": secured}}, components={"securitySchemes": schemes})

    assert list_reported(api("a", "b"), api("b", "a")) == []
