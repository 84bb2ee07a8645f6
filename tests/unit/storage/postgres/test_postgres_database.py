"""The PostgreSQL database on a real server: units, locks, lost connections, schema versions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.storage.errors import BusyError
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.migrations import STORAGE, migrate, read_versions, require_current
from commonplace.storage.queries import Queries, postgres_text
from servers import FAST, Postgres, drop_database, make_database


@pytest.fixture
def database(empty_postgres: str) -> Iterator[PostgresDatabase]:
    made = PostgresDatabase(empty_postgres, pool_size=3, lock_timeout_seconds=0.3)
    made.write_now(
        lambda connection: (
            connection.execute("CREATE TABLE line (id BIGSERIAL, text TEXT UNIQUE)") and None
        )
    )
    yield made
    made.close()


def add(text: str) -> Callable[[PostgresConnection], Any]:
    return lambda connection: connection.execute(
        "INSERT INTO line (text) VALUES (%s) RETURNING id", (text,)
    ).fetchone()[0]


def lines(database: PostgresDatabase) -> list[str]:
    return database.read_now(
        lambda connection: [
            row[0] for row in connection.execute("SELECT text FROM line ORDER BY id")
        ]
    )


def test_units_that_share_a_lock_run_one_after_the_other_and_a_failed_one_leaves_nothing(
    database: PostgresDatabase,
) -> None:
    class Refused(Exception):
        pass

    def refuse(connection: PostgresConnection) -> None:
        connection.execute("INSERT INTO line (text) VALUES ('refused')")
        raise Refused

    async def many() -> list[object]:
        work = [add(f"line {number}") if number % 5 else refuse for number in range(40)]
        return await asyncio.gather(
            *(database.write(each, lock="a") for each in work), return_exceptions=True
        )

    outcomes = asyncio.run(many())
    assert [type(each) for each in outcomes] == [
        int if number % 5 else Refused for number in range(40)
    ]
    assert lines(database) == [f"line {number}" for number in range(40) if number % 5]


def test_a_unit_that_breaks_the_transaction_fails_alone(database: PostgresDatabase) -> None:
    async def many() -> list[object]:
        work = [add("same" if number in (3, 7) else f"line {number}") for number in range(10)]
        return await asyncio.gather(
            *(database.write(each, lock="a") for each in work), return_exceptions=True
        )

    outcomes = asyncio.run(many())
    assert [
        number
        for number, each in enumerate(outcomes)
        if isinstance(each, psycopg.errors.UniqueViolation)
    ] == [7]
    assert len(lines(database)) == 9


def test_a_lock_that_is_not_free_in_time_is_busy_and_nothing_is_written(
    database: PostgresDatabase, empty_postgres: str
) -> None:
    with psycopg.connect(empty_postgres) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('a', 0))")
        begun = time.monotonic()
        with pytest.raises(BusyError):
            database.write_now(add("late"), lock="a")
        assert 0.2 < time.monotonic() - begun < 3
        database.write_now(add("elsewhere"), lock="b")
    database.write_now(add("now"), lock="a")
    assert lines(database) == ["elsewhere", "now"]


def test_a_busy_lock_does_not_starve_other_locks(
    database: PostgresDatabase, empty_postgres: str
) -> None:
    """Three connections, thirty units behind one lock that is held: another lock's unit is
    served at once.
    """
    with psycopg.connect(empty_postgres) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('a', 0))")

        async def crowd() -> float:
            waiting = [
                asyncio.ensure_future(
                    database.write(add(f"a{n}"), lock="a", lock_timeout_seconds=5)
                )
                for n in range(30)
            ]
            await asyncio.sleep(0)
            begun = time.monotonic()
            await database.write(add("b"), lock="b")
            took = time.monotonic() - begun
            await asyncio.to_thread(other.rollback)
            await asyncio.gather(*waiting)
            return took

        assert asyncio.run(crowd()) < 2
    assert len(lines(database)) == 31


def test_a_snapshot_sees_one_state(database: PostgresDatabase, empty_postgres: str) -> None:
    def twice(connection: PostgresConnection) -> tuple[int, int]:
        count = "SELECT count(*) FROM line"
        first = connection.execute(count).fetchone()
        with psycopg.connect(empty_postgres, autocommit=True) as other:
            other.execute("INSERT INTO line (text) VALUES ('meanwhile')")
        second = connection.execute(count).fetchone()
        assert first is not None
        assert second is not None
        return first[0], second[0]

    assert database.read_now(twice, snapshot=True) == (0, 0)
    assert database.read_now(lambda connection: lines_count(connection)) == 1


def lines_count(connection: PostgresConnection) -> int:
    row = connection.execute("SELECT count(*) FROM line").fetchone()
    assert row is not None
    return int(row[0])


def test_deadlocks_are_retried_until_both_units_are_done(database: PostgresDatabase) -> None:
    for name in ("one", "two"):
        database.write_now(add(name))
    meeting = threading.Barrier(2)

    def crossing(first: str, second: str) -> Callable[[PostgresConnection], Any]:
        tried = []

        def work(connection: PostgresConnection) -> None:
            tried.append(first)
            for name in (first, second):
                connection.execute(
                    "UPDATE line SET id = id + 1 WHERE text = %s RETURNING id", (name,)
                ).fetchone()
                if len(tried) == 1 and name == first:
                    meeting.wait(10)

        return work

    async def both() -> None:
        await asyncio.gather(
            database.write(crossing("one", "two"), lock="x", lock_timeout_seconds=20),
            database.write(crossing("two", "one"), lock="y", lock_timeout_seconds=20),
        )

    asyncio.run(both())


def test_a_restart_of_the_server_is_awaited_and_an_outage_is_reported() -> None:
    server = Postgres(**FAST)
    try:
        database = PostgresDatabase(server.url, pool_size=2, reconnect_seconds=2)
        database.write_now(
            lambda connection: (
                connection.execute("CREATE TABLE line (id BIGSERIAL, text TEXT UNIQUE)") and None
            )
        )
        server.restart()
        database.write_now(add("after a restart"), lock="a")
        assert lines(database) == ["after a restart"]
        server.stop()
        with pytest.raises(CommonplaceError) as refused:
            lines(database)
        assert refused.value.code.name == "STORAGE_UNAVAILABLE"
        assert refused.value.retryable
        server.start()
        assert lines(database) == ["after a restart"]
        database.close()
    finally:
        server.close()


def test_a_schema_is_migrated_once_and_other_versions_are_refused(empty_postgres: str) -> None:
    database = PostgresDatabase(empty_postgres, pool_size=1)
    with pytest.raises(CommonplaceError) as old:
        require_current(database, [STORAGE])
    assert old.value.hint == "Run: commonplace migrate"
    assert [each.found for each in migrate(database, [STORAGE])] == [0]
    require_current(database, [STORAGE])
    newest = STORAGE.migrations()[-1].version
    assert [
        (each.found, each.needed)
        for each in database.read_now(lambda c: read_versions(c, [STORAGE]))
    ] == [(newest, newest)]
    assert database.read_now(
        lambda c: c.execute("SELECT microseconds_of(moment_of(1700000000123457))").fetchone()
    ) == (1700000000123457,)
    database.write_now(lambda c: c.execute("UPDATE schema_version SET version = 99") and None)
    for refuse in (require_current, migrate):
        with pytest.raises(CommonplaceError, match="version 99") as newer:
            refuse(database, [STORAGE])
        assert newer.value.code.name == "SCHEMA_MISMATCH"
    database.close()


def test_parameters_of_named_queries_reach_psycopg_and_casts_do_not() -> None:
    text = (
        "-- name: one\n-- why: 50%\nSELECT :a::int, ':: ' || :b_c WHERE x LIKE 'a%' AND y > :a;\n"
    )
    translated = Queries(postgres_text(text), "here")["one"]
    assert translated == "SELECT %(a)s::int, ':: ' || %(b_c)s WHERE x LIKE 'a%%' AND y > %(a)s;"


def test_sessions_use_the_direct_address_and_units_the_address_of_the_pooler(
    postgres_server: str,
) -> None:
    pooled = make_database(postgres_server)
    direct = make_database(postgres_server)
    database = PostgresDatabase(pooled, direct_url=direct, pool_size=1)
    try:
        with database.connect() as session:
            assert session.info.dbname == urlsplit(direct).path[1:]
        assert (
            database.read_now(lambda connection: connection.raw.info.dbname)
            == (urlsplit(pooled).path[1:])
        )
    finally:
        database.close()
        drop_database(postgres_server, pooled)
        drop_database(postgres_server, direct)


@pytest.mark.parametrize(("prepared", "expected"), [(True, 1), (False, 0)])
def test_statements_are_prepared_on_the_server_unless_the_setting_is_off(
    empty_postgres: str, prepared: bool, expected: int
) -> None:
    database = PostgresDatabase(empty_postgres, prepared_statements=prepared, pool_size=1)

    def repeat(connection: PostgresConnection) -> int:
        for _ in range(20):
            connection.execute("SELECT 'repeated', %(number)s::int", {"number": 1})
        row = connection.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%''repeated''%%'"
            " AND statement NOT LIKE '%%pg_prepared%%'",
            {},
        ).fetchone()
        return int(row[0]) if row else -1

    try:
        assert database.read_now(repeat) == expected
    finally:
        database.close()


def test_an_error_that_is_noticed_late_fails_its_own_unit_only(
    database: PostgresDatabase,
) -> None:
    def fail(connection: PostgresConnection) -> None:
        connection.execute("SELECT 1 / 0")  # sent in a pipeline; nothing waits for its answer

    def add_later(connection: PostgresConnection) -> None:
        connection.execute("INSERT INTO line (text) VALUES (gen_random_uuid()::text)")

    async def many() -> list[object]:
        work = [add_later if number % 5 else fail for number in range(40)]
        writes = [database.write(unit, lock="one", lock_timeout_seconds=20) for unit in work]
        return list(await asyncio.gather(*writes, return_exceptions=True))

    outcomes = asyncio.run(many())
    failed = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Exception)]
    assert failed == list(range(0, 40, 5))
    assert len(lines(database)) == 32


def test_a_statement_that_a_pooler_lost_names_the_setting(database: PostgresDatabase) -> None:
    """As a pooler in transaction mode does with statements that were prepared elsewhere."""

    def work(connection: PostgresConnection) -> None:
        connection.execute("EXECUTE prepared_elsewhere").fetchall()

    for run in (database.read_now, database.write_now):
        with pytest.raises(CommonplaceError) as refused:
            run(work)
        assert refused.value.code is INVALID_CONFIG
        assert "prepared_statements" in (refused.value.hint or "")
