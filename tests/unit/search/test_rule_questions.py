"""The questions of the rule search benchmark keep what it promises about them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from benchmarks.retrieval import parity
from benchmarks.rule_corpus import read_rules
from benchmarks.rule_search import QUESTIONS, TUNED, UNTOUCHED

from commonplace.search.lexical.text import analyze

DATA: dict[str, list[dict[str, Any]]] = json.loads(QUESTIONS.read_text("utf-8"))
RULES = {rule.path: rule for rule in read_rules()}


@pytest.mark.parametrize("question", DATA["questions"], ids=lambda question: question["id"])
def test_a_question_shares_at_most_one_word_with_the_title_of_a_right_rule(
    question: dict[str, Any],
) -> None:
    words = set(analyze(question["text"]))
    for path in question["gold"]:
        shared = words & set(analyze(RULES[path].title))
        assert len(shared) <= 1, (path, shared)


def test_there_are_120_questions_and_60_typos_in_two_halves() -> None:
    assert (len(DATA["questions"]), len(DATA["typos"])) == (120, 60)
    entries = [*DATA["questions"], *DATA["typos"]]
    assert max(Counter(entry["id"] for entry in entries).values()) == 1
    assert max(Counter(entry["text"] for entry in entries).values()) == 1
    halves = Counter(parity(entry["id"]) for entry in DATA["questions"])
    assert abs(halves[TUNED] - halves[UNTOUCHED]) <= 6


def test_every_right_rule_is_one_of_the_224_files() -> None:
    assert len(RULES) == 224
    named = {path for entries in DATA.values() for entry in entries for path in entry["gold"]}
    assert named <= RULES.keys()
