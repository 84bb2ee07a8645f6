"""Rules in effect, for any catalogue and question: order, determinism, budget."""

from __future__ import annotations

from functools import cache
from typing import Any

import bpe_openai
import orjson
from hypothesis import given
from hypothesis import strategies as st

from commonplace.instructions.engine.effective.compiled import CompiledRules
from commonplace.instructions.engine.effective.fitting import fit
from commonplace.instructions.engine.effective.merging import RuleMerger
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.engine.effective.rule import candidate_of
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


def _answer(rules: list[dict[str, Any]], question: RuleQuestion) -> Any:
    documents = [
        normalise({"id": f"rule-{at}", **rule}, f"rule-{at}", 0.0, ReadingRules()).document.whole()
        for at, rule in enumerate(rules)
        if rule["body"].strip()
    ]
    compiled = CompiledRules(map(candidate_of, documents))
    choice = compiled.choose(question, {})
    merged = RuleMerger(choice.selected)
    found = fit(merged, choice.offered, choice.left_out, question.paths, question.budget)
    return show_rules(found, question, "0" * 64), choice


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
