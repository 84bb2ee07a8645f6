"""The part of a file that a page shows."""

from __future__ import annotations

import pytest

from commonplace.console.pages.files.content import (
    HIGHLIGHT_CHARS,
    MAX_EDIT_BYTES,
    Window,
    is_editable,
    is_markdown,
    language_of,
    lines_of_span,
)
from commonplace.console.pages.files.places import Place


def test_the_lines_of_a_passage_are_counted_in_bytes() -> None:
    text = "ä\nzwei\ndrei\n"
    assert lines_of_span(text, 0, (3, 8)) == (1, 1)
    assert lines_of_span(text, 0, (3, 13)) == (1, 2)
    assert lines_of_span(text, 100, (103, 108)) == (1, 1)


def test_a_passage_outside_of_the_text_has_no_lines() -> None:
    assert lines_of_span("abc", 0, (10, 20)) is None
    assert lines_of_span("abc", 50, (0, 20)) is None


def test_a_part_of_a_file_knows_its_neighbours() -> None:
    part = Window("x", 200_000, 350_000, 500_000, "hash")
    assert not part.is_whole
    assert (part.previous_offset, part.next_offset) == (50_000, 350_000)
    whole = Window("x", 0, 1, 1, "hash")
    assert whole.is_whole
    assert (whole.previous_offset, whole.next_offset) == (None, None)


@pytest.mark.parametrize(
    ("text", "size", "editable"),
    [("a", 1, True), ("a\0b", 3, False), ("a", MAX_EDIT_BYTES + 1, False)],
)
def test_only_texts_that_survive_a_text_area_are_edited(
    text: str, size: int, editable: bool
) -> None:
    assert is_editable(text, size) is editable


def test_long_texts_are_not_highlighted() -> None:
    place = Place("p", "/a.py")
    assert language_of(place, "x") == "a.py"
    assert language_of(place, "x" * (HIGHLIGHT_CHARS + 1)) == ""
    assert language_of(Place("p", "/Makefile"), "x") == ""
    assert is_markdown(Place("p", "/README.MD"))
