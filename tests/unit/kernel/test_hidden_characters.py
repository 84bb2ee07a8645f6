"""Hidden characters: which count, where they are ordinary writing, and how they are shown."""

from __future__ import annotations

import json
import unicodedata

import orjson
import pytest

from commonplace.kernel.hidden_characters import (
    count_hidden,
    find_hidden,
    has_hidden,
    json_may_hide,
    name_of,
    reveal,
    reveal_json,
    summarize,
)

ORDINARY = {
    "Persian": "می‌خواهم کتاب‌ها را بخوانم، PDF‌ها، ه‍.",  # noqa: RUF001
    "Hindi": "क्‍ष र्‍या श्रीमान् क्‌ष",
    "Sinhala": "ශ්‍රී ලංකා",
    "Malayalam": "മലയാളം ന്‍ ണ്‍",
    "emoji": "👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 🏴‍☠️ ❤️‍🔥 1️⃣ ©️ ⚠️ ✔︎ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿",
    "Hebrew": "שלום‏! C++‎ הוא שפה",
    "Hebrew points": "שָׁ͏ֽלוֹם",
    "Arabic": "السلام عليكم\u061c 123 \u200f(تم)\u200f",
    "byte order mark": "\ufeff# Title",
    "Japanese variants": "葛\U000e0100城",
    "soft hyphens": "co\u00adope\u00adration Donau\u00addampf\u00adschiff",
    "Khmer": "ភាសា\u200bខ្មែរ",
    "Thai": "ภาษา\u200bไทย",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ\u180e\u1820",
    "old Korean": "\u115f\u1161",
    "mathematics": "a ≨︀ b",
    "white space": "a\r\nb\tc\f\n",
    "typography": "naïve — “quotes” … Zażółć gęślą jaźń Größe",
    "icons of private use": "\ue0b0 \uf113",
}
HIDDEN = {
    "ESC": "a\x1b[31mb",
    "NUL": "a\x00b",
    "DEL": "a\x7fb",
    "C1 CSI": "a\x9b31mb",
    "line separator": "a\u2028b",
    "bidi override": "a\u202eb",
    "bidi override in Hebrew": "של\u202eום",  # noqa: RUF001
    "bidi isolate": "a\u2066b",
    "bidi mark in English": "a\u200eb",
    "run of bidi marks in Arabic": "تم\u200f\u200f",
    "zero width space": "a\u200bb",
    "zero width joiner between letters": "a\u200db",
    "run of joiners in Persian": "می‌‌خ",
    "byte order mark inside": "a\ufeffb",
    "word joiner": "a\u2060b",
    "invisible times": "2\u2062x",
    "tag characters": "x\U000e0041y",
    "flag with a message": "🏴\U000e0067\U000e0062\U000e007f",
    "two selectors": "😀\ufe0f\ufe0f",
    "selector after a letter": "a\ufe01b",
    "selector after a digit": "1\ufe0f2",
    "supplementary selector": "😀\U000e0110",
    "run of soft hyphens": "ab\u00ad\u00adcd",
    "soft hyphen at an edge": "\u00adab",
    "Hangul filler": "\u3164",
    "half-width filler": "\uffa0",
    "choseong filler alone": "\u115f ",
    "interlinear annotation": "a\ufff9b\ufffac\ufffb",
    "noncharacter": "a\ufdd0b",
    "noncharacter of a plane": "a\U0001fffeb",
    "lone surrogate": "a\ud800b",
    "grapheme joiner": "a\u034fb",
    "shorthand format control": "a\U0001bca0b",
}
VISIBLE_FORMAT = {
    *range(0x600, 0x606),
    0x6DD,
    0x70F,
    0x890,
    0x891,
    0x8E2,
    0x110BD,
    0x110CD,
    *range(0x13430, 0x13440),
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_writing_has_no_hidden_characters(text: str) -> None:
    assert find_hidden(text) == []
    assert reveal(text.replace("\f", "")) == text.replace("\f", "")
    assert not json_may_hide(orjson.dumps(text)) or any(
        mark in text for mark in "\u061c\u200e\u200f"
    )


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_hidden_characters_are_found_and_shown(text: str) -> None:
    found = find_hidden(text)
    assert found
    assert all(text[offset] == character for offset, character in found)
    shown = reveal(text)
    assert not has_hidden(shown)
    assert all(f"<U+{ord(character):04X}>" in shown for _, character in found)


@pytest.mark.parametrize("text", [text for text in HIDDEN.values() if "\ud800" not in text])
def test_the_quick_test_of_an_encoded_answer_agrees(text: str) -> None:
    assert json_may_hide(orjson.dumps({"body": text}))
    assert json_may_hide(orjson.dumps({"body": "متن می‌خواهم " * 100 + "and in English " + text}))


def test_a_written_out_escape_is_not_a_control_character() -> None:
    assert not json_may_hide(orjson.dumps({"body": r"print('\u001b[31m') and \\u0007"}))
    assert json_may_hide(orjson.dumps({"body": "\\\x1b"}))


def test_every_format_control_and_separator_is_judged() -> None:
    """A character that Unicode adds to these categories fails here until we decide about
    it.
    """
    unseen = [
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cf", "Cc", "Zl", "Zp", "Cs")
        and chr(code) not in "\t\n\v\f\r"
        and code not in VISIBLE_FORMAT
        and not has_hidden(f"a{chr(code)}a")
    ]
    assert unseen == []


def test_white_space_that_moves_the_cursor_is_shown_on_a_terminal() -> None:
    assert reveal("paid\rfree\fx\vy\r\nz\t.") == "paid<U+000D>free<U+000C>x<U+000B>y\r\nz\t."


def test_json_for_a_terminal_is_the_same_value() -> None:
    value = {"title": "a\u202eb\U000e0041\x7f\x9b\x1b"}
    shown = reveal_json(orjson.dumps(value).decode())
    assert shown.isascii()
    assert json.loads(shown) == value


def test_a_summary_counts_and_names() -> None:
    counted = count_hidden({"title": "\x1b[1m\x1b[0m", "tags": ["x\u202e"], "k\u200b": 1})
    assert (
        summarize(counted)
        == "4 hidden characters (2 U+001B ESCAPE, 1 U+202E RIGHT-TO-LEFT OVERRIDE, 1 U+200B "
        "ZERO WIDTH SPACE)"
    )
    assert summarize({"\u200b": 1}) == "1 hidden character (1 U+200B ZERO WIDTH SPACE)"
    assert name_of("\x81") == "U+0081 control character"
    assert name_of("\ufdd0") == "U+FDD0 unassigned or noncharacter"
