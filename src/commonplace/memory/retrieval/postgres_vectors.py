"""Vectors of memory in PostgreSQL (pgvector), shared by every process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson

from commonplace.search.model import Neighbours, Partition, Passage, upper_bound
from commonplace.search.semantic.embed import Embedder
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries

if TYPE_CHECKING:
    from commonplace.memory.retrieval.protocol import Vector

_QUERIES = load_postgres_queries("commonplace.memory.retrieval", "postgres_vectors.sql")


class PostgresVectors:
    """Finds exact nearest neighbours in one row per entry and field. Its methods block."""

    def __init__(self, database: PostgresDatabase, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    def search(
        self,
        partition: Partition,
        query: Vector,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        return self._search(self._which(partition), query, limit, prefix, also)

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
    ) -> Neighbours:
        named_keys = sorted(set(also))
        which = {**place, "vector": _text(query)}

        def read(connection: PostgresConnection) -> dict[str, float]:
            bounds = {"prefix": prefix, "upper": upper_bound(prefix), "limit": limit}
            near = connection.execute(_QUERIES["nearest"], {**which, **bounds}) if limit else None
            named = (
                connection.execute(_QUERIES["among"], {**which, "documents": _json(named_keys)})
                if named_keys
                else None
            )
            return {
                str(document): float(cosine)
                for rows in (near, named)
                if rows is not None
                for document, cosine in rows
                if cosine == cosine  # not NaN: pgvector's answer for a text without a vector
            }

        cosines = self._database.read_now(read, snapshot=True)
        return Neighbours(cosines, len(cosines), True)

    def synchronise_now(
        self, partition: Partition, prefix: str, passages: Sequence[Passage]
    ) -> int:
        which = self._which(partition)
        wanted = {passage.key: passage for passage in passages}
        here = {**which, "documents": _json(list(wanted))}
        known: dict[str, str] = {}
        if wanted:
            known = dict(
                self._database.read_now(lambda c: c.execute(_QUERIES["present"], here).fetchall())
            )
        new = [passage for passage in wanted.values() if known.get(passage.key) != passage.digest]
        new.sort(key=lambda passage: passage.key)  # so that two processes cannot deadlock
        vectors: Iterable[Vector] = (
            self._embedder.embed([passage.text for passage in new]) if new else ()
        )
        rows = [
            {**which, "document": passage.key, "digest": passage.digest, "vector": _text(vector)}
            for passage, vector in zip(new, vectors, strict=True)
        ]

        def write(connection: PostgresConnection) -> None:
            connection.execute(
                _QUERIES["remove_others"], {**here, "prefix": prefix, "upper": upper_bound(prefix)}
            )
            if rows:
                connection.executemany(_QUERIES["put"], rows)

        self._database.write_now(write)
        return len(new)

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


def _json(keys: Sequence[str]) -> str:
    return orjson.dumps(keys).decode()


def _text(vector: Vector) -> str:
    return "[" + ",".join(f"{number:.7g}" for number in vector.tolist()) + "]"
