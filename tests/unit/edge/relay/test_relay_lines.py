"""Lines of a byte stream."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.edge.relay.lines import LAST_PART, PART, WHOLE, LineSplitter


@given(
    st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=6),
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
)
def test_every_byte_is_passed_in_order_and_short_lines_are_whole(
    lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(16)
    pieces: list[tuple[str, bytes]] = []
    start = 0
    for cut in cuts:
        pieces += splitter.feed(stream[start : start + cut])
        start += cut
    pieces += splitter.feed(stream[start:])
    assert b"".join(part for _, part in pieces) == stream
    assert [part for kind, part in pieces if kind == WHOLE] == [
        line + b"\n" for line in lines if len(line) < 16
    ]
    assert sum(kind == LAST_PART for kind, _ in pieces) == sum(len(line) >= 16 for line in lines)


def test_a_long_line_keeps_its_ends() -> None:
    splitter = LineSplitter(10)
    kinds = [kind for kind, _ in splitter.feed(b"a" * 12)]
    kinds += [kind for kind, _ in splitter.feed(b"b" * 3000 + b"c\n")]
    assert kinds == [PART, LAST_PART]
    assert splitter.head.startswith(b"aaa")
    assert splitter.tail.endswith(b"bc\n")


def test_a_last_line_without_a_newline_counts() -> None:
    splitter = LineSplitter(10)
    assert list(splitter.feed(b"end")) == []
    assert list(splitter.finish()) == [(WHOLE, b"end")]
    assert list(splitter.finish()) == []
