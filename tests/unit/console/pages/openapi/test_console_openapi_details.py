"""Operations and schemas as tables."""

from __future__ import annotations

import pytest

from commonplace.console.pages.openapi.details import describe_part, name_schema
from commonplace.kernel.json_types import Json


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"$ref": "#/components/schemas/Pet"}, "Pet"),
        ({"type": "array", "items": {"type": "integer"}}, "list of integer"),
        ({"oneOf": [{"type": "string"}, {"$ref": "#/x/Y"}]}, "oneOf: string, Y"),
        ({"type": ["string", "null"], "enum": ["a", 1]}, "string or null: a, 1"),
        ({}, "anything"),
        (True, "True"),
    ],
)
def test_a_schema_is_named_in_a_few_words(schema: Json, name: str) -> None:
    assert name_schema(schema) == name


def test_an_operation_becomes_tables_of_parameters_body_and_responses() -> None:
    text, tables = describe_part(
        "operation",
        {
            "summary": "List",
            "parameters": [{"name": "a", "in": "query", "required": True}, "odd"],
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
            "responses": {"200": {"description": "ok"}, "odd": 1},
        },
    )
    assert text == "List"
    assert [table.title for table in tables] == ["Parameters", "Body", "Responses"]
    assert tables[0].rows[0]["required"] == "yes"
    assert tables[2].rows == [{"status": "200", "description": "ok", "content": ""}]


def test_a_schema_becomes_a_table_of_properties() -> None:
    schema = {"properties": {"n": {"type": "string"}, "m": True}, "required": ["n"]}
    _, tables = describe_part("schema", schema)
    assert tables[0].title == "Properties: 2"
    assert [row["required"] for row in tables[0].rows] == ["yes", ""]


@pytest.mark.parametrize("part", [None, [], "text", {"properties": [], "required": "n"}])
def test_parts_of_an_unexpected_shape_have_no_tables(part: Json) -> None:
    assert describe_part("schema", part)[1] == []
