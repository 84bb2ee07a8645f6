"""Consistent copies of SQLite files, checked before they enter an archive."""

from __future__ import annotations

import shutil
from pathlib import Path

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import PATH_UNUSABLE, STORAGE_DAMAGED, STORAGE_FULL
from commonplace.storage.integrity.checks import DatabaseChecks, Remedy, find_damage


def copy_checked(path: Path, work: Path, checks: DatabaseChecks) -> Path:
    """Copy a database into the folder `work`. Raises STORAGE_DAMAGED if the copy is damaged."""
    copy = _copy_database(path, work)
    damage = find_damage(checks, copy)
    if damage:
        worst = next((part for part in damage if part.remedy == "restore"), damage[0])
        raise damaged_file(path, f"{worst.part}: {worst.problem}", worst.remedy)
    return copy


def _copy_database(path: Path, work: Path) -> Path:
    """Copy with SQLite's backup API: one consistent state, whatever is being written."""
    import apsw

    copy = work / "database"
    copy.unlink(missing_ok=True)
    target = apsw.Connection(str(copy))
    source: apsw.Connection | None = None
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        source.set_busy_timeout(30_000)
        with target.backup("main", source, "main") as running:
            while not running.done:
                running.step(-1)
        target.pragma("journal_mode", "delete")
    except (apsw.NotADBError, apsw.CorruptError) as damaged:
        raise damaged_file(path, str(damaged), "restore") from damaged
    except apsw.Error as failed:
        raise _copy_failed(path, copy, failed) from failed
    finally:
        target.close()
        if source is not None:
            source.close()
    return copy


def _copy_failed(path: Path, copy: Path, failed: Exception) -> CommonplaceError:
    """Explain an error of SQLite: a full disk and an unwritable folder have several."""
    free = shutil.disk_usage(copy.parent).free
    if type(failed).__name__ == "FullError" or free < path.stat().st_size:
        hint = (
            f"{path.name} is copied beside the archive. Free space there, or write the archive "
            f"elsewhere."
        )
        return CommonplaceError(
            STORAGE_FULL,
            f"Cannot write {copy.parent.parent}: the disk is full.",
            hint=hint,
            retryable=True,
        )
    hint = (
        "SQLite creates a file beside a database that it reads: copy a read-only data folder, "
        "and back up the copy."
    )
    why = "it cannot be opened" if type(failed).__name__ == "CantOpenError" else str(failed)
    return CommonplaceError(
        PATH_UNUSABLE, f"Cannot copy {path}: {why}.", hint=hint, details={"path": str(path)}
    )


def damaged_file(path: Path, reason: str, remedy: Remedy) -> CommonplaceError:
    """Return the error of a file that cannot be backed up because it is damaged."""
    hint = (
        "Only derived data is damaged: stop the server and run `commonplace rebuild`, then "
        "back up again."
    )
    if remedy == "restore":
        hint = (
            "Restore an earlier backup: commonplace restore ARCHIVE --force. `commonplace "
            "doctor` lists the damage."
        )
    message = (
        f"{path.name} cannot be backed up: it is damaged ({reason}). No archive was written; "
        f"an existing one was kept."
    )
    return CommonplaceError(
        STORAGE_DAMAGED, message, hint=hint, details={"file": path.name, "remedy": remedy}
    )
