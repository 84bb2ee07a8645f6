"""The index of files over named SQL: chunks, their words, the job outbox, served times."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import orjson

from commonplace.files.model import (
    AddedChunk,
    FilePath,
    IndexBacklog,
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
from commonplace.files.store.extracts.writer import ExtractWriter
from commonplace.files.store.protocol import IndexSource, IndexStep
from commonplace.files.store.symbols.writer import SymbolWriter
from commonplace.files.store.units import IndexUnits, microseconds
from commonplace.files.store.vector_jobs import SqlVectorJobs
from commonplace.files.symbols import IndexVersions
from commonplace.search.model import IndexDocument, Partition, Passage
from commonplace.storage.fair_queue import FairQueue
from commonplace.storage.outbox import LargeJobs, Lease, Outbox
from commonplace.storage.relational import Row, SqlConnection

COLLECTION = "files"
Documents = list[tuple[int, IndexDocument]]
"""Words to index, by chunk id."""


def partition_of(tenant: str, project: str) -> Partition:
    return Partition(tenant, COLLECTION, project)


def key_of(path: str, chunk_id: int) -> str:
    """Return the search key of a chunk: no path has a `#`, so a path prefix is a key prefix."""
    return f"{path}#{chunk_id}"


class WordIndex(Protocol):
    """Where the words of chunks go, in the transaction that stores the chunks."""

    def put(
        self,
        connection: SqlConnection,
        partition: Partition,
        documents: Sequence[tuple[int, IndexDocument]],
    ) -> None:
        """Index the words of new chunks, by chunk id."""
        ...

    def drop(
        self,
        connection: SqlConnection,
        partition: Partition,
        path: str,
        chunk_ids: Sequence[int],
    ) -> None:
        """Remove the words of chunks, before the chunks are removed."""
        ...

    def clear(self, connection: SqlConnection, partition: Partition) -> None:
        """Remove the words of a project."""
        ...

    def storable(self, text: str) -> str:
        """Return a text as the database can hold it."""
        ...

    def chunk_text(self, row: Row) -> str:
        """Return the text of a chunk's row (id, start, end, text, live bytes, hash, source)."""
        ...

    async def tidy(self) -> bool:
        """Do a short piece of work that makes searches cheaper; False when there is none."""
        ...


class SqlIndexStore:
    """`ChunkStore` and `JobStore` of both databases."""

    def __init__(
        self,
        units: IndexUnits,
        words: WordIndex,
        outbox: Outbox,
        now: Callable[[], int] = microseconds,
        vectors: Sequence[SqlVectorJobs] = (),
        versions: IndexVersions | None = None,
        *,
        extracts: ExtractWriter,
    ) -> None:
        """`vectors`: the queues that files go on to once their words are indexed."""
        self._units = units
        self._words = words
        self._outbox = outbox
        self._vectors = vectors
        self._turns = FairQueue()
        self._queries = outbox.queries
        self._symbols = SymbolWriter(outbox.queries, words.storable, versions)
        self._extracts = extracts
        self._now = now
        self._owner = ""
        self._served: dict[tuple[str, int], int] = {}
        self._served_guard = threading.Lock()
        self.tidy = words.tidy
        self.partition = partition_of

    # Search results

    async def chunks(self, tenant: str, project: Project, keys: Sequence[str]) -> list[StoredChunk]:
        ids = [int(key.rpartition("#")[2]) for key in keys]
        values = {"ids": orjson.dumps(ids).decode(), "tenant": tenant, "project": project}

        def look(connection: SqlConnection) -> dict[str, StoredChunk]:
            rows = connection.execute(self._queries["chunks_live"], values)
            return {key_of(row[10], row[0]): self._read_chunk(row) for row in rows}

        found = await self._units.look(look)
        return [found[key] for key in keys if key in found]

    def _read_chunk(self, row: Row) -> StoredChunk:
        return StoredChunk(
            row[0],
            key_of(row[10], row[0]),
            FilePath(row[10]),
            row[1],
            row[2],
            self._words.chunk_text(row),
            row[4],
            row[6],
            None if row[9] or not row[7] else (row[7], row[8]),
        )

    def note_served(self, tenant: str, chunk_ids: Sequence[int]) -> None:
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
            await self._units.commit(
                lambda connection: (
                    connection.executemany(self._queries["chunk_served"], rows) and None
                )
            )

    async def state(self, tenant: str, project: Project | None) -> IndexState:
        def look(connection: SqlConnection) -> IndexState:
            counts = self._outbox.counts(connection, tenant, project)
            keys = {"tenant": tenant, "scope": project}
            chunks, files = connection.execute(self._queries["chunk_counts"], keys).fetchone() or (
                0,
                0,
            )
            dead = tuple(
                (row[0], row[1]) for row in connection.execute(self._queries["dead_letters"], keys)
            )
            extracts, notes = self._extracts.state(connection, tenant, project)
            return IndexState(
                chunks,
                files,
                counts.pending,
                counts.processing,
                counts.dead,
                counts.oldest_at,
                dead,
                outdated=self._symbols.count_outdated(connection, tenant, project),
                definitions=self._symbols.count_definitions(connection, tenant, project),
                extracts=extracts,
                extract_notes=notes,
            )

        state = await self._units.scan(look)
        for queue in self._vectors:
            state = with_vectors(state, await queue.counts(tenant, project))
        return state

    async def backlog(self, tenant: str | None = None) -> IndexBacklog:
        counts, outdated = await self._units.scan(
            lambda connection: (
                self._outbox.counts(connection, tenant),
                self._symbols.count_outdated(connection, tenant),
            )
        )
        waiting, dead = counts.pending + counts.processing, counts.dead
        for queue in self._vectors:
            if queue.local:  # an external model may be away for hours: it has its own figures
                vectors = await queue.counts(tenant)
                waiting, dead = waiting + vectors.embedding, dead + vectors.dead
        return IndexBacklog(waiting, dead, counts.oldest_at, outdated)

    async def enqueue_all(self, tenant: str, project: Project | None, *, rebuild: bool) -> int:
        keys = {"tenant": tenant, "scope": project}

        def work(connection: SqlConnection) -> int:
            if rebuild:
                for (name,) in connection.execute(
                    self._queries["indexed_projects"], keys
                ).fetchall():
                    self._words.clear(connection, partition_of(tenant, str(name)))
                    self._symbols.forget(connection, tenant, str(name))
                connection.execute(self._queries["forget_chunks"], keys)
                self._extracts.forget(connection, tenant, project)
            connection.execute(self._queries["enqueue_stale"], {**keys, "now": self._now()})
            return len(
                connection.execute(
                    self._queries["enqueue_live"], {**keys, "now": self._now()}
                ).fetchall()
            )

        return int(await self._units.commit(work))

    async def enqueue_outdated(self, limit: int) -> int:
        values = {
            **self._symbols.versions.parameters(),
            "limit": limit,
            "now": self._now(),
        }
        return int(
            await self._units.commit(
                lambda connection: len(
                    connection.execute(self._queries["enqueue_outdated"], values).fetchall()
                )
            )
        )

    # The work of an index worker

    async def due(self) -> bool:
        return await self._units.look(
            lambda connection: (
                connection.execute(self._queries["job_due"], {"now": self._now()}).fetchone()
                is not None
            )
        )

    async def reclaim(self, owner: str) -> None:
        await self._units.commit(
            lambda connection: self._outbox.reclaim(connection, owner=owner, now=self._now())
        )

    async def release(self, owner: str) -> None:
        await self._units.commit(
            lambda connection: self._outbox.release(connection, owner=owner, now=self._now())
        )

    async def claim(self, owner: str, limit: int, large: LargeJobs | None = None) -> list[Job]:
        self._owner = owner

        def work(connection: SqlConnection) -> list[Lease]:
            return self._outbox.claim(
                connection, self._turns, owner=owner, now=self._now(), limit=limit, large=large
            )

        return [_job(lease) for lease in await self._units.commit(work)]

    async def renew(self, owner: str, jobs: Collection[int]) -> None:
        await self._units.commit(
            lambda connection: self._outbox.renew(connection, jobs, owner=owner, now=self._now())
        )

    async def sources(self, jobs: Sequence[Job], max_bytes: int) -> list[IndexSource]:
        def read(connection: SqlConnection) -> list[IndexSource]:
            found: list[IndexSource] = []
            room = max_bytes
            for job in jobs:
                row = connection.execute(self._queries["file_whole"], _keys(job)).fetchone()
                content_hash, content = row if row else (None, b"")
                made = connection.execute(self._queries["index_record"], _keys(job)).fetchone()
                indexed = self._indexed_chunks(connection, job)
                source = Source(content_hash, content, indexed, int(made[1]) if made else 0)
                found.append(IndexSource(source, self._extracts.indexed(connection, job)))
                room -= len(content)
                if room <= 0:
                    break
            return found

        return await self._units.scan(read)

    async def apply(self, steps: Sequence[IndexStep]) -> list[bool]:
        def work(connection: SqlConnection) -> list[bool]:
            documents: dict[Partition, Documents] = defaultdict(list)
            applied = [self._apply(connection, step, documents) for step in steps]
            # in one order everywhere: two workers do not block each other
            for partition in sorted(documents, key=lambda place: (place.tenant, place.scope)):
                self._words.put(connection, partition, documents[partition])
            return applied

        return await self._units.commit(work)

    async def passages(self, job: VectorJob) -> list[Passage]:
        rows = await self._units.scan(
            lambda connection: connection.execute(
                self._queries["passages_of_file"], _keys(job)
            ).fetchall()
        )
        return [
            Passage(key_of(job.path, int(identity)), str(text), str(digest))
            for identity, text, digest in rows
        ]

    async def projects_with_twins(self, job: VectorJob) -> list[Project]:
        rows = await self._units.look(
            lambda connection: connection.execute(
                self._queries["projects_with_twins"], _keys(job)
            ).fetchall()
        )
        return sorted({Project(str(name)) for row in rows for name in row if name is not None})

    async def fail(self, job: Job, error: str) -> bool:
        text = self._words.storable(error)
        return bool(
            await self._units.commit(
                lambda connection: self._outbox.fail(connection, _lease(job), text, now=self._now())
            )
        )

    # Inside one step

    def _apply(
        self, connection: SqlConnection, step: IndexStep, documents: dict[Partition, Documents]
    ) -> bool:
        """Apply a step, except its words: those are added to `documents`."""
        job, change = step.job, step.change
        if not self._is_leased(connection, job) or not self._is_unchanged(
            connection, job, step.content_hash
        ):
            # a newer generation of the job is queued, or another worker has the job
            return False
        added, reworded = step.terms[: len(change.added)], step.terms[len(change.added) :]
        self._remove(connection, job, change.removed)
        self._move(connection, job, change.moved)
        words = self._add(connection, job, change.added, added)
        words += self._reword(connection, job, change.reworded, reworded)
        if words:
            documents[partition_of(job.tenant, job.project)] += words
        self._extracts.apply(connection, job, step.extracts, step.extract_terms)
        if step.last:
            self._symbols.replace(connection, job, step.symbols)
            self._outbox.complete(connection, _lease(job))
            for queue in self._vectors:
                queue.enqueue(connection, job)
        return True

    def _is_leased(self, connection: SqlConnection, job: Job) -> bool:
        values = {"id": job.id, "generation": job.generation, "owner": self._owner}
        return connection.execute(self._queries["job_held"], values).fetchone() is not None

    def _is_unchanged(self, connection: SqlConnection, job: Job, content_hash: str | None) -> bool:
        row = connection.execute(self._queries["file"], _keys(job)).fetchone()
        return (row[4] if row else None) == content_hash

    def _indexed_chunks(self, connection: SqlConnection, job: Job) -> tuple[IndexedChunk, ...]:
        return tuple(
            IndexedChunk(*row)
            for row in connection.execute(self._queries["chunks_of_file"], _keys(job))
        )

    def _remove(self, connection: SqlConnection, job: Job, ids: Sequence[int]) -> None:
        if ids:
            self._words.drop(connection, partition_of(job.tenant, job.project), job.path, ids)
            connection.executemany(
                self._queries["chunk_delete"],
                [{"id": chunk_id, "tenant": job.tenant} for chunk_id in ids],
            )

    def _move(self, connection: SqlConnection, job: Job, chunks: Sequence[IndexedChunk]) -> None:
        """Move chunks in two passes, as positions are unique: out of the way, then in place."""
        now = self._now()
        for sign in (-1, 1) if chunks else ():
            rows = [
                {
                    "id": chunk.id,
                    "tenant": job.tenant,
                    "index": chunk.index if sign > 0 else -1 - chunk.index,
                    "start": chunk.start,
                    "end": chunk.end,
                    **_place(chunk, self._words.storable),
                    "now": now,
                }
                for chunk in chunks
            ]
            connection.executemany(self._queries["chunk_move"], rows)

    def _add(
        self,
        connection: SqlConnection,
        job: Job,
        chunks: Sequence[AddedChunk],
        terms: Sequence[Terms],
    ) -> Documents:
        """Store chunks; return what their words are to be indexed as."""
        asked = []
        for chunk in chunks:
            values = {
                **_keys(job),
                "index": chunk.index,
                "start": chunk.start,
                "end": chunk.end,
                "content": self._words.storable(chunk.text),
            }
            values |= {
                "hash": chunk.content_hash,
                "context": self._words.storable(chunk.context),
                **_place(chunk, self._words.storable),
                "now": self._now(),
            }
            asked.append(connection.execute(self._queries["chunk_insert"], values))
        documents: Documents = []
        for rows, fields in zip(asked, terms, strict=True):
            row = rows.fetchone()
            assert row is not None
            documents.append((int(row[0]), IndexDocument(key_of(job.path, row[0]), fields)))
        return documents

    def _reword(
        self,
        connection: SqlConnection,
        job: Job,
        chunks: Sequence[AddedChunk],
        terms: Sequence[Terms],
    ) -> Documents:
        """Remove the words of stored chunks and return the new ones.

        Their ids, and so their vectors, stay.
        """
        if not chunks:
            return []
        partition = partition_of(job.tenant, job.project)
        self._words.drop(connection, partition, job.path, [chunk.id for chunk in chunks])
        return [
            (chunk.id, IndexDocument(key_of(job.path, chunk.id), fields))
            for chunk, fields in zip(chunks, terms, strict=True)
        ]


def _place(
    chunk: AddedChunk | IndexedChunk, storable: Callable[[str], str]
) -> dict[str, str | int]:
    return {
        "symbol": storable(chunk.symbol),
        "kind": chunk.kind,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
    }


def _keys(job: Job | VectorJob) -> dict[str, str]:
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
