"""Forms made from JSON Schemas: kinds of fields, values of texts, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.console.pages.tools.fields import (
    OTHERS,
    kind_of,
    make_form,
    read_value,
    texts_of,
    without_null,
)
from commonplace.kernel.json_types import Json

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["path", "mode"],
    "properties": {
        "path": {"type": "string", "description": "Where."},
        "mode": {"type": "string", "enum": ["APPEND", "TRUNCATE"]},
        "limit": {"type": "integer", "default": 20},
        "deep": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "filter": {"type": "object"},
        "content": {"type": ["string", "null"]},
    },
}


def test_every_argument_has_a_field_of_its_kind() -> None:
    fields = {field.name: field for field in make_form(SCHEMA, {}).fields}
    assert {name: field.kind for name, field in fields.items()} == {
        "path": "string",
        "mode": "choice",
        "limit": "integer",
        "deep": "boolean",
        "filter": "json",
        "content": "text",
    }
    assert fields["path"].label == "path *"
    assert fields["path"].help == "Where."
    assert fields["limit"].default == "20"
    assert fields["deep"].default == ""


def test_empty_fields_are_left_out_and_required_texts_are_sent_empty() -> None:
    assert make_form(SCHEMA, {"limit": " ", "content": ""}).arguments == {"path": ""}


def test_texts_become_values() -> None:
    texts = {
        "path": " /a ",
        "mode": "APPEND",
        "limit": " 7 ",
        "deep": "false",
        "filter": '{"a": [1]}',
        "content": "0",
    }
    form = make_form(SCHEMA, texts)
    assert form.is_valid
    assert form.arguments == {
        "path": " /a ",
        "mode": "APPEND",
        "limit": 7,
        "deep": False,
        "filter": {"a": [1]},
        "content": "0",
    }


def test_wrong_texts_are_kept_and_named() -> None:
    form = make_form(SCHEMA, {"path": "/a", "limit": "many", "filter": "{", "deep": "perhaps"})
    assert not form.is_valid
    problems = {field.name: field.problem for field in form.fields if field.problem}
    assert set(problems) == {"limit", "filter", "deep"}
    assert problems["limit"] == "limit must be a whole number."
    assert problems["filter"].startswith("filter is not JSON: ")
    assert next(field.text for field in form.fields if field.name == "filter") == "{"


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "x", "--1"])
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        read_value("number", text)


@pytest.mark.parametrize("text", ["9" * 30, "1.5", "٣x"])
def test_what_is_not_a_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        read_value("integer", text)


def test_further_arguments_are_one_object() -> None:
    schema = {
        "properties": {"action": {"type": "string"}},
        "required": ["action"],
        "additionalProperties": True,
    }
    form = make_form(schema, {"action": "get", OTHERS: '{"id": "a"}'})
    assert form.arguments == {"action": "get", "id": "a"}
    assert not make_form(schema, {OTHERS: "[1]"}).is_valid
    assert texts_of(schema, form.arguments) == {"action": "get", OTHERS: '{\n  "id": "a"\n}'}


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/a", "mode": "APPEND", "limit": 3, "deep": True, "filter": {"x": None}},
        {"path": "", "content": "two\nlines", "deep": False, "filter": {}},
    ],
)
def test_arguments_survive_a_form(arguments: dict[str, Json]) -> None:
    assert make_form(SCHEMA, texts_of(SCHEMA, arguments)).arguments == arguments


def test_an_argument_of_several_types_is_written_as_json() -> None:
    assert kind_of("x", without_null({"type": ["string", "integer"]})) == "json"
    assert kind_of("x", without_null({"anyOf": [{"type": "string"}, {"type": "array"}]})) == "json"
    assert kind_of("x", {"enum": [1, 2], "type": "integer"}) == "integer"
    assert kind_of("x", {}) == "json"
