"""Errors of SQLite as errors that callers may see."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import (
    PATH_UNUSABLE,
    STORAGE_DAMAGED,
    BusyError,
    database_damaged,
    disk_full,
)

UNUSABLE = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, apsw.IOError)
SMALLEST_ROOM_BYTES = 65_536  # the shared memory of the write-ahead log takes 32 kB


def translate_error(error: BaseException) -> BaseException:
    """Return the error to raise instead of one of SQLite; any other error is returned as it is."""
    if isinstance(error, apsw.FullError):
        return disk_full()
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return database_damaged("SQLite finds it malformed")
    if isinstance(error, UNUSABLE):
        return _unusable(error, "the database")
    return error


def translate_open_error(
    error: apsw.Error, path: Path, waited_seconds: float
) -> CommonplaceError | None:
    """Return the error of a file that could not be opened; None for one that is unknown."""
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return CommonplaceError(
            STORAGE_DAMAGED,
            f"{path.name} is not a usable database.",
            hint="Restore it from a backup.",
        )
    if isinstance(error, apsw.BusyError):
        return BusyError(waited_seconds)
    if isinstance(error, apsw.FullError):
        return disk_full()
    if isinstance(error, UNUSABLE):
        return disk_full() if _is_full(path.parent) else _unusable(error, str(path))
    return None


def _unusable(error: BaseException, place: str) -> CommonplaceError:
    return CommonplaceError(
        PATH_UNUSABLE,
        f"Cannot use {place}: {_describe(error)}.",
        hint="Check that its folder exists and that you may write to both.",
        details={"path": place},
    )


def _describe(error: BaseException) -> str:
    """Describe an error in our own words: the text of SQLite may name files and statements."""
    if isinstance(error, apsw.ReadOnlyError):
        return "it is read-only"
    if isinstance(error, apsw.IOError):
        return "reading or writing it failed"
    return "it cannot be opened"


def _is_full(folder: Path) -> bool:
    """Tell whether a disk has no room even for the files that SQLite creates beside a database."""
    try:
        return shutil.disk_usage(folder).free < SMALLEST_ROOM_BYTES
    except OSError:
        return False
