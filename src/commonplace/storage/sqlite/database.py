"""One SQLite file through apsw: WAL, a read connection per thread, and one writer thread.

Bounded reads run inline on `reader()`; scans go through `read()`, to a small pool. Everything that
writes goes through `write()` (await) or `write_now()` (block): a function of the connection, run in
the writer thread inside its own savepoint. Many such functions share one transaction and one fsync;
each is acknowledged only after that commit is on the disk. Work on derived data may use
`durable=False`: it is as atomic, but a power failure may undo its last commits (never the
consistency of the database).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from commonplace.storage.disk.identity import FileIdentity
from commonplace.storage.disk.private_files import make_private_file, make_private_folder
from commonplace.storage.errors import storage_replaced
from commonplace.storage.sqlite.busy import BusyHandler
from commonplace.storage.sqlite.errors import translate_open_error
from commonplace.storage.sqlite.writer import SqliteWriter

Connection = apsw.Connection
Result = TypeVar("Result")

CHECKPOINT_PAGES = 4000  # 16 MB of log between checkpoints: a checkpoint costs two more fsyncs
OPENING_SECONDS = 15.0  # longest wait while another process creates or migrates the database
OPENING_PAUSE_SECONDS = 0.005
EMPTYING_SECONDS = 5.0  # longest wait for readers while the log is emptied
READER_THREADS = 2
CACHE_KIB = 16_384
MAPPED_BYTES = 1 << 30


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
        overwrite_deleted: bool = False,
    ) -> None:
        """Open a file, creating it if needed.

        `cache_kib` and `mapped_bytes` apply to each connection and count as memory of the process.
        With `overwrite_deleted`, deleted content is overwritten with zeros in the file.
        """
        self.path = path
        self._cache_kib = cache_kib
        self._mapped_bytes = mapped_bytes
        self._overwrite_deleted = overwrite_deleted
        self._lock_timeout_seconds = lock_timeout_seconds
        self._durable = durable
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self._pool: ThreadPoolExecutor | None = None
        make_private_folder(path.parent)
        with contextlib.suppress(OSError):  # opening the database reports more about the reason
            make_private_file(path, "", "-wal", "-shm")
        connection = self._open()
        self._identity = FileIdentity(path, "", "-wal")
        self._writer = SqliteWriter(connection, lock_timeout_seconds, durable, self.check_identity)

    def check_identity(self) -> None:
        """Raise STORAGE_REPLACED unless the open files still have their names."""
        if not self._identity.is_current():
            raise storage_replaced(f"The database {self.path.name}")

    def reader(self) -> Connection:
        """Return the calling thread's own read connection. It refuses to write."""
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._open()
            connection.execute("PRAGMA query_only = 1")
            self._local.connection = connection
        return connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Use the calling thread's reader inside one read transaction.

        Every statement sees the same committed state.
        """
        connection = self.reader()
        if connection.in_transaction:  # nested: the outer snapshot applies
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
        """Run `work` in the writer thread; return when its commit is durable.

        Raises `BusyError` if the lock is not free in time.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._writer.submit(work, future, lock_timeout_seconds, durable)
        return await future

    def write_now(
        self, work: Callable[[Connection], Result], *, lock_timeout_seconds: float | None = None
    ) -> Result:
        """Do the same from a thread without an event loop (workers, the command line)."""
        future: Future[Result] = Future()
        self._writer.submit(work, future, lock_timeout_seconds)
        return future.result()

    def empty_log(self, *, compact: bool = False) -> bool:
        """Move the log into the file and cut it, so that it holds no earlier content; blocks.

        With `compact`, the file is rewritten first, which drops what earlier deletions left.
        Returns False if a reader or another process was in the way.
        """
        connection = self.reader()
        connection.execute("PRAGMA query_only = 0")
        connection.set_busy_handler(BusyHandler(EMPTYING_SECONDS))
        try:
            if compact:
                connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        finally:
            connection.set_busy_handler(BusyHandler(self._lock_timeout_seconds))
            connection.execute("PRAGMA query_only = 1")
        return True

    def close(self) -> None:
        """Finish queued writes, then close every connection. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._writer.close()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    def _open(self) -> Connection:
        with self._lock:
            if self._closed:
                raise RuntimeError("the database is closed")
            try:
                connection = self._connect()
            except apsw.Error as failed:
                explained = translate_open_error(failed, self.path, OPENING_SECONDS)
                if explained is None:
                    raise
                raise explained from failed
            self._connections.append(connection)
            return connection

    def _connect(self) -> Connection:
        """Open the file; try again while another process switches a new one to WAL mode.

        SQLite then reports the file as busy without calling the busy handler.
        """
        give_up_at = time.monotonic() + OPENING_SECONDS
        while True:
            connection = apsw.Connection(str(self.path))
            try:
                return self._configure(connection)
            except apsw.BusyError:
                connection.close()
                if time.monotonic() >= give_up_at:
                    raise
                time.sleep(OPENING_PAUSE_SECONDS)

    def _configure(self, connection: Connection) -> Connection:
        connection.set_busy_handler(BusyHandler(OPENING_SECONDS))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'OFF'}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{self._cache_kib}")
        connection.execute(f"PRAGMA mmap_size = {self._mapped_bytes}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute(f"PRAGMA secure_delete = {int(self._overwrite_deleted)}")
        # Creates the log, so that its identity is known.
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        connection.set_busy_handler(BusyHandler(self._lock_timeout_seconds))
        return connection
