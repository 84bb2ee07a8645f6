"""One SQLite file through apsw: WAL, a read connection per thread, and one writer thread with
group commit.

Reads that are bounded run inline on `reader()`; scans go through `read()`, to a small pool.
Everything that writes goes through `write()` (await) or `write_now()` (block): a function of the
connection, run in the writer thread inside its own savepoint. Many such functions share one
transaction and one fsync; each is acknowledged only after that commit is on disk. Work on derived
data may say `durable=False`: it is as atomic, but a power failure may undo its last commits (never
the database's consistency).
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import apsw

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.loop_callbacks import tell_together
from commonplace.storage.disk.identity import FileIdentity
from commonplace.storage.disk.private_files import make_private_file, make_private_folder
from commonplace.storage.errors import (
    PATH_UNUSABLE,
    STORAGE_DAMAGED,
    BusyError,
    damaged,
    disk_full,
    replaced,
)

Connection = apsw.Connection
Result = TypeVar("Result")

MAX_GROUP = 64  # units of work that share one commit
CHECKPOINT_PAGES = 4000  # 16 MB of log between checkpoints: a checkpoint costs two more fsyncs
MIN_WAIT_SECONDS = 0.02  # a timeout of 0 still means one honest try
LOCK_SLICE_SECONDS = (
    0.05  # how long the writer waits for the lock before it looks at what was queued meanwhile
)
OPENING_SECONDS = 15.0  # how long a process waits while another makes or migrates the database
READER_THREADS = 2
CACHE_KIB = 16_384
MAPPED_BYTES = 1 << 30
SMALLEST_ROOM_BYTES = 65_536  # the shared index of the log takes 32 kB
UNUSABLE = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.IOError)


@dataclass(slots=True)
class _Unit:
    """A function of the connection, and who waits for what becomes of it: a task of an event
    loop, or a thread.
    """

    work: Callable[[Connection], Any]
    waiter: asyncio.Future[Any] | Future[Any]
    submitted: float
    deadline: float
    durable: bool
    value: Any = None
    error: BaseException | None = None

    def wanted(self) -> bool:
        """Whether somebody still waits. What has begun is finished."""
        return not self.waiter.cancelled()

    def tell(self) -> None:
        """In the loop of a task that waits, in any thread for a thread that waits."""
        if self.error is None:
            self.waiter.set_result(self.value)
        else:
            self.waiter.set_exception(translated(self.error))


class Database:
    """A SQLite file shared by threads of this process and by other processes.

    Close it when done.
    """

    def __init__(
        self,
        path: Path,
        *,
        lock_timeout_seconds: float = 3.0,
        durable: bool = True,
        cache_kib: int = CACHE_KIB,
        mapped_bytes: int = MAPPED_BYTES,
    ) -> None:
        """`cache_kib` and `mapped_bytes` are of each connection: what they hold counts as the
        process's memory.
        """
        self.path = path
        self._cache_kib = cache_kib
        self._mapped_bytes = mapped_bytes
        self._lock_timeout_seconds = lock_timeout_seconds
        self._durable = durable
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._guard = threading.Lock()
        self._closed = False
        self._pool: ThreadPoolExecutor | None = None
        make_private_folder(path.parent)
        with contextlib.suppress(OSError):  # opening it says more about what is wrong
            make_private_file(path, "", "-wal", "-shm")
        writing = self._open()
        self._identity = FileIdentity(path, "", "-wal")
        self._writer = _Writer(writing, lock_timeout_seconds, durable, self.check_identity)

    def check_identity(self) -> None:
        """Raise STORAGE_REPLACED unless the files that are open here still have their names."""
        if not self._identity.current():
            raise replaced(f"The database {self.path.name}")

    def reader(self) -> Connection:
        """The calling thread's own read connection. It refuses to write."""
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._open()
            connection.execute("PRAGMA query_only = 1")
            self._local.connection = connection
        return connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """The calling thread's reader inside one read transaction: every statement sees the same
        committed state.
        """
        connection = self.reader()
        if connection.in_transaction:  # nested: the outer snapshot already decides what is seen
            yield connection
            return
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run a scan in the reader pool, inside one snapshot."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="storage-read")

        def scan() -> Result:
            with self.snapshot() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._pool, scan)

    async def write(
        self,
        work: Callable[[Connection], Result],
        *,
        lock_timeout_seconds: float | None = None,
        durable: bool = True,
    ) -> Result:
        """Run `work` in the writer thread; returns when its commit is durable.

        Raises `BusyError` when the lock is not free in time.
        """
        waiter: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._writer.submit(work, waiter, lock_timeout_seconds, durable)
        return await waiter

    def write_now(
        self, work: Callable[[Connection], Result], *, lock_timeout_seconds: float | None = None
    ) -> Result:
        """The same for threads without an event loop (workers, the command line)."""
        waiter: Future[Result] = Future()
        self._writer.submit(work, waiter, lock_timeout_seconds)
        return waiter.result()

    def close(self) -> None:
        """Finish queued writes, then close every connection. Idempotent."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        self._writer.stop()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    def _open(self) -> Connection:
        with self._guard:
            if self._closed:
                raise RuntimeError("the database is closed")
            try:
                connection = apsw.Connection(str(self.path))
                connection.set_busy_handler(_Patience(OPENING_SECONDS))
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'OFF'}")
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute(f"PRAGMA cache_size = -{self._cache_kib}")
                connection.execute(f"PRAGMA mmap_size = {self._mapped_bytes}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                connection.execute("PRAGMA journal_size_limit = 67108864")
                connection.execute(
                    "SELECT 1 FROM sqlite_schema LIMIT 1"
                ).fetchall()  # makes the log, so that its identity is known
                connection.set_busy_handler(_Patience(self._lock_timeout_seconds))
            except (apsw.NotADBError, apsw.CorruptError) as broken:
                raise CommonplaceError(
                    STORAGE_DAMAGED,
                    f"{self.path.name} is not a usable database.",
                    hint="Restore it from a backup.",
                ) from broken
            except apsw.BusyError as busy:
                raise BusyError(OPENING_SECONDS) from busy
            except apsw.FullError as full:
                raise disk_full() from full
            except UNUSABLE as refused:
                raise (
                    disk_full()
                    if _no_room(self.path.parent)
                    else _unusable(refused, str(self.path))
                ) from refused
            self._connections.append(connection)
            return connection


class _Patience:
    """A busy handler with a deadline and short jittered waits: fairer between processes than
    SQLite's own stepped one.
    """

    def __init__(self, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self.deadline: float | None = None  # set for one transaction by the writer
        self._begun = 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._begun = now
        limit = self.deadline if self.deadline is not None else self._begun + self.timeout_seconds
        if now >= limit:
            return False
        pause = random.uniform(0.0002, 0.001) if tries < 50 else random.uniform(0.001, 0.005)  # noqa: S311 - jitter, not secrecy
        time.sleep(min(pause, max(0.0, limit - now)))
        return True


class _Writer:
    """The one thread of this process that writes."""

    def __init__(
        self,
        connection: Connection,
        lock_timeout_seconds: float,
        durable: bool,
        check_identity: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._check_identity = check_identity
        self._timeout_seconds = lock_timeout_seconds
        self._may_sync = durable
        self._syncs = durable  # whether the connection waits for the disk at its next commit
        self._patience = _Patience(lock_timeout_seconds)
        connection.set_busy_handler(self._patience)
        self._queue: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._stopping = False
        self._ended = False  # the writer thread has seen the end of its queue
        self._thread = threading.Thread(target=self._loop, name="storage-write", daemon=True)
        self._thread.start()

    def submit(
        self,
        work: Callable[[Connection], Result],
        waiter: asyncio.Future[Result] | Future[Result],
        timeout_seconds: float | None,
        durable: bool = True,
    ) -> None:
        if self._stopping:
            raise RuntimeError("the database is closed")
        now = time.monotonic()
        timeout = max(
            MIN_WAIT_SECONDS, self._timeout_seconds if timeout_seconds is None else timeout_seconds
        )
        self._queue.put(_Unit(work, waiter, now, now + timeout, durable))

    def stop(self) -> None:
        self._stopping = True
        self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while not self._ended:
            group = self._begin(self._arrived(wait=True))
            self._commit(group)
            _tell(group)

    def _arrived(self, *, wait: bool = False, most: int = MAX_GROUP) -> list[_Unit]:
        """Take the units that are queued and still wanted, waiting for the first one if asked
        to.
        """
        units: list[_Unit] = []
        while len(units) < most and not self._ended:
            try:
                unit = self._queue.get(block=wait and not units)
            except queue.Empty:
                break
            if unit is None:
                self._ended = True
            else:
                units.append(unit)
        return [unit for unit in units if unit.wanted()]

    def _commit(self, group: list[_Unit]) -> None:
        """Run the units of a transaction that has begun, and commit it."""
        if not group:
            return
        try:
            if len(group) == 1:  # nobody shares the transaction: its failure is the unit's own
                group[0].value = group[0].work(self._connection)
            else:
                for unit in group:
                    self._run(unit)
            self._connection.execute("COMMIT")
            # a commit to files without a name would be lost, so it is not acknowledged
            self._check_identity()
        except (
            BaseException
        ) as failed:  # the only unit, or the commit itself: nobody is acknowledged
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            for unit in group:
                unit.error = failed

    def _begin(self, group: list[_Unit]) -> list[_Unit]:
        """Take the write lock and return the units that share the transaction.

        Units that arrive while another process holds the lock join the wait, and each is told that
        the database is busy as soon as its own time is over: nobody waits as long as the most
        patient one.
        """
        while group:
            now = time.monotonic()
            late = [unit for unit in group if unit.deadline <= now]
            for unit in late:
                unit.error = BusyError(now - unit.submitted)
            _tell(late)
            group = [unit for unit in group if unit.deadline > now]
            if not group:
                break
            self._patience.deadline = min(
                now + LOCK_SLICE_SECONDS, *(unit.deadline for unit in group)
            )
            self._sync(any(unit.durable for unit in group))
            try:
                self._check_identity()
                self._connection.execute("BEGIN IMMEDIATE")
                return group
            except apsw.BusyError:
                group += self._arrived(most=MAX_GROUP - len(group))
            except BaseException as failed:
                for unit in group:
                    unit.error = failed
                _tell(group)
                break
            finally:
                self._patience.deadline = None
        return []

    def _sync(self, wanted: bool) -> None:
        """A commit that follows waits for the log, earlier commits in it included; one that need
        not, does not.
        """
        if self._may_sync and wanted != self._syncs:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if wanted else 'NORMAL'}")
            self._syncs = wanted

    def _run(self, unit: _Unit) -> None:
        self._connection.execute("SAVEPOINT unit")
        try:
            unit.value = unit.work(self._connection)
        except (
            BaseException
        ) as error:  # belongs to this unit's caller; the rest of the group goes on
            if (
                not self._connection.in_transaction
            ):  # SQLite gave the whole transaction up (disk full, I/O error)
                raise
            self._connection.execute("ROLLBACK TO unit")
            unit.error = error
        self._connection.execute("RELEASE unit")


def _tell(units: list[_Unit]) -> None:
    """Hand the outcome of units to whoever waits for them."""
    tell_together(
        (unit.waiter, unit.tell) for unit in units if isinstance(unit.waiter, asyncio.Future)
    )
    for unit in units:
        if isinstance(unit.waiter, Future):
            unit.tell()


def _why_unusable(error: BaseException) -> str:
    """Say in plain words what SQLite could not do; its own text may name files and statements."""
    if isinstance(error, apsw.ReadOnlyError):
        return "it can only be read"
    if isinstance(error, apsw.IOError):
        return "reading or writing it failed"
    return "it cannot be opened"


def _unusable(error: BaseException, place: str) -> CommonplaceError:
    hint = "Check that its folder is there and that you may write both."
    return CommonplaceError(
        PATH_UNUSABLE,
        f"Cannot use {place}: {_why_unusable(error)}.",
        hint=hint,
        details={"path": place},
    )


def _no_room(folder: Path) -> bool:
    """Tell whether a disk has not even room for the files that SQLite makes beside a database."""
    try:
        return shutil.disk_usage(folder).free < SMALLEST_ROOM_BYTES
    except OSError:
        return False


def translated(error: BaseException) -> BaseException:
    """Return what a caller is told about an error of SQLite; any other error as it is."""
    if isinstance(error, apsw.FullError):
        return disk_full()
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return damaged("SQLite finds it malformed")
    if isinstance(error, UNUSABLE):
        return _unusable(error, "the database")
    return error
