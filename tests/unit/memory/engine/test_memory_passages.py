"""Passages of entries: short texts stay whole, long ones are covered within a bound."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.memory.engine.passages import (
    LARGEST_CHARACTERS,
    MOST_PASSAGES,
    PASSAGE_CHARACTERS,
    context_passages,
    newest_lines,
    summary_passages,
)
from commonplace.memory.model import Draft, Entry, EntryType

SENTENCE = "The gateway number {} closes idle connections after some seconds."


def make_entry(content: str, context: str = "", tags: tuple[str, ...] = ()) -> Entry:
    draft = Draft(EntryType.BUG, "Idle connections", content, tags, context)
    return draft.entry("01", datetime(2026, 1, 1, tzinfo=UTC))


def test_a_short_text_is_one_passage_with_title_and_tags() -> None:
    entry = make_entry("Closed after thirty seconds.", tags=("gateway",))
    assert summary_passages(entry) == (entry.text,)
    assert context_passages(entry) == ()


def test_a_long_text_begins_with_itself_and_is_covered_by_short_passages() -> None:
    content = " ".join(SENTENCE.format(number) for number in range(160))
    entry = make_entry(content, context=content, tags=("gateway", "idle"))
    first, *others = summary_passages(entry)
    assert first == entry.text
    assert all(passage.startswith("Idle connections\n") for passage in others)
    bodies = [passage.partition("\n")[2] for passage in others]
    assert " ".join(bodies) == f"{content} gateway idle"
    assert max(map(len, bodies)) <= PASSAGE_CHARACTERS
    assert context_passages(entry)[0] == content
    assert " ".join(context_passages(entry)[1:]) == content


def test_a_new_paragraph_begins_a_new_passage() -> None:
    filler = " ".join(SENTENCE.format(number) for number in range(20))
    answer = "Safari refuses the cookie of the widget unless it is partitioned."
    passages = summary_passages(make_entry(f"{filler}\n\n{answer}"))
    assert passages[-1] == f"Idle connections\n{answer}"


@pytest.mark.parametrize(
    "content",
    ["word " * 200_000, "x" * 1_000_000, "\n\n".join(["a line"] * 100_000), "a. " * 300_000],
)
def test_vectors_of_an_enormous_text_are_bounded(content: str) -> None:
    passages = summary_passages(make_entry(content))
    assert len(passages) <= MOST_PASSAGES
    assert all(len(p) <= LARGEST_CHARACTERS + 100 for p in passages[1:])
    assert sum(map(len, passages[1:])) >= 40_000


def test_newest_lines_are_the_last_whole_ones_that_fit() -> None:
    context = "\n".join(f"line {number} of the talk" for number in range(100))
    assert newest_lines(context, 45) == "line 98 of the talk\nline 99 of the talk"
    assert newest_lines("short", 45) == "short"
    assert newest_lines("x" * 100, 45) == "x" * 45
