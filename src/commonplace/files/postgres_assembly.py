"""Assembly of files on PostgreSQL: the same service, and a worker in every process."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.files.assembly import (
    External,
    Files,
    FileStores,
    assemble,
    current_versions,
    uses_external_vectors,
)
from commonplace.files.extracts.model import Extractor
from commonplace.files.indexing.thread import IndexerThread
from commonplace.files.service import FilesService
from commonplace.files.store.postgres import QUERIES, postgres_files, postgres_vector_jobs
from commonplace.files.store.postgres_index import (
    LEASE_SECONDS,
    postgres_extracts,
    postgres_index,
    postgres_symbols,
)
from commonplace.files.store.postgres_words import PostgresWords
from commonplace.files.store.units import microseconds
from commonplace.files.symbols import IndexVersions
from commonplace.kernel.settings import FilesSettings
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.model import LexicalStore, PassageListener, Retriever
from commonplace.storage.outbox import Outbox
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.notifications import NotificationChannel
from commonplace.storage.shared_rates import SharedRates

CHANNEL = "commonplace_files"
POLL_SECONDS = 1.0  # notifications wake a worker; polling finds retries and orphaned jobs


class NoLeader:
    """`Leader` without an election: every process works, and jobs are claimed one by one."""

    def try_acquire(self) -> bool:
        return True

    def release(self) -> None:
        return None


def lexical_store(
    database: PostgresDatabase, settings: FilesSettings, postings: PostgresPostings
) -> LexicalStore:
    """Return the store of the configured lexical mode."""
    return PostgresWords(database) if settings.search.lexical == "tsvector" else postings


def build_postgres_files(
    database: PostgresDatabase,
    settings: FilesSettings | None = None,
    *,
    postings: PostgresPostings | None = None,
    retriever: Retriever | None = None,
    listener: PassageListener | None = None,
    external: External | None = None,
    rates: SharedRates | None = None,
    notify: Callable[[], None] = lambda: None,
    extractor: Extractor | None = None,
    extract_retriever: Retriever | None = None,
    now: Callable[[], int] = microseconds,
) -> Files:
    """Build files in an open database whose schema exists (`commonplace migrate`).

    Its owner runs `indexer.run()`, or leaves the work to other processes, which `notify` wakes.
    """
    settings = settings or FilesSettings()
    postings = postings or PostgresPostings(database)
    versions = current_versions(extractor)
    return assemble(
        _postgres_stores(database, postings, settings, listener, external, versions, now),
        NoLeader(),
        settings,
        retriever or LexicalRetriever(lexical_store(database, settings, postings)),
        listener=listener,
        external=external,
        rates=rates,
        notify=notify,
        poll_seconds=POLL_SECONDS,
        extractor=extractor,
        extract_retriever=extract_retriever or LexicalRetriever(postings),
    )


def _postgres_stores(
    database: PostgresDatabase,
    postings: PostgresPostings,
    settings: FilesSettings,
    listener: PassageListener | None,
    external: External | None,
    versions: IndexVersions,
    now: Callable[[], int],
) -> FileStores:
    retry = settings.index.retry_max, settings.index.retry_backoff_ms / 1000
    external_vectors = (
        postgres_vector_jobs(database, now=now) if uses_external_vectors(external) else None
    )
    local_vectors = (
        postgres_vector_jobs(database, now=now, local=True) if listener is not None else None
    )
    vectors = [queue for queue in (external_vectors, local_vectors) if queue is not None]
    return FileStores(
        postgres_files(database, lock_timeout_seconds=settings.lock_timeout_ms / 1000, now=now),
        postgres_index(
            database,
            postings,
            Outbox(QUERIES, *retry, LEASE_SECONDS),
            now=now,
            vectors=vectors,
            lexical=settings.search.lexical,
            versions=versions,
        ),
        postgres_symbols(database),
        postgres_extracts(database),
        external_vectors,
        local_vectors,
        database.close,
    )


def run_postgres_files(
    database: PostgresDatabase,
    settings: FilesSettings,
    *,
    postings: PostgresPostings,
    retriever: Retriever,
    listener: PassageListener | None = None,
    external: External | None = None,
    rates: SharedRates | None = None,
    extractor: Extractor | None = None,
    extract_retriever: Retriever | None = None,
) -> FilesService:
    """Build files and start a worker that other processes can wake; `close` ends it.

    With no workers in the settings this process only notifies the others.
    """
    files: Files  # built below: the channel wakes it, and it notifies the channel
    on_notify = (lambda: files.indexer.wake()) if settings.index.workers else None
    channel = NotificationChannel(database, CHANNEL, on_notify)
    files = build_postgres_files(
        database,
        settings,
        postings=postings,
        retriever=retriever,
        listener=listener,
        external=external,
        rates=rates,
        notify=channel.notify,
        extractor=extractor,
        extract_retriever=extract_retriever,
    )
    thread = IndexerThread(files.indexer)
    channel.start()
    thread.start()

    def close() -> None:
        if external is not None:
            external.close()  # first: a worker may be waiting for a model
        thread.stop()
        channel.stop()

    files.service.on_close = close
    return files.service
