"""A pack holds what fits its budget, splits it by evidence, and says what did not fit."""

from __future__ import annotations

from dataclasses import replace

from commonplace.context.engine.packing import fill_pack
from commonplace.context.engine.task import TaskReading
from commonplace.context.engine.wire import count_json, show_pack
from commonplace.context.model import ContextCandidate, ContextPack, ContextQuestion, PackSection

RULES, LESSONS, FILES = PackSection.RULES, PackSection.LESSONS, PackSection.FILES


def candidate(
    section: PackSection, name: str, text: str, chance: float = 0.5, *, binding: bool = False
) -> ContextCandidate:
    return ContextCandidate(
        section, f"instruction:{name}", name.title(), text, "always", chance, binding=binding
    )


def fill(*candidates: ContextCandidate, budget: int = 2_000, task: str = "x") -> ContextPack:
    found = {item.section for item in candidates}
    empty = [section for section in PackSection if section not in found]
    return fill_pack(TaskReading(ContextQuestion(task, budget=budget)), candidates, empty)


def test_a_pack_names_the_sections_without_evidence() -> None:
    shown = show_pack(fill(candidate(RULES, "a", "Use tabs.")))
    assert [item["ref"] for item in shown["rules"]] == ["instruction:a"]
    assert shown["empty"] == ["lessons", "files", "operations"]
    assert "lessons" not in shown


def test_what_does_not_fit_is_counted() -> None:
    many = [candidate(LESSONS, f"n{at}", "word " * 30) for at in range(30)]
    pack = fill(*many, budget=600)
    assert len(pack.items) + pack.cut[LESSONS] == 30
    assert count_json(show_pack(pack)) <= pack.tokens <= 600


def test_a_long_text_is_cut_to_the_paragraphs_that_share_words_with_the_task() -> None:
    body = "\n\n".join(f"Paragraph {at} about topic{at}." for at in range(200))
    pack = fill(candidate(RULES, "a", body), budget=400, task="topic150")
    (item,) = pack.items
    assert item.cut
    assert "about topic150." in item.text
    assert "about topic120." not in item.text
    assert "[...]" in item.text


def test_a_passage_is_cut_to_whole_lines_and_its_reference_follows() -> None:
    text = "\n".join(f"value_{at} = compute({at})" for at in range(300))
    passage = replace(candidate(FILES, "a", text), ref="file:p/a.py#L101-L400", line=101, title="")
    (item,) = fill(passage, budget=400, task="value_150").items
    first, last = item.ref.partition("#L")[2].split("-L")
    assert item.text.split("\n")[0] == f"value_{int(first) - 101} = compute({int(first) - 101})"
    assert item.text.count("\n") == int(last) - int(first)
    assert "value_150 =" in item.text


def test_the_split_follows_the_evidence() -> None:
    long = "\n\n".join(f"Paragraph {at} of words and more words." for at in range(200))
    weak, strong = (
        fill(candidate(RULES, "r", long, chance), candidate(LESSONS, "l", long, 0.6))
        for chance in (0.1, 0.9)
    )

    def share(pack: ContextPack) -> float:
        rules = sum(item.tokens for item in pack.items if item.candidate.section is RULES)
        return rules / sum(item.tokens for item in pack.items)

    assert share(weak) < 0.3
    assert share(strong) > 0.5


def test_binding_rules_appear_at_least_by_reference() -> None:
    binding = [candidate(RULES, f"b{at}", "must " * 300, 1.0, binding=True) for at in range(6)]
    pack = fill(*binding, candidate(LESSONS, "l", "A short lesson.", 0.9), budget=1_000)
    assert [item.candidate.ref for item in pack.items[:6]] == [item.ref for item in binding]
    assert pack.tokens <= 1_000


def test_a_rest_of_the_budget_goes_to_what_was_cut() -> None:
    long = "\n\n".join(f"Paragraph {at} of words and more words." for at in range(80))
    pack = fill(candidate(RULES, "r", long, 0.2), candidate(LESSONS, "l", "Short.", 0.9))
    assert pack.tokens > 800
    assert not any(item.cut for item in pack.items)


def test_the_same_question_and_items_give_the_same_id() -> None:
    first = fill(candidate(RULES, "a", "Use tabs."))
    assert first.id == fill(candidate(RULES, "a", "Use tabs.")).id
    assert first.id != fill(candidate(RULES, "a", "Use spaces.")).id
