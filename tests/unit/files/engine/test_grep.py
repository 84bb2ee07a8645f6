"""Patterns match line by line and read a file once."""

from __future__ import annotations

import pytest

from commonplace.files.engine.grep import compile_pattern, matching_lines
from measuring import runs_within

SOURCE = b"def foo():\n    return\n\nx = 1\nimport os\n\n\nclass A:\n"


def lines(
    pattern: str, content: bytes, *, literal: bool = False
) -> list[tuple[int, int, int, str]]:
    compiled = compile_pattern(pattern, literal=literal, ignore_case=False)
    return [
        (match.line, match.start, match.end, match.text)
        for match in matching_lines(compiled, content)
    ]


@pytest.mark.parametrize(
    "pattern", [r"\s+$", r"^\s+x", r"[^a]class", r"return\s*x", r"x\n", r"(?s)x.*os"]
)
def test_no_match_crosses_a_line_break(pattern: str) -> None:
    assert lines(pattern, SOURCE) == []
    assert lines(pattern, SOURCE.replace(b"\n", b"\r\n")) == []


def test_a_literal_with_a_line_break_matches_nothing() -> None:
    assert lines("foo\nbar", b"foo\nbar\n", literal=True) == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_end_before_their_break(end: bytes) -> None:
    content = end.join([b"foo", b"bar", b"", b"bar"])
    second = len(b"foo" + end)
    fourth = len(content) - 3
    assert lines("^bar$", content) == [
        (2, second, second + 3, "bar"),
        (4, fourth, fourth + 3, "bar"),
    ]
    assert [line for line, *_ in lines("^$", content)] == [3]
    assert [line for line, *_ in lines("^$", content + end)] == [3]


@pytest.mark.parametrize("pattern", ["(a|[a-z \\n])*h", "a[^z]*", "(a|ab|abc|[a-z \\n])*h"])
def test_expensive_patterns_read_a_large_file_once(pattern: str) -> None:
    content = (b"abcdefgh " * 10 + b"\n") * 20_000
    assert len(lines(pattern, content)) == 20_000
    assert runs_within(5, lambda: lines(pattern, content))  # it took a minute for five hundred
