"""Rules with activation `description`, measured: which ones a task brings into effect.

python -m benchmarks.rule_tasks               precision and recall on both halves
python -m benchmarks.rule_tasks --misses      show what the tuned half misses

Rules and tasks are in tests/data/search/rule_tasks.json; its halves share nothing. Thresholds were
chosen on the tuned half, and the figures of the other one are reported.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.measure import show
from benchmarks.retrieval import ROOT
from benchmarks.rule_search import CACHE, open_model
from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.kernel.auth import local_user
from commonplace.kernel.json_types import JsonObject
from commonplace.search.semantic.local import LocalSemantics
from commonplace.search.semantic.models import embed_models

TASKS = ROOT / "tests" / "data" / "search" / "rule_tasks.json"
CALLER = local_user()


def fill(
    home: Path, rules: list[JsonObject], semantics: LocalSemantics | None
) -> InstructionsService:
    """Make a catalogue of rules that apply by their description."""
    service = build_service(
        home / "rules", home, mutation_enabled=lambda: True, semantics=lambda: semantics
    )
    entries = [
        {**rule, "body": f"Rule {number}.", "activation": "description"}
        for number, rule in enumerate(rules)
    ]
    service.import_entries(CALLER, entries, EntryImportOptions())
    return service


def find_applied(service: InstructionsService, task: str) -> set[str]:
    found, _, _ = service.rules.rules_for(CALLER, RuleQuestion(task=task, budget=20_000))
    return {rule.rule.key for rule in found.rules}


def measure(service: InstructionsService, tasks: list[JsonObject], *, misses: bool) -> list[str]:
    """Return precision, recall and F1 over all pairs of a task and a rule."""
    right = wrong = missed = 0
    for task in tasks:
        applied, gold = find_applied(service, task["text"]), set(task["gold"])
        right += len(applied & gold)
        wrong += len(applied - gold)
        missed += len(gold - applied)
        if misses and applied != gold:
            print(task["id"], task["text"], "|", sorted(applied), "not", sorted(gold))
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    mean = 2 * precision * recall / max(1e-9, precision + recall)
    return [f"{value:.3f}" for value in (precision, recall, mean)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="show what the tuned half misses")
    parser.add_argument("--models", type=Path, default=CACHE / "models")
    parser.add_argument("--model", default=embed_models.DEFAULT_MODEL, help="an installed model")
    arguments = parser.parse_args()
    halves = json.loads(TASKS.read_text("utf-8"))
    embedder = open_model(arguments.models, arguments.model)
    rows = []
    for half in ("tuned", "untouched"):
        rules, tasks = halves[half]["rules"], halves[half]["tasks"]
        misses = arguments.misses and half == "tuned"
        for way in ("words", "words and meaning"):
            with tempfile.TemporaryDirectory() as scratch:
                home = Path(scratch)
                semantics = LocalSemantics(embedder, home / "vectors") if way != "words" else None
                service = fill(home, rules, semantics)
                service.meaning.embed_now()
                rows.append([half, way, str(len(tasks)), *measure(service, tasks, misses=misses)])
                service.close()
    embedder.close()
    header = ["half", "judged by", "tasks", "precision", "recall", "F1"]
    show("rules that a task brings into effect by their description", header, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
