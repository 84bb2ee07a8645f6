"""The SQLite database: durability, isolation, bounded waits, schema versions, leader lock."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import apsw
import pytest

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import SCHEMA_MISMATCH, STORAGE_DAMAGED, BusyError
from commonplace.storage.locks.leader import LeaderLock
from commonplace.storage.migrations import Migration
from commonplace.storage.queries import Queries
from commonplace.storage.sqlite.database import Connection, Database
from commonplace.storage.sqlite.migrations import migrate, schema_version


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "a.db", lock_timeout_seconds=0.2, durable=False)
    opened.write_now(lambda c: c.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)") and None)
    yield opened
    opened.close()


def insert(n: int) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        connection.execute("INSERT INTO t VALUES (?)", (n,))
        return n

    return work


def numbers(database: Database) -> list[int]:
    return [row[0] for row in database.reader().execute("SELECT n FROM t ORDER BY n")]


def test_a_failing_unit_does_not_fail_its_group(database: Database) -> None:
    async def run() -> list[object]:
        return await asyncio.gather(
            *(database.write(insert(n)) for n in (1, 2, 2, 3)), return_exceptions=True
        )

    results = asyncio.run(run())
    assert [r for r in results if isinstance(r, int)] == [1, 2, 3]
    assert [type(r) for r in results if not isinstance(r, int)] == [apsw.ConstraintError]
    assert numbers(database) == [1, 2, 3]


def test_concurrent_units_share_commits(database: Database) -> None:
    commits = 0
    release = threading.Event()

    def count(_: Connection) -> bool:
        nonlocal commits
        commits += 1
        return False

    def hold(connection: Connection) -> None:
        connection.set_commit_hook(lambda: count(connection))
        release.wait(5)

    async def run() -> None:
        pending = [asyncio.ensure_future(database.write(hold))]
        await asyncio.sleep(0)
        pending += [asyncio.ensure_future(database.write(insert(n))) for n in range(50)]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*pending)

    asyncio.run(run())
    assert numbers(database) == list(range(50))
    assert commits <= 4


def test_the_reader_refuses_to_write(database: Database) -> None:
    with pytest.raises(apsw.ReadOnlyError):
        database.reader().execute("INSERT INTO t VALUES (1)")


def test_a_snapshot_does_not_move_while_others_write(database: Database) -> None:
    with database.snapshot():
        assert numbers(database) == []
        database.write_now(insert(1))
        assert numbers(database) == []
    assert numbers(database) == [1]


def test_a_lock_held_elsewhere_ends_in_busy_within_the_timeout(
    database: Database, tmp_path: Path
) -> None:
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError) as caught:
        database.write_now(insert(1))
    assert caught.value.retryable
    assert 0.15 <= caught.value.details["waited_seconds"] <= 2
    other.execute("ROLLBACK")
    assert database.write_now(insert(1)) == 1


def test_a_cancelled_write_that_has_not_begun_never_runs(database: Database) -> None:
    release = threading.Event()

    async def run() -> None:
        first = asyncio.ensure_future(database.write(lambda _: release.wait(5)))
        await asyncio.sleep(0.05)
        second = asyncio.ensure_future(database.write(insert(9)))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        release.set()
        await first

    asyncio.run(run())
    database.write_now(lambda _: None)
    assert numbers(database) == []


def test_close_finishes_what_was_queued(tmp_path: Path) -> None:
    database = Database(tmp_path / "b.db", durable=False)
    database.write_now(lambda c: c.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)") and None)
    futures: list[Future[int]] = [Future() for _ in range(200)]
    for n, future in enumerate(futures):
        database._writer.submit(insert(n), future, None)
    database.close()
    assert [future.result(0) for future in futures] == list(range(200))
    database.close()
    with pytest.raises(RuntimeError):
        database.write_now(insert(1))


def test_a_file_that_is_not_a_database_is_reported_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(CommonplaceError) as caught:
        Database(tmp_path / "bad.db")
    assert caught.value.code is STORAGE_DAMAGED


ONE = Migration(1, "one", "CREATE TABLE a (x); INSERT INTO a VALUES (1);")
TWO = Migration(2, "two", "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1;")


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    database = Database(tmp_path / "m.db", durable=False)
    assert migrate(database, "part", (ONE,)) == (0, 1)
    assert migrate(database, "part", (ONE,)) == (1, 1)
    assert migrate(database, "part", (ONE, TWO)) == (1, 2)
    assert database.reader().execute("SELECT x, y FROM a").fetchall() == [(1, 2)]
    assert schema_version(database.reader(), "part") == 2
    assert schema_version(database.reader(), "other") == 0
    database.close()


def test_a_failing_migration_leaves_the_old_schema(tmp_path: Path) -> None:
    database = Database(tmp_path / "m.db", durable=False)
    migrate(database, "part", (ONE,))
    with pytest.raises(apsw.SQLError):
        migrate(
            database, "part", (ONE, Migration(2, "bad", "CREATE TABLE b (x); SELECT nonsense;"))
        )
    assert schema_version(database.reader(), "part") == 1
    assert not database.reader().execute("SELECT 1 FROM sqlite_schema WHERE name = 'b'").fetchall()
    database.close()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "m.db", durable=False)
    migrate(database, "part", (ONE, TWO))
    with pytest.raises(CommonplaceError) as caught:
        migrate(database, "part", (ONE,))
    assert caught.value.code is SCHEMA_MISMATCH
    database.close()


def test_there_is_one_leader_and_a_dead_one_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    first, second = LeaderLock(path), LeaderLock(path)
    assert first.try_acquire()
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()
    second.release()
    code = "import sys, pathlib\nfrom commonplace.storage.locks.leader import LeaderLock\n"
    code += (
        f"print(LeaderLock(pathlib.Path({str(path)!r})).try_acquire(), "
        f"flush=True)\nsys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "True"
    assert not first.try_acquire()
    assert first.leader_pid() == child.pid
    child.kill()
    child.wait()
    assert first.try_acquire()
    first.release()


def test_queries_are_found_by_name_and_names_are_unique() -> None:
    queries = Queries(
        "-- about this file\n-- name: one\nSELECT 1;\n-- name: two\n-- why\nSELECT 2;\n", "x.sql"
    )
    assert queries["one"] == "SELECT 1;"
    assert queries["two"].endswith("SELECT 2;")
    with pytest.raises(KeyError, match="three"):
        queries["three"]
    with pytest.raises(ValueError, match="twice"):
        Queries("-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;", "x.sql")


def test_a_unit_with_a_short_timeout_does_not_wait_for_a_patient_one(tmp_path: Path) -> None:
    """The indexer waits half a minute for another process's lock; a call with a short timeout
    must not wait behind it.
    """
    database = Database(tmp_path / "a.db")
    database.write_now(lambda connection: connection.execute("CREATE TABLE t (x)"))
    holder = apsw.Connection(str(tmp_path / "a.db"))
    holder.execute("BEGIN IMMEDIATE")

    async def scenario() -> tuple[float, int]:
        patient = asyncio.create_task(insert(30.0))
        await asyncio.sleep(0.1)  # the patient one holds the writer thread by now
        begun = time.monotonic()
        with pytest.raises(BusyError):
            await insert(0.1)
        waited = time.monotonic() - begun
        assert not patient.done()
        holder.execute("ROLLBACK")
        return waited, await patient

    async def insert(seconds: float) -> int:
        return await database.write(
            lambda connection: (
                connection.execute("INSERT INTO t VALUES (1)").getconnection().changes()
            ),
            lock_timeout_seconds=seconds,
        )

    waited, changes = asyncio.run(scenario())
    holder.close()
    database.close()
    assert changes == 1
    assert waited < 5


OPEN = """
import sys
from pathlib import Path
from commonplace.storage.sqlite.database import Database

print("ready", flush=True)
sys.stdin.readline()
database = Database(Path(sys.argv[1]))
database.write_now(lambda connection: connection.execute("CREATE TABLE IF NOT EXISTS t (x)"))
database.close()
"""


def test_processes_may_create_one_database_at_the_same_moment(tmp_path: Path) -> None:
    for attempt in range(3):
        opened = [
            subprocess.Popen(
                [sys.executable, "-c", OPEN, str(tmp_path / f"{attempt}.db")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(4)
        ]
        for process in opened:
            assert process.stdout is not None
            process.stdout.readline()
        for process in opened:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
        errors = [process.communicate(timeout=60)[1] for process in opened]
        assert errors == [b""] * 4
