"""Puts memory together: a database, the shared search tables, an embedder if there is one, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.settings import MemorySettings, Settings
from commonplace.memory.engine.guide import language_of
from commonplace.memory.engine.suggest import Thresholds
from commonplace.memory.index import LexicalIndex
from commonplace.memory.meaning import BackgroundEmbedder
from commonplace.memory.service import MemoryService, Policy
from commonplace.memory.sqlite import SqliteStore
from commonplace.search.assembly import open_meaning
from commonplace.search.sqlite import SqlitePostings
from commonplace.storage.sqlite import Database

DATABASE = "memory.db"
VECTORS = "vectors"


def policy_of(settings: MemorySettings) -> Policy:
    thresholds = Thresholds(settings.link_threshold, settings.generalize_threshold, settings.generalize_minimum)
    return Policy(thresholds, settings.secrets, language_of(settings.language), settings.stale_days)


def build_memory(
    database: Database,
    *,
    settings: MemorySettings | None = None,
    embedder: BackgroundEmbedder | None = None,
    vectors: Path | None = None,
    model_missing: str | None = None,
    clock: Clock = utc_now,
    on_close: Callable[[], None] | None = None,
) -> MemoryService:
    """Memory in an open database. `vectors` is the folder of the vectors, by default beside the database; `model_missing` says why
    there is no embedder although one is configured."""
    postings = SqlitePostings(database)
    policy = policy_of(settings) if settings is not None else Policy()
    folder = vectors or database.path.parent / VECTORS
    index = LexicalIndex(postings, model_missing) if embedder is None else _hybrid(postings, embedder, folder)
    return MemoryService(SqliteStore(database, postings), index, policy, clock, on_close)


def open_memory(
    data: Path,
    *,
    settings: MemorySettings | None = None,
    embedder: BackgroundEmbedder | None = None,
    model_missing: str | None = None,
    clock: Clock = utc_now,
) -> MemoryService:
    """Memory in a data folder; closing it closes its database."""
    database = Database(data / DATABASE)
    return build_memory(
        database,
        settings=settings,
        embedder=embedder,
        vectors=data / VECTORS,
        model_missing=model_missing,
        clock=clock,
        on_close=database.close,
    )


def from_settings(settings: Settings) -> MemoryService:
    """Memory as the configuration says. The model is described here and loaded when first wanted."""
    meaning = open_meaning(settings.data, settings.mcp.files.search.embedding, models=settings.models_directory)
    embedder = meaning.semantics.embedder if meaning.semantics is not None else None
    return open_memory(settings.data, settings=settings.mcp.memory, embedder=embedder, model_missing=meaning.absent or None)


def _hybrid(postings: SqlitePostings, embedder: BackgroundEmbedder, folder: Path) -> LexicalIndex:
    from commonplace.memory.hybrid import HybridIndex  # brings numpy: only where there is a model

    return HybridIndex(postings, embedder, folder)
