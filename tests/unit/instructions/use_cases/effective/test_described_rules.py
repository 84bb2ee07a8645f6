"""Rules that a task brings into effect by their description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalogue_helpers import CALLER, add_entry

from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.engine.effective.rule import EffectiveCandidate
from commonplace.instructions.engine.scope.rule_scope import RuleScope
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.use_cases.effective.describing import DescribedRules, ReadTask
from commonplace.kernel.settings import InstructionsSettings
from meaning_words import FolderSemantics

TASKS = Path(__file__).parents[4] / "data" / "search" / "rule_tasks.json"


@pytest.fixture
def semantics(tmp_path: Path) -> FolderSemantics:
    return FolderSemantics(tmp_path / "vectors")


@pytest.fixture
def service(tmp_path: Path, semantics: FolderSemantics) -> Iterator[InstructionsService]:
    opened = build_service(
        tmp_path / "in",
        tmp_path,
        InstructionsSettings(watch=False),
        mutation_enabled=lambda: True,
        semantics=lambda: semantics,
    )
    yield opened
    opened.close()


def describe(service: InstructionsService, id_: str, description: str, **fields: Any) -> None:
    entry = {"id": id_, "body": f"About {id_}.", "description": description, **fields}
    add_entry(service, {"title": id_.title(), "activation": "description", **entry})


def reasons(service: InstructionsService, task: str, **question: Any) -> dict[str, str]:
    found, _, _ = service.rules.rules_for(CALLER, RuleQuestion(task=task, **question))
    return {merged.rule.key: merged.reasons[0] for merged in found.rules}


def make_rule(id_: str, title: str, description: str) -> EffectiveCandidate:
    scope = RuleScope.of({"activation": "description"})
    ref = f"instruction:{id_}"
    return EffectiveCandidate(id_, ref, title, "Text.", scope=scope, description=description)


def test_words_alone_choose_most_rules_of_the_tasks_that_were_not_tuned_on() -> None:
    half = json.loads(TASKS.read_text("utf-8"))["untouched"]
    rules = DescribedRules(
        make_rule(rule["id"], rule["title"], rule["description"]) for rule in half["rules"]
    )
    right = wrong = missed = 0
    for task in half["tasks"]:
        applied = rules.find_fitting(ReadTask(task["text"]), None, lambda _: True).keys()
        right += len(applied & set(task["gold"]))
        wrong += len(applied - set(task["gold"]))
        missed += len(set(task["gold"]) - applied)
    assert right / (right + wrong) >= 0.75
    assert right / (right + missed) >= 0.70


def test_a_task_in_other_words_is_understood_once_there_are_vectors(
    service: InstructionsService,
) -> None:
    describe(service, "cat", "Cat care")
    describe(service, "dog", "Dog walks")
    assert reasons(service, "groom the kitten") == {}
    service.meaning.embed_now()
    by_meaning = {"cat": "its description fits the task by meaning"}
    assert reasons(service, "groom the kitten") == by_meaning
    assert reasons(service, "the walk of a dog") == {
        "dog": "its description fits the task: dog, walk"
    }


def test_a_model_that_fails_leaves_words(
    service: InstructionsService, semantics: FolderSemantics
) -> None:
    describe(service, "cat", "Cat care")
    describe(service, "dog", "Dog walks")
    service.meaning.embed_now()
    semantics.embedder.failure = "broken"
    assert reasons(service, "groom the kitten") == {}
    assert [*reasons(service, "take care of a cat")] == ["cat"]


def test_a_rule_without_a_vector_is_judged_by_its_words(service: InstructionsService) -> None:
    describe(service, "cat", "Cat care")
    service.meaning.embed_now()
    describe(service, "migrations", "Database migrations")
    assert [*reasons(service, "write a database migraton")] == ["migrations"]
    assert [*reasons(service, "groom the kitten")] == ["cat"]


def test_rules_of_other_people_set_no_standard(service: InstructionsService) -> None:
    for word in ("migrations", "queues", "caches", "logs", "releases", "charts"):
        describe(service, word, f"How we write {word}")
    describe(service, "forms", "Validation of fields")
    whole = "Basket, payment and vouchers of the checkout"
    describe(service, "checkout", whole, userId="bob")
    task = "validation of vouchers in the basket before payment in the checkout"
    assert [*reasons(service, task)] == ["forms"]
    assert [*reasons(service, task, user="bob")] == ["checkout"]


def test_without_a_task_or_such_rules_no_model_is_opened(
    service: InstructionsService, semantics: FolderSemantics
) -> None:
    add_entry(service, {"id": "plain", "body": "Be kind."})
    assert [*reasons(service, "groom the kitten")] == ["plain"]
    describe(service, "cat", "Cat care")
    assert [*reasons(service, " ")] == ["plain"]
    assert not service.meaning.prepared
    assert semantics.embedder.embedded == []
