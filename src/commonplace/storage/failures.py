"""Translate failures of the machine and of databases into errors that a caller may see.

SQL statements, texts of database drivers and paths of this machine belong in the log, not in
answers.
"""

from __future__ import annotations

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.access import FULL, REFUSALS, unusable
from commonplace.storage.errors import CODES, STORAGE_FULL, disk_full

DRIVERS = frozenset({"apsw", "psycopg", "sqlite3"})
SEE_LOG = "the server's log says why"


def explain(error: BaseException) -> CommonplaceError | None:
    """Return what a caller is told, or None where the error may be a defect."""
    if isinstance(error, CommonplaceError):
        return error
    if isinstance(error, OSError):
        if error.errno in FULL:
            return disk_full()
        return unusable(error) if error.errno in REFUSALS and error.filename is not None else None
    explained: BaseException = error
    module = type(error).__module__.partition(".")[0]
    if module == "apsw":
        from commonplace.storage.sqlite.database import translated

        explained = translated(error)
    elif module == "psycopg":
        from commonplace.storage.postgres.database import translated as translated_postgres

        explained = translated_postgres(error)
    if isinstance(explained, CommonplaceError):
        return explained
    cause = (
        explain(error.__cause__) if error.__cause__ is not None else None
    )  # search wraps what the database said
    return cause if cause is not None and cause.code in CODES else None


def means_full_disk(error: BaseException | None) -> bool:
    """Tell whether a full disk is what an error, or its cause, comes from."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if isinstance(error, CommonplaceError) and error.code is STORAGE_FULL:
            return True
        if type(error).__module__ == "apsw" and type(error).__name__ == "FullError":
            return True
        error = error.__cause__
    return False


def public_reason(error: BaseException) -> str:
    """Say why something failed in words that anybody may read."""
    if isinstance(error, CommonplaceError):
        return error.message
    if isinstance(error, OSError):
        return f"the disk or the network refused it; {SEE_LOG}"
    if is_private(error):
        return f"the database refused it; {SEE_LOG}"
    return f"{type(error).__name__}: {error}"


def is_private(error: BaseException) -> bool:
    """Whether the text of an error may hold a statement or what a driver says."""
    return any(kind.__module__.partition(".")[0] in DRIVERS for kind in type(error).__mro__)
