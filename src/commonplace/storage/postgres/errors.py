"""Errors of PostgreSQL as errors that callers may see."""

from __future__ import annotations

import logging

import psycopg
from psycopg import errors

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.storage.errors import STORAGE_FULL, STORAGE_UNAVAILABLE

log = logging.getLogger("commonplace.storage")

LOST_CONNECTION = (psycopg.OperationalError, psycopg.InterfaceError)
LOST_STATEMENT = (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName)
"""A prepared statement is on another connection than the one that a pooler gave us."""


def unavailable(message: str = "The database cannot be reached now.") -> CommonplaceError:
    """Return the error of a database that cannot be used.

    Addresses and reasons belong in the log only.
    """
    return CommonplaceError(
        STORAGE_UNAVAILABLE,
        message,
        hint="Retry in a moment. If it persists, ask the operator to check the database.",
        retryable=True,
    )


def commit_unknown() -> CommonplaceError:
    """Return the error of a change of which nobody knows whether it was made."""
    return CommonplaceError(
        STORAGE_UNAVAILABLE,
        "The database did not confirm the change; it may have been made.",
        hint="Read the current state before you repeat the change.",
        details={"outcome": "unknown"},
        retryable=True,
    )


def server_disk_full() -> CommonplaceError:
    """Return the error of a database server without free disk space."""
    return CommonplaceError(
        STORAGE_FULL,
        "The disk of the database server is full; nothing was written.",
        hint="Free space there, then retry.",
        retryable=True,
    )


def pools_transactions() -> CommonplaceError:
    """Return the error of a pooler in transaction mode that the settings do not know of."""
    return CommonplaceError(
        INVALID_CONFIG,
        "The database is behind a pooler that gives each transaction another connection.",
        hint="The operator must set settings.storage.prepared_statements to false, and "
        "settings.storage.direct_url to the address of the database itself.",
    )


def translate_error(error: BaseException) -> BaseException:
    """Return the error to raise for a lost connection; any other error is returned as it is."""
    if isinstance(error, LOST_STATEMENT):
        return pools_transactions()
    if isinstance(error, LOST_CONNECTION):
        log.warning("a statement failed: %s", describe_for_log(error))
        return unavailable()
    return error


def describe_for_log(error: BaseException) -> str:
    """Return the text of an error on one line. It has no password: libpq never prints it."""
    return " ".join(str(error).split())[:300]
