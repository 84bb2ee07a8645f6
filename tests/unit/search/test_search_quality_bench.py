"""The quality benchmark measures the product's own formula, and its metrics are right."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks import fitting, quality, retrieval

from commonplace.search.fusion import DEFAULT, calibrate_score, fuse

COLLECTION = retrieval.Collection(
    "toy",
    {f"d{n}": f"word{n} shared common word{n % 7} text number {n}" for n in range(40)},
    {"q1": "word3 shared", "q2": "number text word11 unknownword", "q3": "nothing"},
    {"q1": {"d3": 1.0}, "q2": {"d11": 2.0, "d4": 1.0}, "q3": {"d1": 1.0}},
)


class FakeBench(quality.Bench):
    def __init__(self) -> None:
        self.indexed = {}
        self.legibility = lambda text: len(text) % 5 / 4  # type: ignore[method-assign,assignment]
        self.parameters = DEFAULT
        self.embed = lambda texts: np.stack([_direction(text) for text in texts])  # type: ignore[method-assign,assignment]
        self.ask = self.embed  # type: ignore[method-assign,assignment]


def _direction(text: str) -> np.ndarray:
    vector = np.random.default_rng(sum(text.encode())).normal(size=16)
    return vector / np.linalg.norm(vector)


def test_the_array_formula_is_the_products_formula() -> None:
    bench = FakeBench()
    features = bench.features(COLLECTION)
    found = fitting.evidence(features, DEFAULT)
    for at, text in enumerate(COLLECTION.queries.values()):
        _, postings, vectors = bench.index(COLLECTION)
        terms, _ = postings.statistics(text)
        scores, cosines = postings.scores(terms), vectors @ _direction(text)
        by_words = [
            int(row)
            for row in np.argsort(-scores, kind="stable")[: quality.CANDIDATES]
            if scores[row] > 0
        ]
        rows = {
            *by_words,
            *(int(row) for row in np.argsort(-cosines, kind="stable")[: quality.CANDIDATES]),
        }
        near = {postings.keys[row]: float(cosines[row]) for row in rows}
        own = {postings.keys[row]: vectors[row] for row in rows}
        read = bench.legibility(text)
        hits = fuse(postings.result(text, scores, sorted(rows)), near, vectors=own, legibility=read)
        expected = sorted(
            (
                calibrate_score(float(value), unread=1 - read)
                for value in found[at][features.present[at]]
            ),
            reverse=True,
        )
        assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-5)


def test_a_document_ranks_as_its_best_chunk() -> None:
    long = (
        " ".join(f"filler{n} talk" for n in range(400))
        + " the zanzibar clause "
        + " ".join(f"other{n} words" for n in range(200))
    )
    collection = retrieval.Collection(
        "long",
        {"long": long, "short": "a short note"},
        {"q": "zanzibar clause"},
        {"q": {"long": 1.0}},
    )
    features = FakeBench().features(collection)
    assert features.siblings
    assert features.lexical[0].tolist() == [1.0, 1.0]


def test_the_fit_finds_what_separates_right_from_wrong_and_stays_near_its_prior_otherwise() -> None:
    features = FakeBench().features(COLLECTION)
    fitted = fitting.fit([features], [])
    assert (
        fitting.surprise(features, fitted, 3.0, None)
        <= fitting.surprise(features, fitting.PRIOR, 3.0, None) + 0.05
    )
    assert all(
        0.2 < getattr(fitted, name) / getattr(fitting.PRIOR, name) < 5 for name in fitting.FITTED
    )


def test_the_simplex_search_finds_the_bottom_of_a_bowl() -> None:
    found = fitting.least(
        lambda point: float(((point - np.array([1.0, -2.0, 0.5])) ** 2).sum()), np.zeros(3)
    )
    assert found == pytest.approx([1.0, -2.0, 0.5], abs=0.01)


def test_metrics_of_known_rankings() -> None:
    assert retrieval.ndcg(["a", "b"], {"a": 1.0}) == 1.0
    assert retrieval.ndcg(["b", "a"], {"a": 1.0}) == pytest.approx(0.6309, abs=1e-4)
    assert retrieval.recall(["x"] * 9 + ["a", "b"], {"a": 1.0, "b": 1.0}) == 0.5
    mean, low, high = retrieval.bootstrap(np.ones(50))
    assert (mean, low, high) == (1.0, 1.0, 1.0)


def test_simulated_look_ups_ask_for_words_of_their_own_document() -> None:
    made = retrieval.simulate_lookups(COLLECTION, sentences=False, queries=20)
    assert made.queries
    for key, text in made.queries.items():
        (answer,) = made.relevant[key]
        held = set(retrieval.analyze(made.documents[answer]))
        assert len(held & set(retrieval.query_terms(text))) >= 1


def test_the_french_set_is_as_large_as_promised_and_consistent() -> None:
    french = retrieval.load("french")
    assert len(french.documents) >= 30
    assert len(french.queries) >= 60
    assert all(set(grades) <= set(french.documents) for grades in french.relevant.values())
