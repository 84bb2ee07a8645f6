"""References to schemas with `$id`, and pointers that start at them."""

from __future__ import annotations

from typing import Any

import pytest

from oas_calls import Tools, content, minimal, operation

X = {"type": "string"}


def judged(**schemas: Any) -> list[tuple[str, str]]:
    answer = Tools().call(
        "oas_validate", spec=content(minimal("3.1.0", components={"schemas": schemas}))
    )
    return [(error["rule"], error["path"]) for error in answer["errors"]]


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$id": "https://e.com/a", **X}, "B": {"$ref": "https://e.com/a"}},
        {
            "A": {"$id": "https://e.com/a", "$defs": {"x": X}},
            "B": {"$ref": "https://e.com/a#/$defs/x"},
        },
        {"A": {"$id": "https://e.com/a", "$ref": "#/$defs/x", "$defs": {"x": X}}},
        {
            "A": {
                "$id": "https://e.com/a",
                "properties": {"p": {"$ref": "#/components/schemas/B"}},
            },
            "B": X,
        },
        {
            "A": {"$id": "https://e.com/a", "$ref": "#/$defs/x", "$defs": {"x": X}},
            "B": {"$id": "https://e.com/b", "$ref": "#/$defs/x", "$defs": {"x": X}},
        },
    ],
)
def test_references_by_id_and_inside_it_are_valid(schemas: Any) -> None:
    assert judged(**schemas) == []


def test_broken_references_are_still_reported() -> None:
    assert judged(A={"$id": "https://e.com/a", "$ref": "#/$defs/y", "$defs": {"x": X}}) == [
        ("ref-unresolved", "/components/schemas/A/$ref")
    ]


def test_a_pointer_inside_a_resource_is_replaced_by_what_it_names() -> None:
    answer = {
        "200": {
            "description": "d",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}},
        }
    }
    schemas = {
        "A": {
            "$id": "https://e.com/a",
            "properties": {"p": {"$ref": "#/$defs/x"}},
            "$defs": {"x": X},
        }
    }
    source = minimal(
        "3.1.0", paths={"/a": {"get": operation(responses=answer)}}, components={"schemas": schemas}
    )
    walked = Tools().call(
        "oas_walk_schemas", spec=content(source), name="A", detail=True, resolve_refs=True
    )
    assert "unresolved_refs" not in walked
