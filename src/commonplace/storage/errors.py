"""Error codes of storage. Domains translate `BusyError` into the code of their contract."""

from __future__ import annotations

from commonplace.kernel.errors import Code, CommonplaceError, Kind

STORAGE_BUSY = Code(
    "STORAGE_BUSY",
    Kind.UNAVAILABLE,
    "Another writer held the database for longer than the lock timeout; retry.",
)
STORAGE_FULL = Code(
    "STORAGE_FULL", Kind.UNAVAILABLE, "The disk or the database is full; nothing was written."
)
STORAGE_DAMAGED = Code(
    "STORAGE_DAMAGED",
    Kind.DAMAGED,
    "The database file is damaged or is not a database; restore it from a backup.",
)
STORAGE_UNAVAILABLE = Code(
    "STORAGE_UNAVAILABLE",
    Kind.UNAVAILABLE,
    "The database cannot be reached, or aborted the transaction; the change may be missing.",
)
STORAGE_REPLACED = Code(
    "STORAGE_REPLACED",
    Kind.UNAVAILABLE,
    "The data folder or a database file was removed or replaced while the server was running; "
    "nothing is acknowledged until it restarts.",
)
PATH_UNUSABLE = Code(
    "PATH_UNUSABLE",
    Kind.INVALID_DATA,
    "A required folder or file cannot be created, read or written; the message names it.",
)
SCHEMA_MISMATCH = Code(
    "SCHEMA_MISMATCH",
    Kind.INVALID_DATA,
    "The schema version of the database is not the one that this program needs.",
)
NOT_MOVED_IN = Code(
    "NOT_MOVED_IN",
    Kind.INVALID_DATA,
    "The data folder of a server holds rules or keys that the database of the team lacks.",
)

CODES: tuple[Code, ...] = (
    STORAGE_BUSY,
    STORAGE_FULL,
    STORAGE_DAMAGED,
    STORAGE_UNAVAILABLE,
    STORAGE_REPLACED,
    PATH_UNUSABLE,
    SCHEMA_MISMATCH,
    NOT_MOVED_IN,
)


def disk_full() -> CommonplaceError:
    """Return the error of a write to a full disk."""
    return CommonplaceError(
        STORAGE_FULL,
        "The disk is full; nothing was written.",
        hint="Free space on the disk of the data folder, or delete files, entries or "
        "instructions; then retry.",
        retryable=True,
    )


def database_damaged(reason: str) -> CommonplaceError:
    """Return the error of a database that SQLite finds malformed."""
    return CommonplaceError(
        STORAGE_DAMAGED,
        f"The database is damaged: {reason}.",
        hint="Ask the operator to run `commonplace doctor`: it tells whether to rebuild the index "
        "or to restore a backup.",
    )


def document_damaged(name: str) -> CommonplaceError:
    """Return the error of a stored JSON document that cannot be parsed."""
    return CommonplaceError(
        STORAGE_DAMAGED,
        f"{name} is damaged: it is not a valid JSON document.",
        hint="Nothing was written. Ask the operator to restore it from a backup, or to move it "
        "away.",
    )


def storage_replaced(what: str) -> CommonplaceError:
    """Return the error of a change to a file that was removed or replaced."""
    return CommonplaceError(
        STORAGE_REPLACED,
        f"{what} was removed or replaced while the server was running; the change was not "
        f"acknowledged.",
        hint="Put the data folder back, or restart the server to work with the new one.",
    )


class BusyError(CommonplaceError):
    """The write lock was not free in time; nothing was written."""

    def __init__(self, waited_seconds: float) -> None:
        super().__init__(
            STORAGE_BUSY,
            f"Another writer held the database lock for {waited_seconds:.1f} s.",
            hint="Retry; if it persists, look for a process that holds a long transaction.",
            details={"waited_seconds": round(waited_seconds, 3)},
            retryable=True,
        )
