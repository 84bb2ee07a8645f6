"""The queues of vectors, over named SQL: one for the model on this machine, one for an external
model.

Jobs of an external model carry a reference to a sealed key, never a key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from commonplace.files.model import FilePath, Job, Project, VectorCounts, VectorJob
from commonplace.files.store.protocol import VECTOR_LEASE_SECONDS
from commonplace.storage.fair_queue import FairQueue, TenantScope
from commonplace.storage.outbox import MAX_ERROR_CHARACTERS
from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")
C = TypeVar("C", bound=SqlConnection)
EXTERNAL_TABLE, LOCAL_TABLE = "mcp_file_vector_jobs", "mcp_file_local_vector_jobs"


class SqlVectorJobs(ABC, Generic[C]):
    """`VectorJobStore`, but for how a unit of work runs."""

    def __init__(
        self, queries: Mapping[str, str], now: Callable[[], int], *, local: bool = False
    ) -> None:
        """`local`: the queue of the model on this machine."""
        self._queries = (
            {name: sql.replace(EXTERNAL_TABLE, LOCAL_TABLE) for name, sql in queries.items()}
            if local
            else queries
        )
        self.local = local
        self._now = now
        self._turns = FairQueue()

    @abstractmethod
    async def _look(self, work: Callable[[C], Result]) -> Result:
        """Run a bounded read."""

    @abstractmethod
    async def _write(self, work: Callable[[C], Result]) -> Result:
        """Run a change. It is derived: what a power failure undoes is done again."""

    def enqueue(self, connection: SqlConnection, job: Job) -> None:
        """In the transaction that finishes the words of a file."""
        connection.execute(
            self._queries["vector_enqueue"],
            {**_keys(job.tenant, job.project, job.path), "now": self._now()},
        )

    # -- what a caller's key does

    async def wanting(
        self, tenant: str, at: tuple[Project, FilePath] | None, limit: int, key: str = ""
    ) -> list[tuple[Project, FilePath]]:
        values = {"tenant": tenant, "now": self._now(), "limit": limit, "key": key}

        def look(connection: C) -> list[tuple[Project, FilePath]]:
            rows = connection.execute(self._queries["vector_wanting"], values).fetchall()
            if at is not None:
                project, path = at
                below = {
                    **_keys(tenant, project, path),
                    "start": f"{path}/",
                    "upper": f"{path}0",
                    "limit": limit,
                }
                rows += connection.execute(self._queries["vector_wanting_below"], below).fetchall()
            return list(
                dict.fromkeys(
                    (Project(str(project)), FilePath(str(path))) for project, path in rows
                )
            )[:limit]

        return await self._look(look)

    async def attach(
        self, tenant: str, references: Sequence[tuple[Project, FilePath, str]]
    ) -> None:
        now = self._now()
        ordered = sorted(
            references
        )  # in one order everywhere: two processes that attach keys do not block each other
        rows = [
            {**_keys(tenant, project, path), "ref": reference, "now": now}
            for project, path, reference in ordered
        ]
        await self._write(
            lambda connection: connection.executemany(self._queries["vector_attach"], rows) and None
        )

    # -- what a worker does

    async def due(self) -> bool:
        values = {"now": self._now()}
        return await self._look(
            lambda connection: (
                connection.execute(self._queries["vector_due"], values).fetchone() is not None
            )
        )

    async def claim(self, owner: str, limit: int) -> list[VectorJob]:
        def work(connection: C) -> list[VectorJob]:
            values = self._lease(owner)
            connection.execute(self._queries["vector_expire"], values)
            places = [
                TenantScope(*row)
                for row in connection.execute(self._queries["vector_places"], values)
            ]

            def take(place: TenantScope, most: int) -> list[VectorJob]:
                at = {"tenant": place.tenant, "scope": place.scope, "limit": most}
                return [
                    VectorJob(*row)
                    for row in connection.execute(
                        self._queries["vector_claim"], {**values, **at}
                    ).fetchall()
                ]

            return self._turns.claim(places, limit, take)

        return await self._write(work)

    async def renew(self, owner: str) -> None:
        await self._write(
            lambda connection: (
                connection.execute(self._queries["vector_renew"], self._lease(owner)) and None
            )
        )

    async def reclaim(self, owner: str) -> None:
        await self._write(
            lambda connection: (
                connection.execute(self._queries["vector_reclaim"], self._lease(owner)) and None
            )
        )

    async def release(self, owner: str) -> None:
        await self._write(
            lambda connection: (
                connection.execute(self._queries["vector_release"], self._lease(owner)) and None
            )
        )

    async def complete(self, job: VectorJob) -> bool:
        return await self._changed("vector_complete", job)

    async def wait(
        self, job: VectorJob, error: str, delay_seconds: float, refused_key: str | None = None
    ) -> bool:
        values = {
            "error": error,
            "ref": job.credential_ref,
            "now": self._now(),
            "delay": _microseconds(delay_seconds),
        }
        values["refused"] = refused_key
        if await self._changed("vector_wait", job, **values):
            return True
        await self.retry(
            job, error, 0.0, job.retry_count
        )  # a key came meanwhile, or the file changed
        return False

    async def retry(
        self, job: VectorJob, error: str, delay_seconds: float, retry_count: int
    ) -> None:
        values = {
            "error": error,
            "now": self._now(),
            "delay": _microseconds(delay_seconds),
            "retry_count": retry_count,
        }
        await self._changed("vector_retry", job, **values)

    async def bury(self, job: VectorJob, error: str) -> bool:
        return await self._changed("vector_bury", job, error=error, now=self._now())

    async def counts(
        self, tenant: str | None = None, project: Project | None = None
    ) -> VectorCounts:
        def look(connection: C) -> VectorCounts:
            keys = {"tenant": tenant, "scope": project}
            row = connection.execute(self._queries["vector_counts"], keys).fetchone()
            dead = (
                connection.execute(self._queries["vector_dead_letters"], keys).fetchall()
                if tenant is not None
                else []
            )
            reasons = connection.execute(self._queries["vector_waiting_reasons"], keys).fetchall()
            assert row is not None
            paths = tuple((str(path), str(error)) for path, error in dead)
            return VectorCounts(
                int(row[0]),
                int(row[1]),
                int(row[2]),
                paths,
                tuple(str(reason) for (reason,) in reasons),
            )

        return await self._look(look)

    def _lease(self, owner: str) -> dict[str, Any]:
        return {"owner": owner, "now": self._now(), "lease": _microseconds(VECTOR_LEASE_SECONDS)}

    async def _changed(self, name: str, job: VectorJob, **values: Any) -> bool:
        """Whether the job was still the one that was claimed, and is now as the statement says."""
        if "error" in values:
            values["error"] = values["error"][:MAX_ERROR_CHARACTERS]
        parameters = {"id": job.id, "generation": job.generation, **values}
        return await self._write(
            lambda connection: (
                connection.execute(self._queries[name], parameters).fetchone() is not None
            )
        )


def _keys(tenant: str, project: str, path: str) -> dict[str, Any]:
    return {"tenant": tenant, "project": project, "path": path}


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)
