"""Measure the vector index of a large tenant of memory in PostgreSQL against comparing all vectors.

    python -m benchmarks.memory_neighbours

Texts of cosqa and cranfield, whole and in parts of some 24 words, embedded by the default model
(once on a machine: some five minutes); questions of both. The collections are two projects.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import median, show
from benchmarks.memory_quality import Remembering, model
from benchmarks.memory_stores import percentile, run_postgres
from benchmarks.retrieval import load
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.retrieval.postgres_vectors import PostgresVectors
from commonplace.memory.retrieval.vectors import NO_KEY, summaries
from commonplace.search.model import Neighbours, Passage

COLLECTIONS = ("cosqa", "cranfield")
QUERIES = 200
ADDED = 500
PART_WORDS, STEP_WORDS, LEAST_CHARACTERS = 24, 10, 60
SEARCHES: dict[str, dict[str, Any]] = {
    "50 for a search": {"limit": 50},
    "21 for a new entry": {"limit": 21, "beginnings": True},
    "50 of project cosqa": {"limit": 50, "prefix": "cosqa/"},
    "50 of project cranfield": {"limit": 50, "prefix": "cranfield/"},
}


def collect_passages(count: int) -> list[Passage]:
    """Return distinct texts, with the collection in their keys, in an order of chance."""
    texts: dict[str, str] = {}
    documents = [(text, name) for name in COLLECTIONS for text in load(name).documents.values()]
    for text, name in documents:
        texts.setdefault(text, name)
    for text, name in documents:
        words = text.split(" ")
        for start in range(0, len(words), STEP_WORDS):
            part = " ".join(words[start : start + PART_WORDS])
            if len(part) > LEAST_CHARACTERS:
                texts.setdefault(part, name)
    chosen = list(texts.items())[:count]
    random.Random(3).shuffle(chosen)
    return [
        Passage(f"{name}/{number:06}", text, str(number))
        for number, (text, name) in enumerate(chosen)
    ]


def measure_searches(
    store: PostgresVectors, questions: Sequence[Any], how: Mapping[str, Any]
) -> tuple[list[Neighbours], list[float]]:
    """Return what is found and how many milliseconds each search takes."""
    found, times = [], []
    for question in questions:
        begun = time.perf_counter()
        found.append(store.search(summaries(TENANT), question, **how))
        times.append((time.perf_counter() - begun) * 1000)
    return found, times


def measure_adds(store: PostgresVectors, passages: Sequence[Passage]) -> float:
    """Return the median milliseconds of storing a vector."""
    times = []
    for passage in passages:
        begun = time.perf_counter()
        store.synchronise_now(summaries(TENANT), NO_KEY, [passage])
        times.append((time.perf_counter() - begun) * 1000)
    return median(times)


def compare(store: PostgresVectors, passages: Sequence[Passage], questions: Sequence[Any]) -> None:
    """Search with all vectors, build the index, search with it, and show both."""
    added = [measure_adds(store, passages[:ADDED])]
    runs = [[measure_searches(store, questions, how) for how in SEARCHES.values()]]
    begun = time.perf_counter()
    assert store.indexes.maintain() == 1, "too few vectors for an index"
    print(f"the index was built in {time.perf_counter() - begun:.1f} s")
    runs.append([measure_searches(store, questions, how) for how in SEARCHES.values()])
    added.append(measure_adds(store, passages[ADDED : 2 * ADDED]))
    rows = []
    for name, (exact, before), (found, after) in zip(SEARCHES, *runs, strict=True):
        same = sum(
            len(near.cosines.keys() & every.cosines.keys())
            for near, every in zip(found, exact, strict=True)
        )
        share = same / sum(len(every.cosines) for every in exact)
        times = [f"{median(each):.1f}, {percentile(each, 0.95):.1f}" for each in (before, after)]
        rows.append((name, *times, f"{share:.4f}"))
    show(
        "Nearest neighbours in PostgreSQL, ms (p50, p95)",
        ("neighbours", "all compared", "with the index", "share found"),
        rows,
    )
    print(f"one vector is stored in {added[0]:.1f} ms, with the index in {added[1]:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=80_000)
    wanted = parser.parse_args()
    embedder = Remembering(model())
    passages = collect_passages(wanted.vectors)
    embedder.embed([passage.text for passage in passages])
    texts = [text for name in COLLECTIONS for text in load(name).queries.values()]
    questions = [embedder.embed_query(text) for text in random.Random(4).sample(texts, QUERIES)]
    with run_postgres() as open_store:
        service = open_store(Path(), embedder)
        assert isinstance(service.index, HybridIndex)
        store = service.index.vectors.store
        assert isinstance(store, PostgresVectors)
        store.synchronise_now(summaries(TENANT), NO_KEY, passages[2 * ADDED :])
        print(f"{len(passages) - 2 * ADDED:,} vectors")
        compare(store, passages, questions)
        service.close()


if __name__ == "__main__":
    main()
