"""Vectors of files in PostgreSQL (pgvector): exact for small projects, HNSW for large ones.

A vector belongs to a chunk or an extract and is deleted with it; their texts never change. So
synchronising is making the missing vectors, in small steps that can be repeated. An approximate
index covers one project and is built beside running searches.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import psycopg

from commonplace.files.extracts.model import COLLECTION as EXTRACTS
from commonplace.kernel.errors import CommonplaceError
from commonplace.search.model import Neighbours, Partition, Passage, upper_bound
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.storage.errors import SCHEMA_MISMATCH
from commonplace.storage.failures import describe_publicly
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.index_builds import build_index, open_exclusive_session
from commonplace.storage.queries import load_postgres_queries

if TYPE_CHECKING:
    from commonplace.search.model import Vectors

log = logging.getLogger("commonplace.files.embeddings")
EXACT_ROWS = 10_000  # vectors of a project up to which all are compared (ADR 0082)
SELECTIVE_PREFIX = 2_000  # chunks below a prefix up to which only they are compared
INDEXED_DIMENSIONS = 4_000  # pgvector's limit for an HNSW index over halfvec
PLAIN_DIMENSIONS = 1_900  # a row must fit into a page
EFFORT = 100  # hnsw.ef_search
BATCH = 32
LOOK_EVERY = 500  # vectors added before the need for an index is checked again
_QUERIES = load_postgres_queries("commonplace.files.store", "postgres_embeddings.sql")
_EXTRACT_QUERIES = {
    name: sql.replace("mcp_file_chunk_embeddings", "mcp_file_extract_embeddings").replace(
        "mcp_file_chunks", "mcp_file_extracts"
    )
    for name, sql in _QUERIES.items()
}
"""The same statements over the vectors of extracts."""


def queries_of(partition: Partition) -> Mapping[str, str]:
    """Return the statements over the vectors of a collection."""
    return _EXTRACT_QUERIES if partition.collection == EXTRACTS else _QUERIES


STALE = "the vectors were made by another model; a worker is replacing them"


class PostgresEmbeddings:
    """The vectors of one model. Thread-safe; any number of processes share the table."""

    def __init__(
        self,
        database: PostgresDatabase,
        identity: str,
        dimensions: int,
        exact_rows: int = EXACT_ROWS,
    ) -> None:
        self.identity = identity
        self.dimensions = dimensions
        self._database = database
        self._exact_rows = exact_rows
        self._added: dict[Partition, int] = {}
        self._building: set[int] = set()
        self._builders: list[threading.Thread] = []
        self._guard = threading.Lock()

    async def nearest(
        self, partition: Partition, vector: Any, limit: int, prefix: str, also: Sequence[str]
    ) -> Neighbours:
        """Return the `limit` nearest keys below the prefix, and the cosines of `also`.

        `Neighbours.other_model` names another model whose vectors were not all replaced yet.
        """
        try:
            return await self._database.read(
                lambda c: self._nearest(c, partition, _text(vector), limit, prefix, also),
                snapshot=True,
            )
        except (psycopg.Error, CommonplaceError) as failed:
            log.warning("the vectors cannot be read", exc_info=failed)
            raise EmbedderUnavailableError(
                f"the vectors cannot be read ({describe_publicly(failed)})"
            ) from failed

    async def lacks_vectors(self, partition: Partition) -> bool:
        """Return whether a project has no vectors of this model, or still some of another one."""
        state = await self._database.read(lambda connection: self._state(connection, partition))
        return state is None or state[1] == 0 or state[2] is not None

    async def synchronise(
        self,
        partition: Partition,
        passages: Sequence[Passage],
        embed: Callable[[Sequence[str]], Vectors],
        most: int | None = None,
    ) -> int:
        """Make up to `most` missing vectors; return how many are left.

        Each batch is committed by itself. Equal texts are embedded once.
        """
        by_id = {int(passage.key.rpartition("#")[2]): passage for passage in passages}
        missing = await self._missing(partition, list(by_id))
        texts: dict[str, list[int]] = {}  # chunks by the digest of their text
        for number in missing:
            texts.setdefault(by_id[number].digest, []).append(number)
        now = list(texts.values())[:most]
        for at in range(0, len(now), BATCH):
            batch = now[at : at + BATCH]
            vectors = await asyncio.to_thread(embed, [by_id[twins[0]].text for twins in batch])
            pairs = zip(batch, vectors, strict=True)
            await self.add(
                partition, [(number, vector) for twins, vector in pairs for number in twins]
            )
        return sum(map(len, list(texts.values())[len(now) :]))

    async def _missing(self, partition: Partition, ids: list[int]) -> list[int]:
        """Return the chunks that have no vector, after copying those of equal texts."""
        queries = queries_of(partition)
        values: dict[str, Any] = {
            "ids": ids,
            "tenant": partition.tenant,
            "project": partition.scope,
            "model": self.identity,
        }
        rows = await self._database.read(
            lambda c: c.execute(queries["embedding_missing"], values).fetchall()
        )
        missing = [int(row[0]) for row in rows]
        if not missing:
            return []
        values |= {"ids": missing, "collection": partition.collection}
        rows = await self._database.write(
            lambda c: c.execute(queries["embedding_copy"], values).fetchall()
        )
        copied = {int(row[0]) for row in rows}
        return [number for number in missing if number not in copied]

    async def add(self, partition: Partition, vectors: Sequence[tuple[int, Any]]) -> None:
        """Store the vectors of chunks; replace those that exist."""
        place = {
            "tenant": partition.tenant,
            "project": partition.scope,
            "collection": partition.collection,
            "model": self.identity,
        }
        rows = [
            {**place, "id": number, "embedding": _text(vector)}
            for number, vector in sorted(vectors, key=lambda pair: pair[0])
        ]
        add = queries_of(partition)["embedding_add"]
        await self._database.write(lambda c: c.executemany(add, rows))
        with self._guard:
            before = self._added.get(partition, -1)
            self._added[partition] = max(before, 0) + len(rows)
            due = before < 0 or before // LOOK_EVERY != self._added[partition] // LOOK_EVERY
        if due:
            await self._index_if_worthwhile(partition)

    def of_model(self, identity: str) -> PostgresEmbeddings:
        """Return the vectors of another model in the same table."""
        return PostgresEmbeddings(self._database, identity, self.dimensions, self._exact_rows)

    def close(self) -> None:
        """Wait for indexes being built."""
        for thread in self._builders:
            thread.join()

    def _nearest(
        self,
        connection: PostgresConnection,
        partition: Partition,
        query: str,
        limit: int,
        prefix: str,
        also: Sequence[str],
    ) -> Neighbours:
        state = self._state(connection, partition)
        if state is None:
            return Neighbours({}, 0, True)
        number, rows, other, indexed, documents = state
        queries = queries_of(partition)
        if rows == 0 and other is not None:
            return Neighbours({}, 0, True, other_model=other)
        values = {"partition": number, "model": self.identity, "query": query, "limit": limit}
        ids = [int(key.rpartition("#")[2]) for key in also]
        asked = (
            connection.execute(queries["similarities"], {**values, "ids": ids}, binary=True)
            if ids
            else None
        )
        approximate = indexed and rows > self._exact_rows
        below = {
            "tenant": partition.tenant,
            "project": partition.scope,
            "prefix": prefix,
            "upper": upper_bound(prefix),
        }
        if prefix and (not approximate or _is_selective(connection, queries, below)):
            found = connection.execute(queries["nearest_below"], {**values, **below}, binary=True)
            approximate = False
        elif approximate:
            connection.execute(queries["nearest_scanning"], {"effort": str(max(EFFORT, limit))})
            name = "nearest_approximate_below" if prefix else "nearest_approximate"
            found = connection.execute(
                self._statement(queries[name], number), {**values, **below}, binary=True
            )
        else:
            found = connection.execute(queries["nearest_exact"], values, binary=True)
        answers = [*found, *(asked or ())]
        cosines = {str(key): float(similarity) for key, similarity, _ in answers}
        vectors = {str(key): _unpack(packed) for key, _, packed in answers}
        return Neighbours(
            cosines,
            rows if rows <= self._exact_rows else max(rows, int(documents)),
            not approximate,
            vectors,
            other,
        )

    def _state(
        self, connection: PostgresConnection, partition: Partition
    ) -> tuple[int, int, str | None, bool, int] | None:
        values = {
            "tenant": partition.tenant,
            "collection": partition.collection,
            "scope": partition.scope,
        }
        row = connection.execute(
            queries_of(partition)["embedding_state"],
            {**values, "model": self.identity, "limit": self._exact_rows + 1},
        ).fetchone()
        return (
            None if row is None else (int(row[0]), int(row[1]), row[2], bool(row[3]), int(row[4]))
        )

    def _statement(self, sql: str, partition_id: int) -> str:
        return sql.replace("DIMENSIONS", str(self.dimensions)).replace(
            "PARTITION", str(partition_id)
        )

    async def _index_if_worthwhile(self, partition: Partition) -> None:
        state = await self._database.read(lambda connection: self._state(connection, partition))
        if (
            state is None
            or state[1] <= self._exact_rows
            or state[3]
            or self.dimensions > INDEXED_DIMENSIONS
        ):
            return
        with self._guard:
            if state[0] in self._building:
                return
            self._building.add(state[0])
        thread = threading.Thread(
            target=self.build_index,
            args=(state[0], queries_of(partition)),
            name="build-hnsw",
            daemon=True,
        )
        self._builders = [alive for alive in self._builders if alive.is_alive()] + [thread]
        thread.start()

    def build_index(self, partition_id: int, queries: Mapping[str, str] = _QUERIES) -> None:
        """Build the approximate index of a large project, beside running searches.

        Of several processes, one does it.
        """
        name = f"idx_mcp_file_embeddings_hnsw_{partition_id}"
        try:
            with open_exclusive_session(
                self._database, f"commonplace hnsw {partition_id}"
            ) as connection:
                if connection is not None:
                    build_index(
                        connection, name, self._statement(queries["index_build"], partition_id)
                    )
        except CommonplaceError:
            return  # checked again with later vectors
        except psycopg.Error as failed:
            log.warning(
                "the vector index of partition %d was not built: %s",
                partition_id,
                " ".join(str(failed).split())[:300],
            )
        finally:
            with self._guard:
                self._building.discard(partition_id)


def _is_selective(
    connection: PostgresConnection, queries: Mapping[str, str], below: dict[str, Any]
) -> bool:
    row = connection.execute(
        queries["below_count"], {**below, "limit": SELECTIVE_PREFIX + 1}
    ).fetchone()
    return row is not None and int(row[0]) <= SELECTIVE_PREFIX


def vector_length(connection: PostgresConnection) -> int:
    """Return the length of the vectors in the table."""
    row = connection.execute(_QUERIES["embedding_length"]).fetchone()
    return int(row[0]) if row else 0


def require_length(database: PostgresDatabase, dimensions: int) -> None:
    found = database.read_now(vector_length)
    if found != dimensions:
        raise CommonplaceError(
            SCHEMA_MISMATCH,
            f"The database holds vectors of {found} numbers; "
            f"settings.mcp.files.search.embedding.dimensions is {dimensions}.",
            hint="Run: commonplace migrate (it drops the old vectors and queues all files to be "
            "embedded again)",
            details={"found": found, "needed": dimensions},
        )


def fit_length(database: PostgresDatabase, dimensions: int) -> tuple[int, int]:
    """Change the length of the vectors: delete the old ones and queue all files.

    Return the length before, and how many files were queued.
    """

    def work(connection: PostgresConnection) -> tuple[int, int]:
        before = vector_length(connection)
        if before == dimensions:
            return before, 0
        storage = "embedding_in_place" if dimensions <= PLAIN_DIMENSIONS else "embedding_aside"
        for queries in (_QUERIES, _EXTRACT_QUERIES):
            for name, _ in connection.execute(queries["embedding_indexes"]).fetchall():
                connection.execute(f"DROP INDEX {name}")  # our own name, ending in a number
            connection.execute(queries["embedding_clear"])
            connection.execute(queries["embedding_resize"].replace("DIMENSIONS", str(dimensions)))
            connection.execute(queries[storage])
        queued = connection.execute(_QUERIES["embed_all_again"]).fetchone()
        return before, int(queued[0]) if queued else 0

    return database.write_now(work, lock_timeout_seconds=60)


def _unpack(packed: bytes) -> Any:
    """Decode a halfvec of pgvector: its length, a reserved word, big-endian numbers."""
    import numpy as np

    return np.frombuffer(packed, dtype=">f2", offset=4).astype(np.float32)


def _text(vector: Any) -> str:
    return (
        "["
        + ",".join(
            map(
                repr,
                vector.tolist()
                if hasattr(vector, "tolist")
                else [float(number) for number in vector],
            )
        )
        + "]"
    )
