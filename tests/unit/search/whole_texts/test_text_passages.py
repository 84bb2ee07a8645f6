"""Passages of whole texts."""

from __future__ import annotations

from commonplace.search.whole_texts.passages import MOST_PASSAGES, cut_passages, name_of
from measuring import runs_within


def test_a_short_text_is_one_passage_with_its_title() -> None:
    (passage,) = cut_passages("no-force-push", "Branches", "Never force-push.")
    assert passage.text == "Branches\nNever force-push."
    assert name_of(passage.key) == "no-force-push"


def test_a_summary_is_a_passage_of_its_own() -> None:
    passages = cut_passages("a", "Persona", "# Persona\nYou test.", "Accessibility of pages.")
    assert [passage.text for passage in passages] == [
        "Persona\nAccessibility of pages.",
        "# Persona\nYou test.",
    ]


def test_the_same_text_has_the_same_digest_under_another_name() -> None:
    one, other = cut_passages("a", "T", "body")[0], cut_passages("b", "T", "body")[0]
    assert one.digest == other.digest
    assert one.key != other.key


def test_a_body_of_a_million_characters_has_a_bounded_number_of_passages() -> None:
    body = "".join(f"# Part {number}\n\n" + "word " * 190 + "\n\n" for number in range(1_040))
    assert runs_within(2, lambda: cut_passages("long", "Long", body[:1_000_000], "Much."))
    passages = cut_passages("long", "Long", body[:1_000_000], "Much.")
    assert len(passages) == MOST_PASSAGES
    assert len({passage.key for passage in passages}) == MOST_PASSAGES
    assert "Part 0" in passages[1].text
    assert passages[-1].text != passages[-2].text


def test_an_empty_body_is_still_found_by_its_title() -> None:
    assert [passage.text for passage in cut_passages("a", "Title", "")] == ["Title"]
