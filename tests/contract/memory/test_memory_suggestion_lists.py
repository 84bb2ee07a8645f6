"""Listing suggestions reads only what it lists, however many entries and pending suggestions
there are.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from commonplace.bootstrap.team import postgres_components
from commonplace.memory.store.postgres import QUERIES as POSTGRES
from commonplace.memory.store.sqlite import QUERIES as SQLITE
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import migrate
from memory_calls import Calls
from servers import drop_database, empty_tables, make_database, shared_postgres

PENDING = 4_000
LISTING = (
    "suggestions_listed",
    "suggestions_listed_count",
    "suggestions_about",
    "accepted_link",
    "refresh_suggestions",
)
IDS = [f"01{number:024d}" for number in range(PENDING + 1)]
GIVEN = {
    "tenant": "local",
    "type": "link",
    "limit": 50,
    "entry_id": IDS[7],
    "key": "pair x",
    "ids": json.dumps(IDS[7:9]),
}
ENTRY_COLUMNS = (
    "INSERT INTO memory_entries (tenant, id, type, title, content, tags, context, confidence, "
    "status, memory_type, digest, "
    "created_at, updated_at)"
)
MOMENT = "2026-01-01T00:00:00.000Z"
Execute = Callable[..., Any]


def fill(execute: Execute, mark: str, tables: str = "memory_suggestion_entries") -> None:
    """Insert entries, and a suggested link between each and the next."""
    row = ", ".join([mark] * 13)
    for id_ in IDS:
        digest = id_.encode()
        values = (
            "local",
            id_,
            "bug",
            id_,
            "text",
            "[]",
            "",
            3,
            "active",
            "episodic",
            digest,
            MOMENT,
            MOMENT,
        )
        execute(f"{ENTRY_COLUMNS} VALUES ({row})", values)
    for number in range(PENDING):
        pair = [IDS[number], IDS[number + 1]]
        execute(
            "INSERT INTO memory_suggestions (tenant, id, type, key, entry_ids, score, reason, "
            "decision, created_at) "
            f"VALUES ({', '.join([mark] * 9)})",
            (
                "local",
                f"s{number:05d}",
                "link",
                f"pair {' '.join(pair)}",
                json.dumps(pair),
                0.8,
                "alike",
                "pending",
                MOMENT,
            ),
        )
        for entry_id in pair if tables else ():
            execute(
                f"INSERT INTO {tables} VALUES ({mark}, {mark}, {mark})",
                ("local", entry_id, f"s{number:05d}"),
            )


def link_others(execute: Execute, mark: str) -> None:
    """Link each entry with the one after the next, so that tables of links are worth an index."""
    for number in range(PENDING - 1):
        execute(
            "INSERT INTO memory_links (tenant, id, source_id, target_id, relation, created_at) "
            f"VALUES ({', '.join([mark] * 6)})",
            ("local", f"l{number:05d}", IDS[number], IDS[number + 2], "related", MOMENT),
        )


def rows_read(node: dict[str, Any]) -> float:
    """Return the most rows that any part of a plan read."""
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return max([own, *(rows_read(child) for child in node.get("Plans", ()))])


def relations(node: dict[str, Any]) -> set[str]:
    """Return the tables that a plan reads."""
    own = {node["Relation Name"]} if "Relation Name" in node else set()
    return own.union(*(relations(child) for child in node.get("Plans", ())))


def test_postgresql_lists_suggestions_from_their_index(migrated_postgres: str) -> None:
    with psycopg.connect(migrated_postgres, autocommit=True) as connection:
        empty_tables(migrated_postgres)
        with connection.transaction():
            fill(connection.execute, "%s")
            link_others(connection.execute, "%s")
        connection.execute("VACUUM ANALYZE")  # earlier tests left deleted rows in the indexes
        plans = {}
        for name in LISTING:
            with connection.transaction(force_rollback=True):
                answer = connection.execute(
                    f"EXPLAIN (ANALYZE, FORMAT JSON) {POSTGRES[name]}", GIVEN
                ).fetchone()
                assert answer is not None
                plans[name] = answer[0][0]["Plan"]
        empty_tables(migrated_postgres)
    assert rows_read(plans["suggestions_listed"]) == 50
    assert rows_read(plans["suggestions_listed_count"]) == PENDING
    for name in ("suggestions_listed", "suggestions_listed_count"):
        assert relations(plans[name]) == {"memory_suggestions"}
    for name in ("suggestions_about", "accepted_link", "refresh_suggestions"):
        assert rows_read(plans[name]) < 20, json.dumps(plans[name], indent=1)


def test_sqlite_lists_suggestions_from_their_index(tmp_path: Path) -> None:
    Calls(tmp_path).close()
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        fill(connection.execute, "?")
        link_others(connection.execute, "?")
        connection.execute("ANALYZE")
        for name in LISTING:
            plan = [
                row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQLITE[name]}", GIVEN)
            ]
            assert not any(
                step.startswith("SCAN") and "json_each" not in step and "VIRTUAL TABLE" not in step
                for step in plan
            ), plan
            if name.startswith("suggestions_listed"):
                assert len(plan) == 1
                assert "memory_suggestions_listed" in plan[0]


def test_sqlite_finds_the_entries_of_a_suggestion_by_their_ids(tmp_path: Path) -> None:
    """Without statistics, which nobody collects, it read every entry of the tenant at each add."""
    Calls(tmp_path).close()
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        statement = f"EXPLAIN QUERY PLAN {SQLITE['refresh_suggestions']}"
        plan = [row[3] for row in connection.execute(statement, GIVEN)]
    entries = [step for step in plan if step.startswith(("SEARCH e ", "SCAN e "))]
    assert entries
    assert all("(tenant=? AND id=?)" in step for step in entries), plan


def test_the_list_is_complete_and_best_first_for_any_number_of_suggestions(
    memory: Calls, url: str, tmp_path: Path
) -> None:
    if url:
        with psycopg.connect(url) as connection:
            fill(connection.execute, "%s")
    else:
        with sqlite3.connect(tmp_path / "memory.db") as connection:
            fill(connection.execute, "?")
    listed = memory("rekall_suggest_links", limit=50)
    assert (len(listed["suggestions"]), listed["total_pending"]) == (50, PENDING)
    assert [s["id"] for s in listed["suggestions"]] == [f"s{n:05d}" for n in range(50)]
    memory("rekall_link", source_id=IDS[0], target_id=IDS[1])
    memory("memory_delete", id=IDS[10])
    listed = memory("rekall_suggest_links", limit=50)
    assert listed["total_pending"] == PENDING - 3
    assert {"s00000", "s00009", "s00010"}.isdisjoint(s["id"] for s in listed["suggestions"])


def old_rows(execute: Execute, mark: str) -> None:
    """Insert what version 1 wrote: pairs without rows in memory_suggestion_entries."""
    fill(execute, mark, tables="")
    execute(f"UPDATE memory_entries SET deleted_at = {mark} WHERE id = {mark}", (MOMENT, IDS[10]))
    execute(
        f"INSERT INTO memory_links (tenant, id, source_id, target_id, relation, created_at) "
        f"VALUES ({', '.join([mark] * 6)})",
        ("local", "l1", IDS[1], IDS[0], "related", MOMENT),
    )


def check_migrated(memory: Calls) -> None:
    assert memory("rekall_suggest_links", limit=1)["total_pending"] == PENDING - 3
    memory("memory_delete", id=IDS[20])
    assert memory("rekall_suggest_links", limit=1)["total_pending"] == PENDING - 5
    memory("memory_delete", id=IDS[10], restore=True)
    assert memory("rekall_suggest_links", limit=1)["total_pending"] == PENDING - 3


def test_a_database_of_the_first_version_is_migrated_on_sqlite(tmp_path: Path) -> None:
    first = Path(__file__).parents[3] / "src/commonplace/memory/migrations/sqlite/0001_entries.sql"
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        connection.executescript(first.read_text())
        connection.execute(
            "CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL) "
            "WITHOUT ROWID"
        )
        connection.execute("INSERT INTO schema_version VALUES ('memory', 1)")
        old_rows(connection.execute, "?")
    memory = Calls(tmp_path)
    check_migrated(memory)
    memory.close()


def test_a_database_of_the_first_version_is_migrated_on_postgresql(tmp_path: Path) -> None:
    first = Path(__file__).parents[3] / "src/commonplace/memory/migrations/postgres/0001_memory.sql"
    url = make_database(shared_postgres())
    try:
        with psycopg.connect(url) as connection:
            connection.execute(
                "CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"
            )
            connection.execute("INSERT INTO schema_version VALUES ('memory', 1)")
            connection.execute(first.read_text().encode())
            old_rows(connection.execute, "%s")
        database = PostgresDatabase(url)
        migrate(database, postgres_components())
        database.close()
        memory = Calls(tmp_path, url=url)
        check_migrated(memory)
        memory.close()
    finally:
        drop_database(shared_postgres(), url)
