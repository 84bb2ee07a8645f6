"""One PostgreSQL database through psycopg 3: as many connections as threads, units of work, one
lane per lock.

`read()` runs a function of the connection in a pool thread. `write()` runs it inside a transaction,
under an advisory lock if one is named: units of this process that want the same lock queue in a
lane, share its transaction and its commit, and never hold more than one connection, so a busy
project does not starve the others. A unit may be run again after a lost connection or a deadlock,
so it must have no effect but its statements. Nobody is acknowledged before the commit; a commit
whose answer was lost is reported as unavailable.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import STORAGE_FULL, STORAGE_UNAVAILABLE, BusyError

log = logging.getLogger("commonplace.storage")

Result = TypeVar("Result")
Parameters = Mapping[str, Any] | Sequence[Any] | None
Row = tuple[Any, ...]

APPLICATION = "commonplace"  # in pg_stat_activity
MAX_GROUP = 32  # units of one lane that share a commit
MIN_WAIT_SECONDS = 0.02  # a timeout of 0 still means one honest try
# a server that restarts is waited for this long; callers hear within 2 seconds of one that is gone
RECONNECT_SECONDS = 1.5
CONNECT_SECONDS = 2  # the least that libpq accepts
PAUSE_SECONDS = 0.05
PROBE_SECONDS = (
    0.1  # while the server is gone, one unit in this time tries to connect; the others are refused
)
MAX_CONFLICTS = 20  # deadlocks and serialisation failures of one unit before it is given up
_CONFLICTS = (errors.DeadlockDetected, errors.SerializationFailure)
_LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
)  # and whatever follows from a connection that broke
_BEGIN = "BEGIN"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LOCK = (
    "SELECT set_config('lock_timeout', %(wait)s, true), "
    "pg_advisory_xact_lock(hashtextextended(%(key)s, 0))"
)
_FIGURES = """
SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::int,
       pg_database_size(current_database())"""
_PATIENCE = "SELECT set_config('lock_timeout', %(wait)s, true)"


class Connection:
    """A psycopg connection for statements that come from named `.sql` files."""

    __slots__ = ("raw",)

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self.raw = raw

    def execute(
        self, statement: str, parameters: Parameters = None, *, binary: bool = False
    ) -> psycopg.Cursor[Row]:
        """`binary`: types that psycopg does not know come as the bytes the server sends."""
        return self.raw.execute(statement, parameters, binary=binary)

    def lock(self, key: str) -> None:
        """Hold another advisory lock until the transaction ends; wait for it as long as the
        transaction may.
        """
        self.execute("SELECT pg_advisory_xact_lock(hashtextextended(%(key)s, 0))", {"key": key})

    def executemany(
        self, statement: str, rows: Iterable[Mapping[str, Any] | Sequence[Any]]
    ) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(statement, rows)


@dataclass(slots=True)
class _Unit:
    work: Callable[[Connection], Any]
    future: Future[Any]
    submitted: float
    deadline: float


class PostgresDatabase:
    """A database shared by any number of processes. Close it when done."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        lock_timeout_seconds: float = 3.0,
        reconnect_seconds: float = RECONNECT_SECONDS,
    ) -> None:
        self.url = url
        self._reconnect_seconds = reconnect_seconds
        self._lock_timeout_seconds = lock_timeout_seconds
        self._threads = ThreadPoolExecutor(pool_size, thread_name_prefix="storage")
        self._local = threading.local()
        self._connections: set[psycopg.Connection[Row]] = set()
        self._guard = threading.Lock()
        self._lanes: dict[str, deque[_Unit]] = {}
        self._pool_size = pool_size
        self._submitted = self._busy = (
            0  # units that wait for a thread or have one; units that have one
        )
        self._outage = _Outage()
        self._closed = False

    # -- units of work

    async def read(self, work: Callable[[Connection], Result], *, snapshot: bool = False) -> Result:
        """Run a function that only reads; with `snapshot` all its statements see the same
        committed state.
        """
        return await asyncio.wrap_future(self._submit(self._read, work, snapshot))

    def read_now(self, work: Callable[[Connection], Result], *, snapshot: bool = False) -> Result:
        result: Result = self._submit(self._read, work, snapshot).result()
        return result

    async def write(
        self,
        work: Callable[[Connection], Result],
        *,
        lock: str | None = None,
        lock_timeout_seconds: float | None = None,
    ) -> Result:
        """Run a function in a transaction; returns when it is committed.

        Raises `BusyError` when a lock is not free in time.
        """
        return await asyncio.wrap_future(self._queue(work, lock, lock_timeout_seconds))

    def write_now(
        self,
        work: Callable[[Connection], Result],
        *,
        lock: str | None = None,
        lock_timeout_seconds: float | None = None,
    ) -> Result:
        """The same for threads without an event loop (the command line)."""
        return self._queue(work, lock, lock_timeout_seconds).result()

    def figures(self) -> dict[str, float]:
        """For metrics: connections there are and may be, units at work, units that wait for a
        connection or in a lane.
        """
        with self._guard:
            waiting = max(0, self._submitted - self._busy) + sum(map(len, self._lanes.values()))
            connections = {
                "storage_connections": len(self._connections),
                "storage_connections_most": self._pool_size,
            }
            return {
                **connections,
                "storage_units_running": self._busy,
                "storage_units_waiting": waiting,
            }

    def doctor(self) -> list[dict[str, str]]:
        """What an operator should know of the server; its address is nobody's business."""
        row = self.read_now(lambda connection: connection.execute(_FIGURES).fetchone())
        version, vector, used, most, size = row or ("?", None, 0, 1, 0)
        finding = (
            f"PostgreSQL {version}, pgvector {vector or 'missing'}, {used} of {most} "
            f"connections used, {size / 1e6:.0f} MB"
        )
        full = used > 0.8 * most
        fix = "Raise max_connections, or lower settings.storage.pool_size." if full else ""
        return [
            {"name": "database", "status": "warn" if full else "ok", "finding": finding, "fix": fix}
        ]

    def connect(self) -> psycopg.Connection[Row]:
        """A connection of the caller's own, in autocommit mode: for listening, and for
        statements that refuse transactions.
        """
        try:
            return psycopg.connect(
                self.url,
                autocommit=True,
                application_name=APPLICATION,
                connect_timeout=CONNECT_SECONDS,
            )
        except psycopg.Error as failed:
            log.warning("cannot connect to the database: %s", _reason(failed))
            raise unavailable() from failed

    def close(self) -> None:
        """Finish what was submitted, then close every connection. Idempotent."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        self._threads.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    # -- inside

    def _submit(self, run: Callable[..., Result], *arguments: Any) -> Future[Result]:
        if self._closed:
            raise RuntimeError("the database is closed")
        future = self._threads.submit(self._counted, run, *arguments)
        with self._guard:
            self._submitted += 1
        future.add_done_callback(self._left)  # whether it ran or was cancelled
        return future

    def _counted(self, run: Callable[..., Result], *arguments: Any) -> Result:
        with self._guard:
            self._busy += 1
        try:
            return run(*arguments)
        finally:
            with self._guard:
                self._busy -= 1

    def _left(self, future: Future[Any]) -> None:
        with self._guard:
            self._submitted -= 1

    def _queue(
        self, work: Callable[[Connection], Result], lock: str | None, timeout_seconds: float | None
    ) -> Future[Result]:
        now = time.monotonic()
        timeout = max(
            MIN_WAIT_SECONDS,
            self._lock_timeout_seconds if timeout_seconds is None else timeout_seconds,
        )
        unit = _Unit(work, Future(), now, now + timeout)
        if lock is None:
            self._submit(self._run_group, [unit], None)
            return unit.future
        with self._guard:
            lane = self._lanes.get(lock)
            if lane is not None:
                lane.append(unit)
                return unit.future
            self._lanes[lock] = deque([unit])
        self._submit(self._run_lane, lock)
        return unit.future

    def _run_lane(self, lock: str) -> None:
        """One group of a lane; what came meanwhile goes to the end of the threads' queue, behind
        other lanes.
        """
        with self._guard:
            lane = self._lanes[lock]
            group = [lane.popleft() for _ in range(min(MAX_GROUP, len(lane)))]
        self._run_group(group, lock)
        with self._guard:
            if not lane:
                del self._lanes[lock]
                return
        try:
            self._submit(self._run_lane, lock)
        except RuntimeError:  # closing: nobody else will do it
            self._run_lane(lock)

    def _read(self, work: Callable[[Connection], Result], snapshot: bool) -> Result:
        def once(raw: psycopg.Connection[Row]) -> Result:
            if not snapshot:
                return work(Connection(raw))
            with raw.pipeline():
                raw.execute(_SNAPSHOT)
                result = work(Connection(raw))
                raw.execute("COMMIT")
            return result

        return self._persistently(once)

    def _run_group(self, group: list[_Unit], lock: str | None) -> None:
        group = [unit for unit in group if unit.future.set_running_or_notify_cancel()]
        while group:
            now = time.monotonic()
            late = [unit for unit in group if unit.deadline <= now]
            group = [unit for unit in group if unit.deadline > now]
            for unit in late:
                unit.future.set_exception(BusyError(now - unit.submitted))
            if not group:
                return
            try:
                outcomes = self._persistently(
                    lambda raw, group=group: _transaction(raw, group, lock)  # type: ignore[misc]
                )
            except errors.LockNotAvailable:
                continue  # those whose time is over fail above
            except (
                _GroupFailedError
            ):  # one of them broke the transaction: each alone, then its own error is its own
                for unit in group:
                    self._run_alone(unit, lock)
                return
            except BaseException as failed:
                for unit in group:
                    unit.future.set_exception(failed)
                return
            for unit, value, error in outcomes:
                unit.future.set_exception(error) if error is not None else unit.future.set_result(
                    value
                )
            return

    def _run_alone(self, unit: _Unit, lock: str | None) -> None:
        try:
            ((_, value, error),) = self._persistently(lambda raw: _transaction(raw, [unit], lock))
        except errors.LockNotAvailable:
            unit.future.set_exception(BusyError(time.monotonic() - unit.submitted))
        except BaseException as failed:
            unit.future.set_exception(failed)
        else:
            unit.future.set_exception(error) if error is not None else unit.future.set_result(value)

    def _persistently(self, once: Callable[[psycopg.Connection[Row]], Result]) -> Result:
        """Run on this thread's connection; again on a new one when it broke, again when it lost
        against another transaction.
        """
        give_up = time.monotonic() + self._reconnect_seconds
        conflicts = 0
        while True:
            raw: psycopg.Connection[Row] | None = None
            try:
                raw = self._connection()
                result = once(raw)
                self._outage.end()
                return result
            except _CONFLICTS as conflict:
                conflicts += 1
                if conflicts > MAX_CONFLICTS:
                    raise unavailable(
                        "The database gave the change up, because others change the same data."
                    ) from conflict
            except errors.DiskFull as full:
                raise CommonplaceError(
                    STORAGE_FULL,
                    "The database's disk is full; nothing was written.",
                    hint="Free space, then retry.",
                    retryable=True,
                ) from full
            except _InDoubtError as doubt:
                log.warning("a commit was not answered: %s", doubt)
                raise unavailable(
                    "The connection to the database broke before the change was confirmed; it "
                    "may have been made."
                ) from doubt
            except _LOST as lost:
                if raw is not None and not raw.broken and not raw.closed:
                    raise  # the statement failed, not the connection
                if self._outage.known or time.monotonic() > give_up:
                    self._outage.begin(lost)
                    raise unavailable() from lost
            finally:
                self._mend(raw)
            time.sleep(random.uniform(0, PAUSE_SECONDS))  # noqa: S311 - jitter, not secrecy

    def _connection(self) -> psycopg.Connection[Row]:
        raw: psycopg.Connection[Row] | None = getattr(self._local, "raw", None)
        if raw is None:
            if not self._outage.may_try():
                raise unavailable()
            raw = psycopg.connect(
                self.url,
                autocommit=True,
                application_name=APPLICATION,
                connect_timeout=CONNECT_SECONDS,
            )
            with self._guard:
                self._connections.add(raw)
            self._local.raw = raw
        return raw

    def _mend(self, raw: psycopg.Connection[Row] | None) -> None:
        """Leave no transaction open, and no broken connection in place."""
        if raw is None:
            return
        with contextlib.suppress(psycopg.Error):
            if not raw.closed and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                raw.rollback()
        if raw.closed or raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            raw.close()
            with self._guard:
                self._connections.discard(raw)
            self._local.raw = None


class _Outage:
    """Whether the server is known to be gone. Thread-safe.

    Units then do not wait for it one after the other: one of them probes now and then, and the
    first success ends the outage.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._next_probe: float | None = None

    @property
    def known(self) -> bool:
        return self._next_probe is not None

    def begin(self, reason: BaseException) -> None:
        with self._guard:
            if self._next_probe is None:
                log.error("the database cannot be reached: %s", _reason(reason))
            self._next_probe = time.monotonic() + PROBE_SECONDS

    def end(self) -> None:
        if self._next_probe is not None:
            with self._guard:
                self._next_probe = None
            log.warning("the database answers again")

    def may_try(self) -> bool:
        """Tell whether a unit should try to connect now; waits for the next probe where that is
        near.
        """
        next_probe = self._next_probe
        if next_probe is None:
            return True
        pause = next_probe - time.monotonic()
        if 0 < pause <= PROBE_SECONDS:
            time.sleep(pause)
        with self._guard:
            now = time.monotonic()
            if self._next_probe is not None and now < self._next_probe:
                return False
            self._next_probe = now + CONNECT_SECONDS + PROBE_SECONDS  # `begin` or `end` follows
            return True


class _GroupFailedError(Exception):
    """A unit of a group made the server give the whole transaction up."""


class _InDoubtError(Exception):
    """The connection broke while a commit was under way: it may or may not have happened."""


def _transaction(
    raw: psycopg.Connection[Row], group: Sequence[_Unit], lock: str | None
) -> list[tuple[_Unit, Any, BaseException | None]]:
    """All units in one transaction, each in a savepoint where there are several.

    Statements travel in a pipeline.
    """
    wait = f"{max(1, int((min(unit.deadline for unit in group) - time.monotonic()) * 1000))}ms"
    outcomes: list[tuple[_Unit, Any, BaseException | None]] = []
    connection = Connection(raw)
    ending = False
    try:
        with raw.pipeline():
            raw.execute(_BEGIN)
            raw.execute(
                _LOCK if lock is not None else _PATIENCE,
                {"wait": wait, "key": lock} if lock is not None else {"wait": wait},
            )
            for unit in group:
                outcomes.append((unit, *_attempt(connection, unit, alone=len(group) == 1)))
            if len(group) == 1 and outcomes[0][2] is not None:
                raw.execute("ROLLBACK")
                return outcomes
            ending = True
            raw.execute("COMMIT")  # the end of the block waits for its answer
    except psycopg.OperationalError as failed:
        if ending and _in_doubt(failed):
            raise _InDoubtError(str(failed)) from failed
        raise
    return outcomes


def _in_doubt(failed: psycopg.OperationalError) -> bool:
    """An answer that says what was wrong with the transaction means that nothing was committed.

    No answer means nothing, and a server that says good-bye (class 57P) may have committed before.
    """
    if isinstance(failed, errors.PipelineAborted):
        return False
    return failed.sqlstate is None or failed.sqlstate.startswith(("57P", "08"))


def _attempt(
    connection: Connection, unit: _Unit, *, alone: bool
) -> tuple[Any, BaseException | None]:
    """A unit's value or its own error.

    An error of the database ends the transaction, and belongs to one unit only if it is alone.
    """
    if not alone:
        connection.raw.execute("SAVEPOINT unit")
    try:
        value = unit.work(connection)
    except psycopg.Error as failed:
        if alone or isinstance(failed, (*_LOST, *_CONFLICTS)):
            raise
        raise _GroupFailedError from failed
    except BaseException as error:
        if not alone:
            connection.raw.execute("ROLLBACK TO unit")
        return None, error
    if not alone:
        connection.raw.execute("RELEASE unit")
    return value, None


def unavailable(message: str = "The database cannot be reached now.") -> CommonplaceError:
    """Return what callers see when the database cannot be used.

    Addresses and reasons stand in the log only.
    """
    return CommonplaceError(
        STORAGE_UNAVAILABLE,
        message,
        hint="Retry in a moment; then ask the operator to look.",
        retryable=True,
    )


def translated(error: BaseException) -> BaseException:
    """Return what a caller is told about a connection that was lost; any other error as it is."""
    if isinstance(error, _LOST):
        log.warning("a statement failed: %s", _reason(error))
        return unavailable()
    return error


def _reason(failed: BaseException) -> str:
    """The reason for the log. It names no password: libpq never prints it."""
    return " ".join(str(failed).split())[:300]


@contextlib.contextmanager
def opened(url: str, **options: Any) -> Iterator[PostgresDatabase]:
    """A database for the length of a block: for commands."""
    database = PostgresDatabase(url, **options)
    try:
        yield database
    finally:
        database.close()
