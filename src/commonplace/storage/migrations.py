"""Versioned schema: each component keeps numbered `.sql` files and its own version number in one
table.

A component's folder (for example `commonplace.files` / `migrations/sqlite`) holds `0001_title.sql`,
`0002_title.sql`, ...; a file that was released is never edited. `migrate` brings a database up in
one transaction per component, safely beside other processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import apsw

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import SCHEMA_MISMATCH
from commonplace.storage.sqlite import Connection, Database

_VERSIONS = (
    "CREATE TABLE IF NOT EXISTS schema_version (component TEXT PRIMARY KEY, version "
    "INTEGER NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    title: str
    sql: str


def load_migrations(package: str, folder: str) -> tuple[Migration, ...]:
    """The numbered files of a folder, in order, without gaps."""
    found = []
    for entry in resources.files(package).joinpath(folder).iterdir():
        if entry.name.endswith(".sql"):
            number, _, title = entry.name[: -len(".sql")].partition("_")
            found.append(Migration(int(number), title, entry.read_text("utf-8")))
    found.sort(key=lambda migration: migration.version)
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"{package}/{folder}: migrations must be numbered 1, 2, 3, ...")
    return tuple(found)


def schema_version(connection: Connection, component: str) -> int:
    """The version a database has of a component; 0 = none."""
    tables = connection.execute(
        "SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'"
    ).fetchone()
    row = (
        connection.execute(
            "SELECT version FROM schema_version WHERE component = ?", (component,)
        ).fetchone()
        if tables
        else None
    )
    return int(row[0]) if row else 0


def migrate(
    database: Database, component: str, migrations: tuple[Migration, ...]
) -> tuple[int, int]:
    """Bring a component's schema up to the newest version; returns (before, after).

    Refuses a schema newer than this program.
    """
    newest = migrations[-1].version
    with database.snapshot() as connection:
        if (current := schema_version(connection, component)) == newest:
            return current, current  # the usual case takes no write lock

    def apply(connection: Connection) -> tuple[int, int]:
        connection.execute(_VERSIONS)
        before = schema_version(connection, component)
        _refuse_newer(component, before, newest)
        for migration in migrations[before:]:
            for _ in connection.execute(migration.sql):
                pass
        connection.execute(
            "INSERT INTO schema_version VALUES (?, ?) ON CONFLICT (component) DO UPDATE SET "
            "version = excluded.version",
            (component, newest),
        )
        return before, newest

    return database.write_now(apply, lock_timeout_seconds=60)


def require_current(path: Path, component: str, migrations: tuple[Migration, ...]) -> None:
    """Raise unless a file can be read and its schema is not newer than this program.

    A file or schema not there yet is made when needed.
    """
    if not path.exists():
        return
    connection: Connection | None = None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(1000)
        _refuse_newer(component, schema_version(connection, component), migrations[-1].version)
    finally:
        if connection is not None:
            connection.close()


def _refuse_newer(component: str, found: int, newest: int) -> None:
    if found > newest:
        raise CommonplaceError(
            SCHEMA_MISMATCH,
            f"The database's {component} schema is version {found}; this program knows up to "
            f"{newest}.",
            hint="Upgrade commonplace, or restore the backup made before the upgrade.",
            details={"component": component, "found": found, "known": newest},
        )
