"""Transactions of PostgreSQL: a group of units of work that share an advisory lock and a commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors

from commonplace.storage.postgres.connection import PostgresConnection, RawConnection
from commonplace.storage.postgres.errors import LOST_CONNECTION

CONFLICTS = (errors.DeadlockDetected, errors.SerializationFailure)
_LOCK = (
    "SELECT set_config('lock_timeout', %(wait)s, true), "
    "pg_advisory_xact_lock(hashtextextended(%(key)s, 0))"
)
_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', %(wait)s, true)"
_TRANSACTION_ID = "SELECT pg_current_xact_id_if_assigned()::text"
_STATUS = "SELECT pg_xact_status(%(id)s::text::xid8)"


class GroupFailedError(Exception):
    """A unit of a group made the server abort the whole transaction."""


@dataclass(slots=True)
class Unit:
    """A function of the connection, and the future of its outcome."""

    work: Callable[[PostgresConnection], Any]
    future: Future[Any]
    submitted_at: float
    deadline: float


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """The value or the error of a unit."""

    unit: Unit
    value: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        """Give the outcome to the future."""
        if self.error is not None:
            self.unit.future.set_exception(self.error)
        else:
            self.unit.future.set_result(self.value)


class CommitInDoubtError(Exception):
    """The connection broke during a commit: it may or may not have happened."""

    def __init__(self, reason: str, transaction_id: str, outcomes: list[UnitOutcome]) -> None:
        """`outcomes` are those of the units if the commit happened."""
        super().__init__(reason)
        self.transaction_id = transaction_id
        self.outcomes = outcomes


def read_status(raw: RawConnection, transaction_id: str) -> str | None:
    """Return whether a transaction is `committed`, `aborted` or `in progress`; None if too old."""
    row = raw.execute(_STATUS, {"id": transaction_id}).fetchone()
    return None if row is None else row[0]


def run_transaction(
    raw: RawConnection, group: Sequence[Unit], lock: str | None
) -> list[UnitOutcome]:
    """Run units in one transaction, each in a savepoint if there are several.

    Statements are sent in a pipeline. Before the commit the id of the transaction is read, because
    it tells later whether a commit without an answer happened.

    The last statement is sent after the pipeline: psycopg ends a pipeline with a Sync and a Flush.
    A pooler that sees this Flush after the end of the transaction gives the idle client another
    connection to the server, and never takes it back.
    """
    wait = f"{max(1, int((min(unit.deadline for unit in group) - time.monotonic()) * 1000))}ms"
    outcomes: list[UnitOutcome] = []
    connection = PostgresConnection(raw)
    transaction_id: str | None = None
    try:
        with raw.pipeline():
            raw.execute("BEGIN")
            if lock is not None:
                raw.execute(_LOCK, {"wait": wait, "key": lock})
            else:
                raw.execute(_LOCK_TIMEOUT, {"wait": wait})
            for unit in group:
                outcomes.append(_run_unit(connection, unit, alone=len(group) == 1))
            found = raw.execute(_TRANSACTION_ID)
        if len(group) == 1 and outcomes[0].error is not None:
            raw.execute("ROLLBACK")
            return outcomes
        row = found.fetchone()
        transaction_id = None if row is None else row[0]  # None if nothing was changed
        raw.execute("COMMIT")
    except psycopg.OperationalError as failed:
        if transaction_id is not None and _is_in_doubt(failed):
            raise CommitInDoubtError(str(failed), transaction_id, outcomes) from failed
        if isinstance(failed, errors.PipelineAborted) and len(group) > 1:
            raise GroupFailedError from failed
        raise
    except psycopg.Error as failed:  # of a unit that did not wait for the answer of its statement
        if len(group) > 1:
            raise GroupFailedError from failed
        raise
    return outcomes


def _is_in_doubt(failed: psycopg.OperationalError) -> bool:
    """Tell whether a failed commit may have happened.

    An error of the transaction means that nothing was committed. A missing answer proves nothing,
    and a server that shuts down (class 57P) may have committed before.
    """
    if isinstance(failed, errors.PipelineAborted):
        return False
    return failed.sqlstate is None or failed.sqlstate.startswith(("57P", "08"))


def _run_unit(connection: PostgresConnection, unit: Unit, *, alone: bool) -> UnitOutcome:
    """Run one unit. A database error aborts the transaction, so it is raised."""
    if not alone:
        connection.raw.execute("SAVEPOINT unit")
    try:
        value = unit.work(connection)
    except psycopg.Error as failed:
        if alone or isinstance(failed, (*LOST_CONNECTION, *CONFLICTS)):
            raise
        raise GroupFailedError from failed
    except BaseException as error:  # of this unit alone: the rest of the group continues
        if not alone:
            connection.raw.execute("ROLLBACK TO unit")
        return UnitOutcome(unit, error=error)
    if not alone:
        connection.raw.execute("RELEASE unit")
    return UnitOutcome(unit, value)
