"""Rules of a catalogue that are followed change by change, and read in the background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from catalogue_helpers import CALLER, add_entry, open_service

from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.effective.rules import show_rules
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.instructions.use_cases.removing import RemovalOptions

RULES = 60


def ask(service: InstructionsService, question: RuleQuestion) -> dict[str, Any]:
    return dict(show_rules(*service.rules.rules_for(CALLER, question)))


def fill(folder: Path) -> InstructionsService:
    service = open_service(folder)
    entries = [
        {
            "id": f"rule-{number}",
            "body": f"Name part {number % 2} after it.\nLimit lines to {80 + number % 3}.",
            "appliesTo": [f"src/{number % 5}/**"],
        }
        for number in range(RULES)
    ]
    service.import_entries(CALLER, entries, EntryImportOptions())
    return service


def test_answers_are_the_same_before_and_after_the_texts_were_read(tmp_path: Path) -> None:
    service = fill(tmp_path)
    questions = [RuleQuestion((f"src/{folder}/a.py",), budget=900) for folder in range(5)]
    try:
        early = [ask(service, question) for question in questions]
        service.rules.finish_reading()
        assert [ask(service, question) for question in questions] == early
        assert all(answer["conflictCount"] for answer in early)
        assert any(rule.get("duplicates") for answer in early for rule in answer["rules"])
    finally:
        service.close()


def test_a_change_is_in_the_next_answer(tmp_path: Path) -> None:
    service = fill(tmp_path)
    question = RuleQuestion(("src/1/a.py",), budget=20_000)
    try:
        before = ask(service, question)
        service.rules.finish_reading()
        sorting = {"id": "rule-1", "body": "Sort the imports.", "appliesTo": ["src/1/**"]}
        add_entry(service, sorting)
        service.remove(CALLER, ["rule-6"], RemovalOptions())
        add_entry(service, {**sorting, "id": "another", "body": "Never sort the imports."})
        answer = ask(service, question)
        assert answer["hash"] != before["hash"]
        texts = {rule["ref"]: rule.get("text") for rule in answer["rules"]}
        assert texts["instruction:another"] == "Never sort the imports."
        assert "instruction:rule-6" not in texts
        assert {conflict["reason"] for conflict in answer["conflicts"]} >= {
            "one says to do what the other forbids"
        }
    finally:
        service.close()
    again = open_service(tmp_path)
    try:
        assert ask(again, question) == answer
    finally:
        again.close()
