"""Translate failures of the machine and of databases into errors that a caller may see.

SQL statements, texts of database drivers and paths of this machine belong in the log, not in
answers.
"""

from __future__ import annotations

from commonplace.kernel.config.extras import explain_missing_module
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.access import FULL, REFUSALS, unusable_path
from commonplace.storage.errors import CODES, STORAGE_FULL, disk_full

DRIVERS = frozenset({"apsw", "psycopg", "sqlite3"})
SEE_LOG = "the server's log says why"


def explain_failure(error: BaseException) -> CommonplaceError | None:
    """Return the error to show to a caller, or None if it may be a defect of the program."""
    if isinstance(error, CommonplaceError):
        return error
    if isinstance(error, ModuleNotFoundError):
        return explain_missing_module(error)
    if isinstance(error, OSError):
        if error.errno in FULL:
            return disk_full()
        refused = error.errno in REFUSALS and error.filename is not None
        return unusable_path(error) if refused else None
    explained: BaseException = error
    module = type(error).__module__.partition(".")[0]
    if module == "apsw":
        from commonplace.storage.sqlite.errors import translate_error as translate_sqlite

        explained = translate_sqlite(error)
    elif module == "psycopg":
        from commonplace.storage.postgres.errors import translate_error as translate_postgres

        explained = translate_postgres(error)
    if isinstance(explained, CommonplaceError):
        return explained
    # Search wraps the errors of the database.
    cause = explain_failure(error.__cause__) if error.__cause__ is not None else None
    return cause if cause is not None and cause.code in CODES else None


def is_disk_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one of its causes, is a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if isinstance(error, CommonplaceError) and error.code is STORAGE_FULL:
            return True
        if type(error).__module__ == "apsw" and type(error).__name__ == "FullError":
            return True
        error = error.__cause__
    return False


def describe_publicly(error: BaseException) -> str:
    """Describe a failure in words that any caller may read."""
    if isinstance(error, CommonplaceError):
        return error.message
    if isinstance(error, OSError):
        return f"the disk or the network refused it; {SEE_LOG}"
    if is_driver_error(error):
        return f"the database refused it; {SEE_LOG}"
    return f"{type(error).__name__}: {error}"


def is_driver_error(error: BaseException) -> bool:
    """Tell whether an error comes from a database driver: its text may hold SQL or data."""
    return any(kind.__module__.partition(".")[0] in DRIVERS for kind in type(error).__mro__)
