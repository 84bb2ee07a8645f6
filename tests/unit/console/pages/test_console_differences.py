"""Differences between a saved and a typed version."""

from __future__ import annotations

from commonplace.console.pages.differences import MAX_LINES, compare_fields


def test_differences_name_fields_and_show_a_diff_of_the_text() -> None:
    saved = {"title": "Title", "tags": ["a"], "body": "One.\n--two\nThree."}
    typed = {"title": "New", "tags": ["a", "b"], "body": "One.\n++two\nThree."}
    assert compare_fields(saved, typed, ("title", "tags", "body"), "body") == [
        "-title: Title",
        "+title: New",
        "-tags: a",
        "+tags: a, b",
        "@@ -1,3 +1,3 @@",
        " One.",
        "---two",
        "+++two",
        " Three.",
    ]


def test_equal_versions_have_no_differences() -> None:
    assert compare_fields({"body": "a"}, {"body": "a"}, ("body",), "body") == []


def test_long_differences_are_cut() -> None:
    typed = {"body": "\n".join(str(number) for number in range(MAX_LINES + 10))}
    lines = compare_fields({"body": ""}, typed, ("body",), "body")
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "@@ 11 more lines @@"
