"""An import of many entries costs a bounded amount for each of them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import psycopg

from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import build_postgres_memory
from commonplace.memory.model import Draft, EntryType
from commonplace.storage.postgres.database import open_database
from servers import empty_tables

ENTRIES = 3_000
READ = """SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables
          WHERE relname IN ('memory_entries', 'search_document')"""


def test_an_import_into_an_empty_database_does_not_read_all_rows_for_each_entry(
    migrated_postgres: str,
) -> None:
    """On PostgreSQL, whose kept plans were made for empty tables."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    entries = [
        Draft(EntryType.BUG, f"Note {number}", f"Text of note {number}.").entry(
            f"01{number:024d}", moment
        )
        for number in range(ENTRIES)
    ]
    empty_tables(migrated_postgres)
    with psycopg.connect(migrated_postgres, autocommit=True) as watching:
        watching.execute("VACUUM memory_entries, search_document")  # what other tests left
        before = _rows_read(watching)
        with open_database(migrated_postgres, pool_size=1) as database:
            service = build_postgres_memory(database)
            added = asyncio.run(service.store.add_all(TENANT, entries, [], {}))
        rows_read = _rows_read(watching) - before  # the closed connection has reported its reads
    empty_tables(migrated_postgres)
    assert added.entries == ENTRIES
    assert rows_read < ENTRIES**2 / 5  # while the table is small, reading it is right


def _rows_read(connection: psycopg.Connection[tuple[int]]) -> int:
    row = connection.execute(READ).fetchone()
    assert row is not None
    return row[0]
