"""Search of rules, measured: 224 real rule files among 1,800 sections of documentation.

python -m benchmarks.rule_search                  quality on both halves, typos, and speed
python -m benchmarks.rule_search --tuned          show the questions of the tuned half that miss

Questions are in tests/data/search/rule_questions.json, each with the set of rules that answer it.
Half of them, by the parity of a hash of their id, may be looked at while search is changed; the
figures of the other half are reported.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import show, verdict
from benchmarks.retrieval import ROOT, VectorCache, parity
from benchmarks.rule_corpus import RULES, RuleText, read_rules
from benchmarks.rule_distractors import load_distractors
from commonplace.instructions.assembly import build_service
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.instructions.use_cases.rule_files.importing import RuleImportOptions
from commonplace.instructions.use_cases.search.finding import CatalogueQuestion
from commonplace.kernel.auth import local_user
from commonplace.search.semantic.embed import LocalEmbedder
from commonplace.search.semantic.local import LocalSemantics
from commonplace.search.semantic.models import embed_models

QUESTIONS = ROOT / "tests" / "data" / "search" / "rule_questions.json"
CACHE = ROOT / ".tools" / "rule-search"
TUNED, UNTOUCHED = 0, 1
SHOWN = 10
TIMED_RULES = 5_000
BATCH = 100
CALLER = local_user()
Rank = Callable[[str], list[str]]
Question = dict[str, object]


class RememberedEmbedder:
    """The installed model, with the vectors of passages kept between runs."""

    def __init__(self, embedder: LocalEmbedder, cache: VectorCache) -> None:
        self.identity, self.dimensions = embedder.identity, embedder.dimensions
        self.embed_query, self.legibility = embedder.embed_query, embedder.legibility
        self.description, self.state = embedder.description, "ready"
        self._cache = cache

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return self._cache.embed(list(texts))

    def close(self) -> None:
        """Leave the model open: it belongs to the benchmark."""


class RuleBench:
    """A catalogue of rules and distractors, and the gold of questions as ids."""

    def __init__(self, home: Path, semantics: LocalSemantics, extra: Sequence[RuleText]) -> None:
        self.service = build_service(
            home / "instructions",
            home,
            mutation_enabled=lambda: True,
            semantics=lambda: semantics,
        )
        self.service.load()
        report = self.service.rules.import_files(CALLER, RULES, RuleImportOptions())
        self.ids = {
            file.path.removesuffix(".mdc").removesuffix(".instructions.md"): file.id
            for file in report.files
            if file.id is not None
        }
        add_sections(self.service, extra)
        self.service.prepare_search()

    def by_words(self, question: str) -> list[str]:
        found = self.service.search(CALLER, CatalogueQuestion(question, SHOWN))
        return [str(item["id"]) for item in found.items]

    def by_meaning(self, question: str) -> list[str]:
        found = asyncio.run(
            self.service.search_by_meaning(CALLER, CatalogueQuestion(question, SHOWN))
        )
        return [str(item["id"]) for item in found.items]

    def hits(self, rank: Rank, questions: Sequence[Question], half: int | None) -> list[int]:
        """Return the place of the first right rule of each question, from 1; 0 = not shown."""
        places = []
        for question in questions:
            if half is None or parity(str(question["id"])) == half:
                gold = {self.ids[path] for path in question["gold"]}  # type: ignore[attr-defined]
                ranking = rank(str(question["text"]))
                places.append(next((at for at, id_ in enumerate(ranking, 1) if id_ in gold), 0))
        return places


def add_sections(service: InstructionsService, sections: Sequence[RuleText]) -> None:
    entries = [
        {
            "id": section.path.replace("/", "-").replace("@", "").lower()[:110].strip("-._"),
            "title": section.title,
            "body": section.body,
        }
        for section in sections
    ]
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        service.import_entries(CALLER, batch, EntryImportOptions())


def share(places: Sequence[int], within: int) -> float:
    return sum(0 < place <= within for place in places) / len(places)


def report_quality(bench: RuleBench, questions: dict[str, list[Question]]) -> list[list[str]]:
    rows, marks = [], []
    for way, rank in (("words", bench.by_words), ("words and meaning", bench.by_meaning)):
        for name, asked, half in (
            ("questions, tuned half", questions["questions"], TUNED),
            ("questions, untouched half", questions["questions"], UNTOUCHED),
            ("typos, untouched half", questions["typos"], UNTOUCHED),
            ("typos, all", questions["typos"], None),
        ):
            places = bench.hits(rank, asked, half)
            rows.append([name, way, str(len(places)), *(f"{share(places, k):.3f}" for k in (1, 5))])
            if way == "words and meaning" and half == UNTOUCHED and asked is questions["questions"]:
                marks.append(["untouched hit@1 at least 0.70", verdict(share(places, 1) >= 0.70)])
                marks.append(["untouched hit@5 at least 0.90", verdict(share(places, 5) >= 0.90)])
            if way == "words and meaning" and half is None:
                marks.append(["typos hit@5 at least 0.9", verdict(share(places, 5) >= 0.9)])
    show("rules found", ["set", "ranked by", "queries", "hit@1", "hit@5"], rows)
    return marks


def report_speed(bench: RuleBench, questions: dict[str, list[Question]]) -> list[list[str]]:
    """Time every query once after a round that fills the caches; wall and processor."""
    texts = [str(question["text"]) for question in (*questions["questions"], *questions["typos"])]
    rows, marks = [], []
    for way, rank, bound in (
        ("words", bench.by_words, 3.0),
        ("words and meaning", bench.by_meaning, 15.0),
    ):
        for text in texts[:40]:
            rank(text)
        wall, cpu = [], []
        for text in texts:
            fresh = f"{text} "  # not among the remembered queries
            begun, spent = time.perf_counter(), time.process_time()
            rank(fresh)
            cpu.append((time.process_time() - spent) * 1e3)
            wall.append((time.perf_counter() - begun) * 1e3)
        p95 = float(np.quantile(cpu, 0.95))
        rows.append([way, *(f"{np.quantile(v, q):.1f}" for v in (wall, cpu) for q in (0.5, 0.95))])
        marks.append([f"{way}: p95 under {bound:g} ms of processor", verdict(p95 < bound)])
    header = ["ranked by", "wall p50", "wall p95", "processor p50", "processor p95"]
    show(f"milliseconds at {TIMED_RULES} rules", header, rows)
    return marks


def show_misses(bench: RuleBench, questions: dict[str, list[Question]]) -> None:
    for question in (*questions["questions"], *questions["typos"]):
        if parity(str(question["id"])) == TUNED:
            (place,) = bench.hits(bench.by_meaning, [question], None)
            if not 0 < place <= 5:
                print(place, question["id"], question["text"])
                print("   ", *bench.by_meaning(str(question["text"]))[:3])


def open_model(models: Path, name: str) -> LocalEmbedder:
    if not (models / name / "model.json").is_file():
        embed_models.install_default(models)
    return LocalEmbedder(models / name, threads=os.cpu_count() or 1, load_wait_seconds=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuned", action="store_true", help="show what the tuned half misses")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--model", default=embed_models.DEFAULT_MODEL, help="an installed model")
    arguments = parser.parse_args()
    questions = json.loads(QUESTIONS.read_text("utf-8"))
    sections = load_distractors(arguments.cache / "packages")
    embedder = open_model(arguments.cache / "models", arguments.model)
    remembered = VectorCache(embedder, arguments.cache / "vectors")
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        model = RememberedEmbedder(embedder, remembered)
        semantics = LocalSemantics(model, home / "vectors")  # type: ignore[arg-type]
        bench = RuleBench(home, semantics, sections)
        bench.service.meaning.embed_now()
        if arguments.tuned:
            show_misses(bench, questions)
        marks = report_quality(bench, questions)
        more = TIMED_RULES - len(read_rules()) - len(sections)
        copies = [
            RuleText(f"{section.path}-{turn}", section.title, "", section.body)
            for turn in range(1, 3)
            for section in sections
        ][:more]
        add_sections(bench.service, copies)
        bench.service.meaning.embed_now()
        marks += report_speed(bench, questions)
        bench.service.close()
    embedder.close()
    show("marks", ["mark", "verdict"], marks)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
