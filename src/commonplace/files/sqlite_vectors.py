"""The queue of vectors for an external model, in SQLite. Jobs carry a reference to a sealed key, never a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from commonplace.files.model import FilePath, Job, Project, VectorCounts, VectorJob
from commonplace.files.sqlite import microseconds, open_schema
from commonplace.files.store import VECTOR_LEASE_SECONDS
from commonplace.storage.outbox import MAX_ERROR_CHARACTERS
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite import Connection, Database

QUERIES = load_queries("commonplace.files", "sqlite_vectors.sql")
LOCK_SECONDS = 30.0  # as an index worker: longer than a caller waits


class SqliteVectorJobs:
    """`VectorJobStore` on one machine."""

    def __init__(self, database: Database, *, now: Callable[[], int] = microseconds) -> None:
        open_schema(database)
        self._database = database
        self._now = now

    # -- in the transaction of the index

    def enqueue(self, connection: Connection, job: Job) -> None:
        connection.execute(QUERIES["vector_enqueue"], {**_keys(job.tenant, job.project, job.path), "now": self._now()})

    # -- what a caller's key does

    async def wanting(self, tenant: str, at: tuple[Project, FilePath] | None, limit: int) -> list[tuple[Project, FilePath]]:
        def look(connection: Connection) -> list[tuple[Project, FilePath]]:
            rows = connection.execute(QUERIES["vector_wanting"], {"tenant": tenant, "now": self._now(), "limit": limit}).fetchall()
            if at is not None:
                rows += connection.execute(QUERIES["vector_wanting_below"], {**_keys(tenant, *at), "limit": limit}).fetchall()
            return list(dict.fromkeys((Project(str(project)), FilePath(str(path))) for project, path in rows))[:limit]

        with self._database.snapshot() as connection:
            return look(connection)

    async def attach(self, tenant: str, references: Sequence[tuple[Project, FilePath, str]]) -> None:
        now = self._now()
        rows = [{**_keys(tenant, project, path), "ref": reference, "now": now} for project, path, reference in references]
        await self._write(lambda connection: connection.executemany(QUERIES["vector_attach"], rows) and None)

    # -- what a worker does

    async def due(self) -> bool:
        return self._database.reader().execute(QUERIES["vector_due"], {"now": self._now()}).fetchone() is not None

    async def claim(self, owner: str, limit: int) -> list[VectorJob]:
        def work(connection: Connection) -> list[VectorJob]:
            rows = connection.execute(QUERIES["vector_claim"], {**self._lease(owner), "limit": limit, "now": self._now()})
            return sorted((VectorJob(*row) for row in rows), key=lambda job: job.id)

        return list(await self._write(work))

    async def renew(self, owner: str) -> None:
        await self._write(lambda connection: connection.execute(QUERIES["vector_renew"], self._lease(owner)) and None)

    async def reclaim(self, owner: str) -> None:
        values = {"owner": owner, "now": self._now()}
        await self._write(lambda connection: connection.execute(QUERIES["vector_reclaim"], values) and None)

    async def complete(self, job: VectorJob) -> bool:
        return await self._changed("vector_complete", job)

    async def wait(self, job: VectorJob, error: str, delay_seconds: float) -> bool:
        later = self._now() + int(delay_seconds * 1e6)
        if await self._changed("vector_wait", job, error=error, ref=job.credential_ref, available_at=later):
            return True
        await self.retry(job, error, 0.0, job.retry_count)  # a key came meanwhile, or the file changed
        return False

    async def retry(self, job: VectorJob, error: str, delay_seconds: float, retry_count: int) -> None:
        available_at = self._now() + int(delay_seconds * 1e6)
        await self._changed("vector_retry", job, error=error, available_at=available_at, retry_count=retry_count)

    async def bury(self, job: VectorJob, error: str) -> bool:
        return await self._changed("vector_bury", job, error=error)

    async def counts(self, tenant: str | None = None, project: Project | None = None) -> VectorCounts:
        def look(connection: Connection) -> VectorCounts:
            keys = {"tenant": tenant, "scope": project}
            row = connection.execute(QUERIES["vector_counts"], keys).fetchone()
            dead = connection.execute(QUERIES["vector_dead_letters"], keys).fetchall() if tenant is not None else []
            assert row is not None
            return VectorCounts(int(row[0]), int(row[1]), int(row[2]), tuple((str(path), str(error)) for path, error in dead))

        return await self._database.read(look)

    def _lease(self, owner: str) -> dict[str, Any]:
        return {"owner": owner, "lease_until": self._now() + int(VECTOR_LEASE_SECONDS * 1e6)}

    async def _changed(self, name: str, job: VectorJob, **values: Any) -> bool:
        """Whether the job was still the one that was claimed, and is now as the statement says."""
        if "error" in values:
            values["error"] = values["error"][:MAX_ERROR_CHARACTERS]
        parameters = {"id": job.id, "generation": job.generation, "now": self._now(), **values}

        def work(connection: Connection) -> bool:
            connection.execute(QUERIES[name], {k: v for k, v in parameters.items() if f":{k}" in QUERIES[name]})
            return connection.changes() > 0

        return bool(await self._write(work))

    async def _write(self, work: Callable[[Connection], Any]) -> Any:
        return await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS, durable=False)


def _keys(tenant: str, project: str, path: str) -> dict[str, Any]:
    return {"tenant": tenant, "project": project, "path": path}
