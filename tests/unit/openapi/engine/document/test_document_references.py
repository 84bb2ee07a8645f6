"""References, positions and lines."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.lines import find_lines
from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.document.nodes import ROOT, NodePlace
from commonplace.openapi.engine.document.patterns import match_glob, match_path
from commonplace.openapi.engine.document.references.inliner import Inliner
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import MISSING, lookup_pointer
from oas_calls import document, minimal


def schemas(version: str = "3.0.3", **named: Any) -> Any:
    return document(minimal(version, components={"schemas": named}))


def test_pointers_follow_rfc_6901_and_percent_encoding() -> None:
    data = {"a/b": {"~": [10, {"c%d": 1}]}, "": 5}
    assert lookup_pointer(data, "") is data
    assert lookup_pointer(data, "/a~1b/~0/0") == 10
    assert lookup_pointer(data, "/a~1b/~0/1/c%25d") == 1
    assert lookup_pointer(data, "/") == 5
    for wrong in ("/x", "/a~1b/~0/2", "/a~1b/~0/01", "/a~1b/~0/-", "a", "/a~1b/~0/0/x"):
        assert lookup_pointer(data, wrong) is MISSING


def test_places_render_as_pointer_and_json_path() -> None:
    place = NodePlace(NodePlace(NodePlace(NodePlace(ROOT, "paths"), "/a'b/{c}", True), "get"), 3)
    assert place.pointer == "/paths/~1a'b~1{c}/get/3"
    assert place.json_path == "$.paths['/a\\'b/{c}'].get[3]"


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
    """`default` is a response, a property may be called `example`, `value` or `properties`; as
    keywords they hold data.
    """
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


def test_siblings_of_a_reference_count_from_3_1_on() -> None:
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


def test_reference_bombs_are_answered_at_once() -> None:
    """Every schema refers ten times to the next: 10^30 nodes if written out; and a full mesh of
    300.
    """
    chain = {
        f"S{i}": {"allOf": [{"$ref": f"#/components/schemas/S{i + 1}"}] * 10} for i in range(30)
    } | {"S30": {"type": "string"}}
    mesh = {
        f"M{i}": {
            "properties": {f"p{j}": {"$ref": f"#/components/schemas/M{j}"} for j in range(300)}
        }
        for i in range(300)
    }
    begun = time.process_time()
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
    assert time.process_time() - begun < 3


def test_patterns_match_segments_and_cannot_be_made_slow() -> None:
    assert match_path("/users/*", "/users/{id}")
    assert not match_path("/users/*", "/users/{id}/posts")
    assert match_path("/users/**", "/users/{id}/posts")
    assert match_path("/users/**", "/users")
    assert match_path("/**/posts/**", "/a/b/posts/c")
    assert not match_path("/**/posts/**", "/a/b/c")
    assert match_path("/v*/x", "/v1/x")
    assert match_glob("*schemas/P?t", "#/components/SCHEMAS/Pet")
    begun = time.process_time()
    assert not match_path("/" + "*a" * 200 + "/b", "/" + "a" * 5000 + "/c")
    assert not match_path("/**/" * 50 + "x", "/a" * 500)
    assert not match_glob("*a" * 100 + "b", "a" * 5000)
    assert time.process_time() - begun < 1


def test_a_path_pattern_needs_no_slash_at_its_start() -> None:
    assert match_path("*", "/users/{id}/posts")
    assert match_path("*posts", "/users/{id}/posts")
    assert not match_path("*Posts", "/users/{id}/posts")
    assert match_path("users/*", "/users/{id}")
    assert not match_path("users/*", "/users/{id}/posts")
    assert match_path("{$request.body#/url}/*", "{$request.body#/url}/data")


def _true_lines(text: str) -> dict[str, int]:
    found: dict[str, int] = {}

    def visit(node: Any, pointer: str) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = f"{pointer}/{key.value.replace('~', '~0').replace('/', '~1')}"
                found[here] = key.start_mark.line + 1
                visit(value, here)
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                found[f"{pointer}/{number}"] = value.start_mark.line + 1
                visit(value, f"{pointer}/{number}")

    visit(yaml.compose(text, Loader=yaml.CSafeLoader), "")
    return found


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "petstore-3.0.yaml",
        "petstore-3.2.yaml",
        "tictactoe-3.1.yaml",
        "uber-2.0.json",
        "docker-engine-swagger.yaml",
        "media-type-examples-3.2.yaml",
    ],
)
def test_lines_agree_with_a_parser_that_tracks_them(data: Path, name: str) -> None:
    text = (data / "openapi" / "dev" / name).read_text()
    truth = _true_lines(text)
    chosen = random.Random(1).sample(sorted(truth), min(len(truth), 400))
    found = find_lines(load(text), chosen)
    assert {pointer: line for pointer, line in found.items() if line != truth[pointer]} == {}


def test_lines_fall_back_to_the_nearest_parent() -> None:
    loaded = load("openapi: 3.0.0\ninfo:\n  title: a\n")
    assert find_lines(loaded, ["/info/version", "/nothing/at/all"]) == {
        "/info/version": 2,
        "/nothing/at/all": 1,
    }


def test_the_index_lists_callbacks_webhooks_and_components() -> None:
    op = {"responses": {"200": {"description": "d"}}}
    loaded = document(
        minimal(
            "3.1.0",
            paths={"/a": {"post": {**op, "callbacks": {"c": {"{$url}": {"put": op}}}}}},
            webhooks={"w": {"get": op}},
            components={"pathItems": {"P": {"delete": op}}},
        )
    )
    found = [
        (node.scope.method, node.scope.path, node.scope.callback, node.scope.webhook)
        for node in index_document(loaded).operations
    ]
    assert found == [
        ("post", "/a", "", False),
        ("put", "/a", "c {$url}", False),
        ("get", "w", "", True),
        ("delete", "", "", False),
    ]
