"""Cleaning and bounding text."""

from __future__ import annotations

import pytest

from commonplace.memory.text import clean_context, clean_tags, clean_text, clean_title


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


def test_characters_that_databases_refuse_are_removed() -> None:
    assert clean_text("a\x00b") == "ab"
    assert clean_text("a\ud800b") == "a?b"
    assert clean_tags(["a", " a ", "", "b\n c"]) == ("a", "b c")
