"""Versioned schema in PostgreSQL: the same numbered files as for SQLite, applied by `commonplace
migrate` and never by a server.

Each component's folder `migrations/postgres` holds `0001_title.sql`, ...; a released file is never
edited. One transaction brings all components up, under one lock, so that several migrating
processes and a crash in the middle do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import SCHEMA_MISMATCH
from commonplace.storage.migrations import Migration, load_migrations
from commonplace.storage.postgres.database import Connection, PostgresDatabase

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
class Component:
    """A part of the schema with its own version: `Component("files", "commonplace.files")`."""

    name: str
    package: str
    folder: str = "migrations/postgres"

    def migrations(self) -> tuple[Migration, ...]:
        return load_migrations(self.package, self.folder)


@dataclass(frozen=True, slots=True)
class Standing:
    """Which version a database has of a component (0 = none), and which this program needs."""

    component: str
    found: int
    needed: int


STORAGE = Component("storage", "commonplace.storage", "schema")


def standing(connection: Connection, components: Sequence[Component]) -> list[Standing]:
    row = connection.execute(_EXISTS).fetchone()
    found: dict[str, int] = {}
    if row is not None and row[0]:
        found = {str(component): int(version) for component, version in connection.execute(_READ)}
    return [
        Standing(each.name, found.get(each.name, 0), each.migrations()[-1].version)
        for each in components
    ]


def require(database: PostgresDatabase, components: Sequence[Component]) -> None:
    """Refuse a database that is not exactly at this program's versions, and say what to run."""
    require_of(database.read_now(lambda connection: standing(connection, components)))


def require_of(standings: Sequence[Standing]) -> None:
    """Raise SCHEMA_MISMATCH unless every component is at this program's version."""
    for each in standings:
        if each.found > each.needed:
            raise _newer(each)
        if each.found < each.needed:
            raise CommonplaceError(
                SCHEMA_MISMATCH,
                f"The database's {each.component} schema is version {each.found}; this program "
                f"needs {each.needed}.",
                hint="Run: commonplace migrate",
                details={"component": each.component, "found": each.found, "needed": each.needed},
            )


def migrate(database: PostgresDatabase, components: Sequence[Component]) -> list[Standing]:
    """Bring every component up to this program's version; what was found before.

    Refuses a newer schema.
    """
    raw = database.connect()
    connection = Connection(raw)
    try:
        with raw.transaction():
            connection.execute(_LOCK)
            connection.execute(_VERSIONS)
            before = standing(connection, components)
            for component, each in zip(components, before, strict=True):
                if each.found > each.needed:
                    raise _newer(each)
                for migration in component.migrations()[each.found :]:
                    _apply(connection, component, migration)
                connection.execute(_SET, {"component": each.component, "version": each.needed})
        return before
    finally:
        raw.close()


def _apply(connection: Connection, component: Component, migration: Migration) -> None:
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


def _newer(each: Standing) -> CommonplaceError:
    return CommonplaceError(
        SCHEMA_MISMATCH,
        f"The database's {each.component} schema is version {each.found}; this program knows up "
        f"to {each.needed}.",
        hint="Upgrade commonplace on this machine, or restore the backup made before the upgrade.",
        details={"component": each.component, "found": each.found, "known": each.needed},
    )
