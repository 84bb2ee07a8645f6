"""Assembly of files on one machine: database, search tables, retriever and index worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.files.extracts.model import Extractor
from commonplace.files.extracts.search import ExtractSearch
from commonplace.files.indexing.deposit import KeyDeposit
from commonplace.files.indexing.embedding import (
    LOCAL_FILES,
    LOCAL_TEXTS,
    REQUEST_TEXTS,
    EmbeddingWorker,
    WithoutKey,
)
from commonplace.files.indexing.indexer import POLL_SECONDS, Indexer, IndexerSettings, Leader
from commonplace.files.indexing.steps import FileReaders
from commonplace.files.indexing.thread import IndexerThread
from commonplace.files.rate import RateLimit
from commonplace.files.service import FilesService
from commonplace.files.store.extracts.reader import SqlExtractStore
from commonplace.files.store.file_store import SqlFileStore
from commonplace.files.store.index_store import SqlIndexStore
from commonplace.files.store.protocol import PassageSource, VectorJobStore
from commonplace.files.store.sqlite import (
    QUERIES,
    sqlite_extracts,
    sqlite_files,
    sqlite_index,
    sqlite_symbols,
    sqlite_vector_jobs,
)
from commonplace.files.store.symbols.reader import SqlSymbolStore
from commonplace.files.store.units import microseconds
from commonplace.files.store.vector_jobs import SqlVectorJobs
from commonplace.files.symbols import IndexVersions
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.settings import FilesSettings, Settings
from commonplace.search.code.languages import missing_grammars
from commonplace.search.code.parser_process import ParserProcess
from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.search.model import (
    KeyedListener,
    PassageListener,
    Retriever,
    ReusesVectors,
)
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


@dataclass(frozen=True, slots=True)
class External:
    """External models as files use them, with the caller's own key.

    `listener` embeds, `handover` brings keys to the worker, `reranker` ranks results.
    """

    listener: KeyedListener | None
    handover: CredentialHandover | None
    reranker: Reranker | None
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Files:
    """The assembled domain; its owner runs the indexer and stops it before the database closes."""

    service: FilesService
    indexer: Indexer


@dataclass(frozen=True, slots=True)
class FileStores:
    """The stores of one database, and how to close it."""

    files: SqlFileStore
    index: SqlIndexStore
    symbols: SqlSymbolStore
    extracts: SqlExtractStore
    external_vectors: SqlVectorJobs | None
    local_vectors: SqlVectorJobs | None
    close: Callable[[], None]


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
    extractor: Extractor | None = None,
    now: Callable[[], int] = microseconds,
) -> Files:
    """Build files in an open SQLite database.

    `postings` may be shared with other domains of that database; `retriever` and `listener` replace
    lexical search by the hybrid engine, `external` adds external models, `extractor` finds what
    else to index from a file. One process per data folder indexes: the one that holds `index.lock`.
    With `server`, a server of the folder is asked to index, and this process does it only if none
    answers.
    """
    settings = settings or FilesSettings()
    postings = postings or SqlitePostings(database)
    versions = current_versions(extractor)
    stores = _sqlite_stores(database, postings, settings, listener, external, versions, now)
    lock = data / LOCK_FILE
    return assemble(
        stores,
        LeaderLock(lock) if server is None else DeferredLeaderLock(lock, DEFER_SECONDS),
        settings,
        retriever or LexicalRetriever(postings),
        listener=listener,
        external=external,
        rates=rates,
        extractor=extractor,
        notify=(lambda: None) if server is None else server.send,
    )


def _sqlite_stores(
    database: Database,
    postings: SqlitePostings,
    settings: FilesSettings,
    listener: PassageListener | None,
    external: External | None,
    versions: IndexVersions,
    now: Callable[[], int],
) -> FileStores:
    outbox = Outbox(QUERIES, settings.index.retry_max, settings.index.retry_backoff_ms / 1000)
    external_vectors = (
        sqlite_vector_jobs(database, now=now) if uses_external_vectors(external) else None
    )
    local_vectors = (
        sqlite_vector_jobs(database, now=now, local=True) if listener is not None else None
    )
    vectors = [queue for queue in (external_vectors, local_vectors) if queue is not None]
    return FileStores(
        sqlite_files(database, lock_timeout_seconds=settings.lock_timeout_ms / 1000, now=now),
        sqlite_index(database, postings, outbox, now=now, vectors=vectors, versions=versions),
        sqlite_symbols(database),
        sqlite_extracts(database),
        external_vectors,
        local_vectors,
        database.close,
    )


def current_versions(extractor: Extractor | None = None) -> IndexVersions:
    """Return the versions that this installation indexes with."""
    return IndexVersions(
        grammars=not missing_grammars(), extracts=extractor.version if extractor else 0
    )


def uses_external_vectors(external: External | None) -> bool:
    return external is not None and external.listener is not None


def assemble(
    stores: FileStores,
    leader: Leader,
    settings: FilesSettings,
    retriever: Retriever,
    *,
    listener: PassageListener | None,
    external: External | None,
    rates: SharedRates | None,
    notify: Callable[[], None],
    poll_seconds: float = POLL_SECONDS,
    extractor: Extractor | None = None,
    extract_retriever: Retriever | None = None,
) -> Files:
    """Build the service and its index worker over the stores of either database.

    `notify` tells other processes that index work was queued. `extract_retriever` searches extracts
    where `retriever` cannot.
    """
    passages = (stores.extracts, stores.index)
    embedding = embedding_worker(stores.external_vectors, passages, external, settings)
    local = local_worker(stores.local_vectors, passages, listener, settings)
    work = IndexerSettings(
        settings.index.workers,
        settings.index.batch_size,
        settings.delete_retention_days,
        poll_seconds,
    )
    workers = [worker for worker in (local, embedding) if worker is not None]
    readers = FileReaders(ParserProcess(), extractor)
    indexer = Indexer(stores.index, stores.files, leader, work, workers, readers)

    def queued() -> None:
        indexer.wake()
        notify()

    def close() -> None:
        indexer.stop()
        stores.close()

    stores.files.queued = queued
    service = FilesService(
        stores.files,
        stores.index,
        retriever,
        settings,
        RateLimit(settings.rate_per_second, settings.rate_burst, shared=rates),
        close,
        key_deposit(stores.external_vectors, external, embedding),
        external.reranker if external is not None else None,
        stores.symbols,
    )
    service.extracts = ExtractSearch(
        stores.extracts, extract_retriever or retriever, service.admit, settings.search
    )
    return Files(service, indexer)


def embedding_worker(
    jobs: VectorJobStore | None,
    passages: Sequence[PassageSource],
    external: External | None,
    settings: FilesSettings,
) -> EmbeddingWorker | None:
    """Return the worker that embeds with an external model; None if there is no model."""
    if jobs is None or external is None or external.listener is None or external.handover is None:
        return None
    return _worker(
        jobs, passages, external.listener, external.handover, settings, external.listener
    )


def local_worker(
    jobs: VectorJobStore | None,
    passages: Sequence[PassageSource],
    listener: PassageListener | None,
    settings: FilesSettings,
) -> EmbeddingWorker | None:
    """Return the worker that embeds with the local model; None if there is no model."""
    return (
        None
        if jobs is None or listener is None
        else _worker(jobs, passages, WithoutKey(listener), None, settings, listener)
    )


def _worker(
    jobs: VectorJobStore,
    passages: Sequence[PassageSource],
    listener: KeyedListener,
    handover: CredentialHandover | None,
    settings: FilesSettings,
    reuser: object,
) -> EmbeddingWorker:
    """Return a worker; `reuser` is the listener itself, behind any adapter."""
    index = settings.index
    return EmbeddingWorker(
        jobs,
        passages,
        listener,
        handover,
        workers=LOCAL_FILES if handover is None else index.workers,
        texts=LOCAL_TEXTS if handover is None else REQUEST_TEXTS,
        retry_max=index.retry_max,
        backoff_seconds=index.retry_backoff_ms / 1000,
        reuser=reuser if isinstance(reuser, ReusesVectors) else None,
    )


def key_deposit(
    jobs: VectorJobStore | None, external: External | None, embedding: EmbeddingWorker | None
) -> KeyDeposit | None:
    """Return where callers deposit their sealed keys; None if no model needs them.

    Without a worker in this process, others find the work.
    """
    if jobs is None or external is None or external.handover is None:
        return None
    return KeyDeposit(
        jobs, external.handover, embedding.wake if embedding is not None else lambda: None
    )


def database_path(settings: Settings) -> Path:
    """Return the SQLite file of the configuration; INVALID_CONFIG if it is another database."""
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
    extractor: Extractor | None = None,
) -> FilesService:
    """Build files as configured and start the index worker; `close` ends both.

    `beside_server`: leave indexing to a running server.
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
        extractor=extractor,
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
