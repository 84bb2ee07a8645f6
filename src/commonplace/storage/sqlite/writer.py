"""The writer of a SQLite file: units of work in one thread, committed in groups."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import apsw

from commonplace.storage.errors import BusyError
from commonplace.storage.group_commit import GroupCommitter, PendingWrite, resolve_writes
from commonplace.storage.sqlite.busy import BusyHandler
from commonplace.storage.sqlite.errors import translate_error

Result = TypeVar("Result")

MAX_GROUP = 64  # units of work that share one commit
MIN_WAIT_SECONDS = 0.02  # a timeout of 0 still means one real try
LOCK_SLICE_SECONDS = 0.05  # wait this long for the lock, then look for newly queued units


@dataclass(slots=True, kw_only=True)
class _Unit(PendingWrite):
    """A function of the connection, run in its own savepoint."""

    work: Callable[[apsw.Connection], Any]
    submitted_at: float
    deadline: float
    durable: bool

    def resolve(self) -> None:
        if self.error is not None:
            self.error = translate_error(self.error)
        PendingWrite.resolve(self)


class SqliteWriter:
    """The one thread of this process that writes to a file."""

    def __init__(
        self,
        connection: apsw.Connection,
        lock_timeout_seconds: float,
        durable: bool,
        check_identity: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._check_identity = check_identity
        self._timeout_seconds = lock_timeout_seconds
        self._may_sync = durable
        self._syncs = durable  # whether the next commit waits for the disk
        self._busy_handler = BusyHandler(lock_timeout_seconds)
        connection.set_busy_handler(self._busy_handler)
        self._closed = False
        self._committer = GroupCommitter[_Unit](
            self._commit_group, name="storage-write", max_group=MAX_GROUP
        )

    def submit(
        self,
        work: Callable[[apsw.Connection], Result],
        future: asyncio.Future[Result] | Future[Result],
        timeout_seconds: float | None,
        durable: bool = True,
    ) -> None:
        """Queue a unit of work; its outcome goes to the future."""
        if self._closed:
            raise RuntimeError("the database is closed")
        now = time.monotonic()
        timeout = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        self._committer.submit(
            _Unit(
                work=work,
                future=future,
                submitted_at=now,
                deadline=now + max(MIN_WAIT_SECONDS, timeout),
                durable=durable,
            )
        )

    def close(self) -> None:
        """Finish the queued units."""
        self._closed = True
        self._committer.close()

    def _commit_group(self, group: Sequence[_Unit]) -> None:
        begun = self._begin([unit for unit in group if not unit.cancelled])
        if begun:
            self._run_and_commit(begun)
            resolve_writes(begun)

    def _begin(self, group: list[_Unit]) -> list[_Unit]:
        """Take the write lock and return the units that share the transaction.

        Units that arrive while another process holds the lock join the wait, and each one fails as
        busy when its own time is over, not when that of the most patient unit is.
        """
        while group := self._fail_late(group):
            self._busy_handler.deadline = min(
                time.monotonic() + LOCK_SLICE_SECONDS, *(unit.deadline for unit in group)
            )
            self._set_sync(any(unit.durable for unit in group))
            try:
                self._check_identity()
                self._connection.execute("BEGIN IMMEDIATE")
                return group
            except apsw.BusyError:
                arrived = self._committer.take_queued(MAX_GROUP - len(group))
                group += [unit for unit in arrived if not unit.cancelled]
            except (
                BaseException
            ) as failed:  # whatever it is, the callers of the group must learn it
                for unit in group:
                    unit.error = failed
                resolve_writes(group)
                break
            finally:
                self._busy_handler.deadline = None
        return []

    def _fail_late(self, group: Sequence[_Unit]) -> list[_Unit]:
        """Fail the units whose time is over; return the others."""
        now = time.monotonic()
        late = [unit for unit in group if unit.deadline <= now]
        for unit in late:
            unit.error = BusyError(now - unit.submitted_at)
        resolve_writes(late)
        return [unit for unit in group if unit.deadline > now]

    def _set_sync(self, durable: bool) -> None:
        """Make the next commit wait for the disk, or not.

        A commit that waits also makes the earlier ones in the log durable.
        """
        if self._may_sync and durable != self._syncs:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._syncs = durable

    def _run_and_commit(self, group: list[_Unit]) -> None:
        """Run the units of a transaction that has begun, and commit it."""
        try:
            if len(group) == 1:  # no savepoint needed: the transaction fails with its only unit
                group[0].value = group[0].work(self._connection)
            else:
                for unit in group:
                    self._run_in_savepoint(unit)
            self._connection.execute("COMMIT")
            # A commit to files that lost their names would be lost: do not acknowledge it.
            self._check_identity()
        except BaseException as failed:  # of the only unit, or of the commit: none is acknowledged
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            for unit in group:
                unit.error = failed

    def _run_in_savepoint(self, unit: _Unit) -> None:
        self._connection.execute("SAVEPOINT unit")
        try:
            unit.value = unit.work(self._connection)
        except BaseException as error:  # of this unit alone: the rest of the group continues
            if not self._connection.in_transaction:
                raise  # SQLite rolled the whole transaction back (disk full, I/O error)
            self._connection.execute("ROLLBACK TO unit")
            unit.error = error
        self._connection.execute("RELEASE unit")
