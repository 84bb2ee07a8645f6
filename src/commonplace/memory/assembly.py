"""Build memory from a database, the shared search tables, an embedder and the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.settings import MemorySettings
from commonplace.memory.engine.guide import language_of
from commonplace.memory.engine.passages import MARK
from commonplace.memory.engine.suggest import Thresholds
from commonplace.memory.policy import MemoryPolicy
from commonplace.memory.retrieval.embedder import BackgroundEmbedder, CachedEmbedder
from commonplace.memory.retrieval.lexical import EntryPostings, LexicalIndex
from commonplace.memory.service import MemoryService
from commonplace.memory.store.sqlite import open_sqlite_store
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.storage.sqlite.database import Database

if TYPE_CHECKING:
    from commonplace.memory.code.protocol import AnchorChecker
    from commonplace.memory.retrieval.protocol import EntryIndex
    from commonplace.memory.retrieval.vectors import VectorStore
    from commonplace.search.semantic.installed import EarlierEmbedders
    from commonplace.storage.postgres.database import PostgresDatabase

DATABASE = "memory.db"
VECTORS = "vectors"
# Of each connection; a larger cache or a mapped file does not make searches faster.
CACHE_KIB = 4_096


def policy_of(settings: MemorySettings | None) -> MemoryPolicy:
    """Return the policy that the settings describe."""
    if settings is None:
        return MemoryPolicy()
    thresholds = Thresholds(
        settings.link_threshold, settings.generalize_threshold, settings.generalize_minimum
    )
    return MemoryPolicy(
        thresholds,
        settings.secrets,
        language_of(settings.language),
        settings.stale_days,
        settings.abstain,
        settings.stale_code,
    )


def open_database(data: Path) -> Database:
    """Open the database of memory in a data folder."""
    return Database(data / DATABASE, cache_kib=CACHE_KIB, mapped_bytes=0, overwrite_deleted=True)


def build_memory(
    database: Database,
    *,
    settings: MemorySettings | None = None,
    embedder: BackgroundEmbedder | None = None,
    vectors: Path | None = None,
    model_missing: str | None = None,
    earlier: EarlierEmbedders | None = None,
    clock: Clock = utc_now,
    on_close: Callable[[], None] | None = None,
    checker: AnchorChecker | None = None,
) -> MemoryService:
    """Build memory in an open database.

    `vectors` is the folder of the vectors, by default beside the database; `model_missing` says why
    there is no embedder although one is configured; `earlier` are models whose vectors serve until
    those of the embedder replace them. Without a `checker`, anchors are stored and not compared.
    """
    postings = SqlitePostings(database)
    folder = vectors or database.path.parent / VECTORS

    def files(meaning: CachedEmbedder) -> VectorStore:
        from commonplace.search.semantic.document_parts import PartNames
        from commonplace.search.semantic.vector import VectorIndex

        return VectorIndex(folder, meaning, parts=PartNames(MARK))

    def erase(tenant: Tenant, entry_ids: Collection[str]) -> None:
        if folder.exists():
            from commonplace.memory.retrieval.vectors import erase_files

            erase_files(folder, tenant, entry_ids)

    index = _index(postings, embedder, files, model_missing, earlier, erase)
    return MemoryService(
        open_sqlite_store(database, postings),
        index,
        policy_of(settings),
        clock,
        on_close,
        checker,
    )


def build_postgres_memory(
    database: PostgresDatabase,
    *,
    settings: MemorySettings | None = None,
    embedder: BackgroundEmbedder | None = None,
    model_missing: str | None = None,
    earlier: EarlierEmbedders | None = None,
    clock: Clock = utc_now,
    on_close: Callable[[], None] | None = None,
    checker: AnchorChecker | None = None,
) -> MemoryService:
    """Build memory in a PostgreSQL database that `commonplace migrate` has prepared."""
    from commonplace.memory.store.postgres import open_postgres_store
    from commonplace.search.lexical.postgres import PostgresPostings

    postings = PostgresPostings(database)

    def table(meaning: CachedEmbedder) -> VectorStore:
        from commonplace.memory.retrieval.postgres_vectors import PostgresVectors

        return PostgresVectors(database, meaning)

    index = _index(postings, embedder, table, model_missing, earlier)
    return MemoryService(
        open_postgres_store(database, postings),
        index,
        policy_of(settings),
        clock,
        on_close,
        checker,
    )


def open_memory(
    data: Path,
    *,
    settings: MemorySettings | None = None,
    embedder: BackgroundEmbedder | None = None,
    model_missing: str | None = None,
    earlier: EarlierEmbedders | None = None,
    clock: Clock = utc_now,
    checker: AnchorChecker | None = None,
) -> MemoryService:
    """Open memory in a data folder; closing it closes its database."""
    database = open_database(data)
    return build_memory(
        database,
        settings=settings,
        embedder=embedder,
        vectors=data / VECTORS,
        model_missing=model_missing,
        earlier=earlier,
        clock=clock,
        on_close=database.close,
        checker=checker,
    )


def _index(
    postings: EntryPostings,
    embedder: BackgroundEmbedder | None,
    open_vectors: Callable[[CachedEmbedder], VectorStore],
    model_missing: str | None,
    earlier: EarlierEmbedders | None,
    erase_vectors: Callable[[Tenant, Collection[str]], None] | None = None,
) -> EntryIndex:
    if embedder is None:
        return LexicalIndex(postings, model_missing, erase_vectors)
    from commonplace.memory.retrieval.hybrid import HybridIndex  # imports numpy

    return HybridIndex(postings, embedder, open_vectors, earlier)
