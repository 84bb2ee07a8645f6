"""Measure `rules_for`: latency and CPU time at two sizes, cold and after a change.

`make bench SUITE=rules`, or `python -m benchmarks.rules [SIZES] [--words]`. The catalogue is
that of a large organisation: of 100 rules 55 have globs (folders, extensions, several of both), 20
are for a team, workspace or user, 10 are for the model to decide, 5 manual, 10 always. `everywhere`
is the worst case: every rule applies to every path. `first` is the time of questions that were not
asked before, `again` that of the same ones repeated, `early` that of new questions while texts are
still being read, `changed` that of new questions each after a write, `cold` that of the first.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.measure import show, verdict
from benchmarks.rule_search import CACHE, open_model
from commonplace.instructions.assembly import build_service
from commonplace.instructions.engine.effective.outcome import RuleQuestion
from commonplace.instructions.service import InstructionsService
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import InstructionsSettings
from commonplace.search.semantic.embed import LocalEmbedder
from commonplace.search.semantic.local import LocalSemantics
from commonplace.search.semantic.models.embed_models import DEFAULT_MODEL

SIZES = (1_000, 5_000)
QUESTIONS = 100
MARK_MS = 20
WORDS = re.findall(
    r"\w+",
    """service handler request response error test database schema query index cache token session
    user account payment order invoice report export import file path folder module package class
    function method argument value type interface component page form button style theme colour
    layout grid deploy release version branch commit review merge pipeline build image container""",
)
VERBS = ("Use", "Avoid", "Write", "Keep", "Never use", "Prefer", "Limit", "Name", "Test", "Log")
FOLDERS = [f"{top}/{name}" for top in ("src", "web", "api", "lib") for name in WORDS[:40]]
EXTENSIONS = ("ts", "tsx", "py", "go", "rs", "sql", "md", "css")


def make_entry(number: int, chance: random.Random, *, everywhere: bool) -> dict[str, Any]:
    """Make a rule of about 1 kB."""
    lines = [
        f"- {chance.choice(VERBS)} {' '.join(chance.choices(WORDS, k=chance.randint(4, 12)))}."
        for _ in range(14)
    ]
    entry: dict[str, Any] = {
        "id": f"rule-{number:05}",
        "title": " ".join(chance.choices(WORDS, k=4)),
        "body": "\n".join(lines),
        "priority": chance.randint(1, 100),
        "requirement": chance.choices(
            ("mandatory", "critical", "recommended", "optional"), (1, 1, 60, 38)
        )[0],
        "categories": [chance.choice(WORDS)],
        "owner": "ann",
    }
    if not everywhere:
        entry |= make_scope(chance)
    return entry


def make_scope(chance: random.Random) -> dict[str, Any]:
    folder, extension = chance.choice(FOLDERS), chance.choice(EXTENSIONS)
    kind = chance.choices(
        ("folder", "both", "extension", "people", "description", "manual", "always"),
        (30, 20, 5, 20, 10, 5, 10),
    )[0]
    scopes: dict[str, dict[str, Any]] = {
        "folder": {"appliesTo": [f"{folder}/**", f"!{folder}/generated/**"]},
        "both": {"appliesTo": [f"{folder}/**/*.{{{extension},{chance.choice(EXTENSIONS)}}}"]},
        "extension": {"appliesTo": [f"**/*.{extension}"]},
        "people": chance.choice(
            (
                {"userId": f"user-{chance.randint(1, 50)}"},
                {"teamIds": [f"team-{chance.randint(1, 20)}"]},
                {"workspaceId": f"workspace-{chance.randint(1, 20)}"},
            )
        ),
        "description": {
            "activation": "description",
            "description": " ".join(chance.choices(WORDS, k=8)),
        },
        "manual": {"activation": "manual"},
        "always": {},
    }
    return scopes[kind]


class QueryModel:
    """The installed model for questions; passages get random vectors, which cost no time here."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.identity, self.dimensions = embedder.identity, embedder.dimensions
        self.embed_query, self.legibility = embedder.embed_query, embedder.legibility
        self.description, self.state = embedder.description, "ready"
        self._chance = np.random.default_rng(3)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = self._chance.standard_normal((len(texts), self.dimensions)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def close(self) -> None:
        """Leave the model open: it belongs to the benchmark."""


def fill(
    folder: Path, size: int, *, everywhere: bool, embedder: LocalEmbedder | None = None
) -> InstructionsService:
    """Write a catalogue and open it."""
    chance = random.Random(7)
    (folder / "rules").mkdir()
    for number in range(size):
        entry = make_entry(number, chance, everywhere=everywhere)
        (folder / "rules" / f"{entry['id']}.json").write_bytes(orjson.dumps(entry))
    settings = InstructionsSettings(watch=False)
    semantics = None
    if embedder is not None:
        model: Any = QueryModel(embedder)
        semantics = LocalSemantics(model, folder / "vectors")
    return build_service(
        folder / "rules",
        folder,
        settings,
        mutation_enabled=lambda: True,
        semantics=lambda: semantics,
    )


def make_questions(chance: random.Random) -> list[RuleQuestion]:
    return [
        RuleQuestion(
            tuple(
                f"{chance.choice(FOLDERS)}/{chance.choice(WORDS)}.{chance.choice(EXTENSIONS)}"
                for _ in range(chance.randint(1, 4))
            ),
            task=" ".join(chance.choices(WORDS, k=6)),
            user="user-7",
            workspace="workspace-7",
            teams=("team-7",),
        )
        for _ in range(QUESTIONS)
    ]


def measure(
    size: int, *, everywhere: bool = False, embedder: LocalEmbedder | None = None
) -> tuple[tuple[str, ...], list[float]]:
    """Ask different questions; return a row of the table, and the p95 of each kind."""
    caller = local_user()
    with tempfile.TemporaryDirectory() as name:
        service = fill(Path(name), size, everywhere=everywhere, embedder=embedder)
        service.load()
        service.meaning.embed_now()
        rules = service.rules
        questions = make_questions(random.Random(11))
        others = make_questions(random.Random(12))
        more = make_questions(random.Random(13))

        def ask(asked: RuleQuestion) -> tuple[float, float]:
            return _time(partial(rules.rules_for, caller, asked))

        cold = ask(questions[0])[1]
        early = [ask(asked) for asked in questions[1:]]
        rules.finish_reading()
        first = [ask(asked) for asked in others]
        again = [ask(asked) for asked in others]
        changed = []
        for number, asked in enumerate(more):
            entry = make_entry(number, random.Random(number), everywhere=everywhere)
            asyncio.run(service.add(caller, entry, lax=True, overwrite=True))
            changed.append(ask(asked))
        shown = sum(len(rules.rules_for(caller, asked)[0].rules) for asked in others)
        service.close()
    p95s = [_quantile(times, 0.95) for times in (again, first, early, changed)]
    wall = [_quantile(times, 0.95, cpu=False) for times in (again, first)]
    row = (
        f"{size:,}{' everywhere' if everywhere else ' with a model' if embedder else ''}",
        f"{shown / len(others):.1f}",
        *(f"{value:.2f}" for value in (_quantile(again, 0.5), *p95s, *wall)),
        f"{cold:.0f}",
    )
    return row, p95s


def _quantile(times: list[tuple[float, float]], share: float, *, cpu: bool = True) -> float:
    return sorted(time[cpu] for time in times)[int(len(times) * share)]


def _time(work: Any) -> tuple[float, float]:
    """Return the milliseconds and the milliseconds of this thread's CPU that work takes."""
    begun, spent = time.perf_counter(), time.thread_time()
    work()
    return (time.perf_counter() - begun) * 1000, (time.thread_time() - spent) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--models", type=Path, default=CACHE / "models")
    parser.add_argument("--words", action="store_true", help="without a model")
    arguments = parser.parse_args()
    most = max(arguments.sizes)
    rows, marks = [], []
    runs: list[dict[str, Any]] = [{"size": size} for size in arguments.sizes]
    runs.append({"size": most, "everywhere": True})
    if not arguments.words:
        runs.append({"size": most, "embedder": open_model(arguments.models, DEFAULT_MODEL)})
    for run in runs:
        row, p95s = measure(**run)
        rows.append(row)
        for kind, p95 in zip(("again", "first", "early", "changed"), p95s, strict=True):
            marks.append((f"{row[0]}, {kind}: CPU p95 under {MARK_MS} ms", verdict(p95 < MARK_MS)))
    columns = (
        "rules",
        "shown",
        "CPU p50",
        "p95 again",
        "p95 first",
        "p95 early",
        "p95 changed",
        "wall again",
        "wall first",
        "cold",
    )
    show("rules_for, milliseconds", columns, rows)
    show("marks", ("mark", "verdict"), marks)


if __name__ == "__main__":
    main()
