"""Bring the project files of a data folder into the database of a team."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from commonplace.bootstrap.move_in import MovedPart, hash_items
from commonplace.kernel.auth import LOCAL_TENANT, bearer_tenant, tenant_hash
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.audit.origin import FILE_NAME as ORIGIN
from commonplace.storage.audit.origin import read_origin
from commonplace.storage.credentials.keys import KeyStore

if TYPE_CHECKING:
    from commonplace.files.model import Project
    from commonplace.files.store.moving.reader import FolderFiles
    from commonplace.files.store.moving.version import FolderVersion, IncomingFile, SyncRecords
    from commonplace.files.store.moving.writer import FileArrivals
    from commonplace.kernel.settings import Settings
    from commonplace.storage.postgres.database import PostgresDatabase

DATABASE = "commonplace.db"
GROUP_FILES = 100  # that share a transaction
GROUP_BYTES = 4 << 20
DAMAGED = "its content does not match its hash; run commonplace doctor with this folder"
CHANGED = "a server changed it while it was read; repeat the command"


@dataclass(slots=True)
class _Outcome:
    """What became of the files so far; names have the tenant, the project and the path."""

    found: int
    added: int = 0
    present: int = 0
    kept: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)  # of what the database has, or had

    @property
    def done(self) -> int:
        return self.added + self.present + len(self.kept) + len(self.refused)


class FileMover:
    """A `Mover` of project files with their times, original names and sync state.

    With `deleted`, it moves the files that can still be restored instead of the live ones. Workers
    index what was added.
    """

    required: Final = False

    def __init__(
        self, settings: Settings, database: PostgresDatabase, *, deleted: bool = False
    ) -> None:
        self.part = "deleted files" if deleted else "files"
        self._settings = settings.mcp.files
        self._database = database
        self._deleted = deleted

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the files that neither came before nor have a file of the team in their place."""
        if not (data / DATABASE).is_file():
            return []
        lacking: list[str] = []
        names = _tenant_names(data)
        origin = read_origin(data) if (data / ORIGIN).is_file() else ""
        with self._open(data, origin) as (source, target):
            for tenant, project, _ in source.projects():
                versions = source.versions(tenant, project)
                lacking += [
                    _name(names, tenant, project, version)
                    for version in target.lacking(tenant, project, versions)
                ]
        return lacking

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Store files that the database never had; where it has another file, both stay.

        Raises STORAGE_BUSY if the lock of a project is not free in time.
        """
        outcome = _Outcome(0)
        if (data / DATABASE).is_file():
            names = _tenant_names(data)
            with self._open(data, read_origin(data)) as (source, target):
                projects = source.projects()
                outcome.found = sum(count for _, _, count in projects)
                for tenant, project, _ in projects:
                    step = _ProjectMove(source, target, tenant, project, names, outcome)
                    step.run(lambda: progress(outcome.done, outcome.found))
        return MovedPart(
            self.part,
            found=outcome.done,
            added=outcome.added,
            present=outcome.present,
            kept=tuple(outcome.kept),
            refused=tuple(outcome.refused),
            digest=hash_items(outcome.hashes),
        )

    @contextlib.contextmanager
    def _open(self, data: Path, origin: str) -> Iterator[tuple[FolderFiles, FileArrivals]]:
        from commonplace.files.engine.change import SizeLimits
        from commonplace.files.store.moving.reader import FolderFiles
        from commonplace.files.store.moving.writer import FileArrivals
        from commonplace.storage.sqlite.database import Database

        settings = self._settings
        since = int((time.time() - settings.delete_retention_days * 86_400) * 1e6)
        limits = SizeLimits(
            settings.max_file_bytes, settings.max_project_bytes, settings.max_tenant_bytes or None
        )
        with contextlib.closing(Database(data / DATABASE)) as database:
            source = FolderFiles(database, deleted=self._deleted, retained_since=since)
            yield source, FileArrivals(self._database, origin, limits)


@dataclass(frozen=True, slots=True)
class _ProjectMove:
    """The move of one project, in groups of files."""

    source: FolderFiles
    target: FileArrivals
    tenant: str
    project: Project
    names: dict[str, str]
    outcome: _Outcome

    def run(self, progress: Callable[[], None]) -> None:
        known = self.target.moved(self.tenant, self.project)
        synced = self.source.synced(self.tenant, self.project)
        for group in _groups(self.source.versions(self.tenant, self.project)):
            self._store([file for file in group if not self._is_known(file, known)], synced)
            progress()

    def _is_known(self, version: FolderVersion, known: set[tuple[str, str, int]]) -> bool:
        """Count a version that came before, whatever was done with it since."""
        if version.key not in known:
            return False
        self._note(version)
        self.outcome.present += 1
        return True

    def _store(self, group: Sequence[FolderVersion], synced: SyncRecords) -> None:
        from commonplace.files.store.moving.version import Arrival, IncomingFile

        sent: list[IncomingFile] = []
        for version in group:
            content = self.source.content(version)
            if content is None or hashlib.sha256(content).hexdigest() != version.content_hash:
                why = CHANGED if content is None else DAMAGED
                self.outcome.refused.append(f"{self._name(version)}: {why}")
                continue
            sent.append(IncomingFile(version, content, tuple(synced.get(version.path, ()))))
        if not sent:
            return
        outcomes = self.target.store(self.tenant, self.project, sent)
        for file, result in zip(sent, outcomes, strict=True):
            if isinstance(result, CommonplaceError):
                self.outcome.refused.append(f"{self._name(file.version)}: {result.message}")
            elif result is Arrival.DIFFERS:
                self.outcome.kept.append(self._name(file.version))
            else:
                self._note(file.version)
                self.outcome.added += result is Arrival.ADDED
                self.outcome.present += result is Arrival.PRESENT

    def _note(self, version: FolderVersion) -> None:
        self.outcome.hashes[f"{self._name(version)} {version.deleted_at}"] = version.content_hash

    def _name(self, version: FolderVersion) -> str:
        return _name(self.names, self.tenant, self.project, version)


def _groups(versions: Sequence[FolderVersion]) -> Iterator[list[FolderVersion]]:
    """Split files into groups of bounded number and size, each with at least one."""
    group: list[FolderVersion] = []
    size = 0
    for version in versions:
        if group and (len(group) == GROUP_FILES or size + version.size > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(version)
        size += version.size
    if group:
        yield group


def _tenant_names(data: Path) -> dict[str, str]:
    """Return names of tenants by their hash, as far as the keys of the folder tell them."""
    names = {LOCAL_TENANT, *(key.tenant for key in KeyStore(data / "keys.json").all())}
    return {tenant_hash(name): name for name in names}


def _name(names: dict[str, str], tenant: str, project: str, version: FolderVersion) -> str:
    return f"{names.get(tenant) or bearer_tenant(tenant)} {project}{version.path}"
