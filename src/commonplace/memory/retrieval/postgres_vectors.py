"""Vectors of memory in PostgreSQL (pgvector), shared by every process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from commonplace.memory.engine.passages import MARK, MOST_PASSAGES, passage_key
from commonplace.memory.retrieval.postgres_indexes import MOST_EFFORT, VectorIndexes
from commonplace.search.model import Neighbours, Partition, Passage, upper_bound
from commonplace.search.semantic.embed import Embedder
from commonplace.storage.postgres.connection import PostgresConnection, Row
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries

if TYPE_CHECKING:
    from commonplace.memory.retrieval.protocol import Vector

_QUERIES = load_postgres_queries("commonplace.memory.retrieval", "postgres_vectors.sql")
_WIDEN = 4  # times as many rows are read while they belong to too few entries


class PostgresVectors:
    """Finds nearest neighbours in one row per passage and field. Its methods block.

    Exactly, or with the index of a large tenant, field and model.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        embedder: Embedder,
        indexes: VectorIndexes | None = None,
    ) -> None:
        self.indexes = indexes or VectorIndexes(database)
        self._database = database
        self._embedder = embedder

    def search(
        self,
        partition: Partition,
        query: Vector,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
        *,
        beginnings: bool = False,
    ) -> Neighbours:
        return self._search(self._which(partition), query, limit, prefix, also, beginnings)

    def replaced_identity(self, partition: Partition) -> str | None:
        which = self._which(partition)
        row = self._database.read_now(lambda c: c.execute(_QUERIES["other"], which).fetchone())
        return str(row[0]) if row is not None else None

    def search_replaced(
        self,
        partition: Partition,
        query: Vector,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        identity = self.replaced_identity(partition)
        if identity is None:
            return Neighbours({}, 0, True)
        which = {**self._which(partition), "model": identity}
        return self._search(which, query, limit, prefix, also)

    def _search(
        self,
        place: dict[str, str],
        query: Vector,
        limit: int,
        prefix: str,
        also: Iterable[str],
        beginnings: bool = False,
    ) -> Neighbours:
        named = sorted(set(also))
        values = {
            **place,
            "vector": _text(query),
            "prefix": prefix,
            "upper": upper_bound(prefix),
        }

        def read(connection: PostgresConnection) -> tuple[dict[str, float], bool]:
            cosines, exact = self._read_nearest(connection, values, len(query), limit, beginnings)
            if named:
                passages = 1 if beginnings else MOST_PASSAGES
                asked = {**values, "documents": _json(named), "passages": passages}
                cosines |= {
                    str(document): float(cosine)
                    for document, cosine in connection.execute(_QUERIES["among"], asked)
                }
            return cosines, exact

        cosines, exact = self._database.read_now(read, snapshot=True)
        return Neighbours(cosines, len(cosines), exact)

    def _read_nearest(
        self,
        connection: PostgresConnection,
        values: dict[str, str],
        dimensions: int,
        limit: int,
        beginnings: bool,
    ) -> tuple[dict[str, float], bool]:
        """Return the nearest entries, and whether all vectors were compared."""
        statement = _QUERIES["nearest_beginnings" if beginnings else "nearest"]
        cosines: dict[str, float] = {}
        exact = limit == 0 or not self.indexes.serves(connection, values)
        size = limit
        while len(cosines) < limit:
            rows: list[Row] = []
            if not exact and size <= MOST_EFFORT:
                rows = self.indexes.read_nearest(
                    connection, values, dimensions, size, beginnings=beginnings
                )
            if len(rows) < size:  # there is no index, or it gave up among filtered rows
                exact = True
                cosines.clear()
                rows = connection.execute(statement, {**values, "limit": size}).fetchall()
            for document, cosine in rows:  # the nearest passage of an entry comes first
                if len(cosines) < limit:
                    cosines.setdefault(str(document), float(cosine))
            if len(rows) < size:
                break
            size *= _WIDEN
        return cosines, exact

    def digests_of(self, partition: Partition, keys: Iterable[str]) -> dict[str, str]:
        wanted = set(keys)
        documents = {key.partition(MARK)[0] for key in wanted}
        if not documents:
            return {}
        asked = {**self._which(partition), "documents": _json(sorted(documents))}
        rows = self._database.read_now(lambda c: c.execute(_QUERIES["present"], asked).fetchall())
        found = {passage_key(str(row[0]), int(row[1])): str(row[2]) for row in rows}
        return {key: digest for key, digest in found.items() if key in wanted}

    def count(self, partition: Partition) -> int:
        which = self._which(partition)
        row = self._database.read_now(lambda c: c.execute(_QUERIES["count"], which).fetchone())
        return int(row[0]) if row is not None else 0

    def synchronise_now(
        self, partition: Partition, prefix: str, passages: Sequence[Passage]
    ) -> int:
        which = self._which(partition)
        wanted = {passage.key: passage for passage in passages}
        known = self.digests_of(partition, wanted)
        new = [passage for passage in wanted.values() if known.get(passage.key) != passage.digest]
        new.sort(key=lambda passage: passage.key)  # so that two processes cannot deadlock
        vectors: Iterable[Vector] = (
            self._embedder.embed([passage.text for passage in new]) if new else ()
        )
        rows = []
        for passage, vector in zip(new, vectors, strict=True):
            document, number = _split(passage.key)
            row = {"document": document, "passage": number, "digest": passage.digest}
            rows.append({**which, **row, "vector": _text(vector)})
        kept = orjson.dumps([_split(key) for key in wanted]).decode()
        removed = {"prefix": prefix, "upper": upper_bound(prefix), "passages": kept}

        def write(connection: PostgresConnection) -> None:
            connection.execute(_QUERIES["remove_others"], {**which, **removed})
            if rows:
                connection.executemany(_QUERIES["put"], rows)

        self._database.write_now(write)
        return len(new)

    def erase(self, partition: Partition, is_erased: Callable[[str], bool]) -> None:
        """Do nothing: the store removes them in the transaction that purges their entry."""

    def clear(self, partition: Partition) -> None:
        self._database.write_now(
            lambda c: c.execute(_QUERIES["clear"], self._which(partition)) and None
        )

    def close(self) -> None:
        """Do nothing: the database is closed by its opener."""

    def _which(self, partition: Partition) -> dict[str, str]:
        return {
            "tenant": partition.tenant,
            "field": partition.scope,
            "model": self._embedder.identity,
        }


def _split(key: str) -> tuple[str, int]:
    """Return the document and the number in the key of a passage."""
    document, _, number = key.partition(MARK)
    return document, int(number or 0)


def _json(keys: Sequence[str]) -> str:
    return orjson.dumps(keys).decode()


def _text(vector: Vector) -> str:
    return "[" + ",".join(f"{number:.7g}" for number in vector.tolist()) + "]"
