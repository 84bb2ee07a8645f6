"""The files index over named SQL: chunks beside their postings, the job outbox, and the times
chunks were served.

`sqlite_index.py` and `postgres_index.py` say how a unit of work runs and where the words of a chunk
go.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from commonplace.files.model import (
    AddedChunk,
    FilePath,
    IndexBacklog,
    IndexChange,
    IndexedChunk,
    IndexState,
    Job,
    Project,
    Source,
    StoredChunk,
    Terms,
    VectorJob,
    with_vectors,
)
from commonplace.files.store.sql_vectors import SqlVectorJobs
from commonplace.search.model import IndexDocument, Partition, Passage
from commonplace.storage.fair_queue import FairQueue
from commonplace.storage.outbox import LargeJobs, Lease, Outbox
from commonplace.storage.relational import Row, SqlConnection

Result = TypeVar("Result")
C = TypeVar("C", bound=SqlConnection)
COLLECTION = "files"


def partition_of(tenant: str, project: str) -> Partition:
    return Partition(tenant, COLLECTION, project)


def key_of(path: str, chunk_id: int) -> str:
    """The search key of a chunk. `#` is no path character, so a path prefix is a key prefix."""
    return f"{path}#{chunk_id}"


class SqlFileIndex(ABC, Generic[C]):
    """`ChunkStore` and `JobStore`, but for how a unit of work runs."""

    def __init__(
        self, outbox: Outbox, now: Callable[[], int], vectors: Sequence[SqlVectorJobs[C]] = ()
    ) -> None:
        """`vectors`: the queues that files go on to once their words are indexed."""
        self._outbox = outbox
        self._vectors = vectors
        self._turns = FairQueue()
        self._queries = outbox.queries
        self._now = now
        self._owner = ""
        self._served: dict[tuple[str, int], int] = {}
        self._served_guard = threading.Lock()

    @abstractmethod
    async def _look(self, work: Callable[[C], Result]) -> Result:
        """Run a bounded read."""

    @abstractmethod
    async def _scan(self, work: Callable[[C], Result]) -> Result:
        """Run a read that may be long, in one snapshot."""

    @abstractmethod
    async def _write(self, work: Callable[[C], Result]) -> Result:
        """Run a change of the index.

        It is derived: a step lost in a power failure leaves its job queued, and is done again.
        """

    @abstractmethod
    def _put(
        self, connection: C, partition: Partition, documents: Sequence[tuple[int, IndexDocument]]
    ) -> None:
        """Index the words of new chunks, by chunk id."""

    @abstractmethod
    def _drop(
        self, connection: C, partition: Partition, path: str, chunk_ids: Sequence[int]
    ) -> None:
        """Take the words of chunks out of the index, before the chunks go."""

    @abstractmethod
    def _clear(self, connection: C, partition: Partition) -> None: ...

    def _stored(self, text: str) -> str:
        """A text as the database can hold it."""
        return text

    def _text(self, row: Row) -> str:
        """The text of a chunk, of its row (id, start, end, text, live bytes, hash, source path)."""
        return str(row[3])

    # -- what search results need

    async def chunks(self, tenant: str, project: Project, keys: Sequence[str]) -> list[StoredChunk]:
        def look(connection: C) -> list[StoredChunk]:
            asked = []
            for key in keys:
                path, _, number = key.rpartition("#")
                values = {"id": int(number), "tenant": tenant, "project": project, "path": path}
                asked.append((key, path, connection.execute(self._queries["chunk_live"], values)))
            found = []
            for key, path, rows in asked:
                row = rows.fetchone()
                if row is not None:
                    found.append(
                        StoredChunk(
                            row[0],
                            key,
                            FilePath(path),
                            row[1],
                            row[2],
                            self._text(row),
                            row[4],
                            row[6],
                        )
                    )
            return found

        return await self._look(look)

    def served(self, tenant: str, chunk_ids: Sequence[int]) -> None:
        now = self._now()
        with self._served_guard:
            self._served.update({(tenant, chunk_id): now for chunk_id in chunk_ids})

    async def flush_served(self) -> None:
        with self._served_guard:
            served, self._served = self._served, {}
        # in one order everywhere: two processes that note the same chunks do not block each other
        if served:
            rows = [
                {"tenant": tenant, "id": chunk_id, "now": at}
                for (tenant, chunk_id), at in sorted(served.items())
            ]
            await self._write(
                lambda connection: (
                    connection.executemany(self._queries["chunk_served"], rows) and None
                )
            )

    async def state(self, tenant: str, project: Project | None) -> IndexState:
        def look(connection: C) -> IndexState:
            counts = self._outbox.counts(connection, tenant, project)
            keys = {"tenant": tenant, "scope": project}
            chunks, files = connection.execute(self._queries["chunk_counts"], keys).fetchone() or (
                0,
                0,
            )
            dead = tuple(
                (row[0], row[1]) for row in connection.execute(self._queries["dead_letters"], keys)
            )
            return IndexState(
                chunks,
                files,
                counts.pending,
                counts.processing,
                counts.dead,
                counts.oldest_at,
                dead,
            )

        state = await self._scan(look)
        for queue in self._vectors:
            state = with_vectors(state, await queue.counts(tenant, project))
        return state

    async def backlog(self, tenant: str | None = None) -> IndexBacklog:
        counts = await self._scan(lambda connection: self._outbox.counts(connection, tenant))
        waiting, dead = counts.pending + counts.processing, counts.dead
        for queue in self._vectors:
            if (
                queue.local
            ):  # an external model may be away for hours: its queue has figures of its own
                vectors = await queue.counts(tenant)
                waiting, dead = waiting + vectors.embedding, dead + vectors.dead
        return IndexBacklog(waiting, dead, counts.oldest_at)

    async def enqueue_all(self, tenant: str, project: Project | None, *, rebuild: bool) -> int:
        keys = {"tenant": tenant, "scope": project}

        def work(connection: C) -> int:
            if rebuild:
                for (name,) in connection.execute(
                    self._queries["indexed_projects"], keys
                ).fetchall():
                    self._clear(connection, partition_of(tenant, str(name)))
                connection.execute(self._queries["forget_chunks"], keys)
            connection.execute(self._queries["enqueue_stale"], {**keys, "now": self._now()})
            return len(
                connection.execute(
                    self._queries["enqueue_live"], {**keys, "now": self._now()}
                ).fetchall()
            )

        return int(await self._write(work))

    # -- what a worker does

    async def due(self) -> bool:
        return await self._look(
            lambda connection: (
                connection.execute(self._queries["job_due"], {"now": self._now()}).fetchone()
                is not None
            )
        )

    async def reclaim(self, owner: str) -> None:
        await self._write(
            lambda connection: self._outbox.reclaim(connection, owner=owner, now=self._now())
        )

    async def release(self, owner: str) -> None:
        await self._write(
            lambda connection: self._outbox.release(connection, owner=owner, now=self._now())
        )

    async def claim(self, owner: str, limit: int, large: LargeJobs | None = None) -> list[Job]:
        self._owner = owner

        def work(connection: C) -> list[Lease]:
            return self._outbox.claim(
                connection, self._turns, owner=owner, now=self._now(), limit=limit, large=large
            )

        return [_job(lease) for lease in await self._write(work)]

    async def renew(self, owner: str) -> None:
        await self._write(
            lambda connection: self._outbox.renew(connection, owner=owner, now=self._now())
        )

    async def sources(self, jobs: Sequence[Job], max_bytes: int) -> list[Source]:
        def read(connection: C) -> list[Source]:
            found: list[Source] = []
            room = max_bytes
            for job in jobs:
                row = connection.execute(self._queries["file_whole"], _keys(job)).fetchone()
                content_hash, content = row if row else (None, b"")
                found.append(Source(content_hash, content, self._indexed(connection, job)))
                room -= len(content)
                if room <= 0:
                    break
            return found

        return await self._scan(read)

    async def apply(
        self,
        job: Job,
        content_hash: str | None,
        step: IndexChange,
        terms: Sequence[Terms],
        *,
        complete: bool,
    ) -> bool:
        def work(connection: C) -> bool:
            if not self._held(connection, job) or not self._unchanged(
                connection, job, content_hash
            ):
                # a newer generation of the job is queued already, or another worker has it
                return False
            self._remove(connection, job, step.removed)
            self._move(connection, job, step.moved)
            self._add(connection, job, step.added, terms)
            if complete:
                self._outbox.complete(connection, _lease(job))
                for queue in self._vectors:
                    queue.enqueue(connection, job)
            return True

        return await self._write(work)

    async def passages(self, job: VectorJob) -> list[Passage]:
        rows = await self._scan(
            lambda connection: connection.execute(
                self._queries["passages_of_file"], _keys(job)
            ).fetchall()
        )
        return [
            Passage(key_of(job.path, int(identity)), str(text), str(digest))
            for identity, text, digest in rows
        ]

    async def tidy(self) -> bool:
        return False

    async def fail(self, job: Job, error: str) -> bool:
        text = self._stored(error)
        return bool(
            await self._write(
                lambda connection: self._outbox.fail(connection, _lease(job), text, now=self._now())
            )
        )

    # -- inside one step

    def _held(self, connection: C, job: Job) -> bool:
        values = {"id": job.id, "generation": job.generation, "owner": self._owner}
        return connection.execute(self._queries["job_held"], values).fetchone() is not None

    def _unchanged(self, connection: C, job: Job, content_hash: str | None) -> bool:
        row = connection.execute(self._queries["file"], _keys(job)).fetchone()
        return (row[4] if row else None) == content_hash

    def _indexed(self, connection: C, job: Job) -> tuple[IndexedChunk, ...]:
        return tuple(
            IndexedChunk(*row)
            for row in connection.execute(self._queries["chunks_of_file"], _keys(job))
        )

    def _remove(self, connection: C, job: Job, ids: Sequence[int]) -> None:
        if ids:
            self._drop(connection, partition_of(job.tenant, job.project), job.path, ids)
            connection.executemany(
                self._queries["chunk_delete"],
                [{"id": chunk_id, "tenant": job.tenant} for chunk_id in ids],
            )

    def _move(self, connection: C, job: Job, chunks: Sequence[IndexedChunk]) -> None:
        """Two passes, because positions are unique: out of the way first, then to the new place."""
        now = self._now()
        for sign in (-1, 1) if chunks else ():
            rows = [
                {
                    "id": chunk.id,
                    "tenant": job.tenant,
                    "index": chunk.index if sign > 0 else -1 - chunk.index,
                    "start": chunk.start,
                    "end": chunk.end,
                    "now": now,
                }
                for chunk in chunks
            ]
            connection.executemany(self._queries["chunk_move"], rows)

    def _add(
        self, connection: C, job: Job, chunks: Sequence[AddedChunk], terms: Sequence[Terms]
    ) -> None:
        asked = []
        for chunk in chunks:
            values = {
                **_keys(job),
                "index": chunk.index,
                "start": chunk.start,
                "end": chunk.end,
                "content": self._stored(chunk.text),
            }
            values |= {
                "hash": chunk.content_hash,
                "context": self._stored(chunk.context),
                "now": self._now(),
            }
            asked.append(connection.execute(self._queries["chunk_insert"], values))
        documents = []
        for rows, fields in zip(asked, terms, strict=True):
            row = rows.fetchone()
            assert row is not None
            documents.append((int(row[0]), IndexDocument(key_of(job.path, row[0]), fields)))
        if documents:
            self._put(connection, partition_of(job.tenant, job.project), documents)


def _keys(job: Job | VectorJob) -> dict[str, Any]:
    return {"tenant": job.tenant, "project": job.project, "path": job.path}


def _lease(job: Job) -> Lease:
    return Lease(
        job.id,
        job.generation,
        job.tenant,
        job.project,
        job.path,
        "",
        job.retry_count,
        job.queued_at,
    )


def _job(lease: Lease) -> Job:
    project, path = Project(lease.scope), FilePath(lease.key)
    return Job(
        lease.id,
        lease.generation,
        lease.tenant,
        project,
        path,
        lease.retry_count,
        lease.queued_at,
        lease.size,
    )
