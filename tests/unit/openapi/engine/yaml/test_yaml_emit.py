"""YAML and JSON as written are read back as the same values, by our loader and by PyYAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.yaml.edit import edit_yaml
from commonplace.openapi.engine.yaml.emit import to_json, to_yaml, yaml_key

TRICKY = [
    "",
    " ",
    "a: b",
    "a #b",
    "#a",
    "- a",
    "-",
    "? x",
    "yes",
    "No",
    "null",
    "~",
    "1",
    "1.5",
    "1e3",
    "0x1F",
    "0o7",
    "1_000",
    "2020-01-01",
    "12:30:45",
    "'",
    '"',
    "a'b",
    "{a}",
    "[a]",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a",
    "|",
    ">",
    "a\nb",
    "a\n",
    "a\n\n",
    "\na",
    " a\nb",
    "a \nb",
    "a\tb",
    "\ta",
    "a:",
    "a: ",
    ":a",
    "a\\b",
    "é",
    "日本",
    "\u2028",
    "\ufeff",
    "\x85",
    "\x7f",
    "---",
    "...",
    "=",
    "true",
    ".inf",
    "-.inf",
    ".nan",
    "+1",
    "-1",
    "$ref",
    "x-y",
    "a,b",
    "http://x/y?z#w",
    "/pets/{petId}",
    "200",
    "2XX",
    "application/json",
    "text\r\nmore",
]


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_texts_survive_as_keys_and_values(text: str) -> None:
    value = {"key": text, "list": [text, {text: [text]}], text: {"inner": text}}
    written = to_yaml(value)
    assert parse_text(written).data == value
    assert yaml.safe_load(written) == value


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t")
)
KEY = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8).filter(
    lambda key: key != "<<"
)
NUMBER = st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.dictionaries(KEY, JSON, min_size=1, max_size=5))
def test_any_value_survives_yaml_and_json(value: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(value)) == value
    assert parse_text(to_json(value)).data == value


@settings(max_examples=150)
@given(st.data())
def test_editing_a_text_gives_the_new_value_and_keeps_the_rest_whatever_changed(
    data: st.DataObject,
) -> None:
    keys = st.sampled_from(["a", "b", "c", "paths", "200", "no", "a b"])
    values = st.recursive(
        st.integers(0, 3)
        | st.sampled_from(["x", "y z", "true", "one\ntwo\n", "a, b: [c]", "", None]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=8,
    )
    objects = st.dictionaries(keys, values, min_size=1, max_size=4)
    old, new = ({"openapi": "3.0.0", **data.draw(objects)} for _ in range(2))
    block = to_yaml(old)
    flow = "".join(f"{yaml_key(key)}: {json.dumps(value)}  # {key}\n" for key, value in old.items())
    for text in (f"# head\n{block}# tail\n", f"# head\n{flow}# tail\n"):
        edited = edit_yaml(text, old, new)
        assert parse_text(edited).data == new
        assert edited.startswith("# head\nopenapi: ")
        assert edited.endswith("# tail\n")


@pytest.mark.parametrize(
    ("text", "new", "edited"),
    [
        ("a: T  # c\n", {"a": "x\ny"}, 'a: "x\\ny"  # c\n'),
        ("# c\na: T\nb: 1\n", {"a": "x\ny\n", "b": 1}, "# c\na: |\n  x\n  y\nb: 1\n"),
        ("# c\na: |\n  x\n  y\nb: 1\n", {"a": "z", "b": 1}, "# c\na: z\nb: 1\n"),
        ("# c\na:\nb: 1\n", {"a": "z", "b": 1}, "# c\na: z\nb: 1\n"),
        ("# c\na:\n- 1\n- 2\n", {"a": []}, "# c\na: []\n"),
        (
            "a:\n- x: 1 # one\n- x: 2 # two\n- x: 3 # three\n",
            {"a": [{"x": 1}, {"x": 3}]},
            "a:\n- x: 1 # one\n- x: 3 # three\n",
        ),
        ("a:\n  - 1 # one\n  - {b: 2}\n", {"a": [1, 5]}, "a:\n  - 1 # one\n  - 5\n"),
        (
            "a: {b: 1, c: {d: e}}  # c\n",
            {"a": {"b": 1, "c": {"d": "f, g"}, "h": [1]}},
            'a: {b: 1, c: {d: "f, g"}, h: [1]}  # c\n',
        ),
        ("a: [1, 2]  # c\n", {"a": [1, 2, {"b": True}]}, 'a: [1, 2, {"b": true}]  # c\n'),
        ("a: # c\n  b: 1\n", {"a": {}}, "a: # c\n  {}\n"),
    ],
)
def test_an_edit_changes_nothing_else(text: str, new: dict[str, Any], edited: str) -> None:
    assert edit_yaml(text, parse_text(text).data, new) == edited


def test_a_key_renamed_beside_a_removed_one_keeps_its_comments() -> None:
    text = (
        "a:\n  Page<Item>: # generic\n    type: object # kind\n  Dead: {type: string} # "
        "unused\nb: 1 # last\n"
    )
    old = {"a": {"Page<Item>": {"type": "object"}, "Dead": {"type": "string"}}, "b": 1}
    new = {"a": {"Page": {"type": "object"}}, "b": 1}
    assert (
        edit_yaml(text, old, new) == "a:\n  Page: # generic\n    type: object # kind\nb: 1 # last\n"
    )


def test_integers_beyond_64_bits_are_written() -> None:
    assert str(2**70) in to_json({"maximum": 2**70})


@pytest.mark.oracle
def test_real_documents_survive_being_written(data: Path) -> None:
    for name in (
        "petstore-3.0.yaml",
        "tictactoe-3.1.yaml",
        "uber-2.0.json",
        "docker-engine-swagger.yaml",
        "discord.json",
    ):
        value = parse_text((data / "openapi/dev" / name).read_bytes()).data
        assert parse_text(to_yaml(value)).data == value, name
