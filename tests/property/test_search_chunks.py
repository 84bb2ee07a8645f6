"""Chunks cover the text with exact byte offsets, stay small, and survive edits elsewhere."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.search.chunk import MAX_BYTES, split

WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "wing",
    "drag",
    "flow",
    "é日本",
    "naïve",
    "😀",
    "def",
    "class",
    "return",
    "import",
    "value",
)
LINES = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(
            [
                "",
                "# Title",
                "## Part",
                "```",
                "~~~",
                "    indented",
                "def f(x):",
                "\r",
                "\u2028",
                "- item",
            ]
        ),
        st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
        st.integers(1, 4000).map(lambda n: "x" * n),
        st.integers(1, 1500).map(lambda n: "é" * n),
    ),
    max_size=60,
)


def document(seed: int, paragraphs: int) -> str:
    rng = random.Random(seed)
    parts = []
    for n in range(paragraphs):
        if n % 9 == 0:
            parts.append(f"## Section {n} {rng.choice(WORDS)}\n\n")
        parts.append(" ".join(rng.choices(WORDS, k=rng.randint(10, 60))) + f" {n}.\n\n")
    return "".join(parts)


@given(LINES)
@settings(max_examples=150)
def test_chunks_cover_the_text_exactly(lines: list[str]) -> None:
    text = "\n".join(lines)
    data = text.encode("utf-8", "surrogatepass")
    chunks = split(text)
    at = 0
    for chunk in chunks:
        assert chunk.start == at < chunk.end
        assert data[chunk.start : chunk.end] == chunk.text.encode()
        assert chunk.end - chunk.start <= MAX_BYTES
        at = chunk.end
    assert at == len(data)


@given(
    st.integers(0, 10_000),
    st.integers(0, 99),
    st.sampled_from(["", "A few new words here.\n\n", "# New heading\n\nBody.\n\n"]),
)
@settings(max_examples=40)
def test_an_edit_changes_few_chunks(seed: int, place: int, inserted: str) -> None:
    text = document(seed, 120)
    paragraphs = text.split("\n\n")
    at = place * len(paragraphs) // 100
    paragraphs[at : at + 1] = [inserted.rstrip("\n")] if inserted else []
    before = {chunk.text for chunk in split(text)}
    after = [chunk.text for chunk in split("\n\n".join(paragraphs))]
    assert len(before) > 15
    assert sum(chunk not in before for chunk in after) <= 6


def test_an_edit_inside_one_huge_line_changes_few_chunks() -> None:
    rng = random.Random(5)
    line = " ".join(f"w{rng.randrange(10_000)}" for _ in range(20_000))
    edited = line[:1000] + "inserted " + line[1000:]
    before = {chunk.text for chunk in split(line)}
    after = [chunk.text for chunk in split(edited)]
    assert len(before) > 50
    assert sum(chunk not in before for chunk in after) <= 6


def test_a_short_text_is_one_chunk_and_an_empty_one_none() -> None:
    assert split("") == []
    assert len(split("# One\n\ntext\n\n# Two\n\nmore\n")) == 1
    assert [chunk.text for chunk in split("\n")] == ["\n"]


def test_sections_start_chunks_and_carry_their_headings() -> None:
    body = "Words that fill the section well enough to stand alone. " * 10
    text = (
        f"# Guide\n\n{body}\n\n## Install\n\n{body}\n\n```\n# not a heading\n```\n\n## "
        f"Use\n\n{body}\n"
    )
    chunks = split(text)
    assert [chunk.headings for chunk in chunks] == [
        ("Guide",),
        ("Guide", "Install"),
        ("Guide", "Use"),
    ]
    assert "# not a heading" in chunks[1].text


def test_a_megabyte_without_a_break_is_bounded() -> None:
    assert all(chunk.end - chunk.start <= MAX_BYTES for chunk in split("x" * 1_000_000))
    assert all(chunk.end - chunk.start <= MAX_BYTES for chunk in split("😀" * 100_000))
