"""Puts memory together: a database, the shared search tables, an embedder if there is one, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.settings import MemorySettings
from commonplace.memory.engine.guide import language_of
from commonplace.memory.engine.suggest import Thresholds
from commonplace.memory.index import LexicalIndex
from commonplace.memory.service import MemoryService, Policy
from commonplace.memory.sqlite import SqliteStore
from commonplace.memory.vectors import BackgroundEmbedder, Vectors
from commonplace.search.sqlite import SqlitePostings
from commonplace.storage.sqlite import Database

DATABASE = "memory.db"


def policy_of(settings: MemorySettings) -> Policy:
    thresholds = Thresholds(settings.link_threshold, settings.generalize_threshold, settings.generalize_minimum)
    return Policy(thresholds, settings.secrets, language_of(settings.language), settings.stale_days)


def build_memory(
    database: Database,
    *,
    settings: MemorySettings | None = None,
    embedder: BackgroundEmbedder | None = None,
    model_missing: str | None = None,
    clock: Clock = utc_now,
) -> MemoryService:
    """Memory in an open database. `model_missing` says why there is no embedder although one is configured."""
    postings = SqlitePostings(database)
    policy = policy_of(settings) if settings is not None else Policy()
    return MemoryService(SqliteStore(database, postings), LexicalIndex(postings), Vectors(embedder, missing=model_missing), policy, clock)


def open_memory(data: Path, **options: object) -> tuple[MemoryService, Callable[[], None]]:
    """Memory in a data folder, and what closes its database: for tests and tools without a composition root."""
    database = Database(data / DATABASE)
    return build_memory(database, **options), database.close  # type: ignore[arg-type]
