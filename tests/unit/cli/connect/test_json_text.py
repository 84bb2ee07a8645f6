"""Changing a JSON text: what did not change keeps its bytes."""

from __future__ import annotations

import json
import re
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


def test_of_a_key_that_is_there_twice_the_last_counts_and_both_stay() -> None:
    text = '{"a": 1, /* c */ "a": 2}'
    assert rewrite(text, {"a": 3}) == '{"a": 1, /* c */ "a": 3}'
    assert parse(rewrite(text, {})).value == {}
    assert rewrite(rewrite(text, {"a": 2, "b": 0}), {"a": 2}) == text


def test_a_mark_of_the_byte_order_and_special_numbers_stay() -> None:
    text = '\ufeff{"a": 1, "x": NaN, "y": 1.50}\r\n'
    value = parse(text).value
    assert rewrite(text, value | {"b": 2}) == '\ufeff{"a": 1, "x": NaN, "y": 1.50, "b": 2}\r\n'


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("// top\n{\n  // only\n}\n", '// top\n{\n  // only\n  "ours": 1\n}\n'),
        ("{ /* only */ }", '{ /* only */\n  "ours": 1\n}'),
        ('{\n  "a": 0 // of a\n}\n', '{\n  "a": 0, // of a\n  "ours": 1\n}\n'),
        ('{\r\n  "a": 0, // a,\r\n}', '{\r\n  "a": 0, // a,\n  "ours": 1,\r\n}'),
        ('{\n  "a": 0 /* of a */\n}', '{\n  "a": 0, /* of a */\n  "ours": 1\n}'),
    ],
)
def test_a_comment_stays_where_it_is(text: str, there: str) -> None:
    old = parse(text).value
    assert rewrite(text, old | {"ours": 1}) == there
    assert same_tokens(rewrite(there, old), text)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('{"ours": 1, // next\n "a": 0}', '{ // next\n "a": 0}'),
        ('{"a": 0, // of a\n "ours": 1}', '{"a": 0 // of a\n}'),
        ('{"a": 0, // of a\n "ours": 1,}', '{"a": 0, // of a\n}'),
        ('{"a": 0 // of a\n, "ours": 1, "b": 0}', '{"a": 0 // of a\n, "b": 0}'),
        ('{"a": 0, // of a\n "ours": 1, // of b\n "b": 0}', '{"a": 0, // of a\n // of b\n "b": 0}'),
        ('{ // one\n "ours": 1, // two\n}', "{ // one\n // two\n}"),
    ],
)
def test_comments_around_what_is_taken_out_stay(text: str, rest: str) -> None:
    value = parse(text).value
    value.pop("ours")
    changed = rewrite(text, value)
    assert same_tokens(changed, rest)
    assert parse(changed).value == value


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


GAPS = st.lists(st.sampled_from(["", " ", "\n  ", "\r\n", "//", "/**/"]), min_size=1, max_size=40)


def commented(value: Any, gaps: list[str], counter: list[int]) -> str:
    """Return a text of a value with numbered comments between its tokens."""

    def gap() -> str:
        counter[0] += 1
        kind = gaps[counter[0] % len(gaps)]
        return {"//": f"// c{counter[0]}, \n", "/**/": f"/* c{counter[0]} */"}.get(kind, kind)

    if isinstance(value, dict):
        parts = [f"{gap()}{json.dumps(k)}:{commented(v, gaps, counter)}" for k, v in value.items()]
    elif isinstance(value, list):
        parts = [f"{gap()}{commented(item, gaps, counter)}" for item in value]
    else:
        return json.dumps(value)
    body = ",".join(part + gap() for part in parts)
    return f"{{{body}{gap()}}}" if isinstance(value, dict) else f"[{body}{gap()}]"


@given(DOCUMENTS, GAPS, st.integers(0, 5))
def test_no_comment_is_lost(old: Any, gaps: list[str], place: int) -> None:
    old.pop("ours", None)
    text = commented(old, gaps, [0])
    there = rewrite(text, old | {"ours": {"a": [1]}})
    back = rewrite(there, old)
    assert same_tokens(back, text)
    members = list(old.items())
    members.insert(place, ("ours", 1))
    text = commented(dict(members), gaps, [0])
    comments = re.findall(r"// c\d+, |/\* c\d+ \*/", text)
    rest = rewrite(text, old)
    assert parse(rest).value == old
    assert re.findall(r"// c\d+, |/\* c\d+ \*/", rest) == comments
