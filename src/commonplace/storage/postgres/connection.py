"""Connections to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import psycopg

APPLICATION = "commonplace"  # in pg_stat_activity
CONNECT_SECONDS = 2  # the minimum that libpq accepts

Parameters = Mapping[str, Any] | Sequence[Any] | None
Row = tuple[Any, ...]
RawConnection = psycopg.Connection[Row]


class PostgresConnection:
    """A psycopg connection for statements that come from named `.sql` files."""

    __slots__ = ("raw",)

    def __init__(self, raw: RawConnection) -> None:
        self.raw = raw

    def execute(
        self, statement: str, parameters: Parameters = None, *, binary: bool = False
    ) -> psycopg.Cursor[Row]:
        """Execute a statement.

        `binary`: types that psycopg does not know arrive as the bytes the server sends.
        """
        return self.raw.execute(statement, parameters, binary=binary)

    def lock(self, key: str) -> None:
        """Take another advisory lock until the transaction ends.

        Waits as long as the transaction may.
        """
        self.execute("SELECT pg_advisory_xact_lock(hashtextextended(%(key)s, 0))", {"key": key})

    def plan_each_time(self) -> None:
        """Plan each statement for the tables as they are, until the transaction ends.

        A prepared statement keeps its plan otherwise, until statistics of its tables are collected.
        """
        self.execute("SET LOCAL plan_cache_mode = force_custom_plan")

    def executemany(
        self, statement: str, rows: Iterable[Mapping[str, Any] | Sequence[Any]]
    ) -> None:
        """Execute a statement once per row."""
        with self.raw.cursor() as cursor:
            cursor.executemany(statement, rows)


def connect(url: str, *, prepared_statements: bool = True) -> RawConnection:
    """Open a connection in autocommit mode.

    A pooler in transaction mode may run each transaction on another connection to the server, so
    statements must not be prepared through it.
    """
    raw = psycopg.connect(
        url, autocommit=True, application_name=APPLICATION, connect_timeout=CONNECT_SECONDS
    )
    if not prepared_statements:
        raw.prepare_threshold = None
    return raw


def find_refusal(url: str) -> str | None:
    """Connect once; return why that fails in the words of libpq, without a password, or None."""
    try:
        connect(url).close()
    except psycopg.OperationalError as refused:
        return " ".join(str(refused).split())[:300]
    except psycopg.Error:  # its text would quote the address with the password
        return "the address is not valid"
    return None
