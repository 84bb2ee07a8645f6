"""Read the files of a data folder that served alone."""

from __future__ import annotations

from collections import defaultdict

from commonplace.files.model import FilePath, Project, Provenance
from commonplace.files.store.moving.version import FolderVersion, SyncRecord, SyncRecords
from commonplace.files.store.sqlite import open_schema
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite.database import Database

QUERIES = load_queries("commonplace.files.store.moving", "folder.sql")


class FolderFiles:
    """The files of all tenants in a SQLite database, live or deleted.

    Deleted versions before `retained_since` (microseconds) are left out: they cannot be restored.
    """

    def __init__(self, database: Database, *, deleted: bool, retained_since: int) -> None:
        open_schema(database)
        self._database = database
        self._which = {"deleted": int(deleted), "after": retained_since}

    def projects(self) -> list[tuple[str, Project, int]]:
        """Return tenants (by hash) and projects with the number of their files."""
        found = self._database.reader().execute(QUERIES["projects"], self._which)
        return [(str(tenant), Project(project), int(count)) for tenant, project, count in found]

    def versions(self, tenant: str, project: Project) -> list[FolderVersion]:
        """Return the files of a project by path, without their content."""
        values = {"tenant": tenant, "project": project, **self._which}
        found = self._database.reader().execute(QUERIES["versions"], values)
        return [
            FolderVersion(
                id=row[0],
                path=FilePath(row[1]),
                size=row[2],
                content_hash=row[3],
                created_at=row[4],
                updated_at=row[5],
                deleted_at=row[6],
                provenance=Provenance(row[7], row[8]),
                replaced=bool(row[9]),
            )
            for row in found
        ]

    def content(self, version: FolderVersion) -> bytes | None:
        """Return the content of a file; None if it was changed or removed meanwhile."""
        values = {"id": version.id, "hash": version.content_hash}
        row = self._database.reader().execute(QUERIES["content"], values).fetchone()
        return bytes(row[0]) if row is not None else None

    def synced(self, tenant: str, project: Project) -> SyncRecords:
        """Return what `files sync` brought to each path of a project."""
        found: defaultdict[FilePath, list[SyncRecord]] = defaultdict(list)
        values = {"tenant": tenant, "project": project}
        for path, origin, digest in self._database.reader().execute(QUERIES["synced"], values):
            found[FilePath(path)].append(SyncRecord(origin, digest))
        return found
