"""make bench SUITE=scale: files in PostgreSQL as they grow, filled and asked through the product's own service.

    python -m benchmarks.scale --chunks 50000 --tenants 50 --queries 300 [--url postgresql://...]

Vectors are synthetic (384 numbers, one direction per word). Sizes are arguments: a large run can be taken in pieces on a server of its
own, named by --url and kept between runs; tenants that are there already are not filled again."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from benchmarks.measure import show
from commonplace.files.model import WriteMode
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.files.postgres_embeddings import PostgresEmbeddings, fit_length
from commonplace.files.postgres_sides import LocalSide
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.search.engine import HybridRetriever
from commonplace.search.postgres import PostgresPostings
from commonplace.storage.postgres import PostgresDatabase
from commonplace.storage.postgres_schema import migrate
from commonplace.team import postgres_components
from servers import make_database, running_postgres

DIMENSIONS = 384
VOCABULARY = 20_000
WORDS_IN_A_CHUNK = 120
CHUNKS_IN_A_FILE = 8
FRESHNESS_SECONDS = 5.0
PROBES = 20


class Synthetic:
    """Vectors that cost next to nothing: the mean of one random direction per word."""

    identity, dimensions = "synthetic-1", DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Any:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        total = np.sum([_direction(word) for word in text.split()[:24]] or [_direction("")], axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)


@cache
def _direction(word: str) -> Any:
    return np.random.default_rng(abs(hash(word))).standard_normal(DIMENSIONS)


class Words:
    """Text with a few frequent words and many rare ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, count: int) -> str:
        return " ".join(f"word{int(VOCABULARY * self._random.random() ** 3)}" for _ in range(count))

    def file(self) -> str:
        return "\n\n".join(f"# {self.some(3)}\n\n{self.some(WORDS_IN_A_CHUNK)}" for _ in range(CHUNKS_IN_A_FILE))


class Bench:
    def __init__(self, url: str) -> None:
        self.database = PostgresDatabase(url, pool_size=8)
        migrate(self.database, postgres_components())
        fit_length(self.database, DIMENSIONS)
        self.embeddings = PostgresEmbeddings(self.database, Synthetic.identity, DIMENSIONS)
        side = LocalSide(Synthetic(), self.embeddings)
        retriever = HybridRetriever(PostgresPostings(self.database), None, external=side)
        self.files = build_postgres_files(self.database, retriever=retriever, listener=side)

    async def fill(self, tenants: int, chunks: int) -> tuple[float, float]:
        """Files written and chunks indexed per second."""
        words, writing, indexing, files = Words(1), 0.0, 0.0, 0
        before = self.chunks()
        for number in range(tenants):
            if (await self.files.service.usage(caller(number), "p")).files:
                continue
            wanted = max(1, chunks // tenants // CHUNKS_IN_A_FILE)
            contents = [words.file() for _ in range(wanted)]
            begun = time.perf_counter()
            for at in range(0, wanted, 16):
                work = [
                    self.files.service.write(caller(number), "p", f"/d{n % 20}/f{n}.md", text, 0, WriteMode.TRUNCATE)
                    for n, text in enumerate(contents[at : at + 16], at)
                ]
                await asyncio.gather(*work)
            writing += time.perf_counter() - begun
            begun = time.perf_counter()
            await self.files.indexer.drain()
            indexing += time.perf_counter() - begun
            files += wanted
        return files / writing if writing else 0.0, (self.chunks() - before) / indexing if indexing else 0.0

    def chunks(self) -> int:
        row = self.database.read_now(lambda connection: connection.execute("SELECT count(*) FROM mcp_file_chunks").fetchone())
        return int(row[0]) if row else 0

    async def searches(self, tenants: int, queries: int) -> list[float]:
        words, took = Words(2), []
        for number in range(queries):
            begun = time.perf_counter()
            await self.files.service.search(caller(number % tenants), "p", words.some(4), "", 5)
            took.append(time.perf_counter() - begun)
        return sorted(took)

    async def freshness(self, tenants: int) -> list[float]:
        """From an acknowledged write to its first appearance, with a worker running."""
        running = asyncio.create_task(self.files.indexer.run())
        took = []
        for number in range(PROBES):
            who, token = caller(number % tenants), f"fresh{number}x{random.getrandbits(32)}"
            await self.files.service.write(who, "p", f"/fresh/{token}.md", token, 0, WriteMode.TRUNCATE)
            begun = time.perf_counter()
            while not (await self.files.service.search(who, "p", token, "/fresh/", 1)).chunks:  # noqa: ASYNC110 - as a caller would
                await asyncio.sleep(0.01)
            took.append(time.perf_counter() - begun)
        self.files.indexer.stop()
        await running
        return sorted(took)


def caller(number: int) -> AuthContext:
    return AuthContext(Tenant(f"bench-{number}"), ALL_SCOPES, "")


def at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


async def measure(url: str, options: argparse.Namespace) -> bool:
    bench = Bench(url)
    try:
        writes, indexed = await bench.fill(options.tenants, options.chunks)
        await asyncio.to_thread(lambda: bench.database.connect().execute("VACUUM ANALYZE"))
        await bench.searches(options.tenants, options.tenants)  # once to warm
        took = await bench.searches(options.tenants, options.queries)
        fresh = await bench.freshness(options.tenants)
        size = bench.database.doctor()[0]["finding"].rpartition(", ")[2]
        row = [f"{bench.chunks():,}", str(options.tenants), f"{writes:.0f}", f"{indexed:.0f}"]
        row += [f"{at(took, 0.5) * 1e3:.1f}", f"{at(took, 0.95) * 1e3:.1f}", f"{at(fresh, 0.95):.2f}", size]
        columns = ("chunks", "tenants", "files written/s", "chunks indexed/s", "search p50 ms", "p95 ms", "fresh p95 s", "database")
        show("Files in PostgreSQL, one process", columns, [row])
        return at(fresh, 0.95) <= FRESHNESS_SECONDS
    finally:
        bench.embeddings.close()
        bench.database.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=5_000)
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--url", help="a database of its own; default: a server that ends with the run")
    options = parser.parse_args()
    if options.url:
        return 0 if asyncio.run(measure(options.url, options)) else 1
    with running_postgres(shared_buffers="1GB", max_wal_size="4GB") as server:
        return 0 if asyncio.run(measure(make_database(server), options)) else 1


if __name__ == "__main__":
    sys.exit(main())
