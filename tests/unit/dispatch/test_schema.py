"""Schemas that strict clients accept."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from commonplace.dispatch.schema import input_schema, listed_schema, output_schema
from commonplace.dispatch.tool import Arguments


class Inner(BaseModel):
    value: int


class Example(Arguments):
    """Arguments of a tool."""

    name: str = Field(
        description="A name. Any text, also a long one.", min_length=1, max_length=400
    )
    inner: Inner | None = None
    mode: Literal["a", "b"] = "a"
    title: str | None = Field(default=None, description="A field that is called title")
    many: list[Inner] = Field(default_factory=list)


class Result(TypedDict):
    inner: Inner
    note: NotRequired[str]


def walk(node: object) -> list[dict[str, object]]:
    if isinstance(node, list):
        return [found for item in node for found in walk(item)]
    if isinstance(node, dict):
        return [node, *(found for item in node.values() for found in walk(item))]
    return []


def test_references_are_inlined() -> None:
    schema = input_schema(Example)
    assert "$defs" not in schema
    assert not [node for node in walk(schema) if "$ref" in node]
    assert schema["properties"]["many"]["items"]["properties"]["value"] == {"type": "integer"}


def test_an_optional_field_reads_as_its_type() -> None:
    properties = input_schema(Example)["properties"]
    assert properties["title"] == {"type": "string", "description": "A field that is called title"}
    assert properties["inner"]["type"] == "object"


def test_a_property_called_title_survives_the_removal_of_titles() -> None:
    schema = input_schema(Example)
    assert "title" in schema["properties"]
    assert "title" not in schema


def test_unknown_arguments_are_forbidden_and_unknown_outputs_allowed() -> None:
    assert input_schema(Example)["additionalProperties"] is False
    assert "additionalProperties" not in output_schema(Result)
    assert output_schema(Result)["required"] == ["inner"]


def test_a_listed_schema_has_the_first_sentence_of_a_description() -> None:
    name = listed_schema(input_schema(Example))["properties"]["name"]
    assert name == {"type": "string", "description": "A name"}
    assert input_schema(Example)["properties"]["name"]["maxLength"] == 400


def test_a_listed_schema_keeps_what_a_caller_needs() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 100},
            "default": {"type": "integer", "minimum": 0, "default": 3},
            "maxLength": {"type": "array", "maxItems": 500, "items": {"maxLength": 5000}},
            "mode": {"enum": ["a. b", "c"], "default": "a. b"},
            "inner": {"type": "object", "additionalProperties": False, "required": ["x"]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    assert listed_schema(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 100},
            "default": {"type": "integer", "minimum": 0, "default": 3},
            "maxLength": {"type": "array", "items": {}},
            "mode": {"enum": ["a. b", "c"], "default": "a. b"},
            "inner": {"type": "object", "required": ["x"]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["title"],
        "additionalProperties": False,
    }


def test_docstrings_of_types_are_not_published() -> None:
    assert "description" not in input_schema(Example)
