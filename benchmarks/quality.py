"""Findability, measured: lexical, semantic and fused retrieval with intervals; held-out splits; abstention; calibration.

python -m benchmarks.quality                 the whole table
python -m benchmarks.quality --fit           also fit fresh parameters on everything and print them
python -m benchmarks.quality --plot PATH     also draw the plot of docs/explanation/search.md
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.plot import draw
from benchmarks.retrieval import (
    CUT,
    DATA,
    ROOT,
    Collection,
    MemoryPostings,
    VectorCache,
    bootstrap,
    load,
    ndcg,
    parity,
    recall,
    simulate_lookups,
)
from commonplace.search import embed_models
from commonplace.search.embed import LocalEmbedder
from commonplace.search.fusion import ABSTAIN_BELOW, DEFAULT, PIVOT, Parameters, calibrated, fuse

CANDIDATES = 30  # of each side, as configured by default; each candidate is scored by both sides
FITTED = ("lexical_weight", "prior_terms", "sharpness", "coverage_gain")
CAP = 0.02  # a gain over the better single retriever above this earns nothing: no collection may pay for another's luck
DISCOUNT = 1 / np.log2(np.arange(CUT) + 2)


@dataclass
class Features:
    """One collection's queries as arrays (query, candidate): everything the fusion formula reads."""

    name: str
    queries: list[str]
    halves: np.ndarray
    cosine: np.ndarray
    share: np.ndarray
    coverage: np.ndarray
    information: np.ndarray
    documents: int
    grades: np.ndarray
    present: np.ndarray
    ideal: np.ndarray
    answers: np.ndarray
    lexical: np.ndarray  # (query, 2): nDCG@10 and recall@10 of BM25 alone
    semantic: np.ndarray

    def better(self) -> np.ndarray:
        """Per metric, the per-query figures of whichever single retriever is better on average."""
        columns = [max((self.lexical[:, m], self.semantic[:, m]), key=np.mean) for m in (0, 1)]
        return np.stack(columns, axis=1)


class Bench:
    """Collections, postings and vectors, loaded once."""

    def __init__(self, models: Path, cache: Path) -> None:
        embed_models.install_default(models)
        self.embedder = LocalEmbedder(models / embed_models.DEFAULT_MODEL, threads=os.cpu_count() or 1, load_wait_seconds=60)
        self.embed = VectorCache(self.embedder, cache, lambda message: print(f"  {message} ...")).embed
        self.postings: dict[str, MemoryPostings] = {}
        self.vectors: dict[str, np.ndarray] = {}

    def index(self, collection: Collection) -> tuple[MemoryPostings, np.ndarray]:
        if collection.name not in self.postings:
            self.postings[collection.name] = MemoryPostings(collection.documents)
            self.vectors[collection.name] = self.embed(list(collection.documents.values()))
        return self.postings[collection.name], self.vectors[collection.name]

    def features(self, collection: Collection) -> Features:
        postings, vectors = self.index(collection)
        asked = self.embed(list(collection.queries.values()))
        count, width = len(collection.queries), 2 * CANDIDATES
        arrays = {name: np.zeros((count, width)) for name in ("cosine", "share", "coverage", "grades")}
        present = np.zeros((count, width), dtype=bool)
        information, ideal, answers = np.zeros(count), np.zeros(count), np.zeros(count)
        single = np.zeros((2, count, 2))
        for at, (key, text) in enumerate(collection.queries.items()):
            grades = collection.relevant[key]
            terms, ceiling = postings.statistics(text)
            scores, cosines = postings.scores(terms), vectors @ asked[at]
            by_words = [row for row in np.argsort(-scores, kind="stable")[:CANDIDATES] if scores[row] > 0]
            by_meaning = np.argsort(-cosines, kind="stable")[:CANDIDATES]
            for side, rows in enumerate((by_words, by_meaning)):
                ranking = [postings.keys[row] for row in rows]
                single[side, at] = ndcg(ranking, grades), recall(ranking, grades)
            rows = list(dict.fromkeys([*(int(r) for r in by_meaning), *(int(r) for r in by_words)]))
            result = postings.result(text, scores, rows)
            held = {match.key: match.terms for match in result.matches}
            told = {term.term: term.idf for term in terms}
            information[at] = sum(told.values())
            ideal[at] = ndcg_ideal(list(grades.values()))
            answers[at] = len(grades)
            present[at, : len(rows)] = True
            for column, row in enumerate(rows):
                document = postings.keys[row]
                arrays["cosine"][at, column] = cosines[row]
                arrays["share"][at, column] = min(1.0, scores[row] / ceiling) if ceiling else 0.0
                arrays["coverage"][at, column] = sum(told[t] for t in held.get(document, ())) / (information[at] or 1.0)
                arrays["grades"][at, column] = grades.get(document, 0.0)
        halves = np.array([parity(key) for key in collection.queries])
        return Features(
            collection.name, list(collection.queries), halves, **{k: arrays[k] for k in ("cosine", "share", "coverage")},
            information=information, documents=len(collection.documents), grades=arrays["grades"], present=present,
            ideal=ideal, answers=answers, lexical=single[0], semantic=single[1],
        )  # fmt: skip

    def best_scores(self, collection: Collection, queries: Sequence[str]) -> np.ndarray:
        """The product's best score for each query against a collection, through `fuse` itself."""
        postings, vectors = self.index(collection)
        asked = self.embed(list(queries))
        best = []
        for at, text in enumerate(queries):
            terms, _ = postings.statistics(text)
            scores, cosines = postings.scores(terms), vectors @ asked[at]
            rows = {int(r) for r in np.argsort(-scores)[:CANDIDATES]} | {int(r) for r in np.argsort(-cosines)[:CANDIDATES]}
            hits = fuse(postings.result(text, scores, sorted(rows)), {postings.keys[r]: float(cosines[r]) for r in rows})
            best.append(hits[0].score if hits else 0.0)
        return np.array(best)


def ndcg_ideal(grades: list[float]) -> float:
    return sum(grade / math.log2(at + 2) for at, grade in enumerate(sorted(grades, reverse=True)[:CUT]))


def evidence(features: Features, parameters: Parameters) -> np.ndarray:
    """fusion.py's formula over arrays; a test holds the two together."""
    told = features.information / (features.information + parameters.prior_terms * math.log1p(features.documents))
    lexical = parameters.lexical_weight * features.share * told[:, None] * (1 + parameters.coverage_gain * features.coverage**2)
    semantic = np.exp(parameters.sharpness * (features.cosine - PIVOT)) / parameters.sharpness
    return np.where(features.present, lexical + semantic, -1.0)


def measure(features: Features, parameters: Parameters) -> np.ndarray:
    """(query, 2): nDCG@10 and recall@10 of the fused ranking."""
    order = np.argsort(-evidence(features, parameters), axis=1, kind="stable")[:, :CUT]
    grades = np.take_along_axis(features.grades, order, axis=1)
    return np.stack([(grades * DISCOUNT).sum(axis=1) / features.ideal, (grades > 0).sum(axis=1) / features.answers], axis=1)


def goal(judged: Sequence[Features], lookups: Sequence[Features], parameters: Parameters, half: int | None) -> float:
    """Capped gains over the better single retriever, losses five times as heavy; look-ups may gain nothing but must not lose.

    Where that does not decide: as little lexical weight as look-ups bear, and the other numbers near where they are."""
    total = 0.0
    for features in (*judged, *lookups):
        chosen = features.halves == half if half is not None else slice(None)
        margin = (measure(features, parameters) - features.better())[chosen].mean(axis=0)
        total += float((0 if features in lookups else 1) * np.minimum(margin, CAP).sum() + 5 * np.minimum(margin, 0).sum())
    shape = sum(math.log(getattr(parameters, name) / getattr(DEFAULT, name)) ** 2 for name in FITTED[1:])
    return total / len(judged) - 0.005 * math.log(parameters.lexical_weight) - 0.02 * shape


def fit(judged: Sequence[Features], lookups: Sequence[Features], half: int | None = None, steps: int = 300, seed: int = 3) -> Parameters:
    """Random local search: the goal is a step function of the parameters, and four dimensions are few."""
    chance = np.random.default_rng(seed)
    best = replace(DEFAULT, lexical_weight=1.0, prior_terms=1.0, sharpness=4.0, coverage_gain=1.0)
    reached = goal(judged, lookups, best, half)
    for step in range(steps):
        spread = 0.5 if step < steps // 2 else 0.15
        moved = {name: float(getattr(best, name) * math.exp(chance.normal(0, spread))) for name in FITTED}
        trial = replace(best, **moved)
        value = goal(judged, lookups, trial, half)
        if value > reached:
            best, reached = trial, value
    return best


def calibrate(sets: Sequence[Features], parameters: Parameters, half: int | None = None, depth: int = 5) -> Parameters:
    """Logistic regression of being right on ln(evidence), over the hits a default call returns; every collection weighs the same."""
    logs, right, weights = [], [], []
    for features in sets:
        chosen = features.halves == half if half is not None else np.ones(len(features.halves), dtype=bool)
        x, y = _top(features, parameters, depth, chosen)
        logs.append(x)
        right.append(y)
        weights.append(np.full(len(x), 1 / len(x)))
    x, y, w = np.concatenate(logs), np.concatenate(right), np.concatenate(weights)
    design = np.stack([np.ones_like(x), x], axis=1)
    beta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        curvature = design.T @ (design * (w * p * (1 - p))[:, None]) + 1e-9 * np.eye(2)
        beta += np.linalg.solve(curvature, design.T @ (w * (y - p)))
    return replace(parameters, slope=float(beta[1]), intercept=float(beta[0]))


def _top(features: Features, parameters: Parameters, depth: int, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = evidence(features, parameters)[chosen]
    order = np.argsort(-values, axis=1, kind="stable")[:, :depth]
    x = np.log(np.maximum(np.take_along_axis(values, order, axis=1), 1e-6)).ravel()
    return x, (np.take_along_axis(features.grades[chosen], order, axis=1) > 0).astype(float).ravel()


def calibration_error(features: Features, parameters: Parameters, half: int | None, depth: int = 5, bins: int = 10) -> float:
    """Expected calibration error over equally filled bins."""
    chosen = features.halves == half if half is not None else np.ones(len(features.halves), dtype=bool)
    x, y = _top(features, parameters, depth, chosen)
    score = np.array([calibrated(math.exp(value), parameters) for value in x])
    order = np.argsort(score)
    return float(sum(len(part) / len(x) * abs(score[part].mean() - y[part].mean()) for part in np.array_split(order, bins)))


def row(label: str, features: Features, figures: np.ndarray, chosen: np.ndarray | slice = slice(None)) -> str:
    parts = [f"{label:<34}{features.name:<20}"]
    for metric, name in enumerate(("nDCG@10", "recall@10")):
        _, low, high = bootstrap(figures[chosen, metric] - features.better()[chosen, metric])
        parts.append(f"{name} {figures[chosen, metric].mean():.3f} (vs better single [{low:+.3f}, {high:+.3f}])")
    return "  ".join(parts)


def report_quality(judged: Sequence[Features], lookups: Sequence[Features]) -> None:
    print("\nWhole collections, the shipped parameters")
    for features in (*judged, *lookups):
        for label, figures in (("lexical", features.lexical), ("semantic", features.semantic), ("fused", measure(features, DEFAULT))):
            print(row(label, features, figures))
    print("\nHeld out by parity of SHA-256 of the query id: fitted on one half, measured on the other, both directions")
    fitted = {half: fit(judged, lookups, half) for half in (0, 1)}
    for features in judged:
        figures = np.zeros_like(features.lexical)
        for half, parameters in fitted.items():
            other = features.halves != half
            figures[other] = measure(features, parameters)[other]
        print(row("fitted on the other half", features, figures))
    print("\nOne collection left out: fitted on the others and their own look-ups only")
    for features in judged:
        others = [f for f in judged if f is not features]
        parameters = fit(others, [f for f in lookups if not f.name.startswith(features.name)])
        numbers = ", ".join(f"{getattr(parameters, name):.2f}" for name in FITTED)
        print(row("fitted elsewhere", features, measure(features, parameters)), "", numbers)


def report_scores(bench: Bench, collections: dict[str, Collection], judged: Sequence[Features], single: Sequence[Features]) -> None:
    print(f"\nAbstention: best score below {ABSTAIN_BELOW}")
    refused: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for name, source in collections.items():
        for other, target in collections.items():
            below = bench.best_scores(target, list(source.queries.values())) < ABSTAIN_BELOW
            refused[name == other].append(below)
            print(f"  {name:<10} asked of {other:<10} refused {below.mean():6.1%} of {len(below)}")
        if source.unanswerable:
            below = bench.best_scores(source, list(source.unanswerable.values())) < ABSTAIN_BELOW
            print(f"  {name:<10} its own unanswerable     refused {below.mean():6.1%} of {len(below)}")
    foreign, own = np.concatenate(refused[False]), np.concatenate(refused[True])
    print(f"  all foreign refused {foreign.mean():.1%}; all answerable refused {own.mean():.1%}")
    print("\nCalibration error of the score (5 best hits, 10 bins)")
    for features in (*judged, *single[1:]):
        errors = [calibration_error(features, calibrate(single, DEFAULT, half), 1 - half) for half in (0, 1)]
        shipped = calibration_error(features, DEFAULT, None)
        print(f"  {features.name:<18} fitted on the other half {np.mean(errors):.3f}; shipped {shipped:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--models", type=Path, default=ROOT / ".tools" / "models")
    parser.add_argument("--cache", type=Path, default=ROOT / ".tools" / "bench")
    options = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no collections at {DATA}; set COMMONPLACE_TEST_DATA")
    started = time.perf_counter()
    bench = Bench(options.models, options.cache)
    collections = {name: load(name) for name in ("cranfield", "cosqa", "devbench")}
    judged = [bench.features(collection) for collection in collections.values()]
    simulated = [simulate_lookups(collections["cranfield"], True), simulate_lookups(collections["cosqa"], False)]
    lookups = [bench.features(collection) for collection in simulated]
    single = [judged[1], *lookups]  # collections where one document is the answer: that is what the score is the chance of
    print(f"model {bench.embedder.identity}; load average {os.getloadavg()[0]:.1f}; parameters {DEFAULT}")
    if options.fit:
        print("fresh fit:", calibrate(single, fit(judged, lookups, steps=600)))
        print("calibration of the shipped parameters:", calibrate(single, DEFAULT))
    report_quality(judged, lookups)
    print("\nFrench (our own small set; the model is English)")
    french = bench.features(load("french"))
    for label, figures in (("lexical", french.lexical), ("semantic", french.semantic), ("fused", measure(french, DEFAULT))):
        print(row(label, french, figures))
    report_scores(bench, collections, judged, single)
    if options.plot:
        draw([*judged, *lookups, french], lambda features: measure(features, DEFAULT), options.plot)
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
