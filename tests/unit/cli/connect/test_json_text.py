"""Changing a JSON text: what did not change keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.cli.connect.json_text import parse, rewrite, same_tokens

SETTINGS = """\
{
    // mine
    "theme": "dark",   /* why */
    "hooks": {"Stop": [ {"hooks": [1, 2.50, -1e3]} ],},
\t"odd" : [
    ],
}
"""


def test_comments_order_and_spaces_stay() -> None:
    value = parse(SETTINGS).value
    assert value["hooks"] == {"Stop": [{"hooks": [1, 2.5, -1000.0]}]}
    value["hooks"]["Start"] = [{"a": "ü"}]
    value["new"] = {"b": [1]}
    changed = rewrite(SETTINGS, value)
    assert '"Stop": [ {"hooks": [1, 2.50, -1e3]} ], "Start": [{"a": "ü"}],}' in changed
    assert "    // mine\n" in changed
    assert parse(changed).value == value
    assert rewrite(changed, parse(SETTINGS).value) == SETTINGS


@pytest.mark.parametrize(
    "text", ["", "{", '{"a":}', "[1 2]", '{"a":1}}', '"x', "tru", "{'a': 1}", "/* x", "[" * 9_999]
)
def test_broken_texts_are_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match="it is"):
        parse(text)


def test_a_key_that_stands_twice_is_written_anew() -> None:
    assert parse(rewrite('{"a": 1, "a": 2}', {"a": 3})).value == {"a": 3}
    assert parse(rewrite('{"a": 1, "a": 2}', {})).value == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.text(max_size=4), JSON, max_size=5)
STYLES = st.sampled_from(
    [{"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")}]
)


@given(DOCUMENTS, DOCUMENTS, STYLES)
def test_any_value_becomes_any_other(old: Any, new: Any, style: dict[str, Any]) -> None:
    text = json.dumps(old, ensure_ascii=False, **style)
    assert (
        json.dumps(parse(rewrite(text, new)).value) == json.dumps(parse(json.dumps(new)).value)
        or parse(rewrite(text, new)).value == new
    )
    assert rewrite(text, old) == text


@settings(max_examples=40)
@given(DOCUMENTS, JSON, STYLES)
def test_what_was_added_can_be_taken_back(old: Any, added: Any, style: dict[str, Any]) -> None:
    text = json.dumps(old, ensure_ascii=False, **style)
    there = rewrite(text, old | {"commonplace": added})
    assert same_tokens(rewrite(there, old), text)
    if old:
        assert rewrite(there, old) == text
