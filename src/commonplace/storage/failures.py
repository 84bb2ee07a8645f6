"""Failures of the machine and of databases as typed errors, so that none of them is reported as
a defect of the program.
"""

from __future__ import annotations

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk import FULL, REFUSALS, unusable
from commonplace.storage.errors import CODES, STORAGE_FULL, disk_full


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
        from commonplace.storage.sqlite import translated

        explained = translated(error)
    elif module == "psycopg":
        from commonplace.storage.postgres import translated as translated_postgres

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
