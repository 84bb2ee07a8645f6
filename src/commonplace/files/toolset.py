"""The files toolset: its names without its imports, and how its parts are put together on one machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Tool
from commonplace.kernel.errors import Code

if TYPE_CHECKING:
    from commonplace.files.indexer import Indexer
    from commonplace.files.service import FilesService
    from commonplace.kernel.settings import FilesSettings
    from commonplace.search.sqlite import SqlitePostings
    from commonplace.search.store import PassageListener, Retriever
    from commonplace.storage.sqlite import Database

NAMES = frozenset(
    {
        "file_stat",
        "file_read",
        "file_write",
        "file_delete",
        "file_list",
        "file_search",
        "file_edit",
        "file_rename",
        "file_grep",
        "file_restore",
        "file_projects",
        "file_usage",
        "file_index_status",
    }
)


def toolset(service: Callable[[], FilesService]) -> Toolset:
    def load() -> Sequence[Tool]:
        from commonplace.files.tools.finding import finding_tools
        from commonplace.files.tools.reading import reading_tools
        from commonplace.files.tools.status import status_tools
        from commonplace.files.tools.writing import writing_tools

        return (*reading_tools(service), *writing_tools(service), *finding_tools(service), *status_tools(service))

    def codes() -> Sequence[Code]:
        from commonplace.files.errors import CODES

        return CODES

    return Toolset(
        name="files",
        summary="Durable project files with search: read, write, list, edit, search and grep.",
        names=NAMES,
        bare=frozenset(),
        load=load,
        codes=codes,
    )


@dataclass(frozen=True, slots=True)
class Files:
    """The assembled domain. Run `indexer.run()` as a task of the server; `indexer.stop()` before the database is closed."""

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
    rate_per_second: float = 0.0,
    rate_burst: int = 400,
) -> Files:
    """Files on SQLite. `postings` is shared with other domains of the same database; `retriever` and `listener` replace lexical
    search by the fused engine. The indexer of one process per data folder leads, by a lock on `data/index.lock`."""
    from commonplace.files.indexer import Indexer, IndexerSettings
    from commonplace.files.service import FilesService, RateLimit
    from commonplace.files.sqlite import QUERIES, SqliteFiles
    from commonplace.files.sqlite_index import SqliteFileIndex, partition_of
    from commonplace.kernel.settings import FilesSettings
    from commonplace.search.lexical import LexicalRetriever
    from commonplace.search.sqlite import SqlitePostings
    from commonplace.storage.leadership import Leadership
    from commonplace.storage.outbox import Outbox

    settings = settings or FilesSettings()
    postings = postings or SqlitePostings(database)
    outbox = Outbox(QUERIES, settings.index.retry_max, settings.index.retry_backoff_ms / 1000)
    index = SqliteFileIndex(database, postings, outbox)
    files = SqliteFiles(database, lock_timeout_seconds=settings.lock_timeout_ms / 1000)
    indexer = Indexer(
        index,
        files,
        Leadership(data / "index.lock"),
        partition_of,
        IndexerSettings(settings.index.workers, settings.index.batch_size, settings.delete_retention_days),
        listener,
    )
    files.queued = indexer.wake
    service = FilesService(files, index, retriever or LexicalRetriever(postings), settings, RateLimit(rate_per_second, rate_burst))
    return Files(service, indexer)
