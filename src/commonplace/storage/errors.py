"""What can go wrong between us and a database, as stable codes.

Domains translate `BusyError` into their own contract's code.
"""

from __future__ import annotations

from commonplace.kernel.errors import Code, CommonplaceError, Kind

STORAGE_BUSY = Code(
    "STORAGE_BUSY",
    Kind.UNAVAILABLE,
    "Another writer holds the database for longer than the lock timeout; retry.",
)
STORAGE_FULL = Code(
    "STORAGE_FULL", Kind.UNAVAILABLE, "The disk or the database is full; nothing was written."
)
STORAGE_DAMAGED = Code(
    "STORAGE_DAMAGED",
    Kind.INTERNAL,
    "The database file is damaged or is not a database; restore it from a backup.",
)
STORAGE_UNAVAILABLE = Code(
    "STORAGE_UNAVAILABLE",
    Kind.UNAVAILABLE,
    "The database cannot be reached, or gave a transaction up; what was asked may not be done.",
)
STORAGE_REPLACED = Code(
    "STORAGE_REPLACED",
    Kind.UNAVAILABLE,
    "The data folder or a database file was removed or replaced while the server runs; nothing "
    "is acknowledged until it restarts.",
)
PATH_UNUSABLE = Code(
    "PATH_UNUSABLE",
    Kind.INVALID_DATA,
    "A folder or file that is needed cannot be made, read or written; the message names it.",
)
SCHEMA_MISMATCH = Code(
    "SCHEMA_MISMATCH",
    Kind.INVALID_DATA,
    "The database has another schema version than this program needs.",
)

CODES: tuple[Code, ...] = (
    STORAGE_BUSY,
    STORAGE_FULL,
    STORAGE_DAMAGED,
    STORAGE_UNAVAILABLE,
    STORAGE_REPLACED,
    PATH_UNUSABLE,
    SCHEMA_MISMATCH,
)


def disk_full() -> CommonplaceError:
    """Return the error of a write that found no room on the disk."""
    return CommonplaceError(
        STORAGE_FULL,
        "The disk is full; nothing was written.",
        hint="Free space on the disk of the data folder, or delete files, entries or "
        "instructions; then retry.",
        retryable=True,
    )


def damaged(reason: str) -> CommonplaceError:
    """Return the error of a database that SQLite finds malformed."""
    return CommonplaceError(
        STORAGE_DAMAGED,
        f"The database is damaged: {reason}.",
        hint="Ask the operator to run `commonplace doctor`: it says whether to rebuild the index "
        "or to restore a backup.",
    )


def damaged_document(name: str) -> CommonplaceError:
    """Return the error of a JSON document of ours that cannot be read."""
    return CommonplaceError(
        STORAGE_DAMAGED,
        f"{name} is damaged: it is not the JSON document it was.",
        hint="Ask the operator to restore it from a backup, or to move it away; nothing was "
        "written.",
    )


def replaced(what: str) -> CommonplaceError:
    """Return the error of a change that would go to a file which has lost its name."""
    return CommonplaceError(
        STORAGE_REPLACED,
        f"{what} was removed or replaced while the server was running; the change was not "
        f"acknowledged.",
        hint="Put the data folder back, or restart the server to work with the new one.",
    )


class BusyError(CommonplaceError):
    """The write lock was not free within its time; nothing was written."""

    def __init__(self, waited_seconds: float) -> None:
        super().__init__(
            STORAGE_BUSY,
            f"The database was locked by another writer for {waited_seconds:.1f} s.",
            hint="Retry; if it persists, look for a process that holds a long transaction.",
            details={"waited_seconds": round(waited_seconds, 3)},
            retryable=True,
        )
