"""Queues of vectors to make, over named SQL: one for the local model, one for an external one.

Jobs of an external model carry a reference to a sealed key, never a key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from commonplace.files.engine.embedding_order import is_embedded_last
from commonplace.files.model import FilePath, Job, Project, VectorCounts, VectorJob
from commonplace.files.store.protocol import VECTOR_LEASE_SECONDS
from commonplace.files.store.units import IndexUnits, microseconds
from commonplace.storage.fair_queue import FairQueue, TenantScope
from commonplace.storage.outbox import MAX_ERROR_CHARACTERS
from commonplace.storage.relational import SqlConnection

EXTERNAL_TABLE, LOCAL_TABLE = "mcp_file_vector_jobs", "mcp_file_local_vector_jobs"


class SqlVectorJobs:
    """The `VectorJobStore` of both databases."""

    def __init__(
        self,
        units: IndexUnits,
        queries: Mapping[str, str],
        now: Callable[[], int] = microseconds,
        *,
        local: bool = False,
    ) -> None:
        """`local`: the queue of the model on this machine."""
        self._queries = (
            {name: sql.replace(EXTERNAL_TABLE, LOCAL_TABLE) for name, sql in queries.items()}
            if local
            else queries
        )
        self.local = local
        self._units = units
        self._now = now
        self._turns = FairQueue()

    def enqueue(self, connection: SqlConnection, job: Job) -> None:
        """Queue a file, in the transaction that finishes its words."""
        connection.execute(
            self._queries["vector_enqueue"],
            {
                **_keys(job.tenant, job.project, job.path),
                "late": int(is_embedded_last(job.path)),
                "now": self._now(),
            },
        )

    async def indexed_projects(self) -> list[tuple[str, str]]:
        return await self._units.scan(
            lambda connection: [
                (str(tenant), str(project))
                for tenant, project in connection.execute(
                    self._queries["vector_projects"], {}
                ).fetchall()
            ]
        )

    async def enqueue_project(self, tenant: str, project: str) -> int:
        place = {"tenant": tenant, "project": project}

        def work(connection: SqlConnection) -> int:
            rows = [
                {**place, "path": path, "late": int(is_embedded_last(path)), "now": self._now()}
                for (path,) in connection.execute(self._queries["vector_unqueued"], place)
            ]
            if rows:
                connection.executemany(self._queries["vector_enqueue_again"], rows)
            return len(rows)

        return await self._units.commit(work)

    # Keys of callers

    async def files_without_key(
        self, tenant: str, at: tuple[Project, FilePath] | None, limit: int, key: str = ""
    ) -> list[tuple[Project, FilePath]]:
        values = {"tenant": tenant, "now": self._now(), "limit": limit, "key": key}

        def look(connection: SqlConnection) -> list[tuple[Project, FilePath]]:
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

        return await self._units.look(look)

    async def attach(
        self, tenant: str, references: Sequence[tuple[Project, FilePath, str]]
    ) -> None:
        now = self._now()
        # in one order everywhere: two processes that attach keys do not block each other
        ordered = sorted(references)
        rows = [
            {**_keys(tenant, project, path), "ref": reference, "now": now}
            for project, path, reference in ordered
        ]
        await self._units.commit(
            lambda connection: connection.executemany(self._queries["vector_attach"], rows) and None
        )

    # The work of a vector worker

    async def due(self) -> bool:
        values = {"now": self._now()}
        return await self._units.look(
            lambda connection: (
                connection.execute(self._queries["vector_due"], values).fetchone() is not None
            )
        )

    async def claim(self, owner: str, limit: int) -> list[VectorJob]:
        def work(connection: SqlConnection) -> list[VectorJob]:
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

        return await self._units.commit(work)

    async def renew(self, owner: str, jobs: Collection[int]) -> None:
        def work(connection: SqlConnection) -> None:
            for job in sorted(jobs):
                values = {**self._lease(owner), "id": job}
                connection.execute(self._queries["vector_renew"], values)

        await self._units.commit(work)

    async def reclaim(self, owner: str) -> None:
        await self._units.commit(
            lambda connection: (
                connection.execute(self._queries["vector_reclaim"], self._lease(owner)) and None
            )
        )

    async def release(self, owner: str) -> None:
        await self._units.commit(
            lambda connection: (
                connection.execute(self._queries["vector_release"], self._lease(owner)) and None
            )
        )

    async def complete(self, job: VectorJob) -> bool:
        return await self._change("vector_complete", job)

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
        if await self._change("vector_wait", job, **values):
            return True
        # a key came meanwhile, or the file changed
        await self.retry(job, error, 0.0, job.retry_count)
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
        await self._change("vector_retry", job, **values)

    async def bury(self, job: VectorJob, error: str) -> bool:
        return await self._change("vector_bury", job, error=error, now=self._now())

    async def counts(
        self, tenant: str | None = None, project: Project | None = None
    ) -> VectorCounts:
        def look(connection: SqlConnection) -> VectorCounts:
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

        return await self._units.look(look)

    def _lease(self, owner: str) -> dict[str, object]:
        return {"owner": owner, "now": self._now(), "lease": _microseconds(VECTOR_LEASE_SECONDS)}

    async def _change(self, name: str, job: VectorJob, **values: object) -> bool:
        """Change a job if it is still the one that was claimed; return whether it was."""
        error = values.get("error")
        if isinstance(error, str):
            values["error"] = error[:MAX_ERROR_CHARACTERS]
        parameters = {"id": job.id, "generation": job.generation, **values}
        return await self._units.commit(
            lambda connection: (
                connection.execute(self._queries[name], parameters).fetchone() is not None
            )
        )


def _keys(tenant: str, project: str, path: str) -> dict[str, str]:
    return {"tenant": tenant, "project": project, "path": path}


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)
