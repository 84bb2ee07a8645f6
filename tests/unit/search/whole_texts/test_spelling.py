"""Corrections of misspelt words."""

from __future__ import annotations

import pytest

from commonplace.search.whole_texts.spelling import SpellingIndex, count_edits


@pytest.mark.parametrize(
    ("word", "other", "edits"),
    [
        ("kuberntes", "kubernetes", 1),
        ("djnago", "django", 1),
        ("terrafrom", "terraform", 1),
        ("gutenburg", "gutenberg", 1),
        ("interupts", "interrupts", 1),
        ("extesnion", "extension", 1),
        ("abcd", "wxyz", 3),
        ("same", "same", 0),
    ],
)
def test_swapped_missing_doubled_and_wrong_letters_are_one_edit_each(
    word: str, other: str, edits: int
) -> None:
    assert count_edits(word, other, 2) == edits


def test_the_nearest_words_are_returned_the_most_frequent_first() -> None:
    frequencies = {"model": 50, "moodle": 3, "module": 20, "mode": 9}
    index = SpellingIndex(frequencies)
    found = index.correct("moodel", frequencies.__getitem__)
    assert [correction.word for correction in found] == ["model", "moodle"]
    assert all(correction.weight < 1 for correction in found)


@pytest.mark.parametrize("word", ["abc", "1234", "x1y2", "es2021", "c++"])
def test_short_words_numbers_and_signs_are_not_corrected(word: str) -> None:
    index = SpellingIndex(["abcd", "1235", "x1y3", "es2020"])
    assert index.correct(word, lambda other: 1) == []


def test_two_edits_are_accepted_in_long_words_only() -> None:
    index = SpellingIndex(["calisthenics", "spring"])
    assert [found.word for found in index.correct("calistenicss", lambda other: 1)] == [
        "calisthenics"
    ]
    assert index.correct("sprnigg", lambda other: 1) == []


def test_a_discarded_word_is_no_correction_any_more() -> None:
    index = SpellingIndex(["django"])
    index.discard("django")
    index.discard("never-there")
    assert index.correct("djnago", lambda other: 1) == []
