"""What says the same is shown once, whatever its section."""

from __future__ import annotations

from commonplace.context.engine.duplicates import merge_duplicates
from commonplace.context.model import ContextCandidate, PackSection

TEXT = "Two workers wrote at once, so that the database was locked for a long time."


def item(section: PackSection, ref: str, text: str) -> ContextCandidate:
    return ContextCandidate(section, ref, "", text, "", 0.5)


def test_the_first_one_names_the_others() -> None:
    (kept,) = merge_duplicates(
        [
            item(PackSection.LESSONS, "memory:a", TEXT),
            item(PackSection.FILES, "file:p/a#L1-L3", f"# Locks\n\n{TEXT}"),
        ]
    )
    assert kept.also == ("file:p/a#L1-L3",)


def test_similar_code_of_two_files_is_not_the_same() -> None:
    first = "\n".join(f"value_{at} = compute({at})" for at in range(20))
    second = first.replace("value_3 = compute(3)", "value_3 = other(3)").replace("_4 ", "_x ")
    passages = [
        item(PackSection.FILES, f"file:p/{name}#L1-L20", text)
        for name, text in (("a", first), ("b", second))
    ]
    assert len(merge_duplicates(passages)) == 2


def test_a_sentence_of_a_long_rule_is_not_dropped_for_it() -> None:
    rule = item(
        PackSection.RULES,
        "instruction:r",
        TEXT + " ".join(f"Word{at} follows." for at in range(99)),
    )
    assert len(merge_duplicates([rule, item(PackSection.LESSONS, "memory:a", TEXT)])) == 2


def test_a_reference_comes_once() -> None:
    same = item(PackSection.LESSONS, "memory:a", TEXT)
    assert merge_duplicates([same, same]) == [same]
