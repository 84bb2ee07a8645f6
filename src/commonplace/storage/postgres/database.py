"""One PostgreSQL database through psycopg 3: a pool of threads, each with its connection.

`read()` runs a function of the connection in a pool thread. `write()` runs it inside a transaction,
under an advisory lock if one is named. Units of this process that need the same lock queue in a
lane, share its transaction and its commit, and never use more than one connection, so a busy
project does not starve the others. A unit may run again after a lost connection or a deadlock, so
it must have no effect but its statements. Nothing is acknowledged before the commit. If the answer
of a commit was lost, the server is asked for the status of the transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, cast

import psycopg
from psycopg import errors

from commonplace.storage.errors import BusyError
from commonplace.storage.postgres.connection import PostgresConnection, RawConnection, connect
from commonplace.storage.postgres.errors import (
    LOST_CONNECTION,
    LOST_STATEMENT,
    commit_unknown,
    describe_for_log,
    pools_transactions,
    server_disk_full,
    unavailable,
)
from commonplace.storage.postgres.outage import Outage
from commonplace.storage.postgres.transaction import (
    CONFLICTS,
    CommitInDoubtError,
    GroupFailedError,
    Unit,
    read_status,
    run_transaction,
)

log = logging.getLogger("commonplace.storage")

Result = TypeVar("Result")

MAX_GROUP = 32  # units of one lane that share a commit
MIN_WAIT_SECONDS = 0.02  # a timeout of 0 still means one real try
# Wait this long for a server that restarts; callers learn within 2 seconds that it is unreachable.
RECONNECT_SECONDS = 1.5
PAUSE_SECONDS = 0.05
SETTLE_SECONDS = 15.0  # wait this long to learn whether a commit without an answer happened
MAX_CONFLICTS = 20  # deadlocks and serialisation failures of one unit before it fails
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PROCESS = "SELECT pg_backend_pid()"
_SERVER_FACTS = """
SELECT current_setting('server_version'),
       (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::int,
       pg_database_size(current_database())"""


class PostgresDatabase:
    """A database shared by any number of processes. Close it when done.

    `url` may lead to a connection pooler in transaction mode, with `prepared_statements` off;
    `direct_url` then leads to the server itself.
    """

    def __init__(
        self,
        url: str,
        *,
        direct_url: str = "",
        prepared_statements: bool = True,
        pool_size: int = 8,
        lock_timeout_seconds: float = 3.0,
        reconnect_seconds: float = RECONNECT_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self.url = url
        self.direct_url = direct_url or url
        self._prepared_statements = prepared_statements
        self._reconnect_seconds = reconnect_seconds
        self._settle_seconds = settle_seconds
        self._lock_timeout_seconds = lock_timeout_seconds
        self._threads = ThreadPoolExecutor(pool_size, thread_name_prefix="storage")
        self._local = threading.local()
        self._connections: set[RawConnection] = set()
        self._lock = threading.Lock()
        self._lanes: dict[str, deque[Unit]] = {}
        self._pool_size = pool_size
        self._submitted = 0  # units that wait for a thread or have one
        self._running = 0
        self._outage = Outage()
        self._closed = False

    async def read(
        self, work: Callable[[PostgresConnection], Result], *, snapshot: bool = False
    ) -> Result:
        """Run a function that only reads.

        With `snapshot` all its statements see the same committed state.
        """
        return await asyncio.wrap_future(self._submit(self._run_read, work, snapshot))

    def read_now(
        self, work: Callable[[PostgresConnection], Result], *, snapshot: bool = False
    ) -> Result:
        """Do the same from a thread without an event loop (the command line)."""
        result: Result = self._submit(self._run_read, work, snapshot).result()
        return result

    def read_later(self, work: Callable[[PostgresConnection], Result]) -> Future[Result]:
        """Do the same without waiting: the future has the result."""
        return self._submit(self._run_read, work, False)

    async def write(
        self,
        work: Callable[[PostgresConnection], Result],
        *,
        lock: str | None = None,
        lock_timeout_seconds: float | None = None,
    ) -> Result:
        """Run a function in a transaction; return when it is committed.

        Raises `BusyError` if a lock is not free in time.
        """
        return await asyncio.wrap_future(self._queue(work, lock, lock_timeout_seconds))

    def write_now(
        self,
        work: Callable[[PostgresConnection], Result],
        *,
        lock: str | None = None,
        lock_timeout_seconds: float | None = None,
    ) -> Result:
        """Do the same from a thread without an event loop (the command line)."""
        return self._queue(work, lock, lock_timeout_seconds).result()

    def figures(self) -> dict[str, float]:
        """Return metrics: open and allowed connections, running and waiting units."""
        with self._lock:
            waiting = max(0, self._submitted - self._running)
            waiting += sum(map(len, self._lanes.values()))
            return {
                "storage_connections": len(self._connections),
                "storage_connections_most": self._pool_size,
                "storage_units_running": self._running,
                "storage_units_waiting": waiting,
            }

    def doctor(self) -> list[dict[str, str]]:
        """Return what an operator should know of the server. Its address is left out."""
        row = self.read_now(lambda connection: connection.execute(_SERVER_FACTS).fetchone())
        version, vector, used, most, size = row or ("?", None, 0, 1, 0)
        finding = (
            f"PostgreSQL {version}, pgvector {vector or 'missing'}, {used} of {most} "
            f"connections used, {size / 1e6:.0f} MB"
        )
        full = used > 0.8 * most
        fix = "Raise max_connections, or lower settings.storage.pool_size." if full else ""
        database = {
            "name": "database",
            "status": "warn" if full else "ok",
            "finding": finding,
            "fix": fix,
        }
        return [database, *self._describe_pooler()]

    def _describe_pooler(self) -> list[dict[str, str]]:
        """Report a connection pooler and how it is configured.

        A pooler announces a process id of its own when a client connects.
        """
        pooled = self.read_now(
            lambda connection: (
                connection.execute(_PROCESS).fetchone() != (connection.raw.info.backend_pid,)
            )
        )
        if not pooled:
            return []
        fixes = []
        if self.direct_url == self.url:
            fixes.append("Set settings.storage.direct_url to the address of the database itself.")
        if self._prepared_statements:
            fixes.append(
                "Set settings.storage.prepared_statements to false if it pools transactions."
            )
        return [
            {
                "name": "pooler",
                "status": "warn" if fixes else "ok",
                "finding": "settings.storage.url leads to a connection pooler",
                "fix": " ".join(fixes),
            }
        ]

    def connect(self) -> RawConnection:
        """Open a session of the server itself, outside the pool, in autocommit mode.

        For all that outlives a transaction: LISTEN, session locks, session settings, migrations,
        and statements that cannot run in transactions.
        """
        try:
            return connect(self.direct_url)
        except psycopg.Error as failed:
            log.warning("cannot connect to the database: %s", describe_for_log(failed))
            raise unavailable() from failed

    def close(self) -> None:
        """Finish what was submitted, then close every connection. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._threads.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    def _submit(self, run: Callable[..., Result], *arguments: Any) -> Future[Result]:
        if self._closed:
            raise RuntimeError("the database is closed")
        future = self._threads.submit(self._count_running, run, *arguments)
        with self._lock:
            self._submitted += 1
        future.add_done_callback(self._count_done)  # whether it ran or was cancelled
        return future

    def _count_running(self, run: Callable[..., Result], *arguments: Any) -> Result:
        with self._lock:
            self._running += 1
        try:
            return run(*arguments)
        finally:
            with self._lock:
                self._running -= 1

    def _count_done(self, future: Future[Any]) -> None:
        with self._lock:
            self._submitted -= 1

    def _queue(
        self,
        work: Callable[[PostgresConnection], Result],
        lock: str | None,
        timeout_seconds: float | None,
    ) -> Future[Result]:
        now = time.monotonic()
        timeout = self._lock_timeout_seconds if timeout_seconds is None else timeout_seconds
        unit = Unit(work, Future(), now, now + max(MIN_WAIT_SECONDS, timeout))
        if lock is None:
            self._submit(self._run_group, [unit], None)
            return unit.future
        with self._lock:
            lane = self._lanes.get(lock)
            if lane is not None:
                lane.append(unit)
                return unit.future
            self._lanes[lock] = deque([unit])
        self._submit(self._run_lane, lock)
        return unit.future

    def _run_lane(self, lock: str) -> None:
        """Run one group of a lane, then queue the rest behind other lanes."""
        with self._lock:
            lane = self._lanes[lock]
            group = [lane.popleft() for _ in range(min(MAX_GROUP, len(lane)))]
        self._run_group(group, lock)
        with self._lock:
            if not lane:
                del self._lanes[lock]
                return
        try:
            self._submit(self._run_lane, lock)
        except RuntimeError:  # closing: the pool takes no more work
            self._run_lane(lock)

    def _run_read(self, work: Callable[[PostgresConnection], Result], snapshot: bool) -> Result:
        def attempt(raw: RawConnection) -> Result:
            if not snapshot:
                return work(PostgresConnection(raw))
            with raw.pipeline():
                raw.execute(_SNAPSHOT)
                result = work(PostgresConnection(raw))
            raw.execute("COMMIT")  # after the pipeline, for the same reason as in transactions
            return result

        return self._retry(attempt)

    def _run_group(self, group: list[Unit], lock: str | None) -> None:
        group = [unit for unit in group if unit.future.set_running_or_notify_cancel()]
        while group := _fail_late(group):
            attempt = functools.partial(run_transaction, group=tuple(group), lock=lock)
            try:
                outcomes = self._retry(attempt)
            except errors.LockNotAvailable:
                continue  # the units whose time is over fail above
            except GroupFailedError:  # run each alone, so that each gets its own error
                for unit in group:
                    self._run_alone(unit, lock)
                return
            except BaseException as failed:  # whatever it is, every caller must learn it
                for unit in group:
                    unit.future.set_exception(failed)
                return
            for outcome in outcomes:
                outcome.resolve()
            return

    def _run_alone(self, unit: Unit, lock: str | None) -> None:
        try:
            (outcome,) = self._retry(lambda raw: run_transaction(raw, [unit], lock))
        except errors.LockNotAvailable:
            unit.future.set_exception(BusyError(time.monotonic() - unit.submitted_at))
        except BaseException as failed:  # whatever it is, the caller must learn it
            unit.future.set_exception(failed)
        else:
            outcome.resolve()

    def _retry(self, attempt: Callable[[RawConnection], Result]) -> Result:
        """Run on this thread's connection; repeat after a broken connection or a conflict."""
        give_up_at = time.monotonic() + self._reconnect_seconds
        conflicts = 0
        while True:
            raw: RawConnection | None = None
            try:
                raw = self._thread_connection()
                result = attempt(raw)
                self._outage.end()
                return result
            except CONFLICTS as conflict:
                conflicts += 1
                if conflicts > MAX_CONFLICTS:
                    raise unavailable(
                        "The database aborted the change, because others change the same data."
                    ) from conflict
            except errors.DiskFull as full:
                raise server_disk_full() from full
            except LOST_STATEMENT as lost:
                raise pools_transactions() from lost
            except CommitInDoubtError as doubt:
                log.warning("a commit was not answered: %s", describe_for_log(doubt))
                self._clean_up(raw)
                raw = None
                if self._has_committed(doubt):
                    return cast(Result, doubt.outcomes)
            except LOST_CONNECTION as lost:
                if raw is not None and _is_usable(raw):
                    raise  # the statement failed, not the connection
                if self._outage.active or time.monotonic() > give_up_at:
                    self._outage.begin(lost)
                    raise unavailable() from lost
            finally:
                self._clean_up(raw)
            time.sleep(random.uniform(0, PAUSE_SECONDS))  # noqa: S311 - jitter, not secrecy

    def _has_committed(self, doubt: CommitInDoubtError) -> bool:
        """Ask the server whether a commit without an answer happened; wait for a restart."""
        give_up_at = time.monotonic() + self._settle_seconds
        while time.monotonic() < give_up_at:
            with contextlib.suppress(psycopg.Error), connect(self.url) as raw:
                status = read_status(raw, doubt.transaction_id)
                if status in ("committed", "aborted"):
                    log.warning("the commit without an answer was %s", status)
                    return status == "committed"
            time.sleep(PAUSE_SECONDS)
        raise commit_unknown() from doubt

    def _thread_connection(self) -> RawConnection:
        raw: RawConnection | None = getattr(self._local, "raw", None)
        if raw is None:
            if not self._outage.may_connect():
                raise unavailable()
            raw = connect(self.url, prepared_statements=self._prepared_statements)
            with self._lock:
                self._connections.add(raw)
            self._local.raw = raw
        return raw

    def _clean_up(self, raw: RawConnection | None) -> None:
        """End an open transaction and drop a broken connection."""
        if raw is None:
            return
        with contextlib.suppress(psycopg.Error):
            if not raw.closed and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                raw.rollback()
        idle = psycopg.pq.TransactionStatus.IDLE
        if not _is_usable(raw) or raw.info.transaction_status != idle:
            raw.close()
            with self._lock:
                self._connections.discard(raw)
            self._local.raw = None


def _is_usable(raw: RawConnection) -> bool:
    """Tell whether a connection outlived a failed statement.

    A server that shuts down behind an answer leaves the client in the middle of a pipeline, with a
    connection that is not closed yet.
    """
    if raw.broken or raw.closed:
        return False
    return raw.pgconn.pipeline_status == psycopg.pq.PipelineStatus.OFF


def _fail_late(group: list[Unit]) -> list[Unit]:
    """Fail the units whose time is over; return the others."""
    now = time.monotonic()
    for unit in group:
        if unit.deadline <= now:
            unit.future.set_exception(BusyError(now - unit.submitted_at))
    return [unit for unit in group if unit.deadline > now]


@contextlib.contextmanager
def open_database(url: str, **options: Any) -> Iterator[PostgresDatabase]:
    """Open a database for the length of a block: for commands."""
    database = PostgresDatabase(url, **options)
    try:
        yield database
    finally:
        database.close()
