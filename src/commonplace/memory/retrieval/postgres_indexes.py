"""Approximate indexes (HNSW) over the vectors of large tenants in PostgreSQL.

One index covers the vectors of one field and model of a tenant. What there should be follows from
the rows alone, so the same step builds what lacks, replaces what an interrupted build left, and
drops the indexes of tenants that were deleted, moved or became small, and those of replaced models.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Mapping

import psycopg
from psycopg import sql

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.postgres.connection import PostgresConnection, RawConnection, Row
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.index_builds import (
    build_index,
    drop_index,
    find_validity,
    open_exclusive_session,
)
from commonplace.storage.queries import load_postgres_queries

log = logging.getLogger("commonplace.memory")

INDEXED_VECTORS = 20_000  # of a field and model of a tenant, above which they get an index
INDEXED_DIMENSIONS = 4_000  # pgvector's limit for an HNSW index over halfvec
EFFORT = 200  # least hnsw.ef_search: candidates that a search keeps
MOST_EFFORT = 1_000  # pgvector's limit; more neighbours are searched exactly
_PARTITION = ("tenant", "field", "model")
PREFIX = "memory_vectors_hnsw_"
_LOCK = "commonplace memory vector indexes"
_QUERIES = load_postgres_queries("commonplace.memory.retrieval", "postgres_indexes.sql")


class VectorIndexes:
    """The indexes of all tenants. Its methods block."""

    def __init__(self, database: PostgresDatabase, least: int = INDEXED_VECTORS) -> None:
        self._database = database
        self._least = least
        self._session: RawConnection | None = None
        self._stopped = False

    def maintain(self) -> int:
        """Build the indexes that lack and drop those that should not be; return how many it built.

        Does nothing while another process does it. Never raises for what the database refuses.
        """
        try:
            with open_exclusive_session(self._database, _LOCK) as connection:
                if connection is None:
                    return 0
                self._session = connection.raw
                return self._maintain(connection)
        except (psycopg.Error, CommonplaceError) as failed:
            if not self._stopped:
                reason = " ".join(str(failed).split())[:300]
                log.warning("the vector indexes of memory were not maintained: %s", reason)
            return 0
        finally:
            self._session = None

    def stop(self) -> None:
        """Interrupt a build that runs in another thread, and let no other one begin."""
        self._stopped = True
        session = self._session
        if session is not None:
            with contextlib.suppress(psycopg.Error):  # it ended meanwhile
                session.cancel()

    def _maintain(self, connection: PostgresConnection) -> int:
        asked = {"least": self._least // 2}  # fewer keep an index that is there
        large = connection.execute(_QUERIES["large"], asked).fetchall()
        wanted = {_name(_partition(row)): row for row in large if row[3] <= INDEXED_DIMENSIONS}
        for (name,) in connection.execute(_QUERIES["names"], {"prefix": PREFIX}).fetchall():
            if name not in wanted:
                drop_index(connection, name)
        built = 0
        for name, row in wanted.items():
            if self._stopped:
                break
            if int(row[4]) > self._least:
                statement = _compose(connection, "build", _partition(row), int(row[3]), name)
                built += build_index(connection, name, statement)
        if built:
            connection.execute(_QUERIES["analyze"])
        return built

    def serves(self, connection: PostgresConnection, values: Mapping[str, str]) -> bool:
        """Return whether a search can use an index over its tenant, field and model.

        Not below a prefix: a project has a subject of its own, and few of the candidates that are
        nearest in all projects may belong to it.
        """
        return not values["prefix"] and bool(find_validity(connection, _name(values)))

    def read_nearest(
        self,
        connection: PostgresConnection,
        values: Mapping[str, str],
        dimensions: int,
        limit: int,
        *,
        beginnings: bool,
    ) -> list[Row]:
        """Return documents and cosines by the index, nearest first, in a transaction.

        Fewer than there are where the scan gives up among rows that the filter discards.
        Any rows that it returns are right, also if the index was dropped meanwhile.
        """
        connection.execute(_QUERIES["effort"], {"effort": min(MOST_EFFORT, max(EFFORT, limit))})
        name = "nearest_beginnings" if beginnings else "nearest"
        literals = {key: values[key].replace("%", "%%") for key in _PARTITION}
        statement = _compose(connection, name, literals, dimensions)
        rows = connection.execute(statement, {**values, "limit": limit}).fetchall()
        return sorted(rows, key=lambda row: (-float(row[1]), str(row[0])))


def _partition(row: Row) -> dict[str, str]:
    return dict(zip(_PARTITION, map(str, row), strict=False))


def _name(partition: Mapping[str, str]) -> str:
    """Return the name of an index: names of tenants and models are any text of any length."""
    parts = "\0".join(partition[key] for key in _PARTITION)
    return PREFIX + hashlib.sha256(parts.encode()).hexdigest()[:32]


def _compose(
    connection: PostgresConnection,
    query: str,
    literals: Mapping[str, str],
    dimensions: int,
    name: str = "",
) -> str:
    """Return a statement with its literals, quoted as this server reads them."""
    quoted = {key: sql.Literal(text) for key, text in literals.items()}
    return (
        sql.SQL(_QUERIES[query])
        .format(**quoted, dimensions=sql.Literal(dimensions), name=sql.SQL(name))
        .as_string(connection.raw)
    )
