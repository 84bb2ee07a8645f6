"""Puts files together on PostgreSQL: the same service and indexer as on one machine, with as
many workers as there are processes.
"""

from __future__ import annotations

from collections.abc import Callable

from commonplace.files.assembly import (
    External,
    Files,
    IndexerThread,
    assembled,
    embedding_worker,
    local_worker,
)
from commonplace.files.indexing.indexer import Indexer, IndexerSettings
from commonplace.files.service import FilesService
from commonplace.files.store.postgres import QUERIES, postgres_files, postgres_vector_jobs
from commonplace.files.store.postgres_index import LEASE_SECONDS, postgres_index
from commonplace.files.store.postgres_words import PostgresWords
from commonplace.kernel.settings import FilesSettings
from commonplace.search.lexical.postgres import PostgresPostings
from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.model import LexicalStore, PassageListener, Retriever
from commonplace.storage.outbox import Outbox
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.notifications import NotificationChannel
from commonplace.storage.shared_rates import SharedRates

CHANNEL = "commonplace_files"
POLL_SECONDS = (
    1.0  # rings wake a worker at once; looking finds what retries and what a dead worker left
)


class Everybody:
    """Every process works: jobs are claimed one by one, so nobody needs to lead."""

    def try_acquire(self) -> bool:
        return True

    def release(self) -> None:
        return None


def lexical_store(
    database: PostgresDatabase, settings: FilesSettings, postings: PostgresPostings
) -> LexicalStore:
    """Where the words of the configured mode are."""
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
    ring: Callable[[], None] = lambda: None,
) -> Files:
    """Files in an open database whose schema is there (`commonplace migrate`).

    Whoever owns it runs `indexer.run()` or leaves the work to other processes, which `ring` wakes.
    """
    settings = settings or FilesSettings()
    postings = postings or PostgresPostings(database)
    outbox = Outbox(
        QUERIES, settings.index.retry_max, settings.index.retry_backoff_ms / 1000, LEASE_SECONDS
    )
    vectors = (
        postgres_vector_jobs(database)
        if external is not None and external.listener is not None
        else None
    )
    local_vectors = postgres_vector_jobs(database, local=True) if listener is not None else None
    queues = [queue for queue in (vectors, local_vectors) if queue is not None]
    index = postgres_index(
        database, postings, outbox, vectors=queues, lexical=settings.search.lexical
    )
    files = postgres_files(database, lock_timeout_seconds=settings.lock_timeout_ms / 1000)
    work = IndexerSettings(
        settings.index.workers,
        settings.index.batch_size,
        settings.delete_retention_days,
        POLL_SECONDS,
    )
    embedding = embedding_worker(vectors, index, external, settings)
    local = local_worker(local_vectors, index, listener, settings)
    indexer = Indexer(
        index,
        files,
        Everybody(),
        work,
        [worker for worker in (local, embedding) if worker is not None],
    )

    def queued() -> None:
        indexer.wake()
        ring()

    files.queued = queued

    retriever = retriever or LexicalRetriever(lexical_store(database, settings, postings))
    return assembled(
        files,
        index,
        indexer,
        retriever,
        settings,
        database.close,
        vectors,
        external,
        embedding,
        rates,
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
) -> FilesService:
    """The same with its worker running, woken by what other processes queue; `close` ends it.

    With no workers in the settings this process only rings for the others.
    """
    files: Files  # which the bell wakes, and which rings it
    heard = (lambda: files.indexer.wake()) if settings.index.workers else None
    bell = NotificationChannel(database, CHANNEL, heard)
    files = build_postgres_files(
        database,
        settings,
        postings=postings,
        retriever=retriever,
        listener=listener,
        external=external,
        rates=rates,
        ring=bell.notify,
    )
    thread = IndexerThread(files.indexer)
    bell.start()
    thread.start()

    def close() -> None:
        if external is not None:
            external.close()  # first: a worker may be waiting for a model
        thread.stop()
        bell.stop()

    files.service.on_close = close
    return files.service
