"""Stores that the benchmarks of memory fill: texts, planted vectors, SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import ROOT
from benchmarks.retrieval import load
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import build_postgres_memory, open_memory
from commonplace.memory.engine.documents import document_key
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.retrieval.postgres_vectors import PostgresVectors
from commonplace.memory.retrieval.vectors import NO_KEY, summaries
from commonplace.memory.service import MemoryService
from commonplace.search.model import Passage
from commonplace.search.semantic.embed import LocalEmbedder

OpenStore = Callable[[Path, Any], MemoryService]


def open_in_sqlite(folder: Path, embedder: Any) -> MemoryService:
    """Open a store in a folder."""
    return open_memory(folder, embedder=embedder)


@contextlib.contextmanager
def run_postgres() -> Iterator[OpenStore]:
    """Run a durable PostgreSQL and yield a function that opens a migrated store in it."""
    sys.path.insert(0, str(ROOT / "tests"))
    from commonplace.bootstrap.team import postgres_components
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.postgres.migrations import migrate
    from servers import make_database, running_postgres

    with running_postgres() as server:

        def open_store(_: Path, embedder: Any) -> MemoryService:
            database = PostgresDatabase(make_database(server))
            migrate(database, postgres_components())
            return build_postgres_memory(database, embedder=embedder, on_close=database.close)

        yield open_store


def make_texts(count: int) -> list[tuple[str, str]]:
    """Return ids and texts as long as notes: sentences of an abstract and a function."""
    chance = random.Random(5)
    functions, abstracts = (
        list(load("cosqa").documents.values()),
        list(load("cranfield").documents.values()),
    )
    made = []
    for number in range(count):
        sentences = chance.choice(abstracts).split(" . ")
        chance.shuffle(sentences)
        made.append(
            (
                str(number),
                (
                    f"Note {number}: "
                    f"{sentences[0][:60]}\n{' . '.join(sentences[:3])[:400]}\n"
                    f"{chance.choice(functions)[:300]}"
                ),
            )
        )
    return made


class PlantedEmbedder:
    """Embeds questions with the model and entries at random, because embedding many is slow."""

    state = "ready"

    def __init__(self, real: LocalEmbedder) -> None:
        self._real = real
        self.identity, self.dimensions = "planted/1", real.dimensions

    def warm(self) -> None:
        return None

    def embed(self, texts: Sequence[str]) -> Any:
        made = (
            np.random.default_rng(len(texts[0]) if texts else 0)
            .standard_normal((len(texts), self.dimensions))
            .astype(np.float32)
        )
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self._real.embed_query(text)


async def plant(service: MemoryService, planted: PlantedEmbedder) -> None:
    """Store all vectors in one transaction of the index's own store, and build what a server does.

    A server builds the index of a large tenant in the background, within minutes.
    """
    index = service.index
    assert isinstance(index, HybridIndex)
    entries = await service.store.everything(TENANT)
    passages = [Passage(document_key(entry), entry.text, entry.id) for entry in entries]
    index.embedder.embed = planted.embed  # type: ignore[method-assign]
    store = index.vectors.store
    await asyncio.to_thread(store.synchronise_now, summaries(TENANT), NO_KEY, passages)
    if isinstance(store, PostgresVectors):
        await asyncio.to_thread(store.indexes.maintain)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
