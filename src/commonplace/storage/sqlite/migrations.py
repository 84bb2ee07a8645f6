"""Schema versions in SQLite: `migrate` upgrades one component in one transaction.

Several processes may migrate at the same time: the write lock serialises them.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import SCHEMA_MISMATCH
from commonplace.storage.migrations import Migration
from commonplace.storage.sqlite.database import Connection, Database

_VERSIONS = (
    "CREATE TABLE IF NOT EXISTS schema_version (component TEXT PRIMARY KEY, version "
    "INTEGER NOT NULL) WITHOUT ROWID"
)


def schema_version(connection: Connection, component: str) -> int:
    """Return the version a database has of a component; 0 means none."""
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
    """Upgrade a component's schema to the newest version; return (before, after).

    Raises SCHEMA_MISMATCH for a schema newer than this program.
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
    """Raise SCHEMA_MISMATCH if the schema of a file is newer than this program.

    A missing file or schema is fine: it is created when needed.
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
            f"The database's {component} schema is version {found}; this program supports up "
            f"to {newest}.",
            hint="Upgrade commonplace, or restore the backup made before the upgrade.",
            details={"component": component, "found": found, "known": newest},
        )
