"""Line ends of an edited file."""

from __future__ import annotations

import pytest

from commonplace.console.pages.files.line_ends import (
    describe_line_ends,
    restore_line_ends,
    split_lines,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a", ""), ("a\nb", "LF"), ("a\r\nb\r\n", "CRLF"), ("a\rb", "CR"), ("a\r\nb\n", "mixed")],
)
def test_line_ends_are_named(text: str, kind: str) -> None:
    assert describe_line_ends(text) == kind


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\n", "a\r\nb\rc\n", "\r"])
def test_lines_and_ends_make_the_text_again(text: str) -> None:
    assert "".join(line + end for line, end in split_lines(text)) == text


@pytest.mark.parametrize(
    "stored", ["", "a", "a\nb\n", "a\r\nb\r\n", "a\rb\r", "a\r\nb\nc\rd", "a\r\n\nb"]
)
def test_a_text_that_was_not_changed_is_stored_as_it_was(stored: str) -> None:
    shown = stored.replace("\r\n", "\n").replace("\r", "\n")  # as a text area has it
    assert restore_line_ends(stored, shown) == stored


def test_new_lines_of_a_windows_file_get_windows_ends() -> None:
    assert restore_line_ends("a\r\nb\r\n", "a\nnew\nb\n") == "a\r\nnew\r\nb\r\n"


def test_unchanged_lines_keep_their_own_end_among_mixed_ones() -> None:
    stored = "one\r\ntwo\nthree\r\nfour\r\nfive"
    assert (
        restore_line_ends(stored, "one\ntwo\nnew\nthree\n4\nfive\nsix\n")
        == "one\r\ntwo\nnew\r\nthree\r\n4\r\nfive\r\nsix\r\n"
    )


def test_long_texts_with_mixed_ends_are_restored_without_comparing_every_pair() -> None:
    stored = "".join(f"{number}\r\n" for number in range(9_000)) + "last\n"
    edited = "".join(f"{number} changed\n" for number in range(9_000)) + "last\n"
    assert restore_line_ends(stored, edited).endswith("8999 changed\r\nlast\n")
