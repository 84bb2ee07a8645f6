"""Resolving and inlining of references."""

from __future__ import annotations

import time
from typing import Any

import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.references.inliner import Inliner
from commonplace.openapi.engine.document.references.renaming import rename_components
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from oas_calls import document, minimal


def schemas(version: str = "3.0.3", **named: Any) -> Any:
    return document(minimal(version, components={"schemas": named}))


def test_inlining_replaces_references_and_keeps_cycles() -> None:
    loaded = schemas(
        A={
            "properties": {
                "b": {"$ref": "#/components/schemas/B"},
                "s": {"$ref": "#/components/schemas/S"},
            }
        },
        B={"properties": {"a": {"$ref": "#/components/schemas/A"}}},
        S={"type": "string"},
    )
    inliner = Inliner(ReferenceResolver(loaded))
    value = inliner.write({"$ref": "#/components/schemas/A"}).value
    assert value["properties"]["s"] == {"type": "string"}
    assert value["properties"]["b"] == {"$ref": "#/components/schemas/B"}
    assert inliner.circular == {"#/components/schemas/B"}


def test_examples_are_data_not_references() -> None:
    loaded = schemas(S={"type": "string"})
    value = {"example": {"$ref": "#/components/schemas/S"}, "enum": [{"$ref": "x"}]}
    assert Inliner(ReferenceResolver(loaded)).write(value).value == value


def test_names_that_are_also_keywords_are_resolved() -> None:
    """Responses and properties may have names such as `default` or `example`."""
    text = {"type": "string"}
    ref = {"$ref": "#/components/schemas/S"}
    error = {"description": "e"}
    loaded = document(
        minimal(
            paths={
                "/a": {
                    "get": {"responses": {"default": {"$ref": "#/components/responses/default"}}}
                }
            },
            components={
                "responses": {"default": error},
                "schemas": {
                    "S": text,
                    "Odd": {
                        "properties": {
                            "default": ref,
                            "example": ref,
                            "value": ref,
                            "properties": {"properties": {"enum": ref}},
                        }
                    },
                    "Data": {"default": ref, "example": ref, "enum": [ref], "examples": [ref]},
                    "example": ref,
                },
            },
        )
    )
    written = Inliner(ReferenceResolver(loaded)).write(loaded.data).value
    assert written["paths"]["/a"]["get"]["responses"]["default"] == error
    schemas = written["components"]["schemas"]
    assert schemas["Odd"]["properties"] == {
        "default": text,
        "example": text,
        "value": text,
        "properties": {"properties": {"enum": text}},
    }
    assert schemas["Data"] == {"default": ref, "example": ref, "enum": [ref], "examples": [ref]}
    assert schemas["example"] == text


def test_siblings_of_a_reference_are_used_from_3_1_on() -> None:
    reference = {"$ref": "#/components/schemas/S", "description": "here"}
    assert Inliner(ReferenceResolver(schemas(S={"type": "string"}))).write(reference).value == {
        "type": "string"
    }
    later = (
        Inliner(ReferenceResolver(schemas("3.1.0", S={"type": "string"}))).write(reference).value
    )
    assert later == {"type": "string", "description": "here"}


def test_anchors_and_ids_resolve_in_3_1() -> None:
    loaded = schemas(
        "3.1.0",
        S={"$anchor": "here", "type": "string"},
        T={"$id": "https://t.example/s", "type": "integer"},
    )
    resolver = ReferenceResolver(loaded)
    assert resolver.resolve("#here").value["type"] == "string"
    assert resolver.resolve("https://t.example/s").value["type"] == "integer"


def test_broken_and_circular_chains_are_typed_errors() -> None:
    loaded = schemas(A={"$ref": "#/components/schemas/B"}, B={"$ref": "#/components/schemas/A"})
    with pytest.raises(CommonplaceError) as circular:
        ReferenceResolver(loaded).follow({"$ref": "#/components/schemas/A"})
    assert circular.value.code.name == "CIRCULAR_REF"
    with pytest.raises(CommonplaceError) as broken:
        ReferenceResolver(loaded).follow({"$ref": "#/components/schemas/None"})
    assert broken.value.code.name == "UNRESOLVED_REF"


def test_reference_bombs_are_bounded() -> None:
    """A chain that expands to 10^30 nodes, and a full mesh of schemas."""
    chain = {
        f"S{i}": {"allOf": [{"$ref": f"#/components/schemas/S{i + 1}"}] * 10} for i in range(30)
    } | {"S30": {"type": "string"}}
    mesh = {
        f"M{i}": {
            "properties": {f"p{j}": {"$ref": f"#/components/schemas/M{j}"} for j in range(300)}
        }
        for i in range(300)
    }
    begun = time.thread_time()
    for named, start in ((chain, "S0"), (mesh, "M0")):
        inliner = Inliner(ReferenceResolver(schemas(**named)))
        written = inliner.write({"$ref": f"#/components/schemas/{start}"})
        assert written.nodes <= inliner.node_limit * 11
        assert inliner.left or inliner.circular
    long = {f"L{i}": {"not": {"$ref": f"#/components/schemas/L{i + 1}"}} for i in range(5000)} | {
        "L5000": {}
    }
    with pytest.raises(CommonplaceError) as deep:
        Inliner(ReferenceResolver(schemas(**long))).write({"$ref": "#/components/schemas/L0"})
    assert deep.value.code.name == "SPEC_TOO_DEEP"
    assert time.thread_time() - begun < 3


def test_renaming_a_component_leaves_data_alone() -> None:
    """Examples, defaults and enums may contain an object with a `$ref` that is only data."""
    ref = {"$ref": "#/components/schemas/Pet"}
    source = minimal(
        components={
            "schemas": {
                "Pet": {"type": "object", "example": ref, "default": ref, "enum": [ref]},
                "Owner": {
                    "properties": {"example": ref, "default": {"items": ref}},
                    "discriminator": {"propertyName": "kind", "mapping": {"pet": ref["$ref"]}},
                },
            },
            "examples": {"pet": {"value": ref}},
        }
    )
    components = rename_components(source, {"schemas": {"Pet": "Animal"}}, old=False)["components"]
    new = {"$ref": "#/components/schemas/Animal"}
    assert components["schemas"]["Animal"] == source["components"]["schemas"]["Pet"]
    assert components["examples"] == source["components"]["examples"]
    owner = components["schemas"]["Owner"]
    assert owner["properties"] == {"example": new, "default": {"items": new}}
    assert owner["discriminator"]["mapping"] == {"pet": new["$ref"]}
