"""The files index in SQLite: chunks beside their postings, the job outbox, and the times chunks were served."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from commonplace.files.model import (
    AddedChunk,
    FilePath,
    IndexChange,
    IndexedChunk,
    IndexState,
    Job,
    Project,
    Source,
    StoredChunk,
    VectorJob,
    with_vectors,
)
from commonplace.files.sqlite import QUERIES, microseconds, open_schema
from commonplace.files.sqlite_vectors import SqliteVectorJobs
from commonplace.search.sqlite import SqlitePostings
from commonplace.search.store import Document, Partition, Passage
from commonplace.storage.outbox import Lease, Outbox
from commonplace.storage.sqlite import Connection, Database

Result = TypeVar("Result")
COLLECTION = "files"
SLICE_CHUNKS = 64  # chunks added in one transaction, so that writers never wait long for a large file
INDEX_LOCK_SECONDS = 30.0  # an index worker may wait longer than a caller


def partition_of(tenant: str, project: str) -> Partition:
    return Partition(tenant, COLLECTION, project)


def key_of(path: str, chunk_id: int) -> str:
    """The search key of a chunk. `#` is no path character, so a path prefix is a key prefix."""
    return f"{path}#{chunk_id}"


class SqliteFileIndex:
    """`ChunkStore` and `JobStore` on one machine."""

    def __init__(
        self,
        database: Database,
        postings: SqlitePostings,
        outbox: Outbox | None = None,
        *,
        now: Callable[[], int] = microseconds,
        vectors: SqliteVectorJobs | None = None,
    ) -> None:
        """`vectors`: finished files go on to that queue, for an external model."""
        open_schema(database)
        self._database = database
        self._postings = postings
        self._outbox = outbox or Outbox(QUERIES)
        self._now = now
        self._vectors = vectors
        self._served: dict[tuple[str, int], int] = {}
        self._served_guard = threading.Lock()

    # -- what search results need

    async def chunks(self, tenant: str, project: Project, keys: Sequence[str]) -> list[StoredChunk]:
        found = []
        with self._database.snapshot() as connection:
            for key in keys:
                path, _, number = key.rpartition("#")
                row = connection.execute(
                    QUERIES["chunk_live"], {"id": int(number), "tenant": tenant, "project": project, "path": path}
                ).fetchone()
                if row is not None:
                    found.append(StoredChunk(row[0], key, FilePath(path), row[1], row[2], row[3], row[4]))
        return found

    def served(self, tenant: str, chunk_ids: Sequence[int]) -> None:
        now = self._now()
        with self._served_guard:
            self._served.update({(tenant, chunk_id): now for chunk_id in chunk_ids})

    async def flush_served(self) -> None:
        with self._served_guard:
            served, self._served = self._served, {}
        if served:
            rows = [{"tenant": tenant, "id": chunk_id, "now": at} for (tenant, chunk_id), at in served.items()]
            await self._write(lambda connection: connection.executemany(QUERIES["chunk_served"], rows) and None)

    async def state(self, tenant: str, project: Project | None) -> IndexState:
        def look(connection: Connection) -> IndexState:
            counts = self._outbox.counts(connection, tenant, project)
            keys = {"tenant": tenant, "scope": project}
            chunks, files = connection.execute(QUERIES["chunk_counts"], keys).fetchone() or (0, 0)
            dead = tuple((row[0], row[1]) for row in connection.execute(QUERIES["dead_letters"], keys))
            return IndexState(chunks, files, counts.pending, counts.processing, counts.dead, counts.oldest_at, dead)

        state = await self._database.read(look)
        return state if self._vectors is None else with_vectors(state, await self._vectors.counts(tenant, project))

    async def backlog(self, tenant: str | None = None) -> tuple[int, int, int | None]:
        counts = await self._database.read(lambda connection: self._outbox.counts(connection, tenant))
        return counts.pending + counts.processing, counts.dead, counts.oldest_at

    async def enqueue_all(self, tenant: str, project: Project | None, *, rebuild: bool) -> int:
        keys = {"tenant": tenant, "scope": project}

        def work(connection: Connection) -> int:
            if rebuild:
                for (name,) in connection.execute(QUERIES["indexed_projects"], keys).fetchall():
                    self._postings.clear(connection, partition_of(tenant, str(name)))
                connection.execute(QUERIES["forget_chunks"], keys)
            connection.execute(QUERIES["enqueue_stale"], {**keys, "now": self._now()})
            connection.execute(QUERIES["enqueue_live"], {**keys, "now": self._now()})
            return connection.changes()

        return int(await self._write(work))

    # -- what a worker does

    async def due(self) -> bool:
        return self._database.reader().execute(QUERIES["job_due"], {"now": self._now()}).fetchone() is not None

    async def reclaim(self, owner: str) -> None:
        await self._write(lambda connection: self._outbox.reclaim(connection, owner=owner, now=self._now()))

    async def claim(self, owner: str, limit: int) -> list[Job]:
        leases = await self._write(lambda connection: self._outbox.claim(connection, owner=owner, now=self._now(), limit=limit))
        return [
            Job(lease.id, lease.generation, lease.tenant, Project(lease.scope), FilePath(lease.key), lease.retry_count, lease.queued_at)
            for lease in leases
        ]

    async def sources(self, jobs: Sequence[Job], max_bytes: int) -> list[Source | None]:
        def read(connection: Connection) -> list[Source | None]:
            found: list[Source | None] = []
            room = max_bytes
            for job in jobs:
                row = connection.execute(QUERIES["file_whole"], _keys(job)).fetchone()
                found.append(None if row is None else Source(row[0], row[1], _indexed(connection, job)))
                room -= len(row[1]) if row else 0
                if room <= 0:
                    break
            return found

        return await self._database.read(read)

    async def apply(self, job: Job, source: Source | None, change: IndexChange, *, complete: bool) -> None:
        parts = [change.added[at : at + SLICE_CHUNKS] for at in range(0, len(change.added), SLICE_CHUNKS)] or [()]
        for number, part in enumerate(parts):
            first, last = number == 0, number == len(parts) - 1

            def step(connection: Connection, part: Sequence[AddedChunk] = part, first: bool = first, last: bool = last) -> bool:
                if not _unchanged(connection, job, source):
                    return False  # a newer generation of the job is queued already
                if first:
                    removed = change.removed if source else tuple(chunk.id for chunk in _indexed(connection, job))
                    self._remove(connection, job, removed)
                    _move(connection, job, change.moved, self._now())
                self._add(connection, job, part)
                if last and complete:
                    self._done(connection, job)
                return True

            if not await self._write(step):
                return

    async def passages(self, job: Job | VectorJob) -> list[Passage]:
        rows: list[tuple[Any, ...]] = await self._database.read(
            lambda connection: connection.execute(QUERIES["passages_of_file"], _keys(job)).fetchall()
        )
        return [Passage(key_of(job.path, int(identity)), str(text), str(digest)) for identity, text, digest in rows]

    async def complete(self, job: Job) -> None:
        await self._write(lambda connection: self._done(connection, job))

    def _done(self, connection: Connection, job: Job) -> None:
        self._outbox.complete(connection, _lease(job))
        if self._vectors is not None:
            self._vectors.enqueue(connection, job)

    async def fail(self, job: Job, error: str) -> bool:
        return bool(await self._write(lambda connection: self._outbox.fail(connection, _lease(job), error, now=self._now())))

    async def _write(self, work: Callable[[Connection], Result]) -> Result:
        """The index is derived: a step lost in a power failure leaves its job queued, and is done again."""
        return await self._database.write(work, lock_timeout_seconds=INDEX_LOCK_SECONDS, durable=False)

    def _remove(self, connection: Connection, job: Job, ids: Sequence[int]) -> None:
        self._postings.remove(connection, partition_of(job.tenant, job.project), [key_of(job.path, chunk_id) for chunk_id in ids])
        connection.executemany(QUERIES["chunk_delete"], ({"id": chunk_id, "tenant": job.tenant} for chunk_id in ids))

    def _add(self, connection: Connection, job: Job, chunks: Sequence[AddedChunk]) -> None:
        documents = []
        for chunk in chunks:
            values = {**_keys(job), "index": chunk.index, "start": chunk.start, "end": chunk.end, "content": chunk.text}
            values |= {"hash": chunk.content_hash, "context": chunk.context, "now": self._now()}
            row = connection.execute(QUERIES["chunk_insert"], values).fetchone()
            assert row is not None
            documents.append(Document(key_of(job.path, row[0]), chunk.terms))
        if documents:
            self._postings.put(connection, partition_of(job.tenant, job.project), documents)


def _keys(job: Job | VectorJob) -> dict[str, Any]:
    return {"tenant": job.tenant, "project": job.project, "path": job.path}


def _lease(job: Job) -> Lease:
    return Lease(job.id, job.generation, job.tenant, job.project, job.path, "", job.retry_count, job.queued_at)


def _unchanged(connection: Connection, job: Job, source: Source | None) -> bool:
    row = connection.execute(QUERIES["file"], _keys(job)).fetchone()
    return (row[4] if row else None) == (source.content_hash if source else None)


def _indexed(connection: Connection, job: Job) -> tuple[IndexedChunk, ...]:
    return tuple(IndexedChunk(*row) for row in connection.execute(QUERIES["chunks_of_file"], _keys(job)))


def _move(connection: Connection, job: Job, chunks: Sequence[IndexedChunk], now: int) -> None:
    """Two passes, because positions are unique: out of the way first, then to the new place."""
    for sign in (-1, 1):
        connection.executemany(
            QUERIES["chunk_move"],
            (
                {
                    "id": chunk.id,
                    "tenant": job.tenant,
                    "index": chunk.index if sign > 0 else -1 - chunk.index,
                    "start": chunk.start,
                    "end": chunk.end,
                    "now": now,
                }
                for chunk in chunks
            ),
        )
