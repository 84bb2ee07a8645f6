"""Rules in effect, for any catalogue and question: order, determinism, budget."""

from __future__ import annotations

from functools import cache
from typing import Any

import bpe_openai
import orjson
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.effective.comparing import ComparedTexts, TextOverlaps
from commonplace.instructions.engine.effective.compiled import CompiledRules, RuleChoice
from commonplace.instructions.engine.effective.fitting import fit
from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.engine.effective.rule import EffectiveCandidate, candidate_of
from commonplace.instructions.engine.normalise import ReadingRules, normalise
from commonplace.instructions.tools.effective.rules import show_rules

WORDS = st.sampled_from(
    (
        "Use tabs.",
        "Use spaces.",
        "Never use tabs.",
        "Limit lines to 80.",
        "Be kind.",
        "É" * 9,
        '"\\',
    )
)
GLOBS = st.sampled_from(("src/**", "src/api/**", "**/*.py", "!src/gen/**", "docs/*.md"))
RULES = st.lists(
    st.fixed_dictionaries(
        {"body": st.lists(WORDS | st.text(min_size=1), min_size=1, max_size=30).map("\n".join)},
        optional={
            "title": st.text(max_size=60),
            "requirement": st.sampled_from(("mandatory", "critical", "recommended", "optional")),
            "priority": st.integers(1, 100),
            "appliesTo": st.lists(GLOBS, max_size=3),
            "activation": st.sampled_from(("always", "glob", "description", "manual")),
            "userId": st.sampled_from(("ann", "bob")),
            "teamIds": st.lists(st.sampled_from(("core", "web")), max_size=2),
            "status": st.sampled_from(("draft", "approved", "deprecated")),
            "supersedes": st.sampled_from(("rule-0", "rule-1")),
            "conflictsWith": st.lists(st.sampled_from(("rule-0", "rule-2")), max_size=2),
        },
    ),
    max_size=12,
)
QUESTIONS = st.builds(
    RuleQuestion,
    paths=st.lists(st.sampled_from(("src/api/a.py", "docs/a.md", "x")), max_size=3).map(tuple),
    budget=st.integers(200, 3000),
    user=st.sampled_from((None, "ann")),
    teams=st.sampled_from(((), ("core",))),
    named=st.sampled_from(((), ("rule-3",))),
)


@cache
def _encoding() -> bpe_openai.Encoding:
    return bpe_openai.get_encoding("o200k_base")


def _tokens_of(text: str) -> int:
    return len(_encoding().encode(text, disallowed_special=()))


def _candidates(rules: list[dict[str, Any]]) -> list[EffectiveCandidate]:
    documents = (
        normalise({"id": f"rule-{at}", **rule}, f"rule-{at}", 0.0, ReadingRules()).document.whole()
        for at, rule in enumerate(rules)
        if rule["body"].strip()
    )
    return list(map(candidate_of, documents))


def _show(
    choice: RuleChoice, question: RuleQuestion, overlaps: TextOverlaps | None = None
) -> dict[str, Any]:
    merged = RuleMerger(choice.selected, overlaps)
    found = fit(merged, choice.offered, choice.left_out, question.paths, question.budget)
    return show_rules(found, question, "0" * 64)


def _answer(rules: list[dict[str, Any]], question: RuleQuestion) -> Any:
    choice = CompiledRules(_candidates(rules)).choose(question, {})
    return _show(choice, question), choice


@given(RULES, RULES, QUESTIONS, st.integers(0, 12))
def test_rules_that_are_followed_answer_like_rules_that_are_read_anew(
    before: list[dict[str, Any]], after: list[dict[str, Any]], question: RuleQuestion, read: int
) -> None:
    rules, texts = CompiledRules(_candidates(before)), ComparedTexts(_candidates(before))
    texts.overlaps([*rules.candidates][:read])
    texts.read_some(read)
    changed = {candidate.key: candidate for candidate in _candidates(after)}
    for key in rules.candidates.keys() - changed.keys():
        rules.drop(key)
        texts.drop(key)
    for candidate in changed.values():
        rules.put(candidate)
        texts.put(candidate)
    choice = rules.choose(question, {})
    overlaps = texts.overlaps([chosen.rule.key for chosen in choice.selected])
    assert _show(choice, question, overlaps) == _answer(after, question)[0]


@given(RULES, QUESTIONS, st.integers(0, 12))
def test_texts_of_files_are_compared_like_those_of_the_catalogue(
    rules: list[dict[str, Any]], question: RuleQuestion, in_catalogue: int
) -> None:
    choice = CompiledRules(_candidates(rules)).choose(question, {})
    ordered = [chosen.rule for chosen in choice.selected]
    texts = ComparedTexts(ordered[:in_catalogue])
    selected = [rule.key for rule in ordered[:in_catalogue]]
    overlaps = texts.overlaps(selected, ordered[in_catalogue:])
    assert _show(choice, question, overlaps) == _show(choice, question)


@given(RULES, QUESTIONS)
def test_answers_are_ordered_repeatable_and_within_the_budget(
    rules: list[dict[str, Any]], question: RuleQuestion
) -> None:
    answer, choice = _answer(rules, question)
    assert answer == _answer(rules, question)[0]
    assert answer["rules"] == _answer(rules[:], question)[0]["rules"]
    chosen = {selected.rule.ref: selected.rule for selected in choice.selected}
    order = [chosen[rule["ref"]].order for rule in answer["rules"]]
    assert order == sorted(order)
    assert _tokens_of(orjson.dumps(answer).decode()) <= answer["tokens"]
    if answer["tokens"] > question.budget:
        assert answer["overBudget"]
        assert not any("text" in rule for rule in answer["rules"])
        assert all(chosen[rule["ref"]].is_binding for rule in answer["rules"])


@given(RULES, QUESTIONS)
def test_every_selected_rule_is_accounted_for(
    rules: list[dict[str, Any]], question: RuleQuestion
) -> None:
    answer, choice = _answer(rules, question)
    shown = [rule["ref"] for rule in answer["rules"]]
    repeated = [ref for rule in answer["rules"] for ref in rule.get("duplicates", ())]
    assert len(set(shown)) == len(shown)
    binding = {s.rule.ref for s in choice.selected if s.rule.is_binding}
    if not answer.get("leftOutCount") and not answer["cutCount"]:
        assert {s.rule.ref for s in choice.selected} == {*shown, *repeated}
    assert binding <= {*shown, *repeated}
