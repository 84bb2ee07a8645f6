"""Parsing of YAML scalars, keys and merge keys."""

from __future__ import annotations

import orjson
import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.load import load, parse_text
from commonplace.openapi.engine.yaml.emit import to_text
from oas_calls import load_error


def test_plain_scalars_follow_yaml_1_2() -> None:
    text = (
        "openapi: 3.0.0\na: 1_000\nb: 0b11\nc: _1\nd: yes\ne: 0o17\nf: 012\ng: ~\nh: "
        "2020-01-01\ni: 1e3\n"
    )
    text += "j: |\n  keeps 1_000 as it is\nk: [1_0, 2]\n"
    data = load(text).data
    expected = {
        "a": "1_000",
        "b": "0b11",
        "c": "_1",
        "d": "yes",
        "e": 15,
        "f": 12,
        "g": None,
        "h": "2020-01-01",
        "i": 1000.0,
    }
    assert {key: data[key] for key in expected} == expected
    assert data["j"] == "keeps 1_000 as it is\n"
    assert data["k"] == ["1_0", 2]


def test_keys_are_strings_with_their_spelling() -> None:
    data = load("openapi: 3.0.0\n200: a\n3.10: b\ntrue: c\nnull: d\nmap: {404: x, 1.50: y}\n").data
    assert list(data) == ["openapi", "200", "3.10", "true", "null", "map"]
    assert data["map"] == {"404": "x", "1.50": "y"}


def test_lists_and_mappings_as_keys_are_refused() -> None:
    assert load_error("openapi: 3.0.0\n? [a]\n: b").code.name == "SPEC_SYNTAX"


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert parse_text("a: {'<<': {b: 1}}\nc: {\"<<\": {d: 1}, <<: {e: 2}}\n").data == {
        "a": {"<<": {"b": 1}},
        "c": {"<<": {"d": 1}, "e": 2},
    }
    assert parse_text('text: |\n  <<: {a: 1}\nwords: "see <<: there"\n').data == {
        "text": "<<: {a: 1}\n",
        "words": "see <<: there",
    }
    assert parse_text("a:\n  ? <<\n  : {b: 1}\n").data == {"a": {"b": 1}}


def test_merge_keys_are_expanded_and_own_keys_win() -> None:
    data = load(
        "openapi: 3.0.0\nx: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz: {<<: [*x, *y], a: 0}\n"
    ).data
    assert data["z"] == {"a": 0, "b": 2, "c": 4}


def test_values_beyond_json_become_json() -> None:
    data = load(
        "openapi: 3.0.0\na: .inf\nb: 123456789012345678901234567890\nc: !!set {x, y}\n"
    ).data
    assert data["a"] == "inf"
    assert data["b"] == pytest.approx(1.2345678901234568e29)
    assert data["c"] == ["x", "y"]
    assert orjson.dumps(data)


def test_keys_that_are_lists_inside_keys_are_a_syntax_error() -> None:
    with pytest.raises(CommonplaceError) as raised:
        load("? :   \t- ")
    assert raised.value.code.name == "SPEC_SYNTAX"


@pytest.mark.parametrize("text", ["x-a: {number}", "x-a: [-{number}]", "? {number}\n: a"])
def test_integers_of_thousands_of_digits_are_kept(text: str) -> None:
    head = 'openapi: 3.0.3\ninfo: {title: a, version: "1"}\npaths: {}\n'
    found = load(head + text.replace("{number}", "9" * 5000))
    assert "9" * 5000 in to_text(found.data, "yaml", found.numbers)
