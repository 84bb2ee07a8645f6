"""Schema versions in PostgreSQL: applied by `commonplace migrate`, never by a server.

One transaction upgrades all components under one lock, so that several migrating processes and a
crash in the middle do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import SCHEMA_MISMATCH
from commonplace.storage.migrations import Migration, load_migrations
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('commonplace schema', 0))"
_VERSIONS = (
    "CREATE TABLE IF NOT EXISTS schema_version (component TEXT PRIMARY KEY, version "
    "INTEGER NOT NULL)"
)
_READ = "SELECT component, version FROM schema_version"
_EXISTS = "SELECT to_regclass('schema_version') IS NOT NULL"
_SET = (
    "INSERT INTO schema_version VALUES (%(component)s, %(version)s) ON CONFLICT (component) "
    "DO UPDATE SET version = excluded.version"
)


@dataclass(frozen=True, slots=True)
class SchemaComponent:
    """A part of the schema with its own version."""

    name: str
    package: str
    folder: str = "migrations/postgres"

    def migrations(self) -> tuple[Migration, ...]:
        """Return the migrations of the component."""
        return load_migrations(self.package, self.folder)


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """The version of a component in a database (0 means none), and the one this program needs."""

    component: str
    found: int
    needed: int


STORAGE = SchemaComponent("storage", "commonplace.storage", "schema")
CREDENTIALS = SchemaComponent("credentials", "commonplace.storage.credentials", "schema")


def read_versions(
    connection: PostgresConnection, components: Sequence[SchemaComponent]
) -> list[SchemaVersion]:
    """Return the versions of components in a database."""
    row = connection.execute(_EXISTS).fetchone()
    found: dict[str, int] = {}
    if row is not None and row[0]:
        found = {str(component): int(version) for component, version in connection.execute(_READ)}
    return [
        SchemaVersion(
            component.name, found.get(component.name, 0), component.migrations()[-1].version
        )
        for component in components
    ]


def require_current(database: PostgresDatabase, components: Sequence[SchemaComponent]) -> None:
    """Raise SCHEMA_MISMATCH unless a database has exactly the versions of this program."""
    require_versions(database.read_now(lambda connection: read_versions(connection, components)))


def require_versions(versions: Sequence[SchemaVersion]) -> None:
    """Raise SCHEMA_MISMATCH unless every component has the version of this program."""
    for version in versions:
        if version.found > version.needed:
            raise _too_new(version)
        if version.found < version.needed:
            raise CommonplaceError(
                SCHEMA_MISMATCH,
                f"The database's {version.component} schema is version {version.found}; this "
                f"program needs {version.needed}.",
                hint="Run: commonplace migrate",
                details={
                    "component": version.component,
                    "found": version.found,
                    "needed": version.needed,
                },
            )


def migrate(
    database: PostgresDatabase, components: Sequence[SchemaComponent]
) -> list[SchemaVersion]:
    """Upgrade every component to the version of this program; return the versions before.

    Raises SCHEMA_MISMATCH for a schema newer than this program.
    """
    raw = database.connect()
    connection = PostgresConnection(raw)
    try:
        with raw.transaction():
            connection.execute(_LOCK)
            connection.execute(_VERSIONS)
            before = read_versions(connection, components)
            for component, version in zip(components, before, strict=True):
                if version.found > version.needed:
                    raise _too_new(version)
                for migration in component.migrations()[version.found :]:
                    _apply(connection, component, migration)
                connection.execute(
                    _SET, {"component": version.component, "version": version.needed}
                )
        return before
    finally:
        raw.close()


def _apply(
    connection: PostgresConnection, component: SchemaComponent, migration: Migration
) -> None:
    try:
        connection.execute(migration.sql)
    except (
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.UndefinedFile,
        psycopg.errors.FeatureNotSupported,
    ) as refused:
        reason = " ".join(str(refused).split())[:300]
        raise CommonplaceError(
            SCHEMA_MISMATCH,
            f"Migration {component.name} {migration.version} ({migration.title}) was refused: "
            f"{reason}",
            hint="Install pgvector on the server, let a superuser run CREATE EXTENSION vector, "
            "then run: commonplace migrate",
        ) from refused


def _too_new(version: SchemaVersion) -> CommonplaceError:
    return CommonplaceError(
        SCHEMA_MISMATCH,
        f"The database's {version.component} schema is version {version.found}; this program "
        f"supports up to {version.needed}.",
        hint="Upgrade commonplace on this machine, or restore the backup made before the upgrade.",
        details={"component": version.component, "found": version.found, "known": version.needed},
    )
