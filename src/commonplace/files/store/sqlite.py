"""Files in SQLite: short reads on the caller's thread, scans in the reader pool, changes in the
writer thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from commonplace.files.model import FilePath, Project, Slice
from commonplace.files.store.sql_files import SqlFiles, microseconds
from commonplace.files.store.sql_project import ProjectRows, span_below
from commonplace.storage.migrations import load_migrations
from commonplace.storage.queries import load_queries
from commonplace.storage.relational import Row
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate

Result = TypeVar("Result")
INLINE_BYTES = 262_144  # larger reads leave the event loop
INLINE_ENTRIES = 64  # longer listings too
DIRECTORIES_AT_ONCE = 256
QUERIES = load_queries("commonplace.files.store", "sqlite.sql")
_LISTING = load_queries("commonplace.files.store", "listing.sql")


def open_schema(database: Database) -> None:
    migrate(database, "files", load_migrations("commonplace.files", "migrations/sqlite"))


class SqliteFiles(SqlFiles[Connection]):
    """The `FileStore` on one machine."""

    def __init__(
        self,
        database: Database,
        *,
        lock_timeout_seconds: float = 3.0,
        now: Callable[[], int] = microseconds,
    ) -> None:
        super().__init__(QUERIES, lock_timeout_seconds, now, DIRECTORIES_AT_ONCE)
        open_schema(database)
        self._database = database

    async def slice(
        self, tenant: str, project: Project, path: FilePath, offset: int, length: int | None
    ) -> Slice | None:
        found = self._rows(self._database.reader(), tenant, project).one("file", path=path)
        if found is None:
            return None
        left = max(0, int(found[1]) - offset)
        if min(left, left if length is None else length) <= INLINE_BYTES:
            return await super().slice(tenant, project, path, offset, length)
        return await self._database.read(
            lambda connection: self._slice(connection, tenant, project, path, offset, length)
        )

    def _files(
        self,
        rows: ProjectRows,
        path: FilePath,
        depth: int,
        after: str,
        limit: int,
        before: str | None,
    ) -> Iterator[Row]:
        if depth > 1:  # mostly files, and few of them too deep
            return super()._files(rows, path, depth, after, limit, before)
        start, upper = span_below(path, after, before)
        values = {
            "tenant": rows.tenant,
            "project": rows.project,
            "start": start,
            "upper": upper,
            "name": len(path) + 2,
            "limit": limit,
        }
        return iter(rows.connection.execute(_LISTING["files_inside"], values))

    async def _look(self, work: Callable[[Connection], Result]) -> Result:
        return work(self._database.reader())

    async def _scan(
        self, work: Callable[[Connection], Result], *, rows: int | None = None
    ) -> Result:
        if rows is not None and rows <= INLINE_ENTRIES:
            with self._database.snapshot() as connection:
                return work(connection)
        return await self._database.read(work)

    async def _commit(self, work: Callable[[Connection], Result], lock: str | None) -> Result:
        """One writer at a time holds the whole database, so no project needs a lock of its own."""
        return await self._database.write(work, lock_timeout_seconds=self._lock_timeout_seconds)
