"""Ids, formulas, cleaning and counting: the rules of single values."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.memory.engine.guide import INSTRUCTIONS, guide, language_of
from commonplace.memory.engine.tokens import count_tokens
from commonplace.memory.model import (
    Suggestion,
    SuggestionType,
    consolidation_score,
    digest,
    suggestion_key,
)
from commonplace.memory.text import clean_context, clean_tags, clean_text, clean_title
from commonplace.memory.ulid import Ulids, encode, is_ulid, read_prefix

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_ulids_increase_within_a_millisecond_and_when_the_clock_goes_back() -> None:
    ulids = Ulids()
    made = (
        [ulids.next(NOW) for _ in range(1000)]
        + [ulids.next(NOW - timedelta(seconds=5))]
        + [ulids.next(NOW + timedelta(seconds=1))]
    )
    assert made == sorted(set(made))
    assert all(is_ulid(id_) for id_ in made)


def test_a_ulid_begins_with_its_time() -> None:
    milliseconds = int(NOW.timestamp() * 1000)
    assert Ulids().next(NOW)[:10] == encode(milliseconds << 80)[:10]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("01hx1", "01HX1"),
        (" 01HX12 ", "01HX12"),
        ("O1hxl", "01HX1"),
        ("01HX", None),
        ("01HX%", None),
        ("01HX1" * 6, None),
        ("", None),
    ],
)
def test_a_prefix_is_read_as_people_type_it(typed: str, read: str | None) -> None:
    assert read_prefix(typed) == read


def test_consolidation_is_the_published_formula() -> None:
    assert consolidation_score(0, None, NOW) == 0.0
    expected = 0.6 * min(1, math.log(8) / 5) + 0.4 * math.exp(-15 / 30)
    assert consolidation_score(7, NOW - timedelta(days=15), NOW) == pytest.approx(
        expected, abs=1e-4
    )
    assert consolidation_score(10**6, NOW, NOW) == 1.0


def test_consolidation_fades_without_being_read() -> None:
    scores = [
        consolidation_score(5, NOW - timedelta(days=days), NOW) for days in (0, 10, 100, 1000)
    ]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("length", "kept", "truncated"),
    [(0, 0, False), (8_001, 8_001, False), (10_000, 10_000, False), (10_001, 8_000, True)],
)
def test_a_context_over_10000_characters_keeps_the_first_8000(
    length: int, kept: int, truncated: bool
) -> None:
    text, cut = clean_context("c" * length)
    assert (len(text), cut) == (kept, truncated)


def test_titles_are_one_line_and_never_empty() -> None:
    assert clean_title("  a\n b\t c ", "") == "a b c"
    assert clean_title(" \n", "\n  first line\nsecond") == "first line"
    assert clean_title("", "") == "(untitled)"
    assert len(clean_title("", "x" * 500)) == 100


def test_text_loses_what_no_database_keeps() -> None:
    assert clean_text("a\x00b") == "ab"
    assert clean_text("a\ud800b") == "a?b"
    assert clean_tags(["a", " a ", "", "b\n c"]) == ("a", "b c")


def test_the_same_text_has_the_same_digest_whatever_its_spaces() -> None:
    assert digest("bug", "a  b", "c\n\nd", None) == digest("bug", "a b", "c d", None)
    assert digest("bug", "a", "b", None) != digest("bug", "a", "b", "p")
    assert digest("bug", "a", "b", None) != digest("pattern", "a", "b", None)


def test_a_pair_has_one_key_whatever_its_order_and_kind() -> None:
    assert suggestion_key(SuggestionType.LINK, ("B", "A")) == suggestion_key(
        SuggestionType.CONTRADICTION, ("A", "B")
    )
    assert suggestion_key(SuggestionType.GENERALIZE, ("C", "A", "B")) == suggestion_key(
        SuggestionType.GENERALIZE, ("A", "B", "C")
    )


def test_a_suggestion_about_too_few_entries_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="2 or more"):
        Suggestion("S", SuggestionType.LINK, ("A", "A"), 0.8, "", NOW)
    with pytest.raises(ValueError, match="3 or more"):
        Suggestion("S", SuggestionType.GENERALIZE, ("A", "B"), 0.8, "", NOW)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_guide_fits_500_tokens_in_both_languages(language: str) -> None:
    text = guide("all", "fr" if language == "fr" else "en")
    assert count_tokens(text) < 500
    assert len(text) < 2000
    assert "rekall_search" in text
    assert len(INSTRUCTIONS[language].splitlines()) == 3


@pytest.mark.parametrize(
    ("setting", "environment", "language"),
    [
        ("fr", {}, "fr"),
        ("en", {"LANG": "fr_FR.UTF-8"}, "en"),
        ("auto", {"LANG": "fr_CA.UTF-8"}, "fr"),
        ("auto", {"LC_ALL": "C.UTF-8", "LANG": "fr_FR"}, "en"),
        ("auto", {}, "en"),
    ],
)
def test_the_language_is_the_settings_else_the_locales(
    setting: str, environment: dict[str, str], language: str
) -> None:
    assert language_of(setting, environment) == language


def test_tokens_are_counted_close_to_what_tokenizers_give() -> None:
    prose = (
        "The quick brown fox jumps over the lazy dog and runs away from the farmer who keeps "
        "the chickens."
    )
    assert 18 <= count_tokens(prose) <= 26
    assert count_tokens("") == 0
    assert count_tokens("漢字仮名交じり文") >= 4
