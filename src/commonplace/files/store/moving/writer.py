"""Store files of a data folder in PostgreSQL, and remember which versions came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from commonplace.files.engine.change import FileChange, SizeLimits
from commonplace.files.model import FilePath, Project, Provenance
from commonplace.files.store.file_store import lock_of
from commonplace.files.store.moving.version import (
    Arrival,
    FolderVersion,
    IncomingFile,
    VersionKey,
)
from commonplace.files.store.mutations import delete_file
from commonplace.files.store.postgres import INDEX_LOCK_SECONDS, QUERIES
from commonplace.files.store.project_rows import ProjectRows
from commonplace.files.store.units import microseconds
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import NOT_MOVED_IN
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.relational import Row

Stored = tuple[Arrival, int]
"""What became of a version, and the id of the row that was added, else 0."""


class FileArrivals:
    """Stores versions of files in groups. Each group is a transaction under the project's lock.

    A version is stored with its times, its provenance and what syncs brought to its path, and is
    queued to be indexed. Its content is read back and compared, and it is noted as moved, in the
    same transaction: a run that was killed can be repeated, and what the team changes or deletes
    later does not come back. What the folder changed or deleted since it came follows, unless the
    team changed it too.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        origin: str,
        limits: SizeLimits,
        now: Callable[[], int] = microseconds,
    ) -> None:
        """`origin` names the data folder."""
        self._database = database
        self._origin = origin
        self._limits = limits
        self._now = now

    def moved(self, tenant: str, project: Project) -> set[VersionKey]:
        """Return the versions of a project that came before, from any folder."""
        found = self._ask("moved_versions", tenant, project)
        return {(str(path), str(digest), int(at)) for path, digest, at in found}

    def lacking(
        self, tenant: str, project: Project, versions: Sequence[FolderVersion]
    ) -> list[FolderVersion]:
        """Return the versions of a project that `store` would bring, limits aside."""
        known = self.moved(tenant, project)
        found = self._ask("live_files", tenant, project)
        live = {str(path): (int(updated_at), origin) for path, updated_at, origin in found}

        def is_free(version: FolderVersion) -> bool:
            updated_at, origin = live.get(version.path, (-1, self._origin))
            return origin == self._origin and updated_at < version.updated_at

        return [
            version
            for version in versions
            if version.key not in known and (version.deleted_at or is_free(version))
        ]

    def store(
        self, tenant: str, project: Project, group: Sequence[IncomingFile]
    ) -> list[Arrival | CommonplaceError]:
        """Store versions; return what became of each, or the rule that forbids it.

        Raises NOT_MOVED_IN, and stores none of them, if a content read back differs.
        """

        def work(connection: PostgresConnection) -> list[Arrival | CommonplaceError]:
            rows = ProjectRows(connection, QUERIES, tenant, project)
            results = [self._store_version(rows, file) for file in group]
            added = {
                result[1]: file.version
                for file, result in zip(group, results, strict=True)
                if not isinstance(result, CommonplaceError) and result[1]
            }
            _require_same_content(rows, added)
            return [
                result if isinstance(result, CommonplaceError) else result[0] for result in results
            ]

        return self._database.write_now(
            work, lock=lock_of(tenant, project), lock_timeout_seconds=INDEX_LOCK_SECONDS
        )

    def _ask(self, name: str, tenant: str, project: Project) -> list[Row]:
        values = {"tenant": tenant, "project": project}
        return self._database.read_now(
            lambda connection: connection.execute(QUERIES[name], values).fetchall()
        )

    def _store_version(self, rows: ProjectRows, file: IncomingFile) -> Stored | CommonplaceError:
        version = file.version
        noted = {"path": version.path, "hash": version.content_hash}
        if rows.first("moved_origin", deleted_at=version.deleted_at, **noted) is not None:
            return Arrival.PRESENT, 0
        try:
            outcome = self._bury(rows, file) if version.deleted_at else self._place(rows, file)
        except CommonplaceError as refused:
            return refused  # nothing was written: the rules are asked before
        if outcome[0] is not Arrival.DIFFERS:
            brought = outcome[0] is Arrival.ADDED  # else it belongs to the team
            origin = self._origin if brought else ""
            rows.ask("moved_put", deleted_at=version.deleted_at, origin=origin, **noted)
            # what was synchronised belongs to the live file: a new one comes with its own state
            put = "sync_entry_put" if outcome[1] and not version.deleted_at else "synced_put"
            for record in file.synced:
                rows.ask(put, path=version.path, origin=record.origin, hash=record.content_hash)
        return outcome

    def _place(self, rows: ProjectRows, file: IncomingFile) -> Stored:
        """Store a live file unless the path is taken. Raises the rule that forbids it."""
        version = file.version
        found, situation = rows.situation(version.path)
        if found is not None and found[4] == version.content_hash:
            return Arrival.PRESENT, 0
        if found is not None and not self._succeeds(rows, version, found):
            return Arrival.DIFFERS, 0
        FileChange(version.path, lambda old: file.content, self._limits).decide(situation)
        if found is not None:
            self._remove_brought(rows, version.path, found, self._now())
        return self._insert(rows, file)

    def _bury(self, rows: ProjectRows, file: IncomingFile) -> Stored:
        """Store a deleted file; what came while it was live is deleted, as the folder did."""
        version = file.version
        found = None if version.replaced else rows.first("file", path=version.path)
        if found is None or found[3] > version.updated_at:
            return self._insert(rows, file)
        if not self._brought(rows, version.path, found):
            return self._insert(rows, file)
        same = found[4] == version.content_hash
        # an older version goes first, so that `restore` brings back the newest
        at = version.deleted_at if same else version.deleted_at - 1
        self._remove_brought(rows, version.path, found, at)
        return (Arrival.ADDED, 0) if same else self._insert(rows, file)

    def _succeeds(self, rows: ProjectRows, version: FolderVersion, found: Row) -> bool:
        """Tell whether the live file is what this folder brought, and was not changed since."""
        return found[3] < version.updated_at and self._brought(rows, version.path, found)

    def _brought(self, rows: ProjectRows, path: FilePath, found: Row) -> bool:
        """Tell whether this folder brought the content of a live file."""
        noted = rows.first("moved_origin", path=path, hash=found[4], deleted_at=0)
        return noted is not None and noted[0] == self._origin

    def _remove_brought(self, rows: ProjectRows, path: FilePath, found: Row, at: int) -> None:
        """Delete a live file that this folder brought."""
        delete_file(rows, path, at)
        rows.ask("moved_forget", path=path, hash=found[4], origin=self._origin)

    def _insert(self, rows: ProjectRows, file: IncomingFile) -> Stored:
        version = file.version
        row = rows.first(
            "version_insert",
            path=version.path,
            size=len(file.content),
            hash=version.content_hash,
            created_at=version.created_at,
            updated_at=version.updated_at,
            deleted_at=version.deleted_at,
            content=file.content,
        )
        assert row is not None
        identity = int(row[0])
        if version.deleted_at:
            rows.add_to_totals(0, 0)  # the project is known, also if all its files are deleted
        else:
            rows.place(FilePath(version.path), identity, None, version.updated_at)
            rows.add_to_totals(1, len(file.content))
            rows.enqueue(version.path, "UPSERT", version.updated_at)
        if version.provenance != Provenance():
            rows.note_source(identity, version.provenance)
        return Arrival.ADDED, identity


def _require_same_content(rows: ProjectRows, added: Mapping[int, FolderVersion]) -> None:
    """Compare hashes of the stored contents, computed by the database, with those of the folder."""
    if not added:
        return
    found = rows.ask("version_digests", ids=list(added)).fetchall()
    stored = {int(row[0]): str(row[1]) for row in found}
    wrong = [v.path for id_, v in added.items() if stored.get(id_) != v.content_hash]
    if wrong:
        raise CommonplaceError(
            NOT_MOVED_IN,
            f"{len(wrong)} files were not stored as they were sent: {', '.join(wrong[:5])}.",
            hint="Run the command again.",
        )
