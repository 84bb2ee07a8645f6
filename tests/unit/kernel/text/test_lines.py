"""Lines of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.kernel.text.lines import count_lines, cut_lines, line_span


def test_only_a_line_feed_ends_a_line() -> None:
    assert cut_lines("a\u2028b\x0b\r\nc\nd", 2, 2) == "c\n"
    assert cut_lines("a\nb", 2, 9) == "b"
    assert cut_lines("a\nb", 3, 9) == ""


@given(st.text(alphabet="ab\n\r\u2028", max_size=30), st.integers(1, 12), st.integers(0, 12))
def test_lines_are_those_that_a_split_by_line_feeds_gives(text: str, first: int, more: int) -> None:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    assert cut_lines(text, first, first + more) == "".join(lines[first - 1 : first + more])


@given(st.text(alphabet="aé\n\r\u2028", max_size=30), st.integers(1, 12), st.integers(0, 12))
def test_spans_of_lines_are_the_bytes_of_the_same_lines(text: str, first: int, more: int) -> None:
    content = text.encode()
    start, end = line_span(content, first, first + more)
    assert content[start:end].decode() == cut_lines(text, first, first + more)
    assert line_span(content, first, None) == (start, len(content))


def test_the_last_line_may_lack_its_line_feed() -> None:
    assert [count_lines(text) for text in (b"", b"\n", b"a", b"a\n", b"a\r\nb")] == [0, 1, 1, 1, 2]
