"""Puts files together on one machine: a database, the search tables, a retriever, and the index
worker in its own thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commonplace.files.indexing.deposit import KeyDeposit
from commonplace.files.indexing.embedding import (
    LOCAL_TEXTS,
    REQUEST_TEXTS,
    EmbeddingWorker,
    WithoutKey,
)
from commonplace.files.indexing.indexer import Indexer, IndexerSettings
from commonplace.files.rate import RateLimit
from commonplace.files.service import FilesService
from commonplace.files.store.index_store import partition_of
from commonplace.files.store.protocol import ChunkStore, FileStore, PassageSource, VectorJobStore
from commonplace.files.store.sqlite import (
    QUERIES,
    sqlite_files,
    sqlite_index,
    sqlite_vector_jobs,
)
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.settings import FilesSettings, Settings
from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import KeyedListener, PassageListener, Retriever
from commonplace.search.semantic.rerank import Reranker
from commonplace.storage.credentials.handover import CredentialHandover
from commonplace.storage.disk.signal_file import SignalFile, index_request
from commonplace.storage.locks.leader import DeferredLeaderLock, LeaderLock
from commonplace.storage.outbox import Outbox
from commonplace.storage.shared_rates import SharedRates
from commonplace.storage.sqlite.database import Database

SQLITE_SCHEME = "sqlite:///"
LOCK_FILE = "index.lock"
DEFER_SECONDS = 5.0  # a server that indexes has begun long before
SWITCH_SECONDS = 0.0005
STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class External:
    """External models as files use them: who embeds with a caller's key, how the key reaches the
    worker, who ranks the answers.
    """

    listener: KeyedListener | None
    handover: CredentialHandover | None
    reranker: Reranker | None
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Files:
    """The assembled domain.

    Whoever owns it runs `indexer.run()` somewhere and stops it before the database closes.
    """

    service: FilesService
    indexer: Indexer


def build_files(
    database: Database,
    data: Path,
    settings: FilesSettings | None = None,
    *,
    postings: SqlitePostings | None = None,
    retriever: Retriever | None = None,
    listener: PassageListener | None = None,
    external: External | None = None,
    rates: SharedRates | None = None,
    server: SignalFile | None = None,
) -> Files:
    """Files in an open database.

    `postings` may be shared with other domains of that database; `retriever` and `listener` put a
    fused engine in the place of lexical search, `external` adds models elsewhere. One process per
    data folder indexes: the one that holds `index.lock`. With `server`, a server of the folder is
    asked to index, and this process does it only if none answers.
    """
    settings = settings or FilesSettings()
    postings = postings or SqlitePostings(database)
    outbox = Outbox(QUERIES, settings.index.retry_max, settings.index.retry_backoff_ms / 1000)
    vectors = (
        sqlite_vector_jobs(database)
        if external is not None and external.listener is not None
        else None
    )
    local_vectors = sqlite_vector_jobs(database, local=True) if listener is not None else None
    index = sqlite_index(
        database,
        postings,
        outbox,
        vectors=[queue for queue in (vectors, local_vectors) if queue is not None],
    )
    files = sqlite_files(database, lock_timeout_seconds=settings.lock_timeout_ms / 1000)
    work = IndexerSettings(
        settings.index.workers, settings.index.batch_size, settings.delete_retention_days
    )
    embedding = embedding_worker(vectors, index, external, settings)
    local = local_worker(local_vectors, index, listener, settings)
    workers = [worker for worker in (local, embedding) if worker is not None]
    leader = (
        LeaderLock(data / LOCK_FILE)
        if server is None
        else DeferredLeaderLock(data / LOCK_FILE, DEFER_SECONDS)
    )
    indexer = Indexer(index, files, leader, work, workers)
    files.queued = indexer.wake if server is None else _waking(indexer, server)

    retriever = retriever or LexicalRetriever(postings)
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


def _waking(indexer: Indexer, server: SignalFile) -> Callable[[], None]:
    def queued() -> None:
        indexer.wake()
        server.send()

    return queued


def assembled(
    files: FileStore,
    index: ChunkStore,
    indexer: Indexer,
    retriever: Retriever,
    settings: FilesSettings,
    close_database: Callable[[], None],
    vectors: VectorJobStore | None,
    external: External | None,
    embedding: EmbeddingWorker | None,
    rates: SharedRates | None,
) -> Files:
    """The service over stores of either database, and how it ends."""

    def close() -> None:
        indexer.stop()
        close_database()

    rate = RateLimit(settings.rate_per_second, settings.rate_burst, shared=rates)
    deposit = key_deposit(vectors, external, embedding)
    reranker = external.reranker if external is not None else None
    return Files(
        FilesService(files, index, retriever, settings, rate, close, deposit, reranker), indexer
    )


def embedding_worker(
    jobs: VectorJobStore | None,
    passages: PassageSource,
    external: External | None,
    settings: FilesSettings,
) -> EmbeddingWorker | None:
    """What makes vectors with an external model; None where there is none."""
    if jobs is None or external is None or external.listener is None or external.handover is None:
        return None
    return _worker(jobs, passages, external.listener, external.handover, settings)


def local_worker(
    jobs: VectorJobStore | None,
    passages: PassageSource,
    listener: PassageListener | None,
    settings: FilesSettings,
) -> EmbeddingWorker | None:
    """What makes vectors with the model on this machine; None where there is none."""
    return (
        None
        if jobs is None or listener is None
        else _worker(jobs, passages, WithoutKey(listener), None, settings)
    )


def _worker(
    jobs: VectorJobStore,
    passages: PassageSource,
    listener: KeyedListener,
    handover: CredentialHandover | None,
    settings: FilesSettings,
) -> EmbeddingWorker:
    """A local model embeds one file at a time: it is the processor that bounds it, not waiting."""
    index = settings.index
    return EmbeddingWorker(
        jobs,
        passages,
        listener,
        handover,
        partition_of,
        workers=1 if handover is None else index.workers,
        texts=LOCAL_TEXTS if handover is None else REQUEST_TEXTS,
        retry_max=index.retry_max,
        backoff_seconds=index.retry_backoff_ms / 1000,
    )


def key_deposit(
    jobs: VectorJobStore | None, external: External | None, embedding: EmbeddingWorker | None
) -> KeyDeposit | None:
    """What callers leave their keys with, sealed; None where nobody needs them.

    Without a worker here, others find the work.
    """
    if jobs is None or external is None or external.handover is None:
        return None
    return KeyDeposit(
        jobs, external.handover, embedding.wake if embedding is not None else lambda: None
    )


def database_path(settings: Settings) -> Path:
    """The SQLite file of the configuration."""
    url = settings.database_url
    if not url.startswith(SQLITE_SCHEME):
        raise CommonplaceError(
            INVALID_CONFIG, "settings.storage.url: this builder knows sqlite:///PATH only."
        )
    if settings.mcp.files.search.lexical != "bm25":
        raise CommonplaceError(
            INVALID_CONFIG,
            f"settings.mcp.files.search.lexical is {settings.mcp.files.search.lexical}, which "
            f"needs PostgreSQL.",
            hint="Remove the key, or set settings.storage.url to a postgresql:// address.",
        )
    return Path(url[len(SQLITE_SCHEME) :])


def from_settings(
    settings: Settings,
    *,
    database: Database | None = None,
    retriever: Retriever | None = None,
    listener: PassageListener | None = None,
    external: External | None = None,
    rates: SharedRates | None = None,
    beside_server: bool = False,
) -> FilesService:
    """Files as the configuration says, the index worker running; `close` ends both.

    `beside_server`: a server is to index.
    """
    database = database or Database(database_path(settings))
    server = index_request(settings.data) if beside_server else None
    files = build_files(
        database,
        settings.data,
        settings.mcp.files,
        retriever=retriever,
        listener=listener,
        external=external,
        rates=rates,
        server=server,
    )
    thread = IndexerThread(files.indexer)
    thread.start()

    def close() -> None:
        if external is not None:
            external.close()  # first: a worker may be waiting for a model
        thread.stop()
        database.close()

    files.service.on_close = close
    return files.service


class IndexerThread:
    """Runs an indexer on an event loop of its own, so that indexing neither waits for calls nor
    delays them.
    """

    def __init__(self, indexer: Indexer) -> None:
        self._indexer = indexer
        self._thread = threading.Thread(target=self._run, name="files-index", daemon=True)
        self._cancel: Callable[[], object] = lambda: None

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._work())

    async def _work(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        await self._indexer.run()

    def start(self) -> None:
        # Analysing text holds the interpreter's lock; at the default of 5 ms every call beside it
        # would wait that long, several times.
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch in hand if it is soon done; else leave its jobs to the next leader."""
        self._indexer.stop()
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it ended this very moment
                self._cancel()
            self._thread.join()
