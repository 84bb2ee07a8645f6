"""Servers, units of work and migrations through PgBouncer in transaction mode."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conformance.program import COMMONPLACE, Served, environment
from model_client import Caller, configure
from session_client import Client as SessionClient
from session_client import call as session_call
from team_server import TeamServer

from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from pgbouncer import POOLER_VARIABLE, PgBouncer
from servers import drop_database, make_database

ROOT = Path(__file__).parents[2]
SUITES = ("tests/contract/files/test_files_writing.py",)
ALL_SUITES = ("tests/contract/files", "tests/contract/memory", "tests/contract/context")
SAMPLES = ROOT / "tests" / "data" / "capture" / "transcripts"
TURNS = 200
TRANSCRIPT = (SAMPLES / "05-migrations-order.jsonl").read_text("utf-8")
STATE = """
SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
       current_setting('search_path'), current_setting('maintenance_work_mem'),
       current_setting('transaction_isolation'), current_setting('synchronous_commit'),
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
       (SELECT count(*) FROM pg_prepared_statements),
       (SELECT count(*) FROM pg_listening_channels()),
       (SELECT count(*) FROM pg_cursors WHERE statement NOT LIKE '%pg_cursors%')"""


@pytest.fixture
def pooler(postgres_server: str) -> Iterator[PgBouncer]:
    """A pooler with one connection: whatever leaks is met by the next transaction."""
    made = PgBouncer(postgres_server, pool_size=1)
    yield made
    made.close()


def state_of(url: str) -> tuple[Any, ...]:
    """Return the settings, locks and statements of the one connection behind a pooler."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        row = connection.execute(STATE).fetchone()
        assert row is not None
        return row


def test_units_leave_no_setting_and_no_lock_in_a_pooled_connection(
    pooler: PgBouncer, empty_postgres: str
) -> None:
    pooled = pooler.url(empty_postgres)
    clean = state_of(pooled)
    database = PostgresDatabase(
        pooled, direct_url=empty_postgres, prepared_statements=False, pool_size=4
    )

    def fail(connection: PostgresConnection) -> None:
        connection.lock("another lock")
        connection.execute("SELECT 1 / 0")

    def add(connection: PostgresConnection) -> None:
        connection.executemany("INSERT INTO line VALUES (%s)", [(1,), (2,)])

    async def many() -> list[Any]:
        reads = [
            database.read(
                lambda connection: connection.execute("SELECT count(*) FROM line").fetchone(),
                snapshot=number % 2 == 0,
            )
            for number in range(20)
        ]
        writes = [database.write(add, lock=f"lock {number % 3}") for number in range(20)]
        failures = [database.write(fail, lock="lock 1") for _ in range(5)]
        return await asyncio.gather(*reads, *writes, *failures, return_exceptions=True)

    try:
        database.write_now(
            lambda connection: connection.execute("CREATE TABLE line (n int)") and None
        )
        outcomes = asyncio.run(many())
        failed = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert len(failed) == 5
        assert all(isinstance(failure, psycopg.errors.DivisionByZero) for failure in failed)
        assert state_of(pooled) == clean
        assert clean[6:] == (0, 0, 0, 0)
        with database.connect() as session:  # not the pooled connection
            session.execute("SET lock_timeout = '77s'")
            session.execute("SELECT pg_advisory_lock(1)")
            session.execute("LISTEN somewhere")
            assert state_of(pooled) == clean
        count = database.read_now(
            lambda connection: connection.execute("SELECT count(*) FROM line").fetchone()
        )
        assert count == (40,)
    finally:
        database.close()


def test_idle_clients_never_keep_the_only_pooled_connection(
    pooler: PgBouncer, empty_postgres: str
) -> None:
    """A message after the end of a transaction makes PgBouncer assign a connection for good."""
    databases = [
        PostgresDatabase(
            pooler.url(empty_postgres),
            direct_url=empty_postgres,
            prepared_statements=False,
            pool_size=4,
        )
        for _ in range(4)
    ]

    def read(connection: PostgresConnection) -> Any:
        return connection.execute("SELECT 1").fetchone()

    async def take_turns(database: PostgresDatabase, number: int) -> None:
        for _ in range(TURNS):
            await database.read(read, snapshot=True)
            await database.write(read, lock=f"lock {number}")

    async def many() -> None:
        callers = (take_turns(database, number) for database in databases for number in range(4))
        await asyncio.wait_for(asyncio.gather(*callers), timeout=60)

    try:
        asyncio.run(many())
    finally:
        for database in databases:
            database.close()


def test_migrations_use_the_direct_address(postgres_server: str, tmp_path: Path) -> None:
    url = make_database(postgres_server)
    nowhere = "postgresql://postgres@127.0.0.1:1/nowhere"
    try:
        configure(tmp_path, {}, storage={"url": nowhere, "direct_url": url})
        for arguments in (["migrate"], ["migrate", "--check"]):
            done = subprocess.run(
                [str(COMMONPLACE), *arguments],
                env=environment(tmp_path),
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
    finally:
        drop_database(postgres_server, url)


def test_two_servers_share_everything_through_one_pooled_connection(
    pooler: PgBouncer, postgres_url: str, tmp_path: Path
) -> None:
    pooled = pooler.url(postgres_url)
    clean = state_of(pooled)
    storage = {"url": pooled, "direct_url": postgres_url, "prepared_statements": False}
    with contextlib.ExitStack() as stack:
        servers = []
        for name in ("one", "two"):
            server = TeamServer(tmp_path / name, storage, flags=("--auth", "passthrough"))
            stack.callback(server.close)
            servers.append(server)
        first, second = (Caller(server.url, bearer="team-a-0123456789") for server in servers)
        for number in range(10):
            first.call("file_write", path=f"/f{number}.md", content=f"The walrus sings {number}.")
        first.settled()
        assert len(second.found("walrus", limit=10)) == 10
        added = first.call("rekall_add", type="bug", title="A leak of the pool", content="Fixed.")
        found = second.call("rekall_search", query="leak of the pool")
        assert added["id"] in str(found)
        share_context(first, second)
        follow_a_file([server.served for server in servers])
        assert state_of(pooled) == clean
        errors = "".join(server.log for server in servers)
        assert "prepared statement" not in errors


def share_context(first: Caller, second: Caller) -> None:
    """Use packs, feedback, proposals and hook sessions on both servers."""
    pack = first.ask("context", task="a leak of the pool")
    refs = [lesson["ref"] for lesson in pack["lessons"]]
    assert "lessons" not in second.ask("context", task="a leak", since=pack["pack_id"])
    told = second.ask("context_feedback", pack_id=pack["pack_id"], used=refs)
    assert told["counted"] == refs
    proposed = first.ask("capture_transcript", text=TRANSCRIPT)["queued"]
    assert {item["id"] for item in proposed} == {
        item["id"] for item in second.ask("capture_list")["items"]
    }
    assert "error" not in second.ask("capture_reject", id=proposed[0]["id"])
    purged = first.ask("memory_purge", older_than_days=30, dry_run=True)
    assert "error" not in purged, purged


def follow_a_file(servers: list[Served]) -> None:
    """Subscribe on one server and hear of a change from the other."""
    client = SessionClient().open(servers[0])
    client.notify(servers[1])
    stream = client.stream(servers[1])
    uri = "file:///p/followed.md"
    assert client.request(servers[0], "resources/subscribe", {"uri": uri})[1]["result"] == {}
    write = session_call("file_write", project="p", path="/followed.md", content="changed")
    assert client.request(servers[0], "tools/call", write)[0] == 200
    assert stream.message()["params"]["uri"] == uri
    stream.close()


def test_doctor_reports_a_pooler_that_is_not_configured(
    pooler: PgBouncer, postgres_url: str, tmp_path: Path
) -> None:
    def finding(**storage: Any) -> dict[str, str]:
        database = PostgresDatabase(pooler.url(postgres_url), pool_size=1, **storage)
        try:
            return next(entry for entry in database.doctor() if entry["name"] == "pooler")
        finally:
            database.close()

    wrong = finding()
    assert wrong["status"] == "warn"
    assert "direct_url" in wrong["fix"]
    assert "prepared_statements" in wrong["fix"]
    right = finding(direct_url=postgres_url, prepared_statements=False)
    assert (right["status"], right["fix"]) == ("ok", "")
    direct = PostgresDatabase(postgres_url, pool_size=1)
    assert [entry["name"] for entry in direct.doctor()] == ["database"]
    direct.close()


def test_contracts_hold_through_the_pooler(soak: bool) -> None:
    """Run contract suites once more, each database behind PgBouncer (all of them in soak)."""
    suites = ALL_SUITES if soak else SUITES
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-k", "postgres", "-p", "no:cacheprovider", *suites],
        cwd=ROOT,
        env={**os.environ, POOLER_VARIABLE: "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
