"""Puts files together on PostgreSQL: the same service and indexer as on one machine, with as many workers as there are processes."""

from __future__ import annotations

from commonplace.files.assembly import Files
from commonplace.files.indexer import Indexer, IndexerSettings
from commonplace.files.postgres import QUERIES, PostgresFiles
from commonplace.files.postgres_index import LEASE_SECONDS, PostgresFileIndex
from commonplace.files.service import FilesService, RateLimit
from commonplace.files.sql_index import partition_of
from commonplace.kernel.settings import FilesSettings
from commonplace.search.lexical import LexicalRetriever
from commonplace.search.postgres import PostgresPostings
from commonplace.search.store import PassageListener, Retriever
from commonplace.storage.outbox import Outbox
from commonplace.storage.postgres import PostgresDatabase


class Everybody:
    """Every process works: jobs are claimed one by one, so nobody needs to lead."""

    def try_acquire(self) -> bool:
        return True

    def release(self) -> None:
        return None


def build_postgres_files(
    database: PostgresDatabase,
    settings: FilesSettings | None = None,
    *,
    postings: PostgresPostings | None = None,
    retriever: Retriever | None = None,
    listener: PassageListener | None = None,
) -> Files:
    """Files in an open database whose schema is there (`commonplace migrate`). Whoever owns it runs `indexer.run()` or leaves the work
    to other processes."""
    settings = settings or FilesSettings()
    postings = postings or PostgresPostings(database)
    outbox = Outbox(QUERIES, settings.index.retry_max, settings.index.retry_backoff_ms / 1000, LEASE_SECONDS)
    index = PostgresFileIndex(database, postings, outbox)
    files = PostgresFiles(database, lock_timeout_seconds=settings.lock_timeout_ms / 1000)
    work = IndexerSettings(settings.index.workers, settings.index.batch_size, settings.delete_retention_days)
    indexer = Indexer(index, files, Everybody(), partition_of, work, listener)
    files.queued = indexer.wake

    def close() -> None:
        indexer.stop()
        database.close()

    rate = RateLimit(settings.rate_per_second, settings.rate_burst)
    service = FilesService(files, index, retriever or LexicalRetriever(postings), settings, rate, close)
    return Files(service, indexer)
