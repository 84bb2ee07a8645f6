"""How hybrid search grows: p50 and p95 of a whole retrieval (the query's embedding included), memory, freshness of written files.

    python -m benchmarks.search_scale                     1k, 10k, 100k passages, and freshness
    python -m benchmarks.search_scale --sizes 1000000     a million (minutes to build)

Passages are 80 words drawn by Zipf's law as Mandelbrot has it. Vectors are synthetic clusters, so that building does not take hours.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.retrieval import ROOT
from commonplace.files.assembly import build_files
from commonplace.kernel.auth import local_user
from commonplace.search import embed_models
from commonplace.search.assembly import LocalSemantics, hybrid, open_meaning
from commonplace.search.embed import LocalEmbedder
from commonplace.search.engine import HybridRetriever
from commonplace.search.sqlite import SqlitePostings
from commonplace.search.store import Document, Partition, Passage
from commonplace.search.text import analyze
from commonplace.search.vector import VectorIndex
from commonplace.storage.sqlite import Database

HERE = Partition("bench", "files", "demo")
WORDS = 80
FLATTER = 50  # Mandelbrot's shift: the commonest words of a language are stop words and never reach the index
QUERIES = 60


class Corpus:
    def __init__(self, size: int, seed: int = 5) -> None:
        self.size = size
        self._chance = np.random.default_rng(seed)
        self._vocabulary = [f"{a}{b}{c}" for a in ("ba", "co", "du", "fi", "ge", "ha") for b in SYLLABLES for c in SYLLABLES]
        ranks = np.arange(1, len(self._vocabulary) + 1)
        odds = 1 / (ranks + FLATTER)
        self._up_to = np.cumsum(odds) / odds.sum()

    def text(self, words: int = WORDS) -> str:
        drawn = np.searchsorted(self._up_to, self._chance.random(words))
        return " ".join(self._vocabulary[min(at, len(self._vocabulary) - 1)] for at in drawn)

    def queries(self) -> list[str]:
        return [self.text(4) for _ in range(QUERIES)]


SYLLABLES = [a + b for a in "bcdfghjklmnprstv" for b in ("a", "e", "i", "o", "u")]


class Clusters:
    """An embedder of the same identity that answers in bulk with synthetic vectors."""

    def __init__(self, real: LocalEmbedder) -> None:
        self.identity, self.dimensions = real.identity, real.dimensions
        self._chance = np.random.default_rng(9)
        self._centres = self._chance.normal(size=(500, self.dimensions)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = self._centres[self._chance.integers(0, 500, len(texts))] + self._chance.normal(size=(len(texts), self.dimensions))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed([text])[0]


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def build(folder: Path, corpus: Corpus, real: LocalEmbedder) -> tuple[Database, SqlitePostings, float]:
    started = time.perf_counter()
    database = Database(folder / "search.db")
    postings = SqlitePostings(database)
    vectors = VectorIndex(folder / "vectors", Clusters(real))
    for start in range(0, corpus.size, 5000):
        keys = [f"/f{number // 10:07d}.md#{number}" for number in range(start, min(start + 5000, corpus.size))]
        documents = [Document(key, {"content": analyze(corpus.text())}) for key in keys]
        database.write_now(lambda connection, batch=documents: postings.put(connection, HERE, batch))
        vectors.synchronise_now(HERE, f"/batch{start}#", [Passage(key, "", key) for key in keys])
    vectors.close()
    return database, postings, time.perf_counter() - started


async def latencies(retriever: HybridRetriever, queries: Sequence[str]) -> tuple[list[float], float]:
    times, spent = [], []
    for query in queries:
        started, worked = time.perf_counter(), time.process_time()
        found = await retriever.retrieve(HERE, query, limit=5, weights={"content": 1.0})
        times.append((time.perf_counter() - started) * 1000)
        spent.append((time.process_time() - worked) * 1000)
        assert found.mode == "hybrid", found.notes
    return sorted(times[5:]), statistics.median(spent[5:])


def grow(size: int, embedder: LocalEmbedder) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Corpus(size)
        database, postings, seconds = build(Path(scratch), corpus, embedder)
        semantics = LocalSemantics(embedder, Path(scratch) / "vectors")
        retriever = HybridRetriever(postings, semantics)
        times, worked = asyncio.run(latencies(retriever, corpus.queries()))
        status = semantics.vectors.status(HERE)
        p50, p95 = statistics.median(times), times[int(len(times) * 0.95)]
        kind = "approximate" if status is not None and status.approximate else "exact"
        disk = sum(path.stat().st_size for path in (Path(scratch) / "vectors").rglob("*") if path.is_file()) / 1e6
        print(
            f"{size:>9,} passages   p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   processor {worked:5.1f} ms   {kind:<11}"
            f"   vectors {disk:7.1f} MB on disk   resident {resident_mb():6.0f} MB   built in {seconds:.0f} s"
        )
        database.close()


async def freshness(folder: Path, seconds: float, rate: float) -> list[float]:
    """Seconds from a write of 2 kB to the search that finds it, at a steady rate of writes."""
    meaning = open_meaning(folder, models=ROOT / ".tools" / "models")
    database = Database(folder / "files.db")
    postings = SqlitePostings(database)
    files = build_files(database, folder, postings=postings, retriever=hybrid(postings, meaning), listener=meaning.listener)
    worker = asyncio.create_task(files.indexer.run())
    prose = " ".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    delays: list[float] = []
    assert meaning.semantics is not None
    await asyncio.to_thread(meaning.semantics.embedder.embed_query, "warm")

    async def one(number: int) -> None:
        marker = f"marker{number}qz"
        start = number * 1500 % max(1, len(prose) - 2000)
        await files.service.write(local_user(), "demo", f"/note{number}.md", f"{marker} {prose[start : start + 2000]}"[:2000])
        started = time.perf_counter()
        while True:
            found = await files.service.search(local_user(), "demo", marker)
            if any(chunk.path == f"/note{number}.md" and chunk.explain["semantic"] is not None for chunk in found.chunks):
                delays.append(time.perf_counter() - started)
                return
            await asyncio.sleep(0.1)

    tasks = []
    for number in range(int(seconds * rate)):
        tasks.append(asyncio.create_task(one(number)))
        await asyncio.sleep(1 / rate)
    await asyncio.gather(*tasks)
    files.indexer.stop()
    await worker
    meaning.close()
    database.close()
    return sorted(delays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--freshness-seconds", type=float, default=15.0)
    options = parser.parse_args()
    models = ROOT / ".tools" / "models"
    embed_models.install_default(models)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; resident before the model {resident_mb():.0f} MB")
    embedder = LocalEmbedder(models / embed_models.DEFAULT_MODEL, load_wait_seconds=60)
    embedder.embed_query("warm")
    print(f"resident with the model {resident_mb():.0f} MB")
    for size in options.sizes:
        grow(size, embedder)
    embedder.close()
    with tempfile.TemporaryDirectory() as scratch:
        delays = asyncio.run(freshness(Path(scratch), options.freshness_seconds, rate=2.0))
    late = delays[int(len(delays) * 0.95)]
    print(f"freshness at 2 writes/s of 2 kB, by words and meaning: p50 {statistics.median(delays):.2f} s, p95 {late:.2f} s")


if __name__ == "__main__":
    main()
