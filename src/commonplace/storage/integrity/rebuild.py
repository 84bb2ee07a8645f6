"""Rebuild a damaged SQLite file from the tables that cannot be derived.

The damaged file is kept in a separate folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.durability import sync_file, sync_folder
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.private_files import make_private_file, make_private_folder
from commonplace.storage.errors import STORAGE_DAMAGED, disk_full
from commonplace.storage.integrity.checks import DatabaseChecks, find_damage

ASIDE = "damaged"  # folder in the data folder; left out of backups
SUFFIXES = ("", "-wal", "-shm")
Refill = Callable[[apsw.Connection], None]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A rebuilt file: how many rows were copied, and where the damaged file is."""

    file: str
    rows: int
    kept: Path


def rebuild_file(checks: DatabaseChecks, refill: Refill = lambda connection: None) -> Rebuilt:
    """Copy the canonical tables into a new file and put it in place.

    `refill` queues what must be derived again. No other process may use the file. Raises
    STORAGE_DAMAGED, and changes nothing, if a canonical table is damaged.
    """
    lost = [damage for damage in find_damage(checks) if damage.remedy == "restore"]
    if lost:
        message = f"{checks.path.name} cannot be rebuilt: {lost[0].part}: {lost[0].problem}."
        raise CommonplaceError(
            STORAGE_DAMAGED, message, hint="Restore a backup: commonplace restore ARCHIVE --force."
        )
    draft = checks.path.with_name(f".{checks.path.name}.rebuild")
    draft.unlink(missing_ok=True)
    make_private_file(draft)
    try:
        rows = _copy(checks, draft, refill)
        return Rebuilt(checks.path.name, rows, _swap(checks.path, draft))
    except apsw.FullError as full:
        raise disk_full() from full
    finally:
        draft.unlink(missing_ok=True)


def _copy(checks: DatabaseChecks, draft: Path, refill: Refill) -> int:
    rows = 0
    with contextlib.closing(apsw.Connection(str(draft))) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("ATTACH ? AS old", (str(checks.path),))
        connection.execute("BEGIN IMMEDIATE")
        for table, statement in _schema(connection, "table"):
            connection.execute(statement)
            if checks.remedy(table) == "restore":
                source = f'old."{table}" NOT INDEXED'
                copied = f'INSERT INTO main."{table}" SELECT * FROM {source}'  # noqa: S608
                connection.execute(copied)
                rows += connection.changes()
        if connection.execute(
            "SELECT 1 FROM old.sqlite_schema WHERE name = 'sqlite_sequence'"
        ).fetchone():
            connection.execute("DELETE FROM main.sqlite_sequence")
            connection.execute("INSERT INTO main.sqlite_sequence SELECT * FROM old.sqlite_sequence")
        for kind in ("index", "view", "trigger"):
            for _, statement in _schema(connection, kind):
                connection.execute(statement)
        refill(connection)
        connection.execute("COMMIT")
        connection.execute("DETACH old")
    with draft.open("rb") as file:
        sync_file(file.fileno())
    return rows


def _schema(connection: apsw.Connection, kind: str) -> Iterator[tuple[str, str]]:
    found = connection.execute(
        "SELECT name, sql FROM old.sqlite_schema WHERE type = ? AND sql IS NOT NULL AND "
        "substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid",
        (kind,),
    ).fetchall()
    return iter([(str(name), str(sql)) for name, sql in found])


def _swap(path: Path, draft: Path) -> Path:
    """Put the new file in place; move the old one, with its log, to a separate folder."""
    stamp = "".join(character for character in iso(utc_now()) if character.isdigit())
    aside = path.parent / ASIDE / stamp
    make_private_folder(aside)
    for suffix in SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(aside / f"{path.name}{suffix}")
    draft.rename(path)
    sync_folder(path.parent)
    return aside
