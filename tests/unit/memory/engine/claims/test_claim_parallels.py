"""Sentences of one form: about two things, or alike but for a number or a name."""

from __future__ import annotations

import pytest

from commonplace.memory.engine.contradiction import Statement, find_contradiction


@pytest.mark.parametrize(
    ("title", "a", "b"),
    [
        (
            "Address check",
            "For an address in Norway the post code has 4 digits.",
            "For an address in Sweden the post code has 5 digits.",
        ),
        (
            "Lookup rate limit",
            "The lookup endpoint allows 60 calls per minute per user.",
            "The lookup endpoint allows 300 calls per minute per IP address.",
        ),
        (
            "Planner latency",
            "The planner answers in 40 ms at the median on the x86 nodes.",
            "The planner answers in 55 ms at the median on the ARM nodes.",
        ),
        (
            "Panel rotation",
            "The S panel is mounted rotated by 90 degrees.",
            "The M panel is mounted rotated by 270 degrees.",
        ),
        (
            "Dates of the fleet API",
            "Fleet API v1 returns dates as epoch milliseconds.",
            "Fleet API v2 returns dates as ISO 8601 strings.",
        ),
    ],
)
def test_sentences_that_differ_in_a_value_and_in_their_subject_agree(
    title: str, a: str, b: str
) -> None:
    assert find_contradiction(Statement(title, a), Statement(title, b)) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Product pages are cached for 5 minutes.", "Product pages are cached for 24 hours."),
        (
            "The lookup endpoint allows 60 calls per minute per user.",
            "The lookup endpoint allows 300 calls per minute per user.",
        ),
        (
            "Exports are written with Snappy by the nightly job.",
            "Exports are written with LZ4 by the nightly job.",
        ),
    ],
)
def test_sentences_that_differ_in_a_value_only_disagree(a: str, b: str) -> None:
    assert find_contradiction(Statement("A limit", a), Statement("A limit", b)) is not None


def test_other_words_of_the_titles_do_not_matter_if_the_sentence_is_the_same() -> None:
    found = find_contradiction(
        Statement(
            "Podcast mastering sample rate",
            "The mastering worker resamples everything to 44.1 kHz before normalization.",
        ),
        Statement(
            "Mastering worker output rate",
            "The mastering worker resamples everything to 48 kHz before normalization.",
        ),
    )
    assert found is not None
    assert found.kind == "number"


def test_another_name_in_the_same_place_of_a_sentence_disagrees() -> None:
    title = "Who signs firmware"
    found = find_contradiction(
        Statement(title, "Mona holds the card for signing the thermostat firmware."),
        Statement(title, "Edgar holds the card for signing the thermostat firmware."),
    )
    assert found is not None
    assert found.detail == "Mona against Edgar"


def test_another_word_in_the_same_place_of_a_sentence_is_another_thing() -> None:
    title = "Caching of search"
    a = Statement(title, "Search results are cached in the shared store.")
    b = Statement(title, "Search suggestions are cached in the shared store.")
    assert find_contradiction(a, b) is None


def test_names_under_other_titles_are_about_two_things() -> None:
    a = Statement("Keys of the lab", "Mona holds the card for opening the north door.")
    b = Statement("Keys of the office", "Edgar holds the card for opening the north door.")
    assert find_contradiction(a, b) is None


@pytest.mark.parametrize(
    "end",
    ["is turned off.", "is closed.", "was deleted last week.", "has been disabled."],
)
def test_what_was_switched_off_is_no_value_any_more(end: str) -> None:
    a = Statement("How pull requests are merged", "We squash every pull request.")
    b = Statement(
        "How pull requests are merged",
        f"We rebase every pull request and keep its commits. Squash {end}",
    )
    assert find_contradiction(a, b) is not None
