"""Schemas that strict clients accept."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from commonplace.dispatch.schema import input_schema, output_schema
from commonplace.dispatch.tool import Arguments


class Inner(BaseModel):
    value: int


class Example(Arguments):
    name: str = Field(description="A name")
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
