"""Evidence decides what enters a pack; feedback moves it within bounds."""

from __future__ import annotations

from dataclasses import replace

from commonplace.context.engine.judging import (
    MOST_USE_ODDS,
    judge,
    keep_likeliest,
    move_odds,
    use_odds,
)
from commonplace.context.model import ContextCandidate, PackSection, UseWeight


def passage(name: str, chance: float, topic: float, *, named: bool = False) -> ContextCandidate:
    return ContextCandidate(
        PackSection.FILES, f"file:p/{name}#L1-L2", "", "x", "y", chance, topic=topic, named=named
    )


def test_a_passage_that_only_shares_a_name_is_left_out() -> None:
    kept = judge([passage("a", 0.6, 0.01), passage("b", 0.2, 0.6)], {})
    assert [item.ref for item in kept] == ["file:p/b#L1-L2"]


def test_a_passage_with_a_distinctive_name_needs_no_topic() -> None:
    assert judge([passage("a", 0.6, 0.01, named=True)], {})


def test_passages_of_a_file_that_is_about_the_task_need_no_topic_of_their_own() -> None:
    other = replace(passage("a", 0.3, 0.01), ref="file:p/a#L8-L9")
    kept = judge([passage("a", 0.6, 0.6), other, passage("b", 0.3, 0.01)], {})
    assert [item.ref for item in kept] == ["file:p/a#L1-L2", "file:p/a#L8-L9"]
    assert judge([other], {}) == []


def test_a_weak_passage_beside_a_strong_one_is_left_out() -> None:
    kept = judge([passage("a", 0.9, 0.6), passage("b", 0.005, 0.6)], {})
    assert [item.ref for item in kept] == ["file:p/a#L1-L2"]


def test_weak_passages_of_the_best_file_are_kept() -> None:
    other = replace(passage("a", 0.005, 0.6), ref="file:p/a#L8-L9")
    kept = judge([passage("a", 0.9, 0.6), other], {})
    assert [item.ref for item in kept] == ["file:p/a#L1-L2", "file:p/a#L8-L9"]


def test_sections_compare_by_topic_whatever_the_scores_of_their_searches_are() -> None:
    lesson = ContextCandidate(PackSection.LESSONS, "memory:x", "", "x", "y", 0.04, topic=0.8)
    kept = judge([passage("a", 0.7, 0.6), passage("b", 0.35, 0.55), lesson], {})
    assert {item.ref: round(item.chance, 3) for item in kept} == {
        "memory:x": 0.72,
        "file:p/a#L1-L2": 0.54,
        "file:p/b#L1-L2": 0.27,
    }


def test_uses_of_a_file_raise_its_passages_and_the_explanation_says_so() -> None:
    (item,) = judge([passage("a", 0.5, 0.5)], {"file:p/a": UseWeight(used=1)})
    assert item.chance > 0.5
    assert item.explain["feedback"] == 0.25


def test_only_what_a_budget_may_have_room_for_is_considered_but_every_binding_rule() -> None:
    rules = [
        ContextCandidate(
            PackSection.RULES, f"instruction:{at}", "", "x", "y", 0.5, named=True, binding=at >= 60
        )
        for at in range(62)
    ]
    kept, beyond = keep_likeliest(rules, 2_000)
    assert len(kept) == 35
    assert beyond == {PackSection.RULES: 27}
    assert sum(rule.binding for rule in kept) == 2


def test_feedback_is_bounded() -> None:
    assert use_odds(UseWeight(used=10**9)) == MOST_USE_ODDS
    assert use_odds(UseWeight(useless=10**9)) == -MOST_USE_ODDS
    assert 0.5 < move_odds(0.5, MOST_USE_ODDS) < 0.7
