"""Invariants of finding and revealing hidden characters, for any text."""

from __future__ import annotations

import json

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.kernel.hidden_characters import (
    count_hidden,
    find_hidden,
    has_hidden,
    json_may_hide,
    reveal,
    reveal_json,
)
from commonplace.kernel.json.document import Document, encode_twice

SPECIAL = (
    "\x00\x1b\x7f\x85\x9b\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e"
    "\u200b\u200c\u200d\u200e\u200f\u2028\u202e\u2060\u2066\u3164"
)
CONTEXT = (
    '\ufe0f\ufeff\uffa0\ufff9\ufffe\U000e0041\U000e007f\U000e0100\U0001f3f4\U0001f468کमשa1\n\r" \\'
)
TEXT = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(SPECIAL + CONTEXT)),
    max_size=60,
)


@given(TEXT)
def test_revealed_text_contains_no_hidden_character(text: str) -> None:
    shown = reveal(text)
    assert not has_hidden(shown)
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\r" not in shown.replace("\r\n", "")


@given(TEXT)
def test_showing_keeps_every_visible_character_in_place(text: str) -> None:
    rest = reveal(text)
    for character in text:
        mark = f"<U+{ord(character):04X}>"
        assert rest.startswith((character, mark))
        rest = (
            rest[len(character) :]
            if rest.startswith(character) and not rest.startswith(mark)
            else rest[len(mark) :]
        )
    assert rest == ""


@given(TEXT)
def test_find_and_count_agree(text: str) -> None:
    found = find_hidden(text)
    assert bool(found) == has_hidden(text)
    assert [text[offset] for offset, _ in found] == [character for _, character in found]
    assert sum(count_hidden([text, {text: text}]).values()) == 3 * len(found)


@given(TEXT)
def test_json_for_a_terminal_reads_as_the_same_value(text: str) -> None:
    assert json.loads(reveal_json(orjson.dumps([text]).decode())) == [text]


@given(st.dictionaries(st.text("abc", max_size=3), TEXT, max_size=3))
@example({"": "\b"})
def test_nothing_hidden_in_an_encoded_answer_is_missed(value: dict[str, str]) -> None:
    """Hidden characters are found in the bytes as they are in the text, also where JSON escapes
    them.
    """
    hidden = any(find_hidden(text) for text in value.values())
    assert not hidden or json_may_hide(orjson.dumps(value))
    assert encode_twice({"item": Document(value, {})})[2] == json_may_hide(orjson.dumps(value))
